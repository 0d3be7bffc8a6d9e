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
bool containment_mode_parse(const char *name, enum containment_mode *out);
const char *containment_mode_name(enum containment_mode mode);
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

/* AUTO takes every layer there is. A mode that the machine cannot give is an error; CGROUP does
 * without pid namespaces, SWEEP without either. Costs a few ms: once at start. */
bool containment_probe(enum containment_mode mode, struct containment *out, struct err *err);
void containment_copy(const struct containment *from, struct containment *to);
void containment_fini(struct containment *containment);

/* Without trying: what most machines allow. job_start finds out, and job_layers says what held. For
 * a program that starts one job and wants it soon. Never fails: a mode the machine cannot give is
 * then an error of job_start. */
void containment_assume(enum containment_mode mode, struct containment *out);

/* A pid namespace held: kernel-backed; else best effort. (A cgroup alone is left by a job that runs
 * as root, and by one of the user to whom the cgroups above it belong, as they must, for the runner
 * to make leaves there.) */
bool containment_kernel_backed(const struct containment *containment);
/* "pid namespace, cgroup, sweep"; the caller frees */
char *containment_describe(const struct containment *containment);

/* Who a process is, for ever: a pid is used again, the pair with the boot is not. */
struct job_identity {
    pid_t pid;           /* of the job's init (pidns) or first process, in this pid namespace */
    uint64_t start_time; /* clock ticks after boot, field 22 of /proc/PID/stat */
    char boot_id[40];
    char *cgroup; /* absolute folder of its leaf, or NULL */
    char *tag;    /* value of TARE_JOB in the job's environment: unguessable */
};
void job_identity_fini(struct job_identity *identity);
void job_identity_copy(const struct job_identity *from, struct job_identity *to);

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

/* Starts the job's init, which waits at the gate: nothing of the command runs yet. Call from the
 * main thread (PDEATHSIG). Errors of exec itself come out later, as exit code 127 with
 * job_exec_error. */
struct job *job_start(const struct job_request *request, struct err *err);
const struct job_identity *job_identity(const struct job *job);
const struct containment *job_layers(const struct job *job); /* that really hold for this job */

/* What keeps the tree on the processors that were asked for. With a cpuset the job cannot
 * leave them; its affinity it may change. */
enum job_cpus { JOB_CPUS_FREE, JOB_CPUS_AFFINITY, JOB_CPUS_CPUSET, JOB_CPUS_REFUSED };
enum job_cpus job_cpus(const struct job *job, int *refused_errno); /* refused_errno: of REFUSED */

/* 0: no process of the job can type into a terminal (ioctls TIOCSTI, TIOCLINUX), not even where it
 * is its controlling one, or the job is root's. Else why the filter was refused: without a
 * namespace only root may set one that leaves setuid programs alone. */
int job_typing_errno(const struct job *job);

/* 0: the command can write nothing in the request's records and read_only_fds. Else why it can:
 * ENOSYS without a pid namespace, with which its mounts come. Of a request without either it says
 * nothing. */
int job_records_errno(const struct job *job);

bool job_open_gate(struct job *job, struct err *err);

/* Readable (poll) when the command itself has ended (its main process): then job_take_exit says
 * how. Members of the tree may still live: job_stop and job_prove come next. */
int job_fd(const struct job *job);

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
struct job_exit job_take_exit(struct job *job);

/* A signal to every process of the tree (TERM: first step of a stop; TSTP/CONT for a terminal). */
void job_signal(struct job *job, int signal);

/* A signal to the command's own process only, as its parent would send it. */
void job_signal_command(struct job *job, int signal);

/* SIGKILL to every process of the tree, thawed first; returns at once. */
void job_kill(struct job *job);

struct job_member {
    pid_t pid;
    uint64_t start_time;
    char state;       /* R S D Z T ... */
    char command[64]; /* comm, made printable */
    char wchan[64];   /* what it sleeps in, for survivors */
};

/* One step of the proof: after job_kill, asks whether anything of the tree is left. Does not wait.
 * True: proven gone (pid namespace empty, cgroup populated 0 and removed, no process with the tag).
 * False: count processes are still there (members: the first max of them), and what could be killed
 * was killed again. Call again after a moment; the caller bounds it. */
bool job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count);

/* How long the caller should go on with that before it calls what is left unkillable: a process
 * that sleeps uninterruptibly in the kernel is ended by nobody, one that gives back hundreds of GB
 * takes seconds. */
