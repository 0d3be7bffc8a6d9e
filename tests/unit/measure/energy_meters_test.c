/* All meters of a run together, on GPUs whose energy is known in closed form (tests/fake): sums,
 * epochs, what is missing. */
#include "measure/energy_meters_json.h"
#include "measure/energy_meters_measure.h"
#include "measure/marks/epochs.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tests/unit/machine/sensors/gpu_fixture.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"

#include "tests/unit/machine/sensors/rapl_tree.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t PATIENCE_NS = 40 * NS_PER_S;

static struct bench bench;
static struct energy_meters_gpu gpus[] = {
    {(char *)(uintptr_t) "0", (char *)(uintptr_t) "GPU 0", .library = FAKE_NVML},
    {(char *)(uintptr_t) "1", (char *)(uintptr_t) "GPU 1", .library = FAKE_NVML},
    {(char *)(uintptr_t) "2", (char *)(uintptr_t) "GPU 2", .library = FAKE_NVML}};

/* What the listener was told. */
struct told {
    size_t samples, counters, unavailable;
    char reason[256];
};

static void on_sample(void *data, const char *label, const struct gpu_sample *sample)
{
    struct told *told = data;
    assert_true(strncmp(label, "GPU ", 4) == 0);
    assert_true(sample->t_ns > 0);
    told->samples++;
}

static void on_counter(void *data, size_t domain, const char *name,
                       const struct counter_reading *reading)
{
    struct told *told = data;
    assert_int_equal(domain, 0);
    assert_string_equal(name, "package-0");
    assert_true(reading->after_ns >= reading->before_ns);
    told->counters++;
}

static void on_unavailable(void *data, const char *label, const char *reason)
{
    struct told *told = data;
    told->unavailable++;
    snprintf(told->reason, sizeof told->reason, "%s: %s", label, reason);
}

static struct energy_meters *begin_energy_meters(size_t count, struct host_meter *host,
                                                 struct told *told)
{
    struct err err = {0};
    struct energy_meters_options options = {
        .gpus = gpus, .gpu_count = count, .program = PROGRAM, .host = host};
    struct energy_meters_listener listener = {
        .sample = on_sample, .counter = on_counter, .unavailable = on_unavailable, .data = told};
    struct energy_meters *energy_meters = energy_meters_new(&options, &listener, &err);
    if (!energy_meters)
        fail_msg("%s", err.text);
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
    while (energy_meters_starting(energy_meters)) {
        assert_true(clock_monotonic_ns() < until_ns);
        poll(&(struct pollfd){.fd = energy_meters_fd(energy_meters), .events = POLLIN}, 1, 1000);
        energy_meters_dispatch(energy_meters);
    }
    energy_meters_dispatch(energy_meters);
    return energy_meters;
}

static void await_answers(struct energy_meters *energy_meters)
{
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
    while (energy_meters_waiting(energy_meters) > 0) {
        assert_true(clock_monotonic_ns() < until_ns);
        poll(&(struct pollfd){.fd = energy_meters_fd(energy_meters), .events = POLLIN}, 1, 1000);
        energy_meters_dispatch(energy_meters);
    }
}

/* As a run does it: an edge, all about once a second, an edge. Gives the two moments. */
static void live(struct energy_meters *energy_meters, double seconds, int64_t *start_ns,
                 int64_t *end_ns)
{
    struct rng rng;
    rng_seed(&rng, 4);
    energy_meters_prepare(energy_meters);
    *start_ns = clock_monotonic_ns();
    energy_meters_begin(energy_meters, NULL);
    int64_t until_ns = *start_ns + (int64_t)(seconds * 1e9), tick_ns = *start_ns + NS_PER_S;
    for (int64_t now_ns; (now_ns = clock_monotonic_ns()) < until_ns;) {
        int64_t next_ns = tick_ns < until_ns ? tick_ns : until_ns;
        poll(&(struct pollfd){.fd = energy_meters_fd(energy_meters), .events = POLLIN}, 1,
             (int)((next_ns - now_ns) / NS_PER_MS) + 1);
        energy_meters_dispatch(energy_meters);
        if (clock_monotonic_ns() < tick_ns)
            continue;
        energy_meters_tick(energy_meters);
        tick_ns =
            clock_monotonic_ns() + NS_PER_S + (int64_t)rng_below(&rng, (uint64_t)(120 * NS_PER_MS));
    }
    *end_ns = clock_monotonic_ns();
    energy_meters_edge(energy_meters);
    await_answers(energy_meters);
}

