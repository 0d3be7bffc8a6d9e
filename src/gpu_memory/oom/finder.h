/* finder: a log is read line by line, in pieces of bounded length; of each the blanks are taken
 * out, so that the words of a message are found however it was broken. Every source of lines has
 * its own open message. */
#ifndef TARE_GPU_MEMORY_OOM_FINDER_H
#define TARE_GPU_MEMORY_OOM_FINDER_H

#include "gpu_memory/oom/oom.h"

struct oom_finder *oom_finder_new(oom_found_fn *found, void *context);

void oom_finder_free(struct oom_finder *finder); /* NULL: nothing */

/* The log's next bytes, cut anywhere. */
void oom_finder_take(struct oom_finder *finder, const char *bytes, size_t count);
void oom_finder_end(struct oom_finder *finder); /* the log has ended: what is open is told */

uint64_t oom_finder_lines(const struct oom_finder *finder);

void oom_list_add(void *context, const struct oom *message);

void oom_list_fini(struct oom_list *list);

/* A log that lies in memory. */
void oom_parse(const char *bytes, size_t count, struct oom_list *out);

#endif
