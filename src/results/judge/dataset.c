#include "base/fs_path.h"
#include "results/judge/codecarbon.h"
#include "results/judge/own.h"
#include "results/judge/plain_table.h"
#include "results/judge/study.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "plan/config/registry.h"
#include "tare_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *dataset_layout_name(enum dataset_layout layout)
{
    static const char *const names[DATASET_LAYOUTS] = {"study", TARE_NAME, "codecarbon", "table"};
    return names[layout];
}

struct dataset_experiment *dataset_add(struct dataset *dataset)
{
    MEM_ADD(dataset->items, dataset->count) = (struct dataset_experiment){0};
    return &dataset->items[dataset->count - 1];
}

static char *__attribute__((format(printf, 1, 0))) format_text(const char *format, va_list args)
{
    char text[1000];
    vsnprintf(text, sizeof text, format, args);
    return mem_strdup(text);
}

void dataset_evidence(struct dataset_experiment *experiment, const char *kind, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    MEM_ADD(experiment->evidence, experiment->evidence_count) =
        (struct dataset_evidence){.kind = mem_strdup(kind), .text = format_text(format, args)};
    va_end(args);
}

void dataset_evidence_at(struct dataset_experiment *experiment, struct reading from_s,
                         struct reading to_s)
{
    experiment->evidence[experiment->evidence_count - 1].from_s = from_s;
    experiment->evidence[experiment->evidence_count - 1].to_s = to_s;
}

void dataset_evidence_touches(struct dataset_experiment *experiment, unsigned quantities)
{
    experiment->evidence[experiment->evidence_count - 1].quantities = quantities;
}

void dataset_check(struct dataset_experiment *experiment, enum check check,
                   enum check_outcome outcome, const char *format, ...)
{
    static const int badness[CHECK_OUTCOMES] = {
        [CHECK_FAILED] = 3, [CHECK_NOT_MADE] = 2, [CHECK_PASSED] = 1, [CHECK_NOT_NEEDED] = 0};
    struct check_result *result = NULL;
    for (size_t i = 0; i < experiment->check_count && !result; i++)
        if (experiment->checks[i].check == check)
            result = &experiment->checks[i];
    if (result && badness[outcome] <= badness[result->outcome])
        return;
    if (!result)
        result = &experiment->checks[experiment->check_count++];
    free(result->text);
    va_list args;
    va_start(args, format);
    *result = (struct check_result){check, outcome, format_text(format, args)};
    va_end(args);
}

bool dataset_check_passed(const struct dataset_experiment *experiment, enum check check)
{
    EACH (item, experiment->checks, experiment->check_count)
        if (item->check == check)
            return item->outcome == CHECK_PASSED;
    return false;
}

bool dataset_has_evidence(const struct dataset_experiment *experiment, const char *kind)
{
    EACH (item, experiment->evidence, experiment->evidence_count)
        if (strcmp(item->kind, kind) == 0)
            return true;
    return false;
}

void dataset_problem(struct dataset *dataset, size_t folder, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    MEM_ADD(dataset->problems, dataset->problem_count) =
        (struct dataset_problem){.folder = folder, .text = format_text(format, args)};
    va_end(args);
}

static void experiment_fini(struct dataset_experiment *experiment)
{
    EACH (fact, experiment->facts, DATASET_FACTS)
        free(*fact);
    EACH (board, experiment->boards, experiment->board_count)
        free(board->uuid);
    free(experiment->boards);
    free(experiment->trace);
    free(experiment->id);
    free(experiment->repo);
    free(experiment->commit);
    free(experiment->model);
    free(experiment->background);
    json_decref(experiment->background_job);
    free(experiment->error);
    EACH (param, experiment->params, experiment->param_count) {
        free(param->name);
        value_fini(&param->value);
    }
    free(experiment->params);
    EACH (setting, experiment->defaults, experiment->default_count) {
        free(setting->name);
        value_fini(&setting->value);
    }
    free(experiment->defaults);
    EACH (metric, experiment->metrics, experiment->metric_count)
        free(metric->name);
    free(experiment->metrics);
    EACH (item, experiment->evidence, experiment->evidence_count) {
        free(item->kind);
        free(item->text);
    }
    free(experiment->evidence);
    EACH (check, experiment->checks, experiment->check_count)
        free(check->text);
    json_decref(experiment->attempts);
    json_decref(experiment->epochs);
}

