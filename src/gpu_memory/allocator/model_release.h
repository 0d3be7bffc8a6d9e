/* How memory goes back to the device: garbage collection, oversize blocks, everything that is free.
 */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_MODEL_RELEASE_H
#define TARE_GPU_MEMORY_ALLOCATOR_MODEL_RELEASE_H

#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/model_private.h"

void model_empty_cache(struct model *model);

void model_collect_garbage(struct model *model);
bool model_release_oversize(struct model *model, const struct request *request);
bool model_garbage_is_due(const struct model *model);

#endif
