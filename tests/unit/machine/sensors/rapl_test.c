/* Energy counters of CPU packages and DRAM, in trees of files like those of real machines:
 * powercap, and what it shares with perf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/rapl.h"

#include "rapl_tree.h"

#include <poll.h>
#include <sys/wait.h>

static void a_package_is_counted_once_though_it_has_a_twin(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    laptop(root);
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    assert_int_equal(rapl.count, 3);
    static const struct {
        const char *name;
        enum rapl_scope scope;
        uint64_t energy_uj;
    } expected[] = {{"package-0", RAPL_PACKAGE, 1000000},
                    {"dram-0", RAPL_DRAM, 200000},
                    {"psys", RAPL_PLATFORM, 5000000}};
    for (size_t i = 0; i < 3; i++) {
        struct rapl_reading reading;
        rapl_read(&rapl.domains[i], &reading);
        assert_string_equal(rapl.domains[i].name, expected[i].name);
        assert_int_equal(rapl.domains[i].scope, expected[i].scope);
        assert_int_equal(rapl.domains[i].source, RAPL_POWERCAP);
        assert_true(rapl.domains[i].available && reading.valid);
        assert_int_equal(reading.energy_uj, expected[i].energy_uj);
        assert_true(reading.before_ns <= reading.after_ns);
    }
    assert_null(rapl.reason);
    assert_null(rapl.fix);
    rapl_fini(&rapl);
}

static void a_server_has_two_packages_and_the_dram_of_each(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    zone(root, "intel-rapl:0", "package-1", 11);
    zone(root, "intel-rapl:0:0", "dram", 12);
    zone(root, "intel-rapl:1", "package-0", 21);
    zone(root, "intel-rapl:1:0", "dram", 22);
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    static const char *const names[] = {"package-0", "package-1", "dram-0", "dram-1"};
    static const uint64_t energies[] = {21, 11, 22, 12};
    assert_int_equal(rapl.count, 4);
    for (size_t i = 0; i < 4; i++) {
        struct rapl_reading reading;
        rapl_read(&rapl.domains[i], &reading);
        assert_string_equal(rapl.domains[i].name, names[i]);
        assert_int_equal(reading.energy_uj, energies[i]);
    }
    rapl_fini(&rapl);
}

static void an_amd_package_is_found_and_its_cores_are_not_added(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    zone(root, "intel-rapl:0", "package-0", 7000000);
    zone(root, "intel-rapl:0:0", "core", 3000000);
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    assert_int_equal(rapl.count, 1);
    assert_string_equal(rapl.domains[0].name, "package-0");
    rapl_fini(&rapl);
}

static void a_twin_alone_is_used(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    zone(root, "intel-rapl-mmio:0", "package-0", 99);
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    assert_int_equal(rapl.count, 1);
    assert_true(rapl.domains[0].available);
    rapl_fini(&rapl);
}

static void a_counter_that_wraps_goes_on(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    struct rapl_reading first, second;
    zone(root, "intel-rapl:0", "package-0", 262143000000);
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    rapl_read(&rapl.domains[0], &first);
    sysroot_number(root, POWERCAP "/intel-rapl:0/energy_uj", 500000);
    rapl_read(&rapl.domains[0], &second);
    /* 328850 to the end of the range and 500000 from its beginning. */
    assert_int_equal(second.energy_uj - first.energy_uj, 828850);
    assert_false(second.restarted || second.gap);
    assert_int_equal(rapl_counter_reading(&second).energy_mj, 262143829); /* 262143828850 uJ */
    assert_int_equal(rapl.domains[0].restarts, 0);
    sysroot_number(root, POWERCAP "/intel-rapl:0/energy_uj", 400000);
    rapl_read(&rapl.domains[0], &second);
    assert_true(second.restarted);
    assert_int_equal(rapl.domains[0].restarts, 1);
    rapl_fini(&rapl);
}

/* As another user than root, with "." for the tree: folders above it need not be open to him. 0
 * when all was as it should be. */
static int refused_by_powercap(const char *top)
{
    struct rapl rapl;
    if (chdir(top) != 0 || (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)))
        return 1;
    rapl_open(&(struct rapl_places){.sysroot = "."}, &rapl);
    if (rapl.count != 3 || rapl.domains[0].available || rapl.domains[1].available ||
        !rapl.domains[2].available)
        return 2;
    if (!rapl.reason || strcmp(rapl.reason, "package-0: open " POWERCAP
                                            "/intel-rapl:0/energy_uj: Permission denied") != 0)
        return 3;
    if (!rapl.fix || strcmp(rapl.fix, "sudo chmod a+r " POWERCAP "/intel-rapl:0/energy_uj " POWERCAP
                                      "/intel-rapl:0:2/energy_uj") != 0)
        return 4;
    rapl_fini(&rapl);
    return 0;
}

