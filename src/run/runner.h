/* runner: shared by the lanes: event loop, journal, and whether the run goes on. */
#ifndef TARE_RUN_RUNNER_H
#define TARE_RUN_RUNNER_H

#include "machine/sensors/cpu_split.h"
#include "measure/energy_meters.h"
#include "run/outcome.h"
#include "run/phases.h"
#include "run/request.h"
#include "run/step.h"

struct lane;
struct runner;

struct runner_governor {
    const char *wanted;  /* by the last experiment; NULL: that from before the run */
    struct err why;      /* it is not set; "": it is */
    char reported[1000]; /* the last why */
    struct lane *lane;   /* waits for the answer */
    struct step_source answer;
};

struct runner_budget {
    /* the rest is not enough for another experiment; may be NULL */
    bool (*refuses)(struct runner *runner);
    int64_t begun_ns;
    double before_s;            /* of earlier sessions */
    double unmeasured_before_s; /* in earlier sessions, without energy */
    int64_t recorded_ns;
    double recorded_share;
    char *reached; /* which budget, and why; NULL: none */
    bool stops;    /* used up: end everything */
};

struct runner {
    const struct run_request *request;
    const struct plan *plan;
    sd_event *loop;
    int64_t session;
    double time_scale; /* of pauses */
    char *run_dir;
    char *typed_dir; /* as typed after --resume */
    struct lane *lanes;
    size_t lane_count;
    size_t next;    /* index in the plan of the first that may be left */
    bool *assigned; /* per experiment: a lane has or had it */
    bool paused;
    bool stopped;
    bool has_ended_one;
    /* the first experiment, whose failure the others would repeat; 0: none */
    size_t refused_by;
    struct err refused;
    int signal_number; /* the first; 0: none */
    bool kill_now;
    bool broken; /* see err */
    struct runner_governor governor;
    struct runner_budget budget;
    struct cpu_split split; /* of the packages' energy */
    int64_t begun_ns;
    sd_event_source *tick_source, *guardian_source, *control_source;
    int64_t unguarded_ns; /* possibly without guardian since then; 0: with one */
    int64_t ticked_ns;
    bool memory_limit_reported; /* not enforced */
    /* jobs can write to the run's folder */
    bool records_reported;
    bool cpus_reported;        /* a job runs on other processors */
    bool setuid_reported;      /* setuid programs do not work */
    bool checkpoints_reported; /* not all are watched */
    bool fifo_reported;        /* no FIFO for marks */
    bool mute;                 /* journal lost: steps follow each other without it */
    struct err err;
};

/* Journals the event, then calls the listener, then runs next (may be NULL). experiment, attempt:
 * 0: none. Owns data; NULL: empty. */
void runner_record(struct runner *runner, enum event_type type, int64_t experiment, int64_t attempt,
                   json_t *data);
void runner_record_then(struct runner *runner, enum event_type type, int64_t experiment,
                        int64_t attempt, json_t *data, struct lane *lane, lane_step *next);

/* summary.csv and experiment.json, then next. */
void runner_write_results(struct runner *runner, size_t number, struct lane *lane, lane_step *next);

/* To the listener only; owns data. */
void runner_report(struct runner *runner, enum event_type type, int64_t experiment, int64_t attempt,
                   json_t *data);
/* EVENT_NOTE of the run. */
void runner_note(struct runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool runner_is_same_governor(const char *a, const char *b);

/* Sends LANE_HALTED to every lane. */
void runner_halt_lanes(struct runner *runner);

/* An idle machine is woken less often. */
enum { RUNNER_TICK_US = 1000000, RUNNER_CALM_TICK_US = 30 * RUNNER_TICK_US };

/* A job runs: ticks each second again. */
void runner_tick_soon(struct runner *runner);

/* A signal came, the run is broken, or a budget is used up. */
bool runner_is_halted(const struct runner *runner);

/* Ends the run as failed; the first reason counts. */
void runner_break(struct runner *runner, const struct err *err);

/* The same for a failed write; adds how to go on. */
void runner_break_disk(struct runner *runner, const struct err *cause);

/* Assigns the next experiment to the caller; NULL: none. waits: one must wait for other lanes. */
const struct plan_experiment *runner_next_experiment(struct runner *runner, bool *waits);

/* Some experiment is not assigned. */
bool runner_has_more(struct runner *runner);

/* An experiment ended: waiting lanes choose again. */
void runner_wake_lanes(struct runner *runner);

/* Gives an experiment to other lanes. */
void runner_return_experiment(struct runner *runner, const struct plan_experiment *experiment);

void runner_finish_lane(struct runner *runner);
bool runner_is_finished(const struct runner *runner);

/* Still to do, or begun, in this session. */
bool runner_is_left(const struct runner *runner, size_t number);

/* number: from 1. */
bool runner_is_experiment_ended(const struct runner *runner, size_t number);

/* Watches the run's folder for requests (results/store/live.h): pause, continue, skip, stop.
 * Negative: sd-event's error. */
int runner_watch_control(struct runner *runner);

/* Ends the current jobs, records them and returns; the second call kills them. */
void runner_stop(struct runner *runner, int signal_number);

#endif
