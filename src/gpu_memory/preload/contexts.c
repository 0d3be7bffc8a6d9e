/* A context takes what was allocated in it along when it goes. */
#include "gpu_memory/preload/context.h"
#include "gpu_memory/preload/entry.h"
#include "gpu_memory/preload/ledger.h"
#include "gpu_memory/preload/real.h"

static cu_result destroy(__typeof__(&cuCtxDestroy_v2) real, cu_context context)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(context);
    if (result == CUDA_SUCCESS) {
        ledger_forget();
        ledger_context_gone(context);
    }
    return result;
}

cu_result cuCtxDestroy_v2(cu_context context)
{
    return destroy(REAL(cuCtxDestroy_v2), context);
}

cu_result cuCtxDestroy(cu_context context)
{
    return destroy(REAL(cuCtxDestroy), context);
}

static struct gpu_state *gpu_state(cu_device device)
{
    struct process_state *state = process_state_get();
    return state && device >= 0 && device < STATE_GPUS ? &state->gpus[device] : NULL;
}

static bool is_active(cu_device device)
{
    unsigned flags;
    int active = 0;
    return REAL(cuDevicePrimaryCtxGetState) &&
           REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* Each ABI of cuCtxCreate has its own parameters; the device is the last of all. */
#define CREATE(name, parameters, arguments)                                                                            \
    cu_result name parameters                                                                                          \
    {                                                                                                                  \
        __typeof__(&name) real = REAL(name);                                                                           \
        uint64_t taken = 0;                                                                                            \
        if (!real)                                                                                                     \
            return CUDA_ERROR_NOT_FOUND;                                                                               \
        int place = ledger_gpu(device);                                                                                \
        if (place >= 0 && !context_begin(place, &taken))                                                               \
            return CUDA_ERROR_OUT_OF_MEMORY;                                                                           \
        cu_result result = real arguments;                                                                             \
        if (place >= 0)                                                                                                \
            context_made(place, taken, result == CUDA_SUCCESS);                                                        \
        return result;                                                                                                 \
    }

CREATE(cuCtxCreate, (cu_context * out, unsigned flags, cu_device device), (out, flags, device))
CREATE(cuCtxCreate_v2, (cu_context * out, unsigned flags, cu_device device), (out, flags, device))
CREATE(cuCtxCreate_v3, (cu_context * out, void *affinities, int count, unsigned flags, cu_device device),
       (out, affinities, count, flags, device))
CREATE(cuCtxCreate_v4, (cu_context * out, void *options, unsigned flags, cu_device device),
       (out, options, flags, device))

cu_result cuDevicePrimaryCtxRetain(cu_context *out, cu_device device)
{
    __typeof__(&cuDevicePrimaryCtxRetain) real = REAL(cuDevicePrimaryCtxRetain);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    int place = ledger_gpu(device);
    bool fresh = place >= 0 && !is_active(device);
    uint64_t taken = 0;
    if (fresh && !context_begin(place, &taken))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, device);
    if (fresh)
        context_made(place, taken, result == CUDA_SUCCESS);
    struct gpu_state *gpu = result == CUDA_SUCCESS ? gpu_state(device) : NULL;
    if (gpu)
        gpu->primary = *out;
    return result;
}

static void primary_gone(cu_device device)
{
    const struct gpu_state *gpu = gpu_state(device);
    ledger_forget();
    if (gpu)
        ledger_context_gone(gpu->primary);
}

/* The last one to release it ends it. */
static cu_result release(__typeof__(&cuDevicePrimaryCtxRelease) real, cu_device device)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(device);
    if (result == CUDA_SUCCESS && !is_active(device))
        primary_gone(device);
    return result;
}

cu_result cuDevicePrimaryCtxRelease(cu_device device)
{
    return release(REAL(cuDevicePrimaryCtxRelease), device);
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    return release(REAL(cuDevicePrimaryCtxRelease_v2), device);
}

static cu_result reset(__typeof__(&cuDevicePrimaryCtxReset) real, cu_device device)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(device);
    if (result == CUDA_SUCCESS)
        primary_gone(device);
    return result;
}

cu_result cuDevicePrimaryCtxReset(cu_device device)
{
    return reset(REAL(cuDevicePrimaryCtxReset), device);
}

cu_result cuDevicePrimaryCtxReset_v2(cu_device device)
{
    return reset(REAL(cuDevicePrimaryCtxReset_v2), device);
}
