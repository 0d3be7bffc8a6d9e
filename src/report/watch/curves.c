/* Power and the chosen metric in time. */
#include "report/watch/view_private.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { CURVE_ROWS_MIN = 4 };

/* Names of metrics as they are chosen one after the other: those of the registry first. at: place from 0; NULL: no more. */
static const char *metric_at(const struct live_run *run, const struct watch_view *view, size_t at)
{
    const struct live_experiment *experiment = watch_chosen(view, run);
    return experiment && at < experiment->plan->foreground.metric_count ? experiment->plan->foreground.metrics[at].name : NULL;
}

const char *watch_metric(const struct watch_view *view, const struct live_run *run, bool next)
{
    const char *name;
    for (size_t i = 0; (name = metric_at(run, view, i)); i++)
        if (strcmp(name, view->metric) == 0) {
            const char *behind = next ? metric_at(run, view, i + 1) : name;
            return behind ? behind : metric_at(run, view, 0);
        }
    return metric_at(run, view, next && !*view->metric && metric_at(run, view, 1) ? 1 : 0);
}

/* Of the experiment that is chosen, else of the slot that is. */
static const struct live_slot *slot_shown(const struct watch_view *view, const struct live_run *run)
{
    const struct live_experiment *experiment = watch_chosen(view, run);
    const struct live_slot *slot = experiment ? watch_slot_of(run, experiment->plan->number) : NULL;
    return slot || !view->follows || view->slot >= run->slot_count ? slot : &run->slots[view->slot];
}

static void draw_curve(struct grid_area area, const char *title, const json_t *json, const char *unit, const struct plot *how)
{
    char value[32], span[WATCH_TIME_BYTES];
    struct plot plot = *how;
    AUTO_TEXT struct text text = {0};
    plot.points = plot_points_read(json, &plot.count);
    text_add(&text, title);
    if (plot.count) {
        const struct plot_point *last = &plot.points[plot.count - 1];
        plot.from_s = plot.points[0].t_s;
        plot.to_s = last->t_s;
        plot_number(last->value, value);
        watch_time(plot.to_s - plot.from_s, span);
        text_addf(&text, ": %s%s (%s)", value, unit, span);
    }
    struct grid_area inside = grid_frame(area, text_get(&text), false);
    plot_draw(&inside, &plot);
    free(plot.points);
}

void watch_draw_curves(const struct watch_view *view, const struct watch_scene *scene, struct grid_area area, bool beside)
{
    const struct live_slot *slot = slot_shown(view, scene->run);
    const char *metric = watch_metric(view, scene->run, false);
    const struct live_experiment *experiment = watch_chosen(view, scene->run);
    struct grid_area power = area, other = area;
    if (!slot) {
        bool ended = experiment && experiment->state == STATE_DONE;
        struct grid_area inside = grid_frame(area, "Curves", false);
        grid_put(&inside, 0, 1, GRID_DIM, ended ? "it has ended: tare report draws its curves" : "nothing of it is under way here");
        return;
    }
    bool both = metric && (beside || area.rows >= 2 * CURVE_ROWS_MIN);
    if (both && beside) {
        power.columns = area.columns / 2;
        other.column += power.columns;
        other.columns -= power.columns;
    } else if (both) {
        power.rows = area.rows / 2;
        other.row += power.rows;
        other.rows -= power.rows;
    }
    AUTO_FREE char *title = mem_printf("Power, slot %zu", slot->number);
    /* Where there is room for one, a metric that was asked for is what is wanted. */
    if (both || !metric || !*view->metric)
        draw_curve(power, title, json_object_get(slot->points, "power_w"), " W", &(struct plot){.from_zero = true, .style = GRID_POWER});
    if (both || (metric && *view->metric))
        draw_curve(other, metric, json_object_get(json_object_get(slot->points, "metrics"), metric), "", &(struct plot){.style = GRID_METRIC});
}
