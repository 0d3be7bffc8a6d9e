/* Every kind of GPU memory once, found by dlsym: kinds. What is left at the end and what the peak
 * was is worked out by hand in tests/cli/gpu_memory.bats; the driver itself counts as well. */
#include "cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *library;
static const size_t MIB = 1 << 20;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "failed: %s\n", what);
    _exit(1);
}

static void *reach(const char *name)
{
    void *out = dlsym(library, name);
    need(out != NULL, name);
    return out;
}

/* CALL(name, types of the arguments)(arguments) */
#define CALL(name, ...) ((CUresult(*)(__VA_ARGS__))reach(#name))

static void use_gpu(void)
{
    CUcontext context = NULL;
    need(CALL(cuInit, unsigned)(0) == 0 &&
             CALL(cuDevicePrimaryCtxRetain, CUcontext *, int)(&context, 0) == 0 &&
             CALL(cuCtxSetCurrent, CUcontext)(context) == 0,
         "the context");
}

static CUmemGenericAllocationHandle create(size_t size)
{
    CUmemAllocationProp wish = {.type = 1, .location = {1, 0}};
    CUmemGenericAllocationHandle out = 0;
    need(CALL(cuMemCreate, CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
              unsigned long long)(&out, size, &wish, 0) == 0,
         "cuMemCreate");
    return out;
}

static CUresult map(CUdeviceptr at, size_t size, CUmemGenericAllocationHandle handle)
{
    return CALL(cuMemMap, CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                unsigned long long)(at, size, 0, handle, 0);
}

static CUresult unmap(CUdeviceptr at, size_t size)
{
    return CALL(cuMemUnmap, CUdeviceptr, size_t)(at, size);
}

static CUresult drop(CUmemGenericAllocationHandle handle)
{
    return CALL(cuMemRelease, CUmemGenericAllocationHandle)(handle);
}

static void virtual_memory(void)
{
    const CUdeviceptr base = UINT64_C(0x600000000000);
    CUmemGenericAllocationHandle first = create(20 * MIB), again = 0, mine = 0;
    need(map(base, 20 * MIB, first) == 0 && drop(first) == 0, "mapped, the handle released");
    need(CALL(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *,
              void *)(&again, (void *)(base + 4096)) == 0,
         "retained");
    need(unmap(base, 20 * MIB) == 0 && drop(again) == 0, "unmapped, then released"); /* gone */
    /* Three in a row, unmapped at once but for the last, which stays with its mapping alone. */
    for (size_t i = 0; i < 3; i++) {
        CUmemGenericAllocationHandle one = create(4 * MIB);
        need(map(base + i * 4 * MIB, 4 * MIB, one) == 0 && drop(one) == 0, "mapped");
    }
    need(unmap(base, 8 * MIB) == 0, "unmapped two at once");
    /* What this process made and imports again is one memory. */
    CUmemGenericAllocationHandle shared = create(2 * MIB);
    need(CALL(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle *, void *,
              int)(&mine, (void *)(uintptr_t)shared, 1) == 0,
         "imported");
    need(drop(shared) == 0, "released once"); /* 2 MiB stay by the imported handle */
    /* Another's is not counted, here or when it is let go. */
    CUmemGenericAllocationHandle other = 0;
    need(CALL(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle *, void *,
              int)(&other, (void *)0x123, 1) == 0,
         "imported another's");
    need(map(base + 64 * MIB, 2 * MIB, other) == 0 && drop(other) == 0 &&
             unmap(base + 64 * MIB, 2 * MIB) == 0,
         "its end");
    need(drop(UINT64_C(0xdead000)) != 0, "an unknown handle is refused");
}

static void arrays(void)
{
    CUarray flat = NULL, deep = NULL, gone = NULL;
    CUmipmappedArray levels = NULL;
    CUDA_ARRAY_DESCRIPTOR flat_wish = {256, 256, 0x20, 4};       /* float4: 1 048 576 */
    CUDA_ARRAY3D_DESCRIPTOR deep_wish = {64, 32, 8, 0x10, 2, 0}; /* half2: 65 536 */
    /* bytes: 4096 + 1024 + 256 = 5376 */
    CUDA_ARRAY3D_DESCRIPTOR mip_wish = {64, 64, 0, 0x01, 1, 0};
    need(CALL(cuArrayCreate_v2, CUarray *, const CUDA_ARRAY_DESCRIPTOR *)(&flat, &flat_wish) == 0,
         "flat");
    need(CALL(cuArrayCreate_v2, CUarray *, const CUDA_ARRAY_DESCRIPTOR *)(&gone, &flat_wish) == 0,
         "one more");
    need(CALL(cuArray3DCreate_v2, CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *)(&deep, &deep_wish) ==
             0,
         "deep");
    need(CALL(cuMipmappedArrayCreate, CUmipmappedArray *, const CUDA_ARRAY3D_DESCRIPTOR *,
              unsigned)(&levels, &mip_wish, 3) == 0,
         "levels");
    need(CALL(cuArrayDestroy, CUarray)(gone) == 0, "destroyed");
}

static void others(void)
{
    CUdeviceptr pitched = 0, managed = 0, pooled = 0, freed = 0, captured = 0;
    size_t pitch = 0;
    CUmemoryPool pool = NULL;
    CUmemPoolProps wish = {.allocType = 1, .location = {1, 0}};
    need(CALL(cuMemAllocPitch_v2, CUdeviceptr *, size_t *, size_t, size_t,
              unsigned)(&pitched, &pitch, 1000, 100, 4) == 0 &&
             pitch == 1024,
         "pitched");
    need(CALL(cuMemAllocManaged, CUdeviceptr *, size_t, unsigned)(&managed, 5000000, 1) == 0,
         "managed");
    need(CALL(cuMemPoolCreate, CUmemoryPool *, const CUmemPoolProps *)(&pool, &wish) == 0, "pool");
    need(CALL(cuMemAllocFromPoolAsync, CUdeviceptr *, size_t, CUmemoryPool,
              CUstream)(&pooled, 1000000, pool, NULL) == 0,
         "from the pool");
    need(CALL(cuMemAllocFromPoolAsync, CUdeviceptr *, size_t, CUmemoryPool,
              CUstream)(&freed, 40 * MIB, pool, NULL) == 0,
         "more from the pool");
    need(CALL(cuMemFree_v2, CUdeviceptr)(freed) == 0, "freed without a stream");
    need(CALL(cuMemPoolTrimTo, CUmemoryPool, size_t)(pool, 0) == 0, "trimmed");
    /* What a captured stream allocates is the graph's. */
    need(CALL(cuStreamBeginCapture_v2, CUstream, int)((void *)0x77, 0) == 0, "a capture begins");
    need(CALL(cuMemAllocAsync, CUdeviceptr *, size_t, CUstream)(&captured, 777, (void *)0x77) ==
                 0 &&
             CALL(cuMemFreeAsync, CUdeviceptr, CUstream)(captured, (void *)0x77) == 0,
         "captured");
}

int main(void)
{
    uint64_t asked, peak;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    need(library != NULL, "libcuda.so.1");
    use_gpu();
    virtual_memory();
    arrays();
    others();
    ((void (*)(int, uint64_t *, uint64_t *))reach("fakeCudaCount"))(0, &asked, &peak);
    printf("gpu 0 asked %llu peak %llu\n", (unsigned long long)asked, (unsigned long long)peak);
    return 0;
}
