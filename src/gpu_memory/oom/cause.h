/* cause: why a GPU's memory ran out, with the reasoning in numbers, and what would help; in words
 * and as JSON. Pure. */
#ifndef TARE_GPU_MEMORY_OOM_CAUSE_H
#define TARE_GPU_MEMORY_OOM_CAUSE_H

#include "base/strv.h"
#include "gpu_memory/oom/cause_words.h"
#include "gpu_memory/oom/growth.h"
#include "gpu_memory/oom/oom.h"

#include <jansson.h>

/* What an allocator's setting (PYTORCH_CUDA_ALLOC_CONF; NULL: none is set) says of expandable
 * segments. */
enum oom_setting oom_expandable(const char *conf);

/* What is known besides the message. */
struct oom_circumstances {
    enum oom_setting expandable;
    const struct growth *growth; /* of the job's memory by epoch; NULL: there is no history */
    double batch_size;           /* 0: not known */
};

struct oom_remedy {
    const char *name; /* "expandable_segments" */
    const char *what;
    char *effect; /* owned */
    const char *cost;
};

enum { OOM_REMEDIES_MAX = 12 };

struct oom_diagnosis {
    enum oom_cause cause;
    enum oom_kind kind;   /* of what ran out */
    bool sure;            /* the figures say so whatever their rounding */
    bool may_grow;        /* growth is possible besides the cause: earlier epochs had fitted */
    bool expandable_on;   /* expandable segments are in use already */
    bool bare_contexts;   /* other processes look like bare CUDA contexts */
    bool only_contexts;   /* and there are no others */
    bool expandable_fits; /* with all that is unallocated usable, the request would have fitted */
    /* Of the message or worked out from it; not valid where that cannot be. */
    struct oom_size reserved, unallocated; /* by the framework */
    struct oom_size own;                   /* this process's */
    struct oom_size outside;               /* of that, not the framework's: context, libraries */
    struct oom_size others;                /* listed processes but this one */
    struct oom_size unlisted;              /* in use, and of no process that is listed */
    struct oom_size room;                  /* what a new segment could have */
    struct oom_size missing;               /* how much more it would have needed */
    int64_t own_pid;     /* of "Process N", when this one is not named apart; -1 */
    struct strv reasons; /* sentences */
    struct oom_remedy remedies[OOM_REMEDIES_MAX];
    size_t remedy_count;
};

/* Where the boundaries are: docs/explanation/allocator-replay.md. */
void oom_diagnose(const struct oom *message, const struct oom_circumstances *known,
                  struct oom_diagnosis *out);
void oom_diagnosis_fini(struct oom_diagnosis *diagnosis);

/* A message and why it came, as JSON: docs/reference/memory.md. */

json_t *oom_message_json(const struct oom *message, const struct oom_diagnosis *diagnosis);

#endif
