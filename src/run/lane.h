/* lane: one experiment at a time on its own way (experiment.c), and what all that acts for it has of it (lane.c). Private to run/. */
#ifndef TARE_RUN_LANE_H
#define TARE_RUN_LANE_H

#include "run/ladder.h"
#include "run/lane_background.h"
#include "run/observer.h"

/* phases: what a lane does one after the other, for one experiment after the other. The table is in experiment.c and reads from top to
 * bottom as the story of one; what its rows call that is not there is declared here, file by file. */

enum phase {
    PHASE_NONE,        /* nothing yet */
    PHASE_METERS,      /* the lane's meters start */
    PHASE_TAKING,      /* takes the next experiment of the plan */
    PHASE_WAITING,     /* which may not run beside those of the other lanes */
    PHASE_PAUSING,     /* between experiments */
    PHASE_STARTING,    /* the experiment begins */
    PHASE_GOVERNOR,    /* the CPU frequency governor is set */
    PHASE_PREFLIGHT,   /* are the GPUs free, and what do they use idle? Here an attempt begins */
    PHASE_PREPARING,   /* its folder */
    PHASE_OPENING,     /* its files */
    PHASE_LOADING,     /* its background runs alone */
    PHASE_BIRTH,       /* its job is born and waits at its gate */
    PHASE_GATE,        /* which is opened */
    PHASE_RUNNING,     /* the job runs */
    PHASE_STOPPING,    /* it is asked to end */
    PHASE_PROVING,     /* it is killed: is everything gone? */
    PHASE_READING,     /* the meters' last readings */
    PHASE_POSTFLIGHT,  /* is the GPUs' memory back? */
    PHASE_JUDGING,     /* how did it go? */
    PHASE_RETRY_PAUSE, /* before it is tried again */
    PHASE_RETRYING,    /* or is it not? Then */
    PHASE_ENDING,      /* the experiment ends */
    PHASE_WRITING,     /* its results */
    PHASE_CLOSING,     /* nothing more is to run: the idle GPUs are measured a last time */
    PHASE_FINISHED
};

/* What may come to a lane whatever it does. */
enum lane_event {
    LANE_HALTED, /* the run goes on no more, or is to be killed now */
    LANE_LOST    /* a GPU of the lane is lost */
};

struct phase_row {
    void (*enter)(struct lane *lane);
    void (*on_event)(struct lane *lane, enum lane_event event); /* NULL: what comes next looks by itself */
    enum phase next;
    bool has_job;
};

/* meters.c */
void phase_meters(struct lane *lane);

/* lane_governor.c */
void phase_governor(struct lane *lane);

/* The guard of the lane's GPUs: lane_preflight.c, lane_watch.c, lane_idle.c. Without GPUs each does what follows at
 * once. */
void lane_guard_preflight(struct lane *lane);
void lane_guard_pause(struct lane *lane, double seconds); /* seconds: of the settings */
void phase_postflight(struct lane *lane);
void phase_closing(struct lane *lane);
bool lane_guard_refuses(struct lane *lane); /* a GPU did not come back: the lane takes nothing more */
void lane_guard_cancel(struct lane *lane);  /* what is on its way has no more purpose */
void lane_guard_leave(struct lane *lane, enum lane_event event); /* the same, and goes on */

/* lane_job.c: the job, from its files to the proof that it is gone */
void phase_opening(struct lane *lane);
void phase_birth(struct lane *lane);
void phase_gate(struct lane *lane);
void phase_running(struct lane *lane);
void phase_job_event(struct lane *lane, enum lane_event event);
void phase_stopping(struct lane *lane);
void phase_stopping_event(struct lane *lane, enum lane_event event);
void phase_proving(struct lane *lane);

/* lane_background.c */
void phase_loading(struct lane *lane);

/* lane_energy.c */
void phase_reading(struct lane *lane);

struct lane {
    struct runner *runner;
    size_t number; /* from 1 */
    const struct run_lane *means; /* its GPUs */
    bool retired; /* it takes nothing any more */
    double waited_s;  /* for experiments of other lanes, in this session */
    int64_t waits_ns; /* since when it does; 0: it does not */
    char *lost;   /* which of its GPUs, and why; NULL: none is */
    struct energy_meters *energy_meters; /* NULL: nothing is measured */
    struct step_source meters_source;
    int64_t energy_meters_until_ns; /* so long its meters are waited for before the first job */
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
    bool again;           /* there will be another attempt */
    json_t *ended;        /* data of the EVENT_ATTEMPT_ENDED that is about to be recorded, so far; borrowed */
    json_t *last_attempt; /* data of the last EVENT_ATTEMPT_ENDED, or NULL */
    enum outcome outcome; /* of the last attempt */
    struct step_source timer; /* pauses, grace, proof */
    struct step_source log_source, job_source, timeout;
    bool measured; /* the attempt, from its gate until its figures are taken */
    bool edged;    /* the end of its command was told to the observers */
    struct lane_background background; /* of a parallel experiment */
    const struct observer *const *observers; /* run/observer.h */
    void **states;                           /* one for each */
    struct ladder ladder; /* what the next attempt does otherwise than planned */
    int64_t grace_end_ns, proof_start_ns;
    uint64_t poll_us; /* until the next look */
};

