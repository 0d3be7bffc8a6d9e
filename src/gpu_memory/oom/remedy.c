#include "gpu_memory/oom/remedy.h"
#include "gpu_memory/oom/size.h"

#include "base/mem.h"
#include "tare_build.h"

#include <string.h>

#define OF(cause)     (UINT64_C(1) << (cause))
#define UNKNOWN       OF(OOM_CAUSE_UNKNOWN)
#define OTHERS        OF(OOM_CAUSE_OTHERS)
#define PIECES        OF(OOM_CAUSE_FRAGMENTATION)
#define GROWTH        OF(OOM_CAUSE_GROWTH)
#define CAPACITY      OF(OOM_CAUSE_CAPACITY)
#define CAP           OF(OOM_CAUSE_CAP)
#define ANY_FRAMEWORK (~UINT64_C(0))
#define PINNED        OF(OOM_CAUSE_PINNED)
#define PYTORCH       OF(OOM_PYTORCH)
#define TENSORFLOW    OF(OOM_TENSORFLOW)
#define XLA           OF(OOM_XLA)
#define CUPY          OF(OOM_CUPY)
#define CUDA          OF(OOM_CUDA)
#define OTHER_TRAINS \
    (OF(OOM_PADDLE) | OF(OOM_MXNET) | OF(OOM_CAFFE) | OF(OOM_DARKNET) | OF(OOM_ONNX))
#define LLAMA  OF(OOM_LLAMA_CPP)
#define VLLM   OF(OOM_VLLM)
#define SGLANG OF(OOM_SGLANG)
#define MPS    OF(OOM_MPS)
#define RAPIDS OF(OOM_RAPIDS)
/* Programs of PyTorch that generate pictures. */
#define INFERENCE OF(OOM_FRAMEWORKS)
/* Trainings of language models with PyTorch. */
#define LLM           OF(OOM_FRAMEWORKS + 1)
#define GIANT         OF(OOM_CAUSE_GIANT)
#define FREE_ABOVE    OF(OOM_CAUSE_FREE_ABOVE)
#define SINGLE        OF(OOM_CAUSE_SINGLE)
#define KV_CACHE      OF(OOM_CAUSE_KV_CACHE)
#define WORKSPACE     OF(OOM_CAUSE_WORKSPACE)
#define LOGITS        OF(OOM_CAUSE_LOGITS)
#define ATTENTION     OF(OOM_CAUSE_ATTENTION)
#define OPTIMIZER     OF(OOM_CAUSE_OPTIMIZER)
#define WEIGHTS       OF(OOM_CAUSE_WEIGHTS)
#define HOST_KILLED   OF(OOM_CAUSE_HOST_KILLED)
#define HOST_LIMIT    OF(OOM_CAUSE_HOST_LIMIT)
#define WORKER        OF(OOM_CAUSE_WORKER)
#define SHM           OF(OOM_CAUSE_SHM)
#define HOST_CAPACITY OF(OOM_CAUSE_HOST_CAPACITY)
#define PYTHON        OF(OOM_CAUSE_PYTHON)
/* Besides the cause. */
#define MAY_GROW      OF(OOM_CAUSES)
#define CONTEXTS      OF(OOM_CAUSES + 1)
#define ONLY_CONTEXTS OF(OOM_CAUSES + 2)
#define PINNING       OF(OOM_CAUSES + 3)

#define STOP \
    "stop what else holds the GPU's memory: '" TARE_NAME " clean' lists it, with owner and age"

#define EXPANDABLE                                                                                 \
    "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PyTorch 2.0 or newer; from 2.9 on the " \
    "name is PYTORCH_ALLOC_CONF, and the old one still works)"

#define UNPIN                                                                                    \
    "pin less memory of the host: DataLoader(pin_memory=False), or fewer workers (num_workers) " \
    "and a smaller prefetch_factor"

#define LEAVE_WORKERS                                                                          \
    "keep CUDA out of the workers of the DataLoader: move tensors to the GPU in the training " \
    "loop, and load with torch.load(..., map_location='cpu') in the dataset; ranks call "      \
    "torch.cuda.set_device(local_rank) before anything else of CUDA"

