/* lane: one experiment at a time on its own way (experiment.c), and what all that acts for it has
 * of it (lane.c; its steps: runner.c). Private to run/. */
#ifndef TARE_RUN_LANE_H
#define TARE_RUN_LANE_H

#include "measure/colocated.h"
#include "run/attempt.h"
#include "run/observer.h"
#include "run/runner.h"

/* ladder: what a retry does otherwise after a GPU's memory ran out: the cause decides
 * (docs/reference/running.md). A failure of another kind is tried again as it was. */

enum { LADDER_STEPS_MAX = 400 };

struct ladder {
    struct plan_experiment *experiment;     /* with all changes so far; NULL: as planned */
    json_t *changed;                        /* plan/change.c; NULL: nothing */
    bool expandable;                        /* expandable segments were turned on */
    unsigned short steps[LADDER_STEPS_MAX]; /* of oom_steps, in the order taken */
    size_t step_count;
    bool given_up; /* no retry would help */
};

/* An experiment begins: as planned, or as its last attempt of an earlier session left it. */
void ladder_begin(struct lane *lane, const json_t *before);
void ladder_fini(struct ladder *ladder);

/* Whether what was written of it ("ladder" of an event; may be NULL) says that no retry would
 * help. */
bool ladder_gave_up(const json_t *state);

/* What the next attempt runs: the plan's, or a changed copy. */
const struct plan_experiment *ladder_experiment(const struct lane *lane);

/* Adds to the data of EVENT_ATTEMPT_PREPARED what is changed: "changed", and "ladder" for a resume;
 * nothing when nothing is. */
void ladder_prepared(const struct lane *lane, json_t *data);

/* The attempt has ended: looks for out-of-memory messages at the end of its log and, if it failed
 * by one and may be tried again, decides how. Adds "oom" (the diagnosis) and "ladder" to the data
 * of EVENT_ATTEMPT_ENDED; nothing for other failures. Gives may_retry, or false where no retry
 * would help. */
bool ladder_judge(struct lane *lane, json_t *data, bool may_retry);

/* lane_background: the background of a parallel experiment on its lane: looped until the foreground
 * has ended, looked at, and proven gone together with it. */

/* So many failures in a row, and it is not started again: before the foreground, and beside it. */
enum { BACKGROUND_TRIES_ALONE = 3, BACKGROUND_TRIES_BESIDE = 5, BACKGROUND_FAILURES_TOLD = 2 };

struct background_tally {
    size_t started, succeeded, failed;
    size_t failed_in_a_row;
    size_t failed_beside; /* while the foreground ran */
    bool gave_up;
};

enum background_next {
    BACKGROUND_AGAIN,   /* after the restart delay */
    BACKGROUND_TELL,    /* the same, and it is time to say that it fails repeatedly */
    BACKGROUND_GIVE_UP, /* it failed too often in a row */
};

enum background_phase {
    BACKGROUND_NONE,
    BACKGROUND_BORN, /* waits at its gate for the journal */
    BACKGROUND_RUNNING,
    BACKGROUND_ENDING,  /* its command has ended: is everything of it gone? */
    BACKGROUND_PAUSING, /* before it is started again */
    BACKGROUND_OVER     /* it is not started again */
};

struct lane_background {
    enum background_phase phase;
    bool halted;         /* the attempt is being stopped: nothing is started any more */
    struct attempt loop; /* the one that lives; without a job none does */
    size_t energy_meters_number;
    struct background_tally tally;
    uint64_t first_start_time; /* of the first loop's init, in clock ticks; 0: none was born */
    double first_death_s;      /* beside the foreground, from its start */
    bool leftovers_told, log_held_told, unproven_told;
    json_t *loops;     /* what is told of the first ones */
    size_t loops_more; /* of which nothing is told one by one */
    struct step_source timer, log_source, job_source;
    int64_t proof_start_ns;
    uint64_t poll_us;
};

/* Whether the background loads the GPU, from looks at it, and when the foreground may start.
 * Pure. */
struct load_watch {
    bool visible;         /* some look could tell */
    int64_t since_ns;     /* the load holds since; 0: there is none */
    int64_t last_ns;      /* of the last look that found it; 0: none has */
    bool missed;          /* the look before found none */
    size_t looks, loaded; /* that could tell, and that found it */
};

/* One look (CLOCK_MONOTONIC). A training that reads its data computes nothing for a moment: only
 * two looks in a row without load end it. */
void load_take(struct load_watch *watch, int64_t t_ns, bool loaded);

struct load_times {
    int64_t wait_ns, hold_ns, limit_ns;
    bool set; /* the foreground starts after wait_ns, whether there is load or not */
};

