/* entry: the driver's functions: those that this library exports in its place, and those that it asks. CUDA Driver
 * API reference. */
#ifndef TARE_GPU_MEMORY_PRELOAD_ENTRY_H
#define TARE_GPU_MEMORY_PRELOAD_ENTRY_H

#include "gpu_memory/preload/cuda_abi.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED cu_result cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
EXPORTED cu_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

EXPORTED cu_result cuMemAlloc(cu_pointer_v1 *out, unsigned size);
EXPORTED cu_result cuMemAlloc_v2(cu_pointer *out, size_t size);
EXPORTED cu_result cuMemAllocPitch(cu_pointer_v1 *out, unsigned *pitch, unsigned width, unsigned height,
                                   unsigned element);
EXPORTED cu_result cuMemAllocPitch_v2(cu_pointer *out, size_t *pitch, size_t width, size_t height, unsigned element);
EXPORTED cu_result cuMemAllocManaged(cu_pointer *out, size_t size, unsigned flags);
EXPORTED cu_result cuMemFree(cu_pointer_v1 pointer);
EXPORTED cu_result cuMemFree_v2(cu_pointer pointer);

EXPORTED cu_result cuArrayCreate(cu_array *out, const struct cu_array_descriptor_v1 *options);
EXPORTED cu_result cuArrayCreate_v2(cu_array *out, const struct cu_array_descriptor *options);
EXPORTED cu_result cuArray3DCreate(cu_array *out, const struct cu_array3d_descriptor_v1 *options);
EXPORTED cu_result cuArray3DCreate_v2(cu_array *out, const struct cu_array3d_descriptor *options);
EXPORTED cu_result cuArrayDestroy(cu_array array);
EXPORTED cu_result cuMipmappedArrayCreate(cu_mipmap *out, const struct cu_array3d_descriptor *options, unsigned levels);
EXPORTED cu_result cuMipmappedArrayDestroy(cu_mipmap mipmap);

EXPORTED cu_result cuMemAllocAsync(cu_pointer *out, size_t size, cu_stream stream);
EXPORTED cu_result cuMemAllocAsync_ptsz(cu_pointer *out, size_t size, cu_stream stream);
EXPORTED cu_result cuMemAllocFromPoolAsync(cu_pointer *out, size_t size, cu_pool pool, cu_stream stream);
EXPORTED cu_result cuMemAllocFromPoolAsync_ptsz(cu_pointer *out, size_t size, cu_pool pool, cu_stream stream);
EXPORTED cu_result cuMemFreeAsync(cu_pointer pointer, cu_stream stream);
EXPORTED cu_result cuMemFreeAsync_ptsz(cu_pointer pointer, cu_stream stream);
EXPORTED cu_result cuMemPoolCreate(cu_pool *out, const struct cu_options *options);
EXPORTED cu_result cuMemPoolDestroy(cu_pool pool);
EXPORTED cu_result cuMemPoolTrimTo(cu_pool pool, size_t keep);
EXPORTED cu_result cuDeviceSetMemPool(cu_device device, cu_pool pool);
EXPORTED cu_result cuMemSetMemPool(struct cu_place *place, int type, cu_pool pool);

EXPORTED cu_result cuStreamBeginCapture(cu_stream stream);
EXPORTED cu_result cuStreamBeginCapture_ptsz(cu_stream stream);
EXPORTED cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode);
EXPORTED cu_result cuStreamBeginCapture_v2_ptsz(cu_stream stream, int mode);
EXPORTED cu_result cuStreamBeginCaptureToGraph(cu_stream stream, void *graph, const void *nodes, const void *edges,
                                               size_t count, int mode);
EXPORTED cu_result cuStreamBeginCaptureToGraph_ptsz(cu_stream stream, void *graph, const void *nodes, const void *edges,
                                                    size_t count, int mode);

EXPORTED cu_result cuMemCreate(cu_handle *out, size_t size, const struct cu_options *options, unsigned long long flags);
EXPORTED cu_result cuMemRelease(cu_handle handle);
EXPORTED cu_result cuMemMap(cu_pointer pointer, size_t size, size_t offset, cu_handle handle, unsigned long long flags);
EXPORTED cu_result cuMemUnmap(cu_pointer pointer, size_t size);
EXPORTED cu_result cuMemRetainAllocationHandle(cu_handle *out, void *address);
EXPORTED cu_result cuMemImportFromShareableHandle(cu_handle *out, void *shared, int type);

EXPORTED cu_result cuMemGetInfo(unsigned *free, unsigned *total);
EXPORTED cu_result cuMemGetInfo_v2(size_t *free, size_t *total);
EXPORTED cu_result cuDeviceTotalMem(unsigned *total, cu_device device);
EXPORTED cu_result cuDeviceTotalMem_v2(size_t *total, cu_device device);

EXPORTED cu_result cuCtxCreate(cu_context *out, unsigned flags, cu_device device);
EXPORTED cu_result cuCtxCreate_v2(cu_context *out, unsigned flags, cu_device device);
EXPORTED cu_result cuCtxCreate_v3(cu_context *out, void *affinities, int count, unsigned flags, cu_device device);
EXPORTED cu_result cuCtxCreate_v4(cu_context *out, void *options, unsigned flags, cu_device device);
EXPORTED cu_result cuCtxDestroy(cu_context context);
EXPORTED cu_result cuCtxDestroy_v2(cu_context context);
EXPORTED cu_result cuDevicePrimaryCtxRetain(cu_context *out, cu_device device);
EXPORTED cu_result cuDevicePrimaryCtxRelease(cu_device device);
EXPORTED cu_result cuDevicePrimaryCtxRelease_v2(cu_device device);
EXPORTED cu_result cuDevicePrimaryCtxReset(cu_device device);
EXPORTED cu_result cuDevicePrimaryCtxReset_v2(cu_device device);

/* Asked only (real.h); never defined here. */
cu_result cuDriverGetVersion(int *out);
cu_result cuCtxGetDevice(cu_device *out);
cu_result cuCtxGetCurrent(cu_context *out);
cu_result cuDeviceGetUuid(struct cu_uuid *out, cu_device device);
cu_result cuDeviceGetUuid_v2(struct cu_uuid *out, cu_device device);
cu_result cuDeviceGetMemPool(cu_pool *out, cu_device device);
cu_result cuDevicePrimaryCtxGetState(cu_device device, unsigned *flags, int *active);
cu_result cuMemPoolGetAttribute(cu_pool pool, int attribute, void *out);
cu_result cuStreamIsCapturing(cu_stream stream, int *status);
cu_result cuStreamIsCapturing_ptsz(cu_stream stream, int *status);

#endif
