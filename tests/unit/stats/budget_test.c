/* Published figures: JCGM 100:2008 (GUM 1995 with minor corrections), examples G.4.1 and H.1 (table
 * H.1). Student's quantiles: scipy.stats.t.ppf, scipy 1.10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "stats/budget.h"
#include "stats/interval.h"

#include <math.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static void add(struct budget *budget, double u, double sensitivity, double df)
{
    budget_add(budget, (struct budget_component){.name = "x",
                                                 .source = "test",
                                                 .type = BUDGET_A,
                                                 .unit = "nm",
                                                 .known = true,
                                                 .u = u,
                                                 .sensitivity = sensitivity,
                                                 .df = df});
}

/* H.1.3.2: the comparison of two end gauges: 5.8 nm of 24, 3.9 nm of 5, 6.7 nm of 8 degrees of
 * freedom make 9.7 nm of 25.6. The guide rounds to 9.7 nm before it takes the fourth power: 25.4
 * without that. */
static void gum_h1_difference_of_the_energy_meters(void **state)
{
    (void)state;
    struct budget budget = {0};
    add(&budget, 5.8, 1, 24);
    add(&budget, 3.9, 1, 5);
    add(&budget, 6.7, 1, 8);
    struct budget_sum sum = budget_combine(&budget, 0.99);
    near(sum.u, 9.7, 0.05);
    near(sum.df, 25.6, 0.2);
}

/* Table H.1: standard 25 nm (18), difference 9.7 nm (25.6), expansion 0.58e-6 /°C (50) times -l·θ
 * = 5.0e6 nm °C, which is 2.9 nm, temperature 0.029 °C (2) times -l·α = 575 nm/°C, 16.6 nm;
 * coefficients of 0 for the expansion itself and the bed's temperature. u = 32 nm, ν = 16, t99(16)
 * = 2.92, U99 = 93 nm. The guide multiplies rounded figures: 2.92 · 32 nm. */
static void gum_h1_end_energy_meters(void **state)
{
    (void)state;
    struct budget budget = {0};
    add(&budget, 25, 1, 18);
    add(&budget, 9.7, 1, 25.6);
    add(&budget, 1.2e-6, 0, INFINITY);
    add(&budget, 0.41, 0, INFINITY);
    add(&budget, 0.58e-6, -5.0e6, 50);
    add(&budget, 0.029, -575, 2);
    near(budget_contribution(&budget.items[4]), 2.9, 0.05);
    near(budget_contribution(&budget.items[5]), 16.6, 0.1);
    struct budget_sum sum = budget_combine(&budget, 0.99);
    assert_true(sum.complete);
    near(sum.u, 32, 0.5);
    near(floor(sum.df), 16, 0);
    near(sum.k, 2.92, 0.005);
    near(sum.expanded, 93, 1);
}

/* G.4.1: 0.25 % of 10 readings, 0.57 % of 5, 0.82 % of 15 make 1.03 %, ν = 19.0, t95(19) = 2.09,
 * U95 = 2.2 %. */
static void gum_g41_product_of_three(void **state)
{
    (void)state;
    struct budget budget = {0};
    add(&budget, 0.25, 1, 9);
    add(&budget, 0.57, 1, 4);
    add(&budget, 0.82, 1, 14);
    struct budget_sum sum = budget_combine(&budget, STATS_CONFIDENCE);
    near(sum.u, 1.03, 0.005);
    near(sum.df, 19.0, 0.05);
    near(sum.k, 2.09, 0.005);
    near(sum.expanded, 2.2, 0.05);
}

static void coverage_factors_are_students(void **state)
{
    (void)state;
    static const struct {
        double df, k;
    } rows[] = {
        {1, 12.706204736432095},       {2, 4.302652729911275},     {3, 3.182446305284263},
        {9, 2.2621571627409915},       {19, 2.093024054408263},    {50, 2.008559109715206},
        {100, 1.9839715184496334},     {16.9, 2.1199052992210112}, {0.4, 12.706204736432095},
        {INFINITY, 1.959963984540054},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct budget budget = {0};
        add(&budget, 3, 2, rows[i].df);
        struct budget_sum sum = budget_combine(&budget, STATS_CONFIDENCE);
        near(sum.u, 6, 1e-12);
        near(sum.k, rows[i].k, 1e-8);
        near(sum.expanded, 6 * rows[i].k, 1e-7);
    }
}

/* A component that is exact takes degrees of freedom from nobody: 3 and 4 make 5; 5⁴ / (3⁴ / 9)
 * = 69.4. */
static void exact_components_add_degrees_of_freedom(void **state)
{
    (void)state;
    struct budget budget = {0};
    add(&budget, 3, 1, 9);
    add(&budget, 4, -1, INFINITY);
    struct budget_sum sum = budget_combine(&budget, STATS_CONFIDENCE);
    near(sum.u, 5, 1e-12);
    near(sum.df, 625.0 / 9, 1e-9);
}

static void what_is_not_known_makes_the_budget_incomplete_and_is_no_zero(void **state)
{
    (void)state;
    struct budget budget = {0};
    add(&budget, 3, 1, INFINITY);
    budget_add(&budget, (struct budget_component){.name = "gain",
                                                  .source = "nobody states it",
                                                  .type = BUDGET_B,
                                                  .unit = "1",
                                                  .sensitivity = 100,
                                                  .df = INFINITY});
    struct budget_sum sum = budget_combine(&budget, STATS_CONFIDENCE);
    assert_false(sum.complete);
    near(sum.u, 3, 1e-12);
}

/* Neither does a square overflow, nor does it vanish. */
static void very_large_and_very_small_figures_are_combined(void **state)
{
    (void)state;
    for (double scale = 1e-200; scale < 1e201; scale *= 1e200) {
        struct budget budget = {0};
        add(&budget, 3 * scale, 1, 9);
        add(&budget, 4 * scale, 1, INFINITY);
        struct budget_sum sum = budget_combine(&budget, STATS_CONFIDENCE);
        near(sum.u / scale, 5, 1e-12);
        near(sum.df, 625.0 / 9, 1e-9);
    }
    struct budget none = {0};
    struct budget_sum sum = budget_combine(&none, STATS_CONFIDENCE);
    assert_true(sum.complete && isinf(sum.df));
    near(sum.expanded, 0, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gum_h1_difference_of_the_energy_meters),
        cmocka_unit_test(gum_h1_end_energy_meters),
        cmocka_unit_test(gum_g41_product_of_three),
        cmocka_unit_test(coverage_factors_are_students),
        cmocka_unit_test(exact_components_add_degrees_of_freedom),
        cmocka_unit_test(what_is_not_known_makes_the_budget_incomplete_and_is_no_zero),
        cmocka_unit_test(very_large_and_very_small_figures_are_combined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
