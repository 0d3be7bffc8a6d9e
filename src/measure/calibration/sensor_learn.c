#include "measure/calibration/sensor_learn.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "measure/calibration/sensor_fit.h"

#include <math.h>

enum { UPDATES_MIN = 20, STEADY_MIN = 5, BLOCKS = 8, VALUES_MIN = 10 };
#define NORMAL_95    1.96
#define STUDENT_95_7 2.365 /* of BLOCKS - 1 degrees of freedom */
/* of the period: gaps that scatter so far about its multiples have none (at random: 0.29) */
#define PERIOD_SPREAD 0.2
#define RISE_NOISES   10.0 /* a load that raises power by less shows no shape */
#define STILL_SHARE   1e-6 /* noise below this share of idle power is none */
#define LONG_S        1.0  /* a step at least so long shows steady power in its second half */
#define CHI_MAX       2.5  /* per update: a worse fit is none */
/* two kinds whose scores are nearer are not told apart (odds of about 150 to 1) */
#define KIND_SCORE 10.0
#define NO_PERIOD  "the times between updates have no common period"
#define TOO_FEW    "too few updates were seen"
#define TOO_FAST   "it updates as often as it was read, or oftener"

static struct learnt learnt_value(double value, double half_width)
{
    return (struct learnt){.known = true, .value = value, .half_width = half_width};
}

static struct learnt not_learnt(const char *why)
{
    return (struct learnt){.why = why};
}

const char *sensor_averaging_name(enum sensor_averaging averaging)
{
    static const char *const names[] = {"unknown", "instant", "boxcar", "exponential"};
    return names[averaging];
}

static int compare_learnt_values(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return ORDER(left, right);
}

/* The moments at which the value changed, in seconds after origin_ns. Of stamped samples each is an
 * update. */
static size_t find_updates(const struct sensor_reading *readings, size_t count, int64_t origin_ns,
                           bool *stamped, struct fit_update *out)
{
    size_t found = 0;
    *stamped = count > 0;
    EACH (reading, readings, count)
        *stamped = *stamped && reading->before_ns == reading->after_ns;
    for (size_t i = *stamped ? 0 : 1; i < count; i++) {
        if (!*stamped && readings[i].value == readings[i - 1].value)
            continue;
        int64_t early_ns = *stamped ? readings[i].before_ns : readings[i - 1].before_ns;
        out[found++] = (struct fit_update){
            .t_s =
                ((double)(early_ns - origin_ns) + (double)(readings[i].after_ns - origin_ns)) / 2e9,
            .dt_s = (double)(readings[i].after_ns - early_ns) / 2e9,
            .value = readings[i].value,
        };
    }
    return found;
}

/* How far the moment of an update is uncertain, on average. */
static double resolution_of(const struct fit_update *updates, size_t count)
{
    double sum_s = 0;
    EACH (update, updates, count)
        sum_s += update->dt_s / (double)count;
    return sum_s;
}

/* An update may leave the value as it was: gaps are multiples of the period. */
static void learn_period(const struct fit_update *updates, size_t count, bool stamped,
                         struct sensor_learnt *out)
{
    out->update_period_s = out->jitter_s = not_learnt(TOO_FEW);
    if (count < UPDATES_MIN)
        return;
    AUTO_FREE double *gaps = mem_array(count, sizeof *gaps);
    AUTO_FREE double *sorted = mem_array(count, sizeof *sorted);
    double resolution_s = resolution_of(updates, count);
    for (size_t i = 1; i < count; i++)
        gaps[i - 1] = sorted[i - 1] = updates[i].t_s - updates[i - 1].t_s;
    size_t gap_count = count - 1, near = 0;
    qsort(sorted, gap_count, sizeof *sorted, compare_learnt_values);
    for (double limit_s = 1.5 * sorted[gap_count / 5]; near < gap_count && sorted[near] <= limit_s;)
        near++;
    double period_s = sorted[near / 2];
    if (!stamped && period_s < 4 * resolution_s) {
        out->update_period_s = out->jitter_s = not_learnt(TOO_FAST);
        return;
    }
    for (int turn = 0; turn < 3; turn++) {
        double sum_s = 0, periods = 0;
        EACH (gap, gaps, gap_count) {
            double multiple = round(*gap / period_s);
            if (multiple >= 1 && multiple <= 3) {
                sum_s += *gap;
                periods += multiple;
            }
        }
        period_s = periods > 0 ? sum_s / periods : period_s;
    }
    double squares = 0, singles = 0, periods = 0;
    EACH (item, gaps, gap_count) {
        double multiple = round(*item / period_s), off_s = *item - multiple * period_s;
        if (multiple >= 1 && multiple <= 3) {
            periods += multiple;
            squares += off_s * off_s / multiple;
            singles++;
        }
    }
    if (singles < UPDATES_MIN / 2 || sqrt(squares / singles) > PERIOD_SPREAD * period_s) {
        out->update_period_s = out->jitter_s = not_learnt(NO_PERIOD);
        return;
    }
    /* What the readings' own times add: each end of a gap is uniform within its call and the one
     * before. */
    double variance = squares / singles, reading = 2 * resolution_s * resolution_s / 3;
    double jitter = variance > reading ? sqrt(variance - reading) : 0;
    double spread = NORMAL_95 * variance * sqrt(2 / singles) + reading;
    double low = jitter * jitter - spread;
    double above = sqrt(jitter * jitter + spread) - jitter,
           below = jitter - (low > 0 ? sqrt(low) : 0);
    out->update_period_s =
        learnt_value(period_s, NORMAL_95 * sqrt(variance / periods) + 2 * resolution_s / periods);
    out->jitter_s = learnt_value(jitter, above > below ? above : below);
}

