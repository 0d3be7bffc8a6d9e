#include "results/judge/judge.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_S = 86400, MOST_HOURS = 48, MOST_DAYS = 366 };

static void account_count(struct account_row *row, const struct dataset_experiment *experiment)
{
    struct reading energy = dataset_energy(experiment);
    row->total++;
    row->succeeded += experiment->has_success && experiment->success;
    row->failed += experiment->has_success && !experiment->success;
    row->verdicts[experiment->verdict]++;
    if (energy.valid) {
        row->energy_j += energy.value;
        row->with_energy++;
    }
    if (experiment->duration_s.valid)
        row->duration_s += experiment->duration_s.value;
}

struct reading account_success_rate(const struct account_row *row)
{
    size_t known = row->succeeded + row->failed;
    return known ? (struct reading){(double)row->succeeded / (double)known, true} : (struct reading){0};
}

static struct account_row *row_named(struct account_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    table->rows = mem_resize(table->rows, table->count + 1, sizeof *table->rows);
    table->rows[table->count] = (struct account_row){.name = mem_strdup(name)};
    return &table->rows[table->count++];
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct account_row *)a)->name, ((const struct account_row *)b)->name);
}

/* The most frequent first. */
static int compare_totals(const void *a, const void *b)
{
    const struct account_row *left = a, *right = b;
    if (left->total != right->total)
        return left->total < right->total ? 1 : -1;
    return strcmp(left->name, right->name);
}

static void sort(struct account_table *table, int (*compare)(const void *, const void *))
{
    if (table->count)
        qsort(table->rows, table->count, sizeof *table->rows, compare);
}

static void count_kinds(const struct dataset_experiment *experiment, struct account *out)
{
    struct account_integrity *integrity = &out->integrity;
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        const char *kind = experiment->evidence[i].kind;
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = strcmp(experiment->evidence[k].kind, kind) != 0;
        if (!first)
            continue;
        account_count(row_named(&out->evidence, kind), experiment);
        integrity->duplicate_ids += strcmp(kind, "duplicate_id") == 0;
        integrity->malformed_ids += strcmp(kind, "malformed_id") == 0;
        integrity->damaged_files += strcmp(kind, "file_damaged") == 0;
    }
    integrity->without_end += !experiment->has_end;
}

/* What the error says, without what differs from one to the next. */
static char *cause_of(const struct dataset_experiment *experiment)
{
    if (!experiment->error || !*experiment->error)
        return mem_strdup("not recorded");
    size_t length = strcspn(experiment->error, "\r\n");
    return mem_strndup(experiment->error, length > 200 ? 200 : length);
}

static int64_t span_begin(int64_t local_ns, int64_t step_s)
{
    int64_t seconds = local_ns / NS_PER_S;
    return (seconds - seconds % step_s) * NS_PER_S;
}

/* A row for every hour or day that something ended in, and for those between. */
static void make_timeline(const struct dataset *dataset, struct account *out)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < dataset->count; i++) {
        if (!dataset->items[i].has_end)
            continue;
        first = dataset->items[i].end_local_ns < first ? dataset->items[i].end_local_ns : first;
        last = dataset->items[i].end_local_ns > last ? dataset->items[i].end_local_ns : last;
    }
    if (first > last)
        return;
    out->timeline_step_s = (last - first) / NS_PER_S <= (int64_t)MOST_HOURS * HOUR_S ? HOUR_S : DAY_S;
    int64_t step_ns = out->timeline_step_s * NS_PER_S;
    int64_t begin = span_begin(first, out->timeline_step_s);
    size_t count = (size_t)((span_begin(last, out->timeline_step_s) - begin) / step_ns) + 1;
    if (count > MOST_DAYS)
        return; /* years apart: no timeline to look at */
    out->timeline = (struct account_table){mem_array(count, sizeof *out->timeline.rows), count};
    for (size_t i = 0; i < count; i++) {
        char name[40];
        out->timeline.rows[i].from_local_ns = begin + (int64_t)i * step_ns;
        dataset_format_time(out->timeline.rows[i].from_local_ns, name);
        name[out->timeline_step_s == HOUR_S ? 16 : 10] = '\0';
        if (out->timeline_step_s == HOUR_S)
            name[10] = ' ';
        out->timeline.rows[i].name = mem_strdup(name);
    }
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].has_end)
            account_count(&out->timeline.rows[(dataset->items[i].end_local_ns - begin) / step_ns], &dataset->items[i]);
}

