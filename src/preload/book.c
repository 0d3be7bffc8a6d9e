#include "preload/book.h"

#include "preload/context.h"
#include "preload/trace.h"

static const uint64_t PAGE = UINT64_C(2) << 20, SHARED_UP_TO = UINT64_C(1) << 20, SHARED_STEP = 512;

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

uint64_t book_held(uint64_t size)
{
    return size > UINT64_MAX / 2 ? size : size > SHARED_UP_TO ? round_up(size, PAGE) : round_up(size, SHARED_STEP);
}

/* What several processes write. */
static uint64_t add(_Atomic uint64_t *to, uint64_t bytes)
{
    return atomic_fetch_add_explicit(to, bytes, memory_order_relaxed) + bytes;
}

static void subtract(_Atomic uint64_t *from, uint64_t bytes)
{
    atomic_fetch_sub_explicit(from, bytes, memory_order_relaxed);
}

/* What this process alone writes, with the books held, and others read. */
static uint64_t read_own(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

static uint64_t add_own(_Atomic uint64_t *to, uint64_t bytes)
{
    uint64_t now = read_own(to) + bytes;
    atomic_store_explicit(to, now, memory_order_relaxed);
    return now;
}

static void subtract_own(_Atomic uint64_t *from, uint64_t bytes)
{
    atomic_store_explicit(from, read_own(from) - bytes, memory_order_relaxed);
}

static void raise_own(_Atomic uint64_t *peak, uint64_t value)
{
    if (value > read_own(peak))
        atomic_store_explicit(peak, value, memory_order_relaxed);
}

static void raise_to(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (value > seen &&
           !atomic_compare_exchange_weak_explicit(peak, &seen, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

void book_begin(void)
{
    struct own *own = own_get();
    own_hold(own);
    own_call_begins(own);
    own_let_go(own);
}

void book_end(void)
{
    struct own *own = own_get();
    own_hold(own);
    own->calls_under_way--;
    own_let_go(own);
}

static struct gpu_ledger_use *use_of(struct own *own, int gpu)
{
    return own->process ? &own->process->gpus[gpu] : NULL;
}

/* With the books held, after the job's own figure was raised. */
static void note_held(struct own *own, int gpu, uint64_t held)
{
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    struct gpu_ledger_use *use = use_of(own, gpu);
    add_own(&own->held[gpu], held);
    if (use)
        raise_own(&use->held_peak, add_own(&use->held, held));
    uint64_t footprint = atomic_load_explicit(&row->held, memory_order_relaxed) +
                         atomic_load_explicit(&row->context, memory_order_relaxed);
    raise_to(&row->footprint_peak, footprint);
    if (row->limit && footprint > row->limit)
        raise_to(&row->over, footprint - row->limit);
}

static bool row_take(struct gpu_ledger_gpu *row, uint64_t held)
{
    uint64_t seen = atomic_load_explicit(&row->held, memory_order_relaxed);
    for (;;) {
        uint64_t taken = seen + atomic_load_explicit(&row->context, memory_order_relaxed);
        if (taken > row->limit || held > row->limit - taken)
            return false;
        if (atomic_compare_exchange_weak_explicit(&row->held, &seen, seen + held, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
}

static void note_refused(struct own *own, int gpu, uint64_t size)
{
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    struct gpu_ledger_use *use = use_of(own, gpu);
    add(&row->refused, 1);
    own_hold(own);
    if (use)
        add_own(&use->refused, 1);
    own_let_go(own);
    uint64_t least = atomic_load_explicit(&row->refused_least, memory_order_relaxed);
    while ((least == 0 || size < least) &&
           !atomic_compare_exchange_weak_explicit(&row->refused_least, &least, size, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
    trace_event(GPU_EVENT_REFUSE, gpu, 0, 0, size);
}

static bool try_take(struct own *own, int gpu, uint64_t held)
{
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    own_hold(own);
    bool taken = true;
    if (row->limit)
        taken = row_take(row, held);
    else
        add(&row->held, held);
    if (taken) {
        own_call_begins(own);
        note_held(own, gpu, held);
    }
    own_let_go(own);
    return taken;
}

bool book_take(int gpu, uint64_t held, uint64_t size)
{
    struct own *own = own_get();
    if (own->ledger->gpus[gpu].limit)
        context_look(gpu, CONTEXT_NOW_AND_THEN);
    if (try_take(own, gpu, held))
        return true;
    /* Before a program is refused: who is dead, and what the context really holds. */
    own_reap(own->ledger);
    context_look(gpu, CONTEXT_EXACTLY);
    if (try_take(own, gpu, held))
        return true;
    note_refused(own, gpu, size);
    return false;
}

static void force(struct own *own, int gpu, uint64_t held)
{
    add(&own->ledger->gpus[gpu].held, held);
    note_held(own, gpu, held);
}

/* The process first: were it killed in between, the job would be told of too much, not of too little. */
static void give_back(struct own *own, int gpu, uint64_t held)
{
    struct gpu_ledger_use *use = use_of(own, gpu);
    subtract_own(&own->held[gpu], held);
    if (use)
        subtract_own(&use->held, held);
    subtract(&own->ledger->gpus[gpu].held, held);
}

void book_correct(int gpu, uint64_t before, uint64_t now)
{
    struct own *own = own_get();
    if (before == now)
        return;
    own_hold(own);
    if (now > before)
        force(own, gpu, now - before);
    else
        give_back(own, gpu, before - now);
    own_let_go(own);
}

static void live_add(struct own *own, int gpu, uint64_t live)
{
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    struct gpu_ledger_use *use = use_of(own, gpu);
    raise_to(&row->live_peak, add(&row->live, live));
    if (use) {
        raise_own(&use->live_peak, add_own(&use->live, live));
        add_own(&use->allocations, 1);
    }
}

static void live_subtract(struct own *own, int gpu, uint64_t live)
{
    struct gpu_ledger_use *use = use_of(own, gpu);
    if (use) {
        subtract_own(&use->live, live);
        add_own(&use->frees, 1);
    }
    subtract(&own->ledger->gpus[gpu].live, live);
}

void book_live_add(int gpu, uint64_t live)
{
    struct own *own = own_get();
    own_hold(own);
    live_add(own, gpu, live);
    own_let_go(own);
}

void book_gone(int gpu, uint64_t live, uint64_t held)
{
    struct own *own = own_get();
    own_hold(own);
    live_subtract(own, gpu, live);
    give_back(own, gpu, held);
    own_let_go(own);
}

void book_put(struct own *own, const struct pointer_entry *entry)
{
    live_add(own, entry->gpu, entry->live);
    pointers_put(&own->pointers, entry);
}

void book_enter(const struct pointer_entry *entry, uint64_t taken)
{
    struct own *own = own_get();
    own_hold(own);
    if (entry->held > taken)
        force(own, entry->gpu, entry->held - taken);
    else if (entry->held < taken)
        give_back(own, entry->gpu, taken - entry->held);
    book_put(own, entry);
    own->calls_under_way--;
    own_let_go(own);
    trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
}

void book_failed(int gpu, uint64_t held, uint64_t size, cu_result result)
{
    struct own *own = own_get();
    own_hold(own);
    give_back(own, gpu, held);
    own->calls_under_way--;
    own_let_go(own);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        trace_event(GPU_EVENT_FAIL, gpu, 0, 0, size);
}

void book_cross_out(struct own *own, const struct pointer_entry *entry)
{
    live_subtract(own, entry->gpu, entry->live);
}

void book_left(const struct pointer_entry *entry)
{
    struct own *own = own_get();
    own_hold(own);
    own->calls_under_way--;
    live_subtract(own, entry->gpu, entry->live);
    give_back(own, entry->gpu, entry->held);
    own_let_go(own);
    trace_event(GPU_EVENT_FREE, entry->gpu, entry->kind, entry->key, entry->live);
}

void book_stays(const struct pointer_entry *entry)
{
    struct own *own = own_get();
    own_hold(own);
    own->calls_under_way--;
    pointers_put(&own->pointers, entry);
    own_let_go(own);
}

/* One by one: others wait for no more than one. */
void book_context_gone(const void *context)
{
    struct own *own = own_get();
    struct pointer_entry entry;
    size_t at = 0;
    for (bool more = own && context; more;) {
        own_hold(own);
        more = pointers_take_of(&own->pointers, context, &at, &entry);
        if (more)
            own_call_begins(own);
        own_let_go(own);
        if (more)
            book_left(&entry);
    }
}
