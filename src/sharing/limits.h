/* limits: what the study expected of pairs on its GPU of 8 GB: tiers of memory with the share of
 * pairs that work, classes of risk, how many pairs must work and how much memory one may have. All
 * of it is data in limits.c. */
#ifndef TARE_SHARING_LIMITS_H
#define TARE_SHARING_LIMITS_H

#include "base/reading.h"

#include <stddef.h>

struct feasibility;

/* Of what both of a pair need together, the sum of their peaks. */
enum pairs_tier { TIER_ULTRA_LOW, TIER_LOW, TIER_MEDIUM, TIER_HIGH, TIER_COUNT };

struct limits_tier {
    const char *name;
    double up_to_bytes; /* the study's limit, which belongs to the tier; of the last INFINITY */
    double up_to_share; /* the same as a share of the study's GPU, so of any */
    double expected;    /* share of its pairs that the study expected to work */
};
extern const struct limits_tier limits_tiers[TIER_COUNT];

/* Of a prediction, by the share of the GPU: stable: the safe bound stays below 94 % of the GPU;
 * usable: the peak in the course of time does; high risk: neither. By size: limits_risk_of. */
enum pairs_risk { RISK_STABLE, RISK_USABLE, RISK_HIGH };

const char *pairs_tier_name(enum pairs_tier tier); /* "ultra-low" */
const char *pairs_risk_name(enum pairs_risk risk); /* "high risk" */

/* bytes: of both; total: of the GPU, above 0. */
enum pairs_tier pairs_tier_of(double bytes, double total_bytes);

/* By the study's limits in MB, whatever the GPU has: stable below 3000, usable up to 4000. */
enum pairs_tier limits_tier_of(double bytes);
enum pairs_risk limits_risk_of(double bytes);

/* Where usable memory ends, as a share of the GPU. */
extern const double limits_usable_share;

/* "stable below 3000 MB, usable up to 4000 MB, high risk above"; the caller frees it. */
char *limits_risks_text(void);

struct limits_success {
    size_t pairs, ran;
    size_t worked; /* pairs_worked */
};

struct limits_account {
    struct limits_success all;
    /* In each tier by the study's limits, and by the same shares of this GPU; the last: memory is
     * not known. */
    struct limits_success by_size[TIER_COUNT + 1], by_share[TIER_COUNT + 1];
};
void limits_count(const struct feasibility *study, struct limits_account *out);

struct pairs_criterion {
    const char *what;
    bool known, met;
    char detail[100];
};

/* The study's own criteria, of all its pairs; the exit code does not depend on them. */
enum { LIMITS_CRITERIA = 4 };
/* worked of ran; not valid: none ran. */
struct reading limits_rate(const struct limits_success *success);

void limits_criteria(const struct feasibility *study, struct pairs_criterion out[LIMITS_CRITERIA]);

#endif
