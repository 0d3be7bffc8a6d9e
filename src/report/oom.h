/* oom: the logs that "oom" looks through, and how what is found in them is shown. */
#ifndef TARE_REPORT_OOM_H
#define TARE_REPORT_OOM_H

#include "base/err.h"
#include "base/text.h"
#include "gpu_memory/oom/cause.h"

#include <jansson.h>

/* One log, and what stands beside it in the folder of an experiment. */
struct oom_log {
    char *name;
    struct oom_list list;
    uint64_t lines;
    enum oom_setting expandable;
    bool has_growth;
    struct growth growth;
    double batch_size; /* 0: not known */
};

struct oom_logs {
    struct oom_log *items;
    size_t count;
};

/* A file, "-" for standard input, the folder of an experiment (each attempt's training.log) or of a
 * run. In folders no link is followed. */
bool oom_logs_read(const char *given, struct oom_logs *out, struct err *err);
void oom_logs_fini(struct oom_logs *logs);
uint64_t oom_logs_found(const struct oom_logs *logs); /* messages, repeated ones too */

/* For people, at most width columns; and as JSON. */
void oom_text(const struct oom_logs *logs, size_t width, struct text *out);
json_t *oom_json(const struct oom_logs *logs);

#endif
