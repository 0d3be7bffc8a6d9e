#include "audit/versus.h"

#include "audit/audit_json.h"
#include "audit/figures.h"
#include "audit/figures_json.h"
#include "audit/versus_places.h"
#include "audit/versus_select.h"
#include "base/json.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <string.h>

static const char *const names[VERSUS_QUANTITIES] = {"gpu_energy_j", "gpu_power_w", "duration_s", "cpu_energy_j"};
static const double J_PER_KWH = 3.6e6;

static bool counts(const struct versus *versus, const struct dataset_experiment *experiment)
{
    if (!experiment->success || experiment->verdict == VERDICT_NONE)
        return false;
    if (versus->all_verdicts)
        return true;
    return versus->clean_only ? verdict_is_safe(experiment->verdict, true)
                              : experiment->verdict != VERDICT_CONTAMINATED;
}

const char *versus_condition_name(enum versus_condition condition)
{
    static const char *const condition_names[VERSUS_CONDITIONS] = {
        [VERSUS_TEMPERATURE_START_C] = "temperature_start_c",
        [VERSUS_SM_CLOCK_START_MHZ] = "sm_clock_start_mhz",
        [VERSUS_MEMORY_CLOCK_START_MHZ] = "memory_clock_start_mhz",
        [VERSUS_SM_CLOCK_MEAN_MHZ] = "sm_clock_mean_mhz",
    };
    return condition_names[condition];
}

static struct reading condition_of(const struct dataset_gpu *gpu, enum versus_condition condition)
{
    const struct reading all[VERSUS_CONDITIONS] = {
        [VERSUS_TEMPERATURE_START_C] = gpu->temperature_start_c,
        [VERSUS_SM_CLOCK_START_MHZ] = gpu->sm_clock_start_mhz,
        [VERSUS_MEMORY_CLOCK_START_MHZ] = gpu->memory_clock_start_mhz,
        [VERSUS_SM_CLOCK_MEAN_MHZ] = gpu->sm_clock_mean_mhz,
    };
    return all[condition];
}

static struct reading condition_mean(const struct versus *versus, const struct versus_side *side,
                                     enum versus_condition condition)
{
    AUTO_FREE double *values = mem_array(side->count + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < side->count; i++) {
        struct reading value = condition_of(&versus->dataset.items[side->items[i]].gpu, condition);
        if (value.valid && side->used[i])
            values[n++] = value.value;
    }
    return stats_mean(values, n);
}

static void take_side(struct versus *versus, size_t which, size_t folder)
{
    struct versus_side *side = &versus->sides[which];
    side->items = mem_array(versus->dataset.count + 1, sizeof *side->items);
    for (size_t i = 0; i < versus->dataset.count; i++) {
        const struct dataset_experiment *experiment = &versus->dataset.items[i];
        if (experiment->folder != folder || !versus_selects(side, experiment))
            continue;
        if (!counts(versus, experiment)) {
            side->left_out++;
            continue;
        }
        side->items[side->count++] = i;
    }
}

static bool in_selectors(const struct versus *versus, const char *key)
{
    return strv_has(&versus->sides[0].keys, key) || strv_has(&versus->sides[1].keys, key);
}

/* All that makes a block: kind and hyperparameters, without what the two sides were chosen by; by_plan: and the block
 * of the plan's order. */
static char *block_of(const struct versus *versus, const struct dataset_experiment *experiment, bool by_plan)
{
    struct text out = {0};
    if (by_plan)
        text_addf(&out, "%zu ", experiment->block);
    text_addf(&out, "%s\n%s\n%s\n",
              in_selectors(versus, "repo") || in_selectors(versus, "repository") ? "" : experiment->repo,
              in_selectors(versus, "model") ? "" : experiment->model,
              in_selectors(versus, "mode") ? ""
              : experiment->parallel       ? "parallel"
                                           : "sequential");
    AUTO_STRV struct strv params = {0};
    for (size_t i = 0; i < experiment->param_count; i++) {
        if (in_selectors(versus, experiment->params[i].name))
            continue;
        AUTO_FREE char *value = value_key(&experiment->params[i].value);
        strv_add_owned(&params, mem_printf("%s=%s", experiment->params[i].name, value));
    }
    /* In one order, whatever the files'. */
    for (size_t i = 1; i < params.count; i++)
        for (size_t k = i; k > 0 && strcmp(params.items[k - 1], params.items[k]) > 0; k--) {
            char *kept = params.items[k];
            params.items[k] = params.items[k - 1];
            params.items[k - 1] = kept;
        }
    AUTO_FREE char *joined = strv_join(&params, "\n");
    text_add(&out, joined);
    return text_take(&out);
}

static struct strv blocks_of(const struct versus *versus, const struct versus_side *side, bool by_plan)
{
    struct strv out = {0};
    for (size_t i = 0; i < side->count; i++)
        strv_add_owned(&out, block_of(versus, &versus->dataset.items[side->items[i]], by_plan));
    return out;
}

