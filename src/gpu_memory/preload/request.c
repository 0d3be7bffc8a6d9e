#include "gpu_memory/preload/request.h"

#include "gpu_memory/preload/entry.h"
#include "gpu_memory/preload/pool.h"

bool request_begin(struct request *request, uint64_t size)
{
    struct ledger_here here = ledger_here();
    *request = (struct request){.gpu = here.gpu, .context = here.context, .size = size, .held = ledger_held(size)};
    return request->gpu < 0 || ledger_reserve(request->gpu, request->held, size);
}

void request_end(const struct request *request, cu_result result, uint64_t key, enum memory_kind kind, uint64_t size)
{
    if (request->gpu < 0)
        return;
    if (result != CUDA_SUCCESS)
        ledger_cancel(request->gpu, request->held, size, result);
    else
        ledger_commit(&(struct pointer_entry){.key = key,
                                              .live = size,
                                              .held = size == request->size ? request->held : ledger_held(size),
                                              .owner = request->context,
                                              .kind = (uint8_t)kind,
                                              .gpu = (uint8_t)request->gpu},
                      request->held);
}

struct release release_begin(uint64_t key)
{
    struct release release = {.ours = false};
    struct process_state *state = process_state_get();
    if (!state)
        return release;
    process_state_lock(state);
    release.ours = pointers_take(&state->pointers, key, &release.entry);
    if (release.ours && release.entry.kind == MEMORY_ASYNC)
        release.settled = pool_release_begin(state, &release.entry);
    else if (release.ours)
        process_state_call_begin(state);
    process_state_unlock(state);
    return release;
}

void release_end(const struct release *release, cu_result result)
{
    if (!release->ours)
        return;
    if (release->entry.kind == MEMORY_ASYNC)
        pool_release_end(&release->entry, release->settled, result);
    else if (result == CUDA_SUCCESS)
        ledger_release(&release->entry);
    else
        ledger_restore(&release->entry);
}
