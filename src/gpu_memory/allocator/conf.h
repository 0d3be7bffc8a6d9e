/* conf: what PYTORCH_CUDA_ALLOC_CONF says, as far as it decides where memory goes. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_CONF_H
#define TARE_GPU_MEMORY_ALLOCATOR_CONF_H

#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define CONF_CLASSES 16 /* of sizes: up to 1 MiB, 2 MiB, 4 MiB ... 32 GiB and above */

struct alloc_settings {
    uint64_t max_split_bytes;         /* UINT64_MAX: no bound */
    uint32_t divisions[CONF_CLASSES]; /* roundup_power2_divisions; 0 and 1: none */
    double gc_threshold;              /* of the cap; 0: no garbage collection */
    bool expandable;
};

/* What PyTorch does without any setting. */
struct alloc_settings conf_default(void);

/* "expandable_segments:True,max_split_size_mb:64", in PyTorch's own spelling; "" is the default.
 * Settings that do not decide where memory goes (backend:native, pinned_...) are passed over. The
 * error names the setting and what it may be. */
bool conf_parse(const char *conf, struct alloc_settings *out, struct err *err);

/* The shortest conf that says the same; "" for the default. */
void conf_text(const struct alloc_settings *settings, struct text *out);

bool conf_equal(const struct alloc_settings *a, const struct alloc_settings *b);

#endif
