/* contain: process trees that leave nothing behind: start, signal, stop, prove, and end what a dead
 * runner left. Knows nothing of plans or the journal: the caller writes job_identity down before it
 * opens the gate. */
#ifndef TARE_MACHINE_CONTAIN_CONTAIN_H
#define TARE_MACHINE_CONTAIN_CONTAIN_H

#include "base/cpus.h"
#include "base/err.h"
#include "base/strv.h"

#include <sys/types.h>

enum containment_mode {
    CONTAINMENT_AUTO,
    CONTAINMENT_PIDNS,
    CONTAINMENT_CGROUP,
    CONTAINMENT_SWEEP
};
extern const char *const containment_mode_names[]; /* in the order of the enum; NULL-terminated */

/* What this machine allows, found by doing it once. The sweep always belongs to it. */
struct containment {
    /* what was asked for: with AUTO a job whose layer is refused starts with those that are left */
    enum containment_mode mode;
    bool pidns; /* a pid namespace with its own /proc */
    /* made inside a user namespace (not root, or root without CAP_SYS_ADMIN) */
    bool userns;
    bool cgroup;         /* a cgroup v2 leaf */
    char *cgroup_parent; /* absolute folder in which leaves are made, or NULL */
    char *pidns_reason;  /* why there is none, or NULL */
    char *cgroup_reason;
    /* absolute folders, added by the caller: in their place a job with a mount namespace has empty
     * ones of its own */
    struct strv hidden;
};

/* Who a process is, for ever: a pid is used again, the pair with the boot is not. */
struct job_identity {
    pid_t pid;           /* of the job's init (pidns) or first process, in this pid namespace */
    uint64_t start_time; /* clock ticks after boot, field 22 of /proc/PID/stat */
    char boot_id[40];
    char *cgroup; /* absolute folder of its leaf, or NULL */
    char *tag;    /* value of TARE_JOB in the job's environment: unguessable */
};

struct job_limits {
    double cpu_time_s; /* per process by RLIMIT_CPU, and for the tree by job_usage; 0: none */
    /* of the whole tree, where its cgroup has the memory controller; 0: none */
    uint64_t memory_bytes;
};

/* What a job does not share with the machine: empty when it starts, gone when it ends. */
struct job_private {
    bool shm, ipc, tmp; /* /dev/shm; System V IPC and POSIX message queues; /tmp */
};

enum { JOB_READ_ONLY_MAX = 2 };
struct job_request {
    const struct containment *containment;
    const struct strv *argv;            /* argv[0]: looked up by the caller; run as given */
    const struct strv *env;             /* the whole environment; TARE_JOB is added */
    const char *cwd;                    /* NULL: as it is */
    int stdin_fd, stdout_fd, stderr_fd; /* stay the caller's; -1 for stdin: /dev/null */
    /* above 3: the job's init keeps it open under this number as long as it lives, and the command
     * begins with it; 0: none */
    int shared_fd;
    /* folders, the second below the first: of the first the command can write nothing but the
     * second, where it has a mount namespace; cwd is then not NULL. 0: none */
    int records_fd, own_fd;
    /* folders in which the command can write nothing, where it has a mount namespace: ask
     * job_records_errno. cwd is then not NULL. 0: none */
    int read_only_fds[JOB_READ_ONLY_MAX];
    bool foreground_tty; /* tare exec: the job may use the terminal: no new session */
    uid_t uid;           /* with change_user: what the job becomes (under sudo) */
    gid_t gid;
    bool change_user;
    struct job_limits limits;
    struct job_private own; /* where one cannot be had, the job is not started */
    /* on which the tree may run, of those that this process may use; NULL: on all of these */
    const struct cpus *cpus;
};

struct job;

/* What keeps the tree on the processors that were asked for. With a cpuset the job cannot
 * leave them; its affinity it may change. */
enum job_cpus { JOB_CPUS_FREE, JOB_CPUS_AFFINITY, JOB_CPUS_CPUSET, JOB_CPUS_REFUSED };

struct job_exit {
    bool ended;
    bool signalled;
    int code; /* exit code, or signal number */
    bool exec_failed;
    int exec_errno;
    bool init_killed; /* the init died first: how the command would have ended, nobody knows */
    /* when it ended, CLOCK_MONOTONIC, by its init; 0: the init was killed, and nobody knows */
    int64_t end_ns;
    int64_t stopped_ns; /* how long its main process was stopped (SIGSTOP, a debugger's stop) */
    /* processes of the job whose parents had gone, that a crash or SIGKILL ended before the command
     * did */
    size_t orphans;
    int orphan_signal; /* of the last of them */
    /* its init was, and went on: end_ns and stopped_ns may be late, and the command may have begun
     * late */
    bool init_stopped;
};

