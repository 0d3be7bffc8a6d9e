#include "plan/mutate/axis.h"


#include <math.h>

#define SIGNIFICANT_DIGITS 6
#define NORMAL_TRIES       1000 /* a normal distribution that lies outside of its range must not hang the planner */

/* log-uniform over [low, high) */
static double log_uniform(double low, double high, struct rng *rng)
{
    return low * number_exp(rng_unit(rng) * number_log(high / low));
}

static double normal(const struct param *param, struct rng *rng)
{
    double mean = param->has_normal ? param->mean : param->low + (param->high - param->low) / 2;
    double deviation = param->has_normal ? param->deviation : (param->high - param->low) / 4;
    return mean + deviation * rng_normal(rng);
}

static int64_t draw_int(const struct param *param, struct rng *rng)
{
    int64_t low, high;
    axis_int_bounds(param, &low, &high);
    if (low >= high)
        return low;
    if (param->distribution == DISTRIBUTION_LOG_UNIFORM && low > 0) {
        double drawn = floor(log_uniform((double)low, (double)high + 1, rng));
        return drawn < (double)low ? low : drawn >= (double)high ? high : (int64_t)drawn;
    }
    for (int i = 0; param->distribution == DISTRIBUTION_NORMAL && i < NORMAL_TRIES; i++) {
        double drawn = floor(normal(param, rng) + 0.5);
        if (drawn >= (double)low && drawn <= (double)high)
            return (int64_t)drawn;
    }
    return low + (int64_t)rng_below(rng, (uint64_t)high - (uint64_t)low + 1);
}

/* The end of the range has the key that the rounded number would have. */
static struct value round_into_range(const struct param *param, double drawn)
{
    return value_float(fmin(fmax(number_round(drawn, SIGNIFICANT_DIGITS), param->low), param->high));
}

struct value sample_uniform_float(const struct param *param, struct rng *rng)
{
    return round_into_range(param, param->low + (param->high - param->low) * rng_unit(rng));
}

static struct value draw_float(const struct param *param, struct rng *rng)
{
    if (param->distribution == DISTRIBUTION_LOG_UNIFORM && param->low > 0)
        return round_into_range(param, log_uniform(param->low, param->high, rng));
    for (int i = 0; param->distribution == DISTRIBUTION_NORMAL && i < NORMAL_TRIES; i++) {
        double drawn = normal(param, rng);
        if (drawn >= param->low && drawn <= param->high)
            return round_into_range(param, drawn);
    }
    return sample_uniform_float(param, rng);
}

struct value sample_value(const struct param *param, struct rng *rng)
{
    if (param->type >= PARAM_CHOICE)
        return value_copy(&param->choices[rng_below(rng, param->choice_count)]);
    bool zero = param->zero_probability > 0 && rng_unit(rng) < param->zero_probability;
    if (param->type == PARAM_INT)
        return value_int(zero ? 0 : draw_int(param, rng));
    return zero ? value_float(0.0) : draw_float(param, rng);
}
