/* cuda_abi: what of NVIDIA's CUDA driver library is followed, as its binary interface is: CUDA
 * Driver API reference (https://docs.nvidia.com/cuda/cuda-driver-api/), the name of each type
 * beside it. NVIDIA's headers are not needed: the interface only grows, and what a library lacks is
 * found missing at run time. */
#ifndef TARE_GPU_MEMORY_PRELOAD_CUDA_ABI_H
#define TARE_GPU_MEMORY_PRELOAD_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* CUresult, those that are told apart or given. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NOT_FOUND = 500
};

typedef int cu_result;          /* CUresult */
typedef int cu_device;          /* CUdevice: its number as this process sees the GPUs */
typedef uint64_t cu_pointer;    /* CUdeviceptr */
typedef unsigned cu_pointer_v1; /* CUdeviceptr_v1 */
typedef uint64_t cu_handle;     /* CUmemGenericAllocationHandle */
typedef void *cu_context, *cu_stream, *cu_pool, *cu_array, *cu_mipmap;

struct cu_uuid { /* CUuuid */
    uint8_t bytes[16];
};

struct cu_place { /* CUmemLocation */
    int type, id;
};
enum { CU_PLACE_DEVICE = 1 }; /* CU_MEM_LOCATION_TYPE_DEVICE */

/* The beginnings of CUmemAllocationProp and of CUmemPoolProps, which are alike. */
struct cu_options {
    int type, handle_types;
    struct cu_place place;
};

struct cu_array_descriptor_v1 { /* CUDA_ARRAY_DESCRIPTOR_v1 */
    unsigned width, height;
    int format;
    unsigned channels;
};
struct cu_array_descriptor { /* CUDA_ARRAY_DESCRIPTOR */
    size_t width, height;
    int format;
    unsigned channels;
};
struct cu_array3d_descriptor_v1 { /* CUDA_ARRAY3D_DESCRIPTOR_v1 */
    unsigned width, height, depth;
    int format;
    unsigned channels, flags;
};
struct cu_array3d_descriptor { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
/* CUDA_ARRAY3D_SPARSE, _DEFERRED_MAPPING: memory is mapped into it later */
enum { CU_ARRAY_UNBACKED = 0x40 | 0x80 };

/* CUmemPool_attribute */
enum { CU_POOL_RESERVED = 5, CU_POOL_USED = 7 };

/* CUdriverProcAddress_flags: CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
enum { CU_PROC_PER_THREAD = 2 };

#endif
