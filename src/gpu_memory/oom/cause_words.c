#include "gpu_memory/oom/cause_words.h"

#include <stddef.h>

static const struct {
    const char *name, *text, *explanation; /* NULL: the figures explain it */
} causes[OOM_CAUSES] = {
    [OOM_CAUSE_UNKNOWN] = {"unknown", "unknown: the message does not say enough", NULL},
    [OOM_CAUSE_OTHERS] =
        {"held_by_others", "other processes hold the memory",
         "The driver refused memory that this program takes at its start: what other "
         "processes hold is the usual reason."},
    [OOM_CAUSE_FRAGMENTATION] = {"fragmentation", "fragmentation: memory was there, in pieces",
                                 NULL},
    [OOM_CAUSE_GROWTH] =
        {"growth", "growth: memory in use grew steadily",
         "The traceback's own line keeps the loss with its graph from step to step."},
    [OOM_CAUSE_CAPACITY] = {"capacity", "capacity: the training needs more than there is", NULL},
    [OOM_CAUSE_CAP] = {"cap", "a cap forbade it, not the GPU",
                       "The program's own limit was reached, not that of the machine."},
    [OOM_CAUSE_PINNED] =
        {"pinned_memory", "pinned memory: the host could not provide it",
         "The driver could not pin memory of the host, and reports that as an out-of-memory "
         "of CUDA."},
    [OOM_CAUSE_GIANT] = {"giant_request", "one request is larger than the GPU: no setting helps",
                         NULL},
    [OOM_CAUSE_PROGRAM] =
        {"bug_size", "the size asked for is an error of the program",
         "No machine has that much: a dimension, an index or a length is wrong, or data that "
         "another process sent is damaged."},
    [OOM_CAUSE_FREE_ABOVE] = {"free_above_request", "not memory: more was free than was asked for",
                              NULL},
    [OOM_CAUSE_IMPOSSIBLE] = {"impossible_figures", "the figures contradict each other", NULL},
    [OOM_CAUSE_SINGLE] =
        {"single_allocation_limit", "one allocation is larger than the driver allows",
         "The sum of memory is not the limit: the driver refuses single allocations of this "
         "size."},
    [OOM_CAUSE_KV_CACHE] =
        {"kv_cache", "the cache of keys and values does not fit",
         "Weights and work space leave too little for the keys and values of a request of the "
         "longest length."},
    [OOM_CAUSE_WORKSPACE] =
        {"workspace", "scratch memory of a library does not fit",
         "The library asked for scratch memory besides weights and activations."},
    [OOM_CAUSE_NCCL] =
        {"nccl", "buffers of NCCL do not fit",
         "NCCL allocates outside the framework's allocator, from what the framework has left "
         "free."},
    [OOM_CAUSE_PLACEMENT] =
        {"rank_placement", "several ranks use one GPU",
         "A rank other than 0 uses GPU 0, where other processes are: the usual reason is a "
         "rank that sets no device."},
    [OOM_CAUSE_ON_CHIP] =
        {"shared_memory", "a kernel asks for more on-chip shared memory than there is",
         "The GPU's memory is not full: the kernel's tiles need more shared memory of a "
         "multiprocessor than this GPU has."},
    [OOM_CAUSE_EVALUATION] =
        {"no_grad_missing", "evaluation keeps what only training needs",
         "The traceback passes through evaluation: without torch.no_grad() each batch "
         "keeps its activations, which training frees in backward."},
    [OOM_CAUSE_RESULTS] =
        {"results_kept", "outputs of all batches are kept on the GPU",
         "The traceback ends where outputs are joined to those of earlier batches."},
    [OOM_CAUSE_LOGITS] =
        {"logits", "logits: batch x length x vocabulary",
         "The traceback ends at the logits or their loss: batch x length x vocabulary "
         "numbers, often copied to 32 bits."},
    [OOM_CAUSE_ATTENTION] =
        {"attention", "attention: a matrix of length x length",
         "The traceback ends in attention that makes the matrix of scores: it grows with the "
         "square of the length."},
    [OOM_CAUSE_OPTIMIZER] =
        {"optimizer_state", "the optimizer's state does not fit",
         "The traceback ends in the optimizer: Adam keeps two numbers for each weight, "
         "allocated at the first step."},
    [OOM_CAUSE_WEIGHTS] =
        {"weights", "the model's weights do not fit",
         "The traceback ends where weights are moved to the GPU: no batch had been there "
         "yet."},
    [OOM_CAUSE_LOADING] =
        {"checkpoint_loading", "a checkpoint is loaded to the GPU beside the model",
         "The traceback ends where a checkpoint is loaded: without map_location its tensors "
         "go to the GPU they were saved from."},
    [OOM_CAUSE_DISK] = {"disk_full", "not the GPU: a disk is full",
                        "No space was left where the program wrote."},
    [OOM_CAUSE_HOST_KILLED] =
        {"host_killed", "not the GPU: killed, as the kernel does when memory runs out",
         "Signal 9 ended the process. 'dmesg' and 'journalctl -k' name the kernel's OOM "
         "killer if it sent it."},
    [OOM_CAUSE_WORKER] = {"loader_worker", "not the GPU: a worker of the data loader was killed",
                          "Each worker holds its own copy of what the dataset touches."},
    [OOM_CAUSE_HOST_LIMIT] =
        {"host_cgroup", "not the GPU: the memory limit of the job, container or pod",
         "The kernel ended a process because its group reached its limit; the machine itself "
         "may have more."},
    [OOM_CAUSE_SHM] = {"shm", "not the GPU: /dev/shm is too small",
                       "Workers hand batches over in /dev/shm (64 MiB in Docker by default)."},
    [OOM_CAUSE_HOST_CAPACITY] = {"host_capacity",
                                 "not the GPU: the machine has no memory left for this request",
                                 "The request was for memory of the machine, not of the GPU."},
    [OOM_CAUSE_PYTHON] = {"python_memory",
                          "not the GPU: an array is larger than the machine's memory",
                          "The request was for memory of the machine, not of the GPU."},
};

const char *oom_cause_name(enum oom_cause cause)
{
    return causes[cause].name;
}

const char *oom_cause_text(enum oom_cause cause)
{
    return causes[cause].text;
}

const char *oom_cause_explanation(enum oom_cause cause)
{
    return causes[cause].explanation;
}
