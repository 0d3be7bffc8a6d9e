/* One big lock, a hash table of blocks, addresses that are used again at once: as a driver may. */
#include "cuda.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum kind { PLAIN = 1, ARRAY, ASYNC, PHYSICAL };
static const uint64_t PAGE = UINT64_C(2) << 20, POOL_STEP = UINT64_C(32) << 20;

struct fake_context {
    int gpu, users;
    bool primary, alive;
};
struct fake_pool {
    int gpu;
    uint64_t used, reserved;
};
struct fake_block {
    uint64_t address, size, physical;
    enum kind kind;
    int gpu, handles, mappings;
    struct fake_context *context;
    struct fake_pool *pool;
    struct fake_block *next; /* in its chain */
};
struct fake_mapping {
    uint64_t start, size;
    struct fake_block *block;
    struct fake_mapping *next;
};

enum { CHAINS = 1 << 16, FREED_MAX = 1 << 14, CONTEXTS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_block *chains[CHAINS];
static struct fake_mapping *mappings;
static uint64_t freed[FREED_MAX], next_address = UINT64_C(0x7f0000000000);
static size_t freed_count;
static struct fake_context contexts[CONTEXTS], *primaries[FAKE_GPUS_MAX];
static struct fake_pool default_pools[FAKE_GPUS_MAX];
static struct fake_cuda_count own[FAKE_GPUS_MAX], *shared;
static bool initialized;
static bool forked; /* CUDA does not work in a child of a process that has initialized it */
static _Thread_local struct fake_context *current;

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 10) : otherwise;
}

static uint64_t total(void)
{
    return setting("FAKE_CUDA_TOTAL", UINT64_C(16) << 30);
}

static int gpus(void)
{
    uint64_t count = setting("FAKE_CUDA_GPUS", 2);
    return count > FAKE_GPUS_MAX ? FAKE_GPUS_MAX : (int)count;
}

static uint64_t pages(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* Up to 1 MiB several share a page; what they hold is then their own 512-byte steps. */
static uint64_t physical_of(uint64_t size)
{
    return size > PAGE / 2 ? pages(size) : (size + 511) / 512 * 512;
}

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t seen = *peak;
    while (value > seen && !atomic_compare_exchange_weak(peak, &seen, value))
        ;
}

/* With the lock held. */
static void count_asked(int gpu, int64_t change)
{
    struct fake_cuda_count *counts[] = {&own[gpu], shared ? &shared[gpu] : NULL};
    for (int i = 0; i < 2 && counts[i]; i++) {
        raise_peak(&counts[i]->asked_peak,
                   atomic_fetch_add(&counts[i]->asked, (uint64_t)change) + (uint64_t)change);
        counts[i]->calls++;
    }
}

static bool count_physical(int gpu, int64_t change)
{
    struct fake_cuda_count *counts[] = {&own[gpu], shared ? &shared[gpu] : NULL};
    if (change > 0 && (shared ? &shared[gpu] : &own[gpu])->physical + (uint64_t)change > total())
        return false;
    for (int i = 0; i < 2 && counts[i]; i++)
        raise_peak(&counts[i]->physical_peak,
                   atomic_fetch_add(&counts[i]->physical, (uint64_t)change) + (uint64_t)change);
    return true;
}

static struct fake_block **chain_of(uint64_t address)
{
    return &chains[(address >> 9) % CHAINS];
}

static struct fake_block *find(uint64_t address)
{
    struct fake_block *block = *chain_of(address);
    while (block && block->address != address)
        block = block->next;
    return block;
}

static uint64_t address_new(uint64_t size)
{
    if (freed_count > 0 && size <= PAGE)
        return freed[--freed_count];
    uint64_t out = next_address;
    next_address += pages(size ? size : 1);
    return out;
}

static struct fake_block *block_new(enum kind kind, int gpu, uint64_t size, uint64_t physical)
{
    struct fake_block *block = calloc(1, sizeof *block);
    *block = (struct fake_block){
        .address = address_new(size), .size = size, .physical = physical, .kind = kind, .gpu = gpu};
    struct fake_block **chain = chain_of(block->address);
    block->next = *chain;
    *chain = block;
    return block;
}

