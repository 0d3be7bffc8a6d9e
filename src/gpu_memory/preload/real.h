/* real: the driver library's own functions, once the program has loaded it; and which of ours stands for which of
 * them. */
#ifndef TARE_GPU_MEMORY_PRELOAD_REAL_H
#define TARE_GPU_MEMORY_PRELOAD_REAL_H

#include "gpu_memory/preload/cuda_abi.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Every entry point that is followed, in each of its ABIs: name, the name cuGetProcAddress knows it by, the CUDA
 * version that brought it (1000 major + 10 minor), and whether it is the variant for per-thread default streams. As
 * the names of the types in CUDA's cudaTypedefs.h say (PFN_cuCtxCreate_v12050); up to ABIS_KNOWN there is no other
 * ABI of any of these names. */
enum { ABIS_KNOWN = 13000 };
#define FOLLOWED(X)                                                                                                    \
    X(cuGetProcAddress, "cuGetProcAddress", 11030, 0)                                                                  \
    X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0)                                                               \
    X(cuMemAlloc, "cuMemAlloc", 2000, 0)                                                                               \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0)                                                                            \
    X(cuMemAllocPitch, "cuMemAllocPitch", 2000, 0)                                                                     \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0)                                                                  \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0)                                                                 \
    X(cuMemFree, "cuMemFree", 2000, 0)                                                                                 \
    X(cuMemFree_v2, "cuMemFree", 3020, 0)                                                                              \
    X(cuArrayCreate, "cuArrayCreate", 2000, 0)                                                                         \
    X(cuArrayCreate_v2, "cuArrayCreate", 3020, 0)                                                                      \
    X(cuArray3DCreate, "cuArray3DCreate", 2000, 0)                                                                     \
    X(cuArray3DCreate_v2, "cuArray3DCreate", 3020, 0)                                                                  \
    X(cuArrayDestroy, "cuArrayDestroy", 2000, 0)                                                                       \
    X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000, 0)                                                       \
    X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000, 0)                                                     \
    X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0)                                                                    \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 1)                                                               \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0)                                                    \
    X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, 1)                                               \
    X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0)                                                                      \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 1)                                                                 \
    X(cuMemPoolCreate, "cuMemPoolCreate", 11020, 0)                                                                    \
    X(cuMemPoolDestroy, "cuMemPoolDestroy", 11020, 0)                                                                  \
    X(cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020, 0)                                                                    \
    X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, 0)                                                              \
    X(cuMemSetMemPool, "cuMemSetMemPool", 13000, 0)                                                                    \
    X(cuStreamBeginCapture, "cuStreamBeginCapture", 10000, 0)                                                          \
    X(cuStreamBeginCapture_ptsz, "cuStreamBeginCapture", 10000, 1)                                                     \
    X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, 0)                                                       \
    X(cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture", 10010, 1)                                                  \
    X(cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030, 0)                                            \
    X(cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph", 12030, 1)                                       \
    X(cuMemCreate, "cuMemCreate", 10020, 0)                                                                            \
    X(cuMemRelease, "cuMemRelease", 10020, 0)                                                                          \
    X(cuMemMap, "cuMemMap", 10020, 0)                                                                                  \
    X(cuMemUnmap, "cuMemUnmap", 10020, 0)                                                                              \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, 0)                                            \
    X(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 10020, 0)                                      \
    X(cuMemGetInfo, "cuMemGetInfo", 2000, 0)                                                                           \
    X(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0)                                                                        \
    X(cuDeviceTotalMem, "cuDeviceTotalMem", 2000, 0)                                                                   \
    X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, 0)                                                                \
    X(cuCtxCreate, "cuCtxCreate", 2000, 0)                                                                             \
    X(cuCtxCreate_v2, "cuCtxCreate", 3020, 0)                                                                          \
    X(cuCtxCreate_v3, "cuCtxCreate", 11040, 0)                                                                         \
    X(cuCtxCreate_v4, "cuCtxCreate", 12050, 0)                                                                         \
    X(cuCtxDestroy, "cuCtxDestroy", 2000, 0)                                                                           \
    X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0)                                                                        \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0)                                                   \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, 0)                                                 \
    X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, 0)                                             \
    X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, 0)                                                     \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0)

/* What is asked of the driver besides. */
#define ASKED(X)                                                                                                       \
    X(cuDriverGetVersion)                                                                                              \
    X(cuCtxGetDevice)                                                                                                  \
    X(cuCtxGetCurrent)                                                                                                 \
    X(cuDeviceGetUuid)                                                                                                 \
    X(cuDeviceGetUuid_v2)                                                                                              \
    X(cuDeviceGetMemPool)                                                                                              \
    X(cuDevicePrimaryCtxGetState)                                                                                      \
    X(cuMemPoolGetAttribute)                                                                                           \
    X(cuStreamIsCapturing)                                                                                             \
    X(cuStreamIsCapturing_ptsz)

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
void *real_find_now(enum real_name name); /* real_get's, where it is not known yet, or there is none */

/* The driver's function, or NULL: it has none of that name, or is not loaded. */
static inline void *real_get(enum real_name name)
{
    void *known = atomic_load_explicit(&real_known[name], memory_order_relaxed);
    return known ? known : real_find_now(name);
}

/* CALL(cuMemFree_v2, pointer): the driver's own. */
#define REAL(name) ((__typeof__(&name))real_get(REAL_##name))

/* The one followed by this name, or -1. */
int real_find(const char *name);

/* Ours, for number of real_find. */
void *real_interposer(int number);

/* Ours for what cuGetProcAddress gave, if that is known to be the driver's entry point of the same ABI; else given
 * itself. */
void *real_interposer_for(const char *base, void *given, int version, uint64_t flags);

/* Whether this is the entry point of that number, ours or the driver's. */
bool real_is_ours(int number, const void *function);
bool real_is_drivers(int number, const void *function);

#endif
