/* How a request is answered: sizes, search, split. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_MODEL_REQUEST_H
#define TARE_GPU_MEMORY_ALLOCATOR_MODEL_REQUEST_H

#include "gpu_memory/allocator/model.h"

/* Gives a block, or MODEL_NONE: out of memory. pool: below pool_count. */
uint32_t model_malloc(struct model *model, uint16_t pool, uint64_t requested, uint16_t stream);

/* Whether model_malloc would have to give segments back, or fail, if no more than limit_bytes could
 * be reserved. */
bool model_would_release(const struct model *model, uint16_t pool, uint64_t requested,
                         uint16_t stream, uint64_t limit_bytes);

/* The rules for sizes. */
uint64_t model_round(const struct alloc_settings *settings, uint64_t requested);
uint64_t model_segment_size(uint64_t rounded);

#endif