/* The half-width is of 95 %: ten deviations, so that no test fails by chance. */
static void assert_is_truth(const struct energy_meters_figures *figures, double truth_j)
{
    assert_true(figures->window.energy_j.valid && figures->window.half_width_j.valid);
    double energy_j = figures->window.energy_j.value, half_j = figures->window.half_width_j.value;
    if (fabs(energy_j - truth_j) > 5 * half_j + 0.01)
        fail_msg("%.3f J ± %.3f, and the truth is %.3f", energy_j, half_j, truth_j);
}

static double truth_j(size_t gpu, int64_t start_ns, int64_t end_ns)
{
    return fake_energy_j(&bench.truth.gpus[gpu], start_ns, end_ns);
}

static void mark_at(struct mark *mark, const char *name, int64_t t_ns)
{
    *mark = (struct mark){.source = MARK_FIFO, .t_ns = t_ns};
    snprintf(mark->name, sizeof mark->name, "%s", name);
}

/* Of each name, the epochs of one scope add up to the whole, to the millijoule. */
static void assert_add_up(const struct energy_meters_result *result, const struct epoch *epochs,
                          size_t count, enum energy_meters_scope scope)
{
    for (size_t i = 0, next; i < count; i = next) {
        int64_t sum_mj = 0;
        for (next = i; next < count && strcmp(epochs[next].name, epochs[i].name) == 0; next++) {
            assert_true(result->epochs[next].of[scope].energy_mj >= 0);
            sum_mj += result->epochs[next].of[scope].energy_mj;
        }
        assert_int_equal(sum_mj, result->sums[scope].energy_mj);
    }
}

/* Cuts at random moments, under two names; every epoch is the truth, and all add up. */
static void check_cuts(const struct energy_meters *energy_meters, int64_t start_ns, int64_t end_ns,
                       uint64_t seed)
{
    enum { MARKS = 12 };
    struct rng rng;
    struct mark marks[MARKS];
    struct energy_meters_result result;
    size_t count = 0;
    rng_seed(&rng, seed);
    for (int i = 0; i < MARKS; i++)
        mark_at(&marks[i], rng_below(&rng, 3) == 0 ? "fold" : "epoch",
                start_ns + (int64_t)rng_below(&rng, (uint64_t)(end_ns - start_ns)));
    struct epoch *epochs = epochs_cut(marks, MARKS, start_ns, end_ns, true, &count);
    energy_meters_measure(energy_meters, start_ns, end_ns, epochs, count, NULL, &result);
    assert_int_equal(result.epoch_count, count);
    assert_add_up(&result, epochs, count, ENERGY_GPU);
    for (size_t i = 0; i < count; i++)
        assert_is_truth(&result.epochs[i].of[ENERGY_GPU],
                        truth_j(0, epochs[i].start_ns, epochs[i].end_ns) +
                            truth_j(1, epochs[i].start_ns, epochs[i].end_ns));
    energy_meters_result_fini(&result);
    free(epochs);
}