#define DROP_REFERENCES                                                                         \
    "find what keeps references: add up loss.item() or loss.detach(), not loss (it keeps each " \
    "step's graph); keep no lists of GPU tensors; in the dataset, torch.load with "             \
    "map_location='cpu' and copies, not references to what it keeps; 'del' outputs before the " \
    "next step; optimizer.zero_grad(set_to_none=True)"

/* What it would do, from the numbers; NULL: what the row says. */
typedef char *effect_fn(const struct oom *message, const struct oom_diagnosis *diagnosis);

static char *sized(const char *before, struct oom_size size, const char *behind)
{
    struct text text = {0};
    text_add(&text, before);
    oom_size_add_text(size, &text);
    text_add(&text, behind);
    return text_take(&text);
}

static char *holder_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    (void)message;
    struct oom_size held =
        diagnosis->sure ? diagnosis->others : oom_size_add(diagnosis->others, diagnosis->unlisted);
    if (diagnosis->cause != OOM_CAUSE_OTHERS || !held.valid || held.bytes == 0)
        return NULL;
    return sized("frees up to ", held, ": this request then fits");
}

static char *cap_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    struct oom_size needed = oom_size_add(diagnosis->reserved, message->of[OOM_REQUESTED]);
    return needed.valid ? sized("from ", needed, " on, this request fits") : NULL;
}

static char *expandable_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    struct oom_size spare = oom_size_sub(oom_size_add(diagnosis->room, diagnosis->unallocated),
                                         message->of[OOM_REQUESTED]);
    if (!diagnosis->expandable_fits || !spare.valid)
        return NULL;
    return sized("this request fits, with up to ", spare, " to spare");
}

static char *batch_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    struct oom_size held = message->of[OOM_ALLOCATED];
    if (!diagnosis->missing.valid || diagnosis->missing.bytes == 0 || !held.valid ||
        held.bytes == 0)
        return NULL;
    struct text text = {0};
    oom_size_add_text(diagnosis->missing, &text);
    text_add(&text, " less is needed at least, ");
    /* A share above all that there was does not help to choose a batch. */
    if (diagnosis->missing.bytes < held.bytes)
        text_addf(&text, "%.1f %% of what tensors held",
                  100 * (double)diagnosis->missing.bytes / (double)held.bytes);
    else
        text_add(&text, "more than tensors held: the request itself must become smaller");
    text_add(&text,
             "; activations shrink with the batch, weights and the optimiser's state do not");
    return text_take(&text);
}

