/* gpu_limit: how much of a GPU's memory a job may hold, as people write it. */
#ifndef TARE_PLAN_CONFIG_GPU_LIMIT_H
#define TARE_PLAN_CONFIG_GPU_LIMIT_H

#include "base/err.h"
#include "machine/gpu/ledger.h"

#include <stdbool.h>

/* An amount of memory (plan/config/size.h) of at least 1 MiB, or a share of each GPU's memory: "8GiB", "50%". */
bool gpu_limit_parse(const char *text, struct gpu_limit *out, struct err *err);

#endif
