/* How long two trainings trained at the same time: by hand, and of curves as trainings have them,
 * against the time that is known because it was made. */
#include "sharing/overlap.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static const double GIB = 1073741824;

static struct overlap_look look(double t_s, double fore_gib, double fore_percent, double back_gib,
                                double back_percent)
{
    return (struct overlap_look){
        t_s,
        {fore_gib * GIB, back_gib * GIB},
        {{fore_percent, fore_percent >= 0}, {back_percent, back_percent >= 0}}};
}

/* 4 GiB and 2 GiB, each at 60 % alone: together more than 100, so 50 % can be expected, and 12.5
 * are enough. */
static const struct overlap_alone both[] = {{4294967296.0, 4294967296.0, {60, true}},
                                            {2147483648.0, 2147483648.0, {60, true}}};

static void looks_of_both_at_their_peaks_are_added_up(void **state)
{
    (void)state;
    const struct overlap_look looks[] = {
        look(-1, 0, 0, 2, 60), /* alone */
        look(0, 0, 0, 2, 60),    look(1, 0.4, 0, 2, 60),
        look(2, 4, 30, 2, 30),   look(3, 4, 12, 2, 76),  /* one look without load is forgiven */
        look(4, 4, 50, 2, 12.5), look(5, 4, 60, 1.7, 0), /* less than nine tenths */
        look(6, 4, 50, 2, 50),   look(7, 0, 0, 2, 60),
    };
    struct overlap out;
    overlap_measure(looks, 9, both, &out);
    /* The looks at 2, 3, 4 and 6 stand for a second each. */
    assert_true(fabs(out.seconds - 4) < 1e-12);
    assert_int_equal(out.looks, 4);
    assert_int_equal(out.at_peaks, 4);
    assert_true(out.together_bytes == 6 * GIB);
    assert_true(out.first_s[FOREGROUND].value == 2 && out.first_s[BACKGROUND].value == -1);
}

static void the_ends_stand_for_half_and_a_gap_for_no_more_than_is_usual(void **state)
{
    (void)state;
    /* Gaps of 1, 1, 1 and 20 s: the median is 1 s, so the last ones stand for 0.75 s of the gap. */
    const struct overlap_look looks[] = {look(0, 4, 50, 2, 50), look(1, 4, 50, 2, 50),
                                         look(2, 4, 50, 2, 50), look(3, 4, 50, 2, 50),
                                         look(23, 4, 50, 2, 50)};
    struct overlap out;
    overlap_measure(looks, 5, both, &out);
    assert_true(fabs(out.seconds - (0.5 + 1 + 1 + 0.5 + 0.75 + 0.75)) < 1e-12);
}

static void what_alternates_never_meets(void **state)
{
    (void)state;
    struct overlap_look looks[60];
    for (int i = 0; i < 60; i++)
        looks[i] = i / 10 % 2 ? look(i, 4, 60, 0.3, 5) : look(i, 0.4, 5, 2, 60);
    struct overlap out;
    overlap_measure(looks, 60, both, &out);
    assert_true(out.seconds == 0 && out.looks == 0 && out.at_peaks == 0 && out.together_bytes == 0);
    assert_true(out.first_s[FOREGROUND].value == 10 && out.first_s[BACKGROUND].value == 0);
}

static void memory_without_load_is_no_training(void **state)
{
    (void)state;
    struct overlap_look looks[20];
    struct overlap out;
    for (int i = 0; i < 20; i++)
        looks[i] = look(i, 4, 60, 2, 0);
    overlap_measure(looks, 20, both, &out);
    assert_true(out.seconds == 0 && !out.first_s[BACKGROUND].valid);
    /* Nobody tells. */
    for (int i = 0; i < 20; i++)
        looks[i] = look(i, 4, 60, 2, -1);
    overlap_measure(looks, 20, both, &out);
    assert_true(out.seconds == 0);
    /* Not known alone: what was never seen is never reached. */
    const struct overlap_alone unknown[] = {both[0], {0, 0, {0, false}}};
    for (int i = 0; i < 20; i++)
        looks[i] = look(i, 4, 50, 2, 50);
    overlap_measure(looks, 20, unknown, &out);
    assert_true(out.seconds == 0 && out.first_s[FOREGROUND].valid);
}

