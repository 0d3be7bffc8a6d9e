/* request: what a run is asked to do, with what, and who is told of it. */
#ifndef TARE_RUN_REQUEST_H
#define TARE_RUN_REQUEST_H

#include "machine/contain/contain.h"
#include "results/store/store.h"

/* event is called for every event, journaled (after its commit) or not. tick: about once a second;
 * where it gives false there is nothing to do between events, and the next one may be half a minute
 * later. */
struct run_listener {
    void (*event)(void *context, const struct event *event);
    bool (*tick)(void *context);
    void *context;
    /* true: nothing more begins. Asked when an experiment has ended and its events were told; may
     * be NULL */
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

/* How the CPU frequency governor is set. */
struct run_governor {
    struct governor_keeper *keeper; /* stays the caller's; NULL: this process may not set it, or: */
    const struct err *why;          /* could not be started for this reason ("": none) */
    const char *sysroot;
};

/* The locks on the GPUs, and what is to be doubted of them. */
struct run_gpu_locks {
    /* machine/gpu/lock.h: looked at after each attempt; NULL: none are held */
    const struct gpu_locks *locks;
    const char *kind, *text; /* evidence of each attempt; NULL: the locks are good */
};

/* GPUs on which one experiment at a time runs. */
struct run_lane {
    size_t gpu_first, gpu_count; /* of those that energy_meters has */
    /* NAME=VALUE: how its jobs see these GPUs and no others; empty: as they are */
    struct strv environment;
    const struct cpus *cpus; /* on which its jobs run; NULL: on all */
    struct strv buses;       /* PCI addresses of these GPUs, where they are known */
};

struct run_request {
    struct store *store; /* open; stays the caller's */
    int dir;             /* the run's folder, open */
    const char *dir_path;
    /* of a submitted run: dir is below its folder (slurm/tasks.h), which is the one that jobs must
     * not write */
    bool is_task;
    const struct containment *containment;
    const struct strv *environment; /* what jobs inherit: the caller's own under sudo */
    /* told of every job while it lives; NULL: none. Stays the caller's */
    struct guardian *guardian;
    /* registered; knows of every job while it lives; NULL: none. Stays the caller's */
    struct state *state;
    /* jobs become uid/gid; false where the caller has become that user already, as cli does */
    bool change_user;
    uid_t uid;
    gid_t gid;
    struct run_listener listener;
    /* where processes and devices are looked for; NULL: the machine's own */
    const struct census_roots *roots;
    /* what measures energy; NULL: nothing does */
    const struct energy_meters_options *energy_meters;
    const struct run_lane *lanes; /* each runs an experiment at the same time as the others */
    size_t lane_count;            /* 0: one, with all GPUs */
    struct run_gpu_locks gpu_locks;
    const struct run_governor *governor; /* NULL: it is left alone, whatever the plan says */
    /* path of libtare-cuda.so; NULL: not found, or nothing of the plan may be followed */
    const char *preload;
    bool resumed;
    const struct run_budget *budget; /* plan/plan.h; NULL: none */
    bool calibrates;                 /* GPUs may be loaded to calibrate their sensors, */
    /* plan/expected.h: where the experiments take long enough, by these; NULL: none */
    const struct expected *earlier;
    bool stop_at_failure; /* nothing more begins when an experiment has failed */
    /* what is done again, and nothing else; NULL: what is not done yet */
    const struct again *again;
    /* machine_software_json when the session began; its code is compared at the end. NULL: it is
     * not */
    const json_t *software;
    const struct other_code *other_code; /* becomes evidence of these results; NULL: none */
};

#endif
