/* step_power: the power within one training step. A job marks where its steps and their phases
 * begin; samples of many steps are folded into one. A sample is a mean over a known stretch of
 * time, a known delay ago, so it is a linear function of one step's curve: a regularised least
 * squares problem (docs/explanation/uncertainty.md). Pure. */
#ifndef TARE_METER_STEP_POWER_H
#define TARE_METER_STEP_POWER_H

#include "base/mark.h"
#include "measure/energy/sensor_behaviour.h"

/* More marks than that are left out: 65536 take 1 MiB. */
enum { STEP_MARKS_MAX = 65536, STEP_NAMES_MAX = 16, STEP_PHASES_MAX = 32 };

struct step_mark {
    int64_t t_ns;
    int32_t what; /* place of a phase in names, or one of enum step_what */
    uint32_t order;
};

enum step_what { STEP_BEGINS = -1, STEP_ENDS = -2, STEP_PHASE_ENDS = -3 };

/* The marks of one attempt. All zero: none. Constant memory. */
struct step_marks {
    char names[STEP_NAMES_MAX][MARK_LABEL_MAX + 1];
    size_t name_count;
    char last_step[MARK_LABEL_MAX + 1];
    struct step_mark *items;
    size_t count;
    uint64_t left_out;
};

void step_marks_fini(struct step_marks *marks); /* none, again */

/* Marks named "step" begin a step, those named "phase" the phase within it that their label names.
 * False: it is neither, and nothing is taken. Of several ranks that mark the same, the first one
 * counts. */
bool step_marks_take(struct step_marks *marks, const struct mark *mark);

/* Steps of the same phases, in the order of time. edge_ns has phase_count + 1 times for each: where
 * each phase begins, and the step's end. */
struct step_fold {
    const char *names[STEP_PHASES_MAX]; /* borrowed from the marks */
    size_t phase_count;
    int64_t *edge_ns;
    /* left out: other phases than most, or longer than 1.5 times the median */
    size_t steps, left_out;
    double median_s;
};

/* Sorts the marks. Steps that do not lie within [start_ns,end_ns] do not count. */
void step_fold(struct step_marks *marks, int64_t start_ns, int64_t end_ns, struct step_fold *out);
void step_fold_fini(struct step_fold *fold);

struct step_sensor {
    const struct sensor_behaviour *behaviour;
    bool calibrated;   /* else the averaging is not known well enough */
    double gain_bound; /* by which share all may be off; 0: nobody knows */
    double mark_s;     /* a mark may be off by so much */
    double stamp_s;    /* the time of a sample lies anywhere in so long around its stamp */
};

struct step_bin {
    double begin_s, end_s, power_w, half_width_w;
};

struct step_phase {
    const char *name; /* borrowed from the marks */
    double begin_s, end_s;
    struct reading energy_j, half_width_j; /* of one step, mean of all that count; 95 % */
};

struct step_power {
    char reason[200]; /* why there are no figures; "": there are */
    size_t steps, left_out, samples;
    double step_s; /* median length */
    struct step_phase phases[STEP_PHASES_MAX];
    size_t phase_count;
    struct step_bin *bins; /* at most 5 ms each */
    size_t bin_count;
};

void step_power_estimate(const struct step_fold *fold, const struct series *series,
                         const struct step_sensor *sensor, struct step_power *out);
void step_power_fini(struct step_power *power);

#endif
