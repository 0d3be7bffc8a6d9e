/* Plain memory, pitched memory, managed memory. */
#include "gpu_memory/preload/entry.h"
#include "gpu_memory/preload/real.h"
#include "gpu_memory/preload/request.h"

cu_result cuMemAlloc_v2(cu_pointer *out, size_t size)
{
    __typeof__(&cuMemAlloc_v2) real = REAL(cuMemAlloc_v2);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, size);
    request_end(&request, result, result == CUDA_SUCCESS ? *out : 0, MEMORY_PLAIN, size);
    return result;
}

cu_result cuMemAlloc(cu_pointer_v1 *out, unsigned size)
{
    __typeof__(&cuMemAlloc) real = REAL(cuMemAlloc);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, size);
    request_end(&request, result, result == CUDA_SUCCESS ? *out : 0, MEMORY_PLAIN, size);
    return result;
}

/* A row's length is the driver's choice: until it has said it, the usual one is assumed. */
static uint64_t pitched(uint64_t width, uint64_t height)
{
    enum { USUAL_STEP = 512 };
    uint64_t pitch = (width + USUAL_STEP - 1) / USUAL_STEP * USUAL_STEP;
    return height && pitch > UINT64_MAX / height ? UINT64_MAX : pitch * height;
}

cu_result cuMemAllocPitch_v2(cu_pointer *out, size_t *pitch, size_t width, size_t height, unsigned element)
{
    __typeof__(&cuMemAllocPitch_v2) real = REAL(cuMemAllocPitch_v2);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    if (!request_begin(&request, pitched(width, height)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, pitch, width, height, element);
    bool good = result == CUDA_SUCCESS;
    request_end(&request, result, good ? *out : 0, MEMORY_PLAIN, good ? *pitch * height : request.size);
    return result;
}

cu_result cuMemAllocPitch(cu_pointer_v1 *out, unsigned *pitch, unsigned width, unsigned height, unsigned element)
{
    __typeof__(&cuMemAllocPitch) real = REAL(cuMemAllocPitch);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    if (!request_begin(&request, pitched(width, height)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, pitch, width, height, element);
    bool good = result == CUDA_SUCCESS;
    request_end(&request, result, good ? *out : 0, MEMORY_PLAIN, good ? (uint64_t)*pitch * height : request.size);
    return result;
}

/* Counted whole, as if it all lay on the GPU: it may, and where its pages are at a moment nobody tells. */
cu_result cuMemAllocManaged(cu_pointer *out, size_t size, unsigned flags)
{
    __typeof__(&cuMemAllocManaged) real = REAL(cuMemAllocManaged);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, size, flags);
    request_end(&request, result, result == CUDA_SUCCESS ? *out : 0, MEMORY_MANAGED, size);
    return result;
}

cu_result cuMemFree_v2(cu_pointer pointer)
{
    __typeof__(&cuMemFree_v2) real = REAL(cuMemFree_v2);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct release release = release_begin(pointer);
    cu_result result = real(pointer);
    release_end(&release, result);
    return result;
}

cu_result cuMemFree(cu_pointer_v1 pointer)
{
    __typeof__(&cuMemFree) real = REAL(cuMemFree);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct release release = release_begin(pointer);
    cu_result result = real(pointer);
    release_end(&release, result);
    return result;
}
