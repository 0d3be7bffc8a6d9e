/* request: what a run does, with which resources, and its listener. */
#ifndef TARE_RUN_REQUEST_H
#define TARE_RUN_REQUEST_H

#include "machine/contain/contain.h"
#include "results/store/store.h"

/* event: after it is durable, if it is journaled. tick: about once a second; false: the next one
 * may come half a minute later. */
struct run_listener {
    void (*event)(void *context, const struct event *event);
    bool (*tick)(void *context);
    void *context;
    /* true: begin no more experiments. Called after an experiment's events; may be NULL */
    bool (*enough)(void *context);
};

struct again;                 /* run/again.h */
struct other_code;            /* run/environment/other_code.h */
struct expected;              /* plan/expected.h */
struct cpus;                  /* base/cpus.h */
struct energy_meters_options; /* measure/energy_meters.h */
struct governor_keeper;       /* machine/governor/governor_keeper.h */
struct gpu_locks;             /* machine/gpu/lock.h */
struct guardian;              /* machine/contain/guardian.h */
struct state;                 /* machine/state/state.h */
struct census_roots;          /* machine/state/census.h */

struct run_governor {
    struct governor_keeper *keeper; /* borrowed; NULL: not permitted, or: */
    const struct err *why;          /* why it did not start; "": not tried */
    const char *sysroot;
};

struct run_gpu_locks {
    /* checked after each attempt; NULL: none */
    const struct gpu_locks *locks;
    const char *kind, *text; /* evidence of each attempt; NULL: none */
};

/* The resources of a lane. */
struct run_lane {
    size_t gpu_first, gpu_count; /* of energy_meters */
    /* NAME=VALUE that limits its jobs to these GPUs; may be empty */
    struct strv environment;
    const struct cpus *cpus; /* of its jobs; NULL: all */
    struct strv buses;       /* PCI addresses, where known */
};

struct run_request {
    struct store *store; /* borrowed */
    int dir;
    const char *dir_path;
    /* a task of Slurm: dir is inside the folder that jobs must not write (slurm/tasks.h) */
    bool is_task;
    const struct containment *containment;
    const struct strv *environment;
    /* borrowed; may be NULL */
    struct guardian *guardian;
    /* registered; borrowed; may be NULL */
    struct state *state;
    /* jobs become uid and gid; false if this process has done so */
    bool change_user;
    uid_t uid;
    gid_t gid;
    struct run_listener listener;
    /* of processes and devices; NULL: the machine's */
    const struct census_roots *roots;
    /* NULL: no energy is measured */
    const struct energy_meters_options *energy_meters;
    const struct run_lane *lanes; /* may run at the same time */
    size_t lane_count;            /* 0: one lane with all GPUs */
    struct run_gpu_locks gpu_locks;
    const struct run_governor *governor; /* NULL: never set */
    /* path of libtare-cuda.so; NULL: not found or not wanted */
    const char *preload;
    bool resumed;
    const struct run_budget *budget; /* plan/plan.h; NULL: none */
    bool calibrates;                 /* may load GPUs for calibrations */
    /* durations of earlier runs; may be NULL */
    const struct expected *earlier;
    bool stop_at_failure; /* begin no more after a failed experiment */
    /* only these are run; NULL: all that are left */
    const struct again *again;
    /* machine_software_json at the start; NULL: not compared */
    const json_t *software;
    const struct other_code *other_code; /* evidence for these results; may be NULL */
};

#endif
