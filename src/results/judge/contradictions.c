#include "results/judge/contradictions.h"
#include "base/fs_path.h"
#include "results/judge/study.h"
#include "results/judge/study_json.h"
#include "results/store/energy.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { JSON_BYTES = 64 << 20, LOG_BYTES = 64 << 20, NUMBER_MAX = 64, METRICS_MAX = 32 };
#define SEPARATORS ",.'_"

/* Files print the shortest text that reads back as the same number. */
static const double SAME = 1e-9;

void contradiction_add(struct dataset_experiment *experiment, unsigned quantities,
                       const char *figure, const char *left, const char *left_file,
                       const char *right, const char *right_file)
{
    dataset_evidence(experiment, "values_differ", "%.100s is %.60s in %s and %.60s in %s", figure,
                     left, left_file, right, right_file);
    dataset_evidence_touches(experiment, quantities);
    experiment->contradicts = true;
}

bool audit_contradicts(const struct dataset_experiment *experiment)
{
    return experiment->contradicts;
}

/* ---- A run's experiment.json and summary.csv against run.db. */

static void compare(struct dataset_experiment *own, const char *figure, struct reading a,
                    struct reading b, double allowed, unsigned quantities, const char *file)
{
    char left[32], right[32];
    if (!a.valid || !b.valid || a.value == b.value || (isnan(a.value) && isnan(b.value)) ||
        fabs(a.value - b.value) <= allowed)
        return;
    number_shortest(a.value, left);
    number_shortest(b.value, right);
    contradiction_add(own, quantities, figure, left, "run.db", right, file);
}

static void compare_all(struct dataset_experiment *own, const struct dataset_experiment *other,
                        const char *file)
{
    if (own->has_success && other->has_success && own->success != other->success)
        contradiction_add(own, 0, "training_success", own->success ? "true" : "false", "run.db",
                          other->success ? "true" : "false", file);
    compare(own, "duration_seconds", own->duration_s, other->duration_s, 0.001, 1u << QUANTITY_TIME,
            file);
    for (size_t i = 0; i < own->metric_count; i++) {
        const struct dataset_metric *metric = &own->metrics[i];
        compare(own, metric->name, metric->value, dataset_metric(other, metric->name),
                SAME * fabs(metric->value.value), 1u << QUANTITY_METRIC, file);
    }
    for (size_t i = 0; i < own->param_count; i++) {
        struct reading a = dataset_param_number(own, own->params[i].name);
        compare(own, own->params[i].name, a, dataset_param_number(other, own->params[i].name),
                SAME * fabs(a.value), 0, file);
    }
    for (size_t i = 0; i < RECORDED_COUNT; i++)
        compare(own, energy_column(i), own->recorded[i], other->recorded[i],
                1e-6 + 1e-4 * fabs(own->recorded[i].value), 1u << QUANTITY_ENERGY, file);
}

static void compare_json(struct dataset_experiment *own, int folder)
{
    AUTO(dataset_fini) struct dataset other = {0};
    AUTO_TEXT struct text text = {0};
    struct err ignored;
    struct dataset_experiment *read = dataset_add(&other);
    read->repo = mem_strdup("");
    read->model = mem_strdup("");
    if (fs_read_at(folder, "experiment.json", JSON_BYTES, &text, &ignored) &&
        study_json_take(read, text_get(&text), text.length, &ignored))
        compare_all(own, read, "experiment.json");
}

struct row {
    const char *id;
    size_t index;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    int by_id = strcmp(one->id, other->id);
    return by_id ? by_id : (one->index > other->index) - (one->index < other->index);
}

/* ---- Metrics against the log that they were read from. */

struct wanted {
    size_t metric;
    double value;
    bool found;
};

static void find(struct wanted *wanted, size_t count, const char *text, locale_t locale)
{
    char *end;
    double number = fabs(strtod_l(text, &end, locale));
    EACH (item, wanted, count)
        item->found |= fabs(number - fabs(item->value)) <= SAME * fabs(item->value);
}