void dataset_fini(struct dataset *dataset)
{
    EACH (item, dataset->items, dataset->count)
        experiment_fini(item);
    free(dataset->items);
    EACH (problem, dataset->problems, dataset->problem_count)
        free(problem->text);
    free(dataset->problems);
    EACH (spelling, dataset->spellings, dataset->spelling_count) {
        free(spelling->name);
        free(spelling->other);
    }
    free(dataset->spellings);
    EACH (folder, dataset->folders, dataset->folder_count) {
        free(folder->path);
        free(folder->note);
    }
    free(dataset->folders);
    *dataset = (struct dataset){0};
}

size_t dataset_take_defaults(struct dataset *dataset, const struct registry *registry)
{
    size_t described = 0;
    EACH (experiment, dataset->items, dataset->count) {
        const struct repo *repo = registry_find(registry, experiment->repo);
        if (!repo)
            continue;
        described++;
        for (size_t i = 0; i < repo->param_count; i++) {
            const struct param *param = &repo->params[i];
            if (param->default_value.kind == VALUE_NULL || dataset_setting(experiment, param->name))
                continue;
            MEM_ADD(experiment->defaults, experiment->default_count) =
                (struct dataset_param){mem_strdup(param->name), value_copy(&param->default_value)};
        }
    }
    return described;
}

const struct value *dataset_setting(const struct dataset_experiment *experiment, const char *name)
{
    const struct value *value = dataset_param(experiment, name);
    for (size_t i = 0; !value && i < experiment->default_count; i++)
        if (strcmp(experiment->defaults[i].name, name) == 0)
            value = &experiment->defaults[i].value;
    return value;
}

void dataset_keep(struct dataset *dataset, const bool *kept, struct strv *out)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        if (kept[i]) {
            dataset->items[count++] = dataset->items[i];
            continue;
        }
        strv_add(out, dataset->items[i].id);
        experiment_fini(&dataset->items[i]);
    }
    dataset->left_out += dataset->count - count;
    dataset->count = count;
}

void dataset_leave_out_contradictions(struct dataset *dataset, struct strv *out)
{
    AUTO_FREE bool *kept = mem_array(dataset->count + 1, sizeof *kept);
    for (size_t i = 0; i < dataset->count; i++)
        kept[i] = !dataset->items[i].contradicts;
    dataset_keep(dataset, kept, out);
}

/* By its files; false: none of them says, and it may be one of experiments' folders alone. */
static bool find_layout(int dir, enum dataset_layout *out)
{
    static const struct {
        const char *file;
        enum dataset_layout layout;
    } kinds[] = {{"run.db", DATASET_TARE},
                 {"summary.csv", DATASET_STUDY},
                 {CODECARBON_FILE, DATASET_CODECARBON}};
    *out = DATASET_STUDY;
    EACH_OF (kind, kinds)
        if (faccessat(dir, kind->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            *out = kind->layout;
            return true;
        }
    return false;
}

static size_t add_folder(struct dataset *dataset, const char *path)
{
    size_t folder = dataset->folder_count++, length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    dataset->folders =
        mem_resize(dataset->folders, dataset->folder_count, sizeof *dataset->folders);
    dataset->folders[folder] = (struct dataset_folder){.path = mem_strndup(path, length)};
    return folder;
}

/* A path that is not a folder: a table of another program, or an error that says what it is
 * instead. */
static bool read_file(struct dataset *dataset, const char *path, struct err *err)
{
    enum dataset_layout layout;
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    AUTO_FREE char *parent = fs_dirname(path);
    AUTO_CLOSE int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool table = dir >= 0 && (strcmp(file, "summary.csv") != 0 || plain_table_is(dir, file));
    if (dir >= 0 && find_layout(dir, &layout) && (layout != DATASET_STUDY || !table))
        return err_set(err, "%s is a file; the results are its folder: %s", path, parent);
    if (!table)
        return err_set(err, "%s is a file, and no results folder", path);
    size_t folder = add_folder(dataset, path);
    dataset->folders[folder].layout = DATASET_TABLE;
    return read_plain_table(dataset, folder, dir, file, err);
}

bool dataset_read(struct dataset *dataset, const char *path, struct err *err)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return errno == ENOTDIR ? read_file(dataset, path, err) : err_sys(err, "open %s", path);
    size_t folder = add_folder(dataset, path);
    enum dataset_layout layout;
    find_layout(dir, &layout);
    dataset->folders[folder].layout = layout;
    if (layout == DATASET_CODECARBON)
        return read_codecarbon(dataset, folder, dir, err);
    if (layout == DATASET_STUDY && plain_table_is(dir, "summary.csv")) {
        dataset->folders[folder].layout = DATASET_TABLE;
        return read_plain_table(dataset, folder, dir, "summary.csv", err);
    }
    if (layout == DATASET_STUDY)
        return read_study(dataset, folder, dir, err);
    /* What the database says of itself does not tell which of several folders it is in. */
    return read_own(dataset, folder, err) ||
           (err && strncmp(err->text, path, strlen(path)) == 0 ? false : err_wrap(err, "%s", path));
}

