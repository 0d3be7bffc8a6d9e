/* Energy counters of CPU packages and DRAM by perf_event: a PMU made of files, and a counter of the
 * real kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/rapl.h"

#include "rapl_tree.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/wait.h>

#define PMU "/sys/bus/event_source/devices/power"

/* A PMU made of files, whose counters are pipes: what the test writes is what the next reading
 * gets */

struct fake_pmu {
    struct {
        unsigned config;
        int cpu;
        int write_fd;
    } opened[8];
    size_t count;
    int refuse; /* an errno */
    uint64_t step, value;
};

static struct fake_pmu *pmu;

static int fake_open(struct perf_event_attr *event, pid_t pid, int cpu, int group,
                     unsigned long flags)
{
    int fds[2];
    if (pmu->refuse) {
        errno = pmu->refuse;
        return -1;
    }
    /* The kernel's driver asks for all of these. */
    if (event->type != 22 || event->size != sizeof *event || pid != -1 || group != -1 || cpu < 0 ||
        event->exclude_kernel || event->sample_period || event->read_format ||
        flags != PERF_FLAG_FD_CLOEXEC || pmu->count == 8 ||
        pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        errno = EINVAL;
        return -1;
    }
    pmu->opened[pmu->count].config = (unsigned)event->config;
    pmu->opened[pmu->count].cpu = cpu;
    pmu->opened[pmu->count++].write_fd = fds[1];
    return fds[0];
}

static void pmu_write(size_t counter, uint64_t count)
{
    assert_int_equal(write(pmu->opened[counter].write_fd, &count, sizeof count), sizeof count);
}

static void pmu_close(void)
{
    for (size_t i = 0; i < pmu->count; i++)
        close(pmu->opened[i].write_fd);
}

/* Two packages, seen by CPU 0 and CPU 18. */
static void pmu_files(const struct sysroot *root, const char *cpumask)
{
    static const char *const events[][2] = {{"energy-pkg", "event=0x02\n"},
                                            {"energy-ram", "event=0x03\n"},
                                            {"energy-cores", "event=0x01\n"}};
    sysroot_file(root, PMU "/type", "22\n");
    sysroot_file(root, PMU "/cpumask", cpumask);
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, PMU "/events/%s", events[i][0]);
        sysroot_file(root, path, events[i][1]);
        snprintf(path, sizeof path, PMU "/events/%s.unit", events[i][0]);
        sysroot_file(root, path, "Joules\n");
        snprintf(path, sizeof path, PMU "/events/%s.scale", events[i][0]);
        sysroot_file(root, path, "2.3283064365386962890625e-10\n");
    }
    sysroot_file(root, "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    sysroot_file(root, "/sys/devices/system/cpu/cpu18/topology/physical_package_id", "1\n");
}

static void perf_is_preferred_and_read_in_units_of_its_scale(void **state)
{
    const struct sysroot *root = *state;
    struct fake_pmu fake = {0};
    struct rapl rapl;
    pmu = &fake;
    pmu_files(root, "0,18\n");
    laptop(root);
    rapl_open(&(struct rapl_places){.sysroot = root->top, .perf_event_open = fake_open}, &rapl);
    static const char *const names[] = {"package-0", "package-1", "dram-0", "dram-1", "psys"};
    assert_int_equal(rapl.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(rapl.domains[i].name, names[i]);
        assert_int_equal(rapl.domains[i].source, i < 4 ? RAPL_PERF : RAPL_POWERCAP);
    }
    static const struct {
        unsigned config;
        int cpu;
    } expected[] = {{2, 0}, {2, 18}, {3, 0}, {3, 18}};
    assert_int_equal(fake.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fake.opened[i].config, expected[i].config);
        assert_int_equal(fake.opened[i].cpu, expected[i].cpu);
    }
    struct rapl_reading reading;
    pmu_write(1, UINT64_C(150) << 32); /* a count is 2^-32 J */
    rapl_read(&rapl.domains[1], &reading);
    assert_true(reading.valid);
    assert_int_equal(reading.energy_uj, 150000000);
    pmu_write(1, (UINT64_C(150) << 32) + (UINT64_C(1) << 18)); /* and a step of 2^-14 J, 61 uJ */
    rapl_read(&rapl.domains[1], &reading);
    assert_int_equal(reading.energy_uj, 150000061);
    assert_int_equal(rapl_counter_reading(&reading).energy_mj, 150000);
    pmu_close();
    rapl_read(&rapl.domains[1], &reading);
    assert_false(reading.valid);
    rapl_fini(&rapl);
}

