/* unpack: files that were compressed as a whole, by the programs that do that (gzip, xz, …). */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_UNPACK_H
#define TARE_GPU_MEMORY_ALLOCATOR_UNPACK_H

#include "base/err.h"

#include <stddef.h>

struct unpack_format {
    const char *magic;
    size_t length;
    const char *name;
    const char *program; /* unpacks standard input with -dc; NULL: unpacking is left to people */
    const char *by_hand; /* what a person can call */
};

/* The format that these bytes begin; NULL: they are not packed. */
const struct unpack_format *unpack_find(const void *bytes, size_t count);

/* A descriptor of the unpacked bytes, in memory; fd: the compressed ones, from their beginning; at
 * most limit bytes. -1: err. */
int unpack_file(const struct unpack_format *format, int fd, size_t limit, struct err *err);

/* All of fd up to its end in memory, in the same way. */
int unpack_keep(int fd, size_t limit, struct err *err);

#endif
