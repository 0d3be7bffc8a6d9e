/* sample: one draw of one hyperparameter by its distribution, the default included. */
#ifndef TARE_PLAN_MUTATE_SAMPLE_H
#define TARE_PLAN_MUTATE_SAMPLE_H

#include "plan/mutate/mutate.h"

/* A number needs a range, a choice its choices. The caller frees the value with value_fini. */
struct value sample_value(const struct param *param, struct rng *rng);

/* A float of the range, uniform whatever the distribution. */
struct value sample_uniform_float(const struct param *param, struct rng *rng);

#endif
