/* rows: the plan, with what is done, and the end of a log. */
#ifndef TARE_REPORT_WATCH_ROWS_H
#define TARE_REPORT_WATCH_ROWS_H

#include "report/watch/grid.h"
#include "report/watch/plot.h"
#include "report/watch/view.h"

/* The plan, a row an experiment; the rows of the log. */
void watch_draw_plan(struct watch_view *view, const struct watch_scene *scene,
                     const struct grid_area *area);
void watch_draw_log(struct watch_view *view, const struct watch_scene *scene,
                    const struct grid_area *area);

#endif
