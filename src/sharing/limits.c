#include "sharing/limits.h"
#include "sharing/outcome.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

/* The study counts in MB of a GPU with 8 GB, which it rounds to 8000. */
#define MB           1e6
#define STUDY_GPU_MB 8000.0

#define TIER(name, up_to_mb, expected)                           \
    {                                                            \
        name, (up_to_mb)*MB, (up_to_mb) / STUDY_GPU_MB, expected \
    }
const struct limits_tier limits_tiers[TIER_COUNT] = {
    [TIER_ULTRA_LOW] = TIER("ultra-low", 1300, 1.00),
    [TIER_LOW] = TIER("low", 2700, 1.00),
    [TIER_MEDIUM] = TIER("medium", 4000, 0.95),
    [TIER_HIGH] = TIER("high", INFINITY, 0.80),
};

static const struct {
    const char *name;
    double up_to_mb;
} risks[] = {
    [RISK_STABLE] = {"stable", 3000}, /* itself not stable any more */
    [RISK_USABLE] = {"usable", 4000},
    [RISK_HIGH] = {"high risk", INFINITY},
};

const double limits_usable_share = 0.94;
static const double MOST_MB = 7500; /* of a pair, in the same words: 94 % of 8 GB */
static const size_t LEAST_WORKED = 11, LEAST_OF = 12;

const char *pairs_tier_name(enum pairs_tier tier)
{
    return limits_tiers[tier].name;
}

const char *pairs_risk_name(enum pairs_risk risk)
{
    return risks[risk].name;
}

enum pairs_tier pairs_tier_of(double bytes, double total_bytes)
{
    size_t tier = TIER_ULTRA_LOW;
    /* Multiplied, not divided: a limit itself belongs to its tier. */
    while (tier < TIER_HIGH &&
           bytes * (STUDY_GPU_MB * MB) > limits_tiers[tier].up_to_bytes * total_bytes)
        tier++;
    return (enum pairs_tier)tier;
}

enum pairs_tier limits_tier_of(double bytes)
{
    return pairs_tier_of(bytes, STUDY_GPU_MB * MB);
}

enum pairs_risk limits_risk_of(double bytes)
{
    return bytes < risks[RISK_STABLE].up_to_mb * MB    ? RISK_STABLE
           : bytes <= risks[RISK_USABLE].up_to_mb * MB ? RISK_USABLE
                                                       : RISK_HIGH;
}

char *limits_risks_text(void)
{
    return mem_printf("%s below %.0f MB, %s up to %.0f MB, %s above", risks[RISK_STABLE].name,
                      risks[RISK_STABLE].up_to_mb, risks[RISK_USABLE].name,
                      risks[RISK_USABLE].up_to_mb, risks[RISK_HIGH].name);
}

static void add_outcome_success(struct limits_success *success, const struct pairs_outcome *outcome)
{
    success->pairs++;
    success->ran += outcome->ran;
    success->worked += pairs_worked(outcome);
}

void limits_count(const struct feasibility *study, struct limits_account *out)
{
    *out = (struct limits_account){0};
    EACH (pair, study->pairs, study->pair_count) {
        bool known = pair->prediction.known;
        add_outcome_success(&out->all, &pair->outcome);
        add_outcome_success(&out->by_size[known ? pair->prediction.size_tier : TIER_COUNT],
                            &pair->outcome);
        add_outcome_success(&out->by_share[known ? pair->prediction.tier : TIER_COUNT],
                            &pair->outcome);
    }
}

struct reading limits_rate(const struct limits_success *success)
{
    bool any = success->ran > 0;
    return (struct reading){any ? (double)success->worked / (double)success->ran : 0, any};
}

static void judge_pairs_memory(const struct feasibility *study, struct pairs_criterion out[2])
{
    struct reading most = {0};
    EACH (pair, study->pairs, study->pair_count)
        if (pair->outcome.peak_bytes.valid)
            most = (struct reading){fmax(most.value, pair->outcome.peak_bytes.value), true};
    double share = study->room.total_bytes > 0 ? most.value / study->room.total_bytes : 0;
    out[0] = (struct pairs_criterion){"every pair leaves room on a GPU of 8 GB", most.valid,
                                      most.value < MOST_MB * MB, "not measured"};
    out[1] = (struct pairs_criterion){"every pair leaves room on this GPU", most.valid && share > 0,
                                      share < limits_usable_share, "not measured"};
    if (out[0].known)
        snprintf(out[0].detail, sizeof out[0].detail,
                 "the largest has %.0f MB, less than %.0f MB is asked for", most.value / MB,
                 MOST_MB);
    if (out[1].known)
        snprintf(out[1].detail, sizeof out[1].detail,
                 "the largest has %.1f %%, less than %.0f %% is asked for", 100 * share,
                 100 * limits_usable_share);
}

/* On a machine without a meter all pairs lack energy, which does not count against them. */
static void judge_records(const struct feasibility *study, struct pairs_criterion *out)
{
    size_t worked = 0, metrics = 0, energies = 0;
    EACH (pair, study->pairs, study->pair_count) {
        const struct pairs_outcome *outcome = &pair->outcome;
        if (!pairs_worked(outcome))
            continue;
        worked++;
        metrics += outcome->metrics > 0;
        energies += outcome->pair_joules.valid;
    }
    *out = (struct pairs_criterion){"each that works has metrics, and energy where a meter is",
                                    worked > 0,
                                    metrics == worked && (energies == worked || energies == 0), ""};
    snprintf(out->detail, sizeof out->detail, "metrics of %zu of %zu pairs, energy of %zu", metrics,
             worked, energies);
}

void limits_criteria(const struct feasibility *study, struct pairs_criterion out[LIMITS_CRITERIA])
{
    struct limits_account account;
    limits_count(study, &account);
    size_t least = (LEAST_WORKED * account.all.pairs + LEAST_OF - 1) / LEAST_OF;
    out[0] = (struct pairs_criterion){"nearly all pairs work", account.all.ran > 0,
                                      account.all.worked >= least, ""};
    snprintf(out[0].detail, sizeof out[0].detail, "%zu of %zu pairs, at least %zu are asked for",
             account.all.worked, account.all.pairs, least);
    judge_pairs_memory(study, &out[1]);
    judge_records(study, &out[3]);
}
