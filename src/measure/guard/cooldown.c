#include "measure/guard/look.h"

#include <math.h>

/* What counts as the same: sensors round to a degree, and power to some watts. */
static const double SAME_C = 1, SAME_SHARE = 0.05, SAME_W = 3;

enum { CALM_LOOKS = 2 };

void cooldown_begin(struct cooldown *cooldown)
{
    *cooldown = (struct cooldown){0};
}

static bool power_is_idle(struct cooldown *cooldown, const struct guard_known *known, struct reading power)
{
    struct reading idle = known->idle_power_w.valid ? known->idle_power_w : cooldown->last_power_w;
    cooldown->last_power_w = power;
    return !power.valid || (idle.valid && power.value <= idle.value * (1 + SAME_SHARE) + SAME_W);
}

/* At its start value; where that is not known: no lower than before. */
static bool is_cool(struct cooldown *cooldown, const struct guard_known *known, struct reading temperature)
{
    if (!temperature.valid)
        return true;
    bool falls = !cooldown->lowest_c.valid || temperature.value < cooldown->lowest_c.value;
    if (falls)
        cooldown->lowest_c = temperature;
    return known->start_c.valid ? temperature.value <= known->start_c.value + SAME_C : !falls;
}

bool cooldown_look(struct cooldown *cooldown, const struct guard_known *known, const struct guard_look *look)
{
    struct reading power = look->readings ? gpu_readings_power_w(look->readings) : (struct reading){0};
    struct reading temperature = guard_reading(look, GPU_TEMPERATURE_C);
    bool idle = power_is_idle(cooldown, known, power), cool = is_cool(cooldown, known, temperature);
    bool tells = power.valid || temperature.valid;
    cooldown->calm_looks = tells && idle && cool ? cooldown->calm_looks + 1 : 0;
    return cooldown->calm_looks >= CALM_LOOKS;
}

enum cooldown_state cooldown_decide(const struct cooldown_settings *settings, double planned_s, double since_s,
                                    bool all_settled, bool blind, double scale)
{
    if (settings->mode == COOLDOWN_FIXED || blind)
        return since_s >= planned_s * scale ? COOLDOWN_OVER : COOLDOWN_GOES_ON;
    if (all_settled && since_s >= settings->min_s * scale)
        return COOLDOWN_OVER;
    return since_s >= settings->max_s * scale ? COOLDOWN_AT_LIMIT : COOLDOWN_GOES_ON;
}

bool idle_is_even(const struct idle_window *window)
{
    return fabs(window->drift_w) <= fmax(SAME_W, SAME_SHARE * window->power_w) + 2 * window->half_width_w;
}

struct idle_net idle_net_of(const struct idle_window *before, const struct idle_window *after, struct reading gross_j,
                            struct reading gross_half_width_j, double duration_s)
{
    struct idle_net net = {0};
    if (!before->proven || !after->proven || !gross_j.valid)
        return net;
    double power_w = (before->power_w + after->power_w) / 2;
    double read_out_w = hypot(before->half_width_w, after->half_width_w) / 2;
    double drift_w = 0.95 * fabs(after->power_w - before->power_w) / 2;
    net.energy_j = (struct reading){gross_j.value - power_w * duration_s, true};
    net.half_width_j = (struct reading){hypot(gross_half_width_j.value, hypot(read_out_w, drift_w) * duration_s),
                                        gross_half_width_j.valid};
    return net;
}
