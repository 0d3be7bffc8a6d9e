#include "results/judge/power.h"

#include <math.h>

/* A stamp of whole seconds says that the sample was taken within the second behind it: on average
 * half of it later. */
static const double half_second = 0.5, even = 1.0 / 12, normal_95 = 1.959963984540054;

/* Chosen by tests/statistics/audit_cover.py: the share of the fast changes that samples show, and
 * of the variance that a load in step with the sampling can hide. */
static const double turns_share = 2.5, hidden_share = 0.15;

/* Rises that are counted: by so much of the higher power, from one of the lowest powers, and steady
 * before and after. */
static const double rise_least = 0.3, rise_steady = 0.05, rise_low = 0.1;
static const double moved_deviations = 4;
enum { INTERVAL_SAMPLES = 4 };
enum { RISE_SAMPLES = 5, RISE_SPAN_S = 5, RISES_FEW = 8 };
static const double gradual_of_means = 0.5, gradual_of_instants = 0.15;

/* A window shorter than this has about two samples; means of a second show a change of more than
 * this share late. */
static const double short_s = 2.5, short_change = 0.2;

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

/* The straight line from one sample to the next, as much of it as lies in the window moved by
 * later_s. */
static inline double line_within(const struct power *power, double later_s, double from_s,
                                 double from_w, double to_s, double to_w)
{
    if (!power->has_window)
        return (to_s - from_s) * 0.5 * (from_w + to_w);
    double low = greater(from_s, power->begin_s + later_s),
           high = less(to_s, power->end_s + later_s);
    if (!(high > low))
        return 0;
    double rise = to_w - from_w, span_s = to_s - from_s;
    /* nearly always so, and a division takes its time */
    double slope = span_s == 1 ? rise : rise / span_s;
    double at_low = from_w + slope * (low - from_s), at_high = from_w + slope * (high - from_s);
    return (high - low) * 0.5 * (at_low + at_high);
}

/* What the last step between samples may hide, now that the change behind it is known
 * (docs/explanation/appendix-energy.md, "Shape"). */
static inline void settle_step(struct power *power, double next_step)
{
    double change = power->step, span = (double)power->span;
    if (power->span > POWER_GAP_S) {
        power->gaps += span * span;
        return;
    }
    power->lines += change * change * span * span * even;
    power->turns -= change * (power->step_before + next_step) * span * span * even;
    power->joined_s += power->span;
    power->joined++;
}

static inline double recent(const struct power *power, size_t number)
{
    return power->recent[number % POWER_RECENT];
}

/* Adds how far a sample is from the mean of those near it, which are the samples from first to the
 * last one. */
static inline void add_apart(struct power *power, size_t number, size_t first)
{
    double sum = 0;
    for (size_t i = first; i < power->samples; i++)
        sum += recent(power, i);
    double apart = recent(power, number) - sum / (double)(power->samples - first);
    power->apart += apart * apart;
}

/* Whether the last samples are a rise between two steady powers, and whether one of them lies
 * within it. */
static inline void count_rise(struct power *power)
{
    size_t last = power->samples - 1, first = power->samples - RISE_SAMPLES;
    double from = recent(power, first), to = recent(power, last), rise = to - from;
    if (rise < rise_least * to || rise <= 0 ||
        fabs(recent(power, first + 1) - from) > rise_steady * rise ||
        fabs(to - recent(power, last - 1)) > rise_steady * rise ||
        from > power->lowest + rise_low * rise ||
        power->recent_s[last % POWER_RECENT] - power->recent_s[first % POWER_RECENT] > RISE_SPAN_S)
        return;
    double risen = (recent(power, first + 2) - from) / rise;
    power->rises.gradual += risen > 0.1 && risen < 0.9;
    power->rises.sharp += risen >= 0.9 && risen <= 1.1;
}

static inline void add_line(struct power *power, int64_t t_s, double watts)
{
    int64_t span = t_s - power->last_s;
    double step = watts - power->last;
    power->integral += line_within(power, 0, (double)power->last_s + half_second, power->last,
                                   (double)t_s + half_second, watts);
    power->later_integral += line_within(power, half_second, (double)power->last_s + half_second,
                                         power->last, (double)t_s + half_second, watts);
    power->until_next += power->last * (double)span;
    power->until_last += watts * (double)span;
    power->moves += step * step;
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
    bool inside =
        !power->has_window || ((double)t_s + 1 > power->begin_s && (double)t_s < power->end_s);
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
    power->recent[power->samples % POWER_RECENT] = watts;
    power->recent_s[power->samples % POWER_RECENT] = t_s;
    power->samples++;
    if (power->samples > POWER_NEAR)
        add_apart(power, power->samples - 1 - POWER_NEAR,
                  power->samples > POWER_RECENT ? power->samples - POWER_RECENT : 0);
    if (power->samples >= RISE_SAMPLES)
        count_rise(power);
}

/* Worked on as a copy of its own, which can stay in registers. */
void power_add_all(struct power *power, const int64_t *t_s, const double *watts, size_t count)
{
    struct power own = *power;
    for (size_t i = 0; i < count; i++)
        add(&own, t_s[i], watts[i]);
    *power = own;
}

