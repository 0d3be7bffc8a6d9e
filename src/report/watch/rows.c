#include "report/watch/rows.h"
#include "report/watch/plot.h"
#include "report/watch/view.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/columns.h"
#include "report/live/parts.h"

#include <stdio.h>
#include <string.h>

enum { ID_MIN = 12, GAP = 1, COLUMNS_MAX = 6, DETAIL_ROWS_FROM = 5 };

struct row {
    const struct live_experiment *experiment;
    const char *metric;
    int64_t now_ns;
};

static const char *experiment_mark(const struct live_experiment *experiment, enum grid_style *style)
{
    bool done = experiment->state == STATE_DONE;
    *style = done && experiment->outcome == OUTCOME_SUCCEEDED ? GRID_GOOD
             : done ? (experiment->outcome == OUTCOME_FAILED ? GRID_BAD : GRID_WARN)
             : experiment->state == STATE_PLANNED ? GRID_DIM
                                                  : GRID_STRONG;
    if (experiment->again && (done || experiment->state == STATE_PLANNED))
        return "↻";
    return done && experiment->outcome == OUTCOME_SUCCEEDED ? "✓"
           : done                                           ? "✗"
           : experiment->state == STATE_PLANNED             ? "·"
                                                            : "▶";
}

static char *state_cell(const struct row *row, enum grid_style *style)
{
    const struct live_experiment *experiment = row->experiment;
    bool done = experiment->state == STATE_DONE;
    *style = done ? GRID_PLAIN : GRID_DIM;
    if (done && experiment->outcome == OUTCOME_FAILED && experiment->failure)
        return mem_printf("failed: %s", experiment->failure);
    return mem_strdup(done ? outcome_name(experiment->outcome) : state_name(experiment->state));
}

static char *verdict_cell(const struct row *row, enum grid_style *style)
{
    *style = watch_verdict_style(row->experiment);
    return mem_strdup(live_verdict_text(row->experiment));
}

static char *row_time_cell(const struct row *row, enum grid_style *style)
{
    char time[WATCH_TIME_BYTES];
    const struct live_experiment *experiment = row->experiment;
    bool runs = experiment->state != STATE_DONE && experiment->state != STATE_PLANNED &&
                experiment->started_ns;
    *style = runs ? GRID_STRONG : GRID_PLAIN;
    if (!runs && !(experiment->duration_s > 0))
        return mem_strdup(experiment->state == STATE_PLANNED ? "" : WATCH_ABSENT);
    watch_time(runs ? (double)(row->now_ns - experiment->started_ns) / (double)NS_PER_S
                    : experiment->duration_s,
               time);
    return mem_strdup(time);
}

static char *row_energy_cell(const struct row *row, enum grid_style *style)
{
    const struct result_energy *energy = &row->experiment->energy;
    *style = GRID_POWER;
    if (row->experiment->state == STATE_DONE && !energy->gpu_j.valid)
        return mem_strdup(WATCH_ABSENT);
    return row->experiment->state == STATE_DONE ? amount_format(energy->gpu_j, "J")
                                                : mem_strdup("");
}

static char *metric_cell(const struct row *row, enum grid_style *style)
{
    double value;
    char digits[32];
    *style = GRID_METRIC;
    if (!row->metric || row->experiment->state != STATE_DONE)
        return mem_strdup("");
    if (!json_get_number(row->experiment->metrics, row->metric, &value))
        return mem_strdup(WATCH_ABSENT);
    plot_number(value, digits);
    return mem_strdup(digits);
}

/* In the order in which they are given room; the last has what is left. */
static const struct column {
    const char *title;
    size_t width;
    bool right, wide; /* wide: only where the mark does not say it in less */
    char *(*cell)(const struct row *row, enum grid_style *style);
} columns[COLUMNS_MAX] = {
    {"STATE", 11, false, true, state_cell},      {"VERDICT", 14, false, false, verdict_cell},
    {"TIME", 6, true, false, row_time_cell},     {"METRIC", 8, true, false, metric_cell},
    {"ENERGY", 8, true, false, row_energy_cell},
};

/* Which columns have room, and how wide the id is. */
struct table_of_plan {
    size_t number, id, shown[COLUMNS_MAX], count;
};

static struct table_of_plan table_for(const struct live_run *run, size_t width)
{
    struct table_of_plan out = {.number = 1, .id = ID_MIN};
    for (size_t count = run->plan.count; count >= 10; count /= 10)
        out.number++;
    EACH (experiment, run->plan.experiments, run->plan.count) {
        size_t id = strlen(experiment->id);
        out.id = id > out.id ? id : out.id;
    }
    size_t fixed = 2 + out.number + GAP, used = fixed + ID_MIN;
    for (size_t i = 0; i < COLUMNS_MAX && columns[i].title; i++)
        if (used + GAP + columns[i].width <= width && !(columns[i].wide && width < 60)) {
            out.shown[out.count++] = i;
            used += GAP + columns[i].width;
        }
    size_t most = ID_MIN + (width > used ? width - used : 0);
    out.id = out.id > most ? most : out.id;
    return out;
}

