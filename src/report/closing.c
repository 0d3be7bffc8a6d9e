#include "plan/command.h"
#include "report/closing_lanes.h"
#include "report/closing_verdict.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/columns.h"
#include "report/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GREEN  "\033[32m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"

enum { REASONS_SHOWN = 10, GAP = 2, MOSTLY = 3, NAMES_SHOWN = 3 };

enum column_kind {
    COLUMN_ID,
    COLUMN_PARAM,
    COLUMN_OUTCOME,
    COLUMN_TIME,
    COLUMN_METRIC,
    COLUMN_RETRIES,
    COLUMN_GPU,
    COLUMN_CPU,
    COLUMN_VERDICT
};

struct column {
    enum column_kind kind;
    const char *title; /* borrowed */
    bool needed;       /* shown however narrow the terminal is */
    bool shown;
    size_t width;
    size_t filled; /* rows that have something in it */
    char *same;    /* what all of them have; NULL: they differ, or there is one row only */
};

struct closing {
    const struct results *results;
    const struct closing_options *options;
    struct strv varied, metrics;
    struct column *columns;
    size_t column_count;
    size_t rows;
    struct text *out;
};

static bool is_left_to_run(const struct result *result)
{
    return result->again ||
           (result->outcome != OUTCOME_SUCCEEDED && result->outcome != OUTCOME_FAILED);
}

static bool has_row(const struct closing *closing, const struct result *result)
{
    return closing->results->count <= CLOSING_ROWS || result->outcome != OUTCOME_SUCCEEDED ||
           result->verdict > VERDICT_CLEAN;
}

static const char *outcome_text(enum outcome outcome)
{
    return outcome == OUTCOME_NONE ? "not run" : outcome_name(outcome);
}

static char *cell_text(const struct closing *closing, const struct column *column, size_t row)
{
    const struct result *result = &closing->results->items[row];
    switch (column->kind) {
    case COLUMN_ID:
        return mem_strdup(result->id);
    case COLUMN_PARAM:
        return columns_param_cell(&closing->results->plan.experiments[row], column->title);
    case COLUMN_OUTCOME:
        return mem_strdup(outcome_text(result->outcome));
    case COLUMN_TIME:
        return result->outcome == OUTCOME_NONE
                   ? mem_strdup("")
                   : amounts_duration((struct reading){result->duration_s, true});
    case COLUMN_GPU:
        return amount_format_with(result->energy.gpu_j, result->energy.gpu_half_width_j, "J");
    case COLUMN_CPU:
        return amount_format_with(result->energy.cpu_j, result->energy.cpu_half_width_j, "J");
    case COLUMN_METRIC:
        return columns_metric_cell(result, column->title);
    case COLUMN_VERDICT:
        return mem_strdup(result->verdict != VERDICT_NONE ? verdict_name(result->verdict)
                          : is_left_to_run(result)        ? ""
                                                          : "not judged");
    case COLUMN_RETRIES:
        return result->retries > 0 ? mem_printf("%lld", (long long)result->retries)
                                   : mem_strdup("");
    }
    return mem_strdup("");
}

/* False: all its cells are empty. */
static bool add_closing_column(struct closing *closing, enum column_kind kind, const char *title,
                               bool needed)
{
    struct column *column = &closing->columns[closing->column_count++];
    *column = (struct column){
        .kind = kind, .title = title, .needed = needed, .width = utf8_columns(title)};
    AUTO_FREE char *first = NULL;
    bool differ = false;
    closing->rows = 0;
    for (size_t i = 0; i < closing->results->count; i++) {
        if (!has_row(closing, &closing->results->items[i]))
            continue;
        char *text = cell_text(closing, column, i);
        size_t width = utf8_columns(text);
        column->width = width > column->width ? width : column->width;
        column->filled += *text != '\0';
        differ = differ || (first && strcmp(first, text) != 0);
        closing->rows++;
        if (first)
            free(text);
        else
            first = text;
    }
    bool is_same = !differ && closing->rows > 1 && column->filled > 0;
    if (is_same && (kind == COLUMN_PARAM || kind == COLUMN_METRIC))
        column->same = steal_ptr(first);
    return column->filled > 0;
}

/* Says nothing of how the rows differ, or is of few of them: of one repository among many. A result
 * is what a run was made for: one that is the same everywhere is shown where there is room, behind
 * those that differ. */
