/* rng: random numbers that are the same on every machine for one seed: xoshiro256** (Blackman and
 * Vigna 2018) filled from SplitMix64. Not for secrets. */
#ifndef TARE_BASE_RNG_H
#define TARE_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state[4];
};

void rng_seed(struct rng *rng, uint64_t seed);

/* A generator of its own for one named part of a plan, so that an entry's draws do not depend on
 * the entries before it. */
void rng_seed_named(struct rng *rng, uint64_t seed, const char *name);

uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound); /* 0 .. bound-1 without bias; bound > 0 */
double rng_unit(struct rng *rng);                    /* [0, 1), 53 bits */
double rng_normal(struct rng *rng);                  /* mean 0, deviation 1 */

/* A seed from the kernel, for plans that name none (it is then recorded). Fits in 53 bits, so JSON
 * keeps it. */
uint64_t rng_fresh_seed(void);

#endif
