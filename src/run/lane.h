/* lane: the GPUs on which one experiment at a time runs, and the state of that experiment. */
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
    size_t number; /* from 1 */
    const struct run_lane *resources;
    bool retired;                        /* takes no more experiments */
    double waited_s;                     /* for other lanes, in this session */
    int64_t wait_start_ns;               /* 0: not waiting */
    char *lost;                          /* which GPU was lost, and why; NULL: none */
    struct energy_meters *energy_meters; /* NULL: nothing is measured */
    struct step_source meters_source;
    int64_t meters_deadline_ns; /* for the meters' first answers */
    const struct phase_row *phases;
    enum phase phase;
    const struct plan_experiment
        *experiment; /* in work, or the next one while pausing; may be NULL */
    bool ran_one;
    size_t last_configuration; /* of the previous experiment */
    struct attempt attempt;
    int64_t failed;       /* failed attempts of the experiment */
    int machine_failures; /* consecutive attempts that the machine interrupted */
    bool machine_excused; /* one of this experiment, in this session */
    bool once_more;       /* it is repeated */
    bool refused;         /* another attempt would fail like the last one */
    bool again;           /* another attempt follows */
    /* unfinished data of EVENT_ATTEMPT_ENDED; borrowed */
    json_t *ended;
    json_t *last_attempt; /* data of the last EVENT_ATTEMPT_ENDED; may be NULL */
    enum outcome outcome;
    struct step_source timer;
    struct step_source log_source, job_source, timeout;
    bool measured;
    bool command_end_reported; /* to the observers */
    struct lane_background background;
    const struct observer *const *observers;
    void **states;
    struct lane_calibration calibration;
    struct ladder ladder; /* changes of the next attempt */
    int64_t grace_end_ns, proof_start_ns;
    uint64_t poll_us; /* until the next check */
};

/* The run is halted, or a GPU is lost. */
bool lane_is_over(const struct lane *lane);
int64_t lane_count_attempts(const struct lane *lane); /* of its experiment, so far */
enum stop_reason lane_stop_reason(struct lane *lane); /* for an attempt that does not begin */
void lane_set_lost_detail(struct lane *lane);         /* the attempt ended because of a lost GPU */
/* Since the attempt's start, in s; invalid before it. */
struct reading lane_seconds_since_start(const struct lane *lane, int64_t ns);
void lane_report_command_end(struct lane *lane); /* once, after the command ended */

void lane_enter(struct lane *lane, enum phase phase);
void lane_enter_next(struct lane *lane);
void lane_handle_event(struct lane *lane, enum lane_event event);
bool lane_has_job(const struct lane *lane);
/* Chooses again if the lane waits or has finished. */
void lane_wake(struct lane *lane);
void lane_stop_attempt(struct lane *lane, enum stop_reason reason);

void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next);
/* EVENT_NOTE with the experiment's id. */
void lane_note(struct lane *lane, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports to the listener without journaling; owns data. */
void lane_report(struct lane *lane, enum event_type type, json_t *data);
/* EVENT_EVIDENCE; owns text and lists. */
void lane_add_evidence_entry(struct lane *lane, struct lane_evidence_entry entry);
/* from_s, to_s: as lane_seconds_since_start. */
void lane_add_evidence_span(struct lane *lane, const char *kind, struct reading from_s,
                            struct reading to_s, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define lane_add_evidence(lane, kind, ...) \
    lane_add_evidence_span((lane), (kind), (struct reading){0}, (struct reading){0}, __VA_ARGS__)
/* Adds the lane's number and GPUs, if there are several lanes. */
void lane_add_identity(const struct lane *lane, json_t *json);

void lane_enter_after(struct lane *lane, uint64_t us, lane_step *step);
void lane_set_timer(struct lane *lane, struct step_source *timer, uint64_t us,
                    lane_step *step); /* breaks the run on failure */

/* LANE_STATE(stops_of, struct lane_stops, stopped_observer); defines stops_of(lane), which returns
 * the observer's state. */
void *lane_observer_state(const struct lane *lane, const struct observer *observer);

#endif
