/* samples: the rows of an experiment's files in the study's layout, one by one: what export writes and what the
 * page draws. */
#ifndef TARE_RESULTS_JUDGE_SAMPLES_H
#define TARE_RESULTS_JUDGE_SAMPLES_H

#include "base/err.h"
#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum samples_file { SAMPLES_POWER, SAMPLES_UTILISATION, SAMPLES_TEMPERATURE, SAMPLES_FILES };
#define SAMPLES_COLUMNS 2 /* at most, behind the time-stamp */

/* "power_draw_w"; NULL: no such column. */
const char *samples_quantity(enum samples_file file, size_t column);

/* t_s: whole seconds since 1970. */
typedef void samples_each_fn(void *context, int64_t t_s, const struct reading values[SAMPLES_COLUMNS]);

/* Calls each for every row of that file of an experiment's energy/, open; none where there is no such file. Memory
 * does not depend on its length. False: it cannot be read (err). */
bool samples_read(int energy, enum samples_file file, samples_each_fn *each, void *context, struct err *err);

#endif