static bool is_left_out(const struct closing *closing, const struct column *column)
{
    return !column->needed && !column->shown &&
           (column->same || column->filled * MOSTLY < closing->rows);
}

static void make_columns(struct closing *closing)
{
    columns_varied(&closing->results->plan, &closing->varied);
    columns_metrics(closing->results, &closing->metrics);
    closing->columns =
        mem_array(closing->varied.count + closing->metrics.count + 7, sizeof *closing->columns);
    add_closing_column(closing, COLUMN_ID, "EXPERIMENT", true);
    for (size_t i = 0; i < closing->varied.count; i++)
        add_closing_column(closing, COLUMN_PARAM, closing->varied.items[i], false);
    add_closing_column(closing, COLUMN_OUTCOME, "OUTCOME", true);
    if (closing_any_unclean(closing->results))
        add_closing_column(closing, COLUMN_VERDICT, "VERDICT", true);
    add_closing_column(closing, COLUMN_TIME, "TIME", true);
    if (!add_closing_column(closing, COLUMN_GPU, "GPU ENERGY", true))
        closing->column_count--;
    if (!add_closing_column(closing, COLUMN_CPU, "CPU ENERGY", false))
        closing->column_count--;
    for (size_t i = 0; i < closing->metrics.count; i++)
        if (!add_closing_column(closing, COLUMN_METRIC, closing->metrics.items[i], false))
            closing->column_count--; /* room for one that says something */
    if (!add_closing_column(closing, COLUMN_RETRIES, "RETRIES", true))
        closing->column_count--;
}

static void show_if_fits(const struct closing *closing, struct column *column, size_t *used)
{
    size_t limit = closing->options->width ? closing->options->width : SIZE_MAX;
    if (*used + GAP + column->width > limit)
        return;
    column->shown = true;
    *used += GAP + column->width;
}

/* Takes the kind's next column that is not shown yet, when it fits. False: there is none left. */
static bool show_next(struct closing *closing, enum column_kind kind, size_t *from, size_t *used)
{
    for (; *from < closing->column_count; (*from)++) {
        struct column *column = &closing->columns[*from];
        if (column->kind != kind || is_left_out(closing, column))
            continue;
        (*from)++;
        show_if_fits(closing, column, used);
        return true;
    }
    return false;
}

/* The CPU's energy first; hyperparameters and metrics take turns, so that a narrow terminal shows
 * some of both. */
static void choose_columns(struct closing *closing)
{
    size_t used = 0;
    for (size_t i = 0; i < closing->column_count; i++) {
        struct column *column = &closing->columns[i];
        column->shown = column->needed;
        used += column->needed ? column->width + (i ? GAP : 0) : 0;
    }
    size_t cpu_at = 0, param_at = 0, metric_at = 0;
    bool more = true;
    show_next(closing, COLUMN_CPU, &cpu_at, &used);
    while (more) {
        more = show_next(closing, COLUMN_METRIC, &metric_at, &used);
        more = show_next(closing, COLUMN_PARAM, &param_at, &used) || more;
    }
    for (size_t i = 0; i < closing->column_count; i++)
        if (closing->columns[i].kind == COLUMN_METRIC && closing->columns[i].same)
            show_if_fits(closing, &closing->columns[i], &used);
}

/* Words are aligned left. */
static bool is_word_column(enum column_kind kind)
{
    return kind == COLUMN_ID || kind == COLUMN_OUTCOME || kind == COLUMN_VERDICT;
}

static const char *closing_cell_colour(enum column_kind kind, const struct result *result)
{
    if (kind == COLUMN_OUTCOME)
        return result->outcome == OUTCOME_SUCCEEDED ? GREEN
               : result->outcome == OUTCOME_FAILED  ? RED
                                                    : YELLOW;
    if (kind != COLUMN_VERDICT || result->verdict == VERDICT_NONE)
        return NULL;
    return result->verdict == VERDICT_CLEAN          ? GREEN
           : result->verdict == VERDICT_CONTAMINATED ? RED
                                                     : YELLOW;
}