static void block_free(struct fake_block *block)
{
    struct fake_block **place = chain_of(block->address);
    while (*place != block)
        place = &(*place)->next;
    *place = block->next;
    if (block->size <= PAGE && freed_count < FREED_MAX)
        freed[freed_count++] = block->address;
    if (block->kind == ASYNC)
        block->pool->used -= physical_of(block->size);
    else
        count_physical(block->gpu, -(int64_t)block->physical);
    count_asked(block->gpu, -(int64_t)block->size);
    free(block);
}

static void note_fork(void)
{
    forked = true;
}

static CUresult ready(void)
{
    if (!initialized || forked)
        return NOT_INITIALIZED;
    return current && current->alive ? 0 : INVALID_CONTEXT;
}

API void fakeCudaCount(int gpu, uint64_t *asked, uint64_t *peak)
{
    *asked = own[gpu].asked;
    *peak = own[gpu].asked_peak;
}

API CUresult cuInit(unsigned flags)
{
    (void)flags;
    pthread_mutex_lock(&lock);
    const char *path = getenv("FAKE_CUDA_COUNT");
    if (path && !shared) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        void *map = fd < 0 ? MAP_FAILED
                           : mmap(NULL, sizeof *shared * FAKE_GPUS_MAX, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        shared = map == MAP_FAILED ? NULL : map;
    }
    if (!initialized) {
        initialized = true;
        pthread_atfork(NULL, NULL, note_fork);
        for (int i = 0; i < FAKE_GPUS_MAX; i++)
            default_pools[i].gpu = i;
    }
    pthread_mutex_unlock(&lock);
    return forked ? NOT_INITIALIZED : 0;
}

static int driver_version(void)
{
    return (int)setting("FAKE_CUDA_VERSION", 13000);
}

API CUresult cuDriverGetVersion(int *out)
{
    *out = driver_version();
    return 0;
}

API CUresult cuDeviceGetCount(int *out)
{
    *out = gpus();
    return 0;
}

API CUresult cuDeviceGet(CUdevice *out, int number)
{
    *out = number;
    return number < gpus() ? 0 : 101;
}

API CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device)
{
    memset(out, 0, sizeof *out);
    out->bytes[0] = 0x7f;
    out->bytes[15] = (char)device;
    return 0;
}

API CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device)
{
    return cuDeviceGetUuid_v2(out, device);
}

API CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice device)
{
    *out = total();
    return device < gpus() ? 0 : 101;
}

API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    CUresult result = ready();
    if (result)
        return result;
    *total_bytes = total();
    *free_bytes = total() - (shared ? &shared[current->gpu] : &own[current->gpu])->physical;
    return 0;
}

static struct fake_context *context_new(int gpu, bool primary)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (!contexts[i].users && !contexts[i].alive) {
            contexts[i] =
                (struct fake_context){.gpu = gpu, .users = 1, .primary = primary, .alive = true};
            return &contexts[i];
        }
    return NULL;
}

/* Its memory goes with it. */
static void context_end(struct fake_context *context)
{
    for (size_t i = 0; i < CHAINS; i++)
        for (struct fake_block *block = chains[i], *next; block; block = next) {
            next = block->next;
            if (block->context == context)
                block_free(block);
        }
    context->alive = false;
    context->users = 0;
}

API CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
    (void)flags;
    pthread_mutex_lock(&lock);
    *out = current = context_new(device, false);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* As from CUDA 11.4 on: a list of parameters and its length; here one of type 0
 * (CU_EXEC_AFFINITY_TYPE_SM_COUNT). */
API CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinities, int count,
                            unsigned flags, CUdevice device)
{
    if (count != 1 || !affinities || affinities->type != 0 || affinities->smCount != 7 ||
        flags != 8)
        return 1;
    return cuCtxCreate_v2(out, flags, device);
}

/* As from CUDA 12.5 on: a structure, in which that list is. */
API CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *options, unsigned flags,
                            CUdevice device)
{
    if (!options || options->numExecAffinityParams != 1)
        return 1;
    return cuCtxCreate_v3(out, options->execAffinityParams, options->numExecAffinityParams, flags,
                          device);
}

