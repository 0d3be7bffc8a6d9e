/* Physical memory that is made, mapped and released apart. It lives until its last handle is
 * released and its last mapping unmapped (CUDA Driver API, Virtual Memory Management). Where there
 * is no ledger, all of it does nothing. */
#include "gpu_memory/preload/driver.h"
#include "gpu_memory/preload/ledger_gpu.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

struct virtual_memory {
    uint64_t size, held;
    int gpu;
    unsigned handles, mappings;
    struct virtual_memory *next_free;
};

struct mapping {
    cu_pointer start;
    uint64_t size;
    struct virtual_memory *memory;
};

/* In memory that a forked child finds empty: it has none of these. */
struct virtuals {
    pthread_mutex_t lock;
    struct pointers handles;  /* owner: the memory */
    struct mapping *mappings; /* ordered by start */
    size_t mapping_count, mapping_capacity;
    struct virtual_memory *free;
};

enum { MEMORIES_AT_ONCE = 1024, MAPPINGS_FIRST = 1024 };

/* NULL: there is no ledger, or no memory. */
static struct virtuals *virtuals_lock(void)
{
    struct process_state *state = process_state_get();
    if (!state)
        return NULL;
    pthread_mutex_lock(&state->lock);
    if (!state->virtuals)
        state->virtuals = pointers_wiped_map(sizeof *state->virtuals);
    pthread_mutex_unlock(&state->lock);
    if (state->virtuals)
        pthread_mutex_lock(&state->virtuals->lock);
    return state->virtuals;
}

static void virtuals_unlock(struct virtuals **virtuals)
{
    if (*virtuals)
        pthread_mutex_unlock(&(*virtuals)->lock);
}

/* To the end of the block. */
#define LOCKED __attribute__((cleanup(virtuals_unlock)))

static struct virtual_memory *memory_new(struct virtuals *virtuals)
{
    if (!virtuals->free) {
        struct virtual_memory *fresh = pointers_wiped_map(MEMORIES_AT_ONCE * sizeof *fresh);
        for (size_t i = 0; fresh && i < MEMORIES_AT_ONCE; i++) {
            fresh[i].next_free = virtuals->free;
            virtuals->free = &fresh[i];
        }
    }
    struct virtual_memory *out = virtuals->free;
    if (out) {
        virtuals->free = out->next_free;
        *out = (struct virtual_memory){0};
    }
    return out;
}

/* With the lock held: frees the memory when nothing refers to it any more. */
static void drop_unused(struct virtuals *virtuals, struct virtual_memory *memory)
{
    if (memory->handles || memory->mappings)
        return;
    if (memory->gpu >= 0)
        ledger_virtual_gone(memory->gpu, memory->size, memory->held);
    memory->next_free = virtuals->free;
    virtuals->free = memory;
}

static struct virtual_memory *memory_of(struct virtuals *virtuals, cu_handle handle)
{
    struct pointer_entry entry;
    if (!pointers_remove(&virtuals->handles, handle, &entry))
        return NULL;
    pointers_put(&virtuals->handles, &entry);
    return entry.owner;
}

static void handle_put(struct virtuals *virtuals, cu_handle handle, struct virtual_memory *memory)
{
    pointers_put(&virtuals->handles,
                 &(struct pointer_entry){.key = handle, .owner = memory, .kind = MEMORY_VIRTUAL});
    memory->handles++;
}

/* The driver made size bytes, for which held bytes were reserved. */
static void virtual_made(cu_handle handle, int gpu, uint64_t size, uint64_t held)
{
    {
        LOCKED struct virtuals *virtuals = virtuals_lock();
        struct virtual_memory *memory = virtuals ? memory_new(virtuals) : NULL;
        if (memory) {
            *memory = (struct virtual_memory){.size = size, .held = held, .gpu = gpu};
            handle_put(virtuals, handle, memory);
        }
    }
    ledger_commit(
        &(struct pointer_entry){
            .key = handle, .live = size, .held = held, .kind = MEMORY_VIRTUAL, .gpu = (uint8_t)gpu},
        held);
}

/* Retained and imported handles of one memory may have one value: it is known as long as there is
 * one of them. */
static struct virtual_memory *virtual_handle_remove(cu_handle handle)
{
    LOCKED struct virtuals *virtuals = virtuals_lock();
    struct pointer_entry entry;
    if (!virtuals || !pointers_remove(&virtuals->handles, handle, &entry))
        return NULL;
    struct virtual_memory *memory = entry.owner;
    memory->handles--;
    memory->mappings++; /* stays until the driver has answered */
    if (memory->handles)
        pointers_put(&virtuals->handles, &entry);
    return memory;
}

/* The driver released it, or did not. */
static void virtual_answered(struct virtual_memory *memory, cu_handle handle, bool released)
{
    LOCKED struct virtuals *virtuals = virtuals_lock();
    memory->mappings--;
    if (released)
        drop_unused(virtuals, memory);
    else
        handle_put(virtuals, handle, memory);
}

