/* printed: memory that a training prints into its log, epoch by epoch, and its trend. Pure. */
#ifndef TARE_GPU_MEMORY_OOM_PRINTED_H
#define TARE_GPU_MEMORY_OOM_PRINTED_H

#include "gpu_memory/oom/growth.h"

#include <stdint.h>

/* The highest figures of an epoch in bytes; 0: not printed. */
struct printed_epoch {
    int64_t number;
    unsigned prints;
    double allocated, reserved, peak; /* peak: of allocated */
};

/* The last epochs that a log prints memory of, in ascending order. */
struct printed {
    struct printed_epoch epochs[GROWTH_POINTS_MAX];
    size_t count;
};

/* Adds the figures of a line to those of its epoch: memory_allocated(), memory_reserved() and
 * max_memory_allocated() of PyTorch as programs print them ("allocated 1234 MB, reserved 5.6 GiB",
 * "1.2 GB allocated", "torch.cuda.memory_allocated(): 1234567890", "max mem: 5678", rows of
 * memory_summary()). A figure without a unit has that of the next one in the line; alone, it is in
 * bytes from a million on, and smaller ones are left out. Ignored: epoch < 0, and messages of the
 * allocator. A number below the last one's begins another training. */
void printed_read(struct printed *printed, int64_t epoch, const char *text, size_t length);

enum printed_trend {
    PRINTED_SHORT, /* fewer than GROWTH_EPOCHS_LEAST epochs */
    PRINTED_RISING,
    PRINTED_LEVEL,
    PRINTED_UNCLEAR,
};
const char *printed_trend_name(enum printed_trend trend); /* "rising" */

struct printed_memory {
    size_t epochs; /* 0: no figures */
    int64_t first_epoch, last_epoch;
    enum printed_trend trend;
    bool of_peaks;        /* the trend is that of max_memory_allocated() */
    struct growth growth; /* of allocated, bytes_per_epoch by the epochs' numbers */
    double allocated_first, allocated_last;
    double reserved_first, reserved_last; /* 0: not printed */
    double unused_last;                   /* reserved, beyond the peak where that is known */
};

/* An epoch with fewer prints than the one before it has not ended, and is left out. */
struct printed_memory printed_summary(const struct printed *printed);

#endif