/* Of the values while nothing changes: the second half of long steps, and as much before each. */
struct steady {
    double mean, variance;
    size_t count;
};

static struct steady steady_of(const struct fit_update *updates, size_t count, double from_s,
                               double to_s)
{
    struct steady out = {0};
    double sum = 0, times = 0, squares = 0, slope_top = 0, slope_bottom = 0;
    EACH (update, updates, count)
        if (update->t_s >= from_s && update->t_s < to_s) {
            sum += update->value;
            times += update->t_s;
            out.count++;
        }
    if (out.count < STEADY_MIN)
        return out;
    out.mean = sum / (double)out.count;
    times /= (double)out.count;
    EACH (item, updates, count)
        if (item->t_s >= from_s && item->t_s < to_s) {
            slope_top += (item->t_s - times) * (item->value - out.mean);
            slope_bottom += (item->t_s - times) * (item->t_s - times);
        }
    EACH (entry, updates, count)
        if (entry->t_s >= from_s && entry->t_s < to_s) {
            double off = entry->value - out.mean - (entry->t_s - times) * slope_top / slope_bottom;
            squares += off * off;
        }
    out.variance = squares / (double)(out.count - 2);
    return out;
}

static void add_steady(struct steady *sum, struct steady one)
{
    if (one.count < STEADY_MIN)
        return;
    sum->mean = (sum->mean * (double)sum->count + one.mean * (double)one.count) /
                (double)(sum->count + one.count);
    sum->variance = (sum->variance * (double)sum->count + one.variance * (double)one.count) /
                    (double)(sum->count + one.count);
    sum->count += one.count;
}

/* settle_s: what the sensor's own averaging and delay take; 0: not known yet. A value that does not
 * change gives no updates: all readings are taken, thinned to one a period or so. */
static void learn_levels(const struct load_interval *loads, size_t load_count,
                         const struct fit_update *values, size_t count, int64_t origin_ns,
                         double settle_s, struct sensor_learnt *out)
{
    struct steady idle = {0}, load = {0};
    double before_s = count > 0 ? values[0].t_s : 0;
    for (size_t i = 0; i <= load_count && count > 0; i++) {
        bool last = i == load_count;
        double begin_s = last ? values[count - 1].t_s : ns_to_s(loads[i].begin_ns - origin_ns);
        double end_s = last ? begin_s : ns_to_s(loads[i].end_ns - origin_ns);
        if (begin_s - before_s >= LONG_S)
            add_steady(&idle,
                       steady_of(values, count, fmax((begin_s + before_s) / 2, before_s + settle_s),
                                 begin_s));
        if (end_s - begin_s >= LONG_S && loads[i].level == 1)
            add_steady(&load, steady_of(values, count,
                                        fmax((begin_s + end_s) / 2, begin_s + settle_s), end_s));
        before_s = end_s;
    }
    out->idle_w =
        idle.count < STEADY_MIN
            ? not_learnt("no idle second was seen")
            : learnt_value(idle.mean, NORMAL_95 * sqrt(idle.variance / (double)idle.count));
    out->load_w =
        load.count < STEADY_MIN
            ? not_learnt("no second of steady load was seen")
            : learnt_value(load.mean, NORMAL_95 * sqrt(load.variance / (double)load.count));
    if (idle.count + load.count < UPDATES_MIN) {
        out->noise_w = not_learnt(TOO_FEW);
        return;
    }
    add_steady(&load, idle);
    double noise = sqrt(load.variance);
    out->noise_w = learnt_value(noise, NORMAL_95 * noise / sqrt(2 * (double)load.count));
}

