/* attempt: one try at an experiment: its folder, its log files and pipe, its job. Takes no decision
 * and journals nothing: lane/ does. Private to run/. */
#ifndef TARE_RUN_ATTEMPT_H
#define TARE_RUN_ATTEMPT_H

#include "measure/marks/marks.h"
#include "run/outcome.h"
#include "run/request.h"

/* leftovers and survivors that are named; their counts tell of more */
#define ATTEMPT_MEMBERS_MAX 32

struct attempt {
    const struct plan_experiment *experiment;
    const struct plan_job *plan;    /* what is run: the experiment's foreground or background */
    const struct strv *environment; /* NAME=VALUE over the plan's: the lane's; NULL: none */
    const struct cpus *cpus;        /* on which its job may run: the lane's; NULL: on all */
    int64_t number;                 /* from 1 */
    int64_t loop;                   /* of the background, from 1; 0: the foreground */
    int folder;                     /* the experiment's, -1: not open */
    int pipe;                       /* what the job writes, non-blocking; -1: closed */
    int log_fd, times_fd;           /* until the joblog has them */
    ino_t log_inode, times_inode;
    char *place_id, *place_dir; /* {id} and {dir} of its words; NULL: its job was not started */
    struct joblog *log;
    struct mark_fifo *fifo; /* $TARE_MARKS; NULL: there is none */
    struct marks marks;
    uint64_t marks_refused; /* lines of the FIFO that were none */
    bool marks_limit_reported;
    struct job *job;
    struct ledger *ledger; /* of its GPU memory; NULL: not followed */
    bool gate_open;
    int64_t start_ns;        /* when the gate was opened */
    int64_t end_ns;          /* when the command ended, or was killed; 0: not yet */
    enum stop_reason reason; /* the first one */
    char *detail;            /* what outcome_facts wants */
    struct job_exit exit;
    struct job_usage usage;
    struct job_member leftovers[ATTEMPT_MEMBERS_MAX];
    size_t leftover_count;
    struct job_member survivors[ATTEMPT_MEMBERS_MAX];
    size_t survivor_count;
    bool unproven;        /* no survivor is seen, and yet the proof was not had */
    int64_t log_until_ns; /* lines that are read now came no later; 0: they come as they are read */
    char *log_held;       /* who had the log's pipe after the proof, in words; NULL: nobody */
    struct err log_err;   /* the first failure to keep the log */
    bool log_failed;
    bool kills_known; /* by the machine, when the gate was opened: */
    uint64_t kills_before;
};

void attempt_init(struct attempt *attempt, const struct plan_experiment *experiment,
                  int64_t number);

/* One loop of the background of that attempt: a job with a log of its own, without times, marks and
 * metrics. */
void attempt_init_loop(struct attempt *attempt, const struct plan_experiment *experiment,
                       int64_t number, int64_t loop);
void attempt_fini(struct attempt *attempt); /* kills what still lives */
/* What became of the files of its log, which its job can write to: "training.log was removed";
 * fresh, NULL: they are as they were written, as far as their names and the log's length show.
 * After the log's end. */
char *attempt_log_changes(const struct attempt *attempt);

void attempt_close_fd(int *fd); /* -1 from then on */

/* Its job is proven gone: guardian and state folder forget it. */
void attempt_forget_job(const struct run_request *request, const struct job *job);

/* Makes and opens the experiment's folder; files of the attempt before go into attempt_<k>/. May be
 * done again after a crash: done before EVENT_ATTEMPT_PREPARED of this attempt is journaled, so the
 * files found are always those of the one before. */
bool attempt_make_folder(struct attempt *attempt, int run_dir, struct err *err);

/* training.log, training.times.csv and the pipe. */
bool attempt_open_files(struct attempt *attempt, struct err *err);

/* Of a loop, instead of both before: background_logs/training_<loop>.log in the experiment's
 * folder, which is open. */
bool attempt_open_loop(struct attempt *attempt, int experiment_folder, struct err *err);

/* Its log's name in the experiment's folder; the caller frees. */
char *attempt_log_name(const struct attempt *attempt);

/* The FIFO that the job finds in $TARE_MARKS. False: none can be made here; the attempt can do
 * without. */
bool attempt_make_fifo(struct attempt *attempt, const struct run_request *request, struct err *err);

#define HANG_STACK_NAME "hang_stack.txt"         /* there too: hang.c */
#define SNAPSHOT_NAME   "memory_snapshot.pickle" /* in the experiment's folder */

/* The job, waiting at its gate. run_dir: absolute path of the run's folder. */
bool attempt_start_job(struct attempt *attempt, const struct run_request *request,
                       const struct limits *limits, const char *run_dir, struct err *err);

/* What the placeholders of its words stand for. Borrows; valid once its job was started. */
struct placeholder_place attempt_place(const struct attempt *attempt);

/* Once its job is gone: the folder that it had for its outputs, if it left nothing there. */
void attempt_remove_empty_output(const struct attempt *attempt);

/* Starts the clock and the log, then opens the gate. */
bool attempt_open_gate(struct attempt *attempt, const struct limits *limits,
                       joblog_metric_fn *metric, joblog_mark_fn *mark, void *context,
                       struct err *err);

/* Once the command ended: how, and when. */
void attempt_read_exit(struct attempt *attempt);

/* Once nothing of it lives: an end that says nothing of the training, as tare's own process was
 * killed, or the machine was short of what it takes to execute a program. Then that is its reason,
 * with detail. */
void attempt_blame_machine(struct attempt *attempt);

/* The time of a line that is read now. */
int64_t attempt_log_now_ns(const struct attempt *attempt);

/* Keeps the larger of what was known and what the job says now (a leaf that is gone says
 * nothing). */
void attempt_update_usage(struct attempt *attempt);

/* It has used more CPU time than that (0: no limit), as its detail then says. */
bool attempt_is_over_cpu_limit(struct attempt *attempt, double limit_s);

/* Its command has ended and left nothing, or never began. */
bool attempt_is_quiet(struct attempt *attempt);

/* SIGKILL for all of it; and whether it is gone, which survivors and unproven tell where it is
 * not. */
void attempt_kill(struct attempt *attempt);
bool attempt_prove(struct attempt *attempt);

/* After the proof: takes what is still in the pipe, whoever holds it open, and closes all. False:
 * only now it turned out that the log could not be kept (log_err). */
bool attempt_close_log(struct attempt *attempt);

/* Once the log is closed: whether a program that becomes root failed in it because of the job's
 * layers. */
const char *attempt_setuid_hint(const struct attempt *attempt); /* what to tell, or NULL */

double attempt_duration_s(const struct attempt *attempt, bool *valid);
enum outcome attempt_judge(const struct attempt *attempt, const struct limits *limits, char **error,
                           struct failure *failure);

#endif
