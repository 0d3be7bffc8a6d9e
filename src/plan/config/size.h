/* size: amounts as people write them, with their units: memory, energy. */
#ifndef TARE_PLAN_CONFIG_SIZE_H
#define TARE_PLAN_CONFIG_SIZE_H

#include "base/err.h"
#include "machine/gpu/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* "500 MB", "1GiB", "1.5 TiB", "4096" (bytes): kB, MB, GB, TB are powers of 1000, KiB, MiB, GiB,
 * TiB of 1024, B or nothing is bytes; upper and lower case are the same. Up to 2^53 bytes. */
bool size_parse(const char *text, uint64_t *bytes, struct err *err);

/* How much of a GPU's memory a job may hold, as people write it. */

/* An amount of memory of at least 1 MiB, or a share of each GPU's memory: "8GiB", "50%". */
bool gpu_limit_parse(const char *text, struct gpu_limit *out, struct err *err);

/* "20 kWh", "1.5MJ" to joules: more than 0, up to 1e15. Units are written as SI has them: MJ is not
 * mJ. */
bool size_energy_parse(const char *text, double *j, struct err *err);

/* "20 kWh", "1.235 MWh": four digits; the caller frees. */
char *size_energy_text(double j);

#endif
