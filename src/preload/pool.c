#include "preload/pool.h"

#include "preload/entry.h"
#include "preload/real.h"
#include "preload/request.h"
#include "preload/trace.h"

/* A pool grows in steps of this size, or of the request's where that is larger. */
static const uint64_t STEP = UINT64_C(32) << 20, ALIGNMENT = 512, PLENTY = UINT64_C(1) << 30;

static uint64_t pool_read(cu_pool pool, int attribute)
{
    uint64_t value = 0;
    __typeof__(&cuMemPoolGetAttribute) read = REAL(cuMemPoolGetAttribute);
    return read && read(pool, attribute, &value) == CUDA_SUCCESS ? value : 0;
}

/* With own->lock held. NULL: there are too many; what they hold is not counted. */
static struct own_pool *pool_place(struct own *own, void *pool, int gpu)
{
    struct own_pool *empty = NULL;
    for (size_t i = 0; i < OWN_POOLS; i++) {
        if (own->pools[i].pool == pool)
            return &own->pools[i];
        if (!own->pools[i].pool && !empty)
            empty = &own->pools[i];
    }
    if (empty) {
        empty->gpu = gpu;
        atomic_store_explicit(&empty->pool, pool, memory_order_release);
    }
    return empty;
}

static struct own_pool *pool_find(struct own *own, const void *pool)
{
    for (size_t i = 0; i < OWN_POOLS; i++)
        if (atomic_load_explicit(&own->pools[i].pool, memory_order_acquire) == pool)
            return &own->pools[i];
    return NULL;
}

static uint64_t aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* How much more the job may hold. */
static uint64_t headroom(const struct own *own, int gpu)
{
    const struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    uint64_t taken = atomic_load_explicit(&row->held, memory_order_relaxed) +
                     atomic_load_explicit(&row->context, memory_order_relaxed);
    return !row->limit ? UINT64_MAX : taken < row->limit ? row->limit - taken : 0;
}

/* Far from the limit the driver is not asked after every call what the pool has reserved: it grows when what is had of
 * it no longer fits; now and then all the same, as pieces between others may not have fitted, or it has shrunk. */
static bool is_settled(struct own *own, struct own_pool *place, uint64_t used)
{
    enum { NOW_AND_THEN = 256 };
    return used <= atomic_load_explicit(&place->reserved, memory_order_relaxed) &&
           headroom(own, place->gpu) >= PLENTY &&
           (atomic_fetch_add_explicit(&place->calls, 1, memory_order_relaxed) + 1) % NOW_AND_THEN != 0;
}

static void book_change(int gpu, uint64_t before, uint64_t now)
{
    if (now > before)
        book_force(gpu, now - before);
    else if (now < before)
        book_give_back(gpu, before - now);
}

/* The lock is held over this one question, which the driver answers from its own memory, so that answers are
 * booked in their order. */
static void settle(struct own_pool *place, uint64_t taken, bool gone)
{
    uint64_t before = place->reserved;
    uint64_t now = gone ? 0 : pool_read(place->pool, CU_POOL_RESERVED);
    place->reserved = now;
    book_change(place->gpu, before + taken, now);
    if (now != before)
        trace_event(GPU_EVENT_POOL, place->gpu, MEMORY_ASYNC, (uint64_t)(uintptr_t)place->pool, now);
}

void pool_settle(void *pool, int gpu, uint64_t taken)
{
    struct own *own = own_get();
    pthread_mutex_lock(&own->lock);
    struct own_pool *place = pool_place(own, pool, gpu);
    if (place)
        settle(place, taken, false);
    pthread_mutex_unlock(&own->lock);
    if (!place && taken)
        book_give_back(gpu, taken);
}

void pool_settle_all(int gpu)
{
    struct own *own = own_get();
    pthread_mutex_lock(&own->lock);
    for (size_t i = 0; i < OWN_POOLS; i++)
        if (own->pools[i].pool && own->pools[i].gpu == gpu)
            settle(&own->pools[i], 0, false);
    pthread_mutex_unlock(&own->lock);
}

/* How much the pool would grow at most for so many bytes more. */
static uint64_t growth(cu_pool pool, uint64_t size)
{
    uint64_t used = pool_read(pool, CU_POOL_USED), reserved = pool_read(pool, CU_POOL_RESERVED);
    uint64_t needed = used + aligned(size);
    return needed <= reserved ? 0 : (needed - reserved + STEP - 1) / STEP * STEP;
}

static bool is_over(int gpu)
{
    const struct gpu_ledger_gpu *row = &own_get()->ledger->gpus[gpu];
    return row->limit && atomic_load(&row->held) + atomic_load(&row->context) > row->limit;
}

/* Idle memory that pools keep is given back before a program is refused, as the driver itself does when the GPU is
 * full. */
