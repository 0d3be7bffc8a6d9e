/* comparison_expect: claims about a comparison, and how many experiments would decide. */
#include "results/judge/comparison.h"
#include "base/mem.h"
#include "base/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcomes[] = {"held", "refuted", "open"};
static const double power = 0.8;

/* "0.95"; "95%"; with a sign it is a change: "-5%", "+2%". */
static bool parse_bound(const char *text, double *out)
{
    AUTO_FREE char *copy = mem_strdup(text);
    size_t length = strlen(copy);
    bool percent = length > 0 && copy[length - 1] == '%', change = *text == '+' || *text == '-';
    if (percent)
        copy[length - 1] = '\0';
    if ((change && !percent) || !number_parse(*copy == '+' ? copy + 1 : copy, out))
        return false;
    *out = percent ? *out / 100 + change : *out;
    return *out > 0 && isfinite(*out);
}

static bool parse_claim(const char *text, struct comparison_claim *out, struct err *err)
{
    size_t name = strcspn(text, "<>");
    const char *bound = text + name + (text[name] != '\0');
    *out = (struct comparison_claim){.text = mem_strdup(text), .above = text[name] == '>', .quantity = COMPARISON_MEASURED};
    bound += *bound == '=';
    for (size_t i = 0; i < COMPARISON_MEASURED; i++)
        if (strlen(comparison_measured[i]) == name && strncmp(comparison_measured[i], text, name) == 0)
            out->quantity = i;
    if (!text[name])
        return err_set(err, "'%s' is not a claim: write it as gpu_energy_j<0.95 or duration_s<+2%%", text);
    if (out->quantity == COMPARISON_MEASURED)
        return err_set(
            err, "--expect has no quantity '%.*s' (there are gpu_energy_j, gpu_power_w, duration_s, cpu_energy_j)",
            (int)name, text);
    return parse_bound(bound, &out->bound) ||
           err_set(err, "'%s' is not a ratio: 0.95, or 95%%, or as a change -5%%", bound);
}

bool comparison_claims_parse(const char *text, struct comparison_claims *out, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = NULL;
    *out = (struct comparison_claims){0};
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        out->items = mem_resize(out->items, out->count + 1, sizeof *out->items);
        if (!parse_claim(part, &out->items[out->count++], err))
            return false;
    }
    return out->count > 0 || err_set(err, "--expect is empty");
}

void comparison_claims_fini(struct comparison_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        free(claims->items[i].text);
    free(claims->items);
    *claims = (struct comparison_claims){0};
}

enum comparison_outcome comparison_claim_check(const struct comparison *comparison, const struct comparison_claim *claim)
{
    const struct stats_effect *effect = comparison_effect(&comparison->quantities[claim->quantity]);
    if (!effect->valid || !effect->has_error)
        return COMPARISON_OPEN;
    bool below = effect->interval.high<claim->bound, above = effect->interval.low> claim->bound;
    if (claim->above ? above : below)
        return COMPARISON_HELD;
    return (claim->above ? below : above) ? COMPARISON_REFUTED : COMPARISON_OPEN;
}

const char *comparison_outcome_name(enum comparison_outcome outcome)
{
    return outcomes[outcome];
}

size_t comparison_claim_needs(const struct comparison *comparison, const struct comparison_claim *claim)
{
    const struct stats_effect *effect = comparison_effect(&comparison->quantities[claim->quantity]);
    return effect->has_error ? stats_effect_sample_size(effect->sigma, effect->log_ratio - log(claim->bound),
                                                        1 - STATS_CONFIDENCE, power)
                             : 0;
}

size_t comparison_sample_size(const struct comparison *comparison, const struct comparison_quantity *quantity, double share)
{
    const struct stats_effect *effect = comparison_effect(quantity);
    /* The first of Holm's steps: what the smallest p value has to stay below. */
    double alpha = (1 - STATS_CONFIDENCE) / (double)(comparison->tests ? comparison->tests : 1);
    return effect->has_error && quantity->scale == COMPARISON_LOG
               ? stats_effect_sample_size(effect->sigma, log1p(share), alpha, power)
               : 0;
}
