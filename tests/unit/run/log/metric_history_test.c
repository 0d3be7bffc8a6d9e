/* What is kept of a metric's matches: all of them while there are few; of many the first, the last
 * and the best, in their order. */
#include "run/log/metric_history.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

/* The value of a match, made anew whenever it is asked for. */
static double value_of(uint64_t step)
{
    uint64_t mixed = step * UINT64_C(0x9E3779B97F4A7C15);
    return (double)(mixed >> 40) + 0.25;
}

static struct metric_history made(uint64_t count, size_t metrics)
{
    struct metric_history history;
    metric_history_init(&history, metrics);
    for (uint64_t step = 1; step <= count; step++)
        metric_history_add(
            &history, (struct metric_point){.t_ns = (int64_t)step * 7, .value = value_of(step)});
    return history;
}

static void all_matches_are_kept_until_it_is_full(void **state)
{
    (void)state;
    struct metric_history history = made(HISTORY_POINTS_MAX, 1);
    assert_int_equal(history.count, HISTORY_POINTS_MAX);
    for (size_t i = 0; i < history.count; i++) {
        assert_int_equal(history.points[i].step, i + 1);
        assert_true(history.points[i].value == value_of(i + 1));
        assert_int_equal(history.points[i].t_ns, 7 * (i + 1));
    }
    metric_history_fini(&history);
}

/* Against the matches themselves: what is there is what was added, in its order; both ends and both
 * extremes are among it; no two neighbours are further apart than a cell. */
static void assert_faithful(const struct metric_history *history, uint64_t count)
{
    double low = INFINITY, high = -INFINITY, kept_low = INFINITY, kept_high = -INFINITY;
    for (uint64_t step = 1; step <= count; step++) {
        low = fmin(low, value_of(step));
        high = fmax(high, value_of(step));
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct metric_point *point = &history->points[i];
        assert_true(point->value == value_of(point->step));
        assert_int_equal(point->t_ns, 7 * point->step);
        kept_low = fmin(kept_low, point->value);
        kept_high = fmax(kept_high, point->value);
        if (i > 0) {
            assert_true(point->step > point[-1].step);
            assert_true(point->step - point[-1].step <= (history->stride ? history->stride : 1));
        }
    }
    assert_int_equal(history->points[0].step, 1);
    assert_int_equal(history->points[history->count - 1].step, count);
    assert_true(kept_low == low && kept_high == high);
    assert_int_equal(history->matches, count);
    assert_true(history->count <= history->limit);
}

static void of_many_matches_the_ends_and_the_best_are_kept_in_constant_memory(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1,    2,    1024,  1025,   1026,   2000,
                                      2049, 5000, 65537, 100000, 1000003};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t metrics = 1; metrics <= 100000; metrics *= 100) {
            struct metric_history history = made(counts[i], metrics);
            assert_faithful(&history, counts[i]);
            assert_true(malloc_usable_size(history.points) <=
                        2 * HISTORY_POINTS_MAX * sizeof *history.points + 64);
            metric_history_fini(&history);
        }
}

static void ten_million_matches_keep_a_best_that_came_once(void **state)
{
    (void)state;
    struct metric_history history;
    metric_history_init(&history, 1);
    for (uint64_t step = 1; step <= 10000000; step++)
        metric_history_add(&history, (struct metric_point){.value = step == 1234567   ? 0.125
                                                                    : step == 7654321 ? 9.5
                                                                                      : 1});
    bool low = false, high = false;
    for (size_t i = 0; i < history.count; i++) {
        low = low || (history.points[i].step == 1234567 && history.points[i].value == 0.125);
        high = high || (history.points[i].step == 7654321 && history.points[i].value == 9.5);
    }
    assert_true(low && high);
    assert_true(history.count <= HISTORY_POINTS_MAX && history.count >= HISTORY_POINTS_MAX / 8);
    metric_history_fini(&history);
}

/* A training that diverged says so, and nothing but a finite number is the lowest or the
 * highest. */