static bool take(int gpu, cu_pool pool, uint64_t size, uint64_t *taken)
{
    if (!own_get()->ledger->gpus[gpu].limit) {
        *taken = 0;
        return true;
    }
    const struct own_pool *place = pool_find(own_get(), pool);
    *taken = 0;
    if (place && headroom(own_get(), gpu) >= PLENTY &&
        atomic_load(&place->used) + aligned(size) <= atomic_load(&place->reserved))
        return true;
    *taken = growth(pool, size);
    if (!*taken || book_take(gpu, *taken, size))
        return true;
    if (!REAL(cuMemPoolTrimTo) || REAL(cuMemPoolTrimTo)(pool, 0) != CUDA_SUCCESS)
        return false;
    pool_settle_all(gpu);
    *taken = growth(pool, size);
    return book_take(gpu, *taken, size);
}

struct pooled {
    cu_pointer *out;
    uint64_t size;
    cu_pool pool; /* NULL: the device's current one */
    cu_stream stream;
    __typeof__(&cuMemAllocAsync) allocate; /* one of the two */
    __typeof__(&cuMemAllocFromPoolAsync) allocate_from;
    __typeof__(&cuMemFreeAsync) free;
    __typeof__(&cuStreamIsCapturing) capturing;
};

static cu_result allocate(const struct pooled *wish)
{
    return wish->allocate ? wish->allocate(wish->out, wish->size, wish->stream)
                          : wish->allocate_from(wish->out, wish->size, wish->pool, wish->stream);
}

/* While a stream is captured the call makes a node of a graph, whose memory belongs to the graph. */
static bool is_captured(const struct own *own, __typeof__(&cuStreamIsCapturing) ask, cu_stream stream)
{
    int status = 0;
    if (!atomic_load_explicit(&own->captures, memory_order_relaxed))
        return false;
    return ask && (ask(stream, &status) != CUDA_SUCCESS || status != 0);
}

static int pool_gpu(struct own *own, cu_pool pool)
{
    const struct own_pool *place = pool_find(own, pool);
    return place ? place->gpu : -1;
}

/* The GPU of the pool that the call takes from, which is put into *pool; -1: it is not followed. */
static int find_pool(struct own *own, const struct pooled *wish, cu_pool *pool)
{
    *pool = wish->pool;
    int known = *pool ? pool_gpu(own, *pool) : -1;
    if (known >= 0)
        return known;
    struct book_here here = book_here();
    if (!*pool)
        *pool = here.pool;
    return *pool ? here.gpu : -1;
}

void pool_freed(void *pool, int gpu, uint64_t size)
{
    struct own *own = own_get();
    struct own_pool *place = pool_find(own, pool);
    uint64_t used = place ? atomic_fetch_sub_explicit(&place->used, aligned(size), memory_order_relaxed) : 0;
    if (!place || !is_settled(own, place, used))
        pool_settle(pool, gpu, 0);
}

/* The books after a call that gave memory of the pool. */
static void pool_taken(struct own *own, cu_pool pool, int gpu, uint64_t size, uint64_t taken)
{
    struct own_pool *place = pool_find(own, pool);
    uint64_t used =
        place ? atomic_fetch_add_explicit(&place->used, aligned(size), memory_order_relaxed) + aligned(size) : 0;
    if (taken || !place || !is_settled(own, place, used))
        pool_settle(pool, gpu, taken);
    if (!place && (place = pool_find(own, pool)))
        atomic_fetch_add_explicit(&place->used, aligned(size), memory_order_relaxed);
}

static cu_result pool_allocate(const struct pooled *wish)
{
    struct own *own = own_get();
    cu_pool pool = NULL;
    if (!own || is_captured(own, wish->capturing, wish->stream))
        return allocate(wish);
    int gpu = find_pool(own, wish, &pool);
    if (gpu < 0)
        return allocate(wish);
    book_begin();
    uint64_t taken;
    cu_result result = CUDA_ERROR_OUT_OF_MEMORY;
    if (take(gpu, pool, wish->size, &taken)) {
        result = allocate(wish);
        if (result == CUDA_SUCCESS)
            pool_taken(own, pool, gpu, wish->size, taken);
        else
            pool_settle(pool, gpu, taken);
        if (result == CUDA_SUCCESS && is_over(gpu) && wish->free &&
            wish->free(*wish->out, wish->stream) == CUDA_SUCCESS) {
            /* It grew by more than could be foreseen. */
            if (REAL(cuMemPoolTrimTo))
                REAL(cuMemPoolTrimTo)(pool, 0);
            pool_freed(pool, gpu, wish->size);
            pool_settle(pool, gpu, 0);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        } else if (result == CUDA_SUCCESS)
            book_enter(&(struct pointer_entry){
                .key = *wish->out, .live = wish->size, .owner = pool, .kind = MEMORY_ASYNC, .gpu = (uint8_t)gpu});
    }
    book_end();
    return result;
}

