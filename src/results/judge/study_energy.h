/* study_energy: an experiment's energy/ in the study's layout: three files of samples, once a
 * second in name, and what perf printed. */
#ifndef TARE_RESULTS_JUDGE_STUDY_ENERGY_H
#define TARE_RESULTS_JUDGE_STUDY_ENERGY_H

#include "results/judge/read.h"

/* One experiment's folder, open: its energy files and what they give rise to. buffer: TRACE_BUFFER
 * bytes. power: its GPU energy, for study_energy_settle. */
void study_energy_read(struct dataset_experiment *experiment, int dir, char *buffer,
                       int64_t *zone_s, bool *has_zone, struct power_energy *power);

/* Its GPU energy as read by this sensor, by a monitor of this interval; the folder's other traces
 * show which they are. */
void study_energy_settle(struct dataset_experiment *experiment, struct power_energy power,
                         enum power_sensor sensor, double interval_s);

/* Whether the recorded GPU energy is the sum of its samples, or power times seconds. */
bool study_energy_is_sum(const struct dataset_experiment *experiment);
bool study_energy_is_integral(const struct dataset_experiment *experiment);

#endif