const char *dataset_mode(const struct dataset_experiment *experiment)
{
    return experiment->parallel ? "parallel" : experiment->mode ? experiment->mode : "sequential";
}

size_t dataset_not_finite(const struct dataset *dataset, const char *metric)
{
    size_t count = 0;
    EACH (item, dataset->items, dataset->count) {
        struct reading value = dataset_metric(item, metric);
        count += value.valid && !isfinite(value.value);
    }
    return count;
}

void dataset_metrics(const struct dataset *dataset, struct strv *out)
{
    EACH (item, dataset->items, dataset->count)
        EACH (metric, item->metrics, item->metric_count)
            strv_add_once(out, metric->name);
}

bool dataset_has_metric(const struct dataset_experiment *experiment)
{
    EACH (metric, experiment->metrics, experiment->metric_count)
        if (metric->value.valid)
            return true;
    return false;
}

static const struct dataset_metric *find_metric(const struct dataset_experiment *experiment,
                                                const char *name)
{
    static const struct dataset_metric none = {0};
    EACH (metric, experiment->metrics, experiment->metric_count)
        if (strcmp(metric->name, name) == 0)
            return metric;
    return &none;
}

struct reading dataset_metric(const struct dataset_experiment *experiment, const char *name)
{
    return find_metric(experiment, name)->value;
}

struct reading dataset_best(const struct dataset_experiment *experiment, const char *name)
{
    return find_metric(experiment, name)->best;
}

enum goal dataset_goal(const struct dataset *dataset, const char *metric)
{
    enum goal said = GOAL_UNKNOWN;
    for (size_t i = 0; i < dataset->count && said == GOAL_UNKNOWN; i++)
        said = find_metric(&dataset->items[i], metric)->goal;
    return goal_of(said, metric);
}

void dataset_best_metrics(const struct dataset *dataset, struct strv *out)
{
    EACH (item, dataset->items, dataset->count)
        EACH (metric, item->metrics, item->metric_count)
            if (metric->best.valid)
                strv_add_once(out, metric->name);
}

json_t *dataset_params_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    EACH (param, experiment->params, experiment->param_count)
        json_object_set_new(out, param->name, value_to_json(&param->value));
    return out;
}

const struct value *dataset_param(const struct dataset_experiment *experiment, const char *name)
{
    EACH (param, experiment->params, experiment->param_count)
        if (strcmp(param->name, name) == 0)
            return &param->value;
    return NULL;
}

struct reading dataset_param_number(const struct dataset_experiment *experiment, const char *name)
{
    const struct value *value = dataset_param(experiment, name);
    if (value && value->kind == VALUE_INT)
        return (struct reading){(double)value->integer, true};
    if (value && value->kind == VALUE_FLOAT && isfinite(value->real))
        return (struct reading){value->real, true};
    if (value && value->kind == VALUE_BOOL)
        return (struct reading){value->truth, true};
    return (struct reading){0};
}

struct reading dataset_energy(const struct dataset_experiment *experiment)
{
    if (experiment->gpu.energy_j.valid || experiment->gpu.source)
        return experiment->gpu.energy_j;
    return experiment->recorded[RECORDED_GPU_TOTAL];
}

struct reading dataset_power(const struct dataset_experiment *experiment)
{
    if (experiment->gpu.power_mean_w.valid || experiment->gpu.source)
        return experiment->gpu.power_mean_w;
    return experiment->recorded[RECORDED_GPU_MEAN];
}

int64_t dataset_end_utc_ns(const struct dataset *dataset,
                           const struct dataset_experiment *experiment)
{
    const struct dataset_folder *folder = &dataset->folders[experiment->folder];
    int64_t offset_s = experiment->has_utc_offset ? experiment->utc_offset_s
                       : folder->has_zone         ? folder->zone_s
                                                  : 0;
    return experiment->end_local_ns - offset_s * NS_PER_S;
}

