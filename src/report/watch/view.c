/* The whole view: what is where at which size. */
#include "report/watch/view.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/live/layout.h"
#include "report/watch/keys.h"
#include "report/watch/plot.h"
#include "report/watch/rows.h"
#include "report/watch/slots.h"
#include "tare_build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is drawn over the rest: help, and the list of runs. */

static const char *const help[][2] = {
    {"Up Down j k", "choose a slot or experiment; scroll the log"},
    {"PgUp PgDn g G", "a page; the first, the last"},
    {"Tab", "to the next pane: slots, plan, log"},
    {"Enter f", "follow what runs in the chosen slot"},
    {"m", "the next metric"},
    {"/ n N", "find an id, state or verdict; the next, the one before"},
    {"[ ] r", "the run before, the next run; list of runs"},
    {"p", "pause: nothing more begins; go on after a pause"},
    {"s", "skip the chosen experiment: tare run --resume runs it"},
    {"S", "stop the run as Ctrl-C there does"},
    {"?", "this help"},
    {"q", "quit: the run goes on"},
};

enum { HELP_ROWS = sizeof help / sizeof *help, HELP_KEYS = 14, HELP_COLUMNS = 76 };

/* A blank box in the middle with a frame; gives what is inside. */
static struct grid_area box(const struct grid_area *area, size_t rows, size_t columns,
                            const char *title)
{
    struct grid_area out = *area;
    out.rows = rows + 2 < area->rows ? rows + 2 : area->rows;
    out.columns = columns + 2 < area->columns ? columns + 2 : area->columns;
    out.row += (area->rows - out.rows) / 2;
    out.column += (area->columns - out.columns) / 2;
    for (size_t row = 0; row < out.rows; row++)
        for (size_t column = 0; column < out.columns; column++)
            grid_put(&out, row, column, GRID_PLAIN, " ");
    return grid_frame(out, title, true);
}

static void watch_draw_help(const struct grid_area *area)
{
    struct grid_area inside = box(area, HELP_ROWS, HELP_COLUMNS, "Keys");
    for (size_t i = 0; i < HELP_ROWS; i++) {
        grid_put(&inside, i, 1, GRID_STRONG, help[i][0]);
        grid_put(&inside, i, HELP_KEYS + 2, GRID_PLAIN, help[i][1]);
    }
}

/* Help, and the list of runs, over the rest. */
static void watch_draw_list(struct watch_view *view, const struct watch_scene *scene,
                            const struct grid_area *area)
{
    struct grid_area inside =
        box(area, scene->run_count, area->columns > 100 ? 96 : area->columns - 2,
            "Runs: Enter shows one");
    view->list_top = watch_scroll(view->list_top, view->run, inside.rows, scene->run_count);
    for (size_t i = 0; i < inside.rows && view->list_top + i < scene->run_count; i++) {
        size_t place = view->list_top + i;
        const struct watch_item *item = &scene->runs[place];
        size_t state = utf8_columns(item->state),
               room = inside.columns > state + 4 ? inside.columns - state - 4 : 0;
        grid_put(&inside, i, 0, GRID_STRONG, place == scene->run_at ? "▶" : " ");
        grid_field(&inside, i, 2, room, false, GRID_PLAIN, item->dir);
        grid_field(&inside, i, room + 3, state, false, GRID_DIM, item->state);
        if (place == view->run)
            grid_choose(&inside, i);
    }
}

enum {
    WIDE = 100,
    BESIDE = 70,
    CURVE_ROWS = 7,
    PLAN_ROWS_MIN = 5,
    LOG_ROWS = 6,
    ROWS_FOR_TWO = 28,
    HINT_ROWS = 3,
    ONCE_PLAN_ROWS = 20,
    STALE_S = 10
};

