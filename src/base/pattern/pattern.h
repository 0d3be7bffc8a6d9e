/* pattern: PCRE2 regular expressions over lines of a log, with JIT where there is one and limits
 * everywhere: no pattern and no line can make the program hang (PCRE2's match and depth limits; a
 * line that exceeds them counts as "not matched" and is counted). Patterns are UTF; bytes that are
 * no UTF-8 match nothing (PCRE2_MATCH_INVALID_UTF). */
#ifndef TARE_BASE_PATTERN_PATTERN_H
#define TARE_BASE_PATTERN_PATTERN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A metric of a registry is searched by a pattern, or by names that follow this. */
#define PATTERN_NAMED "named:"

struct pattern;

/* Lines up to this length always get the full match limit; longer ones less, since a step may look
 * at the whole line. */
#define PATTERN_LINE_SHORT 2048

/* err names what is wrong and the offset (in characters, from 1) in the pattern. */
struct pattern *pattern_new(const char *source, struct err *err);
void pattern_free(struct pattern *pattern);

struct pattern_match {
    bool matched;
    bool limited; /* the match limit ended the search */
    bool grouped; /* start and end are of a group */
    /* of the first group that took part, or of the whole match when the pattern has none; bytes of
     * the line */
    size_t start, end;
};

struct pattern_match pattern_find(struct pattern *pattern, const char *line, size_t length);

/* The time budget: tells that the last finds, over this many bytes of lines, took cpu_ns of
 * processor time. A pattern that has used up its budget (PATTERN_BUDGET_NS, and
 * PATTERN_BUDGET_NS_PER_BYTE for every byte) is held short until it is back within it: few steps a
 * line, and lines over PATTERN_LINE_SHORT are limited without a look. */
#define PATTERN_BUDGET_NS          INT64_C(1000000000)
#define PATTERN_BUDGET_NS_PER_BYTE 100
#define PATTERN_BUDGET_NS_PER_CALL 100000 /* a find on cold caches */
void pattern_account(struct pattern *pattern, size_t bytes, int64_t cpu_ns);

/* Checks a pattern without keeping it. */
bool pattern_check(const char *source, struct err *err);

#endif
