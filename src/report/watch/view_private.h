/* What the files of the view share. Private to watch/. */
#ifndef TARE_REPORT_WATCH_VIEW_PRIVATE_H
#define TARE_REPORT_WATCH_VIEW_PRIVATE_H

#include "report/watch/grid.h"
#include "report/watch/plot.h"
#include "report/watch/view.h"

#include <stdbool.h>
#include <stddef.h>

/* What stands for a reading that there is none of. */
#define WATCH_ABSENT "–"

/* "12s", "3m05s", "1h02m", "2d03h". */
enum { WATCH_TIME_BYTES = 24 };
void watch_time(double seconds, char out[WATCH_TIME_BYTES]);

/* Good, bad or in between, as live_verdict_text says it. */
enum grid_style watch_verdict_style(const struct live_experiment *experiment);

/* The slots: how many rows all of them need in a pane of this inner width; drawn in what room there
 * is. (slots.c) */
size_t watch_slots_rows(const struct live_run *run, size_t columns);
void watch_draw_slots(struct watch_view *view, const struct watch_scene *scene,
                      const struct grid_area *area);

/* The plan, a row an experiment; the rows of the log. (rows.c) */
void watch_draw_plan(struct watch_view *view, const struct watch_scene *scene,
                     const struct grid_area *area);
void watch_draw_log(struct watch_view *view, const struct watch_scene *scene,
                    const struct grid_area *area);

/* Power and a metric of the chosen slot, each in a frame of its own: side by side or one below the
 * other. (plot.c) */
void watch_draw_curves(const struct watch_view *view, const struct watch_scene *scene,
                       struct grid_area area, bool beside);

/* The metric that is chosen, of those of the chosen experiment; NULL: it has none. next: the one
 * behind it. Borrowed from the run. (plot.c) */
const char *watch_metric(const struct watch_view *view, const struct live_run *run, bool next);

/* What a request asks of the user before it is made. (keys.c) */
void watch_question(const struct watch_view *view, const struct live_run *run, struct text *out);

/* A pane's first row so that the chosen one is seen; rows: those with room. */
size_t watch_scroll(size_t top, size_t chosen, size_t rows, size_t count);

#endif