static void dies_that_are_counted_apart_have_names_of_their_own(void **state)
{
    const struct sysroot *root = *state;
    struct fake_pmu fake = {0};
    struct rapl rapl;
    pmu = &fake;
    pmu_files(root, "0,18\n");
    sysroot_file(root, "/sys/devices/system/cpu/cpu18/topology/physical_package_id", "0\n");
    sysroot_file(root, "/sys/devices/system/cpu/cpu0/topology/die_id", "0\n");
    sysroot_file(root, "/sys/devices/system/cpu/cpu18/topology/die_id", "1\n");
    rapl_open(&(struct rapl_places){.sysroot = root->top, .perf_event_open = fake_open}, &rapl);
    assert_int_equal(rapl.count, 4);
    assert_string_equal(rapl.domains[0].name, "package-0-die-0");
    assert_string_equal(rapl.domains[1].name, "package-0-die-1");
    assert_string_equal(rapl.domains[3].name, "dram-0-die-1");
    pmu_close();
    rapl_fini(&rapl);
}

static void where_perf_is_refused_powercap_is_used(void **state)
{
    const struct sysroot *root = *state;
    struct fake_pmu fake = {.refuse = EACCES};
    struct rapl rapl;
    pmu = &fake;
    pmu_files(root, "0\n");
    laptop(root);
    rapl_open(&(struct rapl_places){.sysroot = root->top, .perf_event_open = fake_open}, &rapl);
    assert_int_equal(rapl.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(rapl.domains[i].available);
        assert_int_equal(rapl.domains[i].source, RAPL_POWERCAP);
        assert_null(rapl.domains[i].reason);
    }
    assert_null(rapl.fix);
    rapl_fini(&rapl);
}

static int refused_by_perf(const char *top, const char *fix)
{
    struct rapl rapl;
    if (chdir(top) != 0 || (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)))
        return 1;
    rapl_open(&(struct rapl_places){.sysroot = ".", .perf_event_open = fake_open}, &rapl);
    if (rapl.count != 2 || rapl.domains[0].available)
        return 2;
    if (!rapl.reason ||
        strcmp(rapl.reason, "package-0: perf_event_open of power/energy-pkg/: Permission denied") !=
            0)
        return 3;
    if (!rapl.fix || strcmp(rapl.fix, fix) != 0)
        return 4;
    rapl_fini(&rapl);
    return 0;
}

