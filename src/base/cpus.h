/* cpus: a set of the machine's processors, as sched_setaffinity(2) takes it and as the kernel
 * writes it: "0-3,8". */
#ifndef TARE_BASE_CPUS_H
#define TARE_BASE_CPUS_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that the kernel can be built for (NR_CPUS of x86-64). */
enum { CPUS_MAX = 8192 };

/* Bit n of word n / 64: the kernel's own layout on 64-bit machines. All zero: none. */
struct cpus {
    uint64_t bits[CPUS_MAX / 64];
};

void cpus_add(struct cpus *cpus, size_t cpu); /* beyond CPUS_MAX: nothing */
bool cpus_has(const struct cpus *cpus, size_t cpu);
size_t cpus_count(const struct cpus *cpus);
bool cpus_equal(const struct cpus *a, const struct cpus *b);
void cpus_add_all(struct cpus *cpus, const struct cpus *more);
void cpus_keep(struct cpus *cpus, const struct cpus *others); /* only those that are in both */
void cpus_print(const struct cpus *cpus, struct text *out);   /* "0-3,8"; none: nothing */

/* A list as the kernel writes it, in any order, one newline at most behind it; nothing at all is
 * the empty set. False: it is something else, or tells of one from CPUS_MAX on. */
bool cpus_parse(const char *bytes, size_t count, struct cpus *out);

/* Those on which this thread may run. False and errno: the kernel does not say. */
bool cpus_allowed(struct cpus *out);

#endif
