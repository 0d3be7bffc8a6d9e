/* The background of a parallel experiment: a job that is started again and again until the
 * foreground has ended. Each loop is contained, journaled and proven gone as every job is, before
 * the next one is born. */
#ifndef TARE_RUN_LANE_BACKGROUND_H
#define TARE_RUN_LANE_BACKGROUND_H

#include "run/attempt.h"
#include "run/step.h"

/* So many failures in a row, and it is not started again: before the foreground, and beside it. */
enum { BACKGROUND_TRIES_BEFORE = 3, BACKGROUND_TRIES_BESIDE = 5, BACKGROUND_FAILURES_REPORTED = 2 };

struct background_tally {
    size_t started, succeeded, failed;
    size_t failed_in_a_row;
    size_t failed_beside; /* while the foreground ran */
    bool gave_up;
};

enum background_next {
    BACKGROUND_AGAIN,   /* after the restart delay */
    BACKGROUND_REPORT,  /* the same, and it is time to say that it fails repeatedly */
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
    bool leftovers_reported, log_held_reported, unproven_reported;
    json_t *loops;     /* what is told of the first ones */
    size_t loops_more; /* of which nothing is told one by one */
    struct step_source timer, log_source, job_source;
    int64_t proof_start_ns;
    uint64_t poll_us;
};

/* A loop has ended by itself. beside: while the foreground ran. TELL comes once. Pure. */
enum background_next lane_background_count_loop(struct background_tally *tally,
                                                enum outcome outcome, bool beside);

/* Loops. None of these does anything where there is no background. */
/* or not: written down, with what is left */
void lane_background_close(struct lane *lane, double seconds);
json_t *lane_background_json(const struct lane *lane);

/* The background's first loop was born, in this attempt. */
bool lane_background_was_born(const struct lane *lane);

/* lane_background.c */
void phase_loading(struct lane *lane);

#endif
