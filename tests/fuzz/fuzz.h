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

/* The first byte says which parser reads the rest: a copy of its exact size, so that one byte too far is seen. */
static inline int fuzz_one_of(const uint8_t *data, size_t size, fuzz_parser *const *parsers, size_t count)
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

#endif