static void what_two_gpus_draw_is_the_truth_and_epochs_add_up_exactly(void **state)
{
    (void)state;
    struct told told = {0};
    struct energy_meters_result result;
    int64_t start_ns, end_ns;
    bench_begin(&bench, 5,
                "gpus 2\nstep 0 150\ngpu 0\nstep 6200 600\nstep 7100 250\ngpu 1\nstep 6500 "
                "420\nstep 8000 90\n");
    struct energy_meters *energy_meters = begin_energy_meters(2, NULL, &told);
    live(energy_meters, 4, &start_ns, &end_ns);
    energy_meters_measure(energy_meters, start_ns, end_ns, NULL, 0, NULL, &result);
    assert_int_equal(result.device_count, 2);
    assert_int_equal(result.missing_count, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct energy_meters_figures *device = &result.devices[i];
        assert_int_equal(device->scope, ENERGY_GPU);
        assert_string_equal(device->name, gpus[i].label);
        assert_string_equal(device->window.source, "nvml-counter");
        assert_is_truth(device, truth_j(i, start_ns, end_ns));
        /* In whole millijoules. */
        assert_true(device->window.energy_j.value == (double)device->energy_mj / 1000);
        assert_true(device->window.covered_share > 0.9);
    }
    const struct energy_meters_figures *sum = &result.sums[ENERGY_GPU], *one = &result.devices[0],
                                       *other = &result.devices[1];
    assert_int_equal(sum->devices, 2);
    assert_int_equal(sum->energy_mj, one->energy_mj + other->energy_mj);
    assert_near(sum->window.energy_j.value, (double)sum->energy_mj / 1000, 1e-6);
    /* Different sensors err independently; the power of both at one moment is nobody's reading. */
    assert_near(sum->window.half_width_j.value,
                hypot(one->window.half_width_j.value, other->window.half_width_j.value), 1e-9);
    assert_near(sum->window.power_mean_w.value,
                one->window.power_mean_w.value + other->window.power_mean_w.value, 1e-6);
    assert_false(sum->window.power_max_w.valid || sum->window.power_min_w.valid);
    assert_true(sum->temperature_max_c.value ==
                fmax(one->temperature_max_c.value, other->temperature_max_c.value));
    assert_false(result.sums[ENERGY_PACKAGE].devices ||
                 result.sums[ENERGY_PACKAGE].window.energy_j.valid);
    energy_meters_result_fini(&result);
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_cuts(energy_meters, start_ns, end_ns, seed);
    assert_true(told.samples >= 2);
    energy_meters_free(energy_meters);
    bench_end(&bench);
}

static void figures_of_a_gpu_are_those_of_its_readings_within_the_window(void **state)
{
    (void)state;
    struct told told = {0};
    struct energy_meters_result result;
    int64_t start_ns, end_ns;
    bench_begin(&bench, 30, "step 0 300\n");
    struct energy_meters *energy_meters = begin_energy_meters(1, NULL, &told);
    live(energy_meters, 2.5, &start_ns, &end_ns);
    energy_meters_measure(energy_meters, start_ns, end_ns, NULL, 0, NULL, &result);
    const struct energy_meters_figures *figures = &result.sums[ENERGY_GPU];
    const struct fake_gpu *truth = &bench.truth.gpus[0];
    assert_int_equal(figures->devices, 1);
    assert_null(figures->name);
    /* Of one alone the sum is all that it says. */
    assert_true(figures->window.power_max_w.valid && figures->window.power_min_w.valid);
    assert_near(figures->window.power_max_w.value, 300, 0.01);
    assert_near(figures->window.power_min_w.value, 300, 0.01);
    /* The counter moves ten times a second, at moments that are known only as well as it was read
     * in time: the mean is the energy over the time, and as exact as the energy says of itself. */
    double seconds = (double)(end_ns - start_ns) / 1e9;
    assert_is_truth(figures, 300 * seconds);
    assert_near(figures->window.power_mean_w.value, figures->window.energy_j.value / seconds, 1e-3);
    assert_true(figures->window.power_cv_within.valid &&
                figures->window.power_cv_within.value < 1e-4);
    assert_false(figures->window.disagrees);
    /* Warming up all the while: the mean lies between the first and the last moment; read as whole
     * degrees. */
    double first_c = fake_temperature_c(truth, start_ns),
           last_c = fake_temperature_c(truth, end_ns);
    assert_true(figures->temperature_mean_c.valid && figures->temperature_max_c.valid);
    assert_true(figures->temperature_mean_c.value >= floor(first_c) - 1 &&
                figures->temperature_mean_c.value <= ceil(last_c) + 1);
    assert_true(figures->temperature_max_c.value <= ceil(last_c) + 1);
    struct reading power_w = energy_meters_power_w(energy_meters);
    assert_true(power_w.valid);
    assert_near(power_w.value, 300, 0.01);
    energy_meters_result_fini(&result);
    energy_meters_free(energy_meters);
    bench_end(&bench);
}

