/* lane_background: the background of a parallel experiment: restarted until the foreground has
 * ended, each loop contained, journaled and proven gone. */
#ifndef TARE_RUN_LANE_BACKGROUND_H
#define TARE_RUN_LANE_BACKGROUND_H

#include "run/attempt.h"
#include "run/step.h"

/* Consecutive failures after which it is not restarted: before and beside the foreground. */
enum { BACKGROUND_TRIES_BEFORE = 3, BACKGROUND_TRIES_BESIDE = 5, BACKGROUND_FAILURES_REPORTED = 2 };

struct background_tally {
    size_t started, succeeded, failed;
    size_t failed_in_a_row;
    size_t failed_beside;
    bool gave_up;
};

enum background_next {
    BACKGROUND_AGAIN,
    BACKGROUND_REPORT, /* report repeated failures once */
    BACKGROUND_GIVE_UP,
};

enum background_phase {
    BACKGROUND_NONE,
    BACKGROUND_BORN, /* waits at its gate */
    BACKGROUND_RUNNING,
    BACKGROUND_ENDING,
    BACKGROUND_PAUSING,
    BACKGROUND_OVER
};

struct lane_background {
    enum background_phase phase;
    bool halted;         /* the attempt is being stopped */
    struct attempt loop; /* the current loop, if it has a job */
    size_t energy_meters_number;
    struct background_tally tally;
    uint64_t first_start_time; /* of the first loop's init, in clock ticks; 0: no loop */
    double first_death_s;      /* since the foreground's start */
    bool leftovers_reported, log_held_reported, unproven_reported;
    json_t *loops; /* the first LOOPS_LISTED_MAX */
    size_t loops_more;
    struct step_source timer, log_source, job_source;
    int64_t proof_start_ns;
    uint64_t poll_us;
};

/* Counts a loop that ended by itself. beside: while the foreground ran. Pure. */
enum background_next lane_background_count_loop(struct background_tally *tally,
                                                enum outcome outcome, bool beside);

/* Records the last loop and its leftovers. No effect without a background. */
void lane_background_close(struct lane *lane, double seconds);
json_t *lane_background_json(const struct lane *lane);

bool lane_background_was_born(const struct lane *lane);

void phase_loading(struct lane *lane);

#endif
