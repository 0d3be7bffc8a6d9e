/* job_private: what job.c, start.c, prove.c and usage.c share. */
#ifndef TARE_MACHINE_CONTAIN_JOB_PRIVATE_H
#define TARE_MACHINE_CONTAIN_JOB_PRIVATE_H

#include "machine/contain/init.h"
#include "machine/contain/tree.h"

struct job {
    struct job_identity identity;
    struct containment layers;
    int control; /* the runner's end */
    int pidfd;   /* of the init; its pid cannot be used again until reaped */
    bool foreground_tty;
    bool started;         /* the gate was opened */
    bool reaped;          /* the init */
    bool ended_childless; /* the init: by itself, when it had no child left; not killed */
    bool proven;
    enum job_cpus cpus;
    int cpus_errno;
    int typing_errno;
    int records_errno;
    int64_t killed_ns; /* when job_kill was called; 0: not yet */
    struct job_exit exit;
    /* as the last step of a proof without a pid namespace saw them */
    struct job_foreign foreign[JOB_FOREIGN_MAX];
    size_t foreign_count;
    struct job_usage usage; /* what is known for good; job_usage adds what can be read now */
};

struct tree_seed job_seed(const struct job *job);

/* Reaps the init if it has ended; never waits. */
bool job_reap(struct job *job);

/* The peak of one process, 0: unknown; kept when it is the largest and the cgroup tells nothing
 * better. */
void job_peak_keep(struct job *job, uint64_t bytes);

/* Keeps what /proc and the cgroup say now, which is gone after the end. */
void job_usage_keep(struct job *job);

/* How the guardian, which was there when the runner died, ends a job. */

/* As job_recover; witnessed (else runners are heeded): the identity came from the runner itself,
 * while the init lived. */
bool job_end_orphaned(const struct job_identity *identity, bool witnessed,
                      const struct live_runners *runners, double timeout_s, size_t *killed,
                      struct err *err);

#endif
