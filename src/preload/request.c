#include "preload/request.h"

#include "preload/entry.h"
#include "preload/pool.h"

bool request_begin(struct request *request, uint64_t size)
{
    struct book_here here = book_here();
    *request = (struct request){.gpu = here.gpu, .context = here.context, .size = size, .held = book_held(size)};
    return request->gpu < 0 || book_take(request->gpu, request->held, size);
}

void request_end(const struct request *request, cu_result result, uint64_t key, enum memory_kind kind, uint64_t size)
{
    if (request->gpu < 0)
        return;
    if (result != CUDA_SUCCESS)
        book_failed(request->gpu, request->held, size, result);
    else
        book_enter(&(struct pointer_entry){.key = key,
                                           .live = size,
                                           .held = size == request->size ? request->held : book_held(size),
                                           .owner = request->context,
                                           .kind = (uint8_t)kind,
                                           .gpu = (uint8_t)request->gpu},
                   request->held);
}

struct release release_begin(uint64_t key)
{
    struct release release = {.ours = false};
    struct own *own = own_get();
    if (!own)
        return release;
    own_hold(own);
    release.ours = pointers_take(&own->pointers, key, &release.entry);
    if (release.ours && release.entry.kind == MEMORY_ASYNC)
        release.settled = pool_leaves(own, &release.entry);
    else if (release.ours)
        own_call_begins(own);
    own_let_go(own);
    return release;
}

void release_end(const struct release *release, cu_result result)
{
    if (!release->ours)
        return;
    if (release->entry.kind == MEMORY_ASYNC)
        pool_left(&release->entry, release->settled, result);
    else if (result == CUDA_SUCCESS)
        book_left(&release->entry);
    else
        book_stays(&release->entry);
}
