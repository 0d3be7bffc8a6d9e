#include "store/files.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/energy.h"
#include "store/memory.h"
#include "store/results.h"

#include <string.h>

/* The study's columns before and behind its hyperparam_* and perf_*; then tare's own. */
static const char *const first_columns[] = {"experiment_id",    "timestamp",        "repository", "model",
                                            "training_success", "duration_seconds", "retries"};
static const char *const own_columns[] = {"mode",
                                          "outcome",
                                          "exit_code",
                                          "attempt",
                                          "gpu_mem_peak_mib",
                                          "verdict",
                                          "error",
                                          "failure",
                                          "changed",
                                          "energy_gpu_net_joules",
                                          "energy_gpu_net_half_width_joules"};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* What struct result does not say. */
struct extra {
    int64_t attempt; /* whose figures the row has */
    bool has_duration;
    bool has_exit_code;
    int64_t exit_code;
    json_t *energy; /* of the last attempt; NULL: nothing was measured */
    struct memory_cells memory;
};

struct columns {
    struct strv params, metrics; /* sorted */
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of the whole plan, ended or not: the columns stay the same from the first row to the last. */
static void collect_columns(const struct plan *plan, struct columns *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_job *job = &plan->experiments[i].foreground;
        for (size_t p = 0; p < job->param_count; p++)
            strv_add_once(&out->params, job->params[p].name);
        for (size_t m = 0; m < job->metric_count; m++)
            strv_add_once(&out->metrics, job->metrics[m].name);
    }
    if (out->params.count)
        qsort(out->params.items, out->params.count, sizeof *out->params.items, compare);
    if (out->metrics.count)
        qsort(out->metrics.items, out->metrics.count, sizeof *out->metrics.items, compare);
}

static void add_header(struct text *out, const struct columns *columns)
{
    for (size_t i = 0; i < COUNT(first_columns); i++)
        text_addf(out, "%s%s", i ? "," : "", first_columns[i]);
    for (size_t i = 0; i < columns->params.count; i++) {
        AUTO_FREE char *name = mem_printf("hyperparam_%s", columns->params.items[i]);
        text_add_char(out, ',');
        csv_add_cell(out, name);
    }
    for (size_t i = 0; i < columns->metrics.count; i++) {
        AUTO_FREE char *name = mem_printf("perf_%s", columns->metrics.items[i]);
        text_add_char(out, ',');
        csv_add_cell(out, name);
    }
    for (size_t i = 0; i < ENERGY_COLUMNS; i++)
        text_addf(out, ",%s", energy_column(i));
    for (size_t i = 0; i < COUNT(own_columns); i++)
        text_addf(out, ",%s", own_columns[i]);
    text_add_char(out, '\n');
}

static void add_cell(struct text *out, const char *cell)
{
    text_add_char(out, ',');
    csv_add_cell(out, cell ? cell : "");
}

static void add_number(struct text *out, double number, bool valid)
{
    char shortest[32] = "";
    if (valid)
        number_shortest(number, shortest);
    add_cell(out, shortest);
}

static void add_param(struct text *out, const struct plan_job *job, const char *name)
{
    for (size_t i = 0; i < job->param_count; i++) {
        if (strcmp(job->params[i].name, name) != 0)
            continue;
        AUTO_FREE char *value = value_format(&job->params[i].value);
        add_cell(out, value);
        return;
    }
    add_cell(out, NULL);
}

static void add_metric(struct text *out, const struct result *item, const char *name)
{
    for (size_t i = 0; i < item->metric_count; i++)
        if (strcmp(item->metrics[i].name, name) == 0) {
            add_number(out, item->metrics[i].value, item->metrics[i].valid);
            return;
        }
    add_cell(out, NULL);
}

