/* alone: what the runs of each model alone showed. */
#ifndef TARE_SHARING_ALONE_H
#define TARE_SHARING_ALONE_H

#include "sharing/feasibility.h"

const char *pairs_source_name(enum pairs_source source); /* "counted" */

/* What results_read_json gave of the models alone, and the settings that were run
 * (feasibility_alone_settings, now or by an earlier session; NULL, NULL: none was). Gives all runs,
 * known ones too, for feasibility_know of another study; a new reference. */
json_t *feasibility_take_alone(struct feasibility *study, const json_t *results,
                               const json_t *settings);

/* The known ones alone, in the same form; a new reference. */
json_t *feasibility_known(const struct feasibility *study);

/* Models that were measured before with the same hyperparameters and limit need not run (so often)
 * again. measured: what feasibility_take_alone gave; nothing in it is trusted. Gives how many
 * models are known in whole. */
size_t feasibility_know(struct feasibility *study, const json_t *measured, int repeats);

/* The GPU is what the runs saw, or gpu_bytes where that is above 0; then foretells every pair and
 * orders them. */
void feasibility_predict(struct feasibility *study, double gpu_bytes);

#endif
