/* Which GPUs a program sees. What CUDA does with each value was measured with driver 580.159.04 on
 * two H200 by cuDeviceGetCount and cuDeviceGetPCIBusId. */
#include "fixture.h"

#include "machine/gpu/visible.h"

#include <stdlib.h>
#include <string.h>

#define UUID_0 "GPU-73fe8c24-959a-3ad0-4085-05c3a415924f"
#define UUID_1 "GPU-2565a174-13ab-ef5b-4e1f-638e6fe91eb6"

static struct gpu_device two[] = {
    {.vendor = &gpu_vendor_nvidia, .model = "NVIDIA H200", .uuid = UUID_0, .bus = "0000:00:06.0"},
    {.vendor = &gpu_vendor_nvidia, .model = "NVIDIA H200", .uuid = UUID_1, .bus = "0000:00:07.0"}};
static const struct gpu_devices machine = {.items = two, .count = 2};

/* As digits: "10" is the second GPU, then the first. */
static void assert_seen(const struct gpu_devices *devices, const char *value, const char *order,
                        const char *expected)
{
    struct gpu_visible visible;
    char seen[16] = "";
    gpu_visible_find(&gpu_vendor_nvidia, devices, value, order, &visible);
    for (size_t i = 0; i < visible.count; i++)
        seen[i] = (char)('0' + visible.items[i]);
    if (strcmp(seen, expected) != 0)
        print_error("CUDA_VISIBLE_DEVICES=%s\n", value ? value : "(not set)");
    assert_string_equal(seen, expected);
    for (size_t i = 0; i < devices->count; i++)
        assert_int_equal(gpu_visible_has(&visible, i), strchr(expected, (char)('0' + i)) != NULL);
    gpu_visible_fini(&visible);
}

static void each_value_shows_what_cuda_shows(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {NULL, "01"},
        {"", ""},
        {"-1", ""},
        {"0", "0"},
        {"1", "1"},
        {"1,0", "10"},
        {"0,0", ""},
        {"0,5,1", "0"},
        {"5,0", ""},
        {"0,-1,1", "0"},
        {" 1", "1"},
        {"1 ", "1"},
        {"1 ,0", "10"},
        {"1, 0", "10"},
        {"+1", "1"},
        {"0x1", "0"},
        {"01", "1"},
        {"1abc", "1"},
        {"1abc,0", "10"},
        {"4294967297", "1"},
        {"4294967296", "0"},
        {"18446744073709551617", ""},
        {",", ""},
        {"0,,1", "0"},
        {",1", ""},
        {"1,", "1"},
        {"NoDevFiles", ""},
        {UUID_0, "0"},
        {UUID_1 "," UUID_0, "10"},
        {UUID_0 "," UUID_0, ""},
        {"GPU-2565a1", "1"},
        {"GPU-2565A174-13AB-EF5B-4E1F-638E6FE91EB6", "1"},
        {"gpu-2565a174-13ab-ef5b-4e1f-638e6fe91eb6", ""},
        {UUID_1 "xyz", "1"},
        {UUID_1 "xyz," UUID_0, "10"},
        {UUID_1 ",0", "1"},
        {"0," UUID_1, "0"},
        {"GPU-", ""},
        {" " UUID_1, ""},
        {UUID_1 " ," UUID_0, "10"},
        {UUID_1 ", " UUID_0, "1"},
        {"GPU-zz," UUID_0, ""},
        {UUID_0 ",GPU-zz," UUID_1, "0"},
        {"MIG-x", ""},
        {"0,MIG-x", "0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_seen(&machine, rows[i][0], NULL, rows[i][1]);
}

static void an_excluded_gpu_is_not_counted(void **state)
{
    (void)state;
    struct gpu_device three[] = {two[0], two[0], two[1]};
    three[0].excluded = true;
    const struct gpu_devices devices = {.items = three, .count = 3};
    assert_seen(&devices, NULL, NULL, "12");
    assert_seen(&devices, "0", NULL, "1");
    assert_seen(&devices, "1", NULL, "2");
    assert_seen(&devices, "2", NULL, "");
    assert_seen(&devices, UUID_0, NULL, "1");
}

static void a_uuid_may_be_that_of_any_gpu_that_has_not_told_its_own(void **state)
{
    (void)state;
    struct gpu_device three[] = {two[0],
                                 {.vendor = &gpu_vendor_nvidia, .model = "NVIDIA H200"},
                                 {.vendor = &gpu_vendor_nvidia, .model = "NVIDIA H200"}};
    const struct gpu_devices devices = {.items = three, .count = 3};
    struct gpu_visible visible;
    assert_seen(&devices, UUID_1, NULL, "12");
    assert_seen(&devices, UUID_0, NULL, "0");
    gpu_visible_find(&gpu_vendor_nvidia, &devices, UUID_1, NULL, &visible);
    assert_false(visible.guessed_number);
    gpu_visible_fini(&visible);
}

static bool is_guess(const char *value, const char *order)
{
    struct gpu_device unlike[] = {two[0], two[1]};
    strcpy(unlike[1].model, "NVIDIA T4");
    const struct gpu_devices devices = {.items = unlike, .count = 2};
    struct gpu_visible visible;
    gpu_visible_find(&gpu_vendor_nvidia, &devices, value, order, &visible);
    bool guess = visible.guessed_number;
    gpu_visible_fini(&visible);
    return guess;
}

static void numbers_of_unlike_gpus_are_a_guess_unless_cuda_counts_by_address_too(void **state)
{
    (void)state;
    assert_true(is_guess("0", NULL));
    assert_true(is_guess("1", "FASTEST_FIRST"));
    assert_false(is_guess("0", "PCI_BUS_ID"));
    assert_false(is_guess(UUID_0, NULL));
    assert_false(is_guess(NULL, NULL));
    assert_false(is_guess("-1", NULL));
}

static void assert_said(const char *value, const char *ended_by, const char *twice,
                        const char *unsupported)
{
    struct gpu_visible visible;
    gpu_visible_find(&gpu_vendor_nvidia, &machine, value, NULL, &visible);
    const char *const said[][2] = {
        {visible.ended_by, ended_by}, {visible.twice, twice}, {visible.unsupported, unsupported}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(said[i][0] != NULL, said[i][1] != NULL);
        if (said[i][0])
            assert_string_equal(said[i][0], said[i][1]);
    }
    gpu_visible_fini(&visible);
}

static void what_a_person_did_not_mean_is_told(void **state)
{
    (void)state;
    assert_said("0,7,1", "7", NULL, NULL);
    assert_said("1,0,1", NULL, "1", NULL);
    assert_said("0,MIG-5,1", NULL, NULL, "MIG-5");
    assert_said("", NULL, NULL, NULL);
    assert_said("-1", NULL, NULL, NULL);
    assert_said("0,1,", NULL, NULL, NULL);
    assert_said(NULL, NULL, NULL, NULL);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_shows_what_cuda_shows),
        cmocka_unit_test(an_excluded_gpu_is_not_counted),
        cmocka_unit_test(a_uuid_may_be_that_of_any_gpu_that_has_not_told_its_own),
        cmocka_unit_test(numbers_of_unlike_gpus_are_a_guess_unless_cuda_counts_by_address_too),
        cmocka_unit_test(what_a_person_did_not_mean_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
