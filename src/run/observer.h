/* observer: what watches an attempt: a sensor, a check, a limit. Each is one file and one row in
 * observers.c; each slot may be NULL, and is called for all of them in the order of the rows.
 * Private to run/. */
#ifndef TARE_RUN_OBSERVER_H
#define TARE_RUN_OBSERVER_H

#include "measure/energy_meters.h"
#include "measure/guard/evidence.h"

struct lane;

/* EVENT_EVIDENCE. Text and lists are taken. */
struct lane_evidence_entry {
    const char *kind, *device; /* device: NULL: none */
    char *text;
    /* numbers of experiments of other lanes, of processes on a GPU; NULL: none */
    json_t *experiments, *pids;
    struct reading from_s, to_s; /* from the attempt's start */
};

struct observer {
    const char *key; /* of what end gives, in the data of EVENT_ATTEMPT_ENDED */
    size_t size; /* of its state: one for each lane, zero at first, found by lane_observer_state */

    /* The lane's life. */
    void (*init)(struct lane *lane);
    /* they were started; never without the energy_meters */
    void (*meters_started)(struct lane *lane, const struct energy_meters_options *options);
    void (*fini)(struct lane *lane);

    /* An attempt, from its preflight to its record. */
    void (*reset)(struct lane *lane);   /* it is about to be looked for whether it may begin */
    void (*prepare)(struct lane *lane); /* its job is about to be born */
    void (*background_started)(struct lane *lane); /* its background runs, and no foreground yet */
    void (*ready)(struct lane *lane);              /* its gate is about to be opened */
    void (*begin)(struct lane *lane);              /* its gate is open */
    void (*started)(struct lane *lane);            /* that was recorded */
    void (*tick)(struct lane *lane);               /* about once a second, whatever the lane does */
    void (*measure)(struct lane *lane);            /* about once a second while it is measured */
    void (*mark)(struct lane *lane, const struct mark *mark);
    void (*stop)(struct lane *lane);          /* it is being stopped */
    void (*command_ended)(struct lane *lane); /* its command has ended, and it is measured */
    /* is about to be recorded */
    void (*evidence)(struct lane *lane, const struct lane_evidence_entry *entry);
    /* the whole of it */
    void (*measured)(struct lane *lane, const struct energy_meters_result *result);
    /* adds to what is recorded (lane->ended, so far); NULL: nothing */
    json_t *(*end)(struct lane *lane);
    void (*recorded)(struct lane *lane); /* it was recorded */

    /* What the lane's meters tell, an attempt or none. */
    void (*gap)(struct lane *lane, const char *label, const struct meter_gap *gap);
    void (*sample)(struct lane *lane, const char *label, const struct gpu_sample *sample);
    void (*counter)(struct lane *lane, size_t domain, const char *name,
                    const struct counter_reading *reading);
    void (*users)(struct lane *lane, const char *label, int64_t t_ns,
                  const struct gpu_users *users);
    void (*unavailable)(struct lane *lane, const char *label); /* that meter was given up */
    void (*answered)(struct lane *lane);                       /* something of that was told */
};

/* The rows (observers.c), NULL-terminated. */
extern const struct observer *const observers[];
extern const struct observer ranks_observer, stopped_observer, marks_observer, background_observer,
    limits_observer, output_observer, governor_observer, locks_observer, checkpoints_observer,
    load_observer, shares_observer, energy_observer, pressure_observer, sleep_observer,
    split_observer, memory_observer, guard_observer, watch_observer, hang_observer, budget_observer,
    gpu_memory_observer, snapshot_observer, checks_observer, study_files_observer;

/* Calls a slot of all observers of a lane, with what it takes: OBSERVE(lane, mark, mark) */
#define OBSERVE(lane, slot, ...)                                                    \
    do {                                                                            \
        for (const struct observer *const *one_ = (lane)->observers; *one_; one_++) \
            if ((*one_)->slot)                                                      \
                (*one_)->slot((lane)__VA_OPT__(, ) __VA_ARGS__);                    \
    } while (0)

#define LANE_STATE(function, type, observer)           \
    static type *function(const struct lane *lane)     \
    {                                                  \
        return lane_observer_state(lane, &(observer)); \
    }                                                  \
    struct lane

#endif
