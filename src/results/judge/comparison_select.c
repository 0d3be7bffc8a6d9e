#include "results/judge/comparison_select.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/value.h"
#include "plan/config/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The error shows so many values of a key at most. */
enum { SHOWN_VALUES = 8 };

bool comparison_parse(const char *text, struct comparison_side *out, struct err *err)
{
    /* What begins behind the last colon, where an equals sign follows it: paths have colons too. */
    const char *colon = strrchr(text, ':');
    const char *selector = colon && strchr(colon, '=') && !strchr(colon, '/') ? colon + 1 : NULL;
    *out = (struct comparison_side){.text = mem_strdup(text)};
    out->path = selector ? mem_strndup(text, (size_t)(selector - 1 - text)) : mem_strdup(text);
    AUTO_FREE char *copy = mem_strdup(selector ? selector : "");
    char *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(part, '=');
        if (!equals || equals == part || !equals[1])
            return err_set(err, "'%s' is no key=value", part);
        *equals = '\0';
        strv_add(&out->keys, part);
        strv_add(&out->values, equals + 1);
    }
    return *out->path || err_set(err, "'%s' names no folder", text);
}

bool comparison_selects(const struct comparison_side *side,
                        const struct dataset_experiment *experiment)
{
    for (size_t i = 0; i < side->keys.count; i++) {
        const char *key = side->keys.items[i], *wanted = side->values.items[i];
        const struct value *param = dataset_param(experiment, key);
        if (strcmp(key, "repo") == 0 || strcmp(key, "repository") == 0) {
            if (strcmp(experiment->repo, wanted) != 0)
                return false;
        } else if (strcmp(key, "model") == 0) {
            if (strcmp(experiment->model, wanted) != 0)
                return false;
        } else if (strcmp(key, "mode") == 0) {
            /* whichever it was */
            bool sequential = strcmp(wanted, "sequential") == 0 && !experiment->parallel;
            if (!sequential && strcmp(dataset_mode(experiment), wanted) != 0)
                return false;
        } else {
            struct value read = value_parse(wanted);
            AUTO_FREE char *left = value_key(&read);
            AUTO_FREE char *right = param ? value_key(param) : mem_strdup("");
            value_fini(&read);
            if (!param || strcmp(left, right) != 0)
                return false;
        }
    }
    return true;
}

/* What an experiment has under the key, as it is written in a selector. NULL: it has none. The
 * caller frees it. */
static char *value_under(const struct dataset_experiment *experiment, const char *key)
{
    if (strcmp(key, "repo") == 0 || strcmp(key, "repository") == 0)
        return mem_strdup(experiment->repo);
    if (strcmp(key, "model") == 0)
        return mem_strdup(experiment->model);
    if (strcmp(key, "mode") == 0)
        return mem_strdup(dataset_mode(experiment));
    const struct value *param = dataset_param(experiment, key);
    return param ? value_format(param) : NULL;
}

static void collect_keys(const struct dataset *dataset, size_t folder, struct strv *out)
{
    strv_add(out, "repo");
    strv_add(out, "model");
    strv_add(out, "mode");
    EACH (item, dataset->items, dataset->count)
        for (size_t p = 0; item->folder == folder && p < item->param_count; p++)
            strv_add_once(out, item->params[p].name);
}

static bool unknown_key(const struct dataset *dataset, const struct comparison_side *side,
                        size_t folder, const char *key, struct err *err)
{
    AUTO_STRV struct strv keys = {0};
    AUTO_TEXT struct text known = {0};
    collect_keys(dataset, folder, &keys);
    AUTO_FREE char *nearest = problem_nearest(key, (const char *const *)keys.items, keys.count);
    for (size_t i = 0; i < keys.count; i++)
        text_addf(&known, "%s%s", i ? ", " : "", keys.items[i]);
    return err_set(err, "%s: nothing there has a '%s' (there are %s)%s", side->text, key,
                   text_get(&known), nearest);
}

/* Behind "no successful experiment that is". */
static const char *rows_text(enum audit_rows rows)
{
    return rows == AUDIT_ROWS_CONSISTENT ? "clean or consistent"
           : rows == AUDIT_ROWS_CLEAN    ? "clean"
                                         : "not contaminated";
}

