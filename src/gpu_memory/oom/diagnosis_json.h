/* diagnosis_json: a message and why it came, as JSON: docs/oom.md. */
#ifndef TARE_GPU_MEMORY_OOM_DIAGNOSIS_JSON_H
#define TARE_GPU_MEMORY_OOM_DIAGNOSIS_JSON_H

#include "gpu_memory/oom/cause.h"

#include <jansson.h>

json_t *oom_message_json(const struct oom *message, const struct oom_diagnosis *diagnosis);

#endif
