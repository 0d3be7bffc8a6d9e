/* oom_snapshot: growth from step to step, by the memory snapshot beside a log. */
#ifndef TARE_REPORT_OOM_SNAPSHOT_H
#define TARE_REPORT_OOM_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

struct oom_steps {
    size_t spans;                   /* epochs or steps that were compared */
    double bytes_per_span;          /* the median */
    double first_bytes, last_bytes; /* the least that is alive in the first and the last of them */
};

/* Reads memory_snapshot.pickle of the folder, unless it is a link: the GPU with most events. False:
 * it cannot be read, or memory does not grow. */
bool oom_snapshot_steps(int folder, struct oom_steps *out);

#endif
