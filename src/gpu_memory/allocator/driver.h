/* driver: a model of the CUDA driver's memory: its free addresses and what is left of its size. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_DRIVER_H
#define TARE_GPU_MEMORY_ALLOCATOR_DRIVER_H

#include "gpu_memory/allocator/model.h"

/* events: the recorded trace, whose segments are given their recorded addresses as long as the same
 * ones are asked for in the same order; borrowed. */
struct driver *driver_new(enum driver_kind kind, const struct snapshot_event *events, size_t count);
void driver_free(struct driver *driver);

struct model_driver driver_vtable(struct driver *driver);

#endif
