/* PCIe links that the GPUs of several lanes share, on machines that are played by files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "run/links.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void put(const char *root, const char *path, const char *text, bool is_link)
{
    AUTO_FREE char *whole = mem_printf("%s%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    if (is_link) {
        assert_int_equal(symlink(text, whole), 0);
        return;
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* place: below /sys/devices; its last part is the address. */
static void put_device(const char *root, const char *place, const char *speed, const char *width)
{
    AUTO_FREE char *speed_path = mem_printf("/sys/devices/%s/current_link_speed", place);
    AUTO_FREE char *width_path = mem_printf("/sys/devices/%s/current_link_width", place);
    AUTO_FREE char *link = mem_printf("/sys/bus/pci/devices/%s", strrchr(place, '/') + 1);
    AUTO_FREE char *target = mem_printf("../../../devices/%s", place);
    put(root, speed_path, speed, false);
    put(root, width_path, width, false);
    put(root, link, target, true);
}

/* A switch below 0000:00:01.0 with two GPUs; a third GPU has a port of its own. The switch's link: 16 GT/s, 16
 * lanes: 31.5 GB/s. */
static int make_machine(void **state)
{
    char *root = mem_strdup("/tmp/links-test.XXXXXX");
    *state = root;
    if (!mkdtemp(root))
        return -1;
    put_device(root, "pci0000:00/0000:00:01.0", "16.0 GT/s PCIe\n", "16\n");
    put_device(root, "pci0000:00/0000:00:01.0/0000:01:00.0", "16.0 GT/s PCIe\n", "16\n");
    put_device(root, "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", "32.0 GT/s PCIe\n", "16\n");
    put_device(root, "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", "32.0 GT/s PCIe\n", "16\n");
    put_device(root, "pci0000:00/0000:00:02.0", "16.0 GT/s PCIe\n", "16\n");
    put_device(root, "pci0000:00/0000:00:02.0/0000:05:00.0", "32.0 GT/s PCIe\n", "16\n");
    return 0;
}

