#include "report/columns.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/value.h"
#include "gpu_memory/oom/oom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { METRIC_DIGITS = 6 };

static const struct plan_param *param_of(const struct plan_experiment *experiment, const char *name)
{
    for (size_t i = 0; i < experiment->foreground.param_count; i++)
        if (strcmp(experiment->foreground.params[i].name, name) == 0)
            return &experiment->foreground.params[i];
    return NULL;
}

static bool same_model(const struct plan_experiment *a, const struct plan_experiment *b)
{
    return strcmp(a->foreground.repo, b->foreground.repo) == 0 && strcmp(a->foreground.model, b->foreground.model) == 0;
}

static bool same_value(const struct plan_param *a, const struct plan_param *b)
{
    AUTO_FREE char *left = value_key(&a->value);
    AUTO_FREE char *right = value_key(&b->value);
    return strcmp(left, right) == 0;
}

/* like: the plan's first experiment of the same model. */
static void add_varied_of(const struct plan_experiment *experiment, const struct plan_experiment *like,
                          struct strv *out)
{
    for (size_t i = 0; i < experiment->foreground.param_count; i++) {
        const struct plan_param *param = &experiment->foreground.params[i];
        const struct plan_param *first = param_of(like, param->name);
        if (param->mutated || (first && !same_value(param, first)))
            strv_add_once(out, param->name);
    }
}

void columns_varied(const struct plan *plan, struct strv *out)
{
    const struct plan_experiment **models = mem_array(plan->count + 1, sizeof(void *));
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        size_t at = 0;
        while (at < count && !same_model(models[at], &plan->experiments[i]))
            at++;
        if (at == count)
            models[count++] = &plan->experiments[i];
        add_varied_of(&plan->experiments[i], models[at], out);
    }
    free(models);
}

void columns_metrics(const struct results *results, struct strv *out)
{
    for (size_t i = 0; i < results->count; i++)
        for (size_t m = 0; m < results->items[i].metric_count; m++)
            strv_add_once(out, results->items[i].metrics[m].name);
}

char *columns_param_cell(const struct plan_experiment *experiment, const char *name)
{
    const struct plan_param *param = param_of(experiment, name);
    return param ? value_format(&param->value) : mem_strdup("");
}

char *columns_metric_cell(const struct result *result, const char *name)
{
    for (size_t i = 0; i < result->metric_count; i++) {
        if (strcmp(result->metrics[i].name, name) != 0 || !result->metrics[i].valid)
            continue;
        char digits[32];
        number_shortest(number_round(result->metrics[i].value, METRIC_DIGITS), digits);
        return mem_strdup(digits);
    }
    return mem_strdup("");
}

char *columns_energy_cell(struct reading energy_j, struct reading half_width_j)
{
    static const char *const units[] = {"J", "kJ", "MJ", "GJ"};
    double value = energy_j.value, half = half_width_j.value;
    size_t unit = 0;
    if (!energy_j.valid)
        return mem_strdup("");
    /* As it will be shown: 999.9 J are 1 kJ. */
    for (; unit + 1 < sizeof units / sizeof *units && fabs(number_round(value, 3)) >= 1000; unit++) {
        value /= 1000;
        half /= 1000;
    }
    if (half_width_j.valid && half >= 0.01 * fabs(value) && half > 0)
        return mem_printf("%.3g %s ± %.6g", number_round(value, 3), units[unit], number_round(half, 2));
    return mem_printf("%.3g %s", number_round(value, 3), units[unit]);
}

char *amounts_size(struct reading bytes)
{
    if (!bytes.valid)
        return mem_strdup("-");
    struct text text = {0};
    oom_size_add_text(oom_size_of((uint64_t)bytes.value), &text);
    return text_take(&text);
}

char *amounts_duration(struct reading seconds)
{
    char text[32] = "-";
    if (seconds.valid)
        clock_format_duration(seconds.value, text);
    return mem_strdup(text);
}

char *amounts_joules(struct reading joules)
{
    if (!joules.valid)
        return mem_strdup("-");
    return joules.value >= 9.995e5 ? mem_printf("%.2f MJ", joules.value / 1e6)
           : joules.value >= 999.5 ? mem_printf("%.2f kJ", joules.value / 1e3)
                                   : mem_printf("%.1f J", joules.value);
}
