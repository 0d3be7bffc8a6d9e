/* Other sensors than the best one: samples that are means, no trace, no counter, RAPL. Intervals
 * may be too wide there, not too narrow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "truth.h"

static struct truth other(const char *name, bool dense)
{
    struct truth truth = truth_usual(name, dense);
    truth.windows = 2000;
    truth.least = 0.92; /* 93, less what 2000 windows leave to chance */
    truth.most = 1;
    return truth;
}

static void samples_that_are_means_of_an_unknown_span_widen_the_bounds(void **state)
{
    (void)state;
    struct truth truth = other("means of up to 100 ms, edges read densely", true);
    truth.random_span = true;
    truth.sensor.span_max_ns = window_sensor_gpu.span_max_ns;
    truth_hold(&truth);
    truth.name = "means of up to 100 ms, within an attempt";
    truth.dense = false;
    truth.windows_in_series = 100;
    truth_hold(&truth);
}

static void samples_that_may_be_means_but_are_instants_are_found_to_be_so(void **state)
{
    (void)state;
    struct truth truth = other("instants, unknown to be", true);
    truth.sensor.span_max_ns = window_sensor_gpu.span_max_ns;
    truth.most = 0.985;
    truth_hold(&truth);
}

/* As a run has it: one window, two dense readings, and nothing else to learn from. */
static void a_single_window_is_enough(void **state)
{
    (void)state;
    struct truth truth = other("the only window of its series", true);
    truth.windows = 1500;
    truth.windows_in_series = 1;
    truth.length_s = 70;
    truth.most = 0.99;
    truth.widest = 0.003;
    truth.sensor.span_max_ns = window_sensor_gpu.span_max_ns;
    truth_hold(&truth);
}

static void without_a_trace_the_counter_is_interpolated(void **state)
{
    (void)state;
    struct truth truth = other("no trace, edges read densely", true);
    truth.simulation.sample_max_s = 0;
    truth.widest = 0.01;
    truth_hold(&truth);
    truth = other("no trace, within an attempt", false);
    truth.simulation.sample_max_s = 0;
    truth.widest = 0.05;
    truth_hold(&truth);
}

static void without_a_counter_the_trace_is_integrated(void **state)
{
    (void)state;
    struct truth truth = other("no counter", false);
    truth.blind = true;
    truth.simulation.gain_sd = 0; /* the sensor's own, which no reading can tell */
    truth.widest = 0.015;
    truth_hold(&truth);
}

/* As on an H200, whose samples showed 5 % too much of a square wave of 20 ms: they outweigh a
 * counter that is read once a second. */
static void samples_that_beat_with_the_load_do_not_outvote_the_counter(void **state)
{
    (void)state;
    struct truth truth = other("samples beat with the load", false);
    truth.beat_share = 0.05;
    truth.shortest_s = 2;
    truth.longest_s = 15;
    truth.widest = 0.02;
    truth_hold(&truth);
}

static void rapl_needs_no_trace(void **state)
{
    (void)state;
    struct truth truth = other("RAPL, read at the edges", true);
    truth.simulation = (struct simulation){.period_s = 0.001,
                                           .jitter_s = 0.00003,
                                           .call_s = 0.000003,
                                           .call_worst_s = 0.00005,
                                           .every_s = 1,
                                           .dither_s = 0.05};
    truth.sensor = window_sensor_rapl;
    truth.sensor.power_limit_w = 800;
    truth.windows = 1000;
    truth_hold(&truth);
}

/* Readings that keep step with the counter all err to the same side. This is why the meter spreads
 * them (docs/explanation/uncertainty.md). */
static void reading_in_step_with_the_counter_costs_coverage(void **state)
{
    (void)state;
    struct truth truth = other("readings in step with the counter", false);
    truth.simulation.dither_s = 0;
    truth.least = 0.85;
    truth.widest = 0.006;
    truth_hold(&truth);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_are_means_of_an_unknown_span_widen_the_bounds),
        cmocka_unit_test(samples_that_may_be_means_but_are_instants_are_found_to_be_so),
        cmocka_unit_test(a_single_window_is_enough),
        cmocka_unit_test(without_a_trace_the_counter_is_interpolated),
        cmocka_unit_test(without_a_counter_the_trace_is_integrated),
        cmocka_unit_test(samples_that_beat_with_the_load_do_not_outvote_the_counter),
        cmocka_unit_test(rapl_needs_no_trace),
        cmocka_unit_test(reading_in_step_with_the_counter_costs_coverage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
