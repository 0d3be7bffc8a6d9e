/* GPUs as the driver's files in /proc tell of them. */
#include "fixture.h"

#include "base/cleanup.h"
#include "machine/gpu/vendor.h"

#include <string.h>

/* As driver 580.159.04 wrote it for an H200. */
static const char h200[] = "Model: \t\t NVIDIA H200\n"
                           "IRQ:   \t\t 41\n"
                           "GPU UUID: \t GPU-73fe8c24-959a-3ad0-4085-05c3a415924f\n"
                           "Video BIOS: \t 96.00.a5.00.1a\n"
                           "Bus Type: \t PCIe\n"
                           "DMA Size: \t 52 bits\n"
                           "DMA Mask: \t 0xfffffffffffff\n"
                           "Bus Location: \t 0000:00:06.0\n"
                           "Device Minor: \t 0\n"
                           "GPU Firmware: \t 580.159.04\n"
                           "GPU Excluded:\t No\n";

static struct gpu_device parsed(const char *text)
{
    struct gpu_device device;
    assert_true(nvidia_information_parse(text, strlen(text), &device));
    return device;
}

static void every_field_of_a_real_file_is_read(void **state)
{
    (void)state;
    struct gpu_device device = parsed(h200);
    assert_string_equal(device.model, "NVIDIA H200");
    assert_string_equal(device.uuid, "GPU-73fe8c24-959a-3ad0-4085-05c3a415924f");
    assert_string_equal(device.bus, "0000:00:06.0");
    assert_string_equal(device.firmware, "580.159.04");
    assert_int_equal(device.minor, 0);
    assert_false(device.excluded);
}

static void a_uuid_that_the_driver_does_not_know_yet_is_none(void **state)
{
    (void)state;
    struct gpu_device device = parsed("Model: Tesla V100\nGPU UUID: \t GPU-????????"
                                      "-????"
                                      "-????"
                                      "-????"
                                      "-????????????\nGPU Excluded:\t Yes\n");
    assert_string_equal(device.uuid, "");
    assert_string_equal(device.model, "Tesla V100");
    assert_int_equal(device.minor, -1);
    assert_true(device.excluded);
}

static void what_could_not_name_a_file_is_no_uuid_and_no_address(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "GPU UUID: GPU-../../etc/passwd\n", "GPU UUID: 73fe8c24\n",   "GPU UUID: GPU-\n",
        "Bus Location: ../0000\n",          "Bus Location: 0000/1\n", "Bus Location: .\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct gpu_device device = parsed(lines[i]);
        assert_string_equal(device.uuid, "");
        assert_string_equal(device.bus, "");
    }
}

static void numbers_and_texts_out_of_bounds_stay_empty(void **state)
{
    (void)state;
    char model[300] = "Model: ";
    memset(model + 7, 'x', 200);
    assert_string_equal(parsed(model).model, "");
    model[7 + GPU_MODEL_SIZE - 1] = '\0';
    assert_int_equal(strlen(parsed(model).model), GPU_MODEL_SIZE - 1);
    assert_int_equal(parsed("Device Minor: 255").minor, 255);
    assert_int_equal(parsed("Device Minor: 256").minor, -1);
    assert_int_equal(parsed("Device Minor: -1").minor, -1);
    assert_int_equal(parsed("Device Minor: 99999999999999999999").minor, -1);
    assert_int_equal(parsed("Device Minor: ").minor, -1);
    assert_string_equal(parsed("Model: a\033[2Jb\303\244").model, "a?[2Jb\303\244");
}

static void a_file_without_a_known_field_is_no_gpu(void **state)
{
    (void)state;
    struct gpu_device device;
    static const char other[] = "Hello: world\nModel\n\n:\n";
    assert_false(nvidia_information_parse(other, sizeof other - 1, &device));
    assert_false(nvidia_information_parse("", 0, &device));
}

static void assert_version(const struct fixture *fixture, const char *file, const char *expected)
{
    fixture_write(fixture, "proc/driver/nvidia/version", file);
    AUTO_FREE char *version = gpu_vendor_nvidia.driver_version(fixture->top);
    if (expected)
        assert_string_equal(version, expected);
    else
        assert_null(version);
}

static void the_driver_version_is_found_in_both_kinds_of_line(void **state)
{
    struct fixture *fixture = *state;
    assert_version(
        fixture,
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
        "535.183.01");
    assert_version(fixture,
                   "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release "
                   "Build  (nixbld@)  \n"
                   "GCC version:  gcc version 15.3.0 (GCC) \n",
                   "580.159.04");
    assert_version(fixture, "something else\nGCC version:  gcc version 12.2.0\n", NULL);
    assert_version(fixture, "", NULL);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_real_file_is_read),
        cmocka_unit_test(a_uuid_that_the_driver_does_not_know_yet_is_none),
        cmocka_unit_test(what_could_not_name_a_file_is_no_uuid_and_no_address),
        cmocka_unit_test(numbers_and_texts_out_of_bounds_stay_empty),
        cmocka_unit_test(a_file_without_a_known_field_is_no_gpu),
        cmocka_unit_test_setup_teardown(the_driver_version_is_found_in_both_kinds_of_line,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
