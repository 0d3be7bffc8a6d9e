#include "report/watch/plot.h"
#include "report/watch/view.h"

#include "base/mem.h"
#include "report/watch/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACROSS = 2, HIGH = 4, POINTS_MAX = 10000, LABEL_COLUMNS = 9 };

struct plot_point *plot_points_read(const json_t *json, size_t *count)
{
    size_t size = json_array_size(json), i;
    struct plot_point *out = mem_array(size ? size : 1, sizeof *out);
    const json_t *pair;
    *count = 0;
    json_array_foreach(json, i, pair)
    {
        const json_t *time = json_array_get(pair, 0), *value = json_array_get(pair, 1);
        struct plot_point point = {json_number_value(time), json_number_value(value)};
        bool later = *count == 0 || point.t_s >= out[*count - 1].t_s;
        if (json_is_number(time) && json_is_number(value) && later && isfinite(point.t_s) &&
            isfinite(point.value) && *count < POINTS_MAX)
            out[(*count)++] = point;
    }
    return out;
}

void plot_number(double value, char out[32])
{
    double size = fabs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-3))
        snprintf(out, 32, "%.2e", value);
    else if (size >= 100)
        snprintf(out, 32, "%.0f", value);
    else
        snprintf(out, 32, "%.3g", value);
}

/* Where dots are, across and high. */
struct dots {
    size_t across, high;
    bool *set; /* column by column, from the top */
};

static size_t height_of(const struct dots *dots, double value, double low, double high)
{
    double share = high > low ? (value - low) / (high - low) : 0.5;
    return (size_t)lround((1 - fmin(fmax(share, 0), 1)) * (double)(dots->high - 1));
}

/* What is between two heights in one column. */
static void set_between(struct dots *dots, size_t x, size_t from, size_t to)
{
    for (size_t y = from < to ? from : to; y <= (from < to ? to : from); y++) {
        if (x < dots->across && y < dots->high)
            dots->set[x * dots->high + y] = true;
    }
}

/* Draws a straight line without gaps, column by column. */
static void draw_line(struct dots *dots, size_t x0, size_t y0, size_t x1, size_t y1, bool filled)
{
    size_t last = y0;
    for (size_t x = x0; x <= x1; x++) {
        double share = x1 > x0 ? (double)(x - x0) / (double)(x1 - x0) : 1;
        size_t y = (size_t)lround((double)y0 + share * ((double)y1 - (double)y0));
        size_t from = y > last + 1   ? last + 1
                      : y + 1 < last ? last - 1
                                     : y; /* a steep part: up to beside the column before */
        set_between(dots, x, from, y);
        if (filled)
            set_between(dots, x, y, dots->high - 1);
        last = y;
    }
}

/* From point to point, those before and behind the time that is shown left out. */
static void set_line(struct dots *dots, const struct plot *plot, double low, double high)
{
    double span_s = plot->to_s > plot->from_s ? plot->to_s - plot->from_s : 1;
    size_t last_x = 0, last_y = 0;
    bool first = true;
    EACH (point, plot->points, plot->count) {
        double at = (point->t_s - plot->from_s) / span_s;
        if (at < 0 || at > 1)
            continue;
        size_t x = (size_t)lround(at * (double)(dots->across - 1)),
               y = height_of(dots, point->value, low, high);
        draw_line(dots, first ? x : last_x, first ? y : last_y, x, y, plot->from_zero);
        last_x = x;
        last_y = y;
        first = false;
    }
}

/* U+2800 and a bit for each dot (Unicode 15, chapter 21.1). */
static void put_braille(const struct grid_area *area, const struct dots *dots,
                        enum grid_style style)
{
    static const unsigned bits[ACROSS][HIGH] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    for (size_t row = 0; row < area->rows; row++)
        for (size_t column = 0; column < area->columns; column++) {
            unsigned pattern = 0;
            for (size_t x = 0; x < ACROSS; x++)
                for (size_t y = 0; y < HIGH; y++)
                    if (dots->set[(column * ACROSS + x) * dots->high + row * HIGH + y])
                        pattern |= bits[x][y];
            char text[4] = {(char)0xe2, (char)(0xa0 | (pattern >> 6)),
                            (char)(0x80 | (pattern & 0x3f)), '\0'};
            if (pattern)
                grid_put(area, row, column, style, text);
        }
}

