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

cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    __typeof__(&cuMemGetInfo_v2) real = REAL(cuMemGetInfo_v2);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(free_bytes, total);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t shown_free = free_bytes ? *free_bytes : 0, shown_total = total ? *total : 0;
    show(&shown_free, &shown_total);
    if (free_bytes)
        *free_bytes = shown_free;
    if (total)
        *total = shown_total;
    return result;
}

cu_result cuMemGetInfo(unsigned *free_bytes, unsigned *total)
{
    __typeof__(&cuMemGetInfo) real = REAL(cuMemGetInfo);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(free_bytes, total);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t shown_free = free_bytes ? *free_bytes : 0, shown_total = total ? *total : 0;
    show(&shown_free, &shown_total);
    if (free_bytes)
        *free_bytes = (unsigned)shown_free;
    if (total)
        *total = (unsigned)shown_total;
    return result;
}

cu_result cuDeviceTotalMem_v2(size_t *total, cu_device device)
{
    __typeof__(&cuDeviceTotalMem_v2) real = REAL(cuDeviceTotalMem_v2);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(total, device);
    int gpu = result == CUDA_SUCCESS ? ledger_gpu(device) : -1;
    if (gpu >= 0) {
        uint64_t shown = *total;
        ledger_show(gpu, NULL, &shown);
        *total = shown;
    }
    return result;
}

cu_result cuDeviceTotalMem(unsigned *total, cu_device device)
{
    __typeof__(&cuDeviceTotalMem) real = REAL(cuDeviceTotalMem);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(total, device);
    int gpu = result == CUDA_SUCCESS ? ledger_gpu(device) : -1;
    if (gpu >= 0) {
        uint64_t shown = *total;
        ledger_show(gpu, NULL, &shown);
        *total = (unsigned)shown;
    }
    return result;
}
