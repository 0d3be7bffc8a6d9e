/* attempt_json: what the journal keeps of an attempt. */
#ifndef TARE_RUN_ATTEMPT_JSON_H
#define TARE_RUN_ATTEMPT_JSON_H

#include "run/attempt.h"

/* The data of its events; new references. */
json_t *attempt_born_json(const struct attempt *attempt);
json_t *attempt_exited_json(const struct attempt *attempt);
/* of its exit */
json_t *attempt_loop_json(const struct attempt *loop, enum outcome outcome, const char *error);
json_t *attempt_exit_json(const struct attempt *attempt,
                          /* its exit code, or its signal; null: it ended otherwise */
                          bool signalled);
json_t *attempt_proven_json(const struct attempt *attempt, double seconds);
json_t *attempt_ended_json(const struct attempt *attempt, enum outcome outcome, const char *error);

/* The data of EVENT_EXPERIMENT_ENDED from that of its last EVENT_ATTEMPT_ENDED (may be NULL). A new
 * reference. */
json_t *experiment_ended_json(enum outcome outcome, int64_t retries, const json_t *last_attempt);

/* "12 python, 13 sh": for people; of more than ATTEMPT_MEMBERS_MAX the first, "and 7 more". The
 * caller frees it. */
char *attempt_members_text(const struct job_member *members, size_t count);

#endif