static void without_one_of_the_gpus_there_is_no_sum_and_the_reason_is_told_once(void **state)
{
    (void)state;
    struct told told = {0};
    struct energy_meters_result result;
    struct mark mark;
    int64_t start_ns, end_ns;
    size_t count = 0;
    bench_begin(&bench, 5, "gpus 2\nstep 0 200\n");
    /* the machine has no third */
    struct energy_meters *energy_meters = begin_energy_meters(3, NULL, &told);
    live(energy_meters, 1.2, &start_ns, &end_ns);
    energy_meters_tick(energy_meters);
    energy_meters_dispatch(energy_meters);
    assert_int_equal(told.unavailable, 1);
    assert_true(strncmp(told.reason, "GPU 2: ", 7) == 0);
    mark_at(&mark, "epoch", start_ns + NS_PER_S / 2);
    struct epoch *epochs = epochs_cut(&mark, 1, start_ns, end_ns, true, &count);
    energy_meters_measure(energy_meters, start_ns, end_ns, epochs, count, NULL, &result);
    assert_int_equal(result.device_count, 2);
    assert_is_truth(&result.devices[1], truth_j(1, start_ns, end_ns));
    assert_int_equal(result.missing_count, 1);
    assert_int_equal(result.missing[0].scope, ENERGY_GPU);
    assert_string_equal(result.missing[0].name, "GPU 2");
    assert_string_equal(result.missing[0].reason, told.reason + 7);
    const struct energy_meters_figures *sum = &result.sums[ENERGY_GPU];
    assert_false(sum->window.energy_j.valid || sum->window.half_width_j.valid ||
                 sum->window.power_mean_w.valid);
    assert_string_equal(sum->window.source, "none");
    for (size_t i = 0; i < count; i++)
        assert_false(result.epochs[i].of[ENERGY_GPU].window.energy_j.valid);
    assert_false(energy_meters_power_w(energy_meters).valid);
    json_t *json = energy_meters_result_json(&result, epochs);
    assert_true(json_is_null(json_object_get(json_object_get(json, "gpu"), "joules")));
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "epochs"), 0), "gpu_mj")));
    assert_int_equal(json_array_size(json_object_get(json, "devices")), 2);
    json_decref(json);
    energy_meters_result_fini(&result);
    free(epochs);
    energy_meters_free(energy_meters);
    bench_end(&bench);
}

static void a_gpu_that_is_divided_is_named_and_not_measured_wrong(void **state)
{
    (void)state;
    struct told told = {0};
    struct energy_meters_result result;
    int64_t start_ns, end_ns;
    bench_begin(&bench, 5, "step 0 200\nmig 1\n");
    struct energy_meters *energy_meters = begin_energy_meters(1, NULL, &told);
    live(energy_meters, 0.3, &start_ns, &end_ns);
    energy_meters_measure(energy_meters, start_ns, end_ns, NULL, 0, NULL, &result);
    assert_int_equal(result.device_count, 0);
    assert_int_equal(result.missing_count, 1);
    assert_string_equal(result.missing[0].reason,
                        "it is divided into parts (MIG), whose energy nobody can tell");
    assert_false(result.sums[ENERGY_GPU].window.energy_j.valid);
    energy_meters_result_fini(&result);
    energy_meters_free(energy_meters);
    bench_end(&bench);
}

static void what_was_read_before_a_job_is_forgotten_but_for_the_last_seconds(void **state)
{
    (void)state;
    struct told told = {0};
    struct energy_meters_result result;
    int64_t start_ns, end_ns;
    bench_begin(&bench, 5, "step 0 200\n");
    struct energy_meters *energy_meters = begin_energy_meters(1, NULL, &told);
    live(energy_meters, 1.2, &start_ns, &end_ns);
    poll(NULL, 0, 3500);
    int64_t again_ns, over_ns;
    live(energy_meters, 1.2, &again_ns, &over_ns);
    energy_meters_measure(energy_meters, again_ns, over_ns, NULL, 0, NULL, &result);
    assert_is_truth(&result.devices[0], truth_j(0, again_ns, over_ns));
    energy_meters_result_fini(&result);
    energy_meters_measure(energy_meters, start_ns, start_ns + NS_PER_S, NULL, 0, NULL, &result);
    assert_false(result.devices[0].window.energy_j.valid);
    energy_meters_result_fini(&result);
    energy_meters_free(energy_meters);
    bench_end(&bench);
}

