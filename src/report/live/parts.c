/* Parts of a line: the energy that an attempt used, and the hyperparameters by which an experiment
 * differs from the others of its run. */
#include "report/live/parts.h"
#include "report/live/progress_private.h"

#include "base/amount.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <string.h>

static void add_scope_energy(const char *name, struct reading energy_j, struct reading half_width_j,
                             struct text *out)
{
    if (!energy_j.valid)
        return;
    AUTO_FREE char *energy = amount_format_with(energy_j, half_width_j, "J");
    text_addf(out, ", %s %s", name, energy);
}

void drawn_add(const struct drawn *drawn, struct text *out)
{
    add_scope_energy("GPU", drawn->gpu_j, drawn->gpu_half_width_j, out);
    add_scope_energy("CPU", drawn->cpu_j, drawn->cpu_half_width_j, out);
}

enum { VALUE_DIGITS = 4 };

static bool param_differs(const struct plan *plan, const struct plan_job *job,
                          const struct plan_param *param)
{
    AUTO_FREE char *key = value_key(&param->value);
    EACH (experiment, plan->experiments, plan->count) {
        const struct plan_job *other = &experiment->foreground;
        const struct plan_param *same = NULL;
        if (other != job && strcmp(other->repo, job->repo) == 0 &&
            strcmp(other->model, job->model) == 0)
            same = plan_job_param(other, param->name);
        AUTO_FREE char *other_key = same ? value_key(&same->value) : NULL;
        if (other_key && strcmp(key, other_key) != 0)
            return true;
    }
    return false;
}

static char *format_param(const struct value *value)
{
    if (value->kind != VALUE_FLOAT)
        return value_format(value);
    char digits[32];
    number_shortest(number_round(value->real, VALUE_DIGITS), digits);
    return mem_strdup(digits);
}

void params_add(const struct plan *plan, const struct plan_experiment *experiment, struct text *out)
{
    const struct plan_job *job = &experiment->foreground;
    EACH (param, job->params, job->param_count) {
        if (!param->mutated && !param_differs(plan, job, param))
            continue;
        AUTO_FREE char *value = format_param(&param->value),
                       *plain = mem_printf("%s=%s", param->name, value);
        text_add(out, out->length ? LAYOUT_PART : "");
        utf8_add_printable(plain, strlen(plain), "", out);
    }
}