API CUresult cuCtxDestroy_v2(CUcontext context)
{
    pthread_mutex_lock(&lock);
    context_end(context);
    if (current == context)
        current = NULL;
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return 0;
}

API CUresult cuCtxGetCurrent(CUcontext *out)
{
    *out = current;
    return 0;
}

API CUresult cuCtxGetDevice(CUdevice *out)
{
    CUresult result = ready();
    if (!result)
        *out = current->gpu;
    return result;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    pthread_mutex_lock(&lock);
    if (!primaries[device] || !primaries[device]->alive)
        primaries[device] = context_new(device, true);
    else
        primaries[device]->users++;
    *out = primaries[device];
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    pthread_mutex_lock(&lock);
    if (primaries[device] && primaries[device]->alive && --primaries[device]->users == 0)
        context_end(primaries[device]);
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    pthread_mutex_lock(&lock);
    if (primaries[device] && primaries[device]->alive)
        context_end(primaries[device]);
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = primaries[device] && primaries[device]->alive;
    return 0;
}

static CUresult allocate(enum kind kind, uint64_t size, struct fake_block **out)
{
    CUresult result = ready();
    if (result)
        return result;
    if (size == 0)
        return 1;
    pthread_mutex_lock(&lock);
    bool room = count_physical(current->gpu, (int64_t)physical_of(size));
    if (room) {
        *out = block_new(kind, current->gpu, size, physical_of(size));
        (*out)->context = current;
        count_asked(current->gpu, (int64_t)size);
    }
    pthread_mutex_unlock(&lock);
    return room ? 0 : OUT_OF_MEMORY;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    struct fake_block *block;
    CUresult result = allocate(PLAIN, size, &block);
    if (!result)
        *out = block->address;
    return result;
}

API CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags)
{
    (void)flags;
    return cuMemAlloc_v2(out, size);
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                                unsigned element)
{
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return cuMemAlloc_v2(out, *pitch * height);
}

static CUresult release(uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct fake_block *block = find(address);
    bool there = block && (block->kind == PLAIN || block->kind == ASYNC);
    if (there)
        block_free(block);
    pthread_mutex_unlock(&lock);
    return there ? 0 : 1;
}

API CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult result = ready();
    return result ? result : release(address);
}

static uint64_t array_bytes(size_t width, size_t height, size_t depth, int format,
                            unsigned channels)
{
    uint64_t each = format == 0x20 || format == 0x03 || format == 0x0a ? 4
                    : format == 0x01 || format == 0x08                 ? 1
                                                                       : 2;
    return width * (height ? height : 1) * (depth ? depth : 1) * each * channels;
}

API CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *wish)
{
    return allocate(
        ARRAY, array_bytes(wish->Width, wish->Height, 0, wish->Format, wish->NumChannels), out);
}

API CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *wish)
{
    return allocate(
        ARRAY, array_bytes(wish->Width, wish->Height, wish->Depth, wish->Format, wish->NumChannels),
        out);
}

API CUresult cuArrayDestroy(CUarray array)
{
    pthread_mutex_lock(&lock);
    block_free(array);
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *wish,
                                    unsigned levels)
{
    uint64_t size = 0;
    for (unsigned i = 0; i < levels; i++)
        size += array_bytes(wish->Width >> i ? wish->Width >> i : 1,
                            wish->Height >> i ? wish->Height >> i : 1, 0, wish->Format,
                            wish->NumChannels);
    return allocate(ARRAY, size, out);
}

API CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
    return cuArrayDestroy(array);
}

API CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    *out = &default_pools[device];
    return 0;
}

API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *wish)
{
    *out = calloc(1, sizeof **out);
    (*out)->gpu = wish->location.id;
    return 0;
}

