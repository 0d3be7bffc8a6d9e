/* keys: what keys do to the view. */
#ifndef TARE_REPORT_WATCH_KEYS_H
#define TARE_REPORT_WATCH_KEYS_H

#include "report/watch/grid.h"
#include "report/watch/plot.h"
#include "report/watch/view.h"

enum watch_action watch_key(struct watch_view *view, const struct watch_scene *scene, int key);

/* What a request asks of the user before it is made. */
void watch_question(const struct watch_view *view, const struct live_run *run, struct text *out);

#endif
