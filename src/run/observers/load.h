/* load: whether the background of a parallel experiment loads the GPU, before and beside the
 * foreground. */
#ifndef TARE_RUN_OBSERVERS_LOAD_H
#define TARE_RUN_OBSERVERS_LOAD_H

#include "measure/colocated.h"
#include "run/lane.h"
#include "run/observers/gpu_memory.h"

struct load_watch {
    bool visible;           /* some sample could decide */
    int64_t since_ns;       /* the load holds since then; 0: no load */
    int64_t last_ns;        /* of the last sample with load; 0: none */
    bool missed;            /* the previous sample had no load */
    size_t samples, loaded; /* that could decide, with load */
};

struct load_times {
    int64_t wait_ns, hold_ns, limit_ns;
    bool set; /* start after wait_ns, in any case */
};

enum load_verdict {
    LOAD_WAIT,
    LOAD_HELD,   /* for hold_ns, and wait_ns are over */
    LOAD_UNSEEN, /* not visible here; wait_ns are over */
    LOAD_SET,    /* not required; wait_ns are over */
    LOAD_NONE    /* limit_ns are over (or wait_ns, if longer) */
};

struct load_gpu {
    char *label;
    struct reading power_w, utilisation_percent, memory_bytes;
    struct reading memory_before_bytes; /* before the background */
    double background_peak_bytes;       /* since a loop ended */
    /* processes were listed since the last sample; the background loads it */
    bool listed, loaded;
    struct colocated_shares shares;
    struct colocated_trace trace;
};

enum load_role { LOAD_OTHER, LOAD_FOREGROUND, LOAD_BACKGROUND };

/* Caches whose process it is, to avoid searches in /proc. */
struct load_member {
    pid_t pid;
    enum load_role role;
};

struct lane_load {
    bool on, beside;  /* sampling; the foreground runs */
    bool waiting;     /* for the last readings before the foreground */
    bool by_process;  /* the driver lists the background's processes */
    int64_t begun_ns; /* 0: no gate was opened yet */
    int64_t standalone_end_ns;
    enum load_verdict verdict;
    struct load_watch standalone_watch, beside_watch;
    struct colocated_alone standalone;
    bool has_standalone;
    struct load_gpu *gpus;
    size_t gpu_count;
    struct load_member *members;
    size_t member_count;
    struct step_source timer;
    struct rng rng;
};

/* t_ns: CLOCK_MONOTONIC. Reading data needs no GPU for a moment: only two samples without load end
 * it. */
void lane_load_add_sample(struct load_watch *watch, int64_t t_ns, bool loaded);

enum load_verdict lane_load_decide(const struct load_watch *watch, const struct load_times *times,
                                   int64_t begun_ns, int64_t now_ns);

/* Share of samples with load; false: too few. */
bool lane_load_share(const struct load_watch *watch, double *out);

void lane_load_prepare(struct lane *lane); /* before the background is born */
void lane_load_begin(struct lane *lane);   /* after its gate opened */
const struct lane_load *lane_load_get(const struct lane *lane);

struct gpu_memory_reported lane_load_loop_peak(struct lane *lane);

#endif
