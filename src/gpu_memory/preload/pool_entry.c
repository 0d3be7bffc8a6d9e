/* Memory of streams: the driver's functions. */
#include "gpu_memory/preload/driver.h"
#include "gpu_memory/preload/ledger_gpu.h"
#include "gpu_memory/preload/pool.h"

struct pooled {
    cu_pointer *out;
    uint64_t size;
    cu_pool pool; /* NULL: the device's current one */
    cu_stream stream;
    __typeof__(&cuMemAllocAsync) allocate; /* one of the two */
    __typeof__(&cuMemAllocFromPoolAsync) allocate_from;
    bool per_thread; /* which of the driver's default streams stream 0 is */
};

static cu_result allocate(const struct pooled *options)
{
    return options->allocate ? options->allocate(options->out, options->size, options->stream)
                             : options->allocate_from(options->out, options->size, options->pool,
                                                      options->stream);
}

/* While a stream is captured the call makes a node of a graph, whose memory belongs to the
 * graph. */
static bool is_captured(const struct process_state *state, cu_stream stream, bool per_thread)
{
    int status = 0;
    if (!atomic_load_explicit(&state->captures, memory_order_relaxed))
        return false;
    __typeof__(&cuStreamIsCapturing) ask =
        per_thread ? REAL(cuStreamIsCapturing_ptsz) : REAL(cuStreamIsCapturing);
    return ask && (ask(stream, &status) != CUDA_SUCCESS || status != 0);
}

/* The GPU of the pool that the call takes from, and that pool; -1: it is not followed. */
static struct pool_call find_pool(struct process_state *state, const struct pooled *options)
{
    struct pool_call call = {.pool = options->pool,
                             .gpu = options->pool ? pool_gpu(state, options->pool) : -1};
    if (call.gpu >= 0)
        return call;
    struct ledger_here here = ledger_here();
    if (!call.pool)
        call.pool = here.pool;
    call.gpu = call.pool ? here.gpu : -1;
    return call;
}

