/* oom_snapshot: what the memory snapshot beside a log says of growth from step to step. */
#ifndef TARE_REPORT_OOM_SNAPSHOT_H
#define TARE_REPORT_OOM_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

struct oom_steps {
    size_t spans;                   /* epochs or steps that were compared */
    double bytes_per_span;          /* the median */
    double first_bytes, last_bytes; /* the least that is alive in the first and the last of them */
};

/* Of memory_snapshot.pickle in the folder, no link, and the GPU with most in it. False: there is
 * none that can be read, or its memory does not grow. */
bool oom_snapshot_steps(int folder, struct oom_steps *out);

#endif
