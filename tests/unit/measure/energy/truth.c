#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "truth.h"

#include <math.h>
#include <stdlib.h>

static const char *const kind_names[LOAD_KINDS] = {"steady", "periodic", "ramps", "random"};

struct score {
    int windows, held, long_windows, disagreeing;
    double *shares; /* half-width by energy of windows of a second and more */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { BEAT_S = 20 };

/* A load that repeats in step with the samples: they err all the same way for as long as it
 * lasts. */
static void beat(const struct truth *setup, bool up, struct series *series)
{
    for (size_t i = 0; i < series->power_count; i++) {
        double t = (double)(series->power[i].t_ns - simulated_ns(0)) / 1e9;
        if (fabs(t - setup->length_s / 2) < BEAT_S / 2.0)
            series->power[i].power_w *= 1 + (up ? setup->beat_share : -setup->beat_share);
    }
}

/* Lengths are as often between 1 and 2 s as between 20 and 40 s. */
static void draw_windows(const struct truth *setup, struct rng *rng, double (*windows)[2])
{
    for (int i = 0; i < setup->windows_in_series; i++) {
        double length =
            setup->shortest_s * exp(rng_unit(rng) * log(setup->longest_s / setup->shortest_s));
        double around_s = setup->beat_share > 0 ? BEAT_S : setup->length_s - 6;
        windows[i][0] = (setup->length_s - around_s) / 2 + rng_unit(rng) * (around_s - length);
        windows[i][1] = windows[i][0] + length;
    }
}

static void judge(const struct window_energy *energy, const struct load *load, const double *window,
                  struct score *score)
{
    double truth = load_energy(load, window[1]) - load_energy(load, window[0]);
    assert_true(energy->energy_j.valid && energy->half_width_j.valid);
    score->windows++;
    score->held += fabs(energy->energy_j.value - truth) <= energy->half_width_j.value;
    score->disagreeing += energy->disagrees;
    if (window[1] - window[0] >= 1)
        score->shares[score->long_windows++] = energy->half_width_j.value / truth;
}

static void run_series(const struct truth *setup, enum load_kind kind, uint64_t seed,
                       struct score *score)
{
    struct rng rng;
    struct load load;
    struct series series = {0};
    struct simulation simulation = setup->simulation;
    size_t count = (size_t)setup->windows_in_series;
    double(*windows)[2] = calloc(count, sizeof *windows), *edges = calloc(2 * count, sizeof *edges);
    assert_true(windows && edges);
    rng_seed(&rng, seed);
    double start = 2 + rng_unit(&rng), end = setup->length_s - 2 - rng_unit(&rng);
    if (setup->random_span)
        simulation.span_s = 0.1 * rng_unit(&rng);
    load_make(&load, kind, start, end, setup->length_s, &rng);
    draw_windows(setup, &rng, windows);
    double attempt[2] = {start - 0.5, end + 0.5};
    for (size_t i = 0; i < 2 * count; i++)
        edges[i] = windows[i / 2][i % 2];
    qsort(edges, 2 * count, sizeof *edges, by_value);
    simulate(&simulation, &load, setup->dense ? edges : attempt, setup->dense ? 2 * count : 2, &rng,
             &series);
    if (setup->beat_share > 0)
        beat(setup, seed / LOAD_KINDS % 2, &series);
    if (setup->blind)
        series.counter_count = 0;
    struct window_index *index = window_index_new(&series, &setup->sensor);
    for (size_t i = 0; i < count; i++) {
        struct window_energy energy;
        window_index_energy(index, simulated_ns(windows[i][0]), simulated_ns(windows[i][1]),
                            &energy);
        judge(&energy, &load, windows[i], score);
    }
    window_index_free(index);
    series_fini(&series);
    load_fini(&load);
    free(windows);
    free(edges);
}

static void run_kind(const struct truth *setup, enum load_kind kind)
{
    struct score score = {
        .shares = calloc((size_t)(setup->windows + setup->windows_in_series), sizeof(double))};
    assert_non_null(score.shares);
    for (uint64_t seed = 1; score.windows < setup->windows; seed++)
        run_series(setup, kind, seed * LOAD_KINDS + kind, &score);
    qsort(score.shares, (size_t)score.long_windows, sizeof *score.shares, by_value);
    double held = (double)score.held / score.windows, median = score.shares[score.long_windows / 2];
    print_message("# %s, %s: held %.2f %%, half-width of windows from 1 s: median %.3f %%, 95th of "
                  "100 %.3f %%\n",
                  setup->name, kind_names[kind], 100 * held, 100 * median,
                  100 * score.shares[score.long_windows * 95 / 100]);
    free(score.shares);
    assert_true(held >= setup->least);
    assert_true(held <= setup->most);
    assert_true(median <= setup->widest);
    /* one sensor, one truth: evidence would be false */
    assert_true(setup->beat_share > 0 || score.disagreeing <= setup->windows / 1000);
}

void truth_hold(const struct truth *setup)
{
    for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++)
        run_kind(setup, kind);
}

struct truth truth_usual(const char *name, bool dense)
{
    struct truth setup = {
        .name = name,
        .dense = dense,
        .windows = 10000,
        .windows_in_series = dense ? 25 : 100,
        .length_s = 120,
        .shortest_s = 0.2,
        .longest_s = 60,
        .least = 0.93,
        .most = 0.98,
        .widest = 0.003,
        .simulation = simulation_nvml,
        .sensor = window_sensor_gpu,
    };
    setup.sensor.power_limit_w = 700;
    setup.sensor.span_max_ns = 0;
    return setup;
}
