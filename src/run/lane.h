/* lane: one experiment at a time on its own way (experiment.c), and what all that acts for it has
 * of it (lane.c; its steps: runner.c). Private to run/. */
#ifndef TARE_RUN_LANE_H
#define TARE_RUN_LANE_H

#include "run/attempt.h"
#include "run/ladder.h"
#include "run/lane_background.h"
#include "run/lane_calibration.h"
#include "run/observer.h"
#include "run/phases.h"
#include "run/runner.h"

struct lane {
    struct runner *runner;
    size_t number;                       /* from 1 */
    const struct run_lane *resources;    /* its GPUs */
    bool retired;                        /* it takes nothing any more */
    double waited_s;                     /* for experiments of other lanes, in this session */
    int64_t wait_start_ns;               /* since when it does; 0: it does not */
    char *lost;                          /* which of its GPUs, and why; NULL: none is */
    struct energy_meters *energy_meters; /* NULL: nothing is measured */
    struct step_source meters_source;
    int64_t meters_deadline_ns; /* so long its meters are waited for before the first job */
    const struct phase_row *phases;
    enum phase phase;
    const struct plan_experiment *experiment; /* in work or, while pausing, the next; NULL: none */
    bool ran_one;                             /* in this session: a pause comes before the next */
    size_t last_configuration;                /* of the experiment before */
    struct attempt attempt;
    int64_t failed;       /* attempts of the experiment that failed */
    int machine_failures; /* attempts in a row that the machine interrupted */
    bool machine_excused; /* one of this experiment was, in this session: */
    bool once_more;       /* and it is tried again */
    bool refused;         /* the last attempt failed in a way in which another would, too */
    bool again;           /* there will be another attempt */
    /* data of the EVENT_ATTEMPT_ENDED that is about to be recorded, so far; borrowed */
    json_t *ended;
    json_t *last_attempt;     /* data of the last EVENT_ATTEMPT_ENDED, or NULL */
    enum outcome outcome;     /* of the last attempt */
    struct step_source timer; /* pauses, grace, proof */
    struct step_source log_source, job_source, timeout;
    bool measured;                     /* the attempt, from its gate until its figures are taken */
    bool command_end_reported;         /* the end of its command was told to the observers */
    struct lane_background background; /* of a parallel experiment */
    const struct observer *const *observers; /* run/observer.h */
    void **states;                           /* one for each */
    struct lane_calibration calibration;
    struct ladder ladder; /* what the next attempt does otherwise than planned */
    int64_t grace_end_ns, proof_start_ns;
    uint64_t poll_us; /* until the next look */
};

/* the run is halted, or a GPU is lost: nothing is begun any more */
bool lane_is_over(const struct lane *lane);
enum stop_reason lane_stop_reason(struct lane *lane); /* of an attempt that then is not begun */
void lane_set_lost_detail(struct lane *lane); /* the attempt's end says that a GPU is lost */
/* of the attempt, in s; of one that never began, nothing */
struct reading lane_seconds_since_start(const struct lane *lane, int64_t ns);
void lane_report_command_end(
    struct lane *lane); /* the command has ended: all that measure it are told, once */

/* From phase to phase. */
void lane_enter(struct lane *lane, enum phase phase);
void lane_enter_next(struct lane *lane);
void lane_handle_event(struct lane *lane, enum lane_event event);
bool lane_has_job(const struct lane *lane);
/* there may be something to do for one that waits, or has finished */
void lane_wake(struct lane *lane);
void lane_stop_attempt(struct lane *lane,
                       enum stop_reason reason); /* the attempt, wherever it is */

void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next);
/* EVENT_NOTE, the experiment's id before it. */
void lane_note(struct lane *lane, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* the listener only: never journaled; takes data */
void lane_report(struct lane *lane, enum event_type type, json_t *data);
/* EVENT_EVIDENCE; takes its text and lists */
void lane_add_evidence_entry(struct lane *lane, struct lane_evidence_entry entry);
/* With the span from from_s to to_s: of the attempt, as lane_seconds_since_start gives it. */
void lane_add_evidence_span(struct lane *lane, const char *kind, struct reading from_s,
                            struct reading to_s, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define lane_add_evidence(lane, kind, ...) \
    lane_add_evidence_span((lane), (kind), (struct reading){0}, (struct reading){0}, __VA_ARGS__)
/* where there are several: which one, and its GPUs */
void lane_add_identity(const struct lane *lane, json_t *json);

void lane_enter_after(struct lane *lane, uint64_t us, lane_step *step);
void lane_set_timer(struct lane *lane, struct step_source *timer, uint64_t us,
                    lane_step *step); /* one that cannot be set breaks the run */

/* Defines stops_of(lane), which returns an observer's state of a lane:
 * LANE_STATE(stops_of, struct lane_stops, stopped_observer); */
void *lane_observer_state(const struct lane *lane, const struct observer *observer);

#endif
