#include "measure/calibration/calibration_width.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "measure/energy/sensor_behaviour.h"

#include <string.h>

#include "calibrated.h"

/* What is known of the model narrows the ± that a blunt calibration gives. */
static void an_energy_of_a_blunt_calibration_is_as_good_as_its_model(void **state)
{
    (void)state;
    const struct sensor_profile *row = sensor_profile_find(&gpu_vendor_nvidia, "NVIDIA H100 PCIe");
    struct sensor_profile alone = *row;
    struct calibration found = calibrated_h200();
    alone.counter_least = alone.counter_most = 0;
    found.sensors[CALIBRATION_COUNTER].looked_share = figure(0.959, 0.032);
    struct reading combined = calibration_half_width_share(&found, row, 60),
                   measured = calibration_half_width_share(&found, &alone, 60);
    /* missed: 1.43 instead of 4.41 % of the time */
    assert_true(combined.valid && measured.valid && combined.value < 0.5 * measured.value);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_energy_of_a_blunt_calibration_is_as_good_as_its_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