static void print_table(const struct closing *closing)
{
    struct table *table = table_new(closing->options->colour);
    EACH (item, closing->columns, closing->column_count)
        if (item->shown)
            table_add_column(table, item->title, !is_word_column(item->kind));
    for (size_t row = 0; row < closing->results->count; row++) {
        const struct result *result = &closing->results->items[row];
        if (!has_row(closing, result))
            continue;
        table_add_row(table);
        EACH (column, closing->columns, closing->column_count) {
            AUTO_FREE char *text = column->shown ? cell_text(closing, column, row) : NULL;
            if (text)
                table_add_cell(table, text, closing_cell_colour(column->kind, result));
        }
    }
    if (closing->rows > 0) {
        table_print(table, closing->out);
        text_add_char(closing->out, '\n');
    }
    table_free(table);
}

/* One more name in a line of them: a received one may hold line ends. */
static void add_listed(struct closing *closing, size_t before, const char *title, const char *name)
{
    AUTO_FREE char *safe = utf8_line(name);
    text_addf(closing->out, "%s%s", before ? ", " : title, safe);
}

static void print_hidden_columns(struct closing *closing)
{
    size_t hidden = 0;
    for (size_t i = 0; i < closing->column_count; i++)
        if (!closing->columns[i].shown && !is_left_out(closing, &closing->columns[i]))
            add_listed(closing, hidden++,
                       "not shown, for want of room: ", closing->columns[i].title);
    if (hidden)
        text_add(closing->out, " (all in summary.csv)\n");
}

/* The rest of what varied or was measured, in one line. */
static void print_left_out(struct closing *closing)
{
    size_t same = 0, sparse = 0;
    for (size_t i = 0; i < closing->column_count; i++) {
        const struct column *column = &closing->columns[i];
        if (!column->same || column->shown)
            continue;
        add_listed(closing, same++, "the same in every row: ", column->title);
        text_addf(closing->out, " %s", column->same);
    }
    for (size_t i = 0; i < closing->column_count; i++)
        if (is_left_out(closing, &closing->columns[i]) && !closing->columns[i].same &&
            sparse++ < NAMES_SHOWN)
            add_listed(closing, sparse - 1,
                       same ? "; empty in most rows: " : "empty in most rows: ",
                       closing->columns[i].title);
    if (sparse > NAMES_SHOWN)
        text_addf(closing->out, " and %zu more", sparse - NAMES_SHOWN);
    if (same + sparse)
        text_add(closing->out, sparse ? " (all in summary.csv)\n" : "\n");
}

static void print_counts(struct closing *closing)
{
    static const enum outcome order[] = {OUTCOME_SUCCEEDED, OUTCOME_FAILED, OUTCOME_INTERRUPTED,
                                         OUTCOME_NONE};
    size_t printed = 0;
    EACH_OF (item, order) {
        size_t count = 0;
        EACH (entry, closing->results->items, closing->results->count)
            count += entry->outcome == *item;
        if (count == 0)
            continue;
        text_addf(closing->out, "%s%zu %s", printed++ ? ", " : "", count, outcome_text(*item));
    }
    if (closing->rows < closing->results->count)
        text_addf(closing->out, " (those that %s are in summary.csv)",
                  closing_any_unclean(closing->results) ? "succeeded and are clean" : "succeeded");
    text_add_char(closing->out, '\n');
}

static const char *failure_reason(const struct result *result)
{
    return result->outcome == OUTCOME_FAILED ? result->error : NULL;
}

/* Not what the plan says: its figures are of other settings. */
static const char *change_of(const struct result *result)
{
    return result->changed;
}

/* What is to be said of some results, a line for each of the first. */
static void print_each(const struct closing *closing, const char *title,
                       const char *(*of)(const struct result *), const char *rest)
{
    size_t printed = 0;
    EACH (result, closing->results->items, closing->results->count) {
        AUTO_FREE char *text = of(result) ? utf8_line(of(result)) : NULL;
        if (!text)
            continue;
        if (printed == 0)
            text_add(closing->out, title);
        if (printed++ < REASONS_SHOWN)
            text_addf(closing->out, "  %s: %s\n", result->id, text);
    }
    if (printed > REASONS_SHOWN)
        text_addf(closing->out, "  and %zu more: see %s\n", printed - REASONS_SHOWN, rest);
}

/* Metrics that are optional: where one of them was found, the others are not missed. */
static bool misses_none(const struct result *result, const struct plan_job *job)
{
    EACH (metric, result->metrics,
          job->rules.metrics == METRICS_OPTIONAL ? result->metric_count : 0)
        if (metric->valid)
            return true;
    return false;
}

static bool is_guess(const struct plan_job *job, const char *name)
{
    EACH (metric, job->metrics, job->metric_count)
        if (strcmp(metric->name, name) == 0)
            return plan_metric_is_guess(job, metric);
    return false;
}