static void count_all(const struct dataset *dataset, struct account *out)
{
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        account_count(&out->all, experiment);
        account_count(row_named(&out->repositories, experiment->repo), experiment);
        AUTO_FREE char *model =
            mem_printf("%s %s%s", experiment->repo, experiment->model, experiment->parallel ? " parallel" : "");
        account_count(row_named(&out->models, model), experiment);
        if (experiment->has_success && !experiment->success) {
            AUTO_FREE char *cause = cause_of(experiment);
            account_count(row_named(&out->failures, cause), experiment);
        }
        count_kinds(experiment, out);
    }
    for (size_t i = 0; i < dataset->folder_count; i++) {
        out->integrity.rows += dataset->folders[i].summary_rows;
        out->integrity.folders += dataset->folders[i].folders;
        out->integrity.without_row += dataset->folders[i].without_row;
        out->integrity.without_folder += dataset->folders[i].without_folder;
    }
}

static void table_fini(struct account_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->rows[i].name);
    free(table->rows);
}

void account_fini(struct account *account)
{
    free(account->all.name);
    table_fini(&account->repositories);
    table_fini(&account->models);
    table_fini(&account->failures);
    table_fini(&account->evidence);
    table_fini(&account->timeline);
    free(account->split.series);
    for (size_t i = 0; i < 3; i++)
        free(account->split.rows[i].name);
    *account = (struct account){0};
}

/* A change needs as many experiments on either side; the seed makes the same data give the same answer. */
enum { SIDE_LEAST = 5, SEED = 20251125 };
static const double level = 0.05;

struct moment {
    int64_t end_local_ns;
    size_t index;
    double value;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *left = a, *right = b;
    if (left->end_local_ns != right->end_local_ns)
        return left->end_local_ns > right->end_local_ns ? 1 : -1;
    return (left->index > right->index) - (left->index < right->index);
}

/* Success as 1 and 0. */
static size_t take_success(const struct dataset *dataset, struct moment *out)
{
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].has_end && dataset->items[i].has_success)
            out[n++] = (struct moment){dataset->items[i].end_local_ns, i, dataset->items[i].success};
    return n;
}

/* The logarithm of power over the median of its kind, so that what ran when does not matter; kinds of one say
 * nothing. */
static size_t take_power(const struct dataset *dataset, struct moment *out)
{
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    AUTO_FREE double *logs = mem_array(dataset->count + 1, sizeof *logs);
    size_t count = audit_group(dataset, &order, &groups), n = 0;
    for (size_t g = 0; g < count; g++) {
        size_t begin = n, members = 0;
        for (size_t i = groups[g]; i < groups[g + 1]; i++) {
            const struct dataset_experiment *experiment = &dataset->items[order[i]];
            struct reading power = dataset_power(experiment);
            if (!experiment->has_end || !power.valid || power.value <= 0)
                continue;
            logs[members++] = log(power.value);
            out[n++] = (struct moment){experiment->end_local_ns, order[i], log(power.value)};
        }
        double median = stats_median(logs, members).value;
        for (size_t i = begin; i < n; i++)
            out[i].value -= median;
        if (members < 2)
            n = begin;
    }
    return n;
}

struct candidate {
    const char *series;
    struct stats_change change;
    int64_t at_local_ns;
};

