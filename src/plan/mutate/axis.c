/* Floats are drawn with six significant digits. Here each such number has a rank: neighbours differ
 * by one, so that values can be counted and numbered without going through them. An integer is its
 * own rank. */
#include "plan/mutate/axis.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANTISSA_LOW  100000 /* six digits: 100000 .. 999999 */
#define MANTISSAS     900000
#define EXPONENT_LOW  (-330)  /* below the last digit of the smallest double */
#define FLOAT_COUNTED 1000000 /* a float's range with more values than this counts as endless */
#define INT_MOST      4000000000000000000.0

/* |number| as mantissa * 10^exponent with a mantissa of six digits. */
static int64_t split_decimal(double magnitude, int *exponent)
{
    char printed[32];
    snprintf(printed, sizeof printed, "%.5e", magnitude);
    int64_t mantissa = 0;
    const char *c = printed;
    for (; *c != 'e'; c++)
        if (*c >= '0' && *c <= '9') /* the radix character depends on the locale */
            mantissa = mantissa * 10 + (*c - '0');
    *exponent = (int)strtol(c + 1, NULL, 10) - 5;
    return mantissa;
}

static double join_decimal(int64_t mantissa, int exponent)
{
    char printed[48];
    snprintf(printed, sizeof printed, "%llde%d", (long long)mantissa, exponent);
    return strtod(printed, NULL);
}

static int64_t rank_float(double number)
{
    if (number == 0)
        return 0;
    int exponent;
    int64_t mantissa = split_decimal(fabs(number), &exponent);
    int64_t rank = (int64_t)(exponent - EXPONENT_LOW) * MANTISSAS + mantissa - MANTISSA_LOW + 1;
    return number < 0 ? -rank : rank;
}

static double float_at(int64_t rank)
{
    if (rank == 0)
        return 0;
    int64_t place = (rank < 0 ? -rank : rank) - 1;
    double magnitude =
        join_decimal(place % MANTISSAS + MANTISSA_LOW, (int)(place / MANTISSAS) + EXPONENT_LOW);
    return rank < 0 ? -magnitude : magnitude;
}

void axis_int_bounds(const struct param *param, int64_t *low, int64_t *high)
{
    *low = (int64_t)ceil(fmax(param->low, -INT_MOST));
    *high = (int64_t)floor(fmin(param->high, INT_MOST));
}

/* The value at a place among all: what a float's rank stands for may lie a last digit outside of
 * the range, and the end of the range then takes its place. */
static struct value value_at(const struct axis *axis, uint64_t place)
{
    const struct param *param = axis->param;
    if (param->type >= PARAM_CHOICE)
        return value_copy(&param->choices[axis->choices[place]]);
    bool zero = place >= axis->in_range;
    int64_t rank = zero ? 0 : axis->first_rank + (int64_t)place;
    if (param->type == PARAM_FLOAT)
        return value_float(zero ? 0.0 : fmin(fmax(float_at(rank), param->low), param->high));
    return value_int(rank);
}

static bool place_has_key(const struct axis *axis, uint64_t place, const char *key)
{
    struct value value AUTO(value_fini) = value_at(axis, place);
    AUTO_FREE char *own = value_key(&value);
    return strcmp(own, key) == 0;
}

/* The choices that differ from all before them. */
static void find_choices(struct axis *axis)
{
    const struct param *param = axis->param;
    axis->choices = mem_array(param->choice_count, sizeof *axis->choices);
    for (size_t i = 0; i < param->choice_count; i++) {
        AUTO_FREE char *key = value_key(&param->choices[i]);
        uint64_t place = 0;
        while (place < axis->all && !place_has_key(axis, place, key))
            place++;
        if (place == axis->all)
            axis->choices[axis->all++] = i;
    }
    axis->in_range = axis->all;
}

static void find_numbers(struct axis *axis)
{
    const struct param *param = axis->param;
    bool is_int = param->type == PARAM_INT;
    int64_t last = 0;
    if (param->has_range && param->zero_probability < 1 && param->low <= param->high) {
        int64_t low = 0, high = 0;
        if (is_int)
            axis_int_bounds(param, &low, &high);
        axis->first_rank = is_int ? low : rank_float(param->low);
        last = is_int ? high : rank_float(param->high);
        if (low <= high)
            axis->in_range = (uint64_t)(last - axis->first_rank) + 1;
    }
    bool holds_zero = axis->in_range && axis->first_rank <= 0 && last >= 0;
    axis->all =
        axis->in_range + (param->has_range && param->zero_probability > 0 && !holds_zero ? 1 : 0);
    axis->endless = !is_int && axis->in_range > FLOAT_COUNTED;
}

/* Where the default stands among all, if it does. */
static void find_default(struct axis *axis)
{
    const struct value *value = &axis->param->default_value;
    AUTO_FREE char *key = value_key(value);
    if (axis->param->type >= PARAM_CHOICE) {
        for (uint64_t place = 0; place < axis->all && !axis->has_skipped; place++) {
            axis->has_skipped = place_has_key(axis, place, key);
            axis->skipped = place;
        }
        return;
    }
    if (value->kind != VALUE_INT && value->kind != VALUE_FLOAT)
        return;
    double number = value->kind == VALUE_INT ? (double)value->integer : value->real;
    if (!(fabs(number) <= INT_MOST))
        return;
    int64_t rank = axis->param->type != PARAM_INT ? rank_float(number)
                   : value->kind == VALUE_INT     ? value->integer
                                                  : (int64_t)number;
    /* wraps far beyond in_range when it stands before */
    uint64_t place = (uint64_t)rank - (uint64_t)axis->first_rank;
    if (place >= axis->in_range)
        place = axis->in_range; /* perhaps the 0 behind the range */
    axis->has_skipped = place < axis->all && place_has_key(axis, place, key);
    axis->skipped = place;
}

void axis_init(struct axis *axis, const struct param *param)
{
    *axis = (struct axis){.param = param};
    if (param->type >= PARAM_CHOICE)
        find_choices(axis);
    else
        find_numbers(axis);
    find_default(axis);
    axis->size = axis->endless ? UINT64_MAX : axis->all - (axis->has_skipped ? 1 : 0);
}

void axis_fini(struct axis *axis)
{
    free(axis->choices);
    *axis = (struct axis){0};
}

struct value axis_value(const struct axis *axis, uint64_t index)
{
    return value_at(axis, axis->has_skipped && index >= axis->skipped ? index + 1 : index);
}

uint64_t param_size(const struct param *param)
{
    struct axis axis AUTO(axis_fini);
    axis_init(&axis, param);
    return axis.size;
}
