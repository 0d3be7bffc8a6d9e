/* event_facts: the data of an event as typed values. Each type of event has some of them (event.h);
 * the others keep their defaults. */
#ifndef TARE_PLAN_EVENT_FACTS_H
#define TARE_PLAN_EVENT_FACTS_H

#include "base/reading.h"
#include "base/strv.h"
#include "plan/event.h"

#include <stddef.h>

struct event_bar {
    const char *name, *first;
    struct reading done, total;
    int64_t restarts;
    bool latest;
};

struct event_device {
    const char *state; /* "back" */
};

struct event_metric {
    const char *name;
    struct reading value;
};

/* Texts are borrowed from the event. */
struct event_facts {
    const struct event *event;
    const char *id, *role, *reason, *outcome, *error, *kind, *text, *phase;
    const char *cause;                      /* of a failure */
    const char *name, *label, *at, *sensor; /* of a metric or a mark */
    const char *metric;                     /* that a note is about */
    int64_t lane, number, retries;
    struct reading value; /* NaN and infinities too */
    struct reading seconds, waited_s, duration_s;
    struct reading gpu_j, gpu_half_width_j, cpu_j, cpu_half_width_j; /* of an attempt */
    bool kernel_backed, begun, settled;                              /* true by default */
    struct reading paused;                                           /* 1 or 0 */
    struct strv gpus;                                                /* labels */
    struct event_bar *bars;
    size_t bar_count;
    struct event_device *devices;
    size_t device_count;
    struct event_metric *metrics; /* of an experiment, in their order */
    size_t metric_count;
};

/* event must outlive out. */
void event_facts_read(const struct event *event, struct event_facts *out);
void event_facts_fini(struct event_facts *facts);

/* The progress bars as the event has them; a new reference. */
json_t *event_bars_json(const struct event_facts *facts);

#endif
