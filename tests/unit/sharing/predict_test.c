/* Two curves against each other: by hand, and what must hold for all curves. */
#include "sharing/predict.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

static const double GIB = 1073741824;

static struct memory_curve made(const double *points, size_t count)
{
    struct memory_curve curve = {.step_s = 1, .count = count, .any = count > 0};
    for (size_t i = 0; i < count; i++) {
        curve.points[i] = points[i];
        curve.peak_bytes = fmax(curve.peak_bytes, points[i]);
    }
    return curve;
}

/* The background's peak is in its first two seconds and it lasts 40; the foreground starts 10 s
 * after it and lasts 4. */
static void a_peak_that_is_over_before_the_foreground_starts_does_not_count(void **state)
{
    (void)state;
    double back[40], fore[] = {100, 300, 300, 300};
    for (size_t i = 0; i < 40; i++)
        back[i] = i < 2 ? 900 : 200;
    struct memory_curve f = made(fore, 4), b = made(back, 40);
    struct pairs_timing timing = {10, 12, 0, 1};
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 900);
    /* 300 and 200 beside each other are less than the background's peak when it is alone. */
    back[30] = 700;
    b = made(back, 40);
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 900);
    /* Up to three times slower the foreground meets the second at 30 s: it ends no earlier than 10
     * + 4 * 3 = 22: not yet. */
    timing.slowdown_max = 3;
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 900);
    /* At 5 times it does: 300 + 700. */
    timing.slowdown_max = 5;
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 1000);
}

static void a_background_that_is_started_again_brings_its_peak_again(void **state)
{
    (void)state;
    double back[] = {50, 50, 900, 50, 50, 50, 50, 50, 50, 50}, fore[20];
    for (size_t i = 0; i < 20; i++)
        fore[i] = i == 19 ? 300 : 10;
    struct memory_curve f = made(fore, 20), b = made(back, 10);
    /* Started at 5 s of the first loop the foreground's last second, its 19th, is 24 s, or 4 s of
     * the third loop; the looks may be off by one. */
    struct pairs_timing timing = {5, 5, 0, 1};
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 910);
    /* 3 s earlier it meets the peak. */
    timing.lead_low_s = timing.lead_high_s = 3;
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 1200);
    /* And so it does when the start may be anywhere. */
    timing.lead_low_s = 0;
    timing.lead_high_s = 10;
    assert_true(pairs_aligned_peak(&f, &b, &timing) == 1200);
}

static struct memory_curve random_curve(struct rng *rng)
{
    double points[60];
    size_t count = 1 + (size_t)rng_below(rng, 60);
    for (size_t i = 0; i < count; i++)
        points[i] = rng_below(rng, 5) == 0 ? -1 : (double)rng_below(rng, 1000);
    points[rng_below(rng, count)] = (double)(1 + rng_below(rng, 1000));
    return made(points, count);
}

/* The sum at one alignment, second by second. */
static double sum_at(const struct memory_curve *f, const struct memory_curve *b, size_t lead)
{
    double most = 0;
    for (size_t t = 0; t < f->count; t++) {
        double x = f->points[t], y = b->points[(t + lead) % b->count];
        most = fmax(most, fmax(x, 0) + fmax(y, 0));
    }
    return most;
}

static void the_peak_in_time_lies_between_every_alignment_and_the_safe_bound(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 20261121);
    for (int round = 0; round < 3000; round++) {
        struct memory_curve f = random_curve(&rng), b = random_curve(&rng);
        size_t lead = (size_t)rng_below(&rng, 100);
        struct pairs_timing timing = {(double)lead, (double)lead, 0, 1};
        double exact = pairs_aligned_peak(&f, &b, &timing), safe = f.peak_bytes + b.peak_bytes;
        assert_true(exact >= sum_at(&f, &b, lead) && exact <= safe);
        /* What is less certain is never less. */
        timing.lead_high_s += (double)rng_below(&rng, 50);
        double wider = pairs_aligned_peak(&f, &b, &timing);
        assert_true(wider >= exact && wider <= safe);
        timing.slowdown_max = 1 + (double)rng_below(&rng, 4);
        double slower = pairs_aligned_peak(&f, &b, &timing);
        assert_true(slower >= wider && slower <= safe);
        /* Whenever it may start, the peaks can meet. */
        struct pairs_timing any = {0, (double)b.count, 0, 1};
        assert_true(pairs_aligned_peak(&f, &b, &any) == safe);
    }
}

static struct pairs_prediction predicted(double fore, double back, double total, double available)
{
    struct pairs_prediction out;
    struct memory_curve f = made(&fore, 1), b = made(&back, 1);
    struct pairs_timing timing = {0, 10, 0, 3};
    struct pairs_room room = {total, available};
    pairs_predict(&f, 0, &b, 0, &timing, &room, &out);
    return out;
}

