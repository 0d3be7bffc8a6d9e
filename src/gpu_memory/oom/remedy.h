/* remedy: what would help, by cause. Private to oom/. */
#ifndef TARE_GPU_MEMORY_OOM_REMEDY_H
#define TARE_GPU_MEMORY_OOM_REMEDY_H

#include "gpu_memory/oom/cause.h"

/* Fills the remedies of a diagnosis whose cause and figures stand. */
void remedies_fill(const struct oom *message, const struct oom_circumstances *known, struct oom_diagnosis *out);

#endif
