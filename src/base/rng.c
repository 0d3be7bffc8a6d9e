#include "base/rng.h"

#include "base/clock.h"
#include "base/value.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix(&seed);
}

void rng_seed_named(struct rng *rng, uint64_t seed, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    rng_seed(rng, splitmix(&seed) ^ hash);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    /* 2^64 modulo bound: leaving out that many numbers, each remainder is as likely as any
     * other. */
    uint64_t left_out = -bound % bound;
    uint64_t drawn;
    do
        drawn = rng_next(rng);
    while (drawn < left_out);
    return drawn % bound;
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_normal(struct rng *rng)
{
    /* Marsaglia's polar method; the second number is let go, so that a generator has no more
     * state */
    double u, v, s;
    do {
        u = 2 * rng_unit(rng) - 1;
        v = 2 * rng_unit(rng) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * number_log(s) / s);
}

uint64_t rng_fresh_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        /* Up to 256 bytes are never cut short; only a filter on system calls leads here. */
        seed = (uint64_t)clock_monotonic_ns() ^ ((uint64_t)getpid() << 32);
        seed = splitmix(&seed);
    }
    return seed >> 11;
}
