/* versus_expect: claims about a comparison, and how many experiments would decide. */
#include "results/judge/versus.h"
#include "base/mem.h"
#include "base/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const quantities[VERSUS_MEASURED] = {"gpu_energy_j", "gpu_power_w", "duration_s", "cpu_energy_j"};
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

static bool parse_claim(const char *text, struct versus_claim *out, struct err *err)
{
    size_t name = strcspn(text, "<>");
    const char *bound = text + name + (text[name] != '\0');
    *out = (struct versus_claim){.text = mem_strdup(text), .above = text[name] == '>', .quantity = VERSUS_MEASURED};
    bound += *bound == '=';
    for (size_t i = 0; i < VERSUS_MEASURED; i++)
        if (strlen(quantities[i]) == name && strncmp(quantities[i], text, name) == 0)
            out->quantity = i;
    if (!text[name])
        return err_set(err, "'%s' is not a claim: write it as gpu_energy_j<0.95 or duration_s<+2%%", text);
    if (out->quantity == VERSUS_MEASURED)
        return err_set(
            err, "--expect has no quantity '%.*s' (there are gpu_energy_j, gpu_power_w, duration_s, cpu_energy_j)",
            (int)name, text);
    return parse_bound(bound, &out->bound) ||
           err_set(err, "'%s' is not a ratio: 0.95, or 95%%, or as a change -5%%", bound);
}

bool versus_claims_parse(const char *text, struct versus_claims *out, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = NULL;
    *out = (struct versus_claims){0};
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        out->items = mem_resize(out->items, out->count + 1, sizeof *out->items);
        if (!parse_claim(part, &out->items[out->count++], err))
            return false;
    }
    return out->count > 0 || err_set(err, "--expect is empty");
}

void versus_claims_fini(struct versus_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        free(claims->items[i].text);
    free(claims->items);
    *claims = (struct versus_claims){0};
}

enum versus_outcome versus_claim_check(const struct versus *versus, const struct versus_claim *claim)
{
    const struct stats_effect *effect = versus_effect(&versus->quantities[claim->quantity]);
    if (!effect->valid || !effect->has_error)
        return VERSUS_OPEN;
    bool below = effect->interval.high<claim->bound, above = effect->interval.low> claim->bound;
    if (claim->above ? above : below)
        return VERSUS_HELD;
    return (claim->above ? below : above) ? VERSUS_REFUTED : VERSUS_OPEN;
}

const char *versus_outcome_name(enum versus_outcome outcome)
{
    return outcomes[outcome];
}

size_t versus_claim_needs(const struct versus *versus, const struct versus_claim *claim)
{
    const struct stats_effect *effect = versus_effect(&versus->quantities[claim->quantity]);
    return effect->has_error ? stats_effect_sample_size(effect->sigma, effect->log_ratio - log(claim->bound),
                                                        1 - STATS_CONFIDENCE, power)
                             : 0;
}

size_t versus_sample_size(const struct versus *versus, const struct versus_quantity *quantity, double share)
{
    const struct stats_effect *effect = versus_effect(quantity);
    /* The first of Holm's steps: what the smallest p value has to stay below. */
    double alpha = (1 - STATS_CONFIDENCE) / (double)(versus->tests ? versus->tests : 1);
    return effect->has_error && quantity->scale == VERSUS_LOG
               ? stats_effect_sample_size(effect->sigma, log1p(share), alpha, power)
               : 0;
}
