/* needle: strings that a line must hold for a pattern to match it, read from the pattern's source. A plain byte
 * search for them passes over most of a log many times faster than a regular expression does. */
#ifndef TARE_BASE_PATTERN_NEEDLE_H
#define TARE_BASE_PATTERN_NEEDLE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