/* Checks, after the driver has allocated it, what could not be checked before. */
static cu_result commit_pooled(struct process_state *state, const struct pooled *options,
                               const struct pool_call *call)
{
    struct pointer_entry entry = {.key = *options->out,
                                  .live = options->size,
                                  .owner = call->pool,
                                  .kind = MEMORY_ASYNC,
                                  .gpu = (uint8_t)call->gpu};
    if (pool_given(state, call, &entry))
        return CUDA_SUCCESS;
    __typeof__(&cuMemFreeAsync) give_back =
        options->per_thread ? REAL(cuMemFreeAsync_ptsz) : REAL(cuMemFreeAsync);
    bool fits = pool_grown(call);
    if (!fits && give_back && give_back(*options->out, options->stream) == CUDA_SUCCESS) {
        pool_cancel(state, call, &entry);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool_commit(state, call, &entry);
    return CUDA_SUCCESS;
}

static cu_result pool_allocate(const struct pooled *options)
{
    if (!options->allocate && !options->allocate_from)
        return CUDA_ERROR_NOT_FOUND;
    struct process_state *state = process_state_get();
    if (!state || is_captured(state, options->stream, options->per_thread))
        return allocate(options);
    struct pool_call call = find_pool(state, options);
    if (call.gpu < 0)
        return allocate(options);
    if (!pool_reserve(state, &call, options->size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = allocate(options);
    if (result == CUDA_SUCCESS)
        return commit_pooled(state, options, &call);
    pool_failed(&call, options->size, result);
    return result;
}

cu_result cuMemAllocAsync(cu_pointer *out, size_t size, cu_stream stream)
{
    return pool_allocate(
        &(struct pooled){out, size, NULL, stream, REAL(cuMemAllocAsync), NULL, false});
}

cu_result cuMemAllocAsync_ptsz(cu_pointer *out, size_t size, cu_stream stream)
{
    return pool_allocate(
        &(struct pooled){out, size, NULL, stream, REAL(cuMemAllocAsync_ptsz), NULL, true});
}

cu_result cuMemAllocFromPoolAsync(cu_pointer *out, size_t size, cu_pool pool, cu_stream stream)
{
    return pool_allocate(
        &(struct pooled){out, size, pool, stream, NULL, REAL(cuMemAllocFromPoolAsync), false});
}

cu_result cuMemAllocFromPoolAsync_ptsz(cu_pointer *out, size_t size, cu_pool pool, cu_stream stream)
{
    return pool_allocate(
        &(struct pooled){out, size, pool, stream, NULL, REAL(cuMemAllocFromPoolAsync_ptsz), true});
}

static cu_result free_async(__typeof__(&cuMemFreeAsync) real, cu_pointer pointer, cu_stream stream,
                            bool per_thread)
{
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    const struct process_state *state = process_state_get();
    if (!state || is_captured(state, stream, per_thread))
        return real(pointer, stream);
    struct release release = release_begin(pointer);
    cu_result result = real(pointer, stream);
    release_end(&release, result);
    return result;
}

cu_result cuMemFreeAsync(cu_pointer pointer, cu_stream stream)
{
    return free_async(REAL(cuMemFreeAsync), pointer, stream, false);
}

cu_result cuMemFreeAsync_ptsz(cu_pointer pointer, cu_stream stream)
{
    return free_async(REAL(cuMemFreeAsync_ptsz), pointer, stream, true);
}

cu_result cuMemPoolCreate(cu_pool *out, const struct cu_options *options)
{
    NEED(cuMemPoolCreate);
    cu_result result = real(out, options);
    int gpu = result == CUDA_SUCCESS && options->place.type == CU_PLACE_DEVICE
                  ? ledger_gpu(options->place.id)
                  : -1;
    if (gpu >= 0)
        pool_settle(*out, gpu, 0);
    return result;
}

cu_result cuMemPoolDestroy(cu_pool pool)
{
    NEED(cuMemPoolDestroy);
    struct process_state *state = process_state_get();
    if (!state)
        return real(pool);
    ledger_call_begin();
    cu_result result = real(pool);
    if (result == CUDA_SUCCESS)
        pool_gone(state, pool);
    ledger_call_end();
    return result;
}

cu_result cuMemPoolTrimTo(cu_pool pool, size_t keep)
{
    NEED(cuMemPoolTrimTo);
    struct process_state *state = process_state_get();
    int gpu = state ? pool_gpu(state, pool) : -1;
    if (gpu < 0)
        return real(pool, keep);
    ledger_call_begin();
    cu_result result = real(pool, keep);
    pool_settle(pool, gpu, 0);
    ledger_call_end();
    return result;
}

cu_result cuDeviceSetMemPool(cu_device device, cu_pool pool)
{
    NEED(cuDeviceSetMemPool);
    cu_result result = real(device, pool);
    ledger_forget();
    return result;
}

cu_result cuMemSetMemPool(struct cu_place *place, int type, cu_pool pool)
{
    NEED(cuMemSetMemPool);
    cu_result result = real(place, type, pool);
    ledger_forget();
    return result;
}

/* Whether any stream was ever captured: until then none needs to be asked. */
static void captures(void)
{
    struct process_state *state = process_state_get();
    if (state)
        atomic_store(&state->captures, true);
}

#define BEGIN_CAPTURE(name, parameters, arguments)           \
    cu_result name parameters                                \
    {                                                        \
        __typeof__(&name) real = REAL(name);                 \
        captures();                                          \
        return real ? real arguments : CUDA_ERROR_NOT_FOUND; \
    }

BEGIN_CAPTURE(cuStreamBeginCapture, (cu_stream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (cu_stream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (cu_stream stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (cu_stream stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph,
              (cu_stream stream, void *graph, const void *nodes, const void *edges, size_t count,
               int mode),
              (stream, graph, nodes, edges, count, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz,
              (cu_stream stream, void *graph, const void *nodes, const void *edges, size_t count,
               int mode),
              (stream, graph, nodes, edges, count, mode))