/* The study's figures: of 8 GB up to 1.3, 2.7, 4.0. */
static void tiers_are_the_studys(void **state)
{
    (void)state;
    assert_int_equal(pairs_tier_of(1.3, 8), TIER_ULTRA_LOW);
    assert_int_equal(pairs_tier_of(1.31, 8), TIER_LOW);
    assert_int_equal(pairs_tier_of(2.7, 8), TIER_LOW);
    assert_int_equal(pairs_tier_of(2.71, 8), TIER_MEDIUM);
    assert_int_equal(pairs_tier_of(4.0, 8), TIER_MEDIUM);
    assert_int_equal(pairs_tier_of(4.01, 8), TIER_HIGH);
    /* As fractions: of 80 ten times as much. */
    assert_int_equal(pairs_tier_of(27, 80), TIER_LOW);
    assert_string_equal(pairs_tier_name(TIER_ULTRA_LOW), "ultra-low");
    assert_string_equal(pairs_risk_name(RISK_HIGH), "high risk");
}

static void up_to_94_percent_is_stable_and_up_to_what_is_free_it_fits(void **state)
{
    (void)state;
    struct pairs_prediction p = predicted(3.5 * GIB, 4 * GIB, 8 * GIB, 8 * GIB); /* 93.75 % */
    assert_true(p.known && p.fits && p.risk == RISK_STABLE);
    p = predicted(3.6 * GIB, 4 * GIB, 8 * GIB, 8 * GIB); /* 95 % */
    assert_true(p.fits && p.risk == RISK_HIGH);
    p = predicted(4.1 * GIB, 4 * GIB, 8 * GIB, 8 * GIB);
    assert_true(!p.fits && p.risk == RISK_HIGH);
    /* 7.5 GiB of 8, of which only 7.4 are free. */
    p = predicted(3.5 * GIB, 4 * GIB, 8 * GIB, 7.4 * GIB);
    assert_true(!p.fits && p.risk == RISK_HIGH);
}

static void peaks_that_do_not_meet_are_usable(void **state)
{
    (void)state;
    double back[40], fore[] = {3 * GIB, 3 * GIB};
    for (size_t i = 0; i < 40; i++)
        back[i] = i < 2 ? 6 * GIB : 2 * GIB;
    struct memory_curve f = made(fore, 2), b = made(back, 40);
    struct pairs_timing timing = {10, 12, 0, 2};
    struct pairs_room room = {8 * GIB, 8 * GIB};
    struct pairs_prediction p;
    pairs_predict(&f, 0, &b, 0, &timing, &room, &p);
    assert_true(p.safe_bytes == 9 * GIB && p.aligned_bytes == 6 * GIB);
    assert_true(p.fits && p.risk == RISK_USABLE && p.tier == TIER_HIGH);
    /* Margins of 1.6 GiB: 7.6 are more than 94 %, but there are 8. */
    pairs_predict(&f, 1 * GIB, &b, 0.6 * GIB, &timing, &room, &p);
    assert_true(p.fits && p.risk == RISK_HIGH && fabs(p.margin_bytes - 1.6 * GIB) < 1);
    /* Of 2.1: too much. */
    pairs_predict(&f, 1.5 * GIB, &b, 0.6 * GIB, &timing, &room, &p);
    assert_false(p.fits);
}

static void without_a_measurement_nothing_is_foretold(void **state)
{
    (void)state;
    struct memory_curve none = {0};
    double one = 5;
    struct memory_curve f = made(&one, 1);
    struct pairs_timing timing = {0, 0, 0, 1};
    struct pairs_room room = {8, 8}, unknown = {0, 0};
    struct pairs_prediction p;
    pairs_predict(&f, 0, &none, 0, &timing, &room, &p);
    assert_false(p.known);
    pairs_predict(&f, 0, &f, 0, &timing, &unknown, &p);
    assert_false(p.known);
}

static void the_margin_is_the_spread_and_never_nothing(void **state)
{
    (void)state;
    const double MIB = 1048576;
    assert_true(pairs_margin(0, 0, 0) == 0);
    assert_true(pairs_margin(500 * MIB, 500 * MIB, 0) == 16 * MIB);
    assert_true(pairs_margin(5000 * MIB, 5000 * MIB, 0) == 50 * MIB);
    assert_true(pairs_margin(4800 * MIB, 5000 * MIB, 0) == 200 * MIB);
    assert_true(pairs_margin(4800 * MIB, 5000 * MIB, 300 * MIB) == 300 * MIB);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peak_that_is_over_before_the_foreground_starts_does_not_count),
        cmocka_unit_test(a_background_that_is_started_again_brings_its_peak_again),
        cmocka_unit_test(the_peak_in_time_lies_between_every_alignment_and_the_safe_bound),
        cmocka_unit_test(tiers_are_the_studys),
        cmocka_unit_test(up_to_94_percent_is_stable_and_up_to_what_is_free_it_fits),
        cmocka_unit_test(peaks_that_do_not_meet_are_usable),
        cmocka_unit_test(without_a_measurement_nothing_is_foretold),
        cmocka_unit_test(the_margin_is_the_spread_and_never_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
