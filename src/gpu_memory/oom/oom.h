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
    OOM_FRAMEWORKS
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
};
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

enum { OOM_PROCESSES_MAX = 64, OOM_TEXT_SIZE = 400, OOM_SOURCE_SIZE = 32, OOM_SHAPE_SIZE = 96 };

struct oom {
    enum oom_framework framework;
    uint64_t line;                /* from 1: where it begins */
    uint64_t last_line;           /* the last that says something of it */
    uint64_t repeats;             /* of oom_list: so often the very same came again */
    char source[OOM_SOURCE_SIZE]; /* who printed it, where each line says so: "rank3"; "" */
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
