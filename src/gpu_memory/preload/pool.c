#include "gpu_memory/preload/pool.h"

#include "base/mem.h"
#include "gpu_memory/preload/driver.h"

/* A pool grows in steps of this size, or of the request's where that is larger. */
static const uint64_t STEP = UINT64_C(32) << 20, ALIGNMENT = 512, PLENTY = UINT64_C(1) << 30;

static uint64_t pool_read(cu_pool pool, int attribute)
{
    uint64_t value = 0;
    __typeof__(&cuMemPoolGetAttribute) read = REAL(cuMemPoolGetAttribute);
    return read && read(pool, attribute, &value) == CUDA_SUCCESS ? value : 0;
}

/* With state->lock held. NULL: there are too many; what they hold is not counted. */
static struct pool_state *pool_place(struct process_state *state, void *pool, int gpu)
{
    struct pool_state *empty = NULL;
    EACH (item, state->pools, STATE_POOLS) {
        if (item->pool == pool)
            return item;
        if (!item->pool && !empty)
            empty = item;
    }
    if (empty) {
        empty->gpu = gpu;
        atomic_store_explicit(&empty->pool, pool, memory_order_release);
    }
    return empty;
}

static struct pool_state *pool_find(struct process_state *state, const void *pool)
{
    EACH (item, state->pools, STATE_POOLS)
        if (atomic_load_explicit(&item->pool, memory_order_acquire) == pool)
            return item;
    return NULL;
}

