/* cause_words: the words for causes: the name in JSON, one line for people, and the sentence that
 * explains a cause which words or a traceback show. */
#ifndef TARE_GPU_MEMORY_OOM_CAUSE_WORDS_H
#define TARE_GPU_MEMORY_OOM_CAUSE_WORDS_H

#include "gpu_memory/oom/oom.h"

const char *oom_cause_name(enum oom_cause cause);        /* "fragmentation" */
const char *oom_cause_text(enum oom_cause cause);        /* one line for people */
const char *oom_cause_explanation(enum oom_cause cause); /* NULL: the figures explain it */

#endif
