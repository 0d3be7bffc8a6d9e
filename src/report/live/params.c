/* The hyperparameters by which an experiment differs from the others of its run. */
#include "report/live/progress_private.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_DIGITS = 4 };

static const struct value *value_of(const struct plan_job *job, const char *name)
{
    for (size_t i = 0; i < job->param_count; i++)
        if (strcmp(job->params[i].name, name) == 0)
            return &job->params[i].value;
    return NULL;
}

static bool differs(const struct plan *plan, const struct plan_job *job, const struct plan_param *param)
{
    AUTO_FREE char *key = value_key(&param->value);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_job *other = &plan->experiments[i].foreground;
        const struct value *value = NULL;
        if (other != job && strcmp(other->repo, job->repo) == 0 && strcmp(other->model, job->model) == 0)
            value = value_of(other, param->name);
        AUTO_FREE char *other_key = value ? value_key(value) : NULL;
        if (other_key && strcmp(key, other_key) != 0)
            return true;
    }
    return false;
}

static char *format(const struct value *value)
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
    for (size_t i = 0; i < job->param_count; i++) {
        const struct plan_param *param = &job->params[i];
        if (!param->mutated && !differs(plan, job, param))
            continue;
        AUTO_FREE char *value = format(&param->value), *plain = mem_printf("%s=%s", param->name, value);
        text_add(out, out->length ? LAYOUT_PART : "");
        utf8_add_printable(plain, strlen(plain), "", out);
    }
}
