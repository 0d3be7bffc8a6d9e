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
    struct usage_group *at_peak, *at_end;
    size_t at_peak_count, at_end_count;
    struct usage_oom *ooms; /* that were recorded */
    size_t oom_count;
    struct memory_try *tries;
    size_t try_count;
    struct recommendation recommendation;
};

/* Reads and replays; out keeps pointers to question and snapshot. */
bool memory_look(const struct memory_question *question, const struct snapshot *snapshot,
                 size_t device, struct memory_report *out, struct err *err);
void memory_report_fini(struct memory_report *report);

/* For a terminal, at most 80 columns wide. */
void memory_text(const struct memory_report *report, struct text *out);
void memory_text_tries(const struct memory_report *report, struct text *out);
void memory_text_advice(const struct memory_report *report, struct text *out);

json_t *memory_json(const struct memory_report *report);

/* A page with a map of the segments, the curve and the lists, in one file. */
void memory_page(const struct memory_report *report, struct text *out);

/* Pieces of text. Sizes: "1.53 GiB", "21.3 MiB", "512 B". */
char *memory_size_text(uint64_t bytes);
char *memory_conf_text(const struct alloc_settings *settings); /* "default" when nothing is set */

/* Where an allocation was made: the innermost frame in a Python file of the user's own, past the
 * allocator's C++, and the library's function that was called there (NULL: none). Without such a
 * file: of another library than PyTorch, of PyTorch's Python, of compiled code that is not the
 * allocator's, any. frame NULL: no stack was recorded. */
struct memory_place {
    const struct snapshot_frame *frame, *via;
};
struct memory_place memory_place(const struct snapshot *snapshot, uint32_t stack);

/* "step (train.py:41) via forward (torch/nn/modules/linear.py:125)", or "... via linear.py:125"
 * where that is wider than columns (0: as wide as it is); NULL: no stack was recorded. */
char *memory_stack_text(const struct snapshot *snapshot, uint32_t stack, size_t columns);

/* The last out of memory that was recorded, and what limited it, in sentences; NULL: none was. */
char *memory_oom_text(const struct memory_report *report);

/* Whether replays can be trusted, in a sentence. */
char *memory_check_text(const struct memory_report *report);

/* Lines of a picture of the curve. */
void memory_add_curve(const struct curve *curve, struct text *out);

#endif