/* The step of which all differences between values are multiples. */
static struct learnt learn_quantum(const struct sensor_reading *readings, size_t count)
{
    AUTO_FREE double *values = mem_array(count + 1, sizeof *values);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = readings[i].value;
    qsort(values, count, sizeof *values, compare_learnt_values);
    double step = INFINITY;
    for (size_t i = 1; i < count; i++) {
        double apart = values[i] - values[i - 1];
        if (apart > 1e-9 * fabs(values[i]) + 1e-9) {
            distinct++;
            step = apart < step ? apart : step;
        }
    }
    if (distinct < VALUES_MIN)
        return not_learnt("too few different values were seen");
    double worst = 0;
    for (size_t i = 1; i < count; i++) {
        double apart = (values[i] - values[i - 1]) / step;
        if (apart < 1000)
            worst = fmax(worst, fabs(apart - round(apart)));
    }
    return worst < 0.1 ? learnt_value(step, 1e-6 * step + 1e-9)
                       : not_learnt("the values have no common step");
}

static void learn_nothing_of_shape(struct sensor_learnt *out, const char *why)
{
    out->averaging = AVERAGING_UNKNOWN;
    out->averaging_why = why;
    out->averaging_s = out->delay_s = out->looked_share = not_learnt(why);
    if (!out->lag_s.known && !out->lag_s.why)
        out->lag_s = not_learnt(why);
}

static void learn_share(struct sensor_learnt *out)
{
    const struct learnt *length = &out->averaging_s, *period = &out->update_period_s;
    if (out->averaging == AVERAGING_EXPONENTIAL) {
        out->looked_share = learnt_value(1, 0);
    } else if (!period->known) {
        out->looked_share = not_learnt(period->why);
    } else {
        double share = length->value / period->value;
        double half =
            hypot(length->half_width / period->value, share * period->half_width / period->value);
        out->looked_share =
            share >= 1 ? learnt_value(1, fmax(0, 1 - (share - half))) : learnt_value(share, half);
    }
}

/* Of the sensor's answer to a step: the time until nothing more of it is to be seen, in a value up
 * to a period old. */
static double settle_of(const struct sensor_learnt *learnt)
{
    double old_s = learnt->update_period_s.known
                       ? learnt->update_period_s.value + 2 * learnt->jitter_s.value
                       : 0;
    double lengths = learnt->averaging == AVERAGING_EXPONENTIAL ? 6 : 1;
    return learnt->averaging == AVERAGING_UNKNOWN
               ? 0
               : old_s + learnt->delay_s.value + lengths * learnt->averaging_s.value +
                     2 * learnt->delay_s.half_width;
}

static void learn_shape(const struct load_interval *loads, size_t load_count, int64_t origin_ns,
                        const struct fit_update *updates, size_t count, struct sensor_learnt *out)
{
    if (count < UPDATES_MIN || !out->idle_w.known || !out->load_w.known || !out->noise_w.known) {
        learn_nothing_of_shape(out, TOO_FEW);
        return;
    }
    double rise = out->load_w.value - out->idle_w.value;
    if (rise < RISE_NOISES * out->noise_w.value || !(rise > 0)) {
        learn_nothing_of_shape(out, "the load does not stand out of the noise");
        return;
    }
    struct fit_input input = {.loads = loads,
                              .load_count = load_count,
                              .origin_ns = origin_ns,
                              .updates = updates,
                              .count = count,
                              .rise_w = rise,
                              .noise_w = out->noise_w.value};
    struct fit_result boxcar, exponential;
    out->lag_s =
        sensor_lag(&input, &out->lag_s.value, &out->lag_s.half_width)
            ? learnt_value(out->lag_s.value, out->lag_s.half_width)
            : not_learnt("too few steps after which power was steady again within half a second");
    if (!sensor_fit(&input, FIT_BOXCAR, &boxcar) ||
        !sensor_fit(&input, FIT_EXPONENTIAL, &exponential)) {
        learn_nothing_of_shape(out, "too few updates were seen near steps of the load");
        return;
    }
    const struct fit_result *best = boxcar.score <= exponential.score ? &boxcar : &exponential;
    if (best->chi_per_update > CHI_MAX) {
        learn_nothing_of_shape(
            out, "it follows the load neither at once, nor as a mean, nor exponentially");
        return;
    }
    if (!best->instant &&
        fabs(boxcar.score - exponential.score) < KIND_SCORE * fmax(1, best->chi_per_update)) {
        learn_nothing_of_shape(out, "a mean and an exponential fit alike");
        return;
    }
    double resolution_s = resolution_of(updates, count);
    out->averaging = best->instant     ? AVERAGING_INSTANT
                     : best == &boxcar ? AVERAGING_BOXCAR
                                       : AVERAGING_EXPONENTIAL;
    out->averaging_s =
        best->instant ? learnt_value(0, best->length_s + best->length_half_s + resolution_s / 2)
                      : learnt_value(best->length_s, best->length_half_s);
    out->delay_s = learnt_value(best->delay_s, best->delay_half_s + resolution_s / 2);
    learn_share(out);
}

