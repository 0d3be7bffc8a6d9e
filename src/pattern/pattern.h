/* pattern: PCRE2 regular expressions over lines of a log, with JIT where there is one and limits everywhere: no pattern and
 * no line can make the program hang (PCRE2's match and depth limits; a line that exceeds them counts as "not matched" and
 * is counted). Patterns are compiled as UTF with PCRE2_MATCH_INVALID_UTF. */
#ifndef TARE_PATTERN_PATTERN_H
#define TARE_PATTERN_PATTERN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pattern;

/* err names what is wrong and the offset (in characters, from 1) in the pattern. */
struct pattern *pattern_new(const char *source, struct err *err);
void pattern_free(struct pattern *pattern);

struct pattern_match {
    bool matched;
    bool limited;      /* the match limit ended the search */
    size_t start, end; /* of the first group that took part, or of the whole match when the pattern has none; bytes of the line */
};

struct pattern_match pattern_find(struct pattern *pattern, const char *line, size_t length);

/* Checks a pattern without keeping it. */
bool pattern_check(const char *source, struct err *err);

#endif
