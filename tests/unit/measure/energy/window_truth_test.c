/* The promise of the meter, against a device whose energy is known exactly: the stated 95 %
 * interval holds the truth in 93 to 98 of 100 windows, for every kind of load on its own, and it is
 * narrow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "truth.h"

static void windows_whose_edges_were_read_densely_hold_the_truth_within_narrow_bounds(void **state)
{
    (void)state;
    struct truth truth = truth_usual("edges read densely", true);
    truth_hold(&truth);
}

/* Epochs: the counter is read once a second around their edges, and its update instants are known
 * to 100 ms. */
static void windows_within_an_attempt_hold_the_truth(void **state)
{
    (void)state;
    struct truth truth = truth_usual("within an attempt", false);
    truth.widest = 0.006;
    truth_hold(&truth);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_whose_edges_were_read_densely_hold_the_truth_within_narrow_bounds),
        cmocka_unit_test(windows_within_an_attempt_hold_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
