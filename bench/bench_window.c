/* Energies of 10,000 windows over a day of a 57 Hz power trace and a counter read once a second.
 * Prints "KEY VALUE" lines: samples, readings; in seconds of processor time seconds_index (worked
 * out once), seconds_windows (10,000 of any length), seconds_epochs (10,000 that follow each
 * other), index_kib (what the index takes besides the series). */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "measure/energy/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { WINDOWS = 10000, DAY_S = 86400 };

/* A step of 200 ms at 600 W and 150 ms at 250 W, again and again. */
static double energy_j(double t_s)
{
    double periods = (double)(int64_t)(t_s / 0.35), past = t_s - periods * 0.35;
    return periods * (0.2 * 600 + 0.15 * 250) +
           (past < 0.2 ? past * 600 : 0.2 * 600 + (past - 0.2) * 250);
}

static void fill(struct series *series, struct rng *rng)
{
    for (double t = 0; t < DAY_S; t += 0.015 + 0.005 * rng_unit(rng)) {
        double power_w = energy_j(t + 1e-6) - energy_j(t);
        series_add_power(series, (struct power_sample){(int64_t)(t * 1e9), power_w * 1e6});
    }
    for (double t = 0.2; t < DAY_S; t += 0.95 + 0.1 * rng_unit(rng)) {
        double updated = 0.1 * (double)(int64_t)(t / 0.1);
        series_add_counter(series, (struct counter_reading){(int64_t)(t * 1e9),
                                                            (int64_t)(t * 1e9) + 3800000,
                                                            (uint64_t)(energy_j(updated) * 1000)});
    }
}

static long peak_kib(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Of the processor: the work is all its own, and a busy machine must not count. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static double since_s(int64_t began_ns)
{
    return (double)(cpu_ns() - began_ns) / NS_PER_S;
}

int main(void)
{
    struct rng rng;
    struct series series = {0};
    struct window_sensor sensor = window_sensor_gpu;
    struct window_energy energy;
    struct window_mark *marks = mem_array(WINDOWS, sizeof *marks);
    struct window_piece *pieces = mem_array(WINDOWS + 1, sizeof *pieces);
    double sum_j = 0;
    rng_seed(&rng, 1);
    sensor.power_limit_w = 700;
    fill(&series, &rng);
    long before_kib = peak_kib();
    int64_t began_ns = cpu_ns();
    struct window_index *index = window_index_new(&series, &sensor);
    double index_s = since_s(began_ns);
    began_ns = cpu_ns();
    for (int i = 0; i < WINDOWS; i++) {
        int64_t a = (int64_t)rng_below(&rng, DAY_S * NS_PER_S),
                b = (int64_t)rng_below(&rng, DAY_S * NS_PER_S);
        window_index_energy(index, a < b ? a : b, a < b ? b : a, &energy);
        sum_j += energy.energy_j.value;
    }
    double windows_s = since_s(began_ns);
    for (int i = 0; i < WINDOWS; i++)
        marks[i] = (struct window_mark){(10 + i) * 8 * NS_PER_S + 123456789, 2 * NS_PER_MS};
    began_ns = cpu_ns();
    int64_t total_mj = window_cut(index, NS_PER_S, (DAY_S - 1) * NS_PER_S, marks, WINDOWS, pieces);
    printf("samples %zu\nreadings %zu\nseconds_index %.4f\nseconds_windows %.4f\nseconds_epochs "
           "%.4f\nindex_kib %ld\n",
           series.power_count, series.counter_count, index_s, windows_s, since_s(began_ns),
           peak_kib() - before_kib);
    window_index_free(index);
    series_fini(&series);
    free(marks);
    free(pieces);
    return total_mj > 0 && sum_j > 0 ? 0 : 1;
}