static void what_refuses_perf_is_named_with_the_command_that_permits_it(void **state)
{
    const struct sysroot *root = *state;
    struct fake_pmu fake = {.refuse = EACCES};
    static const struct {
        const char *paranoid, *fix;
    } cases[] = {
        {"4\n", "sudo sysctl kernel.perf_event_paranoid=0"},
        {"1\n", "sudo sysctl kernel.perf_event_paranoid=0"},
        /* the kernel's setting allows it: something else refuses */
        {"0\n", "docker run --cap-add PERFMON"},
        {"-1\n", "docker run --cap-add PERFMON"},
    };
    pmu = &fake;
    pmu_files(root, "0\n");
    for (size_t i = 0; i < 4; i++) {
        sysroot_file(root, "/proc/sys/kernel/perf_event_paranoid", cases[i].paranoid);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(refused_by_perf(root->top, cases[i].fix));
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void a_pmu_that_cannot_be_understood_is_left_alone(void **state)
{
    const struct sysroot *root = *state;
    struct fake_pmu fake = {0};
    struct rapl rapl;
    pmu = &fake;
    pmu_files(root, "0\n");
    sysroot_file(root, PMU "/events/energy-pkg.unit", "Watts\n");
    sysroot_file(root, PMU "/events/energy-ram", "event=0x03,umask=0x1\n");
    rapl_open(&(struct rapl_places){.sysroot = root->top, .perf_event_open = fake_open}, &rapl);
    assert_int_equal(rapl.count, 0);
    rapl_fini(&rapl);
    pmu_files(root, "0-,18\n");
    rapl_open(&(struct rapl_places){.sysroot = root->top, .perf_event_open = fake_open}, &rapl);
    assert_int_equal(rapl.count, 0);
    assert_int_equal(fake.count, 0);
    rapl_fini(&rapl);
}

/* The package's two counters move by whole steps of 2^-14 J; DRAM (2, 3) stands still. */
static void package_moves(void *context)
{
    struct fake_pmu *fake = context;
    fake->value += fake->step;
    fake->step += UINT64_C(1) << 18;
    pmu_write(0, fake->value);
    pmu_write(1, 2 * fake->value);
    pmu_write(2, 0);
    pmu_write(3, 77);
}

static void a_counter_that_stands_still_under_load_is_unavailable(void **state)
{
    const struct sysroot *root = *state;
    struct fake_pmu fake = {.step = UINT64_C(1) << 18};
    struct rapl rapl;
    pmu = &fake;
    pmu_files(root, "0,18\n");
    const struct rapl_places places = {.sysroot = root->top,
                                       .perf_event_open = fake_open,
                                       .load = package_moves,
                                       .context = &fake};
    rapl_open(&places, &rapl);
    rapl_prove(&rapl, &places, 0.1);
    assert_true(rapl.domains[0].available && rapl.domains[1].available);
    assert_false(rapl.domains[2].available || rapl.domains[3].available);
    assert_non_null(
        strstr(rapl.domains[2].reason, "the energy counter of dram-0 (rapl-perf) stands still"));
    assert_null(rapl.reason);
    assert_true(rapl.domains[0].quantum_j.valid);
    assert_true(rapl.domains[0].quantum_j.value == 1.0 / 16384);
    assert_true(rapl.domains[1].quantum_j.value == 2.0 / 16384);
    assert_true(rapl.domains[0].update_s.valid && rapl.domains[0].update_s.value > 0);
    assert_true(rapl.domains[0].read_s.valid && rapl.domains[0].read_s.value > 0);
    assert_false(rapl.domains[2].update_s.valid || rapl.domains[2].quantum_j.valid);
    struct rapl_reading reading;
    rapl_read(&rapl.domains[2], &reading);
    assert_false(reading.valid);
    pmu_close();
    rapl_fini(&rapl);
}

/* A counter of the kernel's own: cpu-clock counts the nanoseconds of CPU 0; called Joules here. */
static void a_counter_of_the_real_kernel_is_read(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    struct rapl_reading first, second;
    pmu_files(root, "0\n");
    sysroot_file(root, PMU "/type", "1\n");
    sysroot_file(root, PMU "/events/energy-pkg", "event=0x00\n");
    sysroot_file(root, PMU "/events/energy-pkg.scale", "1e-9\n");
    sysroot_file(root, PMU "/events/energy-ram.unit", "none\n");
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    assert_int_equal(rapl.count, 1);
    if (!rapl.domains[0].available) {
        print_message("# skipped: %s\n", rapl.reason);
        rapl_fini(&rapl);
        skip();
    }
    rapl_read(&rapl.domains[0], &first);
    while (rapl_read(&rapl.domains[0], &second), second.before_ns - first.after_ns < 20000000)
        ;
    assert_true(first.valid && second.valid && !second.restarted);
    /* A microjoule each microsecond, as long as CPU 0 is online. */
    double most_uj = (double)(second.after_ns - first.before_ns) / 1000 + 1;
    double least_uj = (double)(second.before_ns - first.after_ns) / 1000 - 1;
    double energy_uj = (double)(second.energy_uj - first.energy_uj);
    assert_true(energy_uj <= most_uj * 1.05);
    assert_true(energy_uj >= least_uj * 0.95);
    rapl_fini(&rapl);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, sysroot_setup, sysroot_teardown)
        ROW(perf_is_preferred_and_read_in_units_of_its_scale),
        ROW(dies_that_are_counted_apart_have_names_of_their_own),
        ROW(where_perf_is_refused_powercap_is_used),
        ROW(what_refuses_perf_is_named_with_the_command_that_permits_it),
        ROW(a_pmu_that_cannot_be_understood_is_left_alone),
        ROW(a_counter_that_stands_still_under_load_is_unavailable),
        ROW(a_counter_of_the_real_kernel_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
