#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "measure/calibration/sensor_learn.h"

#include "tests/unit/near.h"

#include <math.h>
#include <string.h>

static void schedule_has_long_steps_and_waves_in_all_phases(void **state)
{
    (void)state;
    static struct sensor_schedule part;
    static const double seconds[] = {SCHEDULE_SECONDS_MIN, 60, SCHEDULE_SECONDS_MAX},
                        periods[] = {0.004, 0.1, 1, 0, 7};
    for (size_t s = 0; s < 3; s++) {
        sensor_schedule_steps(seconds[s], &part);
        assert_true(part.count >= 2 && part.loads[0].begin_ns == 2 * NS_PER_S);
        assert_true((double)part.end_ns <= seconds[s] * 0.5e9 + 1);
        for (size_t i = 0; i < part.count; i++) {
            int64_t next_ns = i + 1 < part.count ? part.loads[i + 1].begin_ns : part.end_ns;
            assert_true(part.loads[i].end_ns - part.loads[i].begin_ns >= 1500 * NS_PER_MS - 1);
            assert_true(next_ns - part.loads[i].end_ns >= 2 * NS_PER_S - 1);
        }
        for (size_t p = 0; p < 5; p++) {
            double period_s = p < 3 ? periods[p] : 0.1;
            bool seen[16] = {false};
            sensor_schedule_waves(seconds[s], periods[p], &part);
            for (size_t i = 0; i < part.count; i++) {
                double begin_s = (double)part.loads[i].begin_ns / 1e9;
                assert_near((double)(part.loads[i].end_ns - part.loads[i].begin_ns) / 1e9,
                            period_s / 2, 1e-8);
                seen[lround(fmod(begin_s, period_s) / period_s * 16) % 16] = true;
                assert_true(i == 0 || part.loads[i].begin_ns >= part.loads[i - 1].end_ns);
            }
            for (int i = 0; i < 16; i++)
                assert_true(seen[i]);
        }
        sensor_schedule_rest(seconds[s], &part);
        assert_true(part.count == 0 && part.end_ns > 5 * NS_PER_S);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_has_long_steps_and_waves_in_all_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
