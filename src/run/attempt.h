/* attempt: one try at an experiment: its folder, log files, pipe and job. It decides and journals
 * nothing. */
#ifndef TARE_RUN_ATTEMPT_H
#define TARE_RUN_ATTEMPT_H

#include "measure/marks/marks.h"
#include "run/outcome.h"
#include "run/request.h"

/* leftovers and survivors beyond this number are only counted */
#define ATTEMPT_MEMBERS_MAX 32

struct attempt {
    const struct plan_experiment *experiment;
    const struct plan_job *plan;
    const struct strv *environment; /* NAME=VALUE of the lane, over the plan's; NULL: none */
    const struct cpus *cpus;        /* that the job may use; NULL: all */
    int64_t number;
    int64_t loop; /* of the background, from 1; 0: foreground */
    int folder;   /* of the experiment; -1: not open */
    int pipe;     /* the job's output, non-blocking; -1: closed */
    int log_fd, times_fd;
    ino_t log_inode, times_inode;
    char *place_id, *place_dir; /* placeholders {id} and {dir}; NULL: no job was started */
    struct joblog *log;
    struct mark_fifo *fifo; /* $TARE_MARKS; NULL: none */
    struct marks marks;
    uint64_t marks_refused; /* invalid lines of the FIFO */
    bool marks_limit_reported;
    struct job *job;
    struct ledger *ledger; /* of its GPU memory; NULL: not tracked */
    bool gate_open;
    int64_t start_ns;
    int64_t end_ns; /* when the command ended or was killed; 0: not yet */
    enum stop_reason reason;
    char *detail; /* for outcome_facts */
    struct job_exit exit;
    struct job_usage usage;
    struct job_member leftovers[ATTEMPT_MEMBERS_MAX];
    size_t leftover_count;
    struct job_member survivors[ATTEMPT_MEMBERS_MAX];
    size_t survivor_count;
    bool unproven; /* no survivor found, but the proof did not complete */
    int64_t
        log_until_ns;   /* latest time of lines that are read from now on; 0: the time of reading */
    char *log_held;     /* which processes held the log's pipe after the proof; NULL: none */
    struct err log_err; /* the first write error */
    bool log_failed;
    bool kills_known; /* the counter was read when the gate was opened */
    uint64_t kills_before;
};

void attempt_init(struct attempt *attempt, const struct plan_experiment *experiment,
                  int64_t number);

/* One loop of the background: a job with its own log, without times, marks and metrics. */
void attempt_init_loop(struct attempt *attempt, const struct plan_experiment *experiment,
                       int64_t number, int64_t loop);
void attempt_fini(struct attempt *attempt); /* kills the job */
/* How the job changed its log files: "training.log was removed"; NULL: not visibly. After the log's
 * end; the caller frees. */
char *attempt_log_changes(const struct attempt *attempt);

void attempt_set_detail(struct attempt *attempt, char *detail); /* owns detail */
void attempt_close_fd(int *fd);                                 /* sets *fd to -1 */

/* The job is proven gone: guardian and state folder drop it. */
void attempt_forget_job(const struct run_request *request, const struct job *job);

/* Moves the previous attempt's files into attempt_<k>/. Safe to repeat after a crash, because
 * EVENT_ATTEMPT_PREPARED follows. */
bool attempt_make_folder(struct attempt *attempt, int run_dir, struct err *err);

bool attempt_open_files(struct attempt *attempt, struct err *err);

/* Replaces both functions above for a loop: background_logs/training_<loop>.log. */
bool attempt_open_loop(struct attempt *attempt, int experiment_folder, struct err *err);

/* Relative to the experiment's folder; the caller frees. */
char *attempt_log_name(const struct attempt *attempt);

/* $TARE_MARKS. False: not possible here; the attempt can run without it. */
bool attempt_make_fifo(struct attempt *attempt, const struct run_request *request, struct err *err);

#define HANG_STACK_NAME "hang_stack.txt" /* by observers/hang.c */
#define SNAPSHOT_NAME   "memory_snapshot.pickle"

/* The job waits at its gate. run_dir: absolute. */
bool attempt_start_job(struct attempt *attempt, const struct run_request *request,
                       const struct limits *limits, const char *run_dir, struct err *err);

/* Borrows; valid once the job was started. */
struct placeholder_place attempt_place(const struct attempt *attempt);

/* Removes the output folder if the job left it empty. */
void attempt_remove_empty_output(const struct attempt *attempt);

/* Starts the clock and the log first. */
bool attempt_open_gate(struct attempt *attempt, const struct limits *limits,
                       joblog_metric_fn *metric, joblog_mark_fn *mark, void *context,
                       struct err *err);

void attempt_read_exit(struct attempt *attempt);

/* After the proof: if its init was killed, or the machine could not execute the command, the reason
 * becomes STOP_MACHINE. */
void attempt_blame_machine(struct attempt *attempt);

int64_t attempt_log_now_ns(const struct attempt *attempt);

/* Keeps the maximum: a removed cgroup reports nothing. */
void attempt_update_usage(struct attempt *attempt);

/* limit_s 0: no limit. Sets detail. */
bool attempt_is_over_cpu_limit(struct attempt *attempt, double limit_s);

/* The command has ended without leftovers, or never began. */
bool attempt_is_quiet(struct attempt *attempt);

/* SIGKILL for the whole job. attempt_prove then returns whether it is gone, or sets survivors or
 * unproven. */
void attempt_kill(struct attempt *attempt);
bool attempt_prove(struct attempt *attempt);

/* After the proof: drains the pipe and closes all files. False: first write error (log_err). */
bool attempt_close_log(struct attempt *attempt);

/* After the log is closed: why a setuid program failed in the job's layers; NULL: none did. */
const char *attempt_setuid_hint(const struct attempt *attempt);

double attempt_duration_s(const struct attempt *attempt, bool *valid);
enum outcome attempt_judge(const struct attempt *attempt, const struct limits *limits, char **error,
                           struct failure *failure);

#endif