API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    pthread_mutex_lock(&lock);
    uint64_t needed = (pool->used + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
    uint64_t left = needed > keep ? needed : (keep + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
    if (left < pool->reserved) {
        count_physical(pool->gpu, -(int64_t)(pool->reserved - left));
        pool->reserved = left;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    pool->used = 0;
    cuMemPoolTrimTo(pool, 0);
    free(pool);
    return 0;
}

API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *out)
{
    pthread_mutex_lock(&lock);
    *(uint64_t *)out = attribute == 5 ? pool->reserved : attribute == 7 ? pool->used : 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool,
                                     CUstream stream)
{
    (void)stream;
    CUresult result = ready();
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    uint64_t used = pool->used + physical_of(size);
    uint64_t more =
        used > pool->reserved ? (used - pool->reserved + POOL_STEP - 1) / POOL_STEP * POOL_STEP : 0;
    bool room = count_physical(pool->gpu, (int64_t)more);
    if (room) {
        pool->reserved += more;
        pool->used = used;
        struct fake_block *block = block_new(ASYNC, pool->gpu, size, 0);
        block->pool = pool;
        count_asked(pool->gpu, (int64_t)size);
        *out = block->address;
    }
    pthread_mutex_unlock(&lock);
    return room ? 0 : OUT_OF_MEMORY;
}

API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *out, size_t size, CUmemoryPool pool,
                                          CUstream stream)
{
    return cuMemAllocFromPoolAsync(out, size, pool, stream);
}

API CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
    CUresult result = ready();
    return result ? result
                  : cuMemAllocFromPoolAsync(out, size, &default_pools[current->gpu], stream);
}

API CUresult cuMemAllocAsync_ptsz(CUdeviceptr *out, size_t size, CUstream stream)
{
    return cuMemAllocAsync(out, size, stream);
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    (void)stream;
    return release(address);
}

API CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
    return cuMemFreeAsync(address, stream);
}

API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    (void)mode;
    return stream == (void *)0x77 ? 0 : 1;
}

API CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
    *status = stream == (void *)0x77; /* this stream is always captured */
    return 0;
}

API CUresult cuStreamIsCapturing_ptsz(CUstream stream, int *status)
{
    return cuStreamIsCapturing(stream, status);
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                         const CUmemAllocationProp *wish, unsigned long long flags)
{
    (void)flags;
    if (size % PAGE)
        return 1;
    pthread_mutex_lock(&lock);
    bool device = wish->location.type == 1;
    bool room = !device || count_physical(wish->location.id, (int64_t)size);
    if (room) {
        struct fake_block *block = block_new(PHYSICAL, wish->location.id, size, size);
        block->handles = 1;
        if (device)
            count_asked(block->gpu, (int64_t)size);
        *out = block->address;
    }
    pthread_mutex_unlock(&lock);
    return room ? 0 : OUT_OF_MEMORY;
}

static void drop(struct fake_block *block)
{
    if (!block->handles && !block->mappings)
        block_free(block);
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    struct fake_block *block = find(handle);
    bool there = block && block->handles > 0;
    if (there) {
        block->handles--;
        drop(block);
    }
    pthread_mutex_unlock(&lock);
    return there ? 0 : 1;
}

API CUresult cuMemMap(CUdeviceptr start, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)offset, (void)flags;
    pthread_mutex_lock(&lock);
    struct fake_block *block = find(handle);
    struct fake_mapping *mapping = calloc(1, sizeof *mapping);
    *mapping = (struct fake_mapping){start, size, block, mappings};
    mappings = mapping;
    block->mappings++;
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuMemUnmap(CUdeviceptr start, size_t size)
{
    pthread_mutex_lock(&lock);
    for (struct fake_mapping **place = &mappings; *place;) {
        struct fake_mapping *mapping = *place;
        if (mapping->start < start || mapping->start >= start + size) {
            place = &mapping->next;
            continue;
        }
        mapping->block->mappings--;
        drop(mapping->block);
        *place = mapping->next;
        free(mapping);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    CUresult result = 1;
    pthread_mutex_lock(&lock);
    for (struct fake_mapping *mapping = mappings; mapping && result; mapping = mapping->next)
        if (mapping->start <= at && at < mapping->start + mapping->size) {
            mapping->block->handles++;
            *out = mapping->block->address;
            result = 0;
        }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The handle itself is what is shared: within one process the same memory once more, else
 * another's, which costs nothing here. */
API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *shared_handle,
                                            int type)
{
    (void)type;
    pthread_mutex_lock(&lock);
    struct fake_block *block = find((uint64_t)(uintptr_t)shared_handle);
    if (block)
        block->handles++;
    else
        block = block_new(PHYSICAL, 0, 0, 0), block->handles = 1;
    *out = block->address;
    pthread_mutex_unlock(&lock);
    return 0;
}

API CUresult cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                                 int *status);
API CUresult cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);