static void a_small_load_alone_is_enough_beside_the_other(void **state)
{
    (void)state;
    /* 98 % and 6 %: of 104 the second can expect 5.77, and a quarter of that is enough. */
    const struct overlap_alone uneven[] = {{4294967296.0, 4294967296.0, {98, true}},
                                           {2147483648.0, 2147483648.0, {6, true}}};
    const struct overlap_look looks[] = {look(0, 4, 90, 2, 1.5), look(1, 4, 90, 2, 1.5),
                                         look(2, 4, 90, 2, 1.4), look(3, 4, 90, 2, 1.4)};
    struct overlap out;
    overlap_measure(looks, 4, uneven, &out);
    assert_int_equal(out.looks, 2);
    assert_true(fabs(out.seconds - 1.5) < 1e-12);
}

static void a_peak_above_the_steady_state_must_be_met_too(void **state)
{
    (void)state;
    /* The foreground trains with 4 GiB and evaluates with 6. */
    const struct overlap_alone high[] = {{4294967296.0, 6442450944.0, {60, true}},
                                         both[BACKGROUND]};
    struct overlap_look looks[] = {look(0, 4, 50, 2, 50), look(1, 4, 50, 2, 50),
                                   look(2, 6, 50, 1, 50)};
    struct overlap out;
    overlap_measure(looks, 3, high, &out);
    assert_int_equal(out.looks, 2);
    assert_int_equal(out.at_peaks, 0);
    looks[2].bytes[BACKGROUND] = 2 * GIB;
    overlap_measure(looks, 3, high, &out);
    assert_int_equal(out.at_peaks, 1);
    assert_true(out.together_bytes == 8 * GIB);
}

static void starts_are_aligned(void **state)
{
    (void)state;
    const double later[] = {[FOREGROUND] = 2, [BACKGROUND] = 9},
                 sooner[] = {[FOREGROUND] = 9, [BACKGROUND] = 2};
    assert_true(overlap_start_after(later, 12) == 7);
    /* 7 s before the background: so 5 s after it, for its second loop. */
    assert_true(overlap_start_after(sooner, 12) == 5);
    /* And its fifth: 4 * 2 - 7. */
    assert_true(overlap_start_after(sooner, 2) == 1);
    assert_true(overlap_start_after(sooner, 0) == 0);
}

static void looks_that_are_no_numbers_are_left_out(void **state)
{
    (void)state;
    static const char text[] = "{\"t_s\": [-1, 0, \"x\", 0.5, 0.2, 1], \"foreground_bytes\": [1, "
                               "2, 3, 1e99, 5, 6], \"background_bytes\": "
                               "[1, 2, 3, 4, 5, 6], \"foreground_percent\": [null, 1, 2, 3, 4, 5], "
                               "\"background_percent\": [0, 1]}";
    json_t *json = json_loads(text, 0, NULL);
    size_t count;
    struct overlap_look *looks = overlap_looks_from_json(json, &count);
    assert_int_equal(count, 4);
    assert_true(looks[0].t_s == -1 && !looks[0].percent[0].valid && looks[0].percent[1].valid);
    assert_true(looks[2].t_s == 0.2 && looks[3].bytes[1] == 6 && !looks[3].percent[1].valid);
    free(looks);
    json_decref(json);
    assert_null(overlap_looks_from_json(NULL, &count));
    assert_int_equal(count, 0);
}

/* A training as it is started again and again: it imports, with nothing on the GPU; its context and
 * model are there; it trains; it is gone until its next start. */
struct played {
    double begins_s, imports_s, loads_s, trains_s, pause_s;
    double bytes, percent;
};

static double into(const struct played *of, double t_s)
{
    double period_s = of->imports_s + of->loads_s + of->trains_s + of->pause_s;
    return t_s < of->begins_s ? -1 : fmod(t_s - of->begins_s, period_s);
}

static bool is_training(const struct played *of, double t_s)
{
    double at_s = into(of, t_s), from_s = of->imports_s + of->loads_s;
    return at_s >= from_s && at_s < from_s + of->trains_s;
}