enum load_verdict {
    LOAD_WAIT,
    LOAD_HELD,   /* it has loaded the GPU for hold_ns, and wait_ns are over */
    LOAD_UNSEEN, /* nobody can tell here; wait_ns are over */
    LOAD_SET,    /* nobody asks; wait_ns are over */
    LOAD_NONE    /* limit_ns (wait_ns, when that is longer) are over without it */
};

enum load_verdict load_decide(const struct load_watch *watch, const struct load_times *times,
                              int64_t begun_ns, int64_t now_ns);

/* The share of the looks that found load; false: too few to say. */
bool load_share(const struct load_watch *watch, double *out);

/* What is known of one GPU. */
struct load_gpu {
    char *label;
    struct reading power_w, utilisation_percent, memory_bytes; /* of the last sample */
    struct reading memory_before_bytes;                        /* before the background was born */
    double background_peak_bytes; /* of the background's processes, since a loop of it ended */
    /* its processes were listed since the last look; the background's load it */
    bool listed, loaded;
    struct colocated_shares shares;
    struct colocated_trace trace;
};

enum load_role { LOAD_OTHER, LOAD_FOREGROUND, LOAD_BACKGROUND };

/* Whose a process is, so that /proc is not searched at every look. */
struct load_member {
    pid_t pid;
    enum load_role role;
};

struct lane_load {
    bool on, beside;  /* looks are taken; the foreground runs */
    bool waiting;     /* for the readings at the end of the time alone */
    bool by_process;  /* the background's processes can be told from others on the GPU */
    int64_t begun_ns; /* the background's first gate was opened; 0: not yet */
    int64_t alone_end_ns;
    enum load_verdict verdict;
    struct load_watch alone_watch, beside_watch;
    struct colocated_alone alone;
    bool has_alone;
    struct load_gpu *gpus;
    size_t gpu_count;
    struct load_member *members;
    size_t member_count;
    struct step_source timer;
    struct rng rng;
};

/* A loop has ended by itself. beside: while the foreground ran. TELL comes once. Pure. */
enum background_next lane_background_ended(struct background_tally *tally, enum outcome outcome,
                                           bool beside);

/* Loops (lane_background.c). None of these does anything where there is no background. */
/* or not: written down, with what is left */
void lane_background_proven(struct lane *lane, double seconds);
json_t *lane_background_json(const struct lane *lane);

/* Looks (lane_load.c). */
void lane_load_prepare(struct lane *lane); /* the background is about to be born */
void lane_load_begin(struct lane *lane);   /* its gate is open */
const struct lane_load *lane_load(const struct lane *lane);

/* What the driver told of the loop that has just ended. */
struct gpu_memory_told lane_load_told(struct lane *lane);

/* phases: what a lane does one after the other, for one experiment after the other. The table is in
 * experiment.c and reads from top to bottom as the story of one; what its rows call that is not
 * there is declared here, file by file. */

enum phase {
    PHASE_NONE,        /* nothing yet */
    PHASE_METERS,      /* the lane's meters start */
    PHASE_TAKING,      /* takes the next experiment of the plan */
    PHASE_WAITING,     /* which may not run beside those of the other lanes */
    PHASE_PAUSING,     /* between experiments */
    PHASE_CALIBRATING, /* the sensors of its GPUs, where that is due */
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
    /* NULL: what comes next checks that itself */
    void (*on_event)(struct lane *lane, enum lane_event event);
    enum phase next;
    bool has_job;
};

/* meters.c */
void phase_meters(struct lane *lane);

/* lane_calibration.c */
void phase_calibrating(struct lane *lane);
void lane_calibration_cancel(struct lane *lane); /* nothing is kept */
void lane_calibration_fini(struct lane *lane);

/* lane_governor.c */
void phase_governor(struct lane *lane);

/* The guard of the lane's GPUs: lane_preflight.c, lane_watch.c, lane_idle.c. Without GPUs each does
 * what follows at once. */
void lane_guard_preflight(struct lane *lane);
void lane_guard_pause(struct lane *lane, double seconds); /* seconds: of the settings */
void phase_postflight(struct lane *lane);
void phase_closing(struct lane *lane);
/* a GPU did not come back: the lane takes nothing more */
bool lane_guard_refuses(struct lane *lane);
void lane_guard_cancel(struct lane *lane); /* what is on its way has no more purpose */
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

