/* phases: what a lane does one after the other, for one experiment after the other. The table is in experiment.c and reads from top to
 * bottom as the story of one; what its rows call that is not there is declared here, file by file. Private to run/. */
#ifndef TARE_RUN_PHASES_H
#define TARE_RUN_PHASES_H

#include <stdbool.h>

struct lane;

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

/* The guard of the lane's GPUs: lane_preflight.c, lane_cooldown.c, lane_watch.c, lane_idle.c. Without GPUs each does what follows at
 * once. */
void lane_guard_preflight(struct lane *lane);
void lane_guard_pause(struct lane *lane, double seconds); /* seconds: of the settings */
void phase_postflight(struct lane *lane);
void phase_closing(struct lane *lane);
bool lane_guard_refuses(struct lane *lane); /* a GPU did not come back: the lane takes nothing more */
void lane_guard_cancel(struct lane *lane);  /* what is on its way has no more purpose */
void lane_guard_leave(struct lane *lane, enum lane_event event); /* the same, and goes on */

/* lane_job.c */
void phase_opening(struct lane *lane);
void phase_birth(struct lane *lane);
void phase_gate(struct lane *lane);
void phase_running(struct lane *lane);
void phase_job_event(struct lane *lane, enum lane_event event);

/* lane_background.c */
void phase_loading(struct lane *lane);

/* lane_stop.c */
void phase_stopping(struct lane *lane);
void phase_stopping_event(struct lane *lane, enum lane_event event);
void phase_proving(struct lane *lane);

/* lane_energy.c */
void phase_reading(struct lane *lane);

#endif
