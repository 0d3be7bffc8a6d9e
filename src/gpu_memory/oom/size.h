/* size: reads sizes with units ("2.50 GiB") as intervals that include their rounding. */
#ifndef TARE_GPU_MEMORY_OOM_SIZE_H
#define TARE_GPU_MEMORY_OOM_SIZE_H

#include "gpu_memory/oom/oom.h"

/* Reads "4.15GiB", "512bytes", "8,000,000bytes" at the beginning of text (no blanks inside): how
 * many bytes of text it took, 0: there is none. "not available" is taken with valid false. GB and
 * the like are read as what people mean who write so of a GPU: GiB, or less. */
size_t oom_size_read(const char *text, size_t length, struct oom_size *out);

struct oom_size oom_size_of(uint64_t bytes); /* exactly so many */

/* Valid when both are; a difference is not below 0. */
struct oom_size oom_size_add(struct oom_size a, struct oom_size b);
struct oom_size oom_size_sub(struct oom_size a, struct oom_size b);
struct oom_size oom_size_min(struct oom_size a, struct oom_size b); /* of the valid ones */

enum oom_sure oom_size_covers(struct oom_size a, struct oom_size b);

/* "3.56 GiB", as PyTorch prints sizes; in GiB ("0.31 GiB") where the rounding leaves no more than
 * that. */
void oom_size_add_text(struct oom_size size, struct text *out);

#endif
