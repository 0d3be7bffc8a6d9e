/* memory: what the lane's job has of GPU and host memory while it runs: peak and curve, growth by the epoch (where
 * there are none, in time), and a warning before it runs out. Private to run/. */
#ifndef TARE_RUN_MEMORY_H
#define TARE_RUN_MEMORY_H

#include "machine/gpu/sensor.h"
#include "machine/sensors/meter.h"
#include "measure/memory_curve.h"
#include "gpu_memory/oom/growth.h"
#include "gpu_memory/oom/growth_windows.h"
#include "run/counted.h"

#include "base/mark.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE_MEMORY_GPUS = 16 };

struct memory_gpu {
    const char *label; /* of the gauge */
    const char *uuid;  /* NULL: not known */
    bool by_process;   /* the driver names the job's processes: the figures are the job's own */
    double own_bytes;  /* now; without by_process all that is in use, less what was before the job */
    double before_bytes; /* in use when it was last read before the job; below 0: it never was */
    double used_bytes, total_bytes; /* of the whole GPU; 0: not known */
    struct reading reserved_bytes;  /* of it, by the driver for itself */
    uint32_t every_ms;              /* between two looks at what is in use; 0: only the samples */
    double looked_bytes;            /* the most that such a look saw beyond what was before the job, and when */
    int64_t looked_ns;
    struct memory_curve curve;
    struct counted counted;
    double sampled_peak; /* of curve */
    double load_percent; /* sum of the job's shares of the multiprocessors, in so many looks near that: */
    size_t load_looks;
    double epoch_peak; /* of the epoch that is open; below 0: nothing was read in it */
    double *peaks;     /* of each epoch that has ended */
    size_t peak_count, peak_capacity;
    struct growth_windows windows; /* for a training that names no epochs */
    bool warned;
};

struct lane_memory {
    bool on;
    struct memory_gpu gpus[LANE_MEMORY_GPUS];
    size_t gpu_count;
    struct memory_curve host;
    char mark[MARK_NAME_MAX + 1]; /* whose epochs are looked at: the first that came, or "epoch" */
    bool open;                    /* an epoch of it */
    int64_t number;               /* of the last epoch that began, as its label says; -1: it says none */
    size_t ended;                 /* epochs */
};

struct lane;

/* None of these does anything where nothing is measured. */
void lane_memory_prepare(struct lane *lane); /* a job is about to be born */
void lane_memory_begin(struct lane *lane);   /* its gate is open */
void lane_memory_tick(struct lane *lane);    /* about once a second */
void lane_memory_mark(struct lane *lane, const struct mark *mark);
void lane_memory_sample(struct lane *lane, const char *label, const struct gpu_sample *sample);
void lane_memory_users(struct lane *lane, const char *label, int64_t t_ns, const struct gpu_users *users);
json_t *lane_memory_take(struct lane *lane); /* what the attempt's memory was, or null */
void lane_memory_fini(struct lane *lane);

/* Of that GPU; 0: not known. */
double lane_memory_total(const struct lane *lane, const char *label);

/* For the ladder, of the attempt that has just ended: the growth that is steepest, and what others than the job had of
 * the GPU on which that was most, as a share of it (0 to 1; 0: not known). */
struct growth lane_memory_growth(const struct lane *lane);
double lane_memory_others_share(const struct lane *lane);

#endif