/* The steps of the load tell of the averaging only when levels are known, and the levels are known
 * well only when the averaging is: twice. */
static void learn_both(const struct load_interval *loads, size_t load_count, int64_t origin_ns,
                       const struct fit_update *values, size_t value_count,
                       const struct fit_update *updates, size_t count, struct sensor_learnt *out)
{
    learn_levels(loads, load_count, values, value_count, origin_ns, 0, out);
    learn_shape(loads, load_count, origin_ns, updates, count, out);
    if (out->averaging == AVERAGING_UNKNOWN)
        return;
    struct learnt load = out->load_w;
    learn_levels(loads, load_count, values, value_count, origin_ns, settle_of(out), out);
    if (!out->load_w.known && out->idle_w.known && out->noise_w.known) {
        out->load_w = load; /* for the rise only */
        learn_shape(loads, load_count, origin_ns, updates, count, out);
        out->load_w = not_learnt("it averages over longer than a load lasts");
    } else {
        learn_shape(loads, load_count, origin_ns, updates, count, out);
    }
}

static int64_t origin_of(const struct load_interval *loads, size_t load_count)
{
    return load_count > 0 ? loads[0].begin_ns : 0;
}

/* Updates are seen by a new value: where a steady load gives one and the same, a multiple of the
 * period is seen. */
