/* lane_guard: the guard of a lane's GPUs: asks them through the energy_meters, lets guard/ judge,
 * and carries out what follows. Nothing here waits: every answer and every pause comes back through
 * the loop. Private to run/. */
#ifndef TARE_RUN_OBSERVERS_GUARD_H
#define TARE_RUN_OBSERVERS_GUARD_H

#include "measure/guard/holders.h"
#include "measure/guard/look.h"
#include "run/lane.h"

/* Somebody who was seen on a GPU. */
struct guard_person {
    int32_t pid;
    uint64_t start_time;
    enum guard_owner owner;
    bool other_user; /* this user may not end it */
    bool known;      /* was there when the attempt began, and was told */
    char *text;
    char *tag;
};

struct guard_device {
    const char *label;
    const struct gpu_vendor *vendor;
    bool unavailable;  /* its meter was given up */
    bool unresponsive; /* did not answer in time: not waited for until it does */
    bool answered;     /* in this round */
    bool listed;       /* those that compute were told */
    bool quarantined;
    bool has_clock_reasons; /* why its clocks are low, while it was measured */
    size_t list_count;      /* lists of processes while it was measured */
    /* it was looked at once when the command had ended: what comes then is not of its time */
    bool sampled_after_end;
    struct gpu_sample sample; /* the newest; t_ns 0: none */
    int64_t users_ns;         /* of the newest list */
    struct guard_user *users;
    size_t user_count, left_out;
    struct guard_known known;
    struct watch watch;
    struct cooldown cooldown;
    enum postflight_state release;
    double release_s;
    struct reading previous_bytes; /* in use before the newest sample */
    struct reading before_bytes;   /* in use when the command ended */
    struct idle_window idle;       /* the newest */
};

/* The attempt whose net energy waits for the baseline after it. */
struct guard_previous {
    bool waits;
    int64_t experiment, attempt;
    double duration_s;
    struct previous_device {
        struct reading energy_j, half_width_j;
        struct idle_window before;
    } * devices; /* as many as the guard's */
};

struct lane_guard {
    struct guard_device *devices;
    size_t count;
    struct guard_person *people;
    size_t person_count;
    bool at_work;               /* before an attempt, or at the lane's end */
    lane_step *round_step;      /* when all have answered; NULL: no round is on its way */
    lane_step *later_step;      /* the same of the round that is waited for */
    int64_t asked_ns, begun_ns; /* the round; the preflight, postflight or pause */
    bool running;               /* an attempt is measured */
    /* a background runs, and no foreground yet: whoever else is there falsifies what it draws */
    bool before_foreground;
    int64_t edge_ns;      /* its command has ended; 0: not yet */
    bool ran_one;         /* a job ran before: its heat may still be going */
    lane_step *idle_done; /* of the round that follows when the idle window has been measured */
    bool waiting_edges;   /* at its end, for the meters */
    int64_t idle_from_ns, idle_to_ns;
    double waited_s; /* of this preflight: until the GPUs were clear, or the wait was over */
    struct guard_holders holders;  /* of this preflight */
    bool wait_reported;            /* that it waits, or how long the pause is */
    struct guard_findings pending; /* evidence of the attempt to come */
    int64_t pending_ns;            /* since when */
    double planned_s;              /* the pause */
    struct guard_previous previous;
    uint64_t job_born; /* start time of the job's init */
};

/* NULL: the lane has no GPU to guard. */
struct lane_guard *lane_guard_of(const struct lane *lane);

/* A round: every GPU is asked for its readings and its processes; then step, or after a few seconds
 * without those that do not answer. */
void lane_guard_ask(struct lane *lane, lane_step *step);
void lane_guard_ask_later(struct lane *lane, uint64_t us, lane_step *step); /* so much later */
void lane_guard_sample_of(const struct guard_device *device, int64_t asked_ns,
                          struct guard_look *out);
bool lane_guard_is_blind(const struct lane_guard *guard); /* nothing can be read of any of them */
json_t *lane_guard_device_json(const struct guard_device *device);
double lane_guard_seconds_since(int64_t ns);
/* when the command ended, as start times are counted */
uint64_t lane_guard_end_ticks(const struct lane *lane);

void lane_guard_check_answers(struct lane *lane); /* the meters have answered something */

/* Who they are. */
void lane_guard_end_leftovers(struct lane *lane); /* those that a dead run of this program left */
void lane_guard_mark_known(struct lane_guard *guard); /* all that are there now were told */
void lane_guard_describe_users(struct lane *lane);    /* their texts anew: with the age of now */

/* Whoever has a device file open and was on no list of the drivers, though they told of the job's
 * own: it has no context on the lane's GPUs, takes neither their time nor their memory, and only
 * reads (nvidia-smi, nvtop, another meter). False also where that is not known. */
bool lane_guard_is_monitor(const struct lane *lane, int32_t pid);

void lane_guard_cancel(struct lane *lane); /* what is on its way has no more purpose */

void lane_guard_leave(struct lane *lane, enum lane_event event); /* the same, and goes on */

#endif