static const struct row {
    const char *name;
    uint64_t causes, frameworks;
    const char *what;
    effect_fn *measured;
    const char *effect, *cost;
} rows[] = {
    {"raise_cgroup_limit", HOST_LIMIT, ANY_FRAMEWORK,
     "raise the memory limit of the job (sbatch --mem), container (docker run --memory) or pod "
     "(resources.limits.memory)",
     NULL, "the group may use more of the machine", "less is left for others"},
    {"fewer_loader_workers", WORKER, ANY_FRAMEWORK,
     "fewer workers of the data loader (num_workers) and a smaller prefetch_factor; keep the "
     "dataset in arrays or a memory-mapped file, not in lists of Python objects",
     NULL, "each worker less frees its copy", "loading may become slower"},
    {"larger_shm", SHM, ANY_FRAMEWORK,
     "a larger /dev/shm: docker run --shm-size=8g or --ipc=host; in Kubernetes an emptyDir with "
     "medium Memory at /dev/shm",
     NULL, "batches of all workers fit", "counts as memory of the container"},
    {"fewer_loader_workers", SHM, ANY_FRAMEWORK,
     "fewer workers of the data loader (num_workers) and a smaller prefetch_factor", NULL,
     "num_workers x prefetch_factor batches are there at a time", "loading may become slower"},
    {"free_disk", OF(OOM_CAUSE_DISK), ANY_FRAMEWORK,
     "free space ('df -h', 'df -i'), keep fewer checkpoints, or write to another file system", NULL,
     "the write succeeds", "none"},
    {"unpin", OF(OOM_CAUSE_PINNED), TENSORFLOW,
     "a smaller buffer in memory of the host (shuffle, cache, prefetch): TensorFlow pins what it "
     "copies to the GPU",
     NULL, "less is pinned at a time", "shuffling is less thorough"},
    {"raise_memlock", OF(OOM_CAUSE_PINNED), OF(OOM_NCCL),
     "raise the limit on locked memory (ulimit -l unlimited; docker run --ulimit memlock=-1)", NULL,
     "the network card can register its buffers", "none"},
    {"unpin", OF(OOM_CAUSE_PINNED), LLAMA, "less memory of the host at a time", NULL,
     "less is pinned at a time", "copies to the GPU are slower"},
    {"cut_tensor", PYTHON, ANY_FRAMEWORK,
     "process the data in pieces, or keep it in a smaller type (float32, sparse) or a "
     "memory-mapped file",
     NULL, "only a piece is in memory", "a change of the code"},
    {"bug_in_program", OF(OOM_CAUSE_PROGRAM), ANY_FRAMEWORK,
     "find the error in the program: print the shape of what is created there", NULL,
     "the request becomes sensible", "none"},
    {"more_host_memory", HOST_KILLED | HOST_CAPACITY | PYTHON | WORKER, ANY_FRAMEWORK,
     "less data in the machine's memory at a time (smaller files, batches, buffers), or more "
     "memory or swap",
     NULL, "the machine has room for it", "smaller pieces take longer"},
    {"fewer_processes", HOST_KILLED, ANY_FRAMEWORK,
     "fewer processes and workers at a time: each holds its own copy", NULL,
     "memory shrinks with their number", "less runs at once"},
    {"raise_cap", CAP, OF(OOM_MACHINE),
     "raise the limit of the heap (java -Xmx, node --max-old-space-size)", NULL,
     "the heap may grow to it", "less is left for others"},
    {"smaller_blocks", OF(OOM_CAUSE_ON_CHIP), ANY_FRAMEWORK,
     "smaller tiles (BLOCK_M, BLOCK_N, BLOCK_K) of the kernel, or fewer num_stages or warps; a "
     "newer version of the library may have a configuration for this GPU",
     NULL, "shared memory shrinks with the tile and with each stage", "the kernel may be slower"},
    {"stop_holder", OTHERS, VLLM | SGLANG | OF(OOM_TENSORFLOW) | XLA, STOP, holder_effect,
     "all that it holds becomes free", "the other program's work"},
    {"allow_growth", OTHERS, TENSORFLOW,
     "tf.config.experimental.set_memory_growth(gpu, True), when several programs share the GPU: "
     "TensorFlow takes all of it at its start",
     NULL, "it takes only what it uses", "more fragmentation"},
    {"gpu_memory_utilization", KV_CACHE, VLLM,
     "a larger share of the GPU (--gpu-memory-utilization), or no captured graphs "
     "(--enforce-eager)",
     NULL, "what it gains goes to the cache", "less room for peaks; without graphs it is slower"},
    {"gpu_memory_utilization", OTHERS | CAPACITY | PIECES | WORKSPACE | UNKNOWN | LOGITS | GIANT,
     VLLM,
     "a smaller share of the GPU for weights and cache (--gpu-memory-utilization), or fewer "
     "requests at once (--max-num-seqs)",
     NULL, "what the cache gives up is free for the rest", "fewer requests run at once"},
    {"mem_fraction_static", KV_CACHE, SGLANG, "raise --mem-fraction-static", NULL,
     "what it gains goes to the cache", "less room for peaks"},
    {"mem_fraction_static", CAPACITY | PIECES | WORKSPACE | UNKNOWN | LOGITS | GIANT, SGLANG,
     "lower --mem-fraction-static or --chunked-prefill-size", NULL,
     "what the cache gives up is free for the rest", "fewer requests run at once"},
    {"max_model_len", KV_CACHE, VLLM | SGLANG,
     "a shorter longest request (vLLM --max-model-len, SGLang --context-length)", NULL,
     "the cache of one request shrinks with it", "longer requests are refused"},
    {"quantize_weights", KV_CACHE, VLLM | SGLANG,
     "weights of 8 or 4 bits, or the model split over several GPUs (tensor parallel)", NULL,
     "what the weights give up goes to the cache", "other rounding, or more GPUs"},
    {"shorter_context", KV_CACHE | WORKSPACE, LLAMA, "a smaller context (-c, num_ctx)", NULL,
     "cache and compute buffers shrink with it", "less text fits"},
    {"smaller_batch", SINGLE, LLAMA, "a smaller -ub (and -b): the compute buffer is one allocation",
     NULL, "it shrinks with the batch", "the prompt is read more slowly"},
    {"fewer_layers_on_gpu", UNKNOWN | CAPACITY | GIANT | WORKSPACE, LLAMA,
     "fewer layers on the GPU (-ngl, num_gpu)", NULL, "the rest stays in memory of the host",
     "those layers are slower"},
    {"quantize_weights", UNKNOWN | CAPACITY | GIANT | KV_CACHE, LLAMA,
     "a file of fewer bits a weight (Q4_K_M), or a smaller model", NULL, "weights take less",
     "other rounding"},
    {"larger_workspace", CAP, OF(OOM_TENSORRT),
     "a larger workspace (--memPoolSize=workspace:..., set_memory_pool_limit)", NULL,
     "the builder finds an algorithm", "more memory while the engine is built"},
    {"smaller_workspace", WORKSPACE, OF(OOM_TENSORRT),
     "a smaller workspace (--memPoolSize=workspace:..., set_memory_pool_limit)", NULL,
     "the builder skips algorithms that need more", "a slower algorithm may be chosen"},
    {"smaller_batch", OF(OOM_CAUSE_NCCL), ANY_FRAMEWORK,
     "leave NCCL some hundred MiB: a smaller batch, or a cap on the framework "
     "(torch.cuda.set_per_process_memory_fraction(0.95))",
     NULL, "buffers of each channel and peer fit", "a little less for the training"},
    {"fewer_channels", OF(OOM_CAUSE_NCCL), ANY_FRAMEWORK,
     "fewer or smaller buffers: NCCL_MAX_NCHANNELS, NCCL_BUFFSIZE", NULL,
     "buffers shrink with both", "communication may be slower"},
    {"chunked_loss", LOGITS, PYTORCH,
     "compute loss and logits in chunks or fused (Liger's or Apple's cut cross-entropy), and only "
     "for the positions that need them",
     NULL, "the whole matrix never exists", "a change of the code"},
    {"flash_attention", ATTENTION, PYTORCH,
     "attention without the matrix: torch.nn.functional.scaled_dot_product_attention, flash or "
     "memory-efficient; compile flex_attention",
     NULL, "memory grows with the length, not with its square", "a change of the code"},
    {"shorter_sequence", ATTENTION | LOGITS, PYTORCH | XLA | TENSORFLOW, "shorter sequences", NULL,
     "half the length is a quarter of the matrix of attention, half of the logits",
     "the model sees less context"},
    {"no_grad_in_evaluation", OF(OOM_CAUSE_EVALUATION), PYTORCH | CUDA | MPS,
     "torch.no_grad() or torch.inference_mode() around evaluation, and a smaller batch there", NULL,
     "activations are freed layer by layer", "none"},
    {"move_results_to_cpu", OF(OOM_CAUSE_RESULTS), PYTORCH | CUDA | OF(OOM_PYTHON),
     "move outputs to the host at each step, or reduce them to what the metric needs "
     "(Transformers: eval_accumulation_steps, preprocess_logits_for_metrics)",
     NULL, "the GPU holds the outputs of one step", "copies to the host"},
    {"map_location_cpu", OF(OOM_CAUSE_LOADING), ANY_FRAMEWORK,
     "load to the host first (torch.load(..., map_location='cpu'); Paddle: return_numpy=True)",
     NULL, "no second copy of the weights on the GPU, and none on another rank's", "none"},
    {"8bit_optimizer", OPTIMIZER, PYTORCH | CUDA,
     "an optimizer with a smaller state (bitsandbytes' AdamW8bit, Adafactor)", NULL,
     "8 bytes a weight become 2", "other rounding of the moments"},
    {"shard_optimizer", OPTIMIZER, PYTORCH | CUDA,
     "shard the optimizer's state over the GPUs (ZeRO, FSDP), or train few weights (LoRA)", NULL,
     "each GPU holds its share", "more communication"},
    {"smaller_weights", WEIGHTS, PYTORCH | CUDA,
     "weights of 16, 8 or 4 bits, or the model split over several GPUs", NULL,
     "half or a quarter of the memory", "other rounding"},
    {"cpu_offload", WEIGHTS, PYTORCH | CUDA,
     "keep weights on the host and move layers when they are needed (device_map='auto', "
     "enable_model_cpu_offload(), ZeRO-3 offload)",
     NULL, "the GPU holds some layers at a time", "slower: weights are copied"},
    {"cut_tensor", GIANT | SINGLE, PYTORCH | CUDA | XLA | TENSORFLOW | MPS,
     "do this operation in pieces, or with a smaller input: one tensor is larger than the GPU",
     NULL, "each piece fits", "a change of the code"},
    {"restart_process", FREE_ABOVE, ANY_FRAMEWORK,
     "start the process (or notebook kernel) anew; if it comes again, check for limits on this "
     "process (ulimit -v, MIG, WSL) and for a newer driver and framework",
     NULL, "a damaged context is gone", "what was not saved"},
    {"smaller_input", UNKNOWN | CAPACITY | PIECES | GROWTH, MPS,
     "a smaller input (picture, sequence, batch) or model", NULL, "activations shrink with it",
     "less detail"},
    {"set_device_of_rank", OF(OOM_CAUSE_PLACEMENT), PYTORCH | CUDA,
     "give each rank its own GPU: torch.cuda.set_device(local_rank) before anything else of CUDA, "
     "and torch.load(..., map_location='cpu')",
     NULL, "each rank has a GPU of its own", "none at run time; a change of the code"},
    {"leave_workers", ONLY_CONTEXTS, PYTORCH | CUDA, LEAVE_WORKERS, NULL,
     "each CUDA context less frees 0.3 to 1 GiB", "none at run time; a change of the code"},
    {"unpin", PINNED | PINNING, PYTORCH | CUDA, UNPIN, NULL,
     "at most num_workers x prefetch_factor batches are pinned at a time",
     "copies to the GPU from memory that is not pinned are slower; few workers may let it wait"},
    {"stop_holder", OTHERS, ANY_FRAMEWORK & ~(VLLM | SGLANG | TENSORFLOW | XLA), STOP,
     holder_effect, "all that it holds becomes free", "the other program's work"},
    {"leave_workers", CONTEXTS, PYTORCH | CUDA, LEAVE_WORKERS, NULL,
     "each CUDA context less frees 0.3 to 1 GiB", "none at run time; a change of the code"},
    {"raise_cap", CAP, PYTORCH, "raise the cap (torch.cuda.set_per_process_memory_fraction)",
     cap_effect, "the GPU's own size is the limit then", "others on the same GPU may get less"},
    {"raise_cap", CAP, XLA, "raise the cap (XLA_PYTHON_CLIENT_MEM_FRACTION)", cap_effect,
     "the GPU's own size is the limit then", "others on the same GPU may get less"},
    {"raise_cap", CAP, TENSORFLOW,
     "raise the cap (memory_limit of tf.config.LogicalDeviceConfiguration)", cap_effect,
     "the GPU's own size is the limit then", "others on the same GPU may get less"},
    {"raise_cap", CAP, CUPY, "raise the cap (set_limit of the memory pool, CUPY_GPU_MEMORY_LIMIT)",
     cap_effect, "the GPU's own size is the limit then", "others on the same GPU may get less"},
    {"drop_references", GROWTH, PYTORCH, DROP_REFERENCES, NULL,
     "memory stays level from the second epoch on", "none at run time; a change of the code"},
    {"drop_references", GROWTH, ~PYTORCH,
     "find what keeps results of earlier steps (lists, caches, closures), and keep numbers instead",
     NULL, "memory stays level from the second epoch on", "none at run time; a change of the code"},
    {"expandable_segments", PIECES | CAP | GROWTH, PYTORCH, EXPANDABLE, expandable_effect,
     "less is lost between tensors",
     "none known for one process; sharing tensors between processes may not work with it"},
    {"empty_cache", PIECES, PYTORCH,
     "call torch.cuda.empty_cache() between epochs, or between training and validation; never in "
     "every step",
     NULL, "segments that are wholly free are given back, so that those of other sizes can come",
     "some 10 to 100 ms a call; in every step it makes a training much slower"},
    {"cuda_malloc_async", PIECES, TENSORFLOW, "set TF_GPU_ALLOCATOR=cuda_malloc_async", NULL,
     "the driver's own pool fragments less", "allocation is a little slower"},
    {"no_preallocation", UNKNOWN | OTHERS, XLA,
     "set XLA_PYTHON_CLIENT_PREALLOCATE=false, when several programs share the GPU (JAX takes 75 % "
     "of it at its start)",
     NULL, "it takes only what it uses", "more fragmentation"},
    {"drop_references", MAY_GROW, PYTORCH,
     "if allocated memory rises over epochs: " DROP_REFERENCES, NULL,
     "memory stays level from the second epoch on", "none at run time; a change of the code"},
    {"smaller_input", UNKNOWN | CAPACITY | PIECES, INFERENCE,
     "a smaller picture, or fewer at a time", NULL, "activations shrink with it", "less detail"},
    {"cpu_offload", UNKNOWN | CAPACITY | PIECES, INFERENCE,
     "keep what is not needed on the host (ComfyUI --lowvram, diffusers' "
     "enable_model_cpu_offload())",
     NULL, "the GPU holds one part of the model at a time", "slower: weights are copied"},
    {"smaller_batch",
     CAPACITY | GROWTH | CAP | PIECES | UNKNOWN | OF(OOM_CAUSE_EVALUATION) | LOGITS | ATTENTION |
         OF(OOM_CAUSE_IMPOSSIBLE) | GIANT,
     PYTORCH,
     "a smaller batch with gradient accumulation: half the batch size and twice the steps keep the "
     "effective batch",
     batch_effect, "activations shrink with the batch; weights and the optimiser's state do not",
     "more steps of less work: somewhat slower; batch norm sees smaller batches"},
    {"cut_tensor", CAPACITY | GROWTH | PIECES | UNKNOWN, RAPIDS | OF(OOM_NUMBA),
     "read and process the data in pieces, or let it spill to the host (managed memory)", NULL,
     "only a piece is on the GPU", "more calls of less work; spilling is slow"},
    {"smaller_pieces", CAPACITY | GROWTH | CAP | PIECES | UNKNOWN, CUPY | CUDA,
     "process the data in smaller pieces (in a training: a smaller batch)", NULL,
     "temporary arrays shrink with the piece", "more calls of less work"},
    {"free_pool", PIECES | CAPACITY | UNKNOWN, CUPY,
     "call cupy.get_default_memory_pool().free_all_blocks() after large temporaries are deleted",
     NULL, "cached blocks that hold no array are given back", "the next allocations are slower"},
    {"stop_holder", UNKNOWN, ANY_FRAMEWORK & ~(MPS | VLLM | SGLANG), STOP, holder_effect,
     "all that it holds becomes free", "the other program's work"},
    {"smaller_batch_or_input", CAPACITY | GROWTH | PIECES | UNKNOWN | WORKSPACE | CAP,
     OTHER_TRAINS | TENSORFLOW | XLA,
     "a smaller batch, or a smaller input (resolution, length, crops)", NULL,
     "activations shrink with it", "more steps of less work"},
    {"lora", CAPACITY, LLM, "train few weights (LoRA, or QLoRA over weights of 4 bits)", NULL,
     "gradients and the optimiser's state (12 bytes a weight with Adam) shrink to a hundredth",
     "another training: results differ"},
    {"shard_optimizer", CAPACITY, LLM,
     "shard weights, gradients and the optimiser's state over the GPUs (ZeRO, FSDP), or keep them "
     "on the host (offload)",
     NULL, "each GPU holds its share", "more communication"},
    {"shorter_sequence", CAPACITY, LLM, "shorter sequences", NULL,
     "activations shrink with the length", "the model sees less context"},
    {"mixed_precision", CAPACITY | CAP | PIECES | UNKNOWN, PYTORCH,
     "mixed precision: torch.autocast with bfloat16, or float16 and a GradScaler", NULL,
     "activations take about half; weights and the optimiser's state stay",
     "other rounding: results differ a little"},
    {"mixed_precision", CAPACITY | CAP | PIECES | UNKNOWN, TENSORFLOW,
     "mixed precision: tf.keras.mixed_precision.set_global_policy('mixed_bfloat16'), or "
     "'mixed_float16'",
     NULL, "activations take about half; weights and the optimiser's state stay",
     "other rounding: results differ a little"},
    {"mixed_precision", CAPACITY | CAP | PIECES | UNKNOWN, XLA,
     "mixed precision: compute in jax.numpy.bfloat16", NULL,
     "activations take about half; weights and the optimiser's state stay",
     "other rounding: results differ a little"},
    {"activation_checkpointing", CAPACITY | CAP | PIECES | UNKNOWN, PYTORCH,
     "activation (gradient) checkpointing (torch.utils.checkpoint)", NULL,
     "activations of the wrapped layers are not kept",
     "they are computed twice: about a third more time"},
    {"activation_checkpointing", CAPACITY | CAP | PIECES | UNKNOWN, TENSORFLOW,
     "activation (gradient) checkpointing (tf.recompute_grad)", NULL,
     "activations of the wrapped layers are not kept",
     "they are computed twice: about a third more time"},
    {"activation_checkpointing", CAPACITY | CAP | PIECES | UNKNOWN, XLA,
     "activation (gradient) checkpointing (jax.checkpoint)", NULL,
     "activations of the wrapped layers are not kept",
     "they are computed twice: about a third more time"},
    {"expandable_segments", CAPACITY | LOGITS | OPTIMIZER | OF(OOM_CAUSE_EVALUATION), PYTORCH,
     EXPANDABLE, expandable_effect, "less is lost between tensors",
     "none known for one process; sharing tensors between processes may not work with it"},
};

