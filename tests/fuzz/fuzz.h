/* fuzz: what the targets share. */
#ifndef TARE_FUZZ_FUZZ_H
#define TARE_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

typedef void fuzz_parser(const char *bytes, size_t count);

/* The first byte says which parser reads the rest: a copy of its exact size, so that one byte too
 * far is seen. */
static inline int fuzz_one_of(const uint8_t *data, size_t size, fuzz_parser *const *parsers,
                              size_t count)
{
    if (size == 0)
        return 0;
    char *bytes = malloc(size > 1 ? size - 1 : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data + 1, size - 1);
    parsers[data[0] % count](bytes, size - 1);
    free(bytes);
    return 0;
}

/* Text that may go to a terminal, by the tables of UTF-8 (RFC 3629) alone: no control character
 * (C0, DEL, C1), no bidirectional one, and nothing cut or overlong. */
static inline bool fuzz_is_legible(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        unsigned long point = *c;
        size_t more = *c < 0x80                  ? 0
                      : *c >= 0xC2 && *c <= 0xDF ? 1
                      : *c >= 0xE0 && *c <= 0xEF ? 2
                      : *c >= 0xF0 && *c <= 0xF4 ? 3
                                                 : 4;
        if (more == 4 || *c < 0x20 || *c == 0x7F)
            return false;
        point = more == 0 ? point : point & (0x3FU >> more);
        for (size_t i = 1; i <= more; i++) {
            if ((c[i] & 0xC0) != 0x80)
                return false;
            point = point << 6 | (c[i] & 0x3F);
        }
        if ((more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10FFFF)) ||
            (point >= 0xD800 && point <= 0xDFFF) || (point >= 0x80 && point <= 0x9F) ||
            (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069))
            return false;
        c += more + 1;
    }
    return true;
}

#endif
