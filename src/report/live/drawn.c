#include "report/live/progress_private.h"

#include "base/json.h"

#include <math.h>

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

static void add(const char *name, struct reading energy_j, struct reading half_width_j, struct text *out)
{
    if (!energy_j.valid)
        return;
    text_addf(out, ", %s ", name);
    drawn_add_energy(energy_j, half_width_j, out);
}

void drawn_add(const struct drawn *drawn, struct text *out)
{
    add("GPU", drawn->gpu_j, drawn->gpu_half_width_j, out);
    add("CPU", drawn->cpu_j, drawn->cpu_half_width_j, out);
}
