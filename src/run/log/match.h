/* match: complete lines against all patterns, and the text of a match read as a number. */
#ifndef TARE_RUN_LOG_MATCH_H
#define TARE_RUN_LOG_MATCH_H

#include "base/pattern/pattern.h"
#include "run/log/joblog.h"
#include "run/log/named.h"
#include "run/log/number_read.h"

#include <locale.h>

struct line {
    const char *start; /* borrowed */
    uint32_t length;   /* at most JOBLOG_LINE_MAX */
    bool is_cut;       /* it was longer */
    bool limited;      /* set by the matcher: a pattern hit its limit here */
    uint64_t number;   /* as grep -n and editors count: of the \n before it, from 1 */
};

struct matcher_item {
    struct pattern *pattern; /* NULL: a metric that is searched by its names */
    size_t named;            /* its place among these */
    struct joblog_result result;
    struct metric_history history; /* of a metric */
    char *name;
};

/* A line on which a mark's pattern matched, until the batch is through: its patterns are tried one
 * after the other, and marks are told in the order of the lines. */
struct matcher_mark {
    size_t line, item; /* places in the batch and in items */
    struct pattern_match match;
};

struct matcher {
    struct matcher_item *items;
    size_t count;
    struct named *named;
    size_t named_count;
    bool has_ranks;
    locale_t c_locale;
    joblog_metric_fn *metric;
    joblog_mark_fn *mark;
    joblog_holds_fn *holds;
    void *context;
    struct matcher_mark *marks; /* of this batch: at most a line and pattern each */
    size_t mark_count;
    struct metric_epoch epoch; /* before this batch */
    int64_t now_ns;
};

bool matcher_init(struct matcher *matcher, const struct joblog_options *options, struct err *err);
void matcher_fini(struct matcher *matcher);

/* Lines that stand one behind the other in one buffer, and which all were complete at now_ns. */
void matcher_take(struct matcher *matcher, struct line *lines, size_t count, int64_t now_ns);

#endif
