/* Remedies in the order in which they are to be tried: by gain for cost. What changes nothing of
 * the training comes first. */
#ifndef TARE_GPU_MEMORY_OOM_REMEDY_H
#define TARE_GPU_MEMORY_OOM_REMEDY_H

#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/oom.h"
#include <stddef.h>

/* What would help, by cause. */

/* Fills the remedies of a diagnosis whose cause and figures stand. */
void remedies_fill(const struct oom *message, struct oom_diagnosis *out);

#endif
