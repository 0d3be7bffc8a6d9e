/* attempt_json: an attempt in the journal. */
#ifndef TARE_RUN_ATTEMPT_JSON_H
#define TARE_RUN_ATTEMPT_JSON_H

#include "run/attempt.h"

/* Data of its events; new references. */
json_t *attempt_born_json(const struct attempt *attempt);
json_t *attempt_exited_json(const struct attempt *attempt);
json_t *attempt_loop_json(const struct attempt *loop, enum outcome outcome, const char *error);
json_t *attempt_exit_json(const struct attempt *attempt,
                          /* false: its exit code; null: it ended the other way */
                          bool signalled);
json_t *attempt_proven_json(const struct attempt *attempt, double seconds);
json_t *attempt_ended_json(const struct attempt *attempt, enum outcome outcome, const char *error);

/* Data of EVENT_EXPERIMENT_ENDED. last_attempt: data of EVENT_ATTEMPT_ENDED, may be NULL. A new
 * reference. */
json_t *experiment_ended_json(enum outcome outcome, int64_t retries, const json_t *last_attempt);

/* "12 python, 13 sh", at most ATTEMPT_MEMBERS_MAX, then "and 7 more"; the caller frees. */
char *attempt_members_text(const struct job_member *members, size_t count);

#endif