static void at_a_mark_the_hosts_counters_are_read_once(void **state)
{
    (void)state;
    struct sysroot root;
    struct told told = {0};
    sysroot_init(&root);
    zone(&root, "intel-rapl:0", "package-0", 1000000);
    struct host_meter *host = host_meter_new(&(struct rapl_places){.sysroot = root.top});
    struct energy_meters *energy_meters = begin_energy_meters(0, host, &told);
    const struct series *series = host_meter_series(host, 0);
    energy_meters_begin(energy_meters, NULL);
    size_t before = series->counter_count;
    assert_true(before >= 1);
    for (size_t i = 1; i <= 5; i++) {
        poll(NULL, 0, 5);
        sysroot_number(&root, "/sys/class/powercap/intel-rapl:0/energy_uj", 1000000 + 250000 * i);
        int64_t at_ns = clock_monotonic_ns();
        energy_meters_mark(energy_meters);
        assert_int_equal(series->counter_count, before + i);
        assert_int_equal(series->counter[before + i - 1].energy_mj, 1000 + 250 * i);
        assert_true(series->counter[before + i - 1].before_ns >= at_ns);
    }
    /* Of a thousand marks at once a handful are read: one a millisecond. */
    int64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < 1000; i++)
        energy_meters_mark(energy_meters);
    int64_t took_ms = (clock_monotonic_ns() - begin_ns) / NS_PER_MS;
    assert_true((int64_t)(series->counter_count - before - 5) <= took_ms + 1);
    energy_meters_free(energy_meters);
    host_meter_free(host);
    sysroot_fini(&root);
}

/* A package of 50 W whose counter is read in step with the marks, as a run does it: what epochs of
 * a third of a second draw. */
static double epoch_half_width_j(bool with_marks, double *worst_error_j)
{
    enum { EPOCHS = 6 };
    struct series series = {0};
    struct window_sensor sensor = window_sensor_rapl;
    int64_t origin_ns = 1000 * NS_PER_S, epoch_ns = NS_PER_S / 3;
    double sum_j = 0;
    for (int64_t t_ns = 0; t_ns <= EPOCHS * epoch_ns; t_ns += NS_PER_MS) {
        bool edge = t_ns == 0 || t_ns + NS_PER_MS > EPOCHS * epoch_ns,
             tick = t_ns % (NS_PER_S + 40 * NS_PER_MS) == 0;
        bool mark = with_marks && t_ns % epoch_ns < NS_PER_MS;
        if (edge || tick || mark)
            series_add_counter(&series,
                               (struct counter_reading){origin_ns + t_ns, origin_ns + t_ns + 3000,
                                                        (uint64_t)(50 * t_ns / NS_PER_MS)});
    }
    struct window_index *index = window_index_new(&series, &sensor);
    *worst_error_j = 0;
    for (int i = 0; i < EPOCHS; i++) {
        struct window_energy window;
        window_index_energy(index, origin_ns + i * epoch_ns, origin_ns + (i + 1) * epoch_ns,
                            &window);
        assert_true(window.energy_j.valid && window.half_width_j.valid);
        sum_j += window.half_width_j.value;
        *worst_error_j = fmax(*worst_error_j, fabs(window.energy_j.value - 50.0 / 3));
    }
    window_index_free(index);
    series_fini(&series);
    return sum_j / EPOCHS;
}

static void reading_at_marks_makes_short_epochs_of_a_cpu_narrow(void **state)
{
    (void)state;
    double error_j, blind_error_j;
    double half_j = epoch_half_width_j(true, &error_j),
           blind_half_j = epoch_half_width_j(false, &blind_error_j);
    assert_true(half_j < 0.2); /* of 16.7 J: 1.2 % */
    assert_true(error_j < 0.1);
    assert_true(blind_half_j > 10 * half_j);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_gpus_draw_is_the_truth_and_epochs_add_up_exactly),
        cmocka_unit_test(figures_of_a_gpu_are_those_of_its_readings_within_the_window),
        cmocka_unit_test(without_one_of_the_gpus_there_is_no_sum_and_the_reason_is_told_once),
        cmocka_unit_test(a_gpu_that_is_divided_is_named_and_not_measured_wrong),
        cmocka_unit_test(what_was_read_before_a_job_is_forgotten_but_for_the_last_seconds),
        cmocka_unit_test(at_a_mark_the_hosts_counters_are_read_once),
        cmocka_unit_test(reading_at_marks_makes_short_epochs_of_a_cpu_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
