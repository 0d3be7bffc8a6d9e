#include "gpu_memory/preload/context.h"

static const uint64_t PAGE = UINT64_C(2) << 20, SHARED_UP_TO = UINT64_C(1) << 20, SHARED_STEP = 512;

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

uint64_t ledger_held(uint64_t size)
{
    return size > UINT64_MAX / 2 ? size
           : size > SHARED_UP_TO ? round_up(size, PAGE)
                                 : round_up(size, SHARED_STEP);
}

static uint64_t load_figure(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

/* Several processes write the figure. */
static uint64_t add_to_figure(_Atomic uint64_t *to, uint64_t bytes)
{
    uint64_t seen = load_figure(to);
    while (!atomic_compare_exchange_weak_explicit(to, &seen, saturating_add(seen, bytes),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    return saturating_add(seen, bytes);
}

static void subtract(_Atomic uint64_t *from, uint64_t bytes)
{
    uint64_t seen = load_figure(from);
    while (!atomic_compare_exchange_weak_explicit(from, &seen, seen > bytes ? seen - bytes : 0,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t seen = load_figure(peak);
    while (value > seen && !atomic_compare_exchange_weak_explicit(
                               peak, &seen, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* What this process alone writes, with the state locked, and others read. */
static uint64_t add_own(_Atomic uint64_t *to, uint64_t bytes)
{
    uint64_t now = saturating_add(load_figure(to), bytes);
    atomic_store_explicit(to, now, memory_order_relaxed);
    return now;
}

static void raise_own(_Atomic uint64_t *peak, uint64_t value)
{
    if (value > load_figure(peak))
        atomic_store_explicit(peak, value, memory_order_relaxed);
}

/* The process first: were it killed in between, the job would be told of too much, not of too
 * little. The job loses no more than the process has. */
static void subtract_both(_Atomic uint64_t *own, _Atomic uint64_t *jobs, uint64_t bytes)
{
    uint64_t has = load_figure(own), less = bytes < has ? bytes : has;
    atomic_store_explicit(own, has - less, memory_order_relaxed);
    subtract(jobs, less);
}

static struct gpu_ledger_gpu *ledger_row(const struct process_state *state, int gpu)
{
    return &state->ledger->gpus[gpu];
}

void ledger_call_begin(void)
{
    STATE_LOCKED(process_state_get());
    process_state_call_begin(locked);
}

void ledger_call_end(void)
{
    STATE_LOCKED(process_state_get());
    locked->calls_under_way--;
}

static bool has_others(const struct process_state *state, int gpu)
{
    const struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    const struct gpu_ledger_use *use = &state->uses[gpu];
    return load_figure(&row->held) > load_figure(&use->held) ||
           load_figure(&row->live) > load_figure(&use->live) ||
           load_figure(&row->context) > load_figure(&use->context) ||
           load_figure(&row->reserved) > load_figure(&use->reserved);
}

void ledger_reap(struct process_state *state, int gpu)
{
    if (has_others(state, gpu))
        process_state_reap(state, gpu);
}

/* Locks the state; what is added is no record by the sum of processes that were never alive
 * together: before one, those that are dead leave. */
static void lock_to_add(struct process_state *state, int gpu, uint64_t live, uint64_t held,
                        uint64_t context)
{
    const struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    process_state_lock(state);
    uint64_t all_held = saturating_add(load_figure(&row->held), held),
             all_context = saturating_add(load_figure(&row->context), context);
    if (saturating_add(load_figure(&row->live), live) <= load_figure(&row->live_peak) &&
        all_held <= load_figure(&row->held_peak) &&
        saturating_add(all_held, all_context) <= load_figure(&row->footprint_peak))
        return;
    if (!has_others(state, gpu))
        return;
    process_state_unlock(state);
    process_state_reap(state, gpu);
    process_state_lock(state);
}

void ledger_lock_to_add(struct process_state *state, int gpu, uint64_t live)
{
    lock_to_add(state, gpu, live, 0, 0);
}

/* The rest is with the state locked, where it is not said otherwise. */
static void raise_footprint(struct gpu_ledger_gpu *row)
{
    uint64_t footprint = saturating_add(load_figure(&row->held), load_figure(&row->context));
    raise_peak(&row->footprint_peak, footprint);
    if (row->limit && footprint > row->limit)
        raise_peak(&row->over, footprint - row->limit);
}

static void held_add(struct process_state *state, int gpu, uint64_t held)
{
    struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    struct gpu_ledger_use *use = &state->uses[gpu];
    raise_own(&use->held_peak, add_own(&use->held, held));
    raise_peak(&row->held_peak, add_to_figure(&row->held, held));
    raise_footprint(row);
}

static void held_subtract(struct process_state *state, int gpu, uint64_t held)
{
    subtract_both(&state->uses[gpu].held, &ledger_row(state, gpu)->held, held);
}

/* So much was reserved, so much is to be. */
static void reserved_change(struct process_state *state, int gpu, uint64_t from, uint64_t to)
{
    struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    struct gpu_ledger_use *use = &state->uses[gpu];
    if (!row->limit || from == to)
        return;
    if (from > to) {
        subtract_both(&use->reserved, &row->reserved, from - to);
        return;
    }
    add_to_figure(&row->reserved, to - from);
    add_own(&use->reserved, to - from);
}

static bool reserve_bytes(struct process_state *state, int gpu, uint64_t bytes)
{
    struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    uint64_t seen = load_figure(&row->reserved);
    do
        if (seen > row->limit || bytes > row->limit - seen)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&row->reserved, &seen, seen + bytes,
                                                  memory_order_relaxed, memory_order_relaxed));
    add_own(&state->uses[gpu].reserved, bytes);
    return true;
}

/* Without the state locked. */
static bool try_reserve(struct process_state *state, int gpu, uint64_t held)
{
    STATE_LOCKED(state);
    bool done = reserve_bytes(state, gpu, held);
    if (done)
        process_state_call_begin(state);
    return done;
}

static void note_refused(struct process_state *state, int gpu, uint64_t size)
{
    struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    add_to_figure(&row->refused, 1);
    if (state->place)
        add_to_figure(&state->place->refused[gpu], 1);
    uint64_t least = load_figure(&row->refused_least);
    while ((least == 0 || size < least) &&
           !atomic_compare_exchange_weak_explicit(&row->refused_least, &least, size,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    raise_peak(&row->refused_most, size);
    trace_event(GPU_EVENT_REFUSE, gpu, 0, 0, size);
}

bool ledger_reserve(int gpu, uint64_t held, uint64_t size)
{
    struct process_state *state = process_state_get();
    if (!ledger_row(state, gpu)->limit)
        return true;
    context_look(gpu, CONTEXT_NOW_AND_THEN);
    if (try_reserve(state, gpu, held))
        return true;
    /* Before a program is refused: who is dead, and what the context really holds. */
    ledger_reap(state, gpu);
    context_look(gpu, CONTEXT_EXACTLY);
    if (try_reserve(state, gpu, held))
        return true;
    note_refused(state, gpu, size);
    return false;
}

void ledger_note_driver_refusal(int gpu, uint64_t size, cu_result result)
{
    struct gpu_ledger_gpu *row = ledger_row(process_state_get(), gpu);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return;
    add_to_figure(&row->driver_refused, 1);
    raise_peak(&row->driver_refused_most, size);
    trace_event(GPU_EVENT_FAIL, gpu, 0, 0, size);
}

void ledger_cancel(int gpu, uint64_t reserved, uint64_t size, cu_result result)
{
    struct process_state *state = process_state_get();
    if (ledger_row(state, gpu)->limit) {
        process_state_lock(state);
        reserved_change(state, gpu, reserved, 0);
        state->calls_under_way--;
        process_state_unlock(state);
    }
    ledger_note_driver_refusal(gpu, size, result);
}

void ledger_adjust(int gpu, uint64_t before, uint64_t now, uint64_t reserved)
{
    struct process_state *state = process_state_get();
    if (before == now && !reserved)
        return;
    lock_to_add(state, gpu, 0, now > before ? now - before : 0, 0);
    if (now > before)
        held_add(state, gpu, now - before);
    else
        held_subtract(state, gpu, before - now);
    reserved_change(state, gpu, before + reserved, now);
    process_state_unlock(state);
}

static void live_add(struct process_state *state, int gpu, uint64_t live)
{
    struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    struct gpu_ledger_use *use = &state->uses[gpu];
    raise_peak(&row->live_peak, add_to_figure(&row->live, live));
    raise_own(&use->live_peak, add_own(&use->live, live));
    add_own(&use->allocations, 1);
}

static void live_subtract(struct process_state *state, int gpu, uint64_t live)
{
    struct gpu_ledger_use *use = &state->uses[gpu];
    add_own(&use->frees, 1);
    subtract_both(&use->live, &ledger_row(state, gpu)->live, live);
}

void ledger_add(struct process_state *state, const struct pointer_entry *entry)
{
    live_add(state, entry->gpu, entry->live);
    if (entry->kind != MEMORY_VIRTUAL)
        pointers_put(&state->pointers, entry);
}

void ledger_remove(struct process_state *state, const struct pointer_entry *entry)
{
    live_subtract(state, entry->gpu, entry->live);
}

void ledger_commit(const struct pointer_entry *entry, uint64_t reserved)
{
    struct process_state *state = process_state_get();
    lock_to_add(state, entry->gpu, entry->live, entry->held, 0);
    held_add(state, entry->gpu, entry->held);
    reserved_change(state, entry->gpu, reserved, entry->held);
    ledger_add(state, entry);
    if (ledger_row(state, entry->gpu)->limit)
        state->calls_under_way--;
    process_state_unlock(state);
    trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
}

static void forget_allocation(struct process_state *state, int gpu, uint64_t live, uint64_t held)
{
    live_subtract(state, gpu, live);
    held_subtract(state, gpu, held);
    reserved_change(state, gpu, held, 0);
}

void ledger_virtual_gone(int gpu, uint64_t live, uint64_t held)
{
    struct process_state *state = process_state_get();
    process_state_lock(state);
    forget_allocation(state, gpu, live, held);
    process_state_unlock(state);
    trace_event(GPU_EVENT_FREE, gpu, MEMORY_VIRTUAL, 0, live);
}

void ledger_release(const struct pointer_entry *entry)
{
    struct process_state *state = process_state_get();
    process_state_lock(state);
    state->calls_under_way--;
    forget_allocation(state, entry->gpu, entry->live, entry->held);
    process_state_unlock(state);
    trace_event(GPU_EVENT_FREE, entry->gpu, entry->kind, entry->key, entry->live);
}

void ledger_restore(const struct pointer_entry *entry)
{
    STATE_LOCKED(process_state_get());
    locked->calls_under_way--;
    pointers_put(&locked->pointers, entry);
}

/* One by one: others wait for no more than one. */
void ledger_context_gone(const void *context)
{
    struct process_state *state = process_state_get();
    struct pointer_entry entry;
    size_t at = 0;
    for (bool more = state && context; more;) {
        process_state_lock(state);
        more = pointers_remove_of(&state->pointers, context, &at, &entry);
        if (more)
            process_state_call_begin(state);
        process_state_unlock(state);
        if (more)
            ledger_release(&entry);
    }
}

bool ledger_context_reserve(int gpu, uint64_t bytes)
{
    struct process_state *state = process_state_get();
    for (int turn = 0; turn < 2; turn++) {
        process_state_lock(state);
        bool done = reserve_bytes(state, gpu, bytes);
        if (done)
            add_own(&state->context_reserved[gpu], bytes);
        process_state_unlock(state);
        if (done)
            return true;
        ledger_reap(state, gpu);
    }
    return false;
}

void ledger_context_set(int gpu, uint64_t bytes, enum gpu_ledger_context how, uint64_t reserved)
{
    struct process_state *state = process_state_get();
    struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    struct gpu_ledger_use *use = &state->uses[gpu];
    uint64_t before = load_figure(&use->context);
    lock_to_add(state, gpu, 0, 0, bytes > before ? bytes - before : 0);
    before = load_figure(&use->context);
    if (bytes > before) {
        add_to_figure(&row->context, bytes - before);
        add_own(&use->context, bytes - before);
        raise_footprint(row);
    } else {
        subtract_both(&use->context, &row->context, before - bytes);
    }
    reserved_change(state, gpu, before + reserved, bytes);
    atomic_store(&state->context_reserved[gpu],
                 load_figure(&state->context_reserved[gpu]) - reserved);
    process_state_unlock(state);
    /* Another process's may have been read when this one's is not yet. */
    if (how == GPU_LEDGER_CONTEXT_READ || atomic_load(&row->context_how) == GPU_LEDGER_CONTEXT_NONE)
        atomic_store(&row->context_how, how);
    if (bytes != before)
        trace_event(GPU_EVENT_CONTEXT, gpu, (int)how, 0, bytes);
}

uint64_t ledger_headroom(const struct process_state *state, int gpu)
{
    const struct gpu_ledger_gpu *row = ledger_row(state, gpu);
    uint64_t reserved = load_figure(&row->reserved);
    return !row->limit ? UINT64_MAX : reserved < row->limit ? row->limit - reserved : 0;
}

void ledger_remove_process(struct gpu_ledger *ledger, const struct gpu_ledger_process *process)
{
    for (size_t gpu = 0; gpu < GPU_LEDGER_GPUS; gpu++) {
        subtract(&ledger->gpus[gpu].live, load_figure(&process->gpus[gpu].live));
        subtract(&ledger->gpus[gpu].held, load_figure(&process->gpus[gpu].held));
        subtract(&ledger->gpus[gpu].context, load_figure(&process->gpus[gpu].context));
        subtract(&ledger->gpus[gpu].reserved, load_figure(&process->gpus[gpu].reserved));
    }
}