/* The same functions under addresses that no symbol has. */
static CUresult private_alloc(CUdeviceptr *out, size_t size)
{
    return cuMemAlloc_v2(out, size);
}
static CUresult private_create_v3(CUcontext *out, CUexecAffinityParam *affinities, int count,
                                  unsigned flags, CUdevice device)
{
    return cuCtxCreate_v3(out, affinities, count, flags, device);
}
static CUresult private_create_v4(CUcontext *out, CUctxCreateParams *options, unsigned flags,
                                  CUdevice device)
{
    return cuCtxCreate_v4(out, options, flags, device);
}
/* ABIs of a CUDA that is not out yet: nobody knows their parameters but who asked for them. */
static CUresult future_alloc(unsigned flags, CUdeviceptr *out, uint64_t alignment, size_t size)
{
    return flags == 5 && alignment == 4096 ? cuMemAlloc_v2(out, size) : 1;
}
static CUresult future_create(const CUctxCreateParams *options, CUcontext *out)
{
    return cuCtxCreate_v2(out, 0, options->numExecAffinityParams);
}
static CUresult private_free(CUdeviceptr address)
{
    return cuMemFree_v2(address);
}

struct entry {
    const char *name;
    int version;
    int per_thread; /* 1: only with that flag */
    void *function, *private_function;
};

#define ENTRY(base, version, function)           \
    {                                            \
        base, version, 0, (void *)function, NULL \
    }
static const struct entry entries[] = {
    ENTRY("cuInit", 2000, cuInit),
    ENTRY("cuDriverGetVersion", 2020, cuDriverGetVersion),
    ENTRY("cuDeviceGet", 2000, cuDeviceGet),
    ENTRY("cuDeviceGetCount", 2000, cuDeviceGetCount),
    ENTRY("cuDeviceGetUuid", 11040, cuDeviceGetUuid_v2),
    ENTRY("cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2),
    ENTRY("cuMemGetInfo", 3020, cuMemGetInfo_v2),
    ENTRY("cuCtxCreate", 13020, future_create),
    {"cuCtxCreate", 12050, 0, (void *)cuCtxCreate_v4, (void *)private_create_v4},
    {"cuCtxCreate", 11040, 0, (void *)cuCtxCreate_v3, (void *)private_create_v3},
    ENTRY("cuCtxCreate", 3020, cuCtxCreate_v2),
    ENTRY("cuCtxDestroy", 4000, cuCtxDestroy_v2),
    ENTRY("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
    ENTRY("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain),
    ENTRY("cuMemAlloc", 13020, future_alloc),
    {"cuMemAlloc", 3020, 0, (void *)cuMemAlloc_v2, (void *)private_alloc},
    {"cuMemFree", 3020, 0, (void *)cuMemFree_v2, (void *)private_free},
    {"cuMemAllocAsync", 11020, 1, (void *)cuMemAllocAsync_ptsz, NULL},
    ENTRY("cuMemAllocAsync", 11020, cuMemAllocAsync),
    {"cuMemFreeAsync", 11020, 1, (void *)cuMemFreeAsync_ptsz, NULL},
    ENTRY("cuMemFreeAsync", 11020, cuMemFreeAsync),
    ENTRY("cuGetProcAddress", 12000, cuGetProcAddress_v2),
    ENTRY("cuGetProcAddress", 11030, cuGetProcAddress),
};

API CUresult cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                                 int *status)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries && !*out; i++) {
        const struct entry *entry = &entries[i];
        if (strcmp(entry->name, name) == 0 && version >= entry->version &&
            driver_version() >= entry->version && (!entry->per_thread || (flags & 2)))
            *out = entry->private_function && getenv("FAKE_CUDA_PRIVATE") ? entry->private_function
                                                                          : entry->function;
    }
    if (status)
        *status = *out ? 0 : 1;
    return *out ? 0 : NOT_FOUND;
}

API CUresult cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
