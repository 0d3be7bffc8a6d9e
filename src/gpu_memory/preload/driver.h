/* driver: NVIDIA's driver library, once the program has loaded it: the one table of its entry
 * points, and the driver's own functions behind ours. CUDA Driver API reference. */
#ifndef TARE_GPU_MEMORY_PRELOAD_DRIVER_H
#define TARE_GPU_MEMORY_PRELOAD_DRIVER_H

#include "gpu_memory/preload/cuda_abi.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Every entry point that is followed, in each of its ABIs: the name, under which this library
 * exports its own in the driver's place; the name cuGetProcAddress knows it by; the CUDA version
 * that brought it (1000 major + 10 minor); whether it is the variant for per-thread default
 * streams; its parameters. As the names of the types in CUDA's cudaTypedefs.h say
 * (PFN_cuCtxCreate_v12050); up to ABIS_KNOWN there is no other ABI of any of these names. A new one
 * is a row here and a function of that name. */
enum { ABIS_KNOWN = 13000 };
#define FOLLOWED(X)                                                                               \
    X(cuGetProcAddress, "cuGetProcAddress", 11030, 0,                                             \
      (const char *name, void **out, int version, uint64_t flags))                                \
    X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0,                                          \
      (const char *name, void **out, int version, uint64_t flags, int *status))                   \
    X(cuMemAlloc, "cuMemAlloc", 2000, 0, (cu_pointer_v1 * out, unsigned size))                    \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0, (cu_pointer * out, size_t size))                      \
    X(cuMemAllocPitch, "cuMemAllocPitch", 2000, 0,                                                \
      (cu_pointer_v1 * out, unsigned *pitch, unsigned width, unsigned height, unsigned element))  \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0,                                             \
      (cu_pointer * out, size_t * pitch, size_t width, size_t height, unsigned element))          \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0,                                            \
      (cu_pointer * out, size_t size, unsigned flags))                                            \
    X(cuMemFree, "cuMemFree", 2000, 0, (cu_pointer_v1 pointer))                                   \
    X(cuMemFree_v2, "cuMemFree", 3020, 0, (cu_pointer pointer))                                   \
    X(cuArrayCreate, "cuArrayCreate", 2000, 0,                                                    \
      (cu_array * out, const struct cu_array_descriptor_v1 *options))                             \
    X(cuArrayCreate_v2, "cuArrayCreate", 3020, 0,                                                 \
      (cu_array * out, const struct cu_array_descriptor *options))                                \
    X(cuArray3DCreate, "cuArray3DCreate", 2000, 0,                                                \
      (cu_array * out, const struct cu_array3d_descriptor_v1 *options))                           \
    X(cuArray3DCreate_v2, "cuArray3DCreate", 3020, 0,                                             \
      (cu_array * out, const struct cu_array3d_descriptor *options))                              \
    X(cuArrayDestroy, "cuArrayDestroy", 2000, 0, (cu_array array))                                \
    X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000, 0,                                  \
      (cu_mipmap * out, const struct cu_array3d_descriptor *options, unsigned levels))            \
    X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000, 0, (cu_mipmap mipmap))            \
    X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0,                                               \
      (cu_pointer * out, size_t size, cu_stream stream))                                          \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 1,                                          \
      (cu_pointer * out, size_t size, cu_stream stream))                                          \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0,                               \
      (cu_pointer * out, size_t size, cu_pool pool, cu_stream stream))                            \
    X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, 1,                          \
      (cu_pointer * out, size_t size, cu_pool pool, cu_stream stream))                            \
    X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0, (cu_pointer pointer, cu_stream stream))         \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 1, (cu_pointer pointer, cu_stream stream))    \
    X(cuMemPoolCreate, "cuMemPoolCreate", 11020, 0,                                               \
      (cu_pool * out, const struct cu_options *options))                                          \
    X(cuMemPoolDestroy, "cuMemPoolDestroy", 11020, 0, (cu_pool pool))                             \
    X(cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020, 0, (cu_pool pool, size_t keep))                  \
    X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, 0, (cu_device device, cu_pool pool))       \
    X(cuMemSetMemPool, "cuMemSetMemPool", 13000, 0,                                               \
      (struct cu_place * place, int type, cu_pool pool))                                          \
    X(cuStreamBeginCapture, "cuStreamBeginCapture", 10000, 0, (cu_stream stream))                 \
    X(cuStreamBeginCapture_ptsz, "cuStreamBeginCapture", 10000, 1, (cu_stream stream))            \
    X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, 0, (cu_stream stream, int mode))    \
    X(cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture", 10010, 1,                             \
      (cu_stream stream, int mode))                                                               \
    X(cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030, 0,                       \
      (cu_stream stream, void *graph, const void *nodes, const void *edges, size_t count,         \
       int mode))                                                                                 \
    X(cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph", 12030, 1,                  \
      (cu_stream stream, void *graph, const void *nodes, const void *edges, size_t count,         \
       int mode))                                                                                 \
    X(cuMemCreate, "cuMemCreate", 10020, 0,                                                       \
      (cu_handle * out, size_t size, const struct cu_options *options, unsigned long long flags)) \
    X(cuMemRelease, "cuMemRelease", 10020, 0, (cu_handle handle))                                 \
    X(cuMemMap, "cuMemMap", 10020, 0,                                                             \
      (cu_pointer pointer, size_t size, size_t offset, cu_handle handle,                          \
       unsigned long long flags))                                                                 \
    X(cuMemUnmap, "cuMemUnmap", 10020, 0, (cu_pointer pointer, size_t size))                      \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, 0,                       \
      (cu_handle * out, void *address))                                                           \
    X(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 10020, 0,                 \
      (cu_handle * out, void *shared, int type))                                                  \
    X(cuMemGetInfo, "cuMemGetInfo", 2000, 0, (unsigned *free, unsigned *total))                   \
    X(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0, (size_t * free, size_t * total))                  \
    X(cuDeviceTotalMem, "cuDeviceTotalMem", 2000, 0, (unsigned *total, cu_device device))         \
    X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, 0, (size_t * total, cu_device device))       \
    X(cuCtxCreate, "cuCtxCreate", 2000, 0, (cu_context * out, unsigned flags, cu_device device))  \
    X(cuCtxCreate_v2, "cuCtxCreate", 3020, 0,                                                     \
      (cu_context * out, unsigned flags, cu_device device))                                       \
    X(cuCtxCreate_v3, "cuCtxCreate", 11040, 0,                                                    \
      (cu_context * out, void *affinities, int count, unsigned flags, cu_device device))          \
    X(cuCtxCreate_v4, "cuCtxCreate", 12050, 0,                                                    \
      (cu_context * out, void *options, unsigned flags, cu_device device))                        \
    X(cuCtxDestroy, "cuCtxDestroy", 2000, 0, (cu_context context))                                \
    X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0, (cu_context context))                             \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0,                              \
      (cu_context * out, cu_device device))                                                       \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, 0, (cu_device device))        \
    X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, 0, (cu_device device))    \
    X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, 0, (cu_device device))            \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0, (cu_device device))