bool comparison_selects_nothing(const struct comparison *comparison, size_t which, size_t folder,
                                struct err *err)
{
    const struct dataset *dataset = &comparison->dataset;
    const struct comparison_side *side = &comparison->sides[which];
    for (size_t k = 0; k < side->keys.count; k++) {
        const char *key = side->keys.items[k];
        const struct comparison_side one = {
            .keys = {.items = &side->keys.items[k], .count = 1},
            .values = {.items = &side->values.items[k], .count = 1}};
        AUTO_STRV struct strv values = {0};
        AUTO_TEXT struct text shown = {0};
        bool has_value = false;
        for (size_t i = 0; i < dataset->count && !has_value; i++) {
            AUTO_FREE char *value =
                dataset->items[i].folder == folder ? value_under(&dataset->items[i], key) : NULL;
            has_value = value && comparison_selects(&one, &dataset->items[i]);
            if (value)
                strv_add_once(&values, value);
        }
        if (has_value)
            continue;
        if (values.count == 0 && dataset->count > 0)
            return unknown_key(dataset, side, folder, key, err);
        for (size_t i = 0; i < values.count && i < SHOWN_VALUES; i++)
            text_addf(&shown, "%s%s", i ? ", " : "", values.items[i]);
        return err_set(err, "%s: nothing there has %s=%s (there are %s%s)", side->text, key,
                       side->values.items[k], text_get(&shown),
                       values.count > SHOWN_VALUES ? ", ..." : "");
    }
    return err_set(err, "%s: no successful experiment that is %s (%zu left out)%s", side->text,
                   rows_text(comparison->rows), side->left_out,
                   comparison->rows == AUDIT_ROWS_CONSISTENT
                       ? "; --only usable also takes unverified and suspect ones"
                       : "");
}

/* Claims about a comparison, and how many experiments would decide. */

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
    *out = (struct comparison_claim){
        .text = mem_strdup(text), .above = text[name] == '>', .quantity = COMPARISON_MEASURED};
    bound += *bound == '=';
    for (size_t i = 0; i < COMPARISON_MEASURED; i++)
        if (strlen(comparison_measured[i]) == name &&
            strncmp(comparison_measured[i], text, name) == 0)
            out->quantity = i;
    if (!text[name])
        return err_set(err, "'%s' is not a claim: write it as gpu_energy_j<0.95 or duration_s<+2%%",
                       text);
    if (out->quantity == COMPARISON_MEASURED)
        return err_set(err,
                       "--expect has no quantity '%.*s' (there are gpu_energy_j, gpu_power_w, "
                       "duration_s, cpu_energy_j)",
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
        if (!parse_claim(part, &MEM_ADD(out->items, out->count), err))
            return false;
    }
    return out->count > 0 || err_set(err, "--expect is empty");
}

void comparison_claims_fini(struct comparison_claims *claims)
{
    EACH (item, claims->items, claims->count)
        free(item->text);
    free(claims->items);
    *claims = (struct comparison_claims){0};
}

/* NULL: it is not compared. */
static const struct comparison_quantity *quantity_of(const struct comparison *comparison,
                                                     const struct comparison_claim *claim)
{
    EACH (quantity, comparison->quantities, comparison->quantity_count)
        if (strcmp(quantity->name, comparison_measured[claim->quantity]) == 0)
            return quantity;
    return NULL;
}

enum comparison_outcome comparison_claim_check(const struct comparison *comparison,
                                               const struct comparison_claim *claim)
{
    const struct comparison_quantity *quantity = quantity_of(comparison, claim);
    const struct stats_effect *effect = quantity ? comparison_effect(quantity) : NULL;
    if (!effect || !effect->valid || !effect->has_error)
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

size_t comparison_claim_needs(const struct comparison *comparison,
                              const struct comparison_claim *claim)
{
    const struct comparison_quantity *quantity = quantity_of(comparison, claim);
    const struct stats_effect *effect = quantity ? comparison_effect(quantity) : NULL;
    return effect && effect->has_error
               ? stats_effect_sample_size(effect->sigma, effect->log_ratio - log(claim->bound),
                                          1 - STATS_CONFIDENCE, power)
               : 0;
}

size_t comparison_sample_size(const struct comparison *comparison,
                              const struct comparison_quantity *quantity, double share)
{
    const struct stats_effect *effect = comparison_effect(quantity);
    /* The first of Holm's steps: what the smallest p value has to stay below. */
    double alpha = (1 - STATS_CONFIDENCE) / (double)(comparison->tests ? comparison->tests : 1);
    return effect->has_error && quantity->scale == COMPARISON_LOG
               ? stats_effect_sample_size(effect->sigma, log1p(share), alpha, power)
               : 0;
}
