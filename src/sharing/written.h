/* written: settings for the two parts of a study, and those with what it recommends. */
#ifndef TARE_SHARING_WRITTEN_H
#define TARE_SHARING_WRITTEN_H

#include "sharing/feasibility.h"

/* Settings for both parts. root: of the settings asked for. track: each model alone counts its GPU
 * memory. New references. */
json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats,
                                   bool track);
json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root);

/* Pairs without a result, to be run again, as often as it takes by what they showed until now;
 * NULL: there is none, or its time is over, or more of it would not help. A new reference. */
json_t *feasibility_again_settings(const struct feasibility *study, const json_t *root);

/* With the pairs that are recommended: stable or usable, and proven. */
json_t *feasibility_recommended(const struct feasibility *study, const json_t *root);

/* An entry of settings: one model (back: NULL), or two in parallel; real: as they are run in
 * earnest. A new reference. */
json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real);

/* "gpu_memory_limit" as settings have it; null: none. */
json_t *pairs_limit_json(const struct gpu_limit *limit);

#endif
