/* training: how far a training is, from its marks and its progress bars. */
#ifndef TARE_REPORT_LIVE_TRAINING_H
#define TARE_REPORT_LIVE_TRAINING_H

#include "plan/event_facts.h"
#include "report/live/parts.h"

void training_begin(struct training *training, struct reading epochs); /* an attempt does */
/* EVENT_MARK */
void training_mark(struct training *training, const struct event_facts *facts, int64_t now_ns);
/* EVENT_METRIC of the sensor "bars" */
void training_bars(struct training *training, const struct event_facts *facts, int64_t now_ns);
void training_look(struct training *training, int64_t now_ns);

/* Seconds until it ends, if it goes on as it did. False: nothing tells. */
bool training_left(const struct training *training, int64_t now_ns, double *out);

/* "epoch 3/20 ━━━╸────── 17 %", with a bar of width columns; nothing where nothing is known. */
void training_add(const struct training *training, size_t width, bool ascii, struct text *out);

/* {"name", "at", "of", "share"}: epoch at (from 1) of so many, or what a bar that tells no epochs
 * counts; share, from 0 to 1: of the whole training, else of that bar. What is not known is null. A
 * new reference; NULL: nothing is known. */
json_t *training_json(const struct training *training);

#endif
