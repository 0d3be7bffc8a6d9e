#include "gpu_memory/preload/ledger_gpu.h"
#include "gpu_memory/preload/context.h"
#include "gpu_memory/preload/driver.h"
#include "gpu_memory/preload/pool.h"

#include <string.h>

static uint64_t limit_for_total(const struct gpu_ledger *ledger, uint64_t total)
{
    uint64_t parts = ledger->limit_share;
    uint64_t share =
        total / GPU_LEDGER_WHOLE * parts + total % GPU_LEDGER_WHOLE * parts / GPU_LEDGER_WHOLE;
    uint64_t least = ledger->limit && (!share || ledger->limit < share) ? ledger->limit : share;
    return least && least < total ? least : 0;
}

/* Rows are never removed. */
static int find_or_add_row(struct gpu_ledger *ledger, const struct cu_uuid *uuid, uint64_t total)
{
    for (int i = 0; i < GPU_LEDGER_GPUS;) {
        struct gpu_ledger_gpu *gpu = &ledger->gpus[i];
        uint32_t state = GPU_LEDGER_FREE;
        if (atomic_compare_exchange_strong(&gpu->state, &state, GPU_LEDGER_TAKING)) {
            memcpy(gpu->uuid, uuid->bytes, sizeof gpu->uuid);
            gpu->total = total;
            gpu->limit = limit_for_total(ledger, total);
            atomic_store_explicit(&gpu->state, GPU_LEDGER_USED, memory_order_release);
            return i;
        }
        if (state == GPU_LEDGER_TAKING)
            continue; /* another process is a few stores from its end */
        if (memcmp(gpu->uuid, uuid->bytes, sizeof gpu->uuid) == 0)
            return i;
        i++;
    }
    return -1;
}

static int gpu_find(struct process_state *state, cu_device device)
{
    struct cu_uuid uuid;
    size_t total = 0;
    __typeof__(&cuDeviceGetUuid) ask = REAL(cuDeviceGetUuid_v2);
    ask = ask ? ask : REAL(cuDeviceGetUuid);
    if (!ask || ask(&uuid, device) != CUDA_SUCCESS || !REAL(cuDeviceTotalMem_v2) ||
        REAL(cuDeviceTotalMem_v2)(&total, device) != CUDA_SUCCESS)
        return -1;
    return find_or_add_row(state->ledger, &uuid, total);
}

int ledger_gpu(cu_device device)
{
    struct process_state *state = process_state_get();
    if (!state || device < 0 || device >= STATE_GPUS)
        return -1;
    int place = atomic_load_explicit(&state->gpus[device].place, memory_order_relaxed);
    if (place == 0) {
        int found = gpu_find(state, device);
        place = found < 0 ? -1 : found + 1;
        atomic_store_explicit(&state->gpus[device].place, place, memory_order_relaxed);
    }
    return place < 0 ? -1 : place - 1;
}

static struct ledger_here find_current_gpu(void *context)
{
    struct ledger_here here = {.context = context, .gpu = -1};
    cu_device device;
    if (!REAL(cuCtxGetDevice) || REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        return here;
    here.gpu = ledger_gpu(device);
    if (!REAL(cuDeviceGetMemPool) || REAL(cuDeviceGetMemPool)(&here.pool, device) != CUDA_SUCCESS)
        here.pool = NULL;
    return here;
}

struct ledger_here ledger_here(void)
{
    static _Thread_local struct {
        struct ledger_here here;
        uint64_t changes; /* + 1; 0: nothing is remembered */
    } known __attribute__((tls_model("initial-exec")));
    const struct process_state *state = process_state_get();
    void *context = NULL;
    if (!state || !REAL(cuCtxGetCurrent) || REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS ||
        !context)
        return (struct ledger_here){.gpu = -1};
    uint64_t changes = atomic_load_explicit(&state->changes, memory_order_acquire) + 1;
    if (known.here.context != context || known.changes != changes) {
        known.here = find_current_gpu(context);
        known.changes = known.here.gpu >= 0 ? changes : 0;
    }
    return known.here;
}

void ledger_forget(void)
{
    struct process_state *state = process_state_get();
    if (state)
        atomic_fetch_add(&state->changes, 1);
}

void ledger_show(int gpu, uint64_t *free_bytes, uint64_t *total)
{
    struct process_state *state = process_state_get();
    uint64_t limit = state->ledger->gpus[gpu].limit;
    if (!limit)
        return;
    ledger_reap(state, gpu);
    uint64_t left = ledger_headroom(state, gpu);
    if (total && *total > limit)
        *total = limit;
    if (free_bytes && *free_bytes > left)
        *free_bytes = left;
}

/* What a program is told of a GPU's memory, and of the driver's functions. */

static void show_limited_memory(uint64_t *free_bytes, uint64_t *total)
{
    int gpu = ledger_here().gpu;
    if (gpu < 0 || !process_state_get()->ledger->gpus[gpu].limit)
        return;
    pool_settle_all(gpu);
    context_look(gpu, CONTEXT_NOW_AND_THEN);
    ledger_show(gpu, free_bytes, total);
}

/* count: the type of both figures in this ABI. */
#define MEM_GET_INFO(name, count)                                                             \
    cu_result name(count *free_bytes, count *total)                                           \
    {                                                                                         \
        NEED(name);                                                                           \
        cu_result result = real(free_bytes, total);                                           \
        if (result != CUDA_SUCCESS)                                                           \
            return result;                                                                    \
        uint64_t shown_free = free_bytes ? *free_bytes : 0, shown_total = total ? *total : 0; \
        show_limited_memory(&shown_free, &shown_total);                                       \
        if (free_bytes)                                                                       \
            *free_bytes = (count)shown_free;                                                  \
        if (total)                                                                            \
            *total = (count)shown_total;                                                      \
        return result;                                                                        \
    }

MEM_GET_INFO(cuMemGetInfo_v2, size_t)
MEM_GET_INFO(cuMemGetInfo, unsigned)

static uint64_t total_of(cu_device device, uint64_t total)
{
    int gpu = ledger_gpu(device);
    if (gpu >= 0)
        ledger_show(gpu, NULL, &total);
    return total;
}

AFTER(cuDeviceTotalMem_v2, (size_t * total, cu_device device), (total, device),
      *total = total_of(device, *total))
AFTER(cuDeviceTotalMem, (unsigned *total, cu_device device), (total, device),
      *total = (unsigned)total_of(device, *total))
