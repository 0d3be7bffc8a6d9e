/* What a program is told of a GPU's memory, and of the driver's functions. */
#include "gpu_memory/preload/driver.h"
#include "gpu_memory/preload/ledger.h"
#include "gpu_memory/preload/pool.h"

static void show(uint64_t *free_bytes, uint64_t *total)
{
    int gpu = ledger_here().gpu;
    if (gpu < 0 || !process_state_get()->ledger->gpus[gpu].limit)
        return;
    pool_settle_all(gpu);
    context_look(gpu, CONTEXT_NOW_AND_THEN);
    ledger_show(gpu, free_bytes, total);
}

/* count: the type of both figures in this ABI. */
#define MEM_GET_INFO(name, count)                                                                                      \
    cu_result name(count *free_bytes, count *total)                                                                    \
    {                                                                                                                  \
        NEED(name);                                                                                                    \
        cu_result result = real(free_bytes, total);                                                                    \
        if (result != CUDA_SUCCESS)                                                                                    \
            return result;                                                                                             \
        uint64_t shown_free = free_bytes ? *free_bytes : 0, shown_total = total ? *total : 0;                          \
        show(&shown_free, &shown_total);                                                                               \
        if (free_bytes)                                                                                                \
            *free_bytes = (count)shown_free;                                                                           \
        if (total)                                                                                                     \
            *total = (count)shown_total;                                                                               \
        return result;                                                                                                 \
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

AFTER(cuDeviceTotalMem_v2, (size_t * total, cu_device device), (total, device), *total = total_of(device, *total))
AFTER(cuDeviceTotalMem, (unsigned *total, cu_device device), (total, device),
      *total = (unsigned)total_of(device, *total))