void watch_time(double seconds, char out[WATCH_TIME_BYTES])
{
    long long s = seconds > 0 ? (long long)fmin(seconds, 1e11) : 0;
    if (s < 60)
        snprintf(out, WATCH_TIME_BYTES, "%llds", s);
    else if (s < 3600)
        snprintf(out, WATCH_TIME_BYTES, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, WATCH_TIME_BYTES, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(out, WATCH_TIME_BYTES, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}

enum grid_style watch_verdict_style(const struct live_experiment *experiment)
{
    static const enum grid_style of_verdict[VERDICTS] = {[VERDICT_NONE] = GRID_DIM,
                                                         [VERDICT_CLEAN] = GRID_GOOD,
                                                         [VERDICT_UNVERIFIED] = GRID_WARN,
                                                         [VERDICT_SUSPECT] = GRID_WARN,
                                                         [VERDICT_CONTAMINATED] = GRID_BAD};
    if (experiment->state == STATE_DONE)
        return of_verdict[experiment->verdict];
    if (experiment->state == STATE_PLANNED || !experiment->has_evidence)
        return GRID_DIM;
    return experiment->weight == EVIDENCE_CONTAMINATED ? GRID_BAD
           : experiment->weight == EVIDENCE_RECORDED   ? GRID_DIM
                                                       : GRID_WARN;
}

size_t watch_scroll(size_t top, size_t chosen, size_t rows, size_t count)
{
    if (rows == 0)
        return chosen;
    top = chosen < top ? chosen : chosen >= top + rows ? chosen - rows + 1 : top;
    return count <= rows ? 0 : top + rows > count ? count - rows : top;
}

const struct live_experiment *watch_chosen(const struct watch_view *view,
                                           const struct live_run *run)
{
    return view->experiment < run->plan.count ? &run->experiments[view->experiment] : NULL;
}

const struct live_slot *watch_slot_of(const struct live_run *run, size_t number)
{
    for (size_t i = 0; number && i < run->slot_count; i++)
        if (run->slots[i].experiment == number)
            return &run->slots[i];
    return NULL;
}

void watch_view_begin(struct watch_view *view)
{
    *view = (struct watch_view){.follows = true, .focus = PANE_PLAN};
}

/* What there is to see where nothing is under way: what ended last. */
static size_t last_ended(const struct live_run *run)
{
    size_t last = 0;
    for (size_t i = 0; i < run->plan.count; i++)
        if (run->experiments[i].ended_ns > run->experiments[last].ended_ns)
            last = i;
    return last;
}

void watch_view_settle(struct watch_view *view, const struct live_run *run)
{
    if (view->slot >= run->slot_count)
        view->slot = run->slot_count ? run->slot_count - 1 : 0;
    size_t number = run->slot_count ? run->slots[view->slot].experiment : 0;
    if (view->follows)
        view->experiment = number && number <= run->plan.count ? number - 1 : last_ended(run);
    if (view->experiment >= run->plan.count)
        view->experiment = run->plan.count ? run->plan.count - 1 : 0;
    for (size_t i = 0; i < run->slot_count && !view->follows; i++)
        if (run->slots[i].experiment == view->experiment + 1)
            view->slot = i;
}

static const char *state_text(const struct live_run *run, enum grid_style *style)
{
    *style = run->state == LIVE_DIED                       ? GRID_BAD
             : run->state == LIVE_ELSEWHERE || run->paused ? GRID_WARN
                                                           : GRID_GOOD;
    switch (run->state) {
    case LIVE_UNDER_WAY:
        return run->paused ? "paused" : "under way";
    case LIVE_ENDED:
        *style = GRID_STRONG;
        return "ended";
    case LIVE_DIED:
        return "died";
    default:
        return "on another host";
    }
}

/* What a state means for the reader, in a row of its own; nothing where it goes without saying. */
static void add_hint(const struct watch_scene *scene, struct text *out)
{
    const struct live_run *run = scene->run;
    char age[WATCH_TIME_BYTES];
    double age_s = (double)(scene->now_ns - run->live_ns) / (double)NS_PER_S;
    watch_time(age_s, age);
    if (scene->fault)
        text_addf(out, "not read: %s", scene->fault);
    else if (run->state == LIVE_DIED)
        text_addf(out, "its program has died: %s run --resume %s goes on with it", TARE_NAME,
                  run->dir);
    else if (run->state == LIVE_ENDED && run->outcome && strcmp(run->outcome, "finished") != 0)
        text_addf(out, "final state (%s): %s run --resume %s goes on with it", run->outcome,
                  TARE_NAME, run->dir);
    else if (run->state == LIVE_ENDED)
        text_addf(out, "final state (%s)", run->outcome ? run->outcome : "no session has begun");
    else if (run->state == LIVE_ELSEWHERE)
        text_addf(out, "whether its program lives is not known here%s%s",
                  run->live_ns ? "; last readings before " : "", run->live_ns ? age : "");
    else if (run->paused)
        text_add(out, "paused on request: nothing more begins; p goes on");
    else if (run->live_ns && age_s > STALE_S)
        text_addf(out, "the readings are %s old", age);
}

static void draw_name(const struct watch_scene *scene, const struct grid_area *area)
{
    const struct live_run *run = scene->run;
    enum grid_style style;
    char elapsed[WATCH_TIME_BYTES];
    AUTO_TEXT struct text right = {0};
    const char *state = state_text(run, &style);
    if (run->state == LIVE_UNDER_WAY && run->session_started_ns) {
        watch_time((double)(scene->now_ns - run->session_started_ns) / (double)NS_PER_S, elapsed);
        text_addf(&right, "%s", elapsed);
    }
    if (scene->run_count > 1)
        text_addf(&right, "%srun %zu/%zu", right.length ? "  " : "", scene->run_at + 1,
                  scene->run_count);
    size_t taken = right.length + utf8_columns(state) + 3,
           room = area->columns > taken ? area->columns - taken : 0;
    size_t column = grid_put(&(struct grid_area){area->grid, area->row, area->column, 1, room}, 0,
                             0, GRID_STRONG, run->name);
    column = grid_put(area, 0, column + 2, style, state);
    if (run->plan.name && column + right.length + 6 < area->columns)
        grid_put(&(struct grid_area){area->grid, area->row, area->column, 1,
                                     area->columns - right.length - 2},
                 0, column + 2, GRID_DIM, run->plan.name);
    grid_field(area, 0, area->columns > right.length ? area->columns - right.length : 0,
               right.length, true, GRID_PLAIN, text_get(&right));
}

/* How much of the plan is done, and what the results are worth. What has no part in it is left
 * out. */
static void draw_counts(const struct live_run *run, const struct grid_area *area)
{
    const struct live_counts counts = live_run_counts(run);
    const struct {
        size_t count;
        const char *name;
        enum grid_style style;
    } parts[] = {
        {counts.running, "under way", GRID_STRONG},     {counts.failed, "failed", GRID_BAD},
        {counts.interrupted, "interrupted", GRID_WARN}, {counts.clean, "clean", GRID_GOOD},
        {counts.unverified, "unverified", GRID_WARN},   {counts.suspect, "suspect", GRID_WARN},
        {counts.contaminated, "contaminated", GRID_BAD}};
    size_t done = counts.succeeded + counts.failed, width = area->columns >= WIDE     ? 20
                                                            : area->columns >= BESIDE ? 10
                                                                                      : 5;
    AUTO_TEXT struct text bar = {0};
    bar_draw(run->plan.count ? (double)done / (double)run->plan.count : 0, width, area->grid->ascii,
             &bar);
    size_t column = grid_put(area, 1, 0, GRID_GOOD, text_get(&bar)) + 1;
    column = grid_putf(area, 1, column, GRID_PLAIN,
                       area->columns < 60 ? "%zu/%zu" : "%zu of %zu done", done, run->plan.count);
    EACH_OF (part, parts)
        if (part->count)
            column = grid_putf(area, 1, column, part->style, "%s%zu %s",
                               area->columns < 60 ? " " : "  ", part->count, part->name);
}

static void draw_footer(const struct watch_view *view, const struct watch_scene *scene,
                        const struct grid_area *area)
{
    AUTO_TEXT struct text text = {0};
    enum grid_style style = view->said_bad ? GRID_BAD : GRID_STRONG;
    if (view->confirming) {
        watch_question(view, scene->run, &text);
        text_add(&text, " y: yes, other keys: no");
        style = GRID_WARN;
    } else if (view->finding) {
        text_addf(&text, "/%s_  %s", view->find, view->said);
    } else if (*view->said) {
        text_add(&text, view->said);
    } else {
        style = GRID_DIM;
        text_add(&text,
                 area->columns < 60
                     ? "? help  q quit  Tab  p s S"
                     : "? help  q quit  Tab pane  m metric  / find  p pause  s skip  S stop");
        if (scene->run_count > 1)
            text_add(&text, "  [ ] run  r runs");
    }
    /* A question that is cut would not be one. */
    if (view->confirming && utf8_columns(text_get(&text)) > area->columns) {
        text_clear(&text);
        text_addf(&text, "%s? y: yes, others: no", live_request_name(view->request));
    }
    grid_put(area, 0, 0, style, text_get(&text));
}

static void draw_pane(struct watch_view *view, const struct watch_scene *scene,
                      enum watch_pane pane, struct grid_area area)
{
    static void (*const draw[PANES])(struct watch_view *, const struct watch_scene *,
                                     const struct grid_area *) = {watch_draw_slots, watch_draw_plan,
                                                                  watch_draw_log};
    AUTO_TEXT struct text title = {0};
    if (pane == PANE_SLOTS)
        text_addf(&title, "%zu slot%s", scene->run->slot_count,
                  scene->run->slot_count == 1 ? "" : "s");
    else if (pane == PANE_PLAN)
        text_addf(&title, "Plan %zu/%zu", scene->run->plan.count ? view->experiment + 1 : 0,
                  scene->run->plan.count);
    else
        text_addf(&title, "%s%s", scene->log && scene->log->name ? scene->log->name : "Log",
                  view->log_back ? " (scrolled)" : "");
    struct grid_area inside =
        grid_frame(area, text_get(&title), pane == view->focus && !scene->plain);
    if (inside.rows && inside.columns)
        draw[pane](view, scene, &inside);
}

/* Cuts the first rows off left and returns them. */
static struct grid_area cut_rows(struct grid_area *left, size_t rows)
{
    struct grid_area out = *left;
    out.rows = rows < left->rows ? rows : left->rows;
    left->row += out.rows;
    left->rows -= out.rows;
    return out;
}

/* Slots above; below them the plan, and beside it curves and log; on narrow terminals one below the
 * other, as far as there are rows. */
static void draw_panes(struct watch_view *view, const struct watch_scene *scene,
                       struct grid_area body)
{
    bool wide = body.columns >= WIDE, beside = body.columns >= BESIDE;
    size_t needed = watch_slots_rows(scene->run, body.columns > 2 ? body.columns - 2 : 0) + 2;
    size_t most = scene->plain ? needed : wide ? body.rows / 2 : body.rows * 2 / 5;
    /* A slot of one run may have its rows where the plan still has some. */
    if (scene->run->slot_count <= 1 && needed + PLAN_ROWS_MIN <= body.rows)
        most = needed;
    draw_pane(view, scene, PANE_SLOTS,
              cut_rows(&body, needed < most ? needed
                              : most < 3    ? 3
                                            : most));
    if (wide && body.rows >= 10) {
        struct grid_area right = body;
        size_t left = body.columns * 3 / 5;
        body.columns = left;
        right.column += left;
        right.columns -= left;
        size_t curves = right.rows * 3 / 5;
        watch_draw_curves(view, scene, cut_rows(&right, curves), false);
        draw_pane(view, scene, PANE_LOG, right);
        draw_pane(view, scene, PANE_PLAN, body);
        return;
    }
    size_t plan = body.rows / 2 < PLAN_ROWS_MIN ? PLAN_ROWS_MIN : body.rows / 2;
    struct grid_area of_plan =
        body.rows < PLAN_ROWS_MIN + LOG_ROWS / 2 ? body : (struct grid_area){0};
    if (!of_plan.rows) {
        struct grid_area rest = body;
        struct grid_area curves = {0};
        if (body.rows >= PLAN_ROWS_MIN + CURVE_ROWS + LOG_ROWS || scene->plain)
            curves = cut_rows(&rest, beside || (body.rows < ROWS_FOR_TWO && !scene->plain)
                                         ? CURVE_ROWS
                                         : 2 * CURVE_ROWS - 2);
        plan = rest.rows * 3 / 5 < PLAN_ROWS_MIN ? PLAN_ROWS_MIN : rest.rows * 3 / 5;
        of_plan = cut_rows(&rest, plan);
        if (curves.rows)
            watch_draw_curves(view, scene, curves, beside);
        draw_pane(view, scene, PANE_LOG, rest);
    }
    draw_pane(view, scene, PANE_PLAN, of_plan);
}

/* A command in it is to be read whole: on as many rows as it needs, three at most. */
static void draw_hint(const struct watch_scene *scene, const char *hint, struct grid_area *left)
{
    AUTO_TEXT struct text rows = {0};
    enum grid_style style = scene->fault || scene->run->state == LIVE_DIED ? GRID_BAD : GRID_WARN;
    text_wrap(&rows, hint, 0, left->columns);
    char *rest = rows.data;
    for (size_t i = 0; i < HINT_ROWS && rest && *rest; i++) {
        struct grid_area row = cut_rows(left, 1);
        grid_put(&row, 0, 0, style, strsep(&rest, "\n"));
    }
}

void watch_draw(struct watch_view *view, const struct watch_scene *scene, struct grid *grid)
{
    struct grid_area all = {grid, 0, 0, grid->rows, grid->columns};
    AUTO_TEXT struct text hint = {0};
    draw_name(scene, &all);
    draw_counts(scene->run, &all);
    add_hint(scene, &hint);
    cut_rows(&all, 2);
    if (hint.length)
        draw_hint(scene, text_get(&hint), &all);
    struct grid_area body = cut_rows(&all, all.rows - (!scene->plain && all.rows > 0));
    draw_panes(view, scene, body);
    if (view->listing)
        watch_draw_list(view, scene, &body);
    if (view->helping)
        watch_draw_help(&body);
    if (!scene->plain)
        draw_footer(view, scene, &all);
}

size_t watch_rows_needed(const struct watch_scene *scene, size_t columns)
{
    size_t slots = watch_slots_rows(scene->run, columns > 2 ? columns - 2 : 0) + 2;
    size_t plan = scene->run->plan.count < ONCE_PLAN_ROWS ? scene->run->plan.count : ONCE_PLAN_ROWS;
    if (columns >= WIDE)
        return 3 + slots + (plan + 3 > 20 ? plan + 3 : 20);
    return 3 + slots + (columns >= BESIDE ? CURVE_ROWS : 2 * CURVE_ROWS - 2) + (plan + 3) * 5 / 3;
}
