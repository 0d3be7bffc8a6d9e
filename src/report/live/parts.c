/* Parts of a line: the energy that an attempt used, and the hyperparameters by which an experiment differs from the others of its run. */
#include "report/live/progress_private.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <math.h>
#include <string.h>

/* As it will be shown: 999.9996 J are 1 kJ. */
static const double NEXT_UNIT = 999.9995;

enum { DIGITS_MAX = 3 };

static struct reading number(const json_t *energy, const char *scope, const char *key)
{
    struct reading reading = {0};
    reading.valid = json_get_number(json_object_get(energy, scope), key, &reading.value);
    return reading;
}

struct drawn drawn_read(const json_t *energy)
{
    return (struct drawn){
        .gpu_j = number(energy, "gpu", "joules"),
        .gpu_half_width_j = number(energy, "gpu", "half_width_j"),
        .cpu_j = number(energy, "cpu_package", "joules"),
        .cpu_half_width_j = number(energy, "cpu_package", "half_width_j"),
    };
}

/* So many digits behind the point that two of the half-width are seen. */
static int digits_for(double half_width)
{
    int digits = 0;
    while (digits < DIGITS_MAX && half_width * pow(10, digits) < 10)
        digits++;
    return digits;
}

void drawn_add_energy(struct reading energy_j, struct reading half_width_j, struct text *out)
{
    static const char *const units[] = {"J", "kJ", "MJ", "GJ"};
    double scale = 1;
    size_t unit = 0;
    for (; unit + 1 < sizeof units / sizeof *units && fabs(energy_j.value) / scale >= NEXT_UNIT; unit++)
        scale *= 1000;
    double value = energy_j.value / scale, half_width = half_width_j.value / scale;
    int digits = half_width_j.valid ? digits_for(half_width) : DIGITS_MAX;
    text_addf(out, "%.*f %s", digits, value, units[unit]);
    if (!half_width_j.valid)
        return;
    /* Never rounded down to none. */
    double step = pow(10, -digits);
    text_addf(out, " ± %.*f", digits, half_width < step ? step : half_width);
}

static void add_energy(const char *name, struct reading energy_j, struct reading half_width_j, struct text *out)
{
    if (!energy_j.valid)
        return;
    text_addf(out, ", %s ", name);
    drawn_add_energy(energy_j, half_width_j, out);
}

void drawn_add(const struct drawn *drawn, struct text *out)
{
    add_energy("GPU", drawn->gpu_j, drawn->gpu_half_width_j, out);
    add_energy("CPU", drawn->cpu_j, drawn->cpu_half_width_j, out);
}

enum { VALUE_DIGITS = 4 };

static bool differs(const struct plan *plan, const struct plan_job *job, const struct plan_param *param)
{
    AUTO_FREE char *key = value_key(&param->value);
    EACH (experiment, plan->experiments, plan->count) {
        const struct plan_job *other = &experiment->foreground;
        const struct plan_param *same = NULL;
        if (other != job && strcmp(other->repo, job->repo) == 0 && strcmp(other->model, job->model) == 0)
            same = plan_job_param(other, param->name);
        AUTO_FREE char *other_key = same ? value_key(&same->value) : NULL;
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
    EACH (param, job->params, job->param_count) {
        if (!param->mutated && !differs(plan, job, param))
            continue;
        AUTO_FREE char *value = format(&param->value), *plain = mem_printf("%s=%s", param->name, value);
        text_add(out, out->length ? LAYOUT_PART : "");
        utf8_add_printable(plain, strlen(plain), "", out);
    }
}