/* A job that failed for another reason may have ended before it printed a metric. */
static bool may_lack_metrics(const struct result *result)
{
    return result->outcome != OUTCOME_FAILED || !result->failure ||
           strcmp(result->failure, FAILURE_WITHOUT_METRIC) == 0;
}

/* Whether this metric of this model (NULL: of any of the repository's) was looked for in ended
 * experiments and found in none. */
static bool never_matched(const struct results *results, const char *repo, const char *model,
                          const char *metric)
{
    bool looked_for = false;
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        const struct plan_job *job = &results->plan.experiments[i].foreground;
        if (is_left_to_run(result) || !may_lack_metrics(result) || strcmp(job->repo, repo) != 0 ||
            (model && strcmp(job->model, model) != 0) || is_guess(job, metric))
            continue;
        EACH (item, result->metrics, result->metric_count) {
            if (strcmp(item->name, metric) != 0)
                continue;
            if (item->valid)
                return false;
            looked_for = looked_for || !misses_none(result, job);
        }
    }
    return looked_for;
}

/* Of adaptive pauses. */
static void print_saved(struct closing *closing)
{
    double saved_s = 0;
    bool any = false;
    char text[32];
    EACH (item, closing->results->items, closing->results->count) {
        struct reading saved = item->pause_saved_s;
        any = any || saved.valid;
        saved_s += saved.valid ? saved.value : 0;
    }
    if (!any)
        return;
    clock_format_duration(saved_s < 0 ? -saved_s : saved_s, text);
    text_addf(closing->out, "adaptive pauses: %s %s than fixed ones\n", text,
              saved_s < 0 ? "more" : "less");
}

/* Trainings that diverged: their results are values, and none to make a mean of. */
static void print_not_finite(struct closing *closing)
{
    size_t printed = 0;
    for (size_t m = 0; m < closing->metrics.count; m++) {
        size_t count = 0;
        EACH (result, closing->results->items, closing->results->count) {
            EACH (metric, result->metrics, result->metric_count)
                count += metric->valid && !isfinite(metric->value) &&
                         strcmp(metric->name, closing->metrics.items[m]) == 0;
        }
        if (count == 0)
            continue;
        add_listed(closing, printed++, "not finite (NaN, infinity): ", closing->metrics.items[m]);
        text_addf(closing->out, " %zu", count);
    }
    if (printed)
        text_add_char(closing->out, '\n');
}

static void add_never(struct closing *closing, size_t printed, const char *metric,
                      const char *where)
{
    add_listed(closing, printed, "never matched in any log: ", metric);
    if (!where)
        return;
    AUTO_FREE char *shown = utf8_line(where);
    text_addf(closing->out, " (%s)", shown);
}

/* Of one repository: by model, unless none of its models has it. Gives how many were printed. */
static size_t print_never_of(struct closing *closing, const char *repo, bool only_one,
                             const char *metric, size_t printed)
{
    const struct results *results = closing->results;
    AUTO_STRV struct strv models = {0};
    size_t before = printed;
    if (never_matched(results, repo, NULL, metric)) {
        add_never(closing, printed, metric, only_one ? NULL : repo);
        return 1;
    }
    EACH (experiment, results->plan.experiments, results->plan.count)
        if (strcmp(experiment->foreground.repo, repo) == 0)
            strv_add_once(&models, experiment->foreground.model);
    EACH (item, models.items, models.count) {
        if (!never_matched(results, repo, *item, metric))
            continue;
        AUTO_FREE char *where = only_one ? mem_strdup(*item) : mem_printf("%s %s", repo, *item);
        add_never(closing, printed++, metric, where);
    }
    return printed - before;
}

/* Guessed metrics were searched in logs of experiments that ended, and no metric was found in
 * any. */
static bool guessed_none(const struct results *results)
{
    bool searched = false;
    for (size_t i = 0; i < results->count; i++) {
        const struct plan_job *job = &results->plan.experiments[i].foreground;
        EACH (metric, results->items[i].metrics, results->items[i].metric_count)
            if (metric->valid)
                return false;
        searched = searched ||
                   (!is_left_to_run(&results->items[i]) && may_lack_metrics(&results->items[i]) &&
                    job->metric_count > 0 && plan_metric_is_guess(job, &job->metrics[0]));
    }
    return searched;
}