static void draw_titles(const struct grid_area *area, const struct table_of_plan *table,
                        const char *metric)
{
    size_t column = 2 + table->number + GAP;
    column = grid_field(area, 0, column, table->id, false, GRID_DIM, "EXPERIMENT") + GAP;
    EACH (item, table->shown, table->count) {
        const struct column *of = &columns[*item];
        bool is_metric = of->cell == metric_cell && metric;
        column = grid_field(area, 0, column, of->width, of->right, GRID_DIM,
                            is_metric ? metric : of->title) +
                 GAP;
    }
}

static void draw_experiment(const struct grid_area *area, size_t at,
                            const struct table_of_plan *table, const struct row *row)
{
    enum grid_style style;
    const char *mark = experiment_mark(row->experiment, &style);
    grid_put(area, at, 0, style, mark);
    grid_putf(area, at, 2, GRID_DIM, "%*zu", (int)table->number, row->experiment->plan->number);
    size_t column = 2 + table->number + GAP;
    column = grid_field(area, at, column, table->id, false,
                        style == GRID_DIM ? GRID_DIM : GRID_PLAIN, row->experiment->plan->id) +
             GAP;
    EACH (item, table->shown, table->count) {
        const struct column *of = &columns[*item];
        AUTO_FREE char *cell = of->cell(row, &style);
        column = grid_field(area, at, column, of->width, of->right, style, cell) + GAP;
    }
}

void watch_draw_plan(struct watch_view *view, const struct watch_scene *scene,
                     const struct grid_area *area)
{
    const struct live_run *run = scene->run;
    if (area->rows == 0)
        return;
    struct table_of_plan table = table_for(run, area->columns);
    const char *metric = watch_metric(view, run, false);
    bool titles = area->rows > 3;
    struct grid_area rows = {area->grid, area->row + titles, area->column, area->rows - titles,
                             area->columns};
    if (titles)
        draw_titles(area, &table, metric);
    view->page[PANE_PLAN] = rows.rows;
    view->top[PANE_PLAN] =
        watch_scroll(view->top[PANE_PLAN], view->experiment, rows.rows, run->plan.count);
    for (size_t i = 0; i < rows.rows && view->top[PANE_PLAN] + i < run->plan.count; i++) {
        size_t place = view->top[PANE_PLAN] + i;
        struct row row = {&run->experiments[place], metric, scene->now_ns};
        draw_experiment(&rows, i, &table, &row);
        if (place == view->experiment && !scene->plain)
            grid_choose(&rows, i);
    }
}

/* What there is to say of the chosen experiment, above its log: its rows are taken from the
 * area. */
static void draw_details(const struct watch_view *view, const struct live_run *run,
                         struct grid_area *area)
{
    const struct live_experiment *experiment = watch_chosen(view, run);
    AUTO_TEXT struct text params = {0};
    if (!experiment)
        return;
    params_add(&run->plan, experiment->plan, &params);
    const struct {
        const char *text;
        enum grid_style style;
    } rows[] = {{params.length ? text_get(&params) : NULL, GRID_DIM},
                {experiment->error, GRID_BAD},
                {experiment->evidence, watch_verdict_style(experiment)}};
    EACH_OF (item, rows)
        if (item->text) {
            grid_put(area, 0, 0, item->style, item->text);
            area->row++;
            area->rows--;
        }
}

void watch_draw_log(struct watch_view *view, const struct watch_scene *scene,
                    const struct grid_area *area)
{
    const struct watch_log *log = scene->log;
    struct grid_area below = *area;
    area = &below;
    if (area->rows >= DETAIL_ROWS_FROM)
        draw_details(view, scene->run, &below);
    view->page[PANE_LOG] = area->rows ? area->rows : 1;
    if (!log || log->fault || log->lines.count == 0) {
        grid_put(area, 0, 0, GRID_DIM, log && log->fault ? log->fault : "the log is empty");
        return;
    }
    size_t most = log->lines.count > area->rows ? log->lines.count - area->rows : 0;
    view->log_back = view->log_back > most ? most : view->log_back;
    size_t first = most - view->log_back;
    for (size_t i = 0; i < area->rows && first + i < log->lines.count; i++)
        grid_put(area, i, 0, GRID_PLAIN, log->lines.items[first + i]);
}