/* The first mapping that does not end at or before start. */
static size_t mapping_at(const struct virtuals *virtuals, cu_pointer start)
{
    size_t low = 0, high = virtuals->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mapping *one = &virtuals->mappings[middle];
        if (one->start + one->size <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool mappings_grow(struct virtuals *virtuals)
{
    size_t capacity = virtuals->mapping_capacity ? virtuals->mapping_capacity * 2 : MAPPINGS_FIRST;
    struct mapping *larger = pointers_wiped_map(capacity * sizeof *larger);
    if (!larger)
        return false;
    if (virtuals->mappings) {
        memcpy(larger, virtuals->mappings, virtuals->mapping_count * sizeof *larger);
        munmap(virtuals->mappings, virtuals->mapping_capacity * sizeof *larger);
    }
    virtuals->mappings = larger;
    virtuals->mapping_capacity = capacity;
    return true;
}

static void virtual_mapped(cu_handle handle, cu_pointer start, uint64_t size)
{
    LOCKED struct virtuals *virtuals = virtuals_lock();
    struct virtual_memory *memory = virtuals ? memory_of(virtuals, handle) : NULL;
    if (memory &&
        (virtuals->mapping_count < virtuals->mapping_capacity || mappings_grow(virtuals))) {
        size_t at = mapping_at(virtuals, start);
        memmove(virtuals->mappings + at + 1, virtuals->mappings + at,
                (virtuals->mapping_count - at) * sizeof *virtuals->mappings);
        virtuals->mappings[at] = (struct mapping){start, size, memory};
        virtuals->mapping_count++;
        memory->mappings++;
    }
}

/* Every mapping within. */
static void virtual_unmapped(cu_pointer start, uint64_t size)
{
    LOCKED struct virtuals *virtuals = virtuals_lock();
    if (!virtuals)
        return;
    size_t first = mapping_at(virtuals, start), end = first;
    for (; end < virtuals->mapping_count && virtuals->mappings[end].start < start + size; end++) {
        virtuals->mappings[end].memory->mappings--;
        drop_unused(virtuals, virtuals->mappings[end].memory);
    }
    memmove(virtuals->mappings + first, virtuals->mappings + end,
            (virtuals->mapping_count - end) * sizeof *virtuals->mappings);
    virtuals->mapping_count -= end - first;
}

static void virtual_retained(cu_handle handle, cu_pointer within)
{
    LOCKED struct virtuals *virtuals = virtuals_lock();
    size_t at = virtuals ? mapping_at(virtuals, within) : 0;
    if (virtuals && at < virtuals->mapping_count && virtuals->mappings[at].start <= within)
        handle_put(virtuals, handle, virtuals->mappings[at].memory);
}

/* Counted where it was made; where this process made it itself, its handle may have the value of
 * the one it has. */
static void virtual_imported(cu_handle handle)
{
    LOCKED struct virtuals *virtuals = virtuals_lock();
    if (!virtuals)
        return;
    struct virtual_memory *memory = memory_of(virtuals, handle);
    if (!memory && (memory = memory_new(virtuals)))
        memory->gpu = -1;
    if (memory)
        handle_put(virtuals, handle, memory);
}

cu_result cuMemCreate(cu_handle *out, size_t size, const struct cu_options *options,
                      unsigned long long flags)
{
    NEED(cuMemCreate);
    int gpu =
        options && options->place.type == CU_PLACE_DEVICE ? ledger_gpu(options->place.id) : -1;
    if (gpu < 0)
        return real(out, size, options, flags);
    uint64_t held = ledger_held(size);
    if (!ledger_reserve(gpu, held, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, size, options, flags);
    if (result == CUDA_SUCCESS)
        virtual_made(*out, gpu, size, held);
    else
        ledger_cancel(gpu, held, size, result);
    return result;
}

cu_result cuMemRelease(cu_handle handle)
{
    NEED(cuMemRelease);
    struct virtual_memory *memory = virtual_handle_remove(handle);
    if (!memory)
        return real(handle);
    ledger_call_begin();
    cu_result result = real(handle);
    virtual_answered(memory, handle, result == CUDA_SUCCESS);
    ledger_call_end();
    return result;
}

AFTER(cuMemMap,
      (cu_pointer pointer, size_t size, size_t offset, cu_handle handle, unsigned long long flags),
      (pointer, size, offset, handle, flags), virtual_mapped(handle, pointer, size))
AFTER(cuMemRetainAllocationHandle, (cu_handle * out, void *address), (out, address),
      virtual_retained(*out, (cu_pointer)(uintptr_t)address))
AFTER(cuMemImportFromShareableHandle, (cu_handle * out, void *shared, int type),
      (out, shared, type), virtual_imported(*out))

cu_result cuMemUnmap(cu_pointer pointer, size_t size)
{
    NEED(cuMemUnmap);
    if (!process_state_get())
        return real(pointer, size);
    ledger_call_begin();
    cu_result result = real(pointer, size);
    if (result == CUDA_SUCCESS)
        virtual_unmapped(pointer, size);
    ledger_call_end();
    return result;
}
