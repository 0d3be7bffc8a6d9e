/* Remedies in the order in which they are to be tried: what changes nothing of the training comes first. */
#include "gpu_memory/oom/oom_private.h"

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
#define PYTORCH       (OF(OOM_PYTORCH) | OF(OOM_CUDA))

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
                 diagnosis->sure ? diagnosis->others : oom_size_add(diagnosis->others, diagnosis->unlisted),
                 ": this request then fits");
}

static char *cap_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    struct oom_size needed = oom_size_add(diagnosis->reserved, message->of[OOM_REQUESTED]);
    return needed.valid ? sized("from ", needed, " on, this request fits") : NULL;
}

static char *expandable_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    struct oom_size spare =
        oom_size_sub(oom_size_add(diagnosis->room, diagnosis->unallocated), message->of[OOM_REQUESTED]);
    if (!diagnosis->expandable_fits || !spare.valid)
        return NULL;
    return sized("this request fits, with up to ", spare, " to spare");
}

static char *batch_effect(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    struct oom_size held = message->of[OOM_ALLOCATED];
    if (!diagnosis->missing.valid || diagnosis->missing.bytes == 0 || !held.valid || held.bytes == 0)
        return NULL;
    struct text text = {0};
    oom_size_add_text(diagnosis->missing, &text);
    text_addf(&text,
              " less is needed at least, %.1f %% of what tensors held; activations shrink with the batch, weights "
              "and the optimiser's state do not",
              100 * (double)diagnosis->missing.bytes / (double)held.bytes);
    return text_take(&text);
}

static const struct row {
    const char *name;
    unsigned causes, frameworks;
    const char *what;
    effect_fn *measured;
    const char *effect, *cost;
} rows[] = {
    {"stop_holder", OTHERS | UNKNOWN, ANY_FRAMEWORK,
     "stop what else holds the GPU's memory: '" TARE_NAME " clean' lists it, with owner and age", holder_effect,
     "all that it holds becomes free", "the other program's work"},
    {"raise_cap", CAP, ANY_FRAMEWORK,
     "raise the cap (torch.cuda.set_per_process_memory_fraction, XLA_PYTHON_CLIENT_MEM_FRACTION, CuPy's set_limit)",
     cap_effect, "the GPU's own size is the limit then", "others on the same GPU may get less"},
    {"drop_references", GROWTH, ANY_FRAMEWORK,
     "find what keeps references: add up loss.item() or loss.detach(), not loss (it keeps each step's graph); let the "
     "dataset hand out copies, not references to what it keeps; 'del' outputs before the next step; "
     "optimizer.zero_grad(set_to_none=True)",
     NULL, "memory stays level from the second epoch on", "none at run time; a change of the code"},
    {"expandable_segments", PIECES | CAP | CAPACITY | GROWTH, OF(OOM_PYTORCH),
     "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PyTorch 2.0 or newer; from 2.9 on the name is "
     "PYTORCH_ALLOC_CONF, and the old one still works)",
     expandable_effect, "less is lost between tensors",
     "none known for one process; sharing tensors between processes may not work with it"},
    {"empty_cache", PIECES, OF(OOM_PYTORCH),
     "call torch.cuda.empty_cache() between epochs, or between training and validation; never in every step", NULL,
     "segments that are wholly free are given back, so that those of other sizes can come",
     "some 10 to 100 ms a call; in every step it makes a training much slower"},
    {"cuda_malloc_async", PIECES, OF(OOM_TENSORFLOW) | OF(OOM_XLA),
     "set TF_GPU_ALLOCATOR=cuda_malloc_async (TensorFlow)", NULL, "the driver's own pool fragments less",
     "allocation is a little slower"},
    {"no_preallocation", UNKNOWN | OTHERS, OF(OOM_XLA),
     "set XLA_PYTHON_CLIENT_PREALLOCATE=false, when several programs share the GPU (JAX takes 75 % of it at its start)",
     NULL, "it takes only what it uses", "more fragmentation"},
    {"loaders", GROWTH | CAPACITY | UNKNOWN, ANY_FRAMEWORK,
     "fewer loader workers, no persistent_workers, no pin_memory", NULL,
     "host memory only: nothing of the GPU's, unless workers touch CUDA", "slower loading"},
    {"smaller_batch", CAPACITY | GROWTH | CAP | PIECES | UNKNOWN, ANY_FRAMEWORK,
     "a smaller batch with gradient accumulation: half the batch size and twice the steps keep the effective batch",
     batch_effect, "activations shrink with the batch; weights and the optimiser's state do not",
     "more steps of less work: somewhat slower; batch norm sees smaller batches"},
    {"mixed_precision", CAPACITY | CAP | UNKNOWN, ANY_FRAMEWORK,
     "mixed precision: torch.autocast with bfloat16, or float16 and a GradScaler", NULL,
     "activations take about half; weights and the optimiser's state stay", "other rounding: results differ a little"},
    {"activation_checkpointing", CAPACITY | CAP | UNKNOWN, ANY_FRAMEWORK,
     "activation checkpointing (torch.utils.checkpoint), last", NULL, "activations of the wrapped layers are not kept",
     "they are computed twice: about a third more time"},
};

static bool applies(const struct row *row, const struct oom *message, const struct oom_circumstances *known,
                    const struct oom_diagnosis *diagnosis)
{
    if (!(row->causes & OF(diagnosis->cause)) || !(row->frameworks & OF(message->framework)))
        return false;
    if (strcmp(row->name, "expandable_segments") != 0)
        return true;
    return known->expandable != OOM_SETTING_ON && diagnosis->expandable_fits;
}

void remedies_fill(const struct oom *message, const struct oom_circumstances *known, struct oom_diagnosis *out)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows && out->remedy_count < OOM_REMEDIES_MAX; i++) {
        const struct row *row = &rows[i];
        if (!applies(row, message, known, out))
            continue;
        char *effect = row->measured ? row->measured(message, out) : NULL;
        out->remedies[out->remedy_count++] =
            (struct oom_remedy){row->name, row->what, effect ? effect : mem_strdup(row->effect), row->cost};
    }
}