/* Mean of one block of a side. */
static struct reading block_mean(const struct versus *versus, const struct versus_side *side, const struct strv *blocks,
                                 const char *block, const char *name)
{
    AUTO_FREE double *values = mem_array(side->count + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < side->count; i++) {
        struct reading value = figures_value(&versus->dataset.items[side->items[i]], name);
        if (value.valid && strcmp(blocks->items[i], block) == 0)
            values[n++] = value.value;
    }
    return stats_mean(values, n);
}

static size_t values_of(const struct versus *versus, const struct versus_side *side, const char *name, double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < side->count; i++) {
        struct reading value = figures_value(&versus->dataset.items[side->items[i]], name);
        if (value.valid)
            out[n++] = value.value;
    }
    return n;
}

/* False: there are too few blocks in common. */
static bool compare_paired(const struct versus *versus, struct versus_quantity *out, const struct strv blocks[2])
{
    const struct versus_side *a = &versus->sides[0], *b = &versus->sides[1];
    AUTO_FREE double *left = mem_array(a->count + b->count + 1, sizeof *left);
    AUTO_FREE double *right = mem_array(a->count + b->count + 1, sizeof *right);
    AUTO_STRV struct strv seen = {0};
    size_t pairs = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (strv_has(&seen, blocks[0].items[i]))
            continue;
        strv_add(&seen, blocks[0].items[i]);
        struct reading mean_a = block_mean(versus, a, &blocks[0], blocks[0].items[i], out->name);
        struct reading mean_b = block_mean(versus, b, &blocks[1], blocks[0].items[i], out->name);
        if (!mean_a.valid || !mean_b.valid)
            continue;
        left[pairs] = mean_a.value;
        right[pairs++] = mean_b.value;
    }
    if (pairs < 2)
        return false;
    out->blocks = out->a_count = out->b_count = pairs;
    out->a_mean = stats_mean(left, pairs);
    out->b_mean = stats_mean(right, pairs);
    out->ratio = stats_ratio_paired(left, right, pairs);
    return true;
}

static void compare_unpaired(const struct versus *versus, struct versus_quantity *out)
{
    const struct versus_side *a = &versus->sides[0], *b = &versus->sides[1];
    AUTO_FREE double *left = mem_array(a->count + 1, sizeof *left);
    AUTO_FREE double *right = mem_array(b->count + 1, sizeof *right);
    out->a_count = values_of(versus, a, out->name, left);
    out->b_count = values_of(versus, b, out->name, right);
    out->a_mean = stats_mean(left, out->a_count);
    out->b_mean = stats_mean(right, out->b_count);
    out->ratio = stats_ratio_of_means(left, out->a_count, right, out->b_count);
}

struct moment {
    int64_t end_ns; /* UTC */
    bool is_b;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *left = a, *right = b;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static void judge_order(struct versus *versus)
{
    size_t n = 0, all = versus->sides[0].used_count + versus->sides[1].used_count;
    AUTO_FREE struct moment *moments = mem_array(all + 1, sizeof *moments);
    AUTO_FREE bool *is_b = mem_array(all + 1, sizeof *is_b);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < versus->sides[s].count; i++) {
            const struct dataset_experiment *experiment = &versus->dataset.items[versus->sides[s].items[i]];
            if (experiment->has_end && versus->sides[s].used[i])
                moments[n++] = (struct moment){dataset_end_utc_ns(&versus->dataset, experiment), s == 1};
        }
    versus->order_known = n == all;
    qsort(moments, n, sizeof *moments, compare_moments);
    for (size_t i = 0; i < n; i++)
        is_b[i] = moments[i].is_b;
    versus->order_confounded = stats_order_confounded(is_b, n);
}

/* With two blocks in common what one side alone has is none of the comparison. */
static void find_used(struct versus *versus, const struct strv blocks[2])
{
    AUTO_STRV struct strv common = {0};
    for (size_t i = 0; i < blocks[0].count; i++)
        if (strv_has(&blocks[1], blocks[0].items[i]))
            strv_add_once(&common, blocks[0].items[i]);
    for (size_t s = 0; s < 2; s++) {
        struct versus_side *side = &versus->sides[s];
        side->used = mem_array(side->count + 1, sizeof *side->used);
        for (size_t i = 0; i < side->count; i++) {
            side->used[i] = common.count < 2 || strv_has(&common, blocks[s].items[i]);
            side->used_count += side->used[i];
        }
        for (enum versus_condition i = 0; i < VERSUS_CONDITIONS; i++)
            side->conditions[i] = condition_mean(versus, side, i);
    }
}

static bool has_plan_blocks(const struct versus *versus, const struct versus_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        if (versus->dataset.items[side->items[i]].block == 0)
            return false;
    return true;
}