#define JOB_PROOF_MAX_S 15

/* Readable (poll) when the job's init has ended: then a step of the proof is worth its cost at
 * once. */
int job_end_fd(const struct job *job);

/* The tree's members now, without the init: asked when the command has ended, they are its
 * leftovers. Gives how many there are, of which the first max are in members. */
size_t job_members(struct job *job, struct job_member *members, size_t max);

/* A program that is to look at the job's processes. */
struct job_look {
    const struct strv *argv; /* argv[0]: absolute path, as the job sees it */
    const struct strv *env;  /* the whole environment; TARE_JOB is added */
    const char *cwd;         /* NULL: as it is */
    int out;                 /* takes what it writes, 4 MiB at most; stays the caller's */
};

/* Starts it in the job's namespaces, where it has: it sees the job's processes by their numbers
 * there, can write what the job can, and dies with the namespace; a session of its own, so that a
 * signal to its group ends it and all it started. pidfd: a descriptor of it, for poll and waitid.
 * -1: err says why; the program itself says what it cannot do, exit code 125: the job could not be
 * entered. */
pid_t job_enter(const struct job *job, const struct job_look *look, int *pidfd, struct err *err);

/* Whether one of them is stopped now (by a signal or by a tracer): then the job does not do what
 * its figures say. */
bool job_has_stopped_member(struct job *job, struct job_member *out);

/* Whether the process is one of them now. */
bool job_has_member(struct job *job, pid_t pid);

/* After the proof: those that carry the job's tag and belong to somebody else, who is named.
 * Nothing is done to them. Gives how many there are, of which the first JOB_FOREIGN_MAX are in
 * out. */
enum { JOB_FOREIGN_MAX = 8 };
struct job_foreign {
    struct job_member process;
    char owner[160]; /* "slurmstepd (pid 17)" */
};
size_t job_foreign(struct job *job, struct job_foreign out[JOB_FOREIGN_MAX]);

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

/* What is known now; a job that is to be killed is asked before, as it says nothing afterwards. */
struct job_usage job_usage(struct job *job);

/* How many processes the kernel has ended for want of memory since the machine was started,
 * whosever they were: vmstat is the path of /proc/vmstat. False: it does not tell. */
bool machine_oom_kills(const char *vmstat, uint64_t *out);

/* Frees; kills first when the tree is not proven gone. */
void job_free(struct job *job);

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
enum job_answer job_ask(const struct job_question *question, struct text *out);

/* The same where only an exit code of 0 counts. */
bool job_query(const struct containment *containment, const struct strv *argv,
               const struct strv *env, size_t limit, double timeout_s, struct text *out);

/* Runners that are known to live: neither they nor their descendants are ended. */
struct live_runner {
    pid_t pid;
    uint64_t start_time;
};
struct live_runners {
    struct live_runner *items;
    size_t count;
};

/* Ends what a dead runner left of this job. runners: NULL: none is known. The identity comes from a
 * file, which a job may have forged: only what the kernel ties to the job is ended
 * (tree_seed_doubted). Same boot only (another boot: nothing is left, true). Waits at most
 * timeout_s. False: survivors or an error (err). killed: processes ended, its init not counted. */
bool job_recover(const struct job_identity *identity, const struct live_runners *runners,
                 double timeout_s, size_t *killed, struct err *err);

/* Whether the process lives that the identity names as the job's init, and nothing proves it:
 * job_recover leaves it alone. */
bool job_is_unproven(const struct job_identity *identity, struct job_member *out);

/* Whether text tells of a program that did not become root by its setuid bit: sudo(8) and its like
 * say so. */
bool setuid_refusal_told(const char *text);

/* Whether this file makes whoever executes it root. */
bool setuid_root_program(const char *path);

/* What to tell of a job of these layers in which that failed; NULL: they are not the reason. */
const char *setuid_hint(const struct containment *layers);

bool boot_id_read(char out[40], struct err *err);
/* false: no such process, or errno says why it cannot be read */
bool process_start_time(pid_t pid, uint64_t *out);

/* Which processes have a pipe open for writing, as /proc/PID/fd and fdinfo show it (proc(5)).
 * (holders.c) */

/* Those that have the pipe with this inode open for writing (members: at most max are filled in,
 * without wchan); gives how many. proc:
 * "/proc", or a test's own. hidden: how many processes could not be looked into. */
size_t holders_of_pipe(const char *proc, uint64_t inode, struct job_member *members, size_t max,
                       size_t *hidden);

#endif
