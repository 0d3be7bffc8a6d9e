/* lane: one experiment at a time on its own way (experiment.c), and what all that acts for it has
 * of it (lane.c; its steps: runner.c). Private to run/. */
#ifndef TARE_RUN_LANE_H
#define TARE_RUN_LANE_H

#include "measure/colocated.h"
#include "run/attempt.h"
#include "run/observer.h"
#include "run/phases.h"
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

/* The background's first loop was born, in this attempt. */
static inline bool lane_background_was_born(const struct lane *lane)
{
    return lane->background.first_start_time != 0;
}

/* Defines stops_of(lane), which returns an observer's state of a lane:
 * LANE_STATE(stops_of, struct lane_stops, stopped_observer); */
void *lane_state(const struct lane *lane, const struct observer *observer);

void step_cancel(struct step_source *source); /* also where none is set */

#endif
