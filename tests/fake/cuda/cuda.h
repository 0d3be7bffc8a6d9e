/* cuda: a stand-in for NVIDIA's driver library: its entry points for memory over a simple model,
 * which counts on its own what is allocated. Declared here once more and apart from
 * src/gpu_memory/preload/cuda_abi.h, from the CUDA Driver API reference. Environment:
 * FAKE_CUDA_TOTAL (bytes of each GPU, default 16 GiB), FAKE_CUDA_GPUS (default 2), FAKE_CUDA_COUNT
 * (a file of struct fake_cuda_count that all processes add to), FAKE_CUDA_PRIVATE=1
 * (cuGetProcAddress gives functions that are not exported), FAKE_CUDA_VERSION (of the driver,
 * default 13000; from 13020 on cuGetProcAddress knows ABIs that no real driver has). */
#ifndef TARE_FAKE_CUDA_H
#define TARE_FAKE_CUDA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct fake_context *CUcontext;
typedef void *CUstream;
typedef struct fake_pool *CUmemoryPool;
typedef struct fake_block *CUarray, *CUmipmappedArray;
typedef uint64_t CUmemGenericAllocationHandle;
typedef struct {
    char bytes[16];
} CUuuid;
typedef struct {
    int type;
    unsigned smCount;
} CUexecAffinityParam;
typedef struct {
    CUexecAffinityParam *execAffinityParams;
    int numExecAffinityParams;
    void *cigParams;
} CUctxCreateParams;
typedef struct {
    int type, id;
} CUmemLocation;
typedef struct {
    int type, requestedHandleTypes;
    CUmemLocation location;
    void *win32;
    unsigned char flags[8];
} CUmemAllocationProp;
typedef struct {
    int allocType, handleTypes;
    CUmemLocation location;
    void *win32;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;
typedef struct {
    size_t Width, Height;
    int Format;
    unsigned NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct {
    size_t Width, Height, Depth;
    int Format;
    unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

enum { FAKE_GPUS_MAX = 8 };
enum {
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500
};

/* Of one GPU, bytes: asked for by programs; physically handed out, in pages of 2 MiB, with what
 * pools keep. */
struct fake_cuda_count {
    _Atomic uint64_t asked, asked_peak, physical, physical_peak, calls;
};

/* A test program asks its own process's. */
void fakeCudaCount(int gpu, uint64_t *asked, uint64_t *peak);

#endif
