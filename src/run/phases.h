/* phases: the steps of a lane. Their table in experiment.c is the story of one experiment. */
#ifndef TARE_RUN_PHASES_H
#define TARE_RUN_PHASES_H

#include <stdbool.h>

struct lane;

enum phase {
    PHASE_NONE,
    PHASE_METERS,
    PHASE_CHOOSING,
    PHASE_WAITING, /* for other lanes */
    PHASE_PAUSING,
    PHASE_CALIBRATING, /* sensors of the GPUs, if due */
    PHASE_STARTING,
    PHASE_GOVERNOR,  /* of the CPU frequency */
    PHASE_PREFLIGHT, /* are the GPUs free? idle power; an attempt begins */
    PHASE_PREPARING, /* the attempt's folder */
    PHASE_OPENING,
    PHASE_LOADING, /* the background runs first */
    PHASE_BIRTH,   /* the job waits at its gate */
    PHASE_GATE,
    PHASE_RUNNING,
    PHASE_STOPPING,   /* SIGTERM */
    PHASE_PROVING,    /* SIGKILL; is everything gone? */
    PHASE_READING,    /* the last ones of the meters */
    PHASE_POSTFLIGHT, /* is the GPUs' memory released? */
    PHASE_JUDGING,
    PHASE_RETRY_PAUSE, /* before another attempt */
    PHASE_RETRYING,    /* or the experiment ends */
    PHASE_ENDING,
    PHASE_WRITING, /* results */
    PHASE_CLOSING, /* a last idle window */
    PHASE_FINISHED
};

/* Events that any phase may receive. */
enum lane_event {
    LANE_HALTED, /* the run stops, or is to be killed now */
    LANE_LOST    /* a GPU of the lane */
};

struct phase_row {
    void (*enter)(struct lane *lane);
    /* NULL: the next phase checks it */
    void (*on_event)(struct lane *lane, enum lane_event event);
    enum phase next;
    bool has_job;
};

#endif
