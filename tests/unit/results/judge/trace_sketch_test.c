/* What is recognised in a trace, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "results/judge/trace_sketch.h"

enum { SAMPLES = 200 };

struct trace {
    int64_t t_s[2 * SAMPLES];
    double values[2 * SAMPLES];
};

/* Hundredths of a watt between 200 and 220 W. */
static void make(struct trace *out, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed);
    for (int i = 0; i < SAMPLES; i++) {
        out->t_s[i] = i;
        out->values[i] = (20000 + (double)(rng_next(&rng) % 2000)) / 100;
    }
}

static struct trace_sketch sketch_of(const struct trace *trace, size_t first, size_t count,
                                     int64_t origin_s)
{
    struct trace_sketch sketch;
    trace_sketch_begin(&sketch, origin_s);
    trace_sketch_add(&sketch, trace->t_s, trace->values + first, count);
    trace_sketch_end(&sketch);
    return sketch;
}

static void the_same_samples_are_recognised_at_another_time_and_in_part(void **state)
{
    (void)state;
    struct trace one, other;
    make(&one, 1);
    make(&other, 2);
    struct trace_sketch whole = sketch_of(&one, 0, SAMPLES, 1000),
                        later = sketch_of(&one, 0, SAMPLES, 90000),
                        part = sketch_of(&one, 50, 120, 1000),
                        foreign = sketch_of(&other, 0, SAMPLES, 1000);
    assert_true(trace_sketch_shares(&whole, &later));
    assert_true(whole.stamped != later.stamped && whole.times == later.times);
    assert_true(trace_sketch_shares(&whole, &part) && trace_sketch_shares(&part, &whole));
    assert_false(trace_sketch_shares(&whole, &foreign));
}

/* Five values again and again, as of an idle GPU: any two such traces are alike. */
static void a_trace_that_repeats_itself_is_no_other_one(void **state)
{
    (void)state;
    struct trace one;
    for (int i = 0; i < SAMPLES; i++) {
        one.t_s[i] = i;
        one.values[i] = 4.6 + 0.01 * (i % 5);
    }
    struct trace_sketch a = sketch_of(&one, 0, SAMPLES, 0), b = sketch_of(&one, 0, SAMPLES, 500);
    assert_false(trace_sketch_shares(&a, &b));
}

static void rows_that_are_there_twice_are_recognised_and_two_samples_a_second_are_not(void **state)
{
    (void)state;
    struct trace one, twice, fast;
    make(&one, 3);
    make(&fast, 4);
    for (int i = 0; i < SAMPLES; i++) {
        twice.t_s[i] = i / 2;
        twice.values[i] = one.values[i / 2];
        fast.t_s[i] = i / 2;
    }
    struct trace_sketch a = sketch_of(&one, 0, SAMPLES, 0), b = sketch_of(&twice, 0, SAMPLES, 0),
                        c = sketch_of(&fast, 0, SAMPLES, 0);
    assert_false(trace_sketch_repeats_rows(&a));
    assert_true(trace_sketch_repeats_rows(&b));
    assert_int_equal(b.stamps, SAMPLES / 2);
    assert_false(trace_sketch_repeats_rows(&c));
}

static void the_longest_span_without_a_change_is_kept_and_limits_the_others(void **state)
{
    (void)state;
    struct trace power, busy;
    struct still_spans still, within;
    make(&power, 5);
    for (int i = 0; i < SAMPLES; i++) {
        busy.t_s[i] = i;
        busy.values[i] = i < 150 ? 90 : 91;
        if (i >= 100 && i < 180)
            power.values[i] = 173.72;
    }
    still_spans_begin(&still, NULL);
    still_spans_add(&still, power.t_s, power.values, SAMPLES);
    still_spans_end(&still);
    assert_int_equal(still.spans[0].samples, 80);
    assert_int_equal(still.spans[0].from_s, 100);
    still_spans_begin(&within, &still);
    still_spans_add(&within, busy.t_s, busy.values, SAMPLES);
    still_spans_end(&within);
    assert_int_equal(within.spans[0].from_s, 100);
    assert_int_equal(within.spans[0].to_s, 149);
    assert_int_equal((int)within.spans[0].value, 90);
}

static void intervals_are_those_after_samples_of_a_level(void **state)
{
    (void)state;
    static const int64_t t_s[] = {0, 2, 4, 5, 6, 60};
    static const double values[] = {70, 70, 5, 5, 5, 5};
    struct trace_intervals intervals = {0};
    double awake = 0, awake_s = 0, rest = 0, rest_s = 0;
    trace_intervals_add(&intervals, t_s, values, 6);
    trace_intervals_sum(&intervals, 60, 80, &awake, &awake_s);
    trace_intervals_sum(&intervals, 0, 20, &rest, &rest_s);
    assert_int_equal((int)awake_s, 4);
    assert_int_equal((int)awake, 2);
    assert_int_equal((int)rest, 2); /* the gap of 54 s is no interval */
    assert_int_equal((int)rest_s, 2);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_samples_are_recognised_at_another_time_and_in_part),
        cmocka_unit_test(a_trace_that_repeats_itself_is_no_other_one),
        cmocka_unit_test(rows_that_are_there_twice_are_recognised_and_two_samples_a_second_are_not),
        cmocka_unit_test(the_longest_span_without_a_change_is_kept_and_limits_the_others),
        cmocka_unit_test(intervals_are_those_after_samples_of_a_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
