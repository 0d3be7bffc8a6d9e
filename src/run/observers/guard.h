/* guard: asks the lane's GPUs through the meters, lets measure/guard judge, and acts on it, without
 * blocking. */
#ifndef TARE_RUN_OBSERVERS_GUARD_H
#define TARE_RUN_OBSERVERS_GUARD_H

#include "measure/guard/holders.h"
#include "measure/guard/look.h"
#include "run/lane.h"

struct guard_person {
    int32_t pid;
    uint64_t start_time;
    enum guard_owner owner;
    bool other_user; /* of a user whom this one may not signal */
    bool known;      /* reported before the attempt began */
    char *text;
    char *tag;
};

struct guard_device {
    const char *label;
    const struct gpu_vendor *vendor;
    bool unavailable;
    bool unresponsive; /* no answer in time: not waited for */
    bool answered;
    bool listed; /* the driver listed processes */
    bool quarantined;
    bool has_clock_reasons;
    size_t list_count;
    /* later samples are not of the attempt */
    bool sampled_after_end;
    struct gpu_sample sample; /* t_ns 0: none */
    int64_t users_ns;
    struct guard_user *users;
    size_t user_count, left_out;
    struct guard_known known;
    struct watch watch;
    struct cooldown cooldown;
    enum postflight_state release;
    double release_s;
    struct reading previous_bytes; /* before the newest sample */
    struct reading before_bytes;   /* when the command ended */
    struct idle_window idle;
};

/* The attempt whose net energy needs the next baseline. */
struct guard_previous {
    bool waits;
    int64_t experiment, attempt;
    double duration_s;
    struct previous_device {
        struct reading energy_j, half_width_j;
        struct idle_window before;
    } * devices; /* as many as the guard has */
};

struct lane_guard {
    struct guard_device *devices;
    size_t count;
    struct guard_person *people;
    size_t person_count;
    bool at_work;               /* before an attempt, or closing */
    lane_step *round_step;      /* after all have answered; NULL: no round */
    lane_step *later_step;      /* of a deferred round */
    int64_t asked_ns, begun_ns; /* of the round; of the phase */
    bool running;
    /* processes beside a background count as foreign, too */
    bool before_foreground;
    int64_t edge_ns;      /* the command ended; 0: not yet */
    bool ran_one;         /* a job may have left heat */
    lane_step *idle_done; /* after the idle window and a round */
    bool waiting_edges;   /* for the meters, at the window's end */
    int64_t idle_from_ns, idle_to_ns;
    double waited_s;
    struct guard_holders holders;
    bool wait_reported;            /* the wait, or the pause */
    struct guard_findings pending; /* for the coming attempt */
    int64_t pending_ns;
    double planned_s;
    struct guard_previous previous;
    uint64_t job_born; /* start time of its init */
};

/* NULL: no GPU to guard. */
struct lane_guard *lane_guard_of(const struct lane *lane);

/* Asks every GPU for readings and processes, then runs step; late GPUs are left out. */
void lane_guard_ask(struct lane *lane, lane_step *step);
void lane_guard_ask_later(struct lane *lane, uint64_t us, lane_step *step);
void lane_guard_sample_of(const struct guard_device *device, int64_t asked_ns,
                          struct guard_look *out);
bool lane_guard_is_blind(const struct lane_guard *guard);
json_t *lane_guard_device_json(const struct guard_device *device);
double lane_guard_seconds_since(int64_t ns);
/* When the command ended, in clock ticks since boot. */
uint64_t lane_guard_end_ticks(const struct lane *lane);

void lane_guard_check_answers(struct lane *lane);

void lane_guard_end_leftovers(struct lane *lane); /* of a dead run of this program */
void lane_guard_mark_known(struct lane_guard *guard);
void lane_guard_describe_users(struct lane *lane); /* updates ages in texts */

/* The process has a device file open, and the drivers list the job but not it: it has no context
 * and only reads sensors (nvidia-smi, nvtop). False: unknown, too. */
bool lane_guard_is_monitor(const struct lane *lane, int32_t pid);

void lane_guard_cancel(struct lane *lane); /* drops a round or pause */

void lane_guard_leave(struct lane *lane, enum lane_event event);

#endif