/* Power is held from the window's edges, both moved by later_s, to the nearest sample. */
static double edges(const struct power *power, double later_s, double *begin_s, double *end_s)
{
    double first_s = (double)power->first_s + half_second,
           last_s = (double)power->last_s + half_second;
    double window_s = power->end_s - power->begin_s;
    if (!power->has_window) {
        *begin_s = *end_s = 0;
        return later_s * (power->last - power->first);
    }
    *begin_s = fmin(fmax(0, first_s - power->begin_s - later_s), window_s);
    *end_s = fmin(fmax(0, power->end_s + later_s - last_s), window_s);
    return power->first * *begin_s + power->last * *end_s;
}

static double variance(const struct power *power, double begin_s, double end_s)
{
    double range = fmax(power->highest - power->lowest, 0.5 * power->highest);
    double across = power->first - power->last;
    double span_s = power->joined ? (double)power->joined_s / (double)power->joined : 0;
    return power->lines + fmax(0, turns_share * power->turns) +
           hidden_share * power->apart * span_s * span_s +
           even * (power->stamps + across * across) +
           even * range * range * (power->gaps + begin_s * begin_s + end_s * end_s);
}

static struct reading known(double value)
{
    return (struct reading){value, isfinite(value)};
}

/* The steps and samples that waited for later ones. */
static void settle_last(struct power *power)
{
    if (power->samples >= 2) {
        power->stamps += 0.25 * power->step * power->step;
        settle_step(power, 0);
    }
    for (size_t left = power->samples < POWER_NEAR ? power->samples : POWER_NEAR; left > 0;
         left--) {
        size_t number = power->samples - left;
        add_apart(power, number, number > POWER_NEAR ? number - POWER_NEAR : 0);
    }
}

/* Stamps of whole seconds are cut off: each may belong up to a second later. */
static void integrate(const struct power *power, struct power_energy *out)
{
    double moved = moved_deviations * sqrt(even * power->moves);
    out->first_w = power->first;
    out->last_w = power->last;
    out->span_s = (double)(power->last_s - power->first_s);
    out->outside = power->outside;
    if (power->has_window) {
        out->late_s = known((double)power->first_s - power->begin_s);
        out->early_s = known(power->end_s - (double)power->last_s);
    }
    if (power->samples >= INTERVAL_SAMPLES)
        out->interval_s =
            known((out->span_s - (double)power->longest_gap_s) / (double)(power->samples - 2));
    if (power->samples >= 2) {
        out->integral_low_j = known(fmin(power->until_next, power->until_last) - moved);
        out->integral_high_j = known(fmax(power->until_next, power->until_last) + moved);
    }
}

struct power_energy power_end(struct power *power)
{
    struct power_energy out = {.rises = power->rises};
    if (power->samples == 0)
        return out;
    double span = (double)(power->last_s - power->first_s), begin_s, end_s, later_begin_s,
           later_end_s;
    double n = (double)power->samples;
    settle_last(power);
    double later_held = edges(power, half_second, &later_begin_s, &later_end_s);
    double held = edges(power, 0, &begin_s, &end_s);
    out.window_s = power->has_window ? power->end_s - power->begin_s : span;
    out.longest_gap_s = fmax((double)power->longest_gap_s, fmax(begin_s, end_s));
    integrate(power, &out);
    if (power->samples >= 2 && out.window_s > 0) {
        double all = variance(power, begin_s, end_s);
        /* Where power still changes at the last mean, it ends half of this change away from it. */
        double ahead = 0.5 * power->step * end_s;
        out.energy_j = known(power->integral + held);
        out.half_width_j = known(normal_95 * sqrt(all));
        out.of_means_j = known(power->later_integral + later_held);
        out.of_means_half_j = known(normal_95 * sqrt(all + ahead * ahead));
        out.mean_w = known(out.energy_j.value / out.window_s);
        out.deviation_w =
            known(sqrt(fmax(0, (power->squares - power->sum * power->sum / n) / (n - 1))));
        out.sampled_share = known(fmin(1, (double)power->seconds / out.window_s));
        out.is_short = out.window_s < short_s &&
                       power->highest - power->lowest > short_change * power->highest;
    }
    return out;
}

enum power_sensor power_sensor_find(const struct power_rises *rises)
{
    double count = (double)(rises->gradual + rises->sharp), gradual = (double)rises->gradual;
    if (count < RISES_FEW)
        return POWER_UNKNOWN;
    return gradual >= gradual_of_means * count      ? POWER_MEAN
           : gradual <= gradual_of_instants * count ? POWER_INSTANT
                                                    : POWER_UNKNOWN;
}

const char *power_sensor_name(enum power_sensor sensor)
{
    static const char *const names[] = {"unknown", "instant", "mean"};
    return names[sensor];
}

bool power_settle(struct power_energy *energy, enum power_sensor sensor)
{
    if (!energy->energy_j.valid || !energy->half_width_j.valid || sensor == POWER_INSTANT)
        return true;
    if (energy->is_short) {
        energy->energy_j = energy->half_width_j = energy->mean_w = (struct reading){0};
        return false;
    }
    double low = energy->of_means_j.value - energy->of_means_half_j.value;
    double high = energy->of_means_j.value + energy->of_means_half_j.value;
    if (sensor == POWER_UNKNOWN) {
        low = fmin(low, energy->energy_j.value - energy->half_width_j.value);
        high = fmax(high, energy->energy_j.value + energy->half_width_j.value);
    }
    energy->energy_j = known(0.5 * (low + high));
    energy->half_width_j = known(0.5 * (high - low));
    energy->mean_w = known(energy->energy_j.value / energy->window_s);
    return true;
}
