/* tasks: a run that many machines do, each a task of its own: one experiment, with a journal that
 * no other machine opens.
 *
 *   RUN/plan.json            the whole plan; with settings.json, registry.json as in every run
 *   RUN/tasks/0007/run.lock  held by the process that does experiment 7
 *   RUN/tasks/0007/2/        its second start: the folder of a run with one experiment, which
 * begins with what the first start left
 *
 * Each start stands for all those before it, so only the last one counts. */
#ifndef TARE_SLURM_TASKS_H
#define TARE_SLURM_TASKS_H

#include "results/store/store.h"

/* Writes settings.json, registry.json, the empty tasks/ and, last, plan.json into dir (an open
 * folder). */
bool tasks_make(int dir, const struct store_head *head, struct err *err);

/* True where dir is such a run. */
bool tasks_are_in(int dir);

bool tasks_read_plan(int dir, struct plan *out, struct err *err);

/* The run's settings.json and registry.json, which head then has, beside its plan. */
bool tasks_read_head(int dir, struct text *settings, struct text *registry, struct store_head *head,
                     struct err *err);

struct tasks_last {
    int start; /* the highest number; 0: it was never started */
    /* of the start that was opened: below start when the records of those behind it are gone */
    int readable;
};

/* Opens the folder of the number-th experiment's last start that has records: -1 without err when
 * there is none. */
int tasks_open_last(int dir, size_t number, struct tasks_last *last, struct err *err);

/* The folder of one of its starts, or -1. */
int tasks_open_start(int dir, size_t number, int start);

struct tasks_start {
    int lock;   /* until it is closed nobody else starts this experiment */
    char *path; /* of the start's folder, below dir_path; the caller frees it */
};

/* Makes the next start of an experiment, ready to be resumed (store_open). grace_max_s: what TERM
 * to KILL takes at most; 0: as planned. False: err; somebody else is at it when its code is
 * EWOULDBLOCK. */
bool tasks_begin(int dir, const char *dir_path, size_t number, double grace_max_s,
                 struct tasks_start *out, struct err *err);
void tasks_start_fini(struct tasks_start *start);

/* Makes a start that ends at once and says that the experiment is to be done again because of this
 * verdict: its result stands until the next start has done it anew. Errors as above. */
bool tasks_plan_again(int dir, const char *dir_path, const struct plan *plan, size_t number,
                      const char *verdict, struct err *err);

/* submission: what of a run was handed to the scheduler, and when: RUN/submit.json. */

/* One array. */
struct submission_array {
    char *job_id;   /* NULL: sbatch's answer was not heard, so it may or may not be queued */
    char *job_name; /* "tare-run_20261121_101500-3fa9": by this it is found in the queue */
    char *indices;  /* "1-20" */
    size_t offset;  /* of experiment numbers over them */
    int64_t realtime_ns;
};

struct submission {
    char *name;         /* what each job_name begins with */
    double kill_wait_s; /* of the cluster; 0: not known */
    size_t array_size;
    struct strv options; /* of the person, for sbatch */
    struct submission_array *arrays;
    size_t count;
};

bool submission_write(int dir, const struct submission *submission, struct err *err);
bool submission_read(int dir, struct submission *out, struct err *err);
struct submission_array *submission_add(struct submission *submission);
void submission_fini(struct submission *submission);

/* How long a task may take from TERM to KILL, so that its tree is gone before the scheduler kills
 * what is left: 0: not known. */
double submission_grace_max_s(const struct submission *submission);

#endif
