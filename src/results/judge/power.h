/* power: energy of a trace of power samples, with its half-width. */
#ifndef TARE_RESULTS_JUDGE_POWER_H
#define TARE_RESULTS_JUDGE_POWER_H

#include "results/judge/read.h"

/* Without a window (begin_s of it not finite) it is that of the samples. */
void power_begin(struct power *power, double begin_s, double end_s);
void power_add_all(struct power *power, const int64_t *t_s, const double *watts, size_t count);

/* Once, after the last sample. */
struct power_energy power_end(struct power *power);

/* The sensor that such rises, of all traces that it took, show. */
enum power_sensor power_sensor_find(const struct power_rises *rises);
const char *power_sensor_name(enum power_sensor sensor);

/* The energy and half-width of this sensor; an unknown one's interval covers both kinds. False: the
 * window is shorter than the sensor resolves, or the sensor may be such a one; then energy,
 * half-width and mean become unknown. */
bool power_settle(struct power_energy *energy, enum power_sensor sensor);

#endif
