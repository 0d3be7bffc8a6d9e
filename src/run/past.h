/* past: what earlier sessions of a run wrote of its attempts, read from events.jsonl when a run is resumed
 * (store_open has made it whole): how many tries an experiment has used up, and how its last one ended. Private to
 * run/. */
#ifndef TARE_RUN_PAST_H
#define TARE_RUN_PAST_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct past_item {
    int64_t failed;     /* attempts that failed: interrupted ones use up no retry */
    json_t *last_ended; /* data of the last EVENT_ATTEMPT_ENDED, or NULL */
    json_t *ladder;     /* run/ladder.h, as it was written last, or NULL */
};

struct past {
    struct past_item *items; /* by number - 1; NULL: a new run */
    size_t count;
};

bool past_read(int dir, size_t count, struct past *out, struct err *err);
void past_fini(struct past *past);

/* The item of an experiment; an empty one for a new run. */
struct past_item past_of(const struct past *past, size_t number);

/* The experiment is done again: what its attempts before came to counts no more. */
void past_forget(struct past *past, size_t number);

/* For whoever takes it up in this session; count: of the plan. */
void past_keep(struct past *past, size_t count, size_t number, int64_t failed, json_t *last_ended);

/* The data of EVENT_EXPERIMENT_ENDED from that of its last attempt (may be NULL). A new reference. outcome:
 * "succeeded", ... */
json_t *past_experiment_ended(const char *outcome, int64_t retries, const json_t *last_attempt);

#endif