char *dataset_zone_text(const struct dataset *dataset, size_t folder)
{
    const struct dataset_folder *of = &dataset->folders[folder];
    AUTO_STRV struct strv zones = {0};
    char offset[16];
    clock_format_offset(of->zone_s, offset);
    if (of->layout != DATASET_TARE)
        return of->has_zone ? mem_printf("times as written; by its samples they are UTC%s", offset)
                            : mem_strdup("times as written, their zone is not recorded");
    EACH (experiment, dataset->items, dataset->count) {
        if (experiment->folder != folder || !experiment->has_end)
            continue;
        clock_format_offset(experiment->utc_offset_s, offset);
        AUTO_FREE char *zone = experiment->has_utc_offset
                                   ? mem_printf("UTC%s", offset)
                                   : mem_strdup("UTC, as its zone was not recorded");
        strv_add_once(&zones, zone);
    }
    AUTO_FREE char *joined = strv_join(&zones, " and ");
    return mem_printf("times in %s", zones.count ? joined : "UTC");
}

/* Decimals of a second, as nanoseconds. */
static bool read_fraction(const char *at, int64_t *ns)
{
    int64_t scale = NS_PER_S / 10;
    *ns = 0;
    if (!*at)
        return true;
    if (*at++ != '.' || !*at)
        return false;
    for (; *at; at++, scale /= 10) {
        if (*at < '0' || *at > '9')
            return false;
        *ns += (*at - '0') * scale;
    }
    return true;
}

bool dataset_parse_time(const char *text, int64_t *local_ns)
{
    struct tm tm = {0};
    int used = 0, year, month;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &tm.tm_mday, &used) != 3 || used < 8)
        return false;
    const char *rest = text + used;
    if (*rest) {
        int clock = 0;
        if ((*rest != ' ' && *rest != 'T') ||
            sscanf(rest + 1, "%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &clock) != 2 || !clock)
            return false;
        rest += 1 + clock;
        if (*rest == ':') {
            int seconds = 0;
            if (sscanf(rest + 1, "%2d%n", &tm.tm_sec, &seconds) != 1 || !seconds)
                return false;
            rest += 1 + seconds;
        }
    }
    int64_t ns;
    if (!read_fraction(rest, &ns) || year < 1970 || year > 2200 || month < 1 || month > 12 ||
        tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 ||
        tm.tm_min > 59 || tm.tm_sec < 0 || tm.tm_sec > 60)
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    int day = tm.tm_mday;
    int64_t seconds = timegm(&tm);
    *local_ns = seconds * NS_PER_S + ns;
    return tm.tm_mday == day; /* the 31st of February becomes another day */
}

void dataset_format_time(int64_t local_ns, char out[40])
{
    time_t seconds = (time_t)(local_ns / NS_PER_S);
    struct tm tm = {0};
    char date[24] = "";
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, 40, "%s.%06lld", date, (long long)(local_ns % NS_PER_S / 1000));
}

/* What a place that holds no results is instead, so that the error says which one was meant. */

/* Two are as good as a thousand: the error shows a pattern. */
enum { ENOUGH = 2, MOST_ENTRIES = 10000 };

/* How many folders of it hold results, up to ENOUGH; the first one's name. */
static size_t count_results(int dir, char **first)
{
    AUTO_DIR DIR *stream = fs_list(dir, ".");
    size_t found = 0, seen = 0;
    enum dataset_layout layout;
    for (struct dirent *entry;
         stream && found < ENOUGH && seen++ < MOST_ENTRIES && (entry = readdir(stream));) {
        AUTO_CLOSE int inner =
            entry->d_name[0] == '.'
                ? -1
                : openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0 || !find_layout(inner, &layout))
            continue;
        if (found++ == 0)
            *first = mem_strdup(entry->d_name);
    }
    return found;
}

bool read_no_results(const char *path, int dir, struct err *err)
{
    AUTO_FREE char *first = NULL;
    size_t inside = count_results(dir, &first);
    const char *slash = path[0] && path[strlen(path) - 1] == '/' ? "" : "/";
    if (inside == 1)
        return err_set(err, "%s holds no results itself, but %s%s%s does", path, path, slash,
                       first);
    if (inside)
        return err_set(err, "%s holds no results itself, but its folders do: say which, or %s%s*",
                       path, path, slash);
    if (faccessat(dir, "experiment.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(err, "%s is one experiment; the results are the folder that it is in", path);
    return err_set(err,
                   "%s holds no results: there is neither run.db nor summary.csv nor an "
                   "experiment's folder nor " CODECARBON_FILE,
                   path);
}