static uint64_t aligned(uint64_t size)
{
    return saturating_add(size, ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Far from the limit the driver is not asked after every call what the pool has reserved: it grows
 * when what is had of it no longer fits; now and then all the same, as pieces between others may
 * not have fitted, or it has shrunk. */
static bool is_settled(const struct process_state *state, struct pool_state *place, uint64_t used)
{
    enum { NOW_AND_THEN = 256 };
    return used <= atomic_load_explicit(&place->reserved, memory_order_relaxed) &&
           ledger_headroom(state, place->gpu) >= PLENTY && ++place->calls % NOW_AND_THEN != 0;
}

/* Called with the lock held, so that answers are booked in order; the driver answers from its own
 * memory. */
static void settle_pool(struct pool_state *place, uint64_t taken, bool gone)
{
    uint64_t before = place->reserved;
    uint64_t now = gone ? 0 : pool_read(place->pool, CU_POOL_RESERVED);
    place->reserved = now;
    ledger_adjust(place->gpu, before, now, taken);
    if (now != before)
        trace_event(GPU_EVENT_POOL, place->gpu, MEMORY_ASYNC, (uint64_t)(uintptr_t)place->pool,
                    now);
}

void pool_settle(void *pool, int gpu, uint64_t taken)
{
    struct process_state *state = process_state_get();
    pthread_mutex_lock(&state->lock);
    struct pool_state *place = pool_place(state, pool, gpu);
    if (place)
        settle_pool(place, taken, false);
    pthread_mutex_unlock(&state->lock);
    if (!place)
        ledger_adjust(gpu, 0, 0, taken);
}

void pool_settle_all(int gpu)
{
    struct process_state *state = process_state_get();
    pthread_mutex_lock(&state->lock);
    EACH (item, state->pools, STATE_POOLS)
        if (item->pool && item->gpu == gpu)
            settle_pool(item, 0, false);
    pthread_mutex_unlock(&state->lock);
}

/* How much the pool would grow at most for so many bytes more. */
static uint64_t growth(cu_pool pool, uint64_t size)
{
    uint64_t used = pool_read(pool, CU_POOL_USED), reserved = pool_read(pool, CU_POOL_RESERVED);
    uint64_t needed = used + aligned(size);
    return needed <= reserved ? 0 : (needed - reserved + STEP - 1) / STEP * STEP;
}

static bool is_over_limit(int gpu)
{
    const struct gpu_ledger_gpu *row = &process_state_get()->ledger->gpus[gpu];
    return row->limit && atomic_load(&row->reserved) > row->limit;
}

static bool reserve_growth(struct pool_call *call, uint64_t size)
{
    call->taken = growth(call->pool, size);
    call->under_way = true;
    if (call->taken)
        return ledger_reserve(call->gpu, call->taken, size);
    ledger_call_begin();
    return true;
}

static void trim_pool(cu_pool pool)
{
    if (REAL(cuMemPoolTrimTo))
        REAL(cuMemPoolTrimTo)(pool, 0);
}

static struct pool_state *pool_known(struct process_state *state, cu_pool pool, int gpu)
{
    struct pool_state *place = pool_find(state, pool);
    if (place)
        return place;
    pool_settle(pool, gpu, 0);
    return pool_find(state, pool);
}

/* Idle memory that pools keep is given back before a program is refused, as the driver itself does
 * when the GPU is full. */
bool pool_reserve(struct process_state *state, struct pool_call *call, uint64_t size)
{
    struct pool_state *place = call->place = pool_known(state, call->pool, call->gpu);
    call->taken = 0;
    call->under_way = false;
    if (!state->ledger->gpus[call->gpu].limit)
        return true;
    if (place && ledger_headroom(state, call->gpu) >= PLENTY &&
        atomic_load_explicit(&place->used, memory_order_relaxed) + aligned(size) <=
            atomic_load_explicit(&place->reserved, memory_order_relaxed))
        return true;
    if (reserve_growth(call, size))
        return true;
    ledger_call_begin();
    trim_pool(call->pool);
    pool_settle_all(call->gpu);
    ledger_call_end();
    return reserve_growth(call, size);
}

void pool_failed(const struct pool_call *call, uint64_t size, cu_result result)
{
    pool_settle(call->pool, call->gpu, call->taken);
    ledger_note_driver_refusal(call->gpu, size, result);
    if (call->under_way)
        ledger_call_end();
}

/* Called with the state locked. */
static uint64_t update_pool_used(struct pool_state *place, uint64_t more, uint64_t less)
{
    uint64_t now = atomic_load_explicit(&place->used, memory_order_relaxed) + more - less;
    atomic_store_explicit(&place->used, now, memory_order_relaxed);
    return now;
}

bool pool_given(struct process_state *state, const struct pool_call *call,
                const struct pointer_entry *entry)
{
    ledger_lock_to_add(state, entry->gpu, entry->live);
    bool settled =
        call->place &&
        is_settled(state, call->place, update_pool_used(call->place, aligned(entry->live), 0)) &&
        !call->under_way;
    if (settled)
        ledger_add(state, entry);
    process_state_unlock(state);
    if (settled)
        trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
    return settled;
}

bool pool_grown(const struct pool_call *call)
{
    pool_settle(call->pool, call->gpu, call->taken);
    return !is_over_limit(call->gpu);
}

void pool_commit(struct process_state *state, const struct pool_call *call,
                 const struct pointer_entry *entry)
{
    ledger_lock_to_add(state, entry->gpu, entry->live);
    ledger_add(state, entry);
    state->calls_under_way -= call->under_way;
    process_state_unlock(state);
    trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
}

void pool_cancel(struct process_state *state, const struct pool_call *call,
                 const struct pointer_entry *entry)
{
    trim_pool(call->pool);
    pool_settle(call->pool, call->gpu, 0);
    STATE_LOCKED(state);
    if (call->place)
        update_pool_used(call->place, 0, aligned(entry->live));
    state->calls_under_way -= call->under_way;
}

bool pool_release_begin(struct process_state *state, const struct pointer_entry *entry)
{
    struct pool_state *place = pool_find(state, entry->owner);
    ledger_remove(state, entry);
    return place && is_settled(state, place, update_pool_used(place, 0, aligned(entry->live)));
}

void pool_release_end(const struct pointer_entry *entry, bool settled, cu_result result)
{
    struct process_state *state = process_state_get();
    if (result == CUDA_SUCCESS) {
        trace_event(GPU_EVENT_FREE, entry->gpu, entry->kind, entry->key, entry->live);
    } else {
        struct pool_state *place = pool_find(state, entry->owner);
        STATE_LOCKED(state);
        ledger_add(state, entry);
        if (place)
            update_pool_used(place, aligned(entry->live), 0);
    }
    if (!settled)
        pool_settle(entry->owner, entry->gpu, 0);
}

int pool_gpu(struct process_state *state, cu_pool pool)
{
    const struct pool_state *place = pool_find(state, pool);
    return place ? place->gpu : -1;
}

void pool_gone(struct process_state *state, const void *pool)
{
    pthread_mutex_lock(&state->lock);
    EACH (item, state->pools, STATE_POOLS)
        if (item->pool == pool) {
            settle_pool(item, 0, true);
            atomic_store(&item->used, 0);
            atomic_store(&item->pool, NULL);
        }
    pthread_mutex_unlock(&state->lock);
}
