#include "preload/request.h"

#include "preload/entry.h"
#include "preload/pool.h"

bool request_begin(struct request *request, uint64_t size)
{
    struct book_here here = book_here();
    *request = (struct request){.gpu = here.gpu, .context = here.context, .size = size, .held = book_held(size)};
    if (request->gpu < 0)
        return true;
    book_begin();
    if (book_take(request->gpu, request->held, size))
        return true;
    book_end();
    return false;
}

void request_end(const struct request *request, cu_result result, uint64_t key, enum memory_kind kind, uint64_t size)
{
    if (request->gpu < 0)
        return;
    uint64_t held = book_held(size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        book_failed(request->gpu, request->held, size);
    } else if (result != CUDA_SUCCESS) {
        book_give_back(request->gpu, request->held);
    } else {
        if (held > request->held)
            book_force(request->gpu, held - request->held);
        else if (held < request->held)
            book_give_back(request->gpu, request->held - held);
        book_enter(&(struct pointer_entry){.key = key,
                                           .live = size,
                                           .held = held,
                                           .owner = request->context,
                                           .kind = (uint8_t)kind,
                                           .gpu = (uint8_t)request->gpu});
    }
    book_end();
}

struct release release_begin(uint64_t key)
{
    struct release release = {0};
    release.ours = book_leave(key, &release.entry);
    if (release.ours)
        book_begin();
    return release;
}

void release_end(const struct release *release, cu_result result)
{
    if (!release->ours)
        return;
    if (result != CUDA_SUCCESS)
        book_stays(&release->entry);
    else
        book_left(&release->entry);
    if (result == CUDA_SUCCESS && release->entry.kind == MEMORY_ASYNC)
        pool_freed(release->entry.owner, release->entry.gpu, release->entry.live);
    book_end();
}