static void a_file_only_root_may_read_is_named_with_the_command_that_opens_it(void **state)
{
    const struct sysroot *root = *state;
    static const char *const closed[] = {"intel-rapl:0", "intel-rapl:0:2", "intel-rapl-mmio:0"};
    laptop(root);
    for (size_t i = 0; i < 3; i++) {
        AUTO_FREE char *path = mem_printf("%s" POWERCAP "/%s/energy_uj", root->top, closed[i]);
        assert_int_equal(chmod(path, geteuid() == 0 ? 0400 : 0), 0);
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(refused_by_powercap(root->top));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_machine_without_counters_says_why(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    sysroot_file(root, "/proc/cpuinfo",
                 "processor\t: 0\nflags\t\t: fpu sse2\nbugs\t\t: a hypervisor\n");
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    assert_int_equal(rapl.count, 0);
    assert_string_equal(
        rapl.reason,
        "the kernel shows no energy counter of a CPU package (neither the PMU \"power\" nor a "
        "powercap zone)");
    rapl_fini(&rapl);
    sysroot_file(root, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2 hypervisor lahf_lm\n");
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    assert_string_equal(
        rapl.reason,
        "this is a virtual machine whose host shows it no energy counter of a CPU package");
    rapl_fini(&rapl);
}

static void a_virtual_machine_whose_only_counter_is_a_dead_psys_has_none(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    sysroot_file(root, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
    zone(root, "intel-rapl:0", "psys", 0);
    const struct rapl_places places = {.sysroot = root->top};
    rapl_open(&places, &rapl);
    assert_int_equal(rapl.count, 1);
    assert_non_null(rapl.reason);
    rapl_prove(&rapl, &places, 0.02);
    assert_false(rapl.domains[0].available);
    assert_string_equal(
        rapl.reason,
        "this is a virtual machine whose host shows it no energy counter of a CPU package");
    rapl_fini(&rapl);
}

static void while_a_job_runs_its_load_proves_the_counters(void **state)
{
    const struct sysroot *root = *state;
    struct rapl rapl;
    struct rapl_reading reading;
    laptop(root);
    rapl_open(&(struct rapl_places){.sysroot = root->top}, &rapl);
    for (size_t i = 0; i < rapl.count; i++)
        rapl_read(&rapl.domains[i], &reading);
    rapl_judge(&rapl, 0);
    assert_true(rapl.domains[0].available); /* one reading proves nothing */
    sysroot_number(root, POWERCAP "/intel-rapl:0:2/energy_uj", 200061);
    for (size_t i = 0; i < rapl.count; i++)
        rapl_read(&rapl.domains[i], &reading);
    rapl_judge(&rapl, 3600);
    assert_true(rapl.domains[0].available); /* not so soon */
    rapl_judge(&rapl, 0);
    assert_false(rapl.domains[0].available);
    assert_true(rapl.domains[1].available);
    assert_false(rapl.domains[2].available);
    assert_non_null(strstr(
        rapl.reason, "package-0: the energy counter of package-0 (rapl-powercap) stands still"));
    rapl_fini(&rapl);
}

/* A counter that has moved each time somebody looks. */
struct moving {
    const struct sysroot *root;
    uint64_t energy_uj;
};

static void move(void *context)
{
    struct moving *moving = context;
    moving->energy_uj += 1000;
    sysroot_number(moving->root, "/sys/class/powercap/intel-rapl:0/energy_uj", moving->energy_uj);
}

static void the_update_period_is_not_that_of_our_own_readings(void **state)
{
    const struct sysroot *root = *state;
    struct moving moving = {root, 1000000};
    struct rapl_places places = {.sysroot = root->top, .load = move, .context = &moving};
    struct rapl rapl;
    zone(root, "intel-rapl:0", "package-0", moving.energy_uj);
    rapl_open(&places, &rapl);
    for (int i = 0; i < 6; i++) { /* once in a while, as beside a job */
        struct rapl_reading reading;
        poll(NULL, 0, 100);
        move(&moving);
        rapl_read(&rapl.domains[0], &reading);
        assert_true(reading.valid);
    }
    rapl_prove(&rapl, &places, 0.2);
    assert_true(rapl.domains[0].available);
    /* Half a millisecond is the most between two readings in a row that tell of a period; none did
     * where nothing else runs so fast. */
    if (rapl.domains[0].update_s.valid)
        assert_true(rapl.domains[0].update_s.value > 0 && rapl.domains[0].update_s.value <= 0.0005);
    rapl_fini(&rapl);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, sysroot_setup, sysroot_teardown)
        ROW(a_package_is_counted_once_though_it_has_a_twin),
        ROW(a_server_has_two_packages_and_the_dram_of_each),
        ROW(an_amd_package_is_found_and_its_cores_are_not_added),
        ROW(a_twin_alone_is_used),
        ROW(a_counter_that_wraps_goes_on),
        ROW(a_file_only_root_may_read_is_named_with_the_command_that_opens_it),
        ROW(a_machine_without_counters_says_why),
        ROW(a_virtual_machine_whose_only_counter_is_a_dead_psys_has_none),
        ROW(while_a_job_runs_its_load_proves_the_counters),
        ROW(the_update_period_is_not_that_of_our_own_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
