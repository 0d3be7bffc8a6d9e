/* Expandable segments: address space that is mapped in pages as it is needed. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_MODEL_EXPAND_H
#define TARE_GPU_MEMORY_ALLOCATOR_MODEL_EXPAND_H

#include "gpu_memory/allocator/model_private.h"

/* Makes room for mapped blocks of total bytes in the expandable segment whose address space begins
 * at base, which is made when there is none: between which blocks they come. Gives its number, from
 * 1 on; 0: there is no room. */
uint32_t model_expandable_carve(struct model *model, const struct model_early *early,
                                uint64_t total, uint32_t *prev, uint32_t *next);

/* Expandable segments. grow gives a block of at least the request's size that is in no free set;
 * MODEL_NONE: refused. */
uint32_t model_expandable_grow(struct model *model, const struct request *request);
void model_expandable_unmap(struct model *model, uint32_t at);

#endif
