/* oom: out-of-memory messages in logs of any size: the words of every framework, whole or broken
 * over lines, as a list, from several ranks at once. Pure: bytes in, messages out, within constant
 * memory. */
#ifndef TARE_GPU_MEMORY_OOM_OOM_H
#define TARE_GPU_MEMORY_OOM_OOM_H

#include "base/text.h"
#include "gpu_memory/oom/printed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does one line of a log show that a GPU's memory ran out? Pure: bytes in, no memory taken. */

enum oom_framework {
    OOM_NONE, /* it does not */
    OOM_PYTORCH,
    OOM_TENSORFLOW,
    OOM_XLA, /* JAX, or TensorFlow's newer compiler: they share the allocator and its messages */
    OOM_CUPY,
    OOM_CUDA, /* the driver's or a library's own error: it says nothing of sizes */
    OOM_MPS,  /* PyTorch on Apple's GPUs */
    OOM_VLLM,
    OOM_SGLANG,
    OOM_LLAMA_CPP,
    OOM_ONNX,
    OOM_TENSORRT,
    OOM_PADDLE,
    OOM_MXNET,
    OOM_CAFFE,
    OOM_DARKNET,
    OOM_NCCL,
    OOM_RAPIDS, /* RMM, thrust */
    OOM_NUMBA,
    OOM_TRITON,
    OOM_SYSTEM, /* the kernel, a shell, a launcher, a library of the operating system */
    OOM_SLURM,
    OOM_KUBERNETES,
    OOM_RAY,
    OOM_PYTHON,  /* the interpreter, numpy */
    OOM_MACHINE, /* a virtual machine: Java, Node */
    OOM_FRAMEWORKS
};

/* Which memory ran out. */
enum oom_kind {
    OOM_KIND_GPU,
    OOM_KIND_HOST,    /* memory, shared memory or disk of the machine */
    OOM_KIND_ON_CHIP, /* shared memory of a multiprocessor: a kernel asks for more than there is */
};

enum oom_cause {
    OOM_CAUSE_UNKNOWN,       /* the message has no numbers, or they contradict it */
    OOM_CAUSE_OTHERS,        /* other processes hold what was needed */
    OOM_CAUSE_FRAGMENTATION, /* what is reserved and in no tensor could have held it */
    OOM_CAUSE_GROWTH,        /* it grew from epoch to epoch, or from step to step */
    OOM_CAUSE_CAPACITY,      /* tensors and the request are more than there is */
    OOM_CAUSE_CAP,           /* a cap forbade what the GPU had */
    OOM_CAUSE_PINNED,        /* host memory could not be pinned */
    OOM_CAUSE_GIANT,         /* one request is larger than the GPU */
    OOM_CAUSE_PROGRAM,       /* the size asked for is an error of the program */
    OOM_CAUSE_FREE_ABOVE,    /* more was free than was asked for */
    OOM_CAUSE_IMPOSSIBLE,    /* the figures contradict each other */
    OOM_CAUSE_SINGLE,        /* one allocation is larger than the driver allows */
    OOM_CAUSE_KV_CACHE,      /* no room for the cache of keys and values */
    OOM_CAUSE_WORKSPACE,     /* scratch memory of a library */
    OOM_CAUSE_NCCL,          /* buffers of the communication library */
    OOM_CAUSE_PLACEMENT,     /* several ranks use one GPU by mistake */
    OOM_CAUSE_ON_CHIP,       /* shared memory of a multiprocessor */
    /* By the place in the program. */
    OOM_CAUSE_EVALUATION, /* evaluation keeps what only training needs */
    OOM_CAUSE_RESULTS,    /* outputs of all batches are collected */
    OOM_CAUSE_LOGITS,     /* logits, or the loss on them */
    OOM_CAUSE_ATTENTION,  /* a matrix of length by length */
    OOM_CAUSE_OPTIMIZER,  /* the optimizer's state */
    OOM_CAUSE_WEIGHTS,    /* the model's weights alone */
    OOM_CAUSE_LOADING,    /* a checkpoint beside the model */
    /* The host's: among those that may be one failure, the later is more specific. */
    OOM_CAUSE_DISK,
    OOM_CAUSE_HOST_KILLED, /* by the kernel, or by a user */
    OOM_CAUSE_WORKER,      /* a worker of the data loader */
    OOM_CAUSE_HOST_LIMIT,  /* of a container, job or pod */
    OOM_CAUSE_SHM,
    OOM_CAUSE_HOST_CAPACITY, /* a host allocation was refused */
    OOM_CAUSE_PYTHON,        /* an array or object of Python */
    OOM_CAUSES
};

/* The place in the program that a traceback above the message names. */
enum oom_origin {
    OOM_ORIGIN_UNKNOWN,
    OOM_ORIGIN_PIN_MEMORY, /* pinning of host memory */
    OOM_ORIGIN_WORKER,     /* a worker process of a DataLoader */
};

enum oom_setting { OOM_SETTING_UNKNOWN, OOM_SETTING_OFF, OOM_SETTING_ON };

