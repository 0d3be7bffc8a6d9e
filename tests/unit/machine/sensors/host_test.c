/* What edges say about the host, and what lies between two of them. */
#include "machine/contain/job.h"
#include "machine/contain/usage.h"
#include "machine/sensors/host_others.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tests/unit/machine/sysroot.h"

#include "base/mem.h"

#include <string.h>
#include <unistd.h>

static void stat_file(const struct sysroot *root, unsigned user, unsigned stolen)
{
    AUTO_FREE char *text = mem_printf(
        "cpu  %u 0 0 5000 0 0 0 %u 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 0\n", user, stolen);
    sysroot_file(root, "/proc/stat", text);
}

static void an_edge_reads_the_machine_and_its_jobs(void **state)
{
    const struct sysroot *root = *state;
    struct host_edge from, to;
    AUTO_FREE char *leaf = mem_printf("%s/leaf", root->top);
    AUTO_FREE char *nowhere = mem_printf("%s/nowhere", root->top);
    stat_file(root, 1000, 10);
    sysroot_file(root, "/proc/pressure/io",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=4000000\n");
    sysroot_file(root, "/leaf/cpu.stat", "usage_usec 2500000\nuser_usec 1\nsystem_usec 1\n");
    sysroot_file(root, "/leaf/cgroup.procs", "");
    sysroot_file(root, "/proc/77/stat",
                 "77 (tare) S 1 1 1 0 -1 0 0 0 0 0 300 200 0 0 20 0 1 0 5 0 0\n");
    struct host_meter *meter = host_meter_new(&(struct rapl_places){.sysroot = root->top});
    host_meter_own(meter, 77);
    host_meter_own(meter, 78); /* there is none */
    host_meter_edge(meter, &from);
    assert_true(from.has_cpu && from.jobs_cpu_s.valid);
    assert_int_equal(from.cpu.busy_ticks, 1000);
    assert_int_equal(from.cpu.stolen_ticks, 10);
    assert_int_equal(from.cpu.cpus, 2);
    assert_true(from.jobs_cpu_s.value == 0); /* no job */
    assert_true(from.pressure[HOST_IO].some_s.valid && from.pressure[HOST_IO].some_s.value == 4);
    assert_false(from.pressure[HOST_CPU].some_s.valid);
    double own_s = 500.0 / (double)sysconf(_SC_CLK_TCK);
    assert_true(from.own_cpu_s >= own_s && from.own_cpu_s < own_s + 60);

    size_t job = host_meter_watch(meter, &(struct job_identity){.pid = 5000001, .cgroup = leaf});
    host_meter_tick(meter);
    assert_true(host_meter_job(meter, job)->cpu_s.valid &&
                host_meter_job(meter, job)->cpu_s.value == 2.5);
    /* What came and went between two samples is in what the kernel counted. */
    const struct job_usage usage = {.cpu_s = 3.5,
                                    .has_cpu = true,
                                    .peak_memory_bytes = UINT64_C(5) << 30,
                                    .has_peak_memory = true};
    host_meter_end(meter, job, &usage);
    assert_true(host_meter_job(meter, job)->memory_peak_bytes.valid);
    assert_true(host_meter_job(meter, job)->memory_peak_bytes.value == 5.0 * (1 << 30));
    stat_file(root, 2000, 10);
    AUTO_FREE char *own = mem_printf("%s/proc/77/stat", root->top);
    assert_int_equal(unlink(own), 0);
    host_meter_edge(meter, &to);
    assert_int_equal(to.cpu.busy_ticks, 2000);
    assert_true(to.jobs_cpu_s.valid && to.jobs_cpu_s.value == 3.5);
    assert_true(to.own_cpu_s >= from.own_cpu_s); /* what one of us had used stays used */
    assert_null(host_meter_job(meter, 1));

    size_t unseen =
        host_meter_watch(meter, &(struct job_identity){.pid = 5000002, .cgroup = nowhere});
    host_meter_edge(meter, &to);
    assert_false(to.jobs_cpu_s.valid);
    host_meter_end(meter, unseen, NULL);
    host_meter_edge(meter, &to);
    assert_true(to.jobs_cpu_s.valid);
    assert_int_equal(to.jobs_unseen, 1);
    host_meter_free(meter);
}

static void edges_and_ticks_keep_the_counters_readings(void **state)
{
    const struct sysroot *root = *state;
    struct host_edge edge;
    sysroot_file(root, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    sysroot_file(root, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    sysroot_file(root, "/sys/class/powercap/intel-rapl:0/energy_uj", "1000400\n");
    struct host_meter *meter = host_meter_new(&(struct rapl_places){.sysroot = root->top});
    host_meter_edge(meter, &edge);
    sysroot_file(root, "/sys/class/powercap/intel-rapl:0/energy_uj", "61000600\n");
    host_meter_tick(meter);
    const struct series *series = host_meter_series(meter, 0);
    assert_int_equal(series->counter_count, 2);
    assert_int_equal(series->counter[0].energy_mj, 1000);
    assert_int_equal(series->counter[1].energy_mj, 61001);
    assert_true(series->counter[0].before_ns >= edge.t_ns);
    assert_true(series->counter[0].after_ns <= series->counter[1].before_ns);
    assert_null(host_meter_series(meter, 1));
    host_meter_forget(meter, series->counter[1].after_ns - 1);
    assert_int_equal(series->counter_count, 2); /* the first is the last before that moment */
    host_meter_forget(meter, series->counter[1].after_ns);
    assert_int_equal(series->counter_count, 1);
    assert_int_equal(series->counter[0].energy_mj, 61001);
    assert_int_equal(host_meter_rapl(meter)->count, 1);
    assert_true(host_meter_rapl(meter)->domains[0].available);
    host_meter_free(meter);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_edge_reads_the_machine_and_its_jobs, sysroot_setup,
                                        sysroot_teardown),
        cmocka_unit_test_setup_teardown(edges_and_ticks_keep_the_counters_readings, sysroot_setup,
                                        sysroot_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
