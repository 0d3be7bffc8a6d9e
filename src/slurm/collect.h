/* collect: what the tasks of a run have recorded so far, as a run: run.db, summary.csv,
 * events.jsonl, a folder for each experiment. It is made anew each time from the tasks' event
 * files, so it may be done at any time and as often as one likes. */
#ifndef TARE_SLURM_COLLECT_H
#define TARE_SLURM_COLLECT_H

#include "slurm/tasks.h"

enum collect_state {
    COLLECT_WAITING, /* never started */
    COLLECT_BEGUN,   /* started, and neither ended nor interrupted: it runs, or its machine died */
    COLLECT_CUT,     /* interrupted: to be started again */
    COLLECT_SUCCEEDED,
    COLLECT_FAILED,  /* the training failed, all its attempts */
    COLLECT_DAMAGED, /* what was recorded cannot be read, or not as far as an end: why says where */
    COLLECT_AGAIN    /* planned again: until it is done anew the result before stands */
};

struct collect_item {
    enum collect_state state;
    int start;  /* how often it was started; 0: never */
    char *host; /* of the last start that looked around; NULL: not known */
    /* of DAMAGED, and of one that is done although records of it are lost; NULL: all was read */
    char *why;
    char *task_status; /* what the scheduler says of it (task_statuses_find), or NULL */
};

struct collect_node {
    char *host, *kind; /* kind: its GPUs, driver and processor in a line */
    size_t experiments;
};

struct collected {
    struct plan plan;
    struct collect_item *items; /* as many as plan has, in its order */
    struct collect_node *nodes; /* those that did something, in the order of the plan */
    size_t node_count;
};

/* dir: the run's folder, open. The error says who does the same at this moment. out must be freed
 * in each case. */
bool collect_run(int dir, const char *dir_path, struct collected *out, struct err *err);
void collected_fini(struct collected *collected);

/* Whether a submission is to start it (again). */
bool collect_is_missing(enum collect_state state);
const char *collect_state_name(enum collect_state state);

/* What became of the experiments that are missing, as far as the scheduler tells: its queue, its
 * accounting where it keeps one, and what it wrote into the tasks' logs. */

/* Of the missing experiment's items sets task_status: one line, in plain words. dir: the run's
 * folder, open. note: why the queue was not asked or did not answer; NULL: it was asked, or nothing
 * is missing. The caller frees it. */
void task_statuses_find(int dir, const struct strv *env, const struct submission *submission,
                        struct collected *collected, char **note);

/* The last thing that a task's log tells of its end: "ended by its time limit, on n1"; failing that
 * its last line, quoted. Nothing is added when the text says nothing. Pure. */
void task_status_of_log(const char *text, size_t length, struct text *out);

/* Folders of one run that become part of another on the same file system, without their bytes being
 * copied. */

/* Gives every regular file below from (an open folder) the same name below to, as a second link, or
 * as a copy where the file system has none; what is a link or no regular file is left out, and so
 * are names that begin with a dot, and outputs of trainings (plan/placeholder.h). What is there
 * already stays. */
bool files_link_tree(int from, int to, struct err *err);

/* Removes the folder name below dir with all that is in it, following no link; fine when it is not
 * there. */
bool files_remove_tree(int dir, const char *name, struct err *err);

#endif
