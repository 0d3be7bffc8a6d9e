/* match: complete lines against all patterns, and the text of a match read as a number. */
#ifndef TARE_RUN_LOG_MATCH_H
#define TARE_RUN_LOG_MATCH_H

#include "base/pattern/pattern.h"
#include "run/log/joblog.h"
#include "run/log/named.h"
#include "run/log/number_read.h"

#include <locale.h>

struct line {
    const char *start;
    uint32_t length; /* at most JOBLOG_LINE_MAX */
    bool is_cut;
    bool limited;    /* a pattern reached its limit */
    uint64_t number; /* counted by \n, from 1 */
};

struct matcher_item {
    struct pattern *pattern; /* NULL: searched by names */
    size_t named;
    struct joblog_result result;
    struct metric_history history;
    char *name;
};

/* Patterns are tried one by one, but marks are reported in the order of lines. */
struct matcher_mark {
    size_t line, item; /* indices in batch and items */
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
    struct matcher_mark *marks; /* at most one per line and pattern */
    size_t mark_count;
    struct metric_epoch epoch; /* before this batch */
    int64_t now_ns;
};

bool matcher_init(struct matcher *matcher, const struct joblog_options *options, struct err *err);
void matcher_fini(struct matcher *matcher);

/* Consecutive lines in one buffer, complete at now_ns. */
void matcher_match_lines(struct matcher *matcher, struct line *lines, size_t count, int64_t now_ns);

#endif
