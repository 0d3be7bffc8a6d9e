/* lane: one experiment at a time on its own way (plan/state.c): each step is journaled, and what follows it begins
 * when that is durable. Private to run/. */
#ifndef TARE_RUN_LANE_H
#define TARE_RUN_LANE_H

#include "run/attempt.h"
#include "run/ladder.h"
#include "run/memory.h"
#include "run/observer.h"
#include "run/lane_background.h"
#include "run/runner.h"

enum lane_phase {
    LANE_STEPPING,   /* waits for the journal, or acts */
    LANE_WAITING,    /* the next experiment may not run beside those of the other lanes */
    LANE_PAUSING,    /* between experiments */
    LANE_RETRY_WAIT, /* between attempts */
    LANE_LOADING,    /* the background runs alone */
    LANE_GUARDING,   /* the GPUs are looked at before an attempt, or measured idle */
    LANE_RUNNING,    /* the job runs */
    LANE_STOPPING,   /* the job was asked to end */
    LANE_PROVING,    /* killed: is everything gone? */
    LANE_FINISHED
};

struct lane {
    struct runner *runner;
    size_t number; /* from 1 */
    const struct run_lane *means; /* its GPUs */
    bool retired; /* it takes nothing any more */
    double waited_s;  /* for experiments of other lanes, in this session */
    int64_t waits_ns; /* since when it does; 0: it does not */
    char *lost;   /* which of its GPUs, and why; NULL: none is */
    struct gauge *gauge; /* NULL: nothing is measured */
    sd_event_source *gauge_source;
    int64_t gauge_until_ns; /* so long its meters are waited for before the first job */
    enum lane_phase phase;
    const struct plan_experiment *experiment; /* in work or, while pausing, the next; NULL: none */
    bool ran_one;                             /* in this session: a pause comes before the next */
    size_t last_entry;                        /* of the settings file, of the experiment before */
    struct attempt attempt;
    int64_t failed;       /* attempts of the experiment that failed */
    int machine_failures; /* attempts in a row that the machine interrupted */
    bool machine_excused; /* one of this experiment was, in this session: */
    bool once_more;       /* and it is tried again */
    json_t *last_attempt; /* data of the last EVENT_ATTEMPT_ENDED, or NULL */
    enum outcome outcome; /* of the last attempt */
    sd_event_source *timer; /* pauses, grace, proof: one at a time */
    lane_step *timer_step;
    sd_event_source *log_source, *job_source, *timeout_source;
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

/* Takes the next experiment, if there is one. */
void lane_start(struct lane *lane);

/* There may be something to do for one that waits, or has finished. */
void lane_wake(struct lane *lane);

/* A GPU of it is lost (lane_lost.c): take: it was told; look: what that means where the lane stands. */
void lane_lost_take(struct lane *lane, const char *label, const char *reason);
void lane_lost_look(struct lane *lane);
void lane_lost_detail(struct lane *lane); /* the attempt's end says so */
bool lane_is_over(const struct lane *lane); /* the run is halted, or a GPU is lost: nothing is begun any more */
enum stop_reason lane_stop_reason(struct lane *lane); /* of an attempt that then is not begun */
void lane_give_back(struct lane *lane);  /* the experiment, which is not begun; and the lane is at its end */
void lane_after_attempt(struct lane *lane);
void lane_finish(struct lane *lane);

/* The run is halted, or is to be killed now: do what that means where the lane stands. */
void lane_halt(struct lane *lane);

/* This process did nothing for so long: evidence for the attempt that was measured meanwhile. */
void lane_stalled(struct lane *lane, int64_t from_ns, int64_t to_ns);

/* There may have been no guardian from then until now: evidence for the attempt. */
void lane_unguarded(struct lane *lane, int64_t since_ns);

/* For lane.c, lane_job.c and lane_stop.c: */
void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next);
void lane_add_number(const struct lane *lane, json_t *json); /* where there are several: which one, and its GPUs */
void lane_say(struct lane *lane, char *text); /* EVENT_NOTE; takes text */
void lane_tell(struct lane *lane, json_t *data); /* EVENT_NOTE with more than a text; takes data */
void lane_after(struct lane *lane, uint64_t us, lane_step *step);
void lane_cancel_timer(struct lane *lane);
void lane_job_start(struct lane *lane);      /* EVENT_ATTEMPT_PREPARED is durable */
void lane_foreground_start(struct lane *lane); /* what comes before it is done */
void lane_attempt_ended(struct lane *lane);  /* the attempt is over and nothing of it lives: judge and record */
void lane_job_sources_fini(struct lane *lane);

/* The CPU frequency governor (lane_governor.c): the experiment's is set, then lane_prepare. Where it is not, each
 * attempt has it as evidence. */
void lane_governor_set(struct lane *lane);
void lane_governor_fini(struct runner *runner);
void lane_prepare(struct lane *lane); /* the first attempt */

/* Marks (lane_marks.c): the FIFO is made before the job is born; it is watched while the job runs; what was marked is
 * recorded about once a second, and the rest when the job is gone. */
int lane_marks_watch(struct lane *lane); /* as sd-event says it */
void lane_marks_take(void *context, const struct mark *mark); /* context: the lane */
void lane_marks_end(struct lane *lane);
void lane_marks_doubt(struct lane *lane); /* says it when they look wrong */

/* Energy (lane_energy.c). Neither does anything where nothing is measured. */
void lane_energy_await(struct lane *lane);  /* the meters are ready, or it has taken too long: lane_start */
void lane_energy_finish(struct lane *lane); /* the job is gone: lane_attempt_ended when the meters have answered */

/* The command has ended: all that measure it are told, once. */
void lane_edge(struct lane *lane);

/* What stands still (lane_stalls.c): a process of the job was stopped, for_ns: 0: nobody counted; how long the machine has slept since boot. */
void lane_tell_stopped(struct lane *lane, const char *who, int64_t for_ns);
int64_t lane_asleep_ns(const struct lane *lane);

/* The guard of the lane's GPUs (lane_guard.c). Without GPUs each does nothing, or what follows at once. */
void lane_guard_preflight(struct lane *lane, lane_step *next);     /* before each attempt */
void lane_guard_postflight(struct lane *lane);                     /* the job is gone: then lane_attempt_ended */
void lane_guard_pause(struct lane *lane, double seconds, lane_step *next); /* seconds: of the settings */
void lane_guard_close(struct lane *lane, lane_step *next);         /* nothing more will run */
bool lane_guard_refuses(struct lane *lane);                        /* a GPU did not come back: the lane takes nothing more */
void lane_guard_cancel(struct lane *lane);                         /* what is on its way has no more purpose */

/* EVENT_EVIDENCE. In what follows, text is taken. */
void lane_evidence_at(struct lane *lane, struct lane_evidence_entry entry);
void lane_evidence(struct lane *lane, const char *kind, char *text); /* without a span */
void lane_stop(struct lane *lane, enum stop_reason reason);
void lane_kill(struct lane *lane);

/* Guardian and state folder know of the job while it lives. */
void lane_job_watch(struct lane *lane, const struct job *job);
void lane_job_release(struct lane *lane, const struct job *job);

/* The run breaks off: the attempt's survivors cannot be ended. */
void lane_break_unkillable(struct lane *lane, const struct attempt *attempt);

#endif
