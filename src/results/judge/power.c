#include "results/judge/read.h"

#include <math.h>

/* A stamp of whole seconds says that the sample was taken within the second behind it: on average half of it later. */
static const double half_second = 0.5, even = 1.0 / 12, normal_95 = 1.959963984540054;

void power_begin(struct power *power, double begin_s, double end_s)
{
    *power = (struct power){.begin_s = begin_s, .end_s = end_s};
    power->has_window = isfinite(begin_s) && isfinite(end_s) && end_s > begin_s;
}

/* Of finite figures; fmax and fmin are calls. */
static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

/* The straight line from one sample to the next, as much of it as lies in the window. */
static inline double line_within(const struct power *power, double from_s, double from_w, double to_s, double to_w)
{
    if (!power->has_window)
        return (to_s - from_s) * 0.5 * (from_w + to_w);
    double low = greater(from_s, power->begin_s), high = less(to_s, power->end_s);
    if (!(high > low))
        return 0;
    double rise = to_w - from_w, span_s = to_s - from_s;
    double slope = span_s == 1 ? rise : rise / span_s; /* nearly always so, and a division takes its time */
    double at_low = from_w + slope * (low - from_s), at_high = from_w + slope * (high - from_s);
    return (high - low) * 0.5 * (at_low + at_high);
}

/* What the last step between samples may hide, now that the change behind it is known (docs/explanation/appendix-energy.md, "Shape"). */
static inline void settle_step(struct power *power, double next_step)
{
    double change = power->step, span = (double)power->span;
    if (power->span > POWER_GAP_S)
        power->gaps += span * span;
    else
        power->lines += greater(0, change * change - change * (power->step_before + next_step)) * span * span * even;
}

static inline void add_line(struct power *power, int64_t t_s, double watts)
{
    int64_t span = t_s - power->last_s;
    double step = watts - power->last;
    power->integral +=
        line_within(power, (double)power->last_s + half_second, power->last, (double)t_s + half_second, watts);
    if (power->samples >= 2) {
        double moved = 0.5 * (watts - power->before);
        power->stamps += moved * moved;
        settle_step(power, step);
    } else {
        power->stamps += 0.25 * step * step;
    }
    if (span > power->longest_gap_s)
        power->longest_gap_s = span;
    power->step_before = power->step;
    power->step = step;
    power->span = span;
    power->before = power->last;
}

static inline void add(struct power *power, int64_t t_s, double watts)
{
    if (power->samples == 0) {
        power->first_s = t_s;
        power->first = power->lowest = power->highest = watts;
    } else {
        add_line(power, t_s, watts);
    }
    bool inside = !power->has_window || ((double)t_s + 1 > power->begin_s && (double)t_s < power->end_s);
    if (inside && (power->samples == 0 || t_s != power->last_s))
        power->seconds++;
    if (power->has_window && ((double)t_s + 2 < power->begin_s || (double)t_s > power->end_s + 1))
        power->outside++;
    power->sum += watts;
    power->squares += watts * watts;
    power->lowest = watts < power->lowest ? watts : power->lowest;
    power->highest = watts > power->highest ? watts : power->highest;
    power->last_s = t_s;
    power->last = watts;
    power->samples++;
}

/* Worked on as a copy of its own, which can stay in registers. */
void power_add_all(struct power *power, const int64_t *t_s, const double *watts, size_t count)
{
    struct power own = *power;
    for (size_t i = 0; i < count; i++)
        add(&own, t_s[i], watts[i]);
    *power = own;
}

/* Power is held from the window's edges to the nearest sample. */
static double edges(const struct power *power, double *begin_s, double *end_s)
{
    double first_s = (double)power->first_s + half_second, last_s = (double)power->last_s + half_second;
    *begin_s = power->has_window ? fmin(fmax(0, first_s - power->begin_s), power->end_s - power->begin_s) : 0;
    *end_s = power->has_window ? fmin(fmax(0, power->end_s - last_s), power->end_s - power->begin_s) : 0;
    return power->first * *begin_s + power->last * *end_s;
}

static double half_width(const struct power *power, double begin_s, double end_s)
{
    double range = fmax(power->highest - power->lowest, 0.5 * power->highest);
    double across = power->first - power->last;
    double variance = power->lines + even * (power->stamps + across * across) +
                      even * range * range * (power->gaps + begin_s * begin_s + end_s * end_s);
    return normal_95 * sqrt(variance);
}

static struct reading known(double value)
{
    return (struct reading){value, isfinite(value)};
}

struct power_energy power_end(struct power *power)
{
    struct power_energy out = {0};
    if (power->samples == 0)
        return out;
    double span = (double)(power->last_s - power->first_s), begin_s, end_s, n = (double)power->samples;
    if (power->samples >= 2) {
        power->stamps += 0.25 * power->step * power->step;
        settle_step(power, 0);
    }
    double held = edges(power, &begin_s, &end_s);
    out.window_s = power->has_window ? power->end_s - power->begin_s : span;
    out.longest_gap_s = fmax((double)power->longest_gap_s, fmax(begin_s, end_s));
    if (power->samples >= 2 && out.window_s > 0) {
        out.energy_j = known(power->integral + held);
        out.half_width_j = known(half_width(power, begin_s, end_s));
        out.mean_w = known(out.energy_j.value / out.window_s);
        out.deviation_w = known(sqrt(fmax(0, (power->squares - power->sum * power->sum / n) / (n - 1))));
        out.sampled_share = known(fmin(1, (double)power->seconds / out.window_s));
    }
    return out;
}
