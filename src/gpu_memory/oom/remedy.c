#include "gpu_memory/oom/remedy.h"
#include "gpu_memory/oom/size.h"

#include "base/mem.h"
#include "tare_build.h"

#include <string.h>

#define OF(cause)     (1U << (cause))
#define UNKNOWN       OF(OOM_CAUSE_UNKNOWN)
#define OTHERS        OF(OOM_CAUSE_OTHERS)
#define PIECES        OF(OOM_CAUSE_FRAGMENTATION)
#define GROWTH        OF(OOM_CAUSE_GROWTH)
#define CAPACITY      OF(OOM_CAUSE_CAPACITY)
#define CAP           OF(OOM_CAUSE_CAP)
#define ANY_FRAMEWORK (~0U)
#define PINNED        OF(OOM_CAUSE_PINNED)
#define PYTORCH       OF(OOM_PYTORCH)
#define TENSORFLOW    OF(OOM_TENSORFLOW)
#define XLA           OF(OOM_XLA)
#define CUPY          OF(OOM_CUPY)
#define CUDA          OF(OOM_CUDA)
/* Besides the cause. */
#define MAY_GROW      OF(OOM_CAUSES)
#define CONTEXTS      OF(OOM_CAUSES + 1)
#define ONLY_CONTEXTS OF(OOM_CAUSES + 2)
#define PINNING       OF(OOM_CAUSES + 3)

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
    if (diagnosis->cause != OOM_CAUSE_OTHERS)
        return NULL;
    return sized("frees up to ",
                 diagnosis->sure ? diagnosis->others
                                 : oom_size_add(diagnosis->others, diagnosis->unlisted),
                 ": this request then fits");
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
    unsigned causes, frameworks;
    const char *what;
    effect_fn *measured;
    const char *effect, *cost;
} rows[] = {
    {"leave_workers", ONLY_CONTEXTS, PYTORCH | CUDA, LEAVE_WORKERS, NULL,
     "each CUDA context less frees 0.3 to 1 GiB", "none at run time; a change of the code"},
    {"unpin", PINNED | PINNING, PYTORCH | CUDA, UNPIN, NULL,
     "at most num_workers x prefetch_factor batches are pinned at a time",
     "copies to the GPU from memory that is not pinned are slower; few workers may let it wait"},
    {"stop_holder", OTHERS | UNKNOWN, ANY_FRAMEWORK,
     "stop what else holds the GPU's memory: '" TARE_NAME " clean' lists it, with owner and age",
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
    {"expandable_segments", PIECES | CAP | CAPACITY | GROWTH, PYTORCH,
     "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PyTorch 2.0 or newer; from 2.9 on the "
     "name is PYTORCH_ALLOC_CONF, and the old one still works)",
     expandable_effect, "less is lost between tensors",
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
    {"free_pool", PIECES | CAPACITY | UNKNOWN, CUPY,
     "call cupy.get_default_memory_pool().free_all_blocks() after large temporaries are deleted",
     NULL, "cached blocks that hold no array are given back", "the next allocations are slower"},
    {"drop_references", MAY_GROW, PYTORCH,
     "if allocated memory rises over epochs: " DROP_REFERENCES, NULL,
     "memory stays level from the second epoch on", "none at run time; a change of the code"},
    {"smaller_batch", CAPACITY | GROWTH | CAP | PIECES | UNKNOWN, PYTORCH | TENSORFLOW | XLA,
     "a smaller batch with gradient accumulation: half the batch size and twice the steps keep the "
     "effective batch",
     batch_effect, "activations shrink with the batch; weights and the optimiser's state do not",
     "more steps of less work: somewhat slower; batch norm sees smaller batches"},
    {"smaller_pieces", CAPACITY | GROWTH | CAP | PIECES | UNKNOWN, CUPY | CUDA,
     "process the data in smaller pieces (in a training: a smaller batch)", NULL,
     "temporary arrays shrink with the piece", "more calls of less work"},
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
};

static unsigned needs_of(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    unsigned contexts = diagnosis->only_contexts ? ONLY_CONTEXTS : CONTEXTS;
    return OF(diagnosis->cause) | (diagnosis->may_grow ? MAY_GROW : 0) |
           (diagnosis->bare_contexts ? contexts : 0) |
           (message->origin == OOM_ORIGIN_PIN_MEMORY ? PINNING : 0);
}

static bool applies(const struct row *row, const struct oom *message,
                    const struct oom_diagnosis *diagnosis)
{
    /* A driver's error in a log with figures of PyTorch's allocator is of a PyTorch program. */
    bool is_pytorch = message->framework == OOM_CUDA && message->printed.epochs > 0;
    unsigned framework = OF(is_pytorch ? OOM_PYTORCH : message->framework);
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
