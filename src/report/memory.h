/* memory: what `memory` finds out about one GPU of a snapshot, and how it is told. */
#ifndef TARE_REPORT_MEMORY_H
#define TARE_REPORT_MEMORY_H

#include "base/strv.h"
#include "base/text.h"
#include "gpu_memory/allocator/replay.h"
#include "gpu_memory/allocator/usage.h"

#include <jansson.h>

/* What is asked for. */
struct memory_question {
    const char *path;
    const struct strv *confs;    /* --what-if; may be NULL */
    uint64_t cap_bytes;          /* --cap; MODEL_NO_CAP: none */
    uint64_t recorded_cap_bytes; /* --recorded-cap */
    bool recommend;
    size_t rows; /* of each list */
};

/* One setting that was tried; conf NULL: that of the record. */
struct memory_try {
    const char *conf;
    struct alloc_settings settings;
    uint64_t cap_bytes;
    struct replay replay;
};

struct memory_report {
    const struct memory_question *question;
    const struct snapshot *snapshot;
    size_t device;
    bool has_trace;
    struct program program;
    struct check check;
    struct usage_layout layout;
    struct curve curve;
    struct growth growth;
    struct owners owners;
    struct owner_row *at_peak, *at_end;
    size_t at_peak_count, at_end_count;
    struct owner_sum peak_sums[OWNER_KINDS + 1];
    struct usage_oom *ooms; /* that were recorded */
    size_t oom_count;
    struct memory_try *tries;
    size_t try_count;
    struct recommendation recommendation;
};

#endif