/* As the driver tells of it: the load of a moment goes up and down, and sometimes there is none. */
static void tell(const struct played *of, double t_s, double share, struct rng *rng, double *bytes,
                 struct reading *percent)
{
    double at_s = into(of, t_s);
    bool trains = is_training(of, t_s), there = at_s >= of->imports_s;
    *bytes = trains ? of->bytes : there && at_s < of->imports_s + of->loads_s ? 0.5 * GIB : 0;
    double load = trains ? of->percent * share * (0.8 + 0.4 * rng_unit(rng)) : 0;
    *percent = (struct reading){rng_unit(rng) < 0.05 ? 0 : floor(load), true};
}

static void overlap_of_played_trainings_is_the_time_that_was_played(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 18);
    double error_s = 0, played_s = 0;
    for (int round = 0; round < 300; round++) {
        const struct played of[] = {{0, 2 + 8 * rng_unit(&rng), 0.5, 2 + 30 * rng_unit(&rng), 1000,
                                     4 * GIB, 20 + 75 * rng_unit(&rng)},
                                    {-20 * rng_unit(&rng), 2 + 8 * rng_unit(&rng), 0.5,
                                     2 + 20 * rng_unit(&rng), 2, 2 * GIB,
                                     20 + 75 * rng_unit(&rng)}};
        const struct overlap_alone alone[] = {{of[0].bytes, of[0].bytes, {of[0].percent, true}},
                                              {of[1].bytes, of[1].bytes, {of[1].percent, true}}};
        double sum = of[0].percent + of[1].percent,
               end_s = of[0].imports_s + of[0].loads_s + of[0].trains_s;
        struct overlap_look looks[200];
        size_t count = 0;
        for (double t_s = of[1].begins_s; t_s < end_s && count < 200;
             t_s += 0.95 + 0.1 * rng_unit(&rng), count++) {
            bool beside = is_training(&of[0], t_s) && is_training(&of[1], t_s);
            looks[count].t_s = t_s;
            for (int side = 0; side < 2; side++)
                tell(&of[side], t_s, beside && sum > 100 ? 100 / sum : 1, &rng,
                     &looks[count].bytes[side], &looks[count].percent[side]);
        }
        struct overlap out;
        overlap_measure(looks, count, alone, &out);
        double truth_s = 0;
        for (double t_s = 0; t_s < end_s; t_s += 0.001)
            truth_s += is_training(&of[0], t_s) && is_training(&of[1], t_s) ? 0.001 : 0;
        if (truth_s < 0.001)
            assert_int_equal(out.looks, 0);
        error_s += out.seconds - truth_s;
        played_s += truth_s;
    }
    /* Looks without load at the ends, and two in a row, are missing; nothing is ever added. */
    assert_true(played_s > 1000);
    assert_true(error_s <= 0.01 * played_s && error_s >= -0.06 * played_s);
}

/* Two short trainings that import for most of their time: with starts that are aligned they meet in
 * every round. */
static void aligned_starts_bring_short_trainings_together(void **state)
{
    (void)state;
    for (double late_s = -0.5; late_s <= 0.5; late_s += 0.25) {
        const double startup[] = {[FOREGROUND] = 9, [BACKGROUND] = 6};
        double after_s = overlap_start_after(startup, 6 + 3 + 2);
        /* The background's training is from 6 to 9 s and from 17 to 20 s after its start, the
         * foreground's from 9 to 12 s after its own, give or take. */
        const struct played fore = {after_s, 9 + late_s, 0, 3, 1000, 0, 0},
                            back = {0, 6, 0, 3, 2, 0, 0};
        double both_s = 0;
        for (double t_s = 0; t_s < 60; t_s += 0.001)
            both_s += is_training(&fore, t_s) && is_training(&back, t_s) ? 0.001 : 0;
        assert_true(after_s == 8);
        assert_true(fabs(both_s - (3 - fabs(late_s))) < 0.01);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_of_both_at_their_peaks_are_added_up),
        cmocka_unit_test(the_ends_stand_for_half_and_a_gap_for_no_more_than_is_usual),
        cmocka_unit_test(what_alternates_never_meets),
        cmocka_unit_test(memory_without_load_is_no_training),
        cmocka_unit_test(a_small_load_alone_is_enough_beside_the_other),
        cmocka_unit_test(a_peak_above_the_steady_state_must_be_met_too),
        cmocka_unit_test(starts_are_aligned),
        cmocka_unit_test(looks_that_are_no_numbers_are_left_out),
        cmocka_unit_test(overlap_of_played_trainings_is_the_time_that_was_played),
        cmocka_unit_test(aligned_starts_bring_short_trainings_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