/* What is asked of the driver besides; never defined here. */
#define ASKED(X)                                                                    \
    X(cuDriverGetVersion, (int *out))                                               \
    X(cuCtxGetDevice, (cu_device * out))                                            \
    X(cuCtxGetCurrent, (cu_context * out))                                          \
    X(cuDeviceGetUuid, (struct cu_uuid * out, cu_device device))                    \
    X(cuDeviceGetUuid_v2, (struct cu_uuid * out, cu_device device))                 \
    X(cuDeviceGetMemPool, (cu_pool * out, cu_device device))                        \
    X(cuDevicePrimaryCtxGetState, (cu_device device, unsigned *flags, int *active)) \
    X(cuMemPoolGetAttribute, (cu_pool pool, int attribute, void *out))              \
    X(cuStreamIsCapturing, (cu_stream stream, int *status))                         \
    X(cuStreamIsCapturing_ptsz, (cu_stream stream, int *status))

#define X(name, base, version, per_thread, parameters) \
    __attribute__((visibility("default"))) cu_result name parameters;
FOLLOWED(X)
#undef X
#define X(name, parameters) cu_result name parameters;
ASKED(X)
#undef X

enum real_name {
#define X(name, ...) REAL_##name,
    FOLLOWED(X) REAL_FOLLOWED_COUNT,
    REAL_BEFORE_ASKED = REAL_FOLLOWED_COUNT - 1,
    ASKED(X) REAL_COUNT
#undef X
};

/* libdl's state, whoever else has put himself before it. */
typedef void *dlsym_fn(void *handle, const char *name);
typedef void *dlvsym_fn(void *handle, const char *name, const char *version);
dlsym_fn *real_dlsym(void);
dlvsym_fn *real_dlvsym(void);

/* Whether the program has the driver library loaded; then its functions are found, once. */
bool real_load(void);

extern _Atomic(void *) real_known[REAL_COUNT]; /* real_get's */
/* real_get's, where it is not known yet, or there is none */
void *real_find_now(enum real_name name);

/* The driver's function, or NULL: it has none of that name, or is not loaded. */
static inline void *real_get(enum real_name name)
{
    void *known = atomic_load_explicit(&real_known[name], memory_order_relaxed);
    return known ? known : real_find_now(name);
}

/* REAL(cuMemFree_v2): the driver's own. */
#define REAL(name) ((__typeof__(&name))real_get(REAL_##name))

/* In one of ours: the driver's own as real; who calls what the driver lacks is told so. */
#define NEED(name)                       \
    __typeof__(&name) real = REAL(name); \
    if (!real)                           \
    return CUDA_ERROR_NOT_FOUND

/* One of ours that does something once the driver's has succeeded, and nothing else. */
#define AFTER(name, parameters, arguments, then) \
    cu_result name parameters                    \
    {                                            \
        NEED(name);                              \
        cu_result result = real arguments;       \
        if (result == CUDA_SUCCESS)              \
            then;                                \
        return result;                           \
    }

/* Whether this is the driver's entry point of that number. */
bool real_is_drivers(int number, const void *function);

#endif
