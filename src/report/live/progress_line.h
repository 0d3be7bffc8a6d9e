/* The lines that a person sees: what they say, and how they come and go on a terminal. */
#ifndef TARE_REPORT_LIVE_PROGRESS_LINE_H
#define TARE_REPORT_LIVE_PROGRESS_LINE_H

#include "plan/event_facts.h"
#include "report/live/progress_private.h"

/* EVENT_METRIC: a metric, or what a sensor tells now; gives the sensor's name, NULL for all else.
 * Whether an EVENT_GUARD says what is normal, and was said before. */
const char *progress_sensor(const struct event_facts *facts);
void progress_take_metric(struct progress *progress, const struct event_facts *facts);
bool progress_told_already(struct progress *progress, const struct event_facts *facts);

int64_t progress_now_ns(const struct progress *progress);
double progress_seconds_since(const struct progress *progress, int64_t start_ns);

/* NULL: the plan has no such experiment. */
const struct plan_experiment *progress_experiment_at(const struct progress *progress,
                                                     int64_t number);

/* "about 20 to 50 min left", or "about 35 min left" where that is one. */
void progress_add_left(struct text *out, const struct estimate_left *left);

/* "[3/14] mnist_cnn_003", a metric's value, and whole seconds. */
void progress_add_head(const struct progress *progress, const struct plan_experiment *experiment,
                       struct text *out);
void progress_add_number(struct text *out, double number);
void progress_add_seconds(struct text *out, double seconds);

/* What the display says now, as parts for layout_rows; width: of the terminal. Where there are
 * several lanes, of one (from 1), or (0) of all together. */
void progress_line(const struct progress *progress, size_t width, struct text *out);
void progress_line_of(struct progress *progress, size_t number, size_t width, struct text *out);

/* The live lines: taken away, drawn anew. */
void progress_erase(struct progress *progress);
void progress_draw(struct progress *progress);

/* A line that stays. colour: of its last part, from byte coloured_from on; NULL: none. */
void progress_say(struct progress *progress, const struct text *line, const char *colour,
                  size_t coloured_from);

#endif
