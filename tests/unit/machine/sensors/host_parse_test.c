/* What the kernel writes about load and use, read. The examples are of real machines; the sums are
 * by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/host_parse.h"

#include <math.h>
#include <string.h>

static void busy_ticks_are_those_of_processes_and_interrupts(void **state)
{
    (void)state;
    static const char stat[] = "cpu  340821 10228 323753 1960268 12913 7 3261 879 500 60\n"
                               "cpu0 159243 4468 160868 996154 4550 0 147 451 0 0\n"
                               "cpu1 181578 5760 162885 964114 8363 7 3114 428 500 60\n"
                               "intr 123 0 9\nctxt 5\n";
    struct host_cpu cpu;
    assert_true(host_cpu_parse(stat, strlen(stat), &cpu));
    /* 340821 + 10228 + 323753 + 7 + 3261; guests (500, 60) are in user and nice already. */
    assert_int_equal(cpu.busy_ticks, 678070);
    assert_int_equal(cpu.stolen_ticks, 879);
    assert_int_equal(cpu.cpus, 2);
}

static void an_old_kernels_short_line_is_read(void **state)
{
    (void)state;
    static const char stat[] = "cpu 1 2 4 8\ncpu0 1 2 4 8";
    struct host_cpu cpu;
    assert_true(host_cpu_parse(stat, strlen(stat), &cpu));
    assert_int_equal(cpu.busy_ticks, 7);
    assert_int_equal(cpu.stolen_ticks, 0);
    assert_int_equal(cpu.cpus, 1);
}

static void what_is_no_stat_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "cpu",
                                        "cpu 1 2 3\ncpu0 1 2 3\n",
                                        "cpu  1 2 3 4\n",
                                        "cpu0 1 2 3 4\n",
                                        "cpu  a b c d\ncpu0 1 2 3 4\n",
                                        "cpu  -1 2 3 4\ncpu0 1 2 3 4\n"};
    struct host_cpu cpu;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(host_cpu_parse(wrong[i], strlen(wrong[i]), &cpu));
}

static void pressure_is_read_in_seconds(void **state)
{
    (void)state;
    static const char both[] = "some avg10=9.89 avg60=8.61 avg300=19.30 total=2123324046\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n";
    static const char one[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
    static const char none[] = "some avg10=0.00\nfull total=x\nsome total=\n";
    struct host_pressure pressure;
    assert_true(host_pressure_parse(both, strlen(both), &pressure));
    assert_true(pressure.some_s.valid && fabs(pressure.some_s.value - 2123.324046) < 1e-9);
    assert_true(pressure.full_s.valid && pressure.full_s.value == 1.5);
    assert_true(host_pressure_parse(one, strlen(one), &pressure));
    assert_true(pressure.some_s.valid && pressure.some_s.value == 0);
    assert_false(pressure.full_s.valid); /* absent is not zero */
    assert_false(host_pressure_parse(none, strlen(none), &pressure));
}

static void every_device_of_a_cgroup_is_read(void **state)
{
    (void)state;
    static const char text[] = "259:1 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"
                               "7:0\n"
                               "8:x rbytes=1 wbytes=1\n"
                               "8:16 wbytes=10 rbytes=20";
    const char *at = text;
    struct host_device_io io;
    assert_true(host_device_io_next(&at, text + strlen(text), &io));
    assert_int_equal(io.major, 259);
    assert_int_equal(io.minor, 1);
    assert_int_equal(io.read_bytes, 4096);
    assert_int_equal(io.written_bytes, 8192);
    assert_true(host_device_io_next(&at, text + strlen(text), &io));
    assert_int_equal(io.major, 8);
    assert_int_equal(io.minor, 16);
    assert_int_equal(io.read_bytes, 20);
    assert_int_equal(io.written_bytes, 10);
    assert_false(host_device_io_next(&at, text + strlen(text), &io));
}

static void a_processs_files_are_read(void **state)
{
    (void)state;
    static const char io[] =
        "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\n"
        "write_bytes: 323932160\ncancelled_write_bytes: 7\n";
    uint64_t read_bytes = 0, written_bytes = 0, pages = 0;
    assert_true(host_io_parse(io, strlen(io), &read_bytes, &written_bytes));
    assert_int_equal(read_bytes, 4096);
    assert_int_equal(written_bytes, 323932160);
    assert_false(host_io_parse(io, 40, &read_bytes, &written_bytes));
    assert_true(host_statm_parse("2264 1034 937 219 0 119 0\n", 26, &pages));
    assert_int_equal(pages, 1034);
    assert_false(host_statm_parse("2264\n1034", 9, &pages));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_ticks_are_those_of_processes_and_interrupts),
        cmocka_unit_test(an_old_kernels_short_line_is_read),
        cmocka_unit_test(what_is_no_stat_is_refused),
        cmocka_unit_test(pressure_is_read_in_seconds),
        cmocka_unit_test(every_device_of_a_cgroup_is_read),
        cmocka_unit_test(a_processs_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
