/* runner: what the lanes share: the loop, the journal, and whether the run is to go on. Private to
 * run/. */
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

/* The CPU frequency governor (lane_governor.c). */
struct runner_governor {
    const char *wanted;  /* by the last experiment, of the plan; NULL: what was before the run */
    struct err why;      /* it is not set; "": it is */
    char reported[1000]; /* the last why that was told */
    struct lane *lane;   /* waits for the answer */
    struct step_source answer;
};

/* What the run may use, and whether it has (budget.c). */
struct runner_budget {
    /* what is left is not enough for another experiment; NULL: there is none yet */
    bool (*refuses)(struct runner *runner);
    int64_t begun_ns;
    double before_s;            /* of the sessions before this one */
    double unmeasured_before_s; /* attempts without energy, of those sessions */
    int64_t recorded_ns;
    double recorded_share;
    char *reached; /* which budget, and why nothing more begins; NULL: none */
    bool stops;    /* it is used up: what is under way is ended */
};

struct runner {
    const struct run_request *request;
    const struct plan *plan;
    sd_event *loop;
    int64_t session;
    double time_scale; /* of tare's own pauses */
    char *run_dir;     /* absolute */
    char *typed_dir;   /* the same as a person types it, behind --resume */
    struct lane *lanes;
    size_t lane_count;
    size_t next;        /* place in the plan before which nothing is left to take */
    bool *assigned;     /* for each experiment of the plan: a lane has it, or had it */
    bool paused;        /* on request: nothing more begins until it is to go on */
    bool stopped;       /* one has failed, and nothing is to begin after that */
    bool has_ended_one; /* an experiment of this session ended */
    /* number of the first experiment, which the others of the same script would fail like; 0:
     * none */
    size_t refused_by;
    struct err refused; /* why a lane takes nothing any more */
    int signal_number;  /* the first SIGINT or SIGTERM; 0: none */
    bool kill_now;      /* a second one came */
    bool broken;        /* err says why; nothing new is started */
    struct runner_governor governor;
    struct runner_budget budget;
    struct cpu_split split; /* of the packages' energy among the lanes */
    int64_t begun_ns;       /* when the lanes were */
    sd_event_source *tick_source, *guardian_source, *control_source;
    int64_t unguarded_ns;       /* since when there may have been no guardian; 0: there is one */
    int64_t ticked_ns;          /* when the loop last had time for it */
    bool memory_limit_reported; /* that it is not enforced */
    /* that jobs can write to the run's folder, against what their layers promise */
    bool records_reported;
    bool cpus_reported;        /* that a job runs on other processors than its lane's */
    bool setuid_reported;      /* why programs that become root do not work */
    bool checkpoints_reported; /* that not all old checkpoints are watched */
    bool fifo_reported;        /* that there is no FIFO for marks */
    bool mute; /* the journal takes nothing any more: steps follow each other without it */
    struct err err;
};

/* Journals the event; then tells the listener, then goes on with the lane's next step (may be
 * NULL). experiment, attempt: 0: none. data becomes the runner's; NULL: empty. */
void runner_record(struct runner *runner, enum event_type type, int64_t experiment, int64_t attempt,
                   json_t *data);
void runner_record_then(struct runner *runner, enum event_type type, int64_t experiment,
                        int64_t attempt, json_t *data, struct lane *lane, lane_step *next);

/* summary.csv and experiment.json, then the next step. */
void runner_write_results(struct runner *runner, size_t number, struct lane *lane, lane_step *next);

/* To the listener only. */
void runner_report(struct runner *runner, enum event_type type, int64_t experiment, int64_t attempt,
                   json_t *data);
/* EVENT_NOTE about the run. */
void runner_note(struct runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool runner_is_same_governor(const char *a, const char *b); /* NULL: none is wanted */

/* Every lane is told that the run is halted, or is to be killed now. */
void runner_halt_lanes(struct runner *runner);

/* A machine on which nothing is to be done is not woken every second. */
enum { RUNNER_TICK_US = 1000000, RUNNER_CALM_TICK_US = 30 * RUNNER_TICK_US };

/* A job runs from now on: it is looked after every second. */
void runner_tick_soon(struct runner *runner);

/* Nothing new is to be started: a signal came, the run is broken, or a budget is used up. */
bool runner_is_halted(const struct runner *runner);

/* The run ends, as failed: the first reason counts. Every lane is told. */
void runner_break(struct runner *runner, const struct err *err);

/* The same for what could not be written, with how to go on. */
void runner_break_disk(struct runner *runner, const struct err *cause);

/* The next experiment that is to be run, or NULL. From then on it is the caller's. waits: there is
 * one, and it may not begin beside those that the other lanes have. */
const struct plan_experiment *runner_next_experiment(struct runner *runner, bool *waits);

/* Whether any is left that no lane has. */
bool runner_has_more(struct runner *runner);

/* A lane has brought one to its end: those that wait look again. */
void runner_wake_lanes(struct runner *runner);

/* One that a lane cannot bring to its end: another lane does it. */
void runner_return_experiment(struct runner *runner, const struct plan_experiment *experiment);

/* A lane has nothing more to do. */
void runner_finish_lane(struct runner *runner);
bool runner_is_finished(const struct runner *runner);

/* Whether this session is still to do it, or has begun it. */
bool runner_is_left(const struct runner *runner, size_t number);

/* Whether the store says that this experiment (number from 1) needs nothing more. */
bool runner_is_experiment_ended(const struct runner *runner, size_t number);

/* What the run's owner asks for while it is under way (results/store/live.h): begin nothing more,
 * go on, skip an experiment, stop. As sd-event says it. */
int runner_watch_control(struct runner *runner);

/* As a first SIGINT: what runs is ended, recorded, and the run returns. A second one: at once. */
void runner_stop(struct runner *runner, int signal_number);

#endif
