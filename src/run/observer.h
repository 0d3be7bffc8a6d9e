/* observer: watches an attempt: a sensor, a check, a limit. One file in run/observers and one row
 * in observers.c; slots may be NULL. */
#ifndef TARE_RUN_OBSERVER_H
#define TARE_RUN_OBSERVER_H

#include "measure/energy_meters.h"
#include "measure/guard/evidence.h"

struct lane;

/* EVENT_EVIDENCE; owns text and lists. */
struct lane_evidence_entry {
    const char *kind, *device; /* device: may be NULL */
    char *text;
    /* other lanes' experiments, processes on a GPU; may be NULL */
    json_t *experiments, *pids;
    struct reading from_s, to_s; /* since the attempt's start */
};

struct observer {
    const char *key; /* of the result of end in EVENT_ATTEMPT_ENDED */
    size_t size;     /* of its state: one per lane, zeroed; see lane_observer_state */

    void (*init)(struct lane *lane);
    /* only with meters */
    void (*meters_started)(struct lane *lane, const struct energy_meters_options *options);
    void (*fini)(struct lane *lane);

    void (*reset)(struct lane *lane);              /* before the preflight */
    void (*prepare)(struct lane *lane);            /* before the job is born */
    void (*background_started)(struct lane *lane); /* without a foreground yet */
    void (*ready)(struct lane *lane);              /* before the gate opens */
    void (*begin)(struct lane *lane);              /* after the gate opened */
    void (*started)(struct lane *lane);
    void (*tick)(struct lane *lane);    /* each second, in every phase */
    void (*measure)(struct lane *lane); /* each second while the attempt is measured */
    void (*mark)(struct lane *lane, const struct mark *mark);
    void (*stop)(struct lane *lane);          /* the attempt is being stopped */
    void (*command_ended)(struct lane *lane); /* while it is measured */
    /* before it is recorded */
    void (*evidence)(struct lane *lane, const struct lane_evidence_entry *entry);
    /* the whole attempt */
    void (*measured)(struct lane *lane, const struct energy_meters_result *result);
    /* adds to lane->ended; may return NULL */
    json_t *(*end)(struct lane *lane);
    void (*recorded)(struct lane *lane);

    /* Readings of the lane's meters, also between attempts. */
    void (*gap)(struct lane *lane, const char *label, const struct meter_gap *gap);
    void (*sample)(struct lane *lane, const char *label, const struct gpu_sample *sample);
    void (*counter)(struct lane *lane, size_t domain, const char *name,
                    const struct counter_reading *reading);
    void (*users)(struct lane *lane, const char *label, int64_t t_ns,
                  const struct gpu_users *users);
    void (*unavailable)(struct lane *lane, const char *label); /* the meter was given up */
    void (*answered)(struct lane *lane);
};

/* NULL-terminated. */
extern const struct observer *const observers[];
extern const struct observer ranks_observer, stopped_observer, marks_observer, background_observer,
    limits_observer, output_observer, governor_observer, locks_observer, checkpoints_observer,
    load_observer, shares_observer, energy_observer, pressure_observer, sleep_observer,
    split_observer, memory_observer, guard_observer, watch_observer, hang_observer, budget_observer,
    gpu_memory_observer, snapshot_observer, checks_observer, study_files_observer;

/* OBSERVE(lane, mark, mark) calls a slot of all observers. */
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
