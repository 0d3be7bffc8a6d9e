/* axis: the different values (by value_key) that one hyperparameter can be given, its default left
 * out, numbered from 0. */
#ifndef TARE_PLAN_MUTATE_AXIS_H
#define TARE_PLAN_MUTATE_AXIS_H

#include "plan/mutate/mutate.h"

struct axis {
    const struct param *param; /* borrowed */
    /* a float with more values than are worth counting: size is UINT64_MAX */
    bool endless;
    uint64_t size;
    /* All values with the default: first those of the range (or the choices), then 0 when it stands
     * outside of the range. */
    uint64_t all;
    int64_t first_rank;
    uint64_t in_range;
    size_t *choices; /* places of the different ones; owned */
    bool has_skipped;
    uint64_t skipped; /* where the default stands among all */
};

void axis_init(struct axis *axis, const struct param *param);
void axis_fini(struct axis *axis);

/* Value number index (below size) of an axis that is not endless. The caller frees it with
 * value_fini. */
struct value axis_value(const struct axis *axis, uint64_t index);

/* The whole numbers of an int's range. */
void axis_int_bounds(const struct param *param, int64_t *low, int64_t *high);

#endif
