/* text: a growing buffer of bytes, always followed by a NUL that its length does not count. */
#ifndef TARE_BASE_TEXT_H
#define TARE_BASE_TEXT_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* NULL while nothing was added */
    size_t length;
    size_t capacity;
};

void text_add(struct text *text, const char *s);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *text);            /* empty again, the memory kept */
const char *text_get(const struct text *text); /* "" while nothing was added */
/* the bytes become the caller's, never NULL; text is empty again */
char *text_take(struct text *text);
void text_fini(struct text *text);

/* Words broken into lines of at most width columns, each after indent blanks; ends with a
 * newline. */
void text_wrap(struct text *text, const char *words, size_t indent, size_t width);

/* Whether s ends with end, and is more than that. */
bool text_ends_with(const char *s, const char *end);

#define AUTO_TEXT AUTO(text_fini)

#endif