static void doubt_period(const struct load_interval *loads, size_t load_count,
                         const struct sensor_reading *readings, size_t count, int64_t origin_ns,
                         struct sensor_learnt *out)
{
    AUTO_FREE struct fit_update *all = mem_array(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = (struct fit_update){.t_s = ns_to_s(readings[i].after_ns - origin_ns),
                                     .value = readings[i].value};
    learn_levels(loads, load_count, all, count, origin_ns, 0, out);
    if (out->noise_w.known && out->noise_w.value < STILL_SHARE * fabs(out->idle_w.value))
        out->update_period_s = out->jitter_s =
            not_learnt("steady power shows no change, so its updates are not seen");
}

void sensor_learn_power(const struct load_interval *loads, size_t load_count,
                        const struct sensor_reading *readings, size_t count,
                        struct sensor_learnt *out)
{
    int64_t origin_ns = origin_of(loads, load_count);
    bool stamped;
    *out = (struct sensor_learnt){0};
    AUTO_FREE struct fit_update *updates = mem_array(count + 1, sizeof *updates);
    AUTO_FREE struct fit_update *values = mem_array(count + 1, sizeof *values);
    out->updates = find_updates(readings, count, origin_ns, &stamped, updates);
    learn_period(updates, out->updates, stamped, out);
    out->quantum = learn_quantum(readings, count);
    if (!stamped)
        doubt_period(loads, load_count, readings, count, origin_ns, out);
    size_t value_count = 0;
    double step_s = out->update_period_s.known ? out->update_period_s.value : 0;
    EACH (reading, readings, count) {
        double t_s = ns_to_s(reading->after_ns - origin_ns);
        if (value_count == 0 || t_s - values[value_count - 1].t_s >= step_s)
            values[value_count++] = (struct fit_update){.t_s = t_s, .value = reading->value};
    }
    learn_both(loads, load_count, origin_ns, stamped ? updates : values,
               stamped ? out->updates : value_count, updates, out->updates, out);
}

void sensor_learn_counter(const struct load_interval *loads, size_t load_count,
                          const struct sensor_reading *readings, size_t count,
                          struct sensor_learnt *out)
{
    int64_t origin_ns = origin_of(loads, load_count);
    bool stamped;
    *out = (struct sensor_learnt){0};
    AUTO_FREE struct fit_update *updates = mem_array(count + 1, sizeof *updates);
    AUTO_FREE struct fit_update *powers = mem_array(count + 1, sizeof *powers);
    size_t found = find_updates(readings, count, origin_ns, &stamped, updates), power_count = 0;
    learn_period(updates, found, stamped, out);
    out->updates = found;
    out->quantum = learn_quantum(readings, count);
    double longest_s = out->update_period_s.known ? 1.5 * out->update_period_s.value : INFINITY;
    for (size_t i = 1; i < found; i++) {
        double gap_s = updates[i].t_s - updates[i - 1].t_s,
               added_j = updates[i].value - updates[i - 1].value;
        if (gap_s <= 0 || gap_s > longest_s || added_j < 0)
            continue;
        powers[power_count] = updates[i];
        powers[power_count].value = added_j / gap_s;
        powers[power_count++].spread_w =
            added_j / gap_s * hypot(updates[i].dt_s, updates[i - 1].dt_s) / gap_s / sqrt(3);
    }
    if (power_count == 0) {
        out->idle_w = out->load_w = out->noise_w = not_learnt(TOO_FEW);
        learn_nothing_of_shape(out, TOO_FEW);
        return;
    }
    learn_both(loads, load_count, origin_ns, powers, power_count, powers, power_count, out);
}

/* Each value is the power of the time since the update before it. */
static double energy_until(const struct fit_update *updates, size_t count, double t_s)
{
    double sum_j = 0;
    for (size_t i = 1; i < count && updates[i - 1].t_s < t_s; i++)
        sum_j += updates[i].value * (fmin(updates[i].t_s, t_s) - updates[i - 1].t_s);
    return sum_j;
}

struct learnt sensor_learn_agreement(const struct sensor_reading *power, size_t power_count,
                                     const struct sensor_reading *counter, size_t counter_count)
{
    if (power_count == 0 || counter_count == 0)
        return not_learnt("one of them was not read");
    int64_t origin_ns = counter[0].before_ns;
    bool stamped;
    AUTO_FREE struct fit_update *watts = mem_array(power_count + 1, sizeof *watts);
    AUTO_FREE struct fit_update *joules = mem_array(counter_count + 1, sizeof *joules);
    size_t watt_count = find_updates(power, power_count, origin_ns, &stamped, watts);
    size_t joule_count = find_updates(counter, counter_count, origin_ns, &stamped, joules);
    size_t first = 0, last = joule_count;
    while (watt_count > 0 && first < last && joules[first].t_s < watts[0].t_s)
        first++;
    while (watt_count > 0 && last > first && joules[last - 1].t_s > watts[watt_count - 1].t_s)
        last--;
    if (watt_count < UPDATES_MIN || last - first < UPDATES_MIN)
        return not_learnt(TOO_FEW);
    double ratios[BLOCKS], sum = 0, squares = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        const struct fit_update *from = &joules[first + (last - 1 - first) * i / BLOCKS];
        const struct fit_update *to = &joules[first + (last - 1 - first) * (i + 1) / BLOCKS];
        double sampled_j =
            energy_until(watts, watt_count, to->t_s) - energy_until(watts, watt_count, from->t_s);
        if (!(sampled_j > 0) || to->value < from->value)
            return not_learnt("a counter that went back, or no power");
        ratios[i] = (to->value - from->value) / sampled_j;
    }
    double all_j = energy_until(watts, watt_count, joules[last - 1].t_s) -
                   energy_until(watts, watt_count, joules[first].t_s);
    double ratio = (joules[last - 1].value - joules[first].value) / all_j;
    EACH (item, ratios, BLOCKS)
        sum += *item / BLOCKS;
    EACH (entry, ratios, BLOCKS)
        squares += (*entry - sum) * (*entry - sum);
    return learnt_value(ratio, STUDENT_95_7 * sqrt(squares / (BLOCKS - 1) / BLOCKS));
}

struct learnt sensor_learn_return(const struct sensor_reading *readings, size_t count,
                                  int64_t from_ns, double base, double band)
{
    size_t back = count;
    while (back > 0 && fabs(readings[back - 1].value - base) <= band &&
           readings[back - 1].after_ns >= from_ns)
        back--;
    if (count == 0 || readings[count - 1].after_ns < from_ns)
        return not_learnt("nothing was read afterwards");
    if (back == count)
        return not_learnt("it was not back when the last was read");
    bool from_begin = back == 0 || readings[back - 1].after_ns < from_ns;
    int64_t early_ns = from_begin || readings[back - 1].before_ns < from_ns
                           ? from_ns
                           : readings[back - 1].before_ns;
    int64_t late_ns = readings[back].after_ns;
    return learnt_value(ns_to_s(early_ns / 2 + late_ns / 2 - from_ns),
                        (double)(late_ns - early_ns) / 2e9);
}
