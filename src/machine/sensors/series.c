#include "machine/sensors/series.h"

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
    series->counter =
        mem_room(series->counter, series->counter_count, &series->counter_capacity, sizeof *series->counter);
    series->counter[series->counter_count++] = reading;
}

void series_add_power(struct series *series, struct power_sample sample)
{
    if (series->power_count > 0 && sample.t_ns <= series->power[series->power_count - 1].t_ns)
        return;
    series->power = mem_room(series->power, series->power_count, &series->power_capacity, sizeof *series->power);
    series->power[series->power_count++] = sample;
}
