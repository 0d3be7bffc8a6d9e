/* Arrays of textures and surfaces: the driver lays them out as it likes; counted is what their elements take. */
#include "gpu_memory/preload/entry.h"
#include "gpu_memory/preload/real.h"
#include "gpu_memory/preload/request.h"

/* CUarray_format: bytes of one channel; of the packed and compressed ones, which are rare, the usual four. */
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
    if (options->flags & CU_ARRAY_UNBACKED)
        return 0;
    return options->width * at_least_one(options->height) * at_least_one(options->depth) * options->channels *
           channel_bytes(options->format);
}

static uint64_t mipmap_bytes(const struct cu_array3d_descriptor *options, unsigned levels)
{
    enum { LAYERED = 1 };
    uint64_t sum = 0;
    struct cu_array3d_descriptor level = *options;
    for (unsigned i = 0; i < levels && i < 32; i++) {
        sum += array_bytes(&level);
        level.width = at_least_one(level.width / 2);
        level.height = level.height / 2;
        level.depth = options->flags & LAYERED ? options->depth : level.depth / 2;
    }
    return sum;
}

cu_result cuArray3DCreate_v2(cu_array *out, const struct cu_array3d_descriptor *options)
{
    __typeof__(&cuArray3DCreate_v2) real = REAL(cuArray3DCreate_v2);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    uint64_t size = options ? array_bytes(options) : 0;
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, options);
    request_end(&request, result, result == CUDA_SUCCESS ? ARRAY_KEY(*out) : 0, MEMORY_ARRAY, size);
    return result;
}

cu_result cuArray3DCreate(cu_array *out, const struct cu_array3d_descriptor_v1 *options)
{
    __typeof__(&cuArray3DCreate) real = REAL(cuArray3DCreate);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct cu_array3d_descriptor wide = {0};
    if (options)
        wide = (struct cu_array3d_descriptor){options->width,  options->height,   options->depth,
                                              options->format, options->channels, options->flags};
    uint64_t size = array_bytes(&wide);
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, options);
    request_end(&request, result, result == CUDA_SUCCESS ? ARRAY_KEY(*out) : 0, MEMORY_ARRAY, size);
    return result;
}

cu_result cuArrayCreate_v2(cu_array *out, const struct cu_array_descriptor *options)
{
    __typeof__(&cuArrayCreate_v2) real = REAL(cuArrayCreate_v2);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct cu_array3d_descriptor flat = {0};
    if (options)
        flat =
            (struct cu_array3d_descriptor){options->width, options->height, 0, options->format, options->channels, 0};
    uint64_t size = array_bytes(&flat);
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, options);
    request_end(&request, result, result == CUDA_SUCCESS ? ARRAY_KEY(*out) : 0, MEMORY_ARRAY, size);
    return result;
}

cu_result cuArrayCreate(cu_array *out, const struct cu_array_descriptor_v1 *options)
{
    __typeof__(&cuArrayCreate) real = REAL(cuArrayCreate);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct cu_array3d_descriptor flat = {0};
    if (options)
        flat =
            (struct cu_array3d_descriptor){options->width, options->height, 0, options->format, options->channels, 0};
    uint64_t size = array_bytes(&flat);
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, options);
    request_end(&request, result, result == CUDA_SUCCESS ? ARRAY_KEY(*out) : 0, MEMORY_ARRAY, size);
    return result;
}

cu_result cuMipmappedArrayCreate(cu_mipmap *out, const struct cu_array3d_descriptor *options, unsigned levels)
{
    __typeof__(&cuMipmappedArrayCreate) real = REAL(cuMipmappedArrayCreate);
    struct request request;
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    uint64_t size = options ? mipmap_bytes(options, levels) : 0;
    if (!request_begin(&request, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, options, levels);
    request_end(&request, result, result == CUDA_SUCCESS ? ARRAY_KEY(*out) : 0, MEMORY_ARRAY, size);
    return result;
}

cu_result cuArrayDestroy(cu_array array)
{
    __typeof__(&cuArrayDestroy) real = REAL(cuArrayDestroy);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct release release = release_begin(ARRAY_KEY(array));
    cu_result result = real(array);
    release_end(&release, result);
    return result;
}

cu_result cuMipmappedArrayDestroy(cu_mipmap mipmap)
{
    __typeof__(&cuMipmappedArrayDestroy) real = REAL(cuMipmappedArrayDestroy);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct release release = release_begin(ARRAY_KEY(mipmap));
    cu_result result = real(mipmap);
    release_end(&release, result);
    return result;
}
