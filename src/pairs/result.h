/* result: looks into an experiment as results_read_json gives it. Private to pairs/. */
#ifndef TARE_PAIRS_RESULT_H
#define TARE_PAIRS_RESULT_H

#include <jansson.h>
#include <stdbool.h>

bool result_ended(const json_t *experiment); /* succeeded or failed */
bool result_succeeded(const json_t *experiment);

/* Its last attempt, its GPUs' energy, its tare.parallel: NULL where there is none. */
const json_t *result_attempt(const json_t *experiment);
const json_t *result_gpu_energy(const json_t *experiment);
const json_t *result_parallel(const json_t *experiment);

/* Of an attempt's "oom", which may be NULL: the first of its reasons; what the remedy of that name is. NULL: there
 * is none. */
const char *result_oom_reason(const json_t *oom);
const char *result_remedy(const json_t *oom, const char *name);

/* Of a run of one model alone, what is read here; fresh. */
json_t *result_alone(const json_t *experiment);

/* Why it failed, in words; fresh. */
char *result_error(const json_t *experiment);

#endif
