#include "simulate.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static const double idle_w = 77;
static const int64_t booted_ns = INT64_C(81234567890123); /* the machine has been up for a day */

const struct simulation simulation_nvml = {
    .period_s = 0.1,
    .jitter_s = 0.0018,
    .call_s = 0.0038,
    .call_worst_s = 0.011,
    .every_s = 1,
    .dither_s = 0.05,
    .gain_sd = 0.001,
    .sample_min_s = 0.015,
    .sample_max_s = 0.020,
};

int64_t simulated_ns(double t_s)
{
    return booted_ns + llround(t_s * 1e9);
}

static double between(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_unit(rng);
}

static void point(struct load *load, double t_s, double power_w)
{
    struct load_point next = {t_s, fmax(power_w, 30), 0};
    if (load->count > 0) {
        const struct load_point *last = &load->points[load->count - 1];
        next.energy_j = last->energy_j + 0.5 * (last->power_w + next.power_w) * (t_s - last->t_s);
    }
    load->points = mem_room(load->points, load->count, sizeof *load->points);
    load->points[load->count++] = next;
}

/* A stretch from one power to another, with the small fast variation that every load has. */
static void stretch(struct load *load, double from_s, double to_s, double from_w, double to_w,
                    struct rng *rng)
{
    double noise = 0.012;
    for (double t = from_s; t < to_s;) {
        double next = fmin(t + between(rng, 0.005, 0.050), to_s),
               shift = 1 + noise * rng_normal(rng);
        point(load, t, shift * (from_w + (to_w - from_w) * (t - from_s) / (to_s - from_s)));
        point(load, next, shift * (from_w + (to_w - from_w) * (next - from_s) / (to_s - from_s)));
        t = next;
    }
}

static void steady(struct load *load, double from_s, double to_s, struct rng *rng)
{
    double power_w = between(rng, 300, 700), epoch_s = between(rng, 6, 25);
    for (double t = from_s; t < to_s;) {
        double end = fmin(t + epoch_s, to_s), pause = fmin(end + between(rng, 0.3, 1.5), to_s);
        stretch(load, t, end, power_w, power_w, rng);
        stretch(load, end, pause, 150, 150, rng);
        t = pause;
    }
}

static void periodic(struct load *load, double from_s, double to_s, struct rng *rng)
{
    static const double multiples_s[] = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5};
    double period_s = rng_below(rng, 2) ? between(rng, 0.05, 0.5) : multiples_s[rng_below(rng, 6)];
    double high_w = between(rng, 400, 700), low_w = between(rng, 100, 300),
           duty = between(rng, 0.25, 0.75);
    for (double t = from_s; t < to_s; t += period_s) {
        stretch(load, t, fmin(t + duty * period_s, to_s), high_w, high_w, rng);
        if (t + duty * period_s < to_s)
            stretch(load, t + duty * period_s, fmin(t + period_s, to_s), low_w, low_w, rng);
    }
}

static void ramps(struct load *load, double from_s, double to_s, struct rng *rng)
{
    double power_w = between(rng, 100, 700);
    for (double t = from_s; t < to_s;) {
        double end = fmin(t + between(rng, 0.3, 8), to_s), next_w = between(rng, 100, 700);
        stretch(load, t, end, power_w, next_w, rng);
        power_w = next_w;
        t = end;
    }
}

static void random_levels(struct load *load, double from_s, double to_s, struct rng *rng)
{
    double mean_s = between(rng, 0.05, 0.5);
    for (double t = from_s; t < to_s;) {
        double end = fmin(t - mean_s * log(1 - rng_unit(rng)) + 0.01, to_s),
               power_w = between(rng, idle_w, 700);
        stretch(load, t, end, power_w, power_w, rng);
        t = end;
    }
}

void load_make(struct load *load, enum load_kind kind, double start_s, double end_s,
               double length_s, struct rng *rng)
{
    static void (*const makers[LOAD_KINDS])(struct load *, double, double, struct rng *) = {
        steady, periodic, ramps, random_levels};
    *load = (struct load){0};
    stretch(load, 0, start_s, idle_w, idle_w, rng);
    makers[kind](load, start_s, end_s, rng);
    stretch(load, end_s, length_s, idle_w, idle_w, rng);
}

void load_fini(struct load *load)
{
    free(load->points);
    *load = (struct load){0};
}

