/* measuring: the energy of what happens between two moments, for a command with a poll loop of its
 * own. Only measuring_finish ever waits. */
#ifndef TARE_SESSION_MEASURING_H
#define TARE_SESSION_MEASURING_H

#include "base/strv.h"
#include "measure/energy_meters.h"
#include "plan/plan.h"

struct measuring;

/* Starts the meters. The options' host must live as long. NULL: they cannot be started (err). */
struct measuring *measuring_new(const struct energy_meters_options *options, struct err *err);
void measuring_free(struct measuring *measuring); /* NULL: nothing */

/* readable: measuring_step has something to do */
int measuring_fd(const struct measuring *measuring);
/* at most so long until the next step */
int measuring_wait_ms(const struct measuring *measuring);
/* after each poll; reads all about once a second */
void measuring_step(struct measuring *measuring);
/* some meter has not answered yet, and still may */
bool measuring_starting(const struct measuring *measuring);

/* Whose use of the host is told besides; all zero: nobody's. */
struct measuring_subject {
    const struct job_identity *job;
    pid_t pid; /* or of a process that is none, and its descendants */
    uint64_t start_time;
};

/* The first moment, and the last. What begins before the meters are ready is read as soon as they
 * are; the driver has mostly kept the power of the seconds before. */
void measuring_begin(struct measuring *measuring, const struct measuring_subject *subject);
/* usage: of a job that has ended, as the kernel tells it; NULL: not known. end_ns: when it ended
 * (CLOCK_MONOTONIC); 0: now. */
void measuring_end(struct measuring *measuring, const struct job_usage *usage, int64_t end_ns);

bool measuring_has_ended(const struct measuring *measuring);

/* In between: cuts the time into epochs (measure/marks/marks.h). */
void measuring_mark(struct measuring *measuring, const struct mark *mark);

/* The same of a step, or of a phase within one (measure/step_power.h); false: it marks neither. */
bool measuring_mark_step(struct measuring *measuring, const struct mark *mark);

struct measured {
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    int64_t ready_ns;         /* all meters had answered; 0: not before the end */
    size_t unanswered;        /* readings of the last moment that did not come in time */
    struct strv notes;        /* what went wrong meanwhile, a sentence each */
    bool has_subject;
    struct mark *marks;   /* of which the epochs are made */
    struct epoch *epochs; /* as many as the result's; NULL: nothing was marked */
    struct energy_meters_result result;
};

/* Waits for the last readings, 1.5 s at most. Names in it are borrowed from the measuring. */
void measuring_finish(struct measuring *measuring, struct measured *out);
void measured_fini(struct measured *measured);

/* Whether anything could be measured if it began now: some sensor of a GPU, package or DRAM
 * answers. */
bool measuring_useful(const struct measuring *measuring);

/* What can measure the energy of jobs here: the GPUs that they will see, and the host's
 * counters. */

struct meters {
    struct energy_meters_options options; /* for run_plan */
    struct energy_meters_gpu *gpus;
    /* read once, before any job: root's, and the user's of other GPUs */
    struct calibration *calibrations;
    struct strv refused; /* files that were not used: place, reason and fix */
};

/* The folder of root's calibrations, which all users read: fresh. */
char *meters_calibrations_path(void);

/* Prints refused as warnings. */
void meters_say_refused(const struct meters *meters);

/* What a job could have written is dropped where jobs have no mount namespace that hides the user's
 * state folder. */
void meters_distrust_jobs(struct meters *meters, bool mount_namespace);

/* The host's counters, which may need root's rights: before these are given up. Free it with
 * host_meter_free. */
struct host_meter *meters_open_host(void);

/* plan: what adds to the environment; NULL: none. host (may be NULL) stays the caller's. */
void meters_find(const struct strv *environment, const struct plan *plan, struct host_meter *host,
                 struct meters *out);

/* Those that a person names: "all", or numbers as nvidia-smi has them and UUIDs (or what they begin
 * with), by commas. False: there is no such GPU. */
bool meters_choose(const char *list, struct host_meter *host, struct meters *out, struct err *err);

/* Takes TARE_TIME_SCALE (machine/sensors/time_scale.h). False: it is no scale, or the GPUs are
 * real. */
bool meters_scale(struct meters *meters, struct err *err);
void meters_fini(struct meters *meters);

#endif