/* The highest dot of a cell says which character it is. */
static void put_ascii(const struct grid_area *area, const struct dots *dots, bool filled,
                      enum grid_style style)
{
    static const char *const line[HIGH] = {"'", "-", ".", "_"}, *const fill[HIGH] = {"#", "*", ":",
                                                                                     "."};
    for (size_t row = 0; row < area->rows; row++)
        for (size_t column = 0; column < area->columns; column++)
            for (size_t y = 0; y < HIGH; y++)
                if (dots->set[column * ACROSS * dots->high + row * HIGH + y] ||
                    dots->set[(column * ACROSS + 1) * dots->high + row * HIGH + y]) {
                    grid_put(area, row, column, style, (filled ? fill : line)[y]);
                    break;
                }
}

static void find_range(const struct plot *plot, double *low, double *high)
{
    *low = plot->from_zero ? 0 : INFINITY;
    *high = -INFINITY;
    EACH (point, plot->points, plot->count) {
        *low = fmin(*low, point->value);
        *high = fmax(*high, point->value);
    }
}

void plot_draw(const struct grid_area *area, const struct plot *plot)
{
    char label[32];
    double low, high;
    if (area->rows == 0 || area->columns < LABEL_COLUMNS + 4)
        return;
    if (plot->count == 0) {
        grid_put(area, area->rows / 2, 1, GRID_DIM, "no readings yet");
        return;
    }
    find_range(plot, &low, &high);
    plot_number(high, label);
    grid_field(area, 0, 0, LABEL_COLUMNS - 1, true, GRID_DIM, label);
    plot_number(low, label);
    if (area->rows > 1 && high > low)
        grid_field(area, area->rows - 1, 0, LABEL_COLUMNS - 1, true, GRID_DIM, label);
    struct grid_area inside = {area->grid, area->row, area->column + LABEL_COLUMNS, area->rows,
                               area->columns - LABEL_COLUMNS};
    struct dots dots = {.across = inside.columns * ACROSS, .high = inside.rows * HIGH};
    dots.set = mem_array(dots.across * dots.high, sizeof *dots.set);
    set_line(&dots, plot, low, high);
    if (area->grid->ascii)
        put_ascii(&inside, &dots, plot->from_zero, plot->style);
    else
        put_braille(&inside, &dots, plot->style);
    free(dots.set);
}

/* Power and the chosen metric in time. */

enum { CURVE_ROWS_MIN = 4 };

/* Metrics in the order in which keys choose them: those of the registry first. at counts from 0.
 * NULL: past the last one. */
static const char *nth_metric_name(const struct live_run *run, const struct watch_view *view,
                                   size_t at)
{
    const struct live_experiment *experiment = watch_chosen(view, run);
    return experiment && at < experiment->plan->foreground.metric_count
               ? experiment->plan->foreground.metrics[at].name
               : NULL;
}

const char *watch_metric(const struct watch_view *view, const struct live_run *run, bool next)
{
    const char *name;
    for (size_t i = 0; (name = nth_metric_name(run, view, i)); i++)
        if (strcmp(name, view->metric) == 0) {
            const char *behind = next ? nth_metric_name(run, view, i + 1) : name;
            return behind ? behind : nth_metric_name(run, view, 0);
        }
    return nth_metric_name(run, view,
                           next && !*view->metric && nth_metric_name(run, view, 1) ? 1 : 0);
}

/* Of the experiment that is chosen, else of the slot that is. */
static const struct live_slot *slot_shown(const struct watch_view *view, const struct live_run *run)
{
    const struct live_experiment *experiment = watch_chosen(view, run);
    const struct live_slot *slot = experiment ? watch_slot_of(run, experiment->plan->number) : NULL;
    return slot || !view->follows || view->slot >= run->slot_count ? slot : &run->slots[view->slot];
}

static void draw_curve(struct grid_area area, const char *title, const json_t *json,
                       const char *unit, const struct plot *how)
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

void watch_draw_curves(const struct watch_view *view, const struct watch_scene *scene,
                       struct grid_area area, bool beside)
{
    const struct live_slot *slot = slot_shown(view, scene->run);
    const char *metric = watch_metric(view, scene->run, false);
    const struct live_experiment *experiment = watch_chosen(view, scene->run);
    struct grid_area power = area, other = area;
    if (!slot) {
        bool ended = experiment && experiment->state == STATE_DONE;
        struct grid_area inside = grid_frame(area, "Curves", false);
        grid_put(&inside, 0, 1, GRID_DIM,
                 ended ? "it has ended: tare report draws its curves"
                       : "nothing of it is under way here");
        return;
    }
    bool both = metric && (beside || area.rows >= (size_t)2 * CURVE_ROWS_MIN);
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
        draw_curve(power, title, slot->power_points, " W",
                   &(struct plot){.from_zero = true, .style = GRID_POWER});
    if (both || (metric && *view->metric))
        draw_curve(other, metric, json_object_get(slot->metric_points, metric), "",
                   &(struct plot){.style = GRID_METRIC});
}