static struct candidate try_series(const char *series, struct moment *moments, size_t n, const size_t *kinds,
                                   size_t kind_count)
{
    struct rng rng;
    struct candidate out = {.series = series, .change.p = 1};
    AUTO_FREE double *values = mem_array(n + 1, sizeof *values);
    if (n < (size_t)2 * SIDE_LEAST)
        return out;
    qsort(moments, n, sizeof *moments, compare_moments);
    AUTO_FREE size_t *kinds_of = mem_array(n + 1, sizeof *kinds_of);
    for (size_t i = 0; i < n; i++) {
        values[i] = moments[i].value;
        kinds_of[i] = kinds[moments[i].index];
    }
    rng_seed_named(&rng, SEED, series);
    out.change = stats_change_point(values, kinds_of, kind_count, n, SIDE_LEAST, &rng);
    out.at_local_ns = moments[out.change.first].end_local_ns;
    return out;
}

static int64_t begin_ns(const struct dataset_experiment *experiment)
{
    double duration_s = experiment->duration_s.valid ? experiment->duration_s.value : 0;
    return experiment->end_local_ns - (int64_t)(duration_s * (double)NS_PER_S);
}

/* The moment behind the last experiment before the change: those that end later are behind it, or overlap. */
static void find_moment(const struct dataset *dataset, struct account_split *out)
{
    AUTO_FREE struct moment *moments = mem_array(dataset->count + 1, sizeof *moments);
    struct candidate tried[2];
    double p[2];
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    AUTO_FREE size_t *kinds = mem_array(dataset->count + 1, sizeof *kinds);
    size_t kind_count = audit_group(dataset, &order, &groups);
    for (size_t g = 0; g < kind_count; g++)
        for (size_t i = groups[g]; i < groups[g + 1]; i++)
            kinds[order[i]] = g;
    tried[0] = try_series("success", moments, take_success(dataset, moments), kinds, kind_count);
    tried[1] = try_series("power", moments, take_power(dataset, moments), kinds, kind_count);
    for (size_t i = 0; i < 2; i++)
        p[i] = tried[i].change.p;
    stats_adjust_holm(p, 2);
    size_t best = p[1] < p[0];
    out->p = p[best];
    out->found = tried[best].change.found && p[best] < level;
    if (!out->found)
        return;
    out->series = mem_strdup(tried[best].series);
    /* The change came when the first experiment behind it had begun, at the latest. */
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        if (experiment->has_end && experiment->end_local_ns == tried[best].at_local_ns) {
            out->at_local_ns = begin_ns(experiment);
            return;
        }
    }
}

static size_t side_of(const struct dataset_experiment *experiment, int64_t at_local_ns)
{
    return experiment->end_local_ns < at_local_ns ? 0 : begin_ns(experiment) >= at_local_ns ? 2 : 1;
}

static bool split_make(const struct dataset *dataset, const char *at, struct account_split *out, struct err *err)
{
    static const char *const names[] = {"ended before", "overlapping", "started after"};
    *out = (struct account_split){.asked = true, .automatic = strcmp(at, "auto") == 0};
    if (out->automatic)
        find_moment(dataset, out);
    else if (!dataset_parse_time(at, &out->at_local_ns))
        return err_set(err, "'%s' is no time: write it as 2025-11-25 01:20:48, or auto", at);
    else
        out->found = true;
    for (size_t i = 0; i < 3; i++)
        out->rows[i].name = mem_strdup(names[i]);
    for (size_t i = 0; out->found && i < dataset->count; i++)
        if (dataset->items[i].has_end)
            account_count(&out->rows[side_of(&dataset->items[i], out->at_local_ns)], &dataset->items[i]);
        else
            out->unknown++;
    return true;
}

bool account_make(const struct dataset *dataset, const char *split_at, struct account *out, struct err *err)
{
    *out = (struct account){.all.name = mem_strdup("all")};
    if (split_at && !split_make(dataset, split_at, &out->split, err)) {
        account_fini(out);
        return false;
    }
    count_all(dataset, out);
    make_timeline(dataset, out);
    sort(&out->repositories, compare_names);
    sort(&out->models, compare_names);
    sort(&out->failures, compare_totals);
    sort(&out->evidence, compare_totals);
    return true;
}