/* "1,234.5" and "1.234,5", "12_345", "12'345": as run/log/number_read.c reads numbers. */
static void find_separated(struct wanted *wanted, size_t count, const char *text, locale_t locale)
{
    for (int comma = 0; comma < 2; comma++) {
        char number[NUMBER_MAX];
        size_t length = 0;
        for (const char *at = text; *at && length + 1 < sizeof number; at++)
            if (*at == (comma ? ',' : '.'))
                number[length++] = '.';
            else if (isdigit((unsigned char)*at) || strchr("eE+-", *at))
                number[length++] = *at;
            else if (!strchr(SEPARATORS, *at))
                break;
        number[length] = '\0';
        find(wanted, count, number, locale);
    }
}

/* text ends with a NUL. A pattern may match a part of a number: its digits anywhere suffice. */
static void find_all(struct wanted *wanted, size_t count, const char *text)
{
    locale_t locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    EACH (item, wanted, count) {
        char shortest[32];
        number_shortest(fabs(item->value), shortest);
        item->found = strstr(text, shortest);
    }
    for (const char *at = text; *at; at++) {
        char before = at == text ? ' ' : at[-1];
        bool point = *at == '.' && isdigit((unsigned char)at[1]);
        if ((!isdigit((unsigned char)*at) && !point) || isdigit((unsigned char)before))
            continue;
        find(wanted, count, at, locale);
        if (!strchr(SEPARATORS, before))
            find_separated(wanted, count, at, locale);
    }
    freelocale(locale);
}

void contradictions_in_log(struct dataset_experiment *experiment, int folder, const char *name,
                           int64_t bytes, const char *file)
{
    struct wanted wanted[METRICS_MAX];
    size_t count = 0;
    AUTO_TEXT struct text text = {0};
    for (size_t i = 0; i < experiment->metric_count && count < METRICS_MAX; i++)
        if (experiment->metrics[i].value.valid && isfinite(experiment->metrics[i].value.value))
            wanted[count++] = (struct wanted){i, experiment->metrics[i].value.value, false};
    if (count == 0 || !fs_read_at(folder, name, LOG_BYTES, &text, NULL) || text.length == 0 ||
        (bytes >= 0 && (int64_t)text.length != bytes))
        return;
    EACH (item, text.data, text.length) /* what follows a NUL is text, too */
        if (*item == '\0')
            *item = ' ';
    find_all(wanted, count, text_get(&text));
    EACH (entry, wanted, count) {
        char number[32];
        number_shortest(entry->value, number);
        if (!entry->found)
            contradiction_add(experiment, 1u << QUANTITY_METRIC,
                              experiment->metrics[entry->metric].name, number, file, "on no line",
                              name);
    }
}

/* The log of the attempt whose figures these are: a later attempt moves it. */
static void compare_log(struct dataset_experiment *own, int folder, int64_t bytes)
{
    AUTO_FREE char *moved = mem_printf("attempt_%lld/training.log", (long long)own->attempt);
    bool earlier = faccessat(folder, moved, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    contradictions_in_log(own, folder, earlier ? moved : "training.log", bytes, "run.db");
}

void contradictions_of_run(struct dataset *dataset, size_t folder, const struct facts *facts)
{
    struct err ignored;
    AUTO(dataset_fini) struct dataset rows = {0};
    AUTO_CLOSE int dir = open(dataset->folders[folder].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    study_read_rows(&rows, dir, dataset->folders[folder].path, &ignored);
    AUTO_FREE struct row *ids = mem_array(rows.count + 1, sizeof *ids);
    for (size_t i = 0; i < rows.count; i++)
        ids[i] = (struct row){rows.items[i].id, i};
    qsort(ids, rows.count, sizeof *ids, compare_rows);
    for (size_t i = 0; i < facts->results.count; i++) {
        struct dataset_experiment *own = &dataset->items[dataset->count - facts->results.count + i];
        /* Not while the files are behind run.db: a run under way, or one whose runner died. */
        if (!facts->items[i].files_written || !own->judged || !fs_check_name(own->id, NULL))
            continue;
        AUTO_CLOSE int inside = fs_open_folder_beneath(dir, own->id);
        if (inside >= 0) {
            compare_json(own, inside);
            compare_log(own, inside, facts->items[i].log_bytes);
        }
        size_t low = 0, high = rows.count; /* behind the last row of its id */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (strcmp(ids[middle].id, own->id) <= 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && strcmp(ids[low - 1].id, own->id) == 0)
            compare_all(own, &rows.items[ids[low - 1].index], "summary.csv");
    }
}
