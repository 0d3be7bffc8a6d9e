/* phases: the steps of a lane, for one experiment after another. Their table is in experiment.c and
 * reads from top to bottom as the story of one experiment. */
#ifndef TARE_RUN_PHASES_H
#define TARE_RUN_PHASES_H

#include <stdbool.h>

struct lane;

enum phase {
    PHASE_NONE,        /* nothing yet */
    PHASE_METERS,      /* the lane's meters start */
    PHASE_CHOOSING,    /* takes the next experiment of the plan */
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

#endif