static void what_is_no_finite_number_is_kept_beside_the_extremes(void **state)
{
    (void)state;
    struct metric_history history;
    metric_history_init(&history, 1);
    for (uint64_t step = 1; step <= 50000; step++)
        metric_history_add(&history, (struct metric_point){.value = step == 1000   ? NAN
                                                                    : step > 40000 ? INFINITY
                                                                                   : (double)step});
    size_t nans = 0, infinities = 0;
    double high = 0;
    for (size_t i = 0; i < history.count; i++) {
        double value = history.points[i].value;
        nans += isnan(value) != 0;
        infinities += isinf(value) != 0;
        high = isfinite(value) ? fmax(high, value) : high;
    }
    assert_int_equal(nans, 1);
    assert_true(infinities > 10);
    assert_true(high == 40000);
    metric_history_fini(&history);
}

static struct mark mark(const char *name, const char *label, bool is_end)
{
    struct mark mark = {.is_end = is_end};
    strcpy(mark.name, name);
    strcpy(mark.label, label);
    return mark;
}

static void epochs_have_the_number_of_their_label_or_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *name, *label;
        bool is_end;
        bool known;
        int64_t number;
    } steps[] = {
        {"fold", "7", false, false, 0},  {"epoch", "", true, true, 1},
        {"epoch", "", true, true, 2},    {"epoch", "12", false, true, 12},
        {"epoch", "12", true, true, 12}, {"Epoch", "0", false, true, 0},
        {"epoch", "x3", false, true, 3}, {"epoch", "99999999999999999999", false, true, 4},
        {"step", "5", false, true, 4},
    };
    struct metric_epoch epoch = {0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct mark one = mark(steps[i].name, steps[i].label, steps[i].is_end);
        metric_epoch_update(&epoch, &one);
        assert_int_equal(epoch.known, steps[i].known);
        assert_int_equal(epoch.number, steps[i].number);
    }
}

static void no_mark(void *context, const struct mark *mark)
{
    (void)context;
    (void)mark;
}

/* However the bytes come: lines of several epochs at once, or byte by byte. */
static void each_match_knows_its_epoch_and_its_time(void **state)
{
    (void)state;
    static const char text[] =
        "loss 9\nEpoch 1\nloss 8\nloss 7\nEpoch 2\nloss nan\nacc 0.5\nEpoch 3\nloss 6\nloss x\n";
    static const int64_t epochs[] = {0, 1, 1, 2, 3};
    static const double values[] = {9, 8, 7, NAN, 6};
    const struct joblog_pattern patterns[] = {{JOBLOG_METRIC, "loss", "loss (\\S+)"},
                                              {JOBLOG_METRIC, "acc", "acc (\\S+)"},
                                              {JOBLOG_MARK_START, "epoch", "^Epoch (\\d+)"}};
    for (size_t piece = 1; piece <= sizeof text; piece += sizeof text - 1) {
        struct err err = {0};
        struct joblog_options options = {.log_fd = -1,
                                         .times_fd = -1,
                                         .start_ns = 1000,
                                         .patterns = patterns,
                                         .pattern_count = 3,
                                         .mark = no_mark};
        struct joblog *log = joblog_new(&options, &err);
        assert_non_null(log);
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t count = sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece;
            assert_true(joblog_add_bytes(log, text + at, count, 5000, &err));
        }
        assert_true(joblog_end(log, 5000, &err));
        const struct metric_history *loss = joblog_history(log, 0), *acc = joblog_history(log, 1);
        assert_int_equal(loss->count, 5); /* "x" is no number */
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(loss->points[i].step, i + 1);
            assert_int_equal(loss->points[i].has_epoch, i > 0);
            assert_int_equal(loss->points[i].epoch, epochs[i]);
            assert_true(isnan(values[i]) ? isnan(loss->points[i].value)
                                         : loss->points[i].value == values[i]);
            assert_int_equal(loss->points[i].t_ns, 5000);
        }
        assert_int_equal(acc->count, 1);
        assert_int_equal(acc->points[0].epoch, 2);
        joblog_free(log);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_matches_are_kept_until_it_is_full),
        cmocka_unit_test(of_many_matches_the_ends_and_the_best_are_kept_in_constant_memory),
        cmocka_unit_test(ten_million_matches_keep_a_best_that_came_once),
        cmocka_unit_test(what_is_no_finite_number_is_kept_beside_the_extremes),
        cmocka_unit_test(epochs_have_the_number_of_their_label_or_are_counted),
        cmocka_unit_test(each_match_knows_its_epoch_and_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
