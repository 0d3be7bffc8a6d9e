/* A context takes what was allocated in it along when it goes. */
#include "preload/book.h"
#include "preload/entry.h"
#include "preload/real.h"

static cu_result destroy(__typeof__(&cuCtxDestroy_v2) real, cu_context context)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(context);
    if (result == CUDA_SUCCESS)
        book_context_gone(context);
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

static struct own_gpu *own_gpu(cu_device device)
{
    struct own *own = own_get();
    return own && device >= 0 && device < OWN_GPUS ? &own->gpus[device] : NULL;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *out, cu_device device)
{
    __typeof__(&cuDevicePrimaryCtxRetain) real = REAL(cuDevicePrimaryCtxRetain);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(out, device);
    struct own_gpu *gpu = result == CUDA_SUCCESS ? own_gpu(device) : NULL;
    if (gpu)
        gpu->primary = *out;
    return result;
}

static void primary_gone(cu_device device)
{
    const struct own_gpu *gpu = own_gpu(device);
    if (gpu)
        book_context_gone(gpu->primary);
}

/* The last one to release it ends it. */
static cu_result release(__typeof__(&cuDevicePrimaryCtxRelease) real, cu_device device)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(device);
    unsigned flags;
    int active = 1;
    if (result == CUDA_SUCCESS && REAL(cuDevicePrimaryCtxGetState) &&
        REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && !active)
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
