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
static bool is_settled(const struct own *own, struct own_pool *place, uint64_t used)
{
    enum { NOW_AND_THEN = 256 };
    return used <= atomic_load_explicit(&place->reserved, memory_order_relaxed) &&
           headroom(own, place->gpu) >= PLENTY && ++place->calls % NOW_AND_THEN != 0;
}

/* The lock is held over this one question, which the driver answers from its own memory, so that answers are
 * booked in their order. */
static void settle(struct own_pool *place, uint64_t taken, bool gone)
{
    uint64_t before = place->reserved;
    uint64_t now = gone ? 0 : pool_read(place->pool, CU_POOL_RESERVED);
    place->reserved = now;
    book_correct(place->gpu, before + taken, now);
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
    if (!place)
        book_correct(gpu, taken, 0);
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

static bool take_growth(struct pool_call *call, uint64_t size)
{
    call->taken = growth(call->pool, size);
    call->under_way = true;
    if (call->taken)
        return book_take(call->gpu, call->taken, size);
    book_begin();
    return true;
}

static void trim(cu_pool pool)
{
    if (REAL(cuMemPoolTrimTo))
        REAL(cuMemPoolTrimTo)(pool, 0);
}

static struct own_pool *pool_known(struct own *own, cu_pool pool, int gpu)
{
    struct own_pool *place = pool_find(own, pool);
    if (place)
        return place;
    pool_settle(pool, gpu, 0);
    return pool_find(own, pool);
}

/* Idle memory that pools keep is given back before a program is refused, as the driver itself does when the GPU is
 * full. */
bool pool_take(struct own *own, struct pool_call *call, uint64_t size)
{
    struct own_pool *place = call->place = pool_known(own, call->pool, call->gpu);
    call->taken = 0;
    call->under_way = false;
    if (!own->ledger->gpus[call->gpu].limit)
        return true;
    if (place && headroom(own, call->gpu) >= PLENTY &&
        atomic_load_explicit(&place->used, memory_order_relaxed) + aligned(size) <=
            atomic_load_explicit(&place->reserved, memory_order_relaxed))
        return true;
    if (take_growth(call, size))
        return true;
    book_begin();
    trim(call->pool);
    pool_settle_all(call->gpu);
    book_end();
    return take_growth(call, size);
}

void pool_failed(const struct pool_call *call)
{
    pool_settle(call->pool, call->gpu, call->taken);
    if (call->under_way)
        book_end();
}

/* With the books held. */
static uint64_t use(struct own_pool *place, uint64_t more, uint64_t less)
{
    uint64_t now = atomic_load_explicit(&place->used, memory_order_relaxed) + more - less;
    atomic_store_explicit(&place->used, now, memory_order_relaxed);
    return now;
}

bool pool_given(struct own *own, const struct pool_call *call, const struct pointer_entry *entry)
{
    own_hold(own);
    bool settled =
        call->place && is_settled(own, call->place, use(call->place, aligned(entry->live), 0)) && !call->under_way;
    if (settled)
        book_put(own, entry);
    own_let_go(own);
    if (settled)
        trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
    return settled;
}

bool pool_grown(const struct pool_call *call)
{
    pool_settle(call->pool, call->gpu, call->taken);
    return !is_over(call->gpu);
}

void pool_entered(struct own *own, const struct pool_call *call, const struct pointer_entry *entry)
{
    own_hold(own);
    book_put(own, entry);
    own->calls_under_way -= call->under_way;
    own_let_go(own);
    trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
}

void pool_given_up(struct own *own, const struct pool_call *call, const struct pointer_entry *entry)
{
    trim(call->pool);
    pool_settle(call->pool, call->gpu, 0);
    own_hold(own);
    if (call->place)
        use(call->place, 0, aligned(entry->live));
    own->calls_under_way -= call->under_way;
    own_let_go(own);
}

bool pool_leaves(struct own *own, const struct pointer_entry *entry)
{
    struct own_pool *place = pool_find(own, entry->owner);
    book_cross_out(own, entry);
    return place && is_settled(own, place, use(place, 0, aligned(entry->live)));
}

void pool_left(const struct pointer_entry *entry, bool settled, cu_result result)
{
    struct own *own = own_get();
    if (result == CUDA_SUCCESS) {
        trace_event(GPU_EVENT_FREE, entry->gpu, entry->kind, entry->key, entry->live);
    } else {
        struct own_pool *place = pool_find(own, entry->owner);
        own_hold(own);
        book_put(own, entry);
        if (place)
            use(place, aligned(entry->live), 0);
        own_let_go(own);
    }
    if (!settled)
        pool_settle(entry->owner, entry->gpu, 0);
}

int pool_gpu(struct own *own, cu_pool pool)
{
    const struct own_pool *place = pool_find(own, pool);
    return place ? place->gpu : -1;
}

void pool_gone(struct own *own, const void *pool)
{
    pthread_mutex_lock(&own->lock);
    for (size_t i = 0; i < OWN_POOLS; i++)
        if (own->pools[i].pool == pool) {
            settle(&own->pools[i], 0, true);
            atomic_store(&own->pools[i].used, 0);
            atomic_store(&own->pools[i].pool, NULL);
        }
    pthread_mutex_unlock(&own->lock);
}
