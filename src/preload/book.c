#include "preload/book.h"

#include "preload/context.h"
#include "preload/entry.h"
#include "preload/real.h"
#include "preload/trace.h"

#include <string.h>

static const uint64_t PAGE = UINT64_C(2) << 20, SHARED_UP_TO = UINT64_C(1) << 20, SHARED_STEP = 512;

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

uint64_t book_held(uint64_t size)
{
    return size > UINT64_MAX / 2 ? size : size > SHARED_UP_TO ? round_up(size, PAGE) : round_up(size, SHARED_STEP);
}

static uint64_t add(_Atomic uint64_t *to, uint64_t bytes)
{
    return atomic_fetch_add_explicit(to, bytes, memory_order_relaxed) + bytes;
}

static void subtract(_Atomic uint64_t *from, uint64_t bytes)
{
    atomic_fetch_sub_explicit(from, bytes, memory_order_relaxed);
}

static void raise_to(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (value > seen &&
           !atomic_compare_exchange_weak_explicit(peak, &seen, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

static uint64_t limit_of(const struct gpu_ledger *ledger, uint64_t total)
{
    uint64_t parts = ledger->limit_share;
    uint64_t share = total / GPU_LEDGER_WHOLE * parts + total % GPU_LEDGER_WHOLE * parts / GPU_LEDGER_WHOLE;
    uint64_t least = ledger->limit && (!share || ledger->limit < share) ? ledger->limit : share;
    return least && least < total ? least : 0;
}

/* Finds the GPU's row, or makes it. Rows stay. */
static int row_of(struct gpu_ledger *ledger, const struct cu_uuid *uuid, uint64_t total)
{
    for (int i = 0; i < GPU_LEDGER_GPUS;) {
        struct gpu_ledger_gpu *gpu = &ledger->gpus[i];
        uint32_t state = GPU_LEDGER_FREE;
        if (atomic_compare_exchange_strong(&gpu->state, &state, GPU_LEDGER_TAKING)) {
            memcpy(gpu->uuid, uuid->bytes, sizeof gpu->uuid);
            gpu->total = total;
            gpu->limit = limit_of(ledger, total);
            atomic_store_explicit(&gpu->state, GPU_LEDGER_USED, memory_order_release);
            return i;
        }
        if (state == GPU_LEDGER_TAKING)
            continue; /* another process is a few stores from its end */
        if (memcmp(gpu->uuid, uuid->bytes, sizeof gpu->uuid) == 0)
            return i;
        i++;
    }
    return -1;
}

static int gpu_find(struct own *own, cu_device device)
{
    struct cu_uuid uuid;
    size_t total = 0;
    __typeof__(&cuDeviceGetUuid) ask = REAL(cuDeviceGetUuid_v2);
    ask = ask ? ask : REAL(cuDeviceGetUuid);
    if (!ask || ask(&uuid, device) != CUDA_SUCCESS || !REAL(cuDeviceTotalMem_v2) ||
        REAL(cuDeviceTotalMem_v2)(&total, device) != CUDA_SUCCESS)
        return -1;
    return row_of(own->ledger, &uuid, total);
}

int book_gpu(cu_device device)
{
    struct own *own = own_get();
    if (!own || device < 0 || device >= OWN_GPUS)
        return -1;
    int place = atomic_load_explicit(&own->gpus[device].place, memory_order_relaxed);
    if (place == 0) {
        int found = gpu_find(own, device);
        place = found < 0 ? -1 : found + 1;
        atomic_store_explicit(&own->gpus[device].place, place, memory_order_relaxed);
    }
    return place < 0 ? -1 : place - 1;
}

static struct book_here look_here(void *context)
{
    struct book_here here = {.context = context, .gpu = -1};
    cu_device device;
    if (!REAL(cuCtxGetDevice) || REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        return here;
    here.gpu = book_gpu(device);
    if (!REAL(cuDeviceGetMemPool) || REAL(cuDeviceGetMemPool)(&here.pool, device) != CUDA_SUCCESS)
        here.pool = NULL;
    return here;
}

struct book_here book_here(void)
{
    static _Thread_local struct {
        struct book_here here;
        uint64_t changes; /* + 1; 0: nothing is remembered */
    } known __attribute__((tls_model("initial-exec")));
    const struct own *own = own_get();
    void *context = NULL;
    if (!own || !REAL(cuCtxGetCurrent) || REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || !context)
        return (struct book_here){.gpu = -1};
    uint64_t changes = atomic_load_explicit(&own->changes, memory_order_acquire) + 1;
    if (known.here.context != context || known.changes != changes) {
        known.here = look_here(context);
        known.changes = known.here.gpu >= 0 ? changes : 0;
    }
    return known.here;
}

void book_forget(void)
{
    struct own *own = own_get();
    if (own)
        atomic_fetch_add(&own->changes, 1);
}

void book_begin(void)
{
    struct own *own = own_get();
    if (own)
        atomic_fetch_add_explicit(&own->calls, (UINT64_C(1) << 32) + 1, memory_order_relaxed);
}

void book_end(void)
{
    struct own *own = own_get();
    if (own)
        atomic_fetch_sub_explicit(&own->calls, 1, memory_order_relaxed);
}

static struct gpu_ledger_use *use_of(struct own *own, int gpu)
{
    return own->process ? &own->process->gpus[gpu] : NULL;
}

/* After the job's own figure was raised. */
static void note_held(struct own *own, int gpu, uint64_t held)
{
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    struct gpu_ledger_use *use = use_of(own, gpu);
    add(&own->held[gpu], held);
    if (use)
        raise_to(&use->held_peak, add(&use->held, held));
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
    if (use)
        add(&use->refused, 1);
    uint64_t least = atomic_load_explicit(&row->refused_least, memory_order_relaxed);
    while ((least == 0 || size < least) &&
           !atomic_compare_exchange_weak_explicit(&row->refused_least, &least, size, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
    trace_event(GPU_EVENT_REFUSE, gpu, 0, 0, size);
}

bool book_take(int gpu, uint64_t held, uint64_t size)
{
    struct own *own = own_get();
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    if (!row->limit) {
        add(&row->held, held);
        note_held(own, gpu, held);
        return true;
    }
    context_look(gpu, CONTEXT_NOW_AND_THEN);
    bool taken = row_take(row, held);
    if (!taken) {
        /* Before a program is refused: who is dead, and what the context really holds. */
        own_reap(own->ledger);
        context_look(gpu, CONTEXT_EXACTLY);
        taken = row_take(row, held);
    }
    if (taken)
        note_held(own, gpu, held);
    else
        note_refused(own, gpu, size);
    return taken;
}

void book_force(int gpu, uint64_t held)
{
    struct own *own = own_get();
    add(&own->ledger->gpus[gpu].held, held);
    note_held(own, gpu, held);
}

/* The process first: were it killed in between, the job would be told of too much, not of too little. */
void book_give_back(int gpu, uint64_t held)
{
    struct own *own = own_get();
    struct gpu_ledger_use *use = use_of(own, gpu);
    subtract(&own->held[gpu], held);
    if (use)
        subtract(&use->held, held);
    subtract(&own->ledger->gpus[gpu].held, held);
}

void book_live_add(int gpu, uint64_t live)
{
    struct own *own = own_get();
    struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    struct gpu_ledger_use *use = use_of(own, gpu);
    raise_to(&row->live_peak, add(&row->live, live));
    if (use) {
        raise_to(&use->live_peak, add(&use->live, live));
        add(&use->allocations, 1);
    }
}

void book_live_subtract(int gpu, uint64_t live)
{
    struct own *own = own_get();
    struct gpu_ledger_use *use = use_of(own, gpu);
    if (use) {
        subtract(&use->live, live);
        add(&use->frees, 1);
    }
    subtract(&own->ledger->gpus[gpu].live, live);
}

void book_enter(const struct pointer_entry *entry)
{
    struct own *own = own_get();
    book_live_add(entry->gpu, entry->live);
    pointers_put(&own->pointers, entry);
    trace_event(GPU_EVENT_ALLOCATE, entry->gpu, entry->kind, entry->key, entry->live);
}

void book_failed(int gpu, uint64_t held, uint64_t size)
{
    book_give_back(gpu, held);
    trace_event(GPU_EVENT_FAIL, gpu, 0, 0, size);
}

bool book_leave(uint64_t key, struct pointer_entry *out)
{
    struct own *own = own_get();
    return own && pointers_take(&own->pointers, key, out);
}

void book_left(const struct pointer_entry *entry)
{
    book_live_subtract(entry->gpu, entry->live);
    book_give_back(entry->gpu, entry->held);
    trace_event(GPU_EVENT_FREE, entry->gpu, entry->kind, entry->key, entry->live);
}

void book_stays(const struct pointer_entry *entry)
{
    pointers_put(&own_get()->pointers, entry);
}

void book_context_gone(const void *context)
{
    struct own *own = own_get();
    if (own && context)
        pointers_take_all(&own->pointers, context, book_left);
}

void book_show(int gpu, uint64_t *free_bytes, uint64_t *total)
{
    const struct own *own = own_get();
    const struct gpu_ledger_gpu *row = &own->ledger->gpus[gpu];
    if (!row->limit)
        return;
    uint64_t taken = atomic_load_explicit(&row->held, memory_order_relaxed) +
                     atomic_load_explicit(&row->context, memory_order_relaxed);
    uint64_t left = taken < row->limit ? row->limit - taken : 0;
    if (total && *total > row->limit)
        *total = row->limit;
    if (free_bytes && *free_bytes > left)
        *free_bytes = left;
}
