/* leftovers: which processes of this machine tare should have ended, and which others have a GPU
 * open. */
#ifndef TARE_MACHINE_STATE_LEFTOVERS_H
#define TARE_MACHINE_STATE_LEFTOVERS_H

#include "machine/gpu/memory_users.h"
#include "machine/state/census.h"
#include "machine/state/state.h"

enum leftover_kind {
    LEFTOVER_OF_DEAD_RUN, /* in the file of a run that is dead: state_recover ends it */
    /* carries the tag of a job that no live run knows, and is nobody else's: leftover_kill ends
     * it */
    LEFTOVER_TAGGED,
    LEFTOVER_NONE_GPU, /* none: has a GPU open or holds memory of one, and is not tare's */
    LEFTOVER_LIVE_GPU  /* none: the same, and is of a live run */
};

struct leftover {
    const struct census_process *process; /* in the census */
    enum leftover_kind kind;
    enum state_kind run;   /* of LEFTOVER_OF_DEAD_RUN */
    char *run_dir;         /* of a dead run; NULL: an exec */
    double run_age_s;      /* of a dead run: since its runner started; below 0: unknown */
    uint64_t memory_bytes; /* of all GPUs, when has_memory */
    bool has_memory;
};

/* Carries the tag of a job that no live run knows, and belongs to somebody else
 * (machine/contain/tree.h): never ended. */
struct leftover_foreign {
    const struct census_process *process; /* in the census */
    char *owner;                          /* "slurmstepd (pid 17)" */
};

struct leftovers {
    struct census census;
    struct leftover *items; /* by pid */
    size_t count;
    struct leftover_foreign *foreign; /* by pid */
    size_t foreign_count;
    struct strv kept; /* "FILE: reason" of files in the state folder that are no business of ours */
    /* processes that hold memory of a GPU and that /proc does not show, or not as these */
    size_t unseen;
    uint64_t unseen_bytes;
    struct text unseen_pids; /* "17 18": as the driver numbers them */
};

/* Of this user; all users' (but not their runs' files) for root. Nothing that this process or one
 * of its ancestors belongs to, and nothing below a job's init, counts as left. state: NULL when
 * there is none to ask. Changes nothing. */
bool leftovers_find(struct state *state, const struct census_roots *roots, struct leftovers *out,
                    struct err *err);

/* The same with what the driver says of memory, and those whom only the driver names. memory: NULL
 * when it is not known. */
bool leftovers_find_holding(struct state *state, const struct census_roots *roots,
                            const struct gpu_memory_users *memory, struct leftovers *out,
                            struct err *err);
void leftovers_fini(struct leftovers *leftovers);

/* For root: what a user's own look says of a dead run. It counts when the process is that user's
 * and has had this start time all along; it is shown, nothing else. */
struct leftover_claim {
    pid_t pid;
    uint64_t start_time;
    uid_t uid;
    enum state_kind run;
    const char *run_dir;
    double run_age_s;
};
void leftovers_claim(struct leftovers *leftovers, const struct leftover_claim *claim,
                     const struct gpu_memory_users *memory);

/* NULL: the process is not among them. */
const struct leftover *leftovers_by_pid(const struct leftovers *leftovers, pid_t pid);

bool leftover_is_ours(const struct leftover *leftover); /* one of the first two kinds */
size_t leftovers_count_ours(const struct leftovers *leftovers);

/* SIGKILL to one LEFTOVER_TAGGED. */
bool leftover_kill(const struct census_roots *roots, const struct leftover *leftover);

#endif