/* number: from 1, of the runner's lanes. */
void lane_init(struct lane *lane, struct runner *runner, size_t number);
void lane_fini(struct lane *lane);

/* From phase to phase. */
void lane_enter(struct lane *lane, enum phase phase);
void lane_next(struct lane *lane);
void lane_event(struct lane *lane, enum lane_event event);
bool lane_has_job(const struct lane *lane);
void lane_wake(struct lane *lane); /* there may be something to do for one that waits, or has finished */
void lane_stop(struct lane *lane, enum stop_reason reason); /* the attempt, wherever it is */

bool lane_is_over(const struct lane *lane); /* the run is halted, or a GPU is lost: nothing is begun any more */
enum stop_reason lane_stop_reason(struct lane *lane); /* of an attempt that then is not begun */
void lane_lost_detail(struct lane *lane); /* the attempt's end says that a GPU is lost */
struct reading lane_since_start(const struct lane *lane, int64_t ns); /* of the attempt, in s; of one that never began, nothing */
void lane_edge(struct lane *lane); /* the command has ended: all that measure it are told, once */

void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next);
/* EVENT_NOTE, the experiment's id before it. */
void lane_say(struct lane *lane, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lane_tell(struct lane *lane, enum event_type type, json_t *data); /* the listener only: never journaled; takes data */
void lane_evidence_at(struct lane *lane, struct lane_evidence_entry entry); /* EVENT_EVIDENCE; takes its text and lists */
/* With the span from from_s to to_s: of the attempt, as lane_since_start gives it. */
void lane_evidence_span(struct lane *lane, const char *kind, struct reading from_s, struct reading to_s,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));
#define lane_evidence(lane, kind, ...) lane_evidence_span((lane), (kind), (struct reading){0}, (struct reading){0}, __VA_ARGS__)
void lane_add_number(const struct lane *lane, json_t *json); /* where there are several: which one, and its GPUs */

void lane_after(struct lane *lane, uint64_t us, lane_step *step);
void lane_timer_set(struct lane *lane, struct step_source *timer, uint64_t us,
                    lane_step *step); /* one that cannot be set breaks the run */

/* As sd-event says it: once, after so long; whenever fd has something to be read, until it is cancelled. */
int lane_on_time(struct lane *lane, struct step_source *source, uint64_t us, lane_step *step);
int lane_on_input(struct lane *lane, struct step_source *source, int fd, lane_step *step);

/* Guardian and state folder know of the job from now on, until attempt_job_gone. */
void lane_job_watch(struct lane *lane, const struct job *job);
void lane_unguarded(struct lane *lane, int64_t since_ns); /* there may have been no guardian from then until now: evidence */

/* This process did nothing for so long: evidence for the attempt that was measured meanwhile. (lane_stalls.c) */
void lane_stalled(struct lane *lane, int64_t from_ns, int64_t to_ns);

/* The output of its job, and of its background's (lane_job.c): read until its end; what cannot be kept ends the attempt, and the run. */
void lane_read_log(struct lane *lane, struct attempt *attempt, struct step_source *source);
void lane_log_lost(struct lane *lane, const struct attempt *attempt, const struct err *cause);
void lane_job_sources_fini(struct lane *lane);

/* Marks (lane_marks.c): the FIFO is made before the job is born; it is watched while the job runs; what was marked is
 * recorded about once a second, and the rest when the job is gone. */
int lane_marks_watch(struct lane *lane); /* as sd-event says it */
void lane_marks_take(void *context, const struct mark *mark); /* context: the lane */
void lane_marks_end(struct lane *lane);
void lane_marks_doubt(struct lane *lane); /* says it when they look wrong */

/* The background's first loop was born, in this attempt. */
static inline bool lane_background_was_born(const struct lane *lane)
{
    return lane->background.first_start_time != 0;
}

/* The run breaks off: the attempt's survivors cannot be ended. (lane_background.c) */
void lane_break_unkillable(struct lane *lane, const struct attempt *attempt);

#endif