static void print_never_matched(struct closing *closing)
{
    AUTO_STRV struct strv repos = {0};
    EACH (experiment, closing->results->plan.experiments, closing->results->plan.count)
        strv_add_once(&repos, experiment->foreground.repo);
    size_t printed = 0;
    EACH (item, repos.items, repos.count)
        for (size_t m = 0; m < closing->metrics.count; m++)
            printed += print_never_of(closing, *item, repos.count == 1, closing->metrics.items[m],
                                      printed);
    if (printed)
        text_add_char(closing->out, '\n');
    if (guessed_none(closing->results))
        text_add(
            closing->out,
            "no metric was found in any log: name yours in log_patterns of the registry, as in "
            "\"loss\": \"named: training_loss\"\n");
}

static void print_processes(struct closing *closing, const char *title, bool survivors)
{
    size_t printed = 0;
    EACH (result, closing->results->items, closing->results->count) {
        size_t count = survivors ? result->survivor_count : result->leftover_count;
        if (count)
            text_addf(closing->out, "%s%s (%zu)", printed++ ? ", " : title, result->id, count);
    }
    if (printed)
        text_add_char(closing->out, '\n');
}

/* "tare run OPTION [WHICH] DIR", quoted for a shell. */
static char *format_run_command(const struct closing_options *options, const char *option,
                                const char *which, const struct strv *more)
{
    AUTO_STRV struct strv argv = {0};
    strv_add(&argv, options->program);
    strv_add(&argv, "run");
    strv_add(&argv, option);
    if (which)
        strv_add(&argv, which);
    strv_add(&argv, options->run_dir);
    if (more)
        strv_add_all(&argv, more);
    struct plan_job job = {.argv = argv};
    return plan_job_shell(&job, NULL);
}

void closing_add_where(const struct results *results, const struct closing_options *options,
                       struct text *out)
{
    AUTO_FREE char *run_dir = utf8_line(options->run_dir);
    text_addf(out, "results: %s\n", run_dir);
    size_t left = 0, failed = 0, unclean_failed = 0;
    EACH (result, results->items, results->count) {
        bool is_failure = result->outcome == OUTCOME_FAILED && !result->again;
        left += is_left_to_run(result);
        failed += is_failure;
        unclean_failed += is_failure && closing_is_to_repeat(result);
    }
    if (left > 0) {
        AUTO_STRV struct strv budgets = {0};
        closing_budget_options(results, left, &budgets);
        AUTO_FREE char *resume = format_run_command(options, "--resume", NULL, &budgets);
        text_addf(out, "to run the %zu left: %s\n", left, resume);
    }
    size_t unclean = closing_count_to_repeat(results);
    if (unclean > 0) {
        AUTO_FREE char *repeat = format_run_command(options, "--rerun-contaminated", NULL, NULL);
        text_addf(out, "to repeat the %zu that %s not clean: %s\n", unclean,
                  unclean == 1 ? "is" : "are", repeat);
    }
    if (failed > 0 && (unclean_failed < failed || unclean > failed)) {
        AUTO_FREE char *repeat = format_run_command(options, "--rerun", "failed", NULL);
        text_addf(out, "to repeat the %zu that failed: %s\n", failed, repeat);
    }
}

void closing_text(const struct results *results, const struct closing_options *options,
                  struct text *out)
{
    struct closing closing = {.results = results, .options = options, .out = out};
    make_columns(&closing);
    choose_columns(&closing);
    print_table(&closing);
    print_hidden_columns(&closing);
    print_left_out(&closing);
    print_counts(&closing);
    closing_add_causes(results, out);
    print_each(&closing, "", failure_reason, "experiment.json in their folders");
    print_each(&closing, "changed by a retry after an out-of-memory failure:\n", change_of,
               "\"changed\" in summary.csv");
    print_never_matched(&closing);
    print_not_finite(&closing);
    closing_add_verdicts(results, out);
    print_processes(&closing, "processes left behind by their jobs, and ended: ", false);
    print_processes(&closing, "processes that could not be ended: ", true);
    print_saved(&closing);
    closing_add_lanes(results, options, out);
    closing_add_budget(results, out);
    closing_add_where(results, options, out);
    strv_fini(&closing.varied);
    strv_fini(&closing.metrics);
    EACH (column, closing.columns, closing.column_count)
        free(column->same);
    free(closing.columns);
}
