#include "gpu_memory/preload/virtual.h"

#include "gpu_memory/preload/entry.h"
#include "gpu_memory/preload/ledger.h"
#include "gpu_memory/preload/real.h"

cu_result cuMemCreate(cu_handle *out, size_t size, const struct cu_options *options, unsigned long long flags)
{
    __typeof__(&cuMemCreate) real = REAL(cuMemCreate);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    int gpu = options && options->place.type == CU_PLACE_DEVICE ? ledger_gpu(options->place.id) : -1;
    if (gpu < 0)
        return real(out, size, options, flags);
    uint64_t held = ledger_held(size);
    if (!ledger_reserve(gpu, held, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, size, options, flags);
    if (result == CUDA_SUCCESS) {
        virtual_made(*out, gpu, size, held);
    } else {
        ledger_cancel(gpu, held, size, result);
    }
    return result;
}

cu_result cuMemRelease(cu_handle handle)
{
    __typeof__(&cuMemRelease) real = REAL(cuMemRelease);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    struct virtual_memory *memory = virtual_let_go(handle);
    if (!memory)
        return real(handle);
    ledger_call_begin();
    cu_result result = real(handle);
    if (result == CUDA_SUCCESS)
        virtual_released(memory);
    else
        virtual_kept(memory, handle);
    ledger_call_end();
    return result;
}

cu_result cuMemMap(cu_pointer pointer, size_t size, size_t offset, cu_handle handle, unsigned long long flags)
{
    __typeof__(&cuMemMap) real = REAL(cuMemMap);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(pointer, size, offset, handle, flags);
    if (result == CUDA_SUCCESS)
        virtual_mapped(handle, pointer, size);
    return result;
}

cu_result cuMemUnmap(cu_pointer pointer, size_t size)
{
    __typeof__(&cuMemUnmap) real = REAL(cuMemUnmap);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    if (!process_state_get())
        return real(pointer, size);
    ledger_call_begin();
    cu_result result = real(pointer, size);
    if (result == CUDA_SUCCESS)
        virtual_unmapped(pointer, size);
    ledger_call_end();
    return result;
}

cu_result cuMemRetainAllocationHandle(cu_handle *out, void *address)
{
    __typeof__(&cuMemRetainAllocationHandle) real = REAL(cuMemRetainAllocationHandle);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(out, address);
    if (result == CUDA_SUCCESS)
        virtual_retained(*out, (cu_pointer)(uintptr_t)address);
    return result;
}

cu_result cuMemImportFromShareableHandle(cu_handle *out, void *shared, int type)
{
    __typeof__(&cuMemImportFromShareableHandle) real = REAL(cuMemImportFromShareableHandle);
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    cu_result result = real(out, shared, type);
    if (result == CUDA_SUCCESS)
        virtual_imported(*out);
    return result;
}
