/* request: one allocation's way: room in the ledger, the driver, its entry. */
#ifndef TARE_GPU_MEMORY_PRELOAD_REQUEST_H
#define TARE_GPU_MEMORY_PRELOAD_REQUEST_H

#include "gpu_memory/preload/ledger.h"

#include <stdbool.h>

struct request {
    int gpu; /* -1: not followed */
    void *context;
    uint64_t size, held;
};

/* On the current context's GPU. False: the limit refuses it (nothing more is to be done). */
bool request_begin(struct request *request, uint64_t size);

/* What the driver said; key: of the memory, size: what it turned out to be. */
void request_end(const struct request *request, cu_result result, uint64_t key, enum memory_kind kind, uint64_t size);

/* The same way back. The entry is taken out before the driver is told to free the memory, as another thread may be
 * given the same address at once. */
struct release {
    bool ours;
    bool settled; /* memory of streams: as pool_release_begin said */
    struct pointer_entry entry;
};
struct release release_begin(uint64_t key);
void release_end(const struct release *release, cu_result result);

/* An array's handle is an address of the host's; both kinds stand in one table. */
#define ARRAY_KEY(handle) ((uint64_t)(uintptr_t)(handle) | UINT64_C(1) << 63)

#endif
