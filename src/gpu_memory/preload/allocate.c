/* Plain, pitched and managed memory, and arrays: each allocation is reserved, asked of the driver,
 * and committed or cancelled. */
#include "gpu_memory/preload/driver.h"
#include "gpu_memory/preload/ledger_gpu.h"
#include "gpu_memory/preload/pool.h"

/* One allocation's way: room in the ledger, the driver, its entry. */
struct request {
    int gpu; /* -1: not followed */
    void *context;
    uint64_t size, held;
};

/* An array's handle is an address of the host's; both kinds are in one table. */
#define ARRAY_KEY(handle) ((uint64_t)(uintptr_t)(handle) | UINT64_C(1) << 63)

/* On the current context's GPU. False: the limit refuses it (nothing more is to be done). */
static bool request_begin(struct request *request, uint64_t size)
{
    struct ledger_here here = ledger_here();
    *request = (struct request){
        .gpu = here.gpu, .context = here.context, .size = size, .held = ledger_held(size)};
    return request->gpu < 0 || ledger_reserve(request->gpu, request->held, size);
}

/* What the driver said; key: of the memory, size: what it turned out to be. */
static void request_end(const struct request *request, cu_result result, uint64_t key,
                        enum memory_kind kind, uint64_t size)
{
    if (request->gpu < 0)
        return;
    if (result != CUDA_SUCCESS)
        ledger_cancel(request->gpu, request->held, size, result);
    else
        ledger_commit(&(struct pointer_entry){.key = key,
                                              .live = size,
                                              .held = size == request->size ? request->held
                                                                            : ledger_held(size),
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
    STATE_LOCKED(state);
    release.ours = pointers_remove(&state->pointers, key, &release.entry);
    if (release.ours && release.entry.kind == MEMORY_ASYNC)
        release.settled = pool_release_begin(state, &release.entry);
    else if (release.ours)
        process_state_call_begin(state);
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

/* A function that allocates: wanted, the bytes as they are known before; once the driver has
 * granted it the key of its entry, the kind of memory, and the bytes it took. */
#define ALLOCATE(name, parameters, arguments, wanted, key_granted, memory, bytes_granted) \
    cu_result name parameters                                                             \
    {                                                                                     \
        NEED(name);                                                                       \
        struct request request;                                                           \
        if (!request_begin(&request, wanted))                                             \
            return CUDA_ERROR_OUT_OF_MEMORY;                                              \
        cu_result result = real arguments;                                                \
        bool granted = result == CUDA_SUCCESS;                                            \
        request_end(&request, result, granted ? (key_granted) : 0, memory,                \
                    granted ? (bytes_granted) : request.size);                            \
        return result;                                                                    \
    }

/* And one that frees what has this key. */
#define RELEASE(name, parameters, arguments, key_released)    \
    cu_result name parameters                                 \
    {                                                         \
        NEED(name);                                           \
        struct release release = release_begin(key_released); \
        cu_result result = real arguments;                    \
        release_end(&release, result);                        \
        return result;                                        \
    }

ALLOCATE(cuMemAlloc_v2, (cu_pointer * out, size_t size), (out, size), size, *out, MEMORY_PLAIN,
         size)
ALLOCATE(cuMemAlloc, (cu_pointer_v1 * out, unsigned size), (out, size), size, *out, MEMORY_PLAIN,
         size)

/* A row's length is the driver's choice: until it has said it, the usual one is assumed. */
static uint64_t pitched(uint64_t width, uint64_t height)
{
    enum { USUAL_STEP = 512 };
    uint64_t pitch = saturating_add(width, USUAL_STEP - 1) / USUAL_STEP * USUAL_STEP;
    return saturating_multiply(pitch, height);
}

ALLOCATE(cuMemAllocPitch_v2,
         (cu_pointer * out, size_t *pitch, size_t width, size_t height, unsigned element),
         (out, pitch, width, height, element), pitched(width, height), *out, MEMORY_PLAIN,
         *pitch *height)
ALLOCATE(cuMemAllocPitch,
         (cu_pointer_v1 * out, unsigned *pitch, unsigned width, unsigned height, unsigned element),
         (out, pitch, width, height, element), pitched(width, height), *out, MEMORY_PLAIN,
         (uint64_t)*pitch *height)

/* Counted whole, as if it all lay on the GPU: it may, and where its pages are at a moment nobody
 * tells. */
ALLOCATE(cuMemAllocManaged, (cu_pointer * out, size_t size, unsigned flags), (out, size, flags),
         size, *out, MEMORY_MANAGED, size)

RELEASE(cuMemFree_v2, (cu_pointer pointer), (pointer), pointer)
RELEASE(cuMemFree, (cu_pointer_v1 pointer), (pointer), pointer)

/* Arrays of textures and surfaces: the driver lays them out as it likes; counted is what their
 * elements take. */
/* CUarray_format: bytes of one channel; of the packed and compressed ones, which are rare, the
 * usual four. */
static uint64_t channel_bytes(int format)
{
    switch (format) {
    case 0x01: /* unsigned and signed 8-bit */
    case 0x08:
        return 1;
    case 0x02: /* 16-bit, half */
    case 0x09:
    case 0x10:
        return 2;
    default:
        return 4;
    }
}

static uint64_t at_least_one(uint64_t count)
{
    return count ? count : 1;
}

static uint64_t array_bytes(const struct cu_array3d_descriptor *options)
{
    if (!options || options->flags & CU_ARRAY_UNBACKED)
        return 0;
    uint64_t area = saturating_multiply(options->width, at_least_one(options->height));
    uint64_t elements = saturating_multiply(area, at_least_one(options->depth));
    return saturating_multiply(elements, options->channels * channel_bytes(options->format));
}

static uint64_t mipmap_bytes(const struct cu_array3d_descriptor *options, unsigned levels)
{
    enum { LAYERED = 1 };
    uint64_t sum = 0;
    struct cu_array3d_descriptor level = options ? *options : (struct cu_array3d_descriptor){0};
    for (unsigned i = 0; options && i < levels && i < 32; i++) {
        sum = saturating_add(sum, array_bytes(&level));
        level.width = at_least_one(level.width / 2);
        level.height = level.height / 2;
        level.depth = options->flags & LAYERED ? options->depth : level.depth / 2;
    }
    return sum;
}

/* The older descriptors as the newest; NULL: nothing. */
static uint64_t array3d_v1_bytes(const struct cu_array3d_descriptor_v1 *of)
{
    return !of ? 0
               : array_bytes(&(struct cu_array3d_descriptor){of->width, of->height, of->depth,
                                                             of->format, of->channels, of->flags});
}

static uint64_t flat_bytes(const struct cu_array_descriptor *of)
{
    return !of ? 0
               : array_bytes(&(struct cu_array3d_descriptor){of->width, of->height, 0, of->format,
                                                             of->channels, 0});
}

static uint64_t flat_v1_bytes(const struct cu_array_descriptor_v1 *of)
{
    return !of ? 0
               : array_bytes(&(struct cu_array3d_descriptor){of->width, of->height, 0, of->format,
                                                             of->channels, 0});
}

ALLOCATE(cuArray3DCreate_v2, (cu_array * out, const struct cu_array3d_descriptor *options),
         (out, options), array_bytes(options), ARRAY_KEY(*out), MEMORY_ARRAY, request.size)
ALLOCATE(cuArray3DCreate, (cu_array * out, const struct cu_array3d_descriptor_v1 *options),
         (out, options), array3d_v1_bytes(options), ARRAY_KEY(*out), MEMORY_ARRAY, request.size)
ALLOCATE(cuArrayCreate_v2, (cu_array * out, const struct cu_array_descriptor *options),
         (out, options), flat_bytes(options), ARRAY_KEY(*out), MEMORY_ARRAY, request.size)
ALLOCATE(cuArrayCreate, (cu_array * out, const struct cu_array_descriptor_v1 *options),
         (out, options), flat_v1_bytes(options), ARRAY_KEY(*out), MEMORY_ARRAY, request.size)
ALLOCATE(cuMipmappedArrayCreate,
         (cu_mipmap * out, const struct cu_array3d_descriptor *options, unsigned levels),
         (out, options, levels), mipmap_bytes(options, levels), ARRAY_KEY(*out), MEMORY_ARRAY,
         request.size)

RELEASE(cuArrayDestroy, (cu_array array), (array), ARRAY_KEY(array))
RELEASE(cuMipmappedArrayDestroy, (cu_mipmap mipmap), (mipmap), ARRAY_KEY(mipmap))