cu_result cuMemAllocAsync(cu_pointer *out, size_t size, cu_stream stream)
{
    struct pooled wish = {.out = out,
                          .size = size,
                          .stream = stream,
                          .allocate = REAL(cuMemAllocAsync),
                          .free = REAL(cuMemFreeAsync),
                          .capturing = REAL(cuStreamIsCapturing)};
    return wish.allocate ? pool_allocate(&wish) : CUDA_ERROR_NOT_FOUND;
}

cu_result cuMemAllocAsync_ptsz(cu_pointer *out, size_t size, cu_stream stream)
{
    struct pooled wish = {.out = out,
                          .size = size,
                          .stream = stream,
                          .allocate = REAL(cuMemAllocAsync_ptsz),
                          .free = REAL(cuMemFreeAsync_ptsz),
                          .capturing = REAL(cuStreamIsCapturing_ptsz)};
    return wish.allocate ? pool_allocate(&wish) : CUDA_ERROR_NOT_FOUND;
}

cu_result cuMemAllocFromPoolAsync(cu_pointer *out, size_t size, cu_pool pool, cu_stream stream)
{
    struct pooled wish = {.out = out,
                          .size = size,
                          .pool = pool,
                          .stream = stream,
                          .allocate_from = REAL(cuMemAllocFromPoolAsync),
                          .free = REAL(cuMemFreeAsync),
                          .capturing = REAL(cuStreamIsCapturing)};
    return wish.allocate_from ? pool_allocate(&wish) : CUDA_ERROR_NOT_FOUND;
}

cu_result cuMemAllocFromPoolAsync_ptsz(cu_pointer *out, size_t size, cu_pool pool, cu_stream stream)
{
    struct pooled wish = {.out = out,
                          .size = size,
                          .pool = pool,
                          .stream = stream,
                          .allocate_from = REAL(cuMemAllocFromPoolAsync_ptsz),
                          .free = REAL(cuMemFreeAsync_ptsz),
                          .capturing = REAL(cuStreamIsCapturing_ptsz)};
    return wish.allocate_from ? pool_allocate(&wish) : CUDA_ERROR_NOT_FOUND;
}

static cu_result free_async(__typeof__(&cuMemFreeAsync) real, __typeof__(&cuStreamIsCapturing) capturing,
                            cu_pointer pointer, cu_stream stream)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    const struct own *own = own_get();
    if (!own || is_captured(own, capturing, stream))
        return real(pointer, stream);
    struct release release = release_begin(pointer);
    cu_result result = real(pointer, stream);
    release_end(&release, result);
    return result;
}

cu_result cuMemFreeAsync(cu_pointer pointer, cu_stream stream)
{
    return free_async(REAL(cuMemFreeAsync), REAL(cuStreamIsCapturing), pointer, stream);
}

cu_result cuMemFreeAsync_ptsz(cu_pointer pointer, cu_stream stream)
{
    return free_async(REAL(cuMemFreeAsync_ptsz), REAL(cuStreamIsCapturing_ptsz), pointer, stream);
}

cu_result cuMemPoolCreate(cu_pool *out, const struct cu_wish *wish)
{
    __typeof__(&cuMemPoolCreate) real = REAL(cuMemPoolCreate);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(out, wish);
    int gpu = result == CUDA_SUCCESS && wish->place.type == CU_PLACE_DEVICE ? book_gpu(wish->place.id) : -1;
    if (gpu >= 0)
        pool_settle(*out, gpu, 0);
    return result;
}

cu_result cuMemPoolDestroy(cu_pool pool)
{
    __typeof__(&cuMemPoolDestroy) real = REAL(cuMemPoolDestroy);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(pool);
    struct own *own = own_get();
    if (!own || result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&own->lock);
    for (size_t i = 0; i < OWN_POOLS; i++)
        if (own->pools[i].pool == pool) {
            settle(&own->pools[i], 0, true);
            atomic_store(&own->pools[i].used, 0);
            atomic_store(&own->pools[i].pool, NULL);
        }
    pthread_mutex_unlock(&own->lock);
    return result;
}

cu_result cuMemPoolTrimTo(cu_pool pool, size_t keep)
{
    __typeof__(&cuMemPoolTrimTo) real = REAL(cuMemPoolTrimTo);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(pool, keep);
    struct own *own = own_get();
    int gpu = own && result == CUDA_SUCCESS ? pool_gpu(own, pool) : -1;
    if (gpu >= 0)
        pool_settle(pool, gpu, 0);
    return result;
}

cu_result cuDeviceSetMemPool(cu_device device, cu_pool pool)
{
    __typeof__(&cuDeviceSetMemPool) real = REAL(cuDeviceSetMemPool);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(device, pool);
    book_forget();
    return result;
}

cu_result cuMemSetMemPool(struct cu_place *place, int type, cu_pool pool)
{
    __typeof__(&cuMemSetMemPool) real = REAL(cuMemSetMemPool);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(place, type, pool);
    book_forget();
    return result;
}
