/* message: reads the figures of an out-of-memory message: requested, free, reserved, by process. */
#ifndef TARE_GPU_MEMORY_OOM_MESSAGE_H
#define TARE_GPU_MEMORY_OOM_MESSAGE_H

#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/oom.h"
#include <stddef.h>

const char *oom_figure_name(enum oom_figure figure); /* "requested": the key in JSON */

/* Takes in the figures that stand in squeezed from *from on, and moves *from behind the last of
 * them: what follows may not be complete yet. Gives how many were new. */
size_t message_scan(const char *squeezed, size_t length, size_t *from, struct oom *out);

/* What is before the phrase in its line may name the GPU, and nothing else is believed of it. */
void message_front(const char *squeezed, size_t length, struct oom *out);

/* The whole of it: GPU number, shape. False: it is no failure after all, or of the host's
 * memory. */
bool message_end(const char *squeezed, size_t length, struct oom *out);

/* Lines of TensorFlow's allocator in front of "OOM when allocating". */
struct message_stats {
    uint64_t line, limit, in_use;
};
void message_stats_read(struct message_stats *stats, uint64_t line, const char *raw, size_t length);
void message_add_stats(const struct message_stats *stats, uint64_t line, struct oom *out);

#endif
