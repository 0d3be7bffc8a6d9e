/* lane_background: the background of a parallel experiment on its lane: looped until the foreground has ended, looked
 * at, and proven gone together with it. Private to run/. */
#ifndef TARE_RUN_LANE_BACKGROUND_H
#define TARE_RUN_LANE_BACKGROUND_H

#include "measure/colocated.h"
#include "run/attempt.h"
#include "run/runner.h"

/* So many failures in a row, and it is not started again: before the foreground, and beside it. */
enum { BACKGROUND_TRIES_ALONE = 3, BACKGROUND_TRIES_BESIDE = 5, BACKGROUND_FAILURES_TOLD = 2 };

struct background_tally {
    size_t started, succeeded, failed;
    size_t failed_in_a_row;
    size_t failed_beside; /* while the foreground ran */
    bool gave_up;
};

enum background_next {
    BACKGROUND_AGAIN,    /* after the restart delay */
    BACKGROUND_TELL,     /* the same, and it is time to say that it fails repeatedly */
    BACKGROUND_GIVE_UP,  /* it failed too often in a row */
};

enum background_phase {
    BACKGROUND_NONE,
    BACKGROUND_BORN,    /* waits at its gate for the journal */
    BACKGROUND_RUNNING,
    BACKGROUND_ENDING,  /* its command has ended: is everything of it gone? */
    BACKGROUND_PAUSING, /* before it is started again */
    BACKGROUND_OVER     /* it is not started again */
};

struct lane_background {
    enum background_phase phase;
    bool halted;         /* the attempt is being stopped: nothing is started any more */
    struct attempt loop; /* the one that lives; without a job none does */
    size_t energy_meters_number;
    struct background_tally tally;
    uint64_t first_start_time; /* of the first loop's init, in clock ticks; 0: none was born */
    double first_death_s; /* beside the foreground, from its start */
    bool leftovers_told, log_held_told, unproven_told;
    json_t *loops;    /* what is told of the first ones */
    size_t loops_more; /* of which nothing is told one by one */
    struct step_source timer, log_source, job_source;
    int64_t proof_start_ns;
    uint64_t poll_us;
};

/* Whether the background loads the GPU, from looks at it, and when the foreground may start. Pure. */
struct load_watch {
    bool visible;         /* some look could tell */
    int64_t since_ns;     /* the load holds since; 0: there is none */
    int64_t last_ns;      /* of the last look that found it; 0: none has */
    bool missed;          /* the look before found none */
    size_t looks, loaded; /* that could tell, and that found it */
};

/* One look (CLOCK_MONOTONIC). A training that reads its data computes nothing for a moment: only two looks in a row
 * without load end it. */
void load_take(struct load_watch *watch, int64_t t_ns, bool loaded);

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

enum load_verdict load_decide(const struct load_watch *watch, const struct load_times *times, int64_t begun_ns,
                              int64_t now_ns);

/* The share of the looks that found load; false: too few to say. */
bool load_share(const struct load_watch *watch, double *out);

/* What is known of one GPU. */
struct load_gpu {
    char *label;
    struct reading power_w, utilisation_percent, memory_bytes; /* of the last sample */
    struct reading memory_before_bytes;                        /* before the background was born */
    double background_peak_bytes; /* of the background's processes, since a loop of it ended */
    bool listed, loaded; /* its processes were listed since the last look; the background's load it */
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
    int64_t alone_end_ns;
    enum load_verdict verdict;
    struct load_watch alone_watch, beside_watch;
    struct colocated_alone alone;
    bool has_alone;
    struct load_gpu *gpus;
    size_t gpu_count;
    struct load_member *members;
    size_t member_count, member_capacity;
    struct step_source timer;
    struct rng rng;
};

/* A loop has ended by itself. beside: while the foreground ran. TELL comes once. Pure. */
enum background_next background_ended(struct background_tally *tally, enum outcome outcome, bool beside);

/* Loops (lane_background.c). None of these does anything where there is no background. */
void lane_background_proven(struct lane *lane, double seconds); /* or not: written down, with what is left */
json_t *lane_background_json(const struct lane *lane);

/* Looks (lane_load.c). */
void lane_load_prepare(struct lane *lane); /* the background is about to be born */
void lane_load_begin(struct lane *lane);   /* its gate is open */
const struct lane_load *lane_load(const struct lane *lane);

/* What the driver told of the loop that has just ended. */
struct gpu_memory_told lane_load_told(struct lane *lane);

#endif