static uint64_t needs_of(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    uint64_t contexts = diagnosis->only_contexts ? ONLY_CONTEXTS : CONTEXTS;
    return OF(diagnosis->cause) | (diagnosis->may_grow ? MAY_GROW : 0) |
           (diagnosis->bare_contexts ? contexts : 0) |
           (message->origin == OOM_ORIGIN_PIN_MEMORY ? PINNING : 0);
}

/* The server that a message of PyTorch comes from. */
static enum oom_framework program_of(const struct oom *message)
{
    if (message->framework != OOM_PYTORCH && message->framework != OOM_CUDA)
        return message->framework;
    return message->hints & OOM_HINT_VLLM     ? OOM_VLLM
           : message->hints & OOM_HINT_SGLANG ? OOM_SGLANG
                                              : message->framework;
}

/* Remedies that help trainings alone. */
static bool trains_only(const struct row *row)
{
    return strcmp(row->name, "smaller_batch") == 0 ||
           strcmp(row->name, "activation_checkpointing") == 0;
}

static bool applies(const struct row *row, const struct oom *message,
                    const struct oom_diagnosis *diagnosis)
{
    /* A driver's error in a log with figures of PyTorch's allocator is of a PyTorch program. */
    bool is_pytorch = message->framework == OOM_CUDA && message->printed.epochs > 0;
    uint64_t framework = OF(is_pytorch ? OOM_PYTORCH : program_of(message));
    bool generates = framework & (PYTORCH | CUDA) && message->hints & OOM_HINT_INFERENCE;
    if (row->frameworks == INFERENCE)
        return generates && row->causes & needs_of(message, diagnosis);
    if (row->frameworks == LLM)
        return framework & PYTORCH && message->hints & OOM_HINT_LLM && !generates &&
               row->causes & needs_of(message, diagnosis);
    if (generates && trains_only(row))
        return false;
    if (!(row->causes & needs_of(message, diagnosis)) || !(row->frameworks & framework))
        return false;
    /* With expandable segments PyTorch itself returns all that the call would. */
    if (strcmp(row->name, "empty_cache") == 0)
        return !diagnosis->expandable_on;
    if (strcmp(row->name, "expandable_segments") != 0)
        return true;
    return !diagnosis->expandable_on &&
           (diagnosis->expandable_fits || diagnosis->cause == OOM_CAUSE_FRAGMENTATION);
}

void remedies_fill(const struct oom *message, struct oom_diagnosis *out)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows && out->remedy_count < OOM_REMEDIES_MAX;
         i++) {
        const struct row *row = &rows[i];
        if (!applies(row, message, out))
            continue;
        char *effect = row->measured ? row->measured(message, out) : NULL;
        out->remedies[out->remedy_count++] = (struct oom_remedy){
            row->name, row->what, effect ? effect : mem_strdup(row->effect), row->cost};
    }
}
