/* lane: one experiment at a time on its own way (plan/state.c): each step is journaled, and what follows it begins
 * when that is durable. Private to run/. */
#ifndef TARE_RUN_LANE_H
#define TARE_RUN_LANE_H

#include "base/rng.h"
#include "measure/guard/evidence.h"
#include "run/attempt.h"
#include "run/energy_files.h"
#include "run/ladder.h"
#include "run/memory.h"
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

/* What is measured of the attempt (lane_energy.c). */
struct lane_energy {
    bool on;      /* from the gate until the figures are taken */
    bool edged;   /* the end's edge was asked for */
    bool waiting; /* for its answers, with the lane's timer as the bound */
    sd_event_source *timer;
    struct rng rng; /* of the timer */
    struct mark *marks; /* in the order in which the journal has them */
    size_t mark_count, mark_capacity;
    struct step_marks steps; /* never journaled */
    size_t gaps;
    struct energy_files files;
};

/* What it has done in this session (run/lanes.h). */
struct lane_tally {
    int64_t attempts;
    double busy_s, waited_s;     /* jobs ran; it waited for experiments of other lanes */
    int64_t waits_ns;            /* since when it does; 0: it does not */
    int64_t attributed_mj;       /* of the CPU packages, to its attempts */
    int64_t share_from_mj, total_from_mj; /* when the attempt began */
};

/* How full a PCIe link was that it shares with other lanes, while the attempt ran (run/lanes.h). */
struct lane_link {
    int64_t looked_ns, from_ns, to_ns, contended_ns;
    struct link_pressure worst;
    char *others; /* experiments whose transfers were in it then */
    json_t *numbers; /* theirs; NULL: nobody looked */
};

/* The checks of the attempt (lane_checks.c). */
struct lane_checks {
    struct check_result of[CHECKS];
    bool told[CHECKS]; /* something is known of it already */
    char *idle_text;   /* what its GPUs were like before it; NULL: not looked at */
};

struct lane {
    struct runner *runner;
    size_t number; /* from 1 */
    const struct run_lane *means; /* its GPUs */
    bool retired; /* it takes nothing any more */
    struct lane_tally tally;
    struct lane_link link;
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
    sd_event_source *log_source, *job_source, *timeout_source, *fifo_source;
    struct lane_energy energy;
    struct lane_background background; /* of a parallel experiment */
    struct lane_load load;
    struct lane_guard *guard; /* NULL: there is no GPU to guard */
    int64_t awake_ns, asleep_ns; /* the last look for a suspend, and how long the machine had slept since boot */
    int64_t look_ns;   /* not before that its processes are looked at again for one that is stopped */
    bool stopped_told; /* of this attempt: that one was */
    struct lane_checks checks;
    struct lane_memory memory;
    struct ladder ladder; /* what the next attempt does otherwise than planned */
    int64_t grace_end_ns, proof_start_ns;
    int64_t marks_recorded_ns; /* when one was recorded as it came */
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

/* About once a second: limits, and whether something of the job is stopped. */
void lane_tick(struct lane *lane);

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
void lane_governor_tell(struct lane *lane);  /* the attempt has begun */
void lane_governor_check(struct lane *lane); /* it has ended */
void lane_governor_fini(struct runner *runner);
void lane_prepare(struct lane *lane); /* the first attempt */

/* Marks (lane_marks.c): the FIFO is made before the job is born; it is watched while the job runs; what was marked is
 * recorded about once a second, and the rest when the job is gone. */
void lane_marks_make(struct lane *lane);
int lane_marks_watch(struct lane *lane); /* as sd-event says it */
void lane_marks_take(void *context, const struct mark *mark); /* context: the lane */
void lane_marks_record(struct lane *lane);
void lane_marks_end(struct lane *lane);
void lane_marks_doubt(struct lane *lane); /* says it when they look wrong */

/* Energy (lane_energy.c). None of these does anything where nothing is measured. */
void lane_energy_await(struct lane *lane);   /* the meters are ready, or it has taken too long: lane_start */
void lane_energy_prepare(struct lane *lane); /* a job is about to be born */
void lane_energy_begin(struct lane *lane);   /* its gate is open */
void lane_energy_mark(struct lane *lane, const struct mark *mark);
void lane_energy_edge(struct lane *lane);    /* the command has ended */
void lane_energy_finish(struct lane *lane);  /* the job is gone: lane_attempt_ended when the meters have answered */
json_t *lane_energy_take(struct lane *lane); /* what was measured, or null */
void lane_energy_look(struct lane *lane);    /* the meters have answered something */
void lane_energy_gap(struct lane *lane, const char *label, const struct meter_gap *gap);
void lane_energy_sample(struct lane *lane, const char *label, const struct gpu_sample *sample);
void lane_energy_counter(struct lane *lane, size_t domain, const char *name, const struct counter_reading *reading);
void lane_energy_fini(struct lane *lane);

/* The guard of the lane's GPUs (lane_guard.c). Without GPUs each does nothing, or what follows at once. */
void lane_guard_start(struct lane *lane, const struct gauge_options *options); /* the meters were started */
void lane_guard_preflight(struct lane *lane, lane_step *next);     /* before each attempt */
void lane_guard_alone(struct lane *lane);                          /* its background runs, alone for now */
void lane_guard_ready(struct lane *lane);                          /* its gate is about to be opened */
void lane_guard_begin(struct lane *lane);                          /* its gate is open */
void lane_guard_tick(struct lane *lane);                           /* once a second while it is measured */
void lane_guard_edge(struct lane *lane);                           /* its command has ended */
void lane_guard_postflight(struct lane *lane);                     /* the job is gone: then lane_attempt_ended */
void lane_guard_ended(struct lane *lane, const json_t *energy, const json_t *memory); /* it is about to be recorded */
void lane_guard_pause(struct lane *lane, double seconds, lane_step *next); /* seconds: of the settings */
void lane_guard_close(struct lane *lane, lane_step *next);         /* nothing more will run */
bool lane_guard_refuses(struct lane *lane);                        /* a GPU did not come back: the lane takes nothing more */
void lane_guard_cancel(struct lane *lane);                         /* what is on its way has no more purpose */
void lane_guard_sample(struct lane *lane, const char *label, const struct gpu_sample *sample);
void lane_guard_users(struct lane *lane, const char *label, int64_t t_ns, const struct gpu_users *users);
void lane_guard_unavailable(struct lane *lane, const char *label);
void lane_guard_look(struct lane *lane);                           /* the meters have answered something */
void lane_guard_host(struct lane *lane, const struct host_window *host); /* of the attempt's whole time */
void lane_guard_fini(struct lane *lane);

/* EVENT_EVIDENCE. In what follows, text and lists are taken. */
struct lane_evidence_entry {
    const char *kind, *device; /* device: NULL: none */
    char *text;
    json_t *experiments, *pids;  /* numbers of experiments of other lanes, of processes on a GPU; NULL: none */
    struct reading from_s, to_s; /* from the attempt's start */
};
void lane_checks_begin(struct lane *lane); /* before an attempt's preflight, and at the lane's end: nothing is known */
void lane_checks_note(struct lane *lane, const struct lane_evidence_entry *entry);
json_t *lane_checks_take(struct lane *lane, const json_t *ended); /* of EVENT_ATTEMPT_ENDED: a list, or null: never begun */
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