/* The process that calibrates a GPU of the lane, and what it has answered so far. */
struct lane_calibration {
    bool over; /* it was done or tried in this session */
    /* how long the plan uses the GPUs, when estimated_at experiments had succeeded */
    bool estimated;
    int64_t estimated_at;
    size_t place; /* of the GPU among the lane's */
    pid_t pid;    /* 0: none */
    int fd;
    struct text text;
    struct step_source answer;
};

struct lane {
    struct runner *runner;
    size_t number;                       /* from 1 */
    const struct run_lane *means;        /* its GPUs */
    bool retired;                        /* it takes nothing any more */
    double waited_s;                     /* for experiments of other lanes, in this session */
    int64_t waits_ns;                    /* since when it does; 0: it does not */
    char *lost;                          /* which of its GPUs, and why; NULL: none is */
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
    bool refused;         /* the last attempt failed in a way in which another would, too */
    bool again;           /* there will be another attempt */
    /* data of the EVENT_ATTEMPT_ENDED that is about to be recorded, so far; borrowed */
    json_t *ended;
    json_t *last_attempt;     /* data of the last EVENT_ATTEMPT_ENDED, or NULL */
    enum outcome outcome;     /* of the last attempt */
    struct step_source timer; /* pauses, grace, proof */
    struct step_source log_source, job_source, timeout;
    bool measured;                     /* the attempt, from its gate until its figures are taken */
    bool edged;                        /* the end of its command was told to the observers */
    struct lane_background background; /* of a parallel experiment */
    const struct observer *const *observers; /* run/observer.h */
    void **states;                           /* one for each */
    struct lane_calibration calibration;
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
/* there may be something to do for one that waits, or has finished */
void lane_wake(struct lane *lane);
void lane_stop(struct lane *lane, enum stop_reason reason); /* the attempt, wherever it is */

/* the run is halted, or a GPU is lost: nothing is begun any more */
bool lane_is_over(const struct lane *lane);
enum stop_reason lane_stop_reason(struct lane *lane); /* of an attempt that then is not begun */
void lane_lost_detail(struct lane *lane); /* the attempt's end says that a GPU is lost */
/* of the attempt, in s; of one that never began, nothing */
struct reading lane_since_start(const struct lane *lane, int64_t ns);
void lane_edge(struct lane *lane); /* the command has ended: all that measure it are told, once */

void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next);
/* EVENT_NOTE, the experiment's id before it. */
void lane_say(struct lane *lane, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* the listener only: never journaled; takes data */
void lane_tell(struct lane *lane, enum event_type type, json_t *data);
/* EVENT_EVIDENCE; takes its text and lists */
void lane_evidence_at(struct lane *lane, struct lane_evidence_entry entry);
/* With the span from from_s to to_s: of the attempt, as lane_since_start gives it. */
void lane_evidence_span(struct lane *lane, const char *kind, struct reading from_s,
                        struct reading to_s, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define lane_evidence(lane, kind, ...) \
    lane_evidence_span((lane), (kind), (struct reading){0}, (struct reading){0}, __VA_ARGS__)
/* where there are several: which one, and its GPUs */
void lane_add_number(const struct lane *lane, json_t *json);

void lane_after(struct lane *lane, uint64_t us, lane_step *step);
void lane_timer_set(struct lane *lane, struct step_source *timer, uint64_t us,
                    lane_step *step); /* one that cannot be set breaks the run */

/* As sd-event says it: once, after so long; whenever fd has something to be read, until it is
 * cancelled. */
int lane_on_time(struct lane *lane, struct step_source *source, uint64_t us, lane_step *step);
int lane_on_input(struct lane *lane, struct step_source *source, int fd, lane_step *step);

/* Guardian and state folder know of the job from now on, until attempt_job_gone. */
void lane_job_watch(struct lane *lane, const struct job *job);
/* there may have been no guardian from then until now: evidence */
void lane_unguarded(struct lane *lane, int64_t since_ns);

/* This process did nothing for so long: evidence for the attempt that was measured meanwhile.
 * (lane_stalls.c) */
void lane_stalled(struct lane *lane, int64_t from_ns, int64_t to_ns);

/* The output of its job, and of its background's (lane_job.c): read until its end; what cannot be
 * kept ends the attempt, and the run. */
void lane_read_log(struct lane *lane, struct attempt *attempt, struct step_source *source);
void lane_log_lost(struct lane *lane, const struct attempt *attempt, const struct err *cause);
void lane_job_sources_fini(struct lane *lane);

/* Marks (lane_marks.c): the FIFO is made before the job is born; it is watched while the job runs;
 * what was marked is recorded about once a second, and the rest when the job is gone. */
int lane_marks_watch(struct lane *lane);                      /* as sd-event says it */
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