struct job_member {
    pid_t pid;
    uint64_t start_time;
    char state;       /* R S D Z T ... */
    char command[64]; /* comm, made printable */
    char wchan[64];   /* what it sleeps in, for survivors */
};

/* How long the caller should go on with that before it calls what is left unkillable: a process
 * that sleeps uninterruptibly in the kernel is ended by nobody, one that gives back hundreds of GB
 * takes seconds. */
#define JOB_PROOF_MAX_S 15

/* A program that is to look at the job's processes. */
struct job_look {
    const struct strv *argv; /* argv[0]: absolute path, as the job sees it */
    const struct strv *env;  /* the whole environment; TARE_JOB is added */
    const char *cwd;         /* NULL: as it is */
    int out;                 /* takes what it writes, 4 MiB at most; stays the caller's */
};

/* After the proof: those that carry the job's tag and belong to somebody else, who is named.
 * Nothing is done to them. Gives how many there are, of which the first JOB_FOREIGN_MAX are in
 * out. */
enum { JOB_FOREIGN_MAX = 8 };
struct job_foreign {
    struct job_member process;
    char owner[160]; /* "slurmstepd (pid 17)" */
};

struct job_usage {
    double cpu_s; /* of the cgroup, else of the reaped and the living */
    bool has_cpu;
    /* CPU time of the command and the children it waited for. Of its first thread, at its end: on
     * a CPU, and ready but waiting for one. */
    double command_cpu_s, thread_run_s, thread_waited_s;
    bool has_thread;
    /* of the cgroup; without a memory controller of the largest process that was reaped or seen
     * alive */
    uint64_t peak_memory_bytes;
    bool has_peak_memory;
    bool peak_of_cgroup; /* of the whole tree, with its share of the file cache */
    /* created in the tree up to the command's end (init not counted; threads are: pids of the
     * namespace). Only a pid namespace counts them, and only when the command ended before the init
     * was killed. */
    uint64_t processes;
    bool has_processes;
    /* processes that the kernel ended for want of memory; only a cgroup with the controller counts
     * them */
    uint64_t oom_kills;
};

/* Runs a program as a job of its own and takes what it writes to stdout, up to limit bytes; env is
 * the whole environment, argv[0] an absolute path. True: it exited 0 within timeout_s, and nothing
 * of what it started is alive. Else it has been ended, and out holds what came. From the main
 * thread. */
struct job_question {
    const struct containment *containment;
    const struct strv *argv, *env;
    const char *cwd; /* NULL: as it is */
    int input;       /* its stdin, above 0; 0: /dev/null */
    /* what it writes to stderr is part of the answer, else it goes to /dev/null */
    bool with_errors;
    bool only_errors;      /* what it writes to stderr is the answer, and its stdout is /dev/null */
    size_t limit;          /* of out */
    double timeout_s;      /* 0: none */
    int stop_fd;           /* it is ended when this becomes readable; 0: none */
    struct job_exit *exit; /* how the command ended, where it did; NULL */
    /* as in job_request; where that is refused, nothing is executed */
    int read_only_fds[JOB_READ_ONLY_MAX];
    void (*waiting)(void *context, double seconds); /* called about once a second; NULL */
    void *context;
};
enum job_answer {
    JOB_ANSWER_GOOD,   /* exited with 0 */
    JOB_ANSWER_FAILED, /* with another code, or by a signal */
    JOB_ANSWER_LATE,   /* its time was over, or stop_fd became readable */
    JOB_ANSWER_LONG,   /* it wrote more than limit */
    JOB_ANSWER_NONE,   /* it could not be started */
    /* a folder of read_only_fds cannot be made read-only (errno): it was not executed */
    JOB_ANSWER_WRITABLE,
    JOB_ANSWER_ALIVE /* something of it is still alive after SIGKILL */
};

/* Runners that are known to live: neither they nor their descendants are ended. */
struct live_runner {
    pid_t pid;
    uint64_t start_time;
};
struct live_runners {
    struct live_runner *items;
    size_t count;
};

#endif
