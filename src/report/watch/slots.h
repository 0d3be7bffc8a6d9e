/* The slots: experiment, epoch, power, memory, temperature, verdict so far. Each has as many rows
 * as its fields need at this width, fewer where there are many slots. */
#ifndef TARE_REPORT_WATCH_SLOTS_H
#define TARE_REPORT_WATCH_SLOTS_H

#include "report/watch/grid.h"
#include "report/watch/plot.h"
#include "report/watch/view.h"

/* The slots: how many rows all of them need in a pane of this inner width; drawn in what room there
 * is. */
size_t watch_slots_rows(const struct live_run *run, size_t columns);
void watch_draw_slots(struct watch_view *view, const struct watch_scene *scene,
                      const struct grid_area *area);

#endif
