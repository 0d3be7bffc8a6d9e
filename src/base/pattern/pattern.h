/* pattern: PCRE2 regular expressions over lines of a log, with JIT where there is one and limits everywhere: no
 * pattern and no line can make the program hang (PCRE2's match and depth limits; a line that exceeds them counts as
 * "not matched" and is counted). Patterns are UTF; bytes that are no UTF-8 match nothing (PCRE2_MATCH_INVALID_UTF). */
#ifndef TARE_BASE_PATTERN_PATTERN_H
#define TARE_BASE_PATTERN_PATTERN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings that a line must hold for a pattern to match it, read from the pattern's source. A plain byte
 * search for them passes over most of a log many times faster than a regular expression does. */

#define NEEDLE_MAX 8
#define NEEDLE_LENGTH_MAX 48
#define NEEDLE_LENGTH_MIN 2 /* shorter ones stand in nearly every line */

struct needle {
    size_t length;
    char bytes[NEEDLE_LENGTH_MAX];
};

/* Whatever the pattern matches holds at least one of the items. count 0: nothing is known, every line may match. */
struct needles {
    size_t count;
    struct needle items[NEEDLE_MAX];
};

/* source is a pattern that PCRE2 compiled (UTF, no other option that changes the syntax). What this reader does not
 * know for certain (case folding, extended syntax, recursion, verbs, conditions) gives no needles, never wrong ones. */
void needles_read(const char *source, struct needles *out);

struct pattern;

/* Lines up to this length always get the full match limit; longer ones less, since a step may look at the whole line. */
#define PATTERN_LINE_SHORT 2048

/* err names what is wrong and the offset (in characters, from 1) in the pattern. */
struct pattern *pattern_new(const char *source, struct err *err);
void pattern_free(struct pattern *pattern);

struct pattern_match {
    bool matched;
    bool limited;      /* the match limit ended the search */
    bool grouped;      /* start and end are of a group */
    size_t start, end; /* of the first group that took part, or of the whole match when the pattern has none; bytes of the line */
};

struct pattern_match pattern_find(struct pattern *pattern, const char *line, size_t length);

/* What a line must hold to match, for whoever wants to look for that first. Lives as long as the pattern. */
const struct needles *pattern_needles(const struct pattern *pattern);

/* The time budget: tells that the last finds, over this many bytes of lines, took cpu_ns of processor time. A pattern
 * that has used up its budget (PATTERN_BUDGET_NS, and PATTERN_BUDGET_NS_PER_BYTE for every byte) is held short until
 * it is back within it: few steps a line, and lines over PATTERN_LINE_SHORT are limited without a look. */
#define PATTERN_BUDGET_NS          INT64_C(1000000000)
#define PATTERN_BUDGET_NS_PER_BYTE 100
#define PATTERN_BUDGET_NS_PER_CALL 100000 /* a find on cold caches */
void pattern_account(struct pattern *pattern, size_t bytes, int64_t cpu_ns);

/* Checks a pattern without keeping it. */
bool pattern_check(const char *source, struct err *err);

#endif
