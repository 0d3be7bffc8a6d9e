/* Whether the background of a parallel experiment loads the GPU: looks at it, first while it runs
 * alone, until its load has held, then beside the foreground. */
#ifndef TARE_RUN_OBSERVERS_LOAD_H
#define TARE_RUN_OBSERVERS_LOAD_H

#include "measure/colocated.h"
#include "run/lane.h"
#include "run/observers/gpu_memory.h"

/* Whether the background loads the GPU, from looks at it, and when the foreground may start.
 * Pure. */
struct load_watch {
    bool visible;           /* some look could tell */
    int64_t since_ns;       /* the load holds since; 0: there is none */
    int64_t last_ns;        /* of the last look that found it; 0: none has */
    bool missed;            /* the look before found none */
    size_t samples, loaded; /* that could tell, and that found it */
};

struct load_times {
    int64_t wait_ns, hold_ns, limit_ns;
    bool set; /* the foreground starts after wait_ns, whether there is load or not */
};

enum load_verdict {
    LOAD_WAIT,
    LOAD_HELD,   /* it has loaded the GPU for hold_ns, and wait_ns are over */
    LOAD_UNSEEN, /* nobody can tell here; wait_ns are over */
    LOAD_SET,    /* nobody asks; wait_ns are over */
    LOAD_NONE    /* limit_ns (wait_ns, when that is longer) are over without it */
};

/* What is known of one GPU. */
struct load_gpu {
    char *label;
    struct reading power_w, utilisation_percent, memory_bytes; /* of the last sample */
    struct reading memory_before_bytes;                        /* before the background was born */
    double background_peak_bytes; /* of the background's processes, since a loop of it ended */
    /* its processes were listed since the last look; the background's load it */
    bool listed, loaded;
    struct colocated_shares shares;
    struct colocated_trace trace;
};

enum load_role { LOAD_OTHER, LOAD_FOREGROUND, LOAD_BACKGROUND };

/* Whose a process is, so that /proc is not searched at every look. */
struct load_member {
    pid_t pid;
    enum load_role role;
};

struct lane_load {
    bool on, beside;  /* looks are taken; the foreground runs */
    bool waiting;     /* for the readings at the end of the time alone */
    bool by_process;  /* the background's processes can be told from others on the GPU */
    int64_t begun_ns; /* the background's first gate was opened; 0: not yet */
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

/* One look (CLOCK_MONOTONIC). A training that reads its data computes nothing for a moment: only
 * two looks in a row without load end it. */
void lane_load_add_sample(struct load_watch *watch, int64_t t_ns, bool loaded);

enum load_verdict lane_load_decide(const struct load_watch *watch, const struct load_times *times,
                                   int64_t begun_ns, int64_t now_ns);

/* The share of the looks that found load; false: too few to say. */
bool lane_load_share(const struct load_watch *watch, double *out);

/* Looks. */
void lane_load_prepare(struct lane *lane); /* the background is about to be born */
void lane_load_begin(struct lane *lane);   /* its gate is open */
const struct lane_load *lane_load_get(const struct lane *lane);

/* What the driver told of the loop that has just ended. */
struct gpu_memory_reported lane_load_loop_peak(struct lane *lane);

#endif