double load_energy(const struct load *load, double t_s)
{
    size_t low = 0, high = load->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (load->points[middle].t_s <= t_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return load->points[0].power_w * (t_s - load->points[0].t_s);
    const struct load_point *a = &load->points[low - 1];
    if (low == load->count)
        return a->energy_j + a->power_w * (t_s - a->t_s);
    const struct load_point *b = &load->points[low];
    double past = t_s - a->t_s;
    return a->energy_j +
           past * (a->power_w + 0.5 * (b->power_w - a->power_w) * past / (b->t_s - a->t_s));
}

double load_mean(const struct load *load, double from_s, double to_s)
{
    return (load_energy(load, to_s) - load_energy(load, from_s)) / (to_s - from_s);
}

static void simulate_trace(const struct simulation *simulation, const struct load *load,
                           double length_s, struct rng *rng, struct series *out)
{
    double span_s = fmax(simulation->span_s, 1e-6),
           gain = 1 + simulation->gain_sd * rng_normal(rng);
    for (double t = 0.2; t < length_s;
         t += between(rng, simulation->sample_min_s, simulation->sample_max_s)) {
        double power_w = round(gain * load_mean(load, t - span_s, t) * 1000) / 1000;
        series_add_power(out, (struct power_sample){simulated_ns(t), power_w});
    }
}

struct counter {
    double *updates_s;
    size_t count;
};

/* Half of the sensors keep a grid and are late or early on it; with the others lateness adds up. */
static void make_updates(const struct simulation *simulation, double length_s, struct rng *rng,
                         struct counter *counter)
{
    bool grid = rng_below(rng, 2);
    double period_s = simulation->period_s * (1 + 2e-4 * rng_normal(rng));
    for (double t = -period_s * (1 + rng_unit(rng)); t < length_s + 1; t += period_s) {
        double late = simulation->jitter_s * fmax(fmin(rng_normal(rng), 3), -3);
        counter->updates_s =
            mem_room(counter->updates_s, counter->count, sizeof *counter->updates_s);
        counter->updates_s[counter->count++] = grid ? t + late / 1.4142 : t;
        if (!grid)
            t += late;
    }
}

static uint64_t counter_value(const struct counter *counter, const struct load *load, double t_s)
{
    size_t low = 0, high = counter->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (counter->updates_s[middle] <= t_s)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint64_t)floor(1e9 + load_energy(load, counter->updates_s[low ? low - 1 : 0]) * 1000);
}

/* One call at t; gives when it is over. */
static double read_counter(const struct simulation *simulation, const struct counter *counter,
                           const struct load *load, double t_s, struct rng *rng, struct series *out)
{
    double takes_s = simulation->call_s * between(rng, 0.85, 1.2);
    if (rng_below(rng, 50) == 0)
        takes_s = between(rng, simulation->call_s, simulation->call_worst_s);
    uint64_t value = counter_value(counter, load, t_s + takes_s * rng_unit(rng));
    series_add_counter(
        out, (struct counter_reading){simulated_ns(t_s), simulated_ns(t_s + takes_s), value});
    return t_s + takes_s;
}

static double read_densely(const struct simulation *simulation, const struct counter *counter,
                           const struct load *load, double t_s, struct rng *rng, struct series *out)
{
    double deadline_s = t_s + 0.25;
    t_s = read_counter(simulation, counter, load, t_s, rng, out);
    uint64_t first = out->counter[out->counter_count - 1].energy_mj;
    while (t_s < deadline_s) {
        t_s = read_counter(simulation, counter, load, t_s + 0.0002, rng, out);
        if (out->counter[out->counter_count - 1].energy_mj != first)
            break;
    }
    return t_s + 0.0001;
}

void simulate(const struct simulation *simulation, const struct load *load, const double *edges,
              size_t edge_count, struct rng *rng, struct series *out)
{
    double length_s = load->points[load->count - 1].t_s, now = 0.3, next = now;
    struct counter counter = {0};
    make_updates(simulation, length_s, rng, &counter);
    size_t edge = 0;
    while (now < length_s) {
        if (edge < edge_count && edges[edge] <= fmax(next, now)) {
            now = read_densely(simulation, &counter, load, fmax(now, edges[edge]), rng, out);
            edge++;
        } else {
            now = read_counter(simulation, &counter, load, fmax(now, next), rng, out);
            next += simulation->every_s;
            next = fmax(next + simulation->dither_s * between(rng, -1, 1), now);
        }
    }
    free(counter.updates_s);
    if (simulation->sample_max_s > 0)
        simulate_trace(simulation, load, length_s, rng, out);
}
