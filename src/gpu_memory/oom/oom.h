/* oom: out-of-memory messages in logs of any size: the words of every framework, whole or broken over lines, as a list,
 * from several ranks at once. Pure: bytes in, messages out, within constant memory. */
#ifndef TARE_GPU_MEMORY_OOM_OOM_H
#define TARE_GPU_MEMORY_OOM_OOM_H

#include "gpu_memory/oom/line.h"
#include "gpu_memory/oom/size.h"

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
const char *oom_figure_name(enum oom_figure figure); /* "requested": the key in JSON */

struct oom_process {
    int64_t pid;
    struct oom_size memory; /* not valid: the driver did not know */
};

enum { OOM_PROCESSES_MAX = 64, OOM_TEXT_SIZE = 400, OOM_SOURCE_SIZE = 32, OOM_SHAPE_SIZE = 96 };

struct oom {
    enum oom_framework framework;
    uint64_t line, last_line;      /* from 1: where it begins, and the last line that says something of it */
    uint64_t repeats;              /* of oom_list: so often the very same came again */
    char source[OOM_SOURCE_SIZE];  /* who printed it, where each line says so: "rank3", "default0"; "" */
    int64_t gpu;                   /* as the program counts; -1: not said */
    char shape[OOM_SHAPE_SIZE];    /* TensorFlow: "64x512 float"; "" */
    struct oom_size of[OOM_FIGURES];
    struct oom_process processes[OOM_PROCESSES_MAX]; /* "Process N has ..." */
    size_t process_count, processes_left_out;
    char text[OOM_TEXT_SIZE];      /* the first line from its first word on, printable */
};

/* Called for each message when it has ended; it is lent. */
typedef void oom_found_fn(void *context, const struct oom *message);

struct oom_finder;
struct oom_finder *oom_finder_new(oom_found_fn *found, void *context);
void oom_finder_free(struct oom_finder *finder); /* NULL: nothing */

/* The log's next bytes, cut anywhere. */
void oom_finder_take(struct oom_finder *finder, const char *bytes, size_t count);
void oom_finder_end(struct oom_finder *finder); /* the log has ended: what is open is told */

uint64_t oom_finder_lines(const struct oom_finder *finder);

/* The messages of a log, each once: those that say word for word the same count as repeats. An oom_found_fn with the
 * list as its context. */
enum { OOM_LIST_MAX = 64 };
struct oom_list {
    struct oom *items;
    size_t count, capacity;
    uint64_t found;    /* all, repeats too */
    uint64_t left_out; /* more than OOM_LIST_MAX */
};
void oom_list_add(void *list, const struct oom *message);
void oom_list_fini(struct oom_list *list);

/* A log that lies in memory. */
void oom_parse(const char *bytes, size_t count, struct oom_list *out);

#endif
