/* plot: values in time as dots of braille characters, two across and four high in a cell; where the
 * terminal has no UTF-8, in ASCII. Pure. */
#ifndef TARE_REPORT_WATCH_PLOT_H
#define TARE_REPORT_WATCH_PLOT_H

#include "report/watch/grid.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct live_run;
struct watch_scene;
struct watch_view;

struct plot_point {
    double t_s, value;
};

struct plot {
    struct plot_point *points; /* by time; finite */
    size_t count;
    double from_s, to_s; /* what the area's width stands for */
    bool from_zero;      /* the lowest value drawn is 0, and what is below the line is filled */
    enum grid_style style;
};

/* [[s since 1970, value or null], ...] as live_slot has them: those that are numbers.
 * Fresh. */
struct plot_point *plot_points_read(const json_t *json, size_t *count);

/* The line, with its highest and lowest value at the left. Without a point: a word that says so. */
void plot_draw(const struct grid_area *area, const struct plot *plot);

/* "312", "0.0153", "1.23e+09": at most 8 columns. */
void plot_number(double value, char out[32]);

/* Power and a metric of the chosen slot, each in a frame of its own: side by side or one below the
 * other. */
void watch_draw_curves(const struct watch_view *view, const struct watch_scene *scene,
                       struct grid_area area, bool beside);

/* The metric that is chosen, of those of the chosen experiment; NULL: it has none. next: the one
 * behind it. Borrowed from the run. */
const char *watch_metric(const struct watch_view *view, const struct live_run *run, bool next);

#endif