/* The phrases by which messages are known, as they are in a line. */
struct oom_phrase {
    const char *text;
    enum oom_framework framework;
    enum oom_kind kind;
    enum oom_cause cause; /* OOM_CAUSE_UNKNOWN: the figures decide */
    unsigned flags;
    const char *front; /* without blanks: in the same line before it; NULL: anything */
};
enum {
    OOM_PHRASE_LEAD = 1,    /* figures are in front of it */
    OOM_PHRASE_LINE = 2,    /* nothing else is in the line */
    OOM_PHRASE_END = 4,     /* the line ends after it, or after a number */
    OOM_PHRASE_MORE = 8,    /* belongs to an earlier message of the same framework */
    OOM_PHRASE_CAUGHT = 16, /* the program says itself that it goes on */
    OOM_PHRASE_PROSE = 32,  /* people write so as well */
    OOM_PHRASE_FALLS = 64   /* "2048 to 1024" follows, the second number being the smaller */
};
enum { OOM_PHRASES_MAX = 240 };
extern const struct oom_phrase oom_phrases[]; /* ends with NULL */

/* A size as a message prints it, with every size that would print so. */

/* bytes: what was printed. low and high: the smallest and the largest size in bytes that rounds to
 * it; both are bytes where it was printed in bytes. */
struct oom_size {
    uint64_t bytes, low, high;
    bool valid; /* false: not printed, or the driver's "not available" (2^64 bytes) */
};

/* Whether a >= b whatever the rounding was: OOM_UNSURE where it depends on that, or one is not
 * valid. */
enum oom_sure { OOM_NO, OOM_UNSURE, OOM_YES };

/* What a message says of memory. */
enum oom_figure {
    OOM_REQUESTED,   /* the segment that was asked for: PyTorch rounds up what the tensor needs */
    OOM_TOTAL,       /* the GPU's */
    OOM_FREE,        /* of the GPU's */
    OOM_OWN,         /* this process's, whatever for */
    OOM_ALLOWED,     /* a cap set by the program */
    OOM_ALLOCATED,   /* by tensors */
    OOM_UNALLOCATED, /* reserved by the framework, and in no tensor */
    OOM_PRIVATE,     /* allocated in private pools, such as CUDA graphs */
    OOM_RESERVED,    /* by the framework, as older versions say it */
    OOM_FIGURES
};

struct oom_process {
    int64_t pid;
    struct oom_size memory; /* not valid: the driver did not know */
};

enum {
    OOM_PROCESSES_MAX = 64,
    OOM_TEXT_SIZE = 400,
    OOM_SOURCE_SIZE = 32,
    OOM_SHAPE_SIZE = 96,
    OOM_FILE_SIZE = 256,
    OOM_FUNCTION_SIZE = 64
};

/* The innermost line of the traceback that is not of an installed library. */
struct oom_place {
    char file[OOM_FILE_SIZE]; /* "": not known */
    char function[OOM_FUNCTION_SIZE];
    int64_t line; /* -1: not said */
};

/* Facts that the traceback shows. */
enum {
    OOM_HINT_EVALUATION = 1,
    OOM_HINT_RESULTS = 2,
    OOM_HINT_LOGITS = 4,
    OOM_HINT_ATTENTION = 8,
    OOM_HINT_OPTIMIZER = 16,
    OOM_HINT_WEIGHTS = 32,
    OOM_HINT_LOADING = 64,
    OOM_HINT_KEPT_LOSS = 128,
    OOM_HINT_VLLM = 256,
    OOM_HINT_SGLANG = 512,
    OOM_HINT_LLM = 2048,       /* a training of a language model */
    OOM_HINT_INFERENCE = 1024, /* a program that generates pictures and trains nothing */
};

struct oom {
    enum oom_framework framework;
    enum oom_kind kind;
    enum oom_cause cause; /* by the words alone; OOM_CAUSE_UNKNOWN: the figures decide */
    struct oom_place place;
    unsigned hints;
    uint64_t line;                /* from 1: where it begins */
    uint64_t last_line;           /* the last that says something of it */
    uint64_t repeats;             /* of oom_list: so often the very same came again */
    char source[OOM_SOURCE_SIZE]; /* who printed it, where each line names it: "rank3"; "" */
    int64_t gpu;                  /* as the program counts; -1: not said */
    int64_t epoch;                /* the last that the log names before it; -1: none */
    enum oom_origin origin;
    bool went_on;                /* caught: the log names further epochs after it */
    int64_t went_on_batch;       /* the batch size that it names then; 0: none */
    enum oom_setting expandable; /* expandable segments, where the log shows the variable */
    char shape[OOM_SHAPE_SIZE];  /* TensorFlow: "64x512 float"; "" */
    struct oom_size of[OOM_FIGURES];
    struct oom_process processes[OOM_PROCESSES_MAX]; /* "Process N has ..." */
    size_t process_count, processes_left_out;
    struct printed_memory printed; /* by the program, before the message */
    char text[OOM_TEXT_SIZE];      /* the first line from its first word on, printable */
};

/* Called for each message when the next one of its source begins, or the log ends; it is lent. */
typedef void oom_found_fn(void *context, const struct oom *message);

struct oom_finder;

/* The messages of a log, each once: those that say word for word the same count as repeats. An
 * oom_found_fn with the list as its context. */
enum { OOM_LIST_MAX = 64 };
struct oom_list {
    struct oom *items;
    size_t count;
    uint64_t found;    /* all, repeats too */
    uint64_t left_out; /* more than OOM_LIST_MAX */
};

#endif
