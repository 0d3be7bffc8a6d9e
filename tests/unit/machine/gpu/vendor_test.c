#include "fixture.h"

#include "machine/gpu/vendor.h"

#include <string.h>

static void devices_are_sorted_by_their_address_as_a_number(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_devices devices;
    struct err err = {0};
    fixture_write(fixture, "proc/driver/nvidia/gpus/0000:c1:00.0/information", "Model: third\n");
    fixture_write(fixture, "proc/driver/nvidia/gpus/0000:0a:00.0/information", "Model: second\n");
    fixture_write(fixture, "proc/driver/nvidia/gpus/0000:09:00.0/information", "Model: first\n");
    fixture_write(fixture, "proc/driver/nvidia/gpus/10000:01:00.0/information", "Model: last\n");
    assert_true(gpu_devices_read(fixture->top, &devices, &err));
    assert_int_equal(devices.count, 4);
    assert_string_equal(devices.items[0].model, "first");
    assert_string_equal(devices.items[1].model, "second");
    assert_string_equal(devices.items[2].model, "third");
    assert_string_equal(devices.items[3].model, "last");
    /* From the folder's name, as the file does not say. */
    assert_string_equal(devices.items[3].bus, "10000:01:00.0");
    gpu_devices_fini(&devices);
}

static void a_machine_without_the_driver_has_no_gpu_and_no_error(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_devices devices;
    struct err err = {0};
    assert_true(gpu_devices_read(fixture->top, &devices, &err));
    assert_int_equal(devices.count, 0);
    assert_null(gpu_vendor_nvidia.driver_version(fixture->top));
    gpu_devices_fini(&devices);
}

static void one_unreadable_gpu_does_not_hide_the_others(void **state)
{
    struct fixture *fixture = *state;
    struct gpu_devices devices;
    struct err err = {0};
    fixture_write(fixture, "proc/driver/nvidia/gpus/0000:01:00.0/information", "nothing\n");
    fixture_write(fixture, "proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: good\n");
    assert_false(gpu_devices_read(fixture->top, &devices, &err));
    assert_non_null(strstr(err.text, "0000:01:00.0/information says nothing of a GPU"));
    assert_int_equal(devices.count, 1);
    assert_string_equal(devices.items[0].model, "good");
    gpu_devices_fini(&devices);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_are_sorted_by_their_address_as_a_number,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_machine_without_the_driver_has_no_gpu_and_no_error,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(one_unreadable_gpu_does_not_hide_the_others, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
