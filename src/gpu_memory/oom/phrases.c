/* The words by which messages are known, in order: of two that begin at one place the earlier wins.
 * Each is what its framework prints. */
#include "gpu_memory/oom/oom.h"

#define GPU     OOM_KIND_GPU
#define HOST    OOM_KIND_HOST
#define CHIP    OOM_KIND_ON_CHIP
#define UNKNOWN OOM_CAUSE_UNKNOWN
#define LEAD    OOM_PHRASE_LEAD
#define LINE    OOM_PHRASE_LINE
#define END     OOM_PHRASE_END
#define MORE    OOM_PHRASE_MORE
#define CAUGHT  OOM_PHRASE_CAUGHT
#define PROSE   OOM_PHRASE_PROSE
#define ROW(text, framework, kind, cause, flags)                    \
    {                                                               \
        text, OOM_##framework, kind, OOM_CAUSE_##cause, flags, NULL \
    }

const struct oom_phrase oom_phrases[] = {
    ROW("CUDA out of memory", PYTORCH, GPU, UNKNOWN, PROSE),
    ROW("HIP out of memory", PYTORCH, GPU, UNKNOWN, PROSE),
    ROW("XPU out of memory", PYTORCH, GPU, UNKNOWN, PROSE),
    ROW("out of memory. Tried to allocate", PYTORCH, GPU, UNKNOWN, 0),
    /* cudaMallocAsync's back end, with and without its figures */
    ROW("would exceed allowed memory. (out of memory)", PYTORCH, GPU, UNKNOWN, 0),
    ROW("OutOfMemoryError: Allocation on device", PYTORCH, GPU, UNKNOWN, END),
    ROW("MPS backend out of memory", MPS, GPU, UNKNOWN, 0),
    ROW("total bytes of NDArray > 232", MPS, GPU, SINGLE, 0), /* "2**32" without its stars */
    ROW("Invalid buffer size: ", MPS, GPU, SINGLE, 0),
    /* XPU's runtime; DirectML */
    ROW("UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", PYTORCH, GPU, UNKNOWN, 0),
    ROW("UR_RESULT_ERROR_OUT_OF_RESOURCES", PYTORCH, GPU, UNKNOWN, 0),
    ROW("PI_ERROR_OUT_OF_RESOURCES", PYTORCH, GPU, UNKNOWN, 0),
    ROW("Allocation is out of device memory", PYTORCH, GPU, UNKNOWN, 0),
    ROW("not enough GPU video memory available", PYTORCH, GPU, UNKNOWN, LEAD),
    ROW("OOM when allocating tensor", TENSORFLOW, GPU, UNKNOWN, 0),
    ROW("RESOURCE_EXHAUSTED: Out of memory", XLA, GPU, UNKNOWN, 0),
    ROW("ran out of memory trying to allocate", XLA, GPU, UNKNOWN, 0),
    ROW("Out of memory while trying to allocate", XLA, GPU, UNKNOWN, 0),
    ROW("Failed to allocate request for", XLA, GPU, UNKNOWN, 0),
    ROW("Ran out of memory in memory space", XLA, GPU, UNKNOWN, 0), /* TPU */
    ROW("Dst tensor is not initialized", TENSORFLOW, GPU, UNKNOWN, PROSE),
    ROW("Out of memory allocating", CUPY, GPU, UNKNOWN, 0),
    ROW("out of memory to allocate", CUPY, GPU, UNKNOWN, 0), /* CuPy below 8 */

    /* Printed by TensorFlow's driver layer: it wants most of the GPU at its
     * start. */
    ROW("bytes on host: CUDA_ERROR_OUT_OF_MEMORY", TENSORFLOW, HOST, PINNED, LEAD | MORE),
    ROW("could not allocate pinned host memory", TENSORFLOW, HOST, PINNED, MORE),
    ROW("cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEM", TENSORFLOW, GPU, OTHERS, 0),
    ROW("from device: CUDA_ERROR_OUT_OF_MEMORY", TENSORFLOW, GPU, OTHERS, LEAD),
    ROW("create cudnn handle: CUDNN_STATUS_ALLOC_FAILED", TENSORFLOW, GPU, OTHERS, MORE),
    ROW("create cublas handle: CUBLAS_STATUS_ALLOC_FAILED", TENSORFLOW, GPU, OTHERS, MORE),

    ROW("No available memory for the cache blocks", VLLM, GPU, KV_CACHE, MORE | PROSE),
    ROW("tokens that can be stored in KV cache", VLLM, GPU, KV_CACHE, MORE | LEAD),
    ROW("To serve at least one request with the model", VLLM, GPU, KV_CACHE, MORE),
    ROW("on startup is less than desired GPU memory", VLLM, GPU, OTHERS, LEAD | MORE),
    {"because there is not enough KV cache space", OOM_VLLM, GPU, OOM_CAUSE_KV_CACHE, MORE | CAUGHT,
     NULL},
    ROW("KV cache pool is full. Retract requests", SGLANG, GPU, KV_CACHE, MORE | CAUGHT | PROSE),
    ROW("The memory capacity is unbalanced. Some GPUs", SGLANG, GPU, OTHERS, MORE),
    ROW("Not enough memory. Please try to increase", SGLANG, GPU, KV_CACHE, MORE),
    ROW("out of memory. Try to lower your batch size", SGLANG, GPU, KV_CACHE, MORE),

    ROW("cudaMalloc retry failed: out of memory", MXNET, GPU, UNKNOWN, MORE),
    ROW("CUDA: out of memory", MXNET, GPU, UNKNOWN, MORE),
    {"cudaMalloc failed: out of memory", OOM_MXNET, GPU, UNKNOWN, MORE, "storage_manager.h"},
    ROW("cudaMalloc failed: out of memory", LLAMA_CPP, GPU, UNKNOWN, LEAD | MORE),
    ROW("ggml_vulkan: Device memory allocation of size", LLAMA_CPP, GPU, UNKNOWN, MORE),
    ROW("exceeds device memory allocation limit", LLAMA_CPP, GPU, SINGLE, MORE),
    ROW("ErrorOutOfDeviceMemory", LLAMA_CPP, GPU, UNKNOWN, MORE),
    ROW("error: failed to allocate buffer, size", LLAMA_CPP, GPU, UNKNOWN, MORE), /* Metal */
    ROW("Bytes of memory on device", LLAMA_CPP, GPU, UNKNOWN, LEAD | MORE),       /* SYCL */
    ROW("CUDA error 2 at", LLAMA_CPP, GPU, UNKNOWN, MORE),
    {"of pinned memory", OOM_LLAMA_CPP, HOST, OOM_CAUSE_PINNED, LEAD | MORE | CAUGHT,
     "failedtoallocate"},
    ROW("model requires more system memory", LLAMA_CPP, HOST, HOST_CAPACITY, MORE), /* ollama */
    ROW("failed to allocate compute", LLAMA_CPP, GPU, WORKSPACE, MORE),
    ROW("kIOGPUCommandBufferCallbackErrorOutOfMemory", LLAMA_CPP, GPU, KV_CACHE, MORE),
    ROW("greater than the recommended max working set size", LLAMA_CPP, GPU, KV_CACHE, MORE),

    /* The layout of blocked channels exists on the CPU alone. */
    {"Failed to allocate memory for requested buffer", OOM_ONNX, HOST, OOM_CAUSE_HOST_CAPACITY, 0,
     "_nchwc"},
    ROW("Failed to allocate memory for requested buffer", ONNX, GPU, UNKNOWN, 0),
    ROW("CUDA failure 2: out of memory", ONNX, GPU, UNKNOWN, 0),
    ROW(": 2 (out of memory)", TENSORRT, GPU, WORKSPACE, MORE),
    ROW("Cuda Runtime (out of memory)", TENSORRT, GPU, WORKSPACE, MORE),
    ROW("ry increasing the workspace size", TENSORRT, GPU, CAP, 0),
    ROW("Error Code 2: OutOfMemory", TENSORRT, GPU, WORKSPACE, MORE | PROSE),
    ROW("Requested amount of GPU memory", TENSORRT, GPU, WORKSPACE, MORE | CAUGHT),
    ROW("Device memory is insufficient to use tactic", TENSORRT, GPU, WORKSPACE,
        LEAD | MORE | CAUGHT),
    ROW("Out of memory error on GPU", PADDLE, GPU, UNKNOWN, 0),
    ROW("host allocation of size", CAFFE, HOST, HOST_CAPACITY, 0),
    ROW("cudaSuccess (2 vs. 0)", CAFFE, GPU, UNKNOWN, MORE),
    ROW("CUDNN algo without Workspace! Need memory", DARKNET, GPU, WORKSPACE, MORE | CAUGHT),
    ROW("CUDA Error: out of memory", DARKNET, GPU, UNKNOWN, MORE),
    ROW("Cuda failure 'out of memory'", NCCL, GPU, NCCL, MORE),
    ROW("Cuda failure 2 'out of memory'", NCCL, GPU, NCCL, MORE),
    ROW("Error while creating shared memory segment", NCCL, HOST, SHM, 0),
    ROW("Call to ibv_reg_mr failed", NCCL, HOST, PINNED, 0),
    ROW("NCCL WARN Failed to CUDA calloc", NCCL, GPU, NCCL, MORE),
    ROW("RMM_ERROR_OUT_OF_MEMORY", RAPIDS, GPU, UNKNOWN, MORE | PROSE),
    ROW("std::bad_alloc: CUDA error at", RAPIDS, GPU, UNKNOWN, 0),
    ROW("std::bad_alloc: out_of_memory", RAPIDS, GPU, UNKNOWN, 0),
    ROW("Maximum pool size exceeded", RAPIDS, GPU, UNKNOWN, MORE),
    ROW("std::bad_alloc: cudaErrorMemoryAllocation", RAPIDS, GPU, UNKNOWN, 0),
    ROW("failed: cudaErrorMemoryAllocation", RAPIDS, GPU, UNKNOWN, 0),
    ROW("cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", NUMBA, GPU, UNKNOWN, 0),
    ROW("cuMemAlloc failed: out of memory", NUMBA, GPU, UNKNOWN, 0), /* PyCUDA */
    ROW("out of resource: triton_", TRITON, CHIP, ON_CHIP, 0),
    ROW("out of resource: shared memory", TRITON, CHIP, ON_CHIP, PROSE),
    ROW("uses too much shared data", TRITON, CHIP, ON_CHIP, 0), /* ptxas */

    ROW("CUDA error: out of memory", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUDA driver error: out of memory", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("HIP error: out of memory", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    /* PyTorch below 1.0: 2 is cudaErrorMemoryAllocation */
    ROW("cuda runtime error (2)", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUDA_ERROR_OUT_OF_MEMORY", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("cudaErrorMemoryAllocation", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("hipErrorOutOfMemory", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUBLAS_STATUS_ALLOC_FAILED", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUDNN_STATUS_ALLOC_FAILED", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUSOLVER_STATUS_ALLOC_FAILED", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUSPARSE_STATUS_ALLOC_FAILED", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CUFFT_ALLOC_FAILED", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("CURAND_STATUS_ALLOCATION_FAILED", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("hipErrorMemoryAllocation", CUDA, GPU, UNKNOWN, LEAD | PROSE),
    ROW("GPUassert: out of memory", CUDA, GPU, UNKNOWN, 0),
    ROW("CUresult error result=2 file", CUDA, GPU, UNKNOWN, 0),
    ROW("error: out of memory", CUDA, GPU, UNKNOWN, LINE),

    /* Programs that catch it: fairseq, ComfyUI, OpenNMT, Lightning. */
    ROW("ran out of memory on GPU", PYTORCH, GPU, UNKNOWN, CAUGHT | PROSE),
    ROW("Ran out of memory when regular VAE", PYTORCH, GPU, UNKNOWN, CAUGHT),
    ROW("cuda OOM - batch removed", PYTORCH, GPU, UNKNOWN, CAUGHT),
    ROW("OOM in all workers, skipping update", PYTORCH, GPU, UNKNOWN, CAUGHT),
    ROW("to CPU due to CUDA OOM", PYTORCH, GPU, UNKNOWN, CAUGHT),
    ROW("in TaskAlignedAssigner, using CPU", PYTORCH, GPU, UNKNOWN, CAUGHT),
    ROW("Adjust batch size from", PYTORCH, GPU, UNKNOWN, CAUGHT | OOM_PHRASE_FALLS), /* DeePMD */
    ROW("failed, trying batch size", PYTORCH, GPU, UNKNOWN, CAUGHT),

    /* The kernel, shells (bash in other languages too) and launchers. */
    ROW("Out of memory: Killed process", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("Out of memory: Kill process", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("Memory cgroup out of memory: Killed process", SYSTEM, HOST, HOST_LIMIT, 0),
    ROW("Memory cgroup out of memory: Kill process", SYSTEM, HOST, HOST_LIMIT, 0),
    ROW("killed as a result of limit of", SYSTEM, HOST, HOST_LIMIT, 0),
    ROW("oom-kill:constraint=CONSTRAINT_MEMCG", SYSTEM, HOST, HOST_LIMIT, 0),
    ROW("oom-kill:constraint=CONSTRAINT_NONE", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("Killed", SYSTEM, HOST, HOST_KILLED, LINE),
    ROW("Killed: 9", SYSTEM, HOST, HOST_KILLED, LINE),
    ROW("Get\xc3\xb6tet", SYSTEM, HOST, HOST_KILLED, LINE),
    ROW("\xe5\xb7\xb2\xe6\x9d\x80\xe6\xad\xbb", SYSTEM, HOST, HOST_KILLED, LINE), /* Chinese */
    ROW("zsh: killed ", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("invoked oom-killer", SYSTEM, HOST, HOST_KILLED, PROSE),
    ROW("killed by the OOM killer", SYSTEM, HOST, HOST_KILLED, 0), /* systemd */
    ROW("with result 'oom-kill'", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("due to memory pressure for", SYSTEM, HOST, HOST_KILLED, 0), /* systemd-oomd */
    ROW("Killed signal terminated program", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("terminated with signal SIGKILL", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("exited on signal 9 (Killed)", SYSTEM, HOST, HOST_KILLED, 0),                  /* mpirun */
    ROW("excessive memory usage causing the Operating", PYTHON, HOST, HOST_KILLED, 0), /* joblib */
    ROW("memory budget. Restarting", PYTHON, HOST, HOST_KILLED, 0),                    /* dask */
    ROW("crashed after using all available RAM", SYSTEM, HOST, HOST_KILLED, 0),        /* Colab */
    ROW("tried to allocate more memory than is available", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("exited with code 137", SYSTEM, HOST, HOST_KILLED, PROSE),
    ROW("exit code: 137", SYSTEM, HOST, HOST_KILLED, PROSE),
    ROW("exit code 137", SYSTEM, HOST, HOST_KILLED, PROSE),
    ROW("exit code (137)", SYSTEM, HOST, HOST_KILLED, PROSE),
    ROW("exit status 137", SYSTEM, HOST, HOST_KILLED, PROSE),
    ROW("exitcode: -9", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("Signal 9 (SIGKILL) received by PID", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("exits with return code = -9", SYSTEM, HOST, HOST_KILLED, 0), /* DeepSpeed */
    ROW("died with <Signals.SIGKILL: 9>", SYSTEM, HOST, HOST_KILLED, 0),
    ROW("oom-kill event", SLURM, HOST, HOST_LIMIT, PROSE),
    ROW("oom_kill event", SLURM, HOST, HOST_LIMIT, PROSE),
    ROW("xceeded job memory limit", SLURM, HOST, HOST_LIMIT, 0),
    ROW("exceeded memory limit (", SLURM, HOST, HOST_LIMIT, 0),
    ROW("OUT_OF_MEMORY (exit code", SLURM, HOST, HOST_LIMIT, 0),
    ROW("PBS: job killed: mem", SYSTEM, HOST, HOST_LIMIT, 0),
    ROW("TERM_MEMLIMIT: job killed", SYSTEM, HOST, HOST_LIMIT, 0), /* LSF */
    ROW("killed by YARN for exceeding", SYSTEM, HOST, HOST_LIMIT, 0),
    ROW("cgroup out-of-memory handler", SLURM, HOST, HOST_LIMIT, 0),
    {": Out Of Memory", OOM_SLURM, HOST, OOM_CAUSE_HOST_LIMIT, END, "srun:error"},
    ROW("OOMKilled", KUBERNETES, HOST, HOST_LIMIT, END | PROSE),
    {"OOMKilled", OOM_KUBERNETES, HOST, OOM_CAUSE_HOST_LIMIT, 0, "eason:"},
    {"OOMKilled", OOM_KUBERNETES, HOST, OOM_CAUSE_HOST_LIMIT, 0, "0/1"},
    ROW("\"reason\":\"OOMKilled\"", KUBERNETES, HOST, HOST_LIMIT, 0),
    ROW("The node was low on resource: memory", KUBERNETES, HOST, HOST_KILLED, 0),
    ROW("due to the node running low on memory", RAY, HOST, HOST_KILLED, PROSE),
    ROW("killed due to memory pressure (OOM)", RAY, HOST, HOST_KILLED, 0),
    ROW("ObjectStoreFullError", RAY, HOST, HOST_CAPACITY, 0),
    ROW("Bus error", SYSTEM, HOST, SHM, LINE),
    ROW("Bus error (core dumped)", SYSTEM, HOST, SHM, LINE),
    ROW("unable to write to file </torch_", PYTORCH, HOST, SHM, 0),
    ROW("bytes from file </torch_", PYTORCH, HOST, SHM, 0),
    {"exited unexpectedly", OOM_PYTORCH, HOST, OOM_CAUSE_WORKER, 0, "DataLoaderworker(pid(s)"},
    ROW("bus error encountered in worker", PYTORCH, HOST, SHM, 0),
    ROW("is killed by signal: Bus error", PYTORCH, HOST, SHM, 0),
    ROW("is killed by signal: Killed", PYTORCH, HOST, WORKER, 0),
    ROW("DefaultCPUAllocator: can't allocate memory", PYTORCH, HOST, HOST_CAPACITY, PROSE),
    ROW("DefaultCPUAllocator: not enough memory", PYTORCH, HOST, HOST_CAPACITY, PROSE),
    ROW("not enough memory: you tried to allocate", PYTORCH, HOST, HOST_CAPACITY, 0),
    ROW("posix_memalign(&data, gAlignment, nbytes)", PYTORCH, HOST, HOST_CAPACITY, 0),
    ROW("[WinError 1455]", SYSTEM, HOST, HOST_CAPACITY, 0),
    ROW("Failed to allocate CPU Memory", MXNET, HOST, HOST_CAPACITY, 0),
    ROW("MemoryError: Unable to allocate", PYTHON, HOST, PYTHON, 0),
    ROW("MemoryError", PYTHON, HOST, PYTHON, LINE),
    ROW("MemoryError: Allocation failed", PYTHON, HOST, PYTHON, 0),
    ROW("MemoryError: bad allocation", PYTHON, HOST, PYTHON, 0),
    ROW("C error: out of memory", PYTHON, HOST, PYTHON, 0), /* pandas */
    ROW("fork: Cannot allocate memory", SYSTEM, HOST, HOST_CAPACITY, 0),
    ROW("virtual memory exhausted", SYSTEM, HOST, HOST_CAPACITY, 0),
    ROW("cannot allocate vector of size", SYSTEM, HOST, HOST_CAPACITY, 0),  /* R */
    ROW("ERROR: OutOfMemoryError()", SYSTEM, HOST, HOST_CAPACITY, 0),       /* Julia */
    ROW("runtime: out of memory", SYSTEM, HOST, HOST_CAPACITY, 0),          /* Go */
    {"bytes failed", OOM_SYSTEM, HOST, OOM_CAUSE_HOST_CAPACITY, LEAD | END, /* Rust */
     "memoryallocationof"},
    ROW("insufficient memory for the Java Runtime", MACHINE, HOST, HOST_CAPACITY, 0),
    ROW("[Errno 12] Cannot allocate memory", SYSTEM, HOST, HOST_CAPACITY, 0),
    ROW("xrealloc: cannot allocate", SYSTEM, HOST, HOST_CAPACITY, 0),
    ROW("xmalloc: cannot allocate", SYSTEM, HOST, HOST_CAPACITY, 0),
    ROW("what(): std::bad_alloc", SYSTEM, HOST, HOST_CAPACITY, LINE),
    ROW("java.lang.OutOfMemoryError", MACHINE, HOST, CAP, PROSE),
    ROW("JavaScript heap out of memory", MACHINE, HOST, CAP, PROSE),
    ROW("No space left on device", SYSTEM, HOST, DISK, PROSE),
    ROW("Disk quota exceeded", SYSTEM, HOST, DISK, PROSE),
    ROW("[WinError 112]", SYSTEM, HOST, DISK, 0),
    ROW("kind: StorageFull", SYSTEM, HOST, DISK, 0), /* safetensors */
    ROW("database or disk is full", SYSTEM, HOST, DISK, 0),
    {"unexpected pos", OOM_PYTORCH, HOST, OOM_CAUSE_DISK, 0, "inline_container"},
    ROW("PytorchStreamWriter failed writing file", PYTORCH, HOST, DISK, 0),
    {0},
};
