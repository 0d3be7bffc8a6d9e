/* utf8: well-formed UTF-8 (Unicode 15, table 3-7). */
#ifndef TARE_PATTERN_UTF8_H
#define TARE_PATTERN_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the character that begins at, of which left bytes (at least 1) can be read; 0: none begins here. */
size_t utf8_length(const char *at, size_t left);

bool utf8_is_valid(const char *bytes, size_t count);

#endif
