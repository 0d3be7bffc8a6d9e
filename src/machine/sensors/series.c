#include "machine/sensors/series.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

void series_fini(struct series *series)
{
    free(series->counter);
    free(series->power);
    *series = (struct series){0};
}

void series_add_counter(struct series *series, struct counter_reading reading)
{
    MEM_ADD(series->counter, series->counter_count) = reading;
}

void series_add_power(struct series *series, struct power_sample sample)
{
    if (series->power_count > 0 && sample.t_ns <= series->power[series->power_count - 1].t_ns)
        return;
    MEM_ADD(series->power, series->power_count) = sample;
}

/* A change that is known no better than this may have been two. */
static const int64_t NARROW_NS = 40 * NS_PER_MS;

struct rhythm rhythm_counter(const struct series *series)
{
    int64_t last_ns = 0, sum_ns = 0, unsure_ns = 0, last_half_ns = 0;
    struct rhythm out = {0};
    bool follows = false; /* the last change ended a period */
    for (size_t i = 1; i < series->counter_count; i++) {
        const struct counter_reading *before = &series->counter[i - 1], *now = &series->counter[i];
        int64_t half_ns = (now->after_ns - before->before_ns) / 2;
        bool known = 2 * half_ns <= NARROW_NS;
        if (now->energy_mj == before->energy_mj)
            continue;
        int64_t change_ns = before->before_ns + half_ns;
        bool ends = known && last_ns != 0;
        if (ends) {
            sum_ns += change_ns - last_ns;
            unsure_ns += follows ? half_ns - last_half_ns : half_ns + last_half_ns;
            out.periods++;
        }
        last_ns = known ? change_ns : 0;
        last_half_ns = half_ns;
        follows = ends;
    }
    if (out.periods == 0)
        return out;
    double whole_s = (double)out.periods * (double)NS_PER_S;
    out.period_s = (struct reading){.value = (double)sum_ns / whole_s, .valid = true};
    out.half_width_s = (double)unsure_ns / whole_s;
    return out;
}

double rhythm_counter_steady_s(const struct series *series)
{
    int64_t longest_ns = 0;
    for (size_t first = 0, i = 1; i < series->counter_count; i++) {
        if (series->counter[i].energy_mj != series->counter[first].energy_mj)
            first = i;
        else if (series->counter[i].before_ns - series->counter[first].after_ns > longest_ns)
            longest_ns = series->counter[i].before_ns - series->counter[first].after_ns;
    }
    return (double)longest_ns / (double)NS_PER_S;
}

struct reading rhythm_trace_hz(const struct series *series)
{
    size_t count = series->power_count;
    int64_t length_ns = count > 1 ? series->power[count - 1].t_ns - series->power[0].t_ns : 0;
    if (length_ns <= 0)
        return (struct reading){0};
    return (struct reading){.value = (double)(count - 1) * (double)NS_PER_S / (double)length_ns,
                            .valid = true};
}
