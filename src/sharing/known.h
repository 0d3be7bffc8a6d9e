/* known: runs of models alone, as one study keeps them for another. Private to pairs/. */
#ifndef TARE_SHARING_KNOWN_H
#define TARE_SHARING_KNOWN_H

#include "sharing/feasibility.h"

/* {"repo", "model", "hyperparameters", "gpu_memory_limit", "runs"}. Takes runs. */
json_t *known_json(const struct pairs_model *model, json_t *runs);

/* A block with "repo", "model", "hyperparameters" and "gpu_memory_limit" (null and absent are the same), of one
 * epoch, means that model. */
bool known_is_of(const json_t *block, const struct pairs_model *model);

#endif