static int remove_machine(void **state)
{
    nftw(*state, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

static void make(struct links *links, const char *root)
{
    links_init(links, root);
    links_add(links, 1, "0000:03:00.0");
    links_add(links, 2, "0000:04:00.0");
    links_add(links, 3, "0000:05:00.0");
    links_settle(links);
}

/* So many GB a second go to each GPU. */
static void flow(struct links *links, int64_t *t_ns, double a_gb, double b_gb, double c_gb)
{
    const double gb[] = {a_gb, b_gb, c_gb};
    for (size_t i = 0; i < 3; i++) {
        struct gpu_readings readings = {0};
        readings.of[GPU_PCIE_RECEIVED_BYTES_S] = (struct reading){gb[i] * 1e9, true};
        readings.of[GPU_PCIE_SENT_BYTES_S] = (struct reading){0, true};
        links_take(links, i, *t_ns, &readings);
    }
    *t_ns += NS_PER_S;
}

static void a_link_carries_what_its_generation_and_lanes_say(void **state)
{
    (void)state;
    /* 2.5 GT/s with 8 of 10 bits: 0.25 GB/s a lane; 8 GT/s with 128 of 130: 0.98462; 16: 31.508 on 16 lanes. */
    assert_true(fabs(links_capacity("2.5 GT/s PCIe", "1") - 0.25e9) < 1);
    assert_true(fabs(links_capacity("8.0 GT/s PCIe", "8") - 7.8769231e9) < 100);
    assert_true(fabs(links_capacity("16.0 GT/s PCIe", "16") - 31.5076923e9) < 100);
    assert_true(fabs(links_capacity("32.0 GT/s PCIe", "16") - 63.0153846e9) < 100);
    assert_true(links_capacity("Unknown", "16") == 0);
    assert_true(links_capacity("16.0 GT/s PCIe", "0") == 0);
    assert_true(links_capacity("16.0 GT/s PCIe", "63") == 0);
    assert_true(links_capacity("", "") == 0);
    assert_true(links_capacity("99999999999999 GT/s", "16") == 0);
}

static void gpus_below_one_switch_share_its_link_and_others_share_nothing(void **state)
{
    struct links links;
    make(&links, *state);
    assert_true(links_shared(&links));
    assert_int_equal(links.gpus[0].bridges.count, 2);
    assert_string_equal(links.gpus[0].bridges.items[0], "0000:00:01.0");
    assert_string_equal(links.gpus[0].bridges.items[1], "0000:01:00.0");
    assert_int_equal(links.gpus[1].bridges.count, 2);
    assert_int_equal(links.gpus[2].bridges.count, 0);
    links_fini(&links);
    links_init(&links, *state);
    links_add(&links, 1, "0000:03:00.0");
    links_add(&links, 1, "0000:04:00.0");
    links_add(&links, 2, "0000:05:00.0");
    links_add(&links, 3, "../../etc");
    links_add(&links, 4, "0000:77:00.0");
    links_settle(&links);
    assert_false(links_shared(&links)); /* one lane's own GPUs are in nobody's way */
    links_fini(&links);
}

/* 12 and 11 of 31.5 GB/s: 73 %. */
static void two_lanes_that_fill_their_link_are_in_each_others_way(void **state)
{
    struct links links;
    struct link_pressure pressure;
    int64_t t_ns = 100 * NS_PER_S;
    make(&links, *state);
    flow(&links, &t_ns, 0, 0, 0);
    assert_false(links_judge(&links, 1, t_ns, &pressure));
    flow(&links, &t_ns, 12, 11, 40);
    assert_true(links_judge(&links, 1, t_ns, &pressure));
    assert_string_equal(pressure.bridge, "0000:00:01.0");
    assert_int_equal(pressure.direction, LINK_RECEIVED);
    assert_true(fabs(pressure.share - 23 / 31.5076923) < 1e-6);
    assert_true(fabs(pressure.others_share - 11 / 31.5076923) < 1e-6);
    assert_true(links_uses(&links, 2, &pressure, t_ns));
    assert_false(links_uses(&links, 3, &pressure, t_ns));
    assert_true(links_judge(&links, 2, t_ns, &pressure));
    assert_false(links_judge(&links, 3, t_ns, &pressure));
    /* What was read long ago says nothing about now. */
    assert_false(links_judge(&links, 1, t_ns + 10 * NS_PER_S, &pressure));
    links_fini(&links);
}

static void a_lane_that_fills_it_alone_or_takes_no_part_is_not_disturbed(void **state)
{
    static const double rows[][2] = {{28, 1}, {0.1, 28}, {10, 11}, {0, 30}};
    struct links links;
    struct link_pressure pressure;
    int64_t t_ns = 100 * NS_PER_S;
    make(&links, *state);
    flow(&links, &t_ns, 0, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        flow(&links, &t_ns, rows[i][0], rows[i][1], 0);
        assert_false(links_judge(&links, 1, t_ns, &pressure));
    }
    links_fini(&links);
}

static void a_gpu_that_does_not_tell_is_in_nobodys_way(void **state)
{
    struct links links;
    struct link_pressure pressure;
    struct gpu_readings readings = {0};
    int64_t t_ns = 100 * NS_PER_S;
    make(&links, *state);
    flow(&links, &t_ns, 15, 15, 0);
    assert_true(links_judge(&links, 1, t_ns, &pressure));
    links_take(&links, 1, t_ns, &readings);
    assert_false(links_judge(&links, 1, t_ns, &pressure));
    assert_false(links_judge(&links, 2, t_ns, &pressure));
    links_fini(&links);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, remove_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_link_carries_what_its_generation_and_lanes_say),
        TEST(gpus_below_one_switch_share_its_link_and_others_share_nothing),
        TEST(two_lanes_that_fill_their_link_are_in_each_others_way),
        TEST(a_lane_that_fills_it_alone_or_takes_no_part_is_not_disturbed),
        TEST(a_gpu_that_does_not_tell_is_in_nobodys_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