static void add_row(struct text *out, const struct plan_experiment *experiment, const struct result *item,
                    const struct extra *extra, const struct columns *columns)
{
    const struct plan_job *job = &experiment->foreground;
    char time[40] = "";
    clock_format_iso(item->ended_realtime_ns, time);
    csv_add_cell(out, experiment->id);
    add_cell(out, time);
    add_cell(out, job->repo);
    add_cell(out, job->model);
    add_cell(out, item->outcome == OUTCOME_SUCCEEDED ? "True" : "False");
    add_number(out, item->duration_s, extra->has_duration);
    text_addf(out, ",%lld", (long long)item->retries);
    for (size_t i = 0; i < columns->params.count; i++)
        add_param(out, job, columns->params.items[i]);
    for (size_t i = 0; i < columns->metrics.count; i++)
        add_metric(out, item, columns->metrics.items[i]);
    for (size_t i = 0; i < ENERGY_COLUMNS; i++) {
        struct reading cell = energy_cell(extra->energy, i);
        add_number(out, cell.value, cell.valid);
    }
    add_cell(out, experiment->parallel ? mode_name(MODE_PARALLEL) : mode_name(job->mode));
    add_cell(out, outcome_name(item->outcome));
    text_add_char(out, ',');
    if (extra->has_exit_code)
        text_addf(out, "%lld", (long long)extra->exit_code);
    text_addf(out, ",%lld", (long long)extra->attempt);
    /* The job's own where the driver tells it. */
    struct reading memory = extra->memory.gpu_peak_mib;
    if (!memory.valid)
        memory = energy_gpu_memory_mib(extra->energy);
    add_number(out, memory.value, memory.valid);
    add_cell(out, item->verdict == VERDICT_NONE ? NULL : verdict_name(item->verdict));
    add_cell(out, item->error);
    add_cell(out, item->failure);
    add_cell(out, extra->memory.changed);
    struct reading net = energy_number(extra->energy, "gpu", "net_of_bare_idle_j");
    struct reading half_width = energy_number(extra->energy, "gpu", "net_half_width_j");
    add_number(out, net.value, net.valid);
    add_number(out, half_width.value, net.valid && half_width.valid);
    text_add_char(out, '\n');
}

static bool load_extras(sqlite3 *db, struct extra *extras, size_t count, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT e.number, coalesce(e.result_attempt, e.attempts), e.duration_s, a.exit_code, a.energy, m.changed,"
        " m.memory FROM experiments e LEFT JOIN attempts a ON a.experiment = e.number AND a.number ="
        " coalesce(e.result_attempt, e.attempts) LEFT JOIN attempt_memory m ON m.experiment = e.number AND"
        " m.attempt = coalesce(e.result_attempt, e.attempts)",
        "");
    if (!query)
        return false;
    int step;
    while ((step = db_step(query, err)) > 0) {
        int64_t number = sqlite3_column_int64(query, 0);
        if (number >= 1 && (size_t)number <= count)
            extras[number - 1] = (struct extra){.attempt = sqlite3_column_int64(query, 1),
                                                .has_duration = !db_is_null(query, 2),
                                                .has_exit_code = !db_is_null(query, 3),
                                                .exit_code = sqlite3_column_int64(query, 3),
                                                .energy = db_json(query, 4),
                                                .memory = memory_cells(query, 5)};
    }
    return step == 0;
}

static void extras_free(struct extra *extras, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_decref(extras[i].energy);
        free(extras[i].memory.changed);
    }
    free(extras);
}

/* The row of an experiment that is being done again is that of its result before. */
static bool has_row(const struct result *item)
{
    return item->outcome == OUTCOME_SUCCEEDED || item->outcome == OUTCOME_FAILED;
}

/* All that a summary is written from. */
struct summary {
    const struct plan *plan;
    struct result *items;
    struct extra *extras;
    struct columns columns;
};

static bool write_rows(int dir, const char *name, const struct summary *summary, bool only_safe, struct err *err)
{
    AUTO_TEXT struct text out = {0};
    add_header(&out, &summary->columns);
    for (size_t i = 0; i < summary->plan->count; i++) {
        const struct result *item = &summary->items[i];
        if (has_row(item) && (!only_safe || verdict_is_safe(item->verdict, item->outcome == OUTCOME_SUCCEEDED)))
            add_row(&out, &summary->plan->experiments[i], item, &summary->extras[i], &summary->columns);
    }
    return fs_write_atomic(dir, name, text_get(&out), out.length, err);
}

bool files_write_summary(int dir, sqlite3 *db, const struct plan *plan, struct err *err)
{
    struct summary summary = {.plan = plan, .extras = mem_array(plan->count ? plan->count : 1, sizeof(struct extra))};
    if (!load_extras(db, summary.extras, plan->count, err) || !result_items_load(db, plan, &summary.items, err)) {
        extras_free(summary.extras, plan->count);
        return err_wrap(err, "summary.csv");
    }
    collect_columns(plan, &summary.columns);
    bool ok = write_rows(dir, "summary.csv", &summary, false, err) &&
              write_rows(dir, "summary_safe.csv", &summary, true, err);
    strv_fini(&summary.columns.params);
    strv_fini(&summary.columns.metrics);
    result_items_free(summary.items, plan->count);
    extras_free(summary.extras, plan->count);
    return ok;
}
