#include "base/cpus.h"

#include "base/mem.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORD_BITS = 64, WORDS = CPUS_MAX / WORD_BITS };

void cpus_add(struct cpus *cpus, size_t cpu)
{
    if (cpu < CPUS_MAX)
        cpus->bits[cpu / WORD_BITS] |= UINT64_C(1) << (cpu % WORD_BITS);
}

bool cpus_has(const struct cpus *cpus, size_t cpu)
{
    return cpu < CPUS_MAX && (cpus->bits[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1) != 0;
}

size_t cpus_count(const struct cpus *cpus)
{
    size_t count = 0;
    EACH (bit, cpus->bits, WORDS)
        count += (size_t)__builtin_popcountll(*bit);
    return count;
}

bool cpus_equal(const struct cpus *a, const struct cpus *b)
{
    return memcmp(a->bits, b->bits, sizeof a->bits) == 0;
}

void cpus_add_all(struct cpus *cpus, const struct cpus *more)
{
    for (size_t i = 0; i < WORDS; i++)
        cpus->bits[i] |= more->bits[i];
}

void cpus_keep(struct cpus *cpus, const struct cpus *others)
{
    for (size_t i = 0; i < WORDS; i++)
        cpus->bits[i] &= others->bits[i];
}

void cpus_print(const struct cpus *cpus, struct text *out)
{
    const char *comma = "";
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!cpus_has(cpus, cpu))
            continue;
        size_t last = cpu;
        while (cpus_has(cpus, last + 1))
            last++;
        text_addf(out, "%s%zu", comma, cpu);
        if (last > cpu)
            text_addf(out, "-%zu", last);
        comma = ",";
        cpu = last;
    }
}

/* Advances *at past the digits. */
static bool parse_cpu_number(const char **at, const char *end, size_t *out)
{
    const char *start = *at;
    *out = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        *out = *out * 10 + (size_t)(**at - '0');
        if (*out >= CPUS_MAX)
            return false;
    }
    return *at > start;
}

bool cpus_parse(const char *bytes, size_t count, struct cpus *out)
{
    const char *at = bytes, *end = bytes + count;
    *out = (struct cpus){0};
    if (count > 0 && end[-1] == '\n')
        end--;
    while (at < end) {
        size_t first, last;
        if (!parse_cpu_number(&at, end, &first))
            return false;
        last = first;
        if (at < end && *at == '-') {
            at++;
            if (!parse_cpu_number(&at, end, &last) || last < first)
                return false;
        }
        for (size_t cpu = first; cpu <= last; cpu++)
            cpus_add(out, cpu);
        if (at == end)
            return true;
        if (*at++ != ',' || at == end)
            return false;
    }
    return true;
}

/* The bare call: glibc's fails on machines with more processors than its cpu_set_t has room for. */
bool cpus_allowed(struct cpus *out)
{
    *out = (struct cpus){0};
    return syscall(SYS_sched_getaffinity, 0, sizeof out->bits, out->bits) > 0;
}
