/* driver: where a CUDA driver puts new segments, modelled on an H200's: address space is taken in chunks of 32 MiB from
 * the highest gap that has room; within chunks that are in use, the lowest address that fits is given first. Addresses
 * break ties between free blocks of equal size, so they matter a little for what a replay under other settings comes
 * to. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_DRIVER_H
#define TARE_GPU_MEMORY_ALLOCATOR_DRIVER_H

#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/snapshot.h"

struct driver;

/* How it answers: as an H200 does, or in ways that are simpler than any driver's; what comes out the same under all of
 * them does not hang on guessed addresses. */
enum driver_kind {
    DRIVER_CHUNKS,
    DRIVER_CHUNKS_APART, /* without repeating the recorded addresses */
    DRIVER_FALLING,      /* each segment below the last */
    DRIVER_KINDS
};

/* events: the recorded trace, whose segments are given their recorded addresses as long as the same ones are asked for
 * in the same order; borrowed. */
struct driver *driver_new(enum driver_kind kind, const struct snapshot_event *events, size_t count);
void driver_free(struct driver *driver);

struct model_driver driver_vtable(struct driver *driver);

#endif
