/* init: the first process of a job, forked from the runner and never exec'ed: it holds the job's
 * command at a gate, reaps, forwards signals, reports the command's end, and takes the tree with it
 * when the runner dies. In a pid namespace it is a clone of a program that may have threads: until
 * its last breath it only makes system calls, allocates nothing. */
#ifndef TARE_MACHINE_CONTAIN_INIT_H
#define TARE_MACHINE_CONTAIN_INIT_H

#include "base/cpus.h"
#include "machine/contain/contain.h"

#include <sys/types.h>

/* A folder by its path, and the file that must be found there: on the way to it others may have put
 * something else. */
struct init_folder {
    const char *path; /* absolute; NULL: none */
    dev_t dev;
    ino_t ino;
};

/* What the runner has prepared. Descriptors are the runner's own numbers. */
struct init_plan {
    char *const *argv, *const *envp;
    const char *cwd; /* NULL: as it is */
    int stdio[3];
    int null;    /* /dev/null */
    int control; /* init's end of the socket pair (SOCK_SEQPACKET) */
    int runner;  /* pidfd of the runner */
    int cgroup;  /* the leaf's folder, or -1 */
    int shared;  /* kept open for the job to find below /proc; 0: none */
    bool pidns, userns, foreground_tty;
    bool map_by_runner;   /* with userns: the init waits for INIT_MAPPED */
    pid_t terminal_group; /* the runner's process group, for foreground_tty */
    bool change_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
    uint64_t cpu_limit_s;    /* 0: none */
    const struct cpus *cpus; /* for sched_setaffinity; NULL: as it is */
    char uid_map[64], gid_map[64];
    /* in its namespace the command writes nothing below the first, but for the second */
    struct init_folder records, own;
    /* nor below these, mounts in them included; path NULL: unused */
    struct init_folder read_only[JOB_READ_ONLY_MAX];
    /* folders in whose place the command has empty ones; NULL-terminated, or NULL */
    char *const *hidden;
    bool own_shm, own_ipc, own_tmp; /* struct job_private; the second was cloned */
    const char *leaf, *tag;         /* for the end of the tree without a pid namespace */
};

/* Runner to init. MAPPED, with map_by_runner, comes before all else. */
enum { INIT_OPEN_GATE = 1, INIT_SIGNAL_ALL, INIT_SIGNAL_COMMAND, INIT_MAPPED };
struct init_order {
    int32_t kind, signal;
    /* MAPPED: what the runner could not map, the init maps to its own user */
    bool users_mapped, groups_mapped;
};

/* Init to runner: one READY at the gate, one ENDED when the command has ended. */
enum { INIT_READY = 1, INIT_ENDED };
enum init_step {
    INIT_STEP_NONE,
    INIT_STEP_USER_MAP,
    INIT_STEP_PRIVATE_MOUNTS,
    INIT_STEP_MOUNT_PROC,
    INIT_STEP_OWN_SHM,
    INIT_STEP_OWN_TMP,
    INIT_STEP_FORK
};
struct init_report {
    int32_t kind;
    int32_t step, error;  /* READY: what was refused, and errno; the init has gone then */
    int32_t cgroup_error; /* READY: errno when the command could not enter the leaf; else 0 */
    int32_t status;       /* ENDED: as wait(2) gives it */
    int32_t exec_errno;   /* ENDED: nothing was executed */
    int32_t command;      /* READY: pid of the command's process, as the init sees it */
    int32_t cpus_error;   /* READY: errno when the processors were refused; else 0 */
    /* READY: errno when the job may type into a terminal (sys_typing_refuse); else 0 */
    int32_t typing_error;
    /* READY: errno when the command can write the plan's records, or read_only; else 0 */
    int32_t records_error;
    uint64_t max_rss_kib; /* ENDED: of the largest process reaped so far */
    /* ENDED: CPU time of the command and the children it waited for */
    uint64_t command_cpu_us;
    /* ENDED: of its first thread: on a CPU, and ready but waiting for one; 0: unknown */
    uint64_t thread_run_ns, thread_waited_ns;
    uint64_t last_pid; /* ENDED: the newest pid of the namespace, or 0 */
    /* ENDED: when the init learnt of it, CLOCK_MONOTONIC: the runner itself may be stopped then */
    int64_t end_ns;
    /* ENDED: for how long the command's process was stopped (SIGSTOP, SIGTSTP) */
    int64_t stopped_ns;
    uint32_t orphans;      /* ENDED: of the job that a crash or SIGKILL ended before that */
    int32_t orphan_signal; /* ENDED: of the last of them */
    bool continued;        /* ENDED: the init itself had been stopped: its times may be late */
};

const char *init_step_text(int step);

_Noreturn void init_main(const struct init_plan *plan);

#endif