/* Blocks of equal hyperparameters first; where all are alike, those that the plan was ordered in, of one run. */
static void compare_all(struct versus *versus, bool same_run)
{
    const struct versus_side *sides = versus->sides;
    bool planned = same_run && has_plan_blocks(versus, &sides[0]) && has_plan_blocks(versus, &sides[1]);
    struct strv alike[2], plan[2];
    for (size_t s = 0; s < 2; s++) {
        alike[s] = blocks_of(versus, &sides[s], false);
        plan[s] = blocks_of(versus, &sides[s], true);
    }
    for (size_t i = 0; i < VERSUS_QUANTITIES; i++) {
        struct versus_quantity *quantity = &versus->quantities[i];
        quantity->name = names[i];
        if (compare_paired(versus, quantity, alike))
            continue;
        if (planned && compare_paired(versus, quantity, plan))
            versus->by_plan = true;
        else
            compare_unpaired(versus, quantity);
    }
    find_used(versus, versus->by_plan ? plan : alike);
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 1; i < alike[s].count; i++)
            versus->mixed |= strcmp(alike[s].items[i], alike[s].items[0]) != 0;
        strv_fini(&alike[s]);
        strv_fini(&plan[s]);
    }
    versus->mixed &= versus_blocks(versus) == 0;
}

bool versus_make(struct versus *versus, struct err *err)
{
    bool same = strcmp(versus->sides[0].path, versus->sides[1].path) == 0;
    take_side(versus, 0, 0);
    take_side(versus, 1, same ? 0 : 1);
    for (size_t s = 0; s < 2; s++)
        if (versus->sides[s].count == 0)
            return versus_selects_nothing(&versus->dataset, &versus->sides[s], same ? 0 : s, err);
    compare_all(versus, same);
    judge_order(versus);
    return true;
}

void versus_fini(struct versus *versus)
{
    for (size_t s = 0; s < 2; s++) {
        free(versus->sides[s].text);
        free(versus->sides[s].path);
        strv_fini(&versus->sides[s].keys);
        strv_fini(&versus->sides[s].values);
        free(versus->sides[s].items);
        free(versus->sides[s].used);
    }
    dataset_fini(&versus->dataset);
}

size_t versus_blocks(const struct versus *versus)
{
    size_t most = 0;
    for (size_t i = 0; i < VERSUS_QUANTITIES; i++)
        most = versus->quantities[i].blocks > most ? versus->quantities[i].blocks : most;
    return most;
}

bool versus_cannot_tell(const struct versus_quantity *quantity)
{
    const struct stats_interval *interval = &quantity->ratio.interval;
    return !quantity->ratio.valid || interval->method == STATS_NONE || (interval->low <= 1 && 1 <= interval->high);
}

static json_t *quantity_json(const struct versus_quantity *quantity, struct reading g_per_kwh)
{
    json_t *out = json_object();
    json_object_set_new(out, "name", json_string(quantity->name));
    json_object_set_new(out, "a_n", json_integer((json_int_t)quantity->a_count));
    json_object_set_new(out, "b_n", json_integer((json_int_t)quantity->b_count));
    json_set_reading(out, "a_mean", quantity->a_mean);
    json_set_reading(out, "b_mean", quantity->b_mean);
    json_object_set_new(out, "ratio", quantity->ratio.valid ? json_real(quantity->ratio.ratio) : json_null());
    json_object_set_new(out, "interval", figures_interval_json(&quantity->ratio.interval));
    json_object_set_new(out, "blocks", json_integer((json_int_t)quantity->blocks));
    json_object_set_new(out, "told_apart", json_boolean(!versus_cannot_tell(quantity)));
    if (g_per_kwh.valid && strstr(quantity->name, "energy_j")) {
        const struct reading means[] = {quantity->a_mean, quantity->b_mean};
        for (size_t i = 0; i < 2; i++)
            json_object_set_new(
                out, i ? "b_co2e_g" : "a_co2e_g",
                json_reading_or_null((struct reading){means[i].value / J_PER_KWH * g_per_kwh.value, means[i].valid}));
    }
    return out;
}

static json_t *side_json(const struct versus_side *side)
{
    json_t *out = json_object();
    json_object_set_new(out, "of", json_text_or_null(side->text));
    json_object_set_new(out, "n", json_integer((json_int_t)side->count));
    json_object_set_new(out, "compared", json_integer((json_int_t)side->used_count));
    json_object_set_new(out, "left_out", json_integer((json_int_t)side->left_out));
    for (enum versus_condition i = 0; i < VERSUS_CONDITIONS; i++)
        json_set_reading(out, versus_condition_name(i), side->conditions[i]);
    return out;
}

json_t *versus_json(const struct versus *versus, struct reading g_per_kwh)
{
    json_t *out = json_object(), *quantities = json_array();
    json_object_set_new(out, "a", side_json(&versus->sides[0]));
    json_object_set_new(out, "b", side_json(&versus->sides[1]));
    for (size_t i = 0; i < VERSUS_QUANTITIES; i++)
        json_array_append_new(quantities, quantity_json(&versus->quantities[i], g_per_kwh));
    json_object_set_new(out, "quantities", quantities);
    if (g_per_kwh.valid)
        json_object_set_new(out, "carbon_g_per_kwh", json_real(g_per_kwh.value));
    json_object_set_new(out, "order_confounded",
                        versus->order_known ? json_boolean(versus->order_confounded) : json_null());
    json_object_set_new(out, "places", versus_places_json(versus));
    json_object_set_new(out, "mixed", json_boolean(versus->mixed));
    json_object_set_new(out, "blocks_of_plan", json_boolean(versus->by_plan));
    return out;
}
