/* Which processors the lanes get, on machines that are played by files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "run/environment/cpu_sets.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_root(void **state)
{
    char *root = mem_strdup("/tmp/cpu-sets-test.XXXXXX");
    *state = root;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static int remove_root(void **state)
{
    nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

static void put(const char *root, const char *path, const char *text)
{
    AUTO_FREE char *whole = mem_printf("%s%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_gpu(const char *root, const char *bus, const char *node, const char *cpus)
{
    AUTO_FREE char *node_path = mem_printf("/sys/bus/pci/devices/%s/numa_node", bus);
    AUTO_FREE char *cpus_path = mem_printf("/sys/bus/pci/devices/%s/local_cpulist", bus);
    if (node)
        put(root, node_path, node);
    if (cpus)
        put(root, cpus_path, cpus);
}

static void put_siblings(const char *root, unsigned cpu, const char *list)
{
    AUTO_FREE char *path =
        mem_printf("/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    put(root, path, list);
}

static struct cpus list(const char *text)
{
    struct cpus cpus;
    assert_true(cpus_parse(text, strlen(text), &cpus));
    return cpus;
}

/* lanes: the GPUs of each, by blanks. */
static void make(const char *root, const char *const *lanes, size_t count, const char *allowed,
                 struct cpu_sets *out)
{
    struct strv *buses = mem_array(count, sizeof *buses);
    struct cpus may = list(allowed);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *words = mem_strdup(lanes[i]);
        char *rest = NULL;
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            strv_add(&buses[i], word);
    }
    cpu_sets_make(root, buses, count, &may, out);
    for (size_t i = 0; i < count; i++)
        strv_fini(&buses[i]);
    free(buses);
}

static void lane_has(const struct cpu_sets *sets, size_t lane, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    assert_non_null(sets->lanes);
    cpus_print(&sets->lanes[lane - 1], &text);
    assert_string_equal(text_get(&text), expected);
}

/* Two sockets of 32 cores with two threads each, four GPUs on each socket: thread n's sibling is n
 * + 64. */
static void on_two_sockets_each_lane_gets_eight_whole_cores_beside_its_gpu(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                        "0000:04:00.0", "0000:81:00.0", "0000:82:00.0",
                                        "0000:83:00.0", "0000:C4:00.0"};
    for (unsigned cpu = 0; cpu < 128; cpu++) {
        char siblings[32];
        snprintf(siblings, sizeof siblings, "%u,%u\n", cpu % 64, cpu % 64 + 64);
        put_siblings(*state, cpu, siblings);
    }
    for (size_t i = 0; i < 7; i++)
        put_gpu(*state, lanes[i], i < 4 ? "0\n" : "1\n", i < 4 ? "0-31,64-95\n" : "32-63,96-127\n");
    put_gpu(*state, "0000:c4:00.0", "1\n", "32-63,96-127\n");
    struct cpu_sets sets;
    make(*state, lanes, 8, "0-127", &sets);
    lane_has(&sets, 1, "0-7,64-71");
    lane_has(&sets, 2, "8-15,72-79");
    lane_has(&sets, 4, "24-31,88-95");
    lane_has(&sets, 5, "32-39,96-103");
    lane_has(&sets, 8, "56-63,120-127");
    assert_int_equal(sets.nodes[3], 0);
    assert_int_equal(sets.nodes[7], 1);
    AUTO_FREE char *text = cpu_sets_text(&sets);
    assert_string_equal(text, "16 CPUs near its GPUs for each");
    cpu_sets_fini(&sets);
}

/* Three on the first node and one on the second, which has room for more: an experiment must not
 * depend on its lane. */
static void every_lane_gets_as_many_also_where_one_node_has_fewer_gpus(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                        "0000:81:00.0"};
    for (size_t i = 0; i < 4; i++)
        put_gpu(*state, lanes[i], i < 3 ? "0" : "1", i < 3 ? "0-9" : "10-19");
    struct cpu_sets sets;
    make(*state, lanes, 4, "0-19", &sets);
    lane_has(&sets, 1, "0-2");
    lane_has(&sets, 2, "3-5");
    lane_has(&sets, 3, "6-8");
    lane_has(&sets, 4, "10-12");
    cpu_sets_fini(&sets);
}

/* The runner itself was kept on 2 to 5 and 9: 9 is near none. */
static void never_more_than_the_runner_may_use(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0", "0000:02:00.0"};
    put_gpu(*state, lanes[0], "-1", "0-7");
    put_gpu(*state, lanes[1], "-1", "0-7");
    struct cpu_sets sets;
    make(*state, lanes, 2, "2-5,9", &sets);
    lane_has(&sets, 1, "2-3");
    lane_has(&sets, 2, "4-5");
    assert_int_equal(sets.nodes[0], -1);
    cpu_sets_fini(&sets);
    make(*state, lanes, 2, "9-12", &sets);
    assert_null(sets.lanes);
    assert_string_equal(
        sets.why.text,
        "none of the processors near 0000:01:00.0 is among those that this run may use");
    cpu_sets_fini(&sets);
}

/* A lane with a GPU on each socket may use both, and takes what it takes beside the lanes that have
 * one of them alone. */
static void a_lane_whose_gpus_stand_apart_leaves_the_others_theirs(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0 0000:81:00.0", "0000:02:00.0 0000:03:00.0",
                                        "0000:82:00.0 0000:83:00.0"};
    static const char *const gpus[] = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                       "0000:81:00.0", "0000:82:00.0", "0000:83:00.0"};
    for (size_t i = 0; i < 6; i++)
        put_gpu(*state, gpus[i], i < 3 ? "0" : "1", i < 3 ? "0-5" : "6-11");
    struct cpu_sets sets;
    make(*state, lanes, 3, "0-11", &sets);
    /* Twelve for three: four each; those with one socket take first. */
    lane_has(&sets, 2, "0-3");
    lane_has(&sets, 3, "6-9");
    lane_has(&sets, 1, "4-5,10-11");
    assert_int_equal(sets.nodes[0], -1);
    assert_int_equal(sets.nodes[1], 0);
    assert_int_equal(sets.nodes[2], 1);
    cpu_sets_fini(&sets);
}

static void where_there_are_fewer_cores_than_lanes_threads_are_dealt_and_then_nothing(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                        "0000:04:00.0", "0000:05:00.0"};
    static const char *const siblings[] = {"0,2", "1,3", "0,2", "1,3"};
    for (unsigned cpu = 0; cpu < 4; cpu++)
        put_siblings(*state, cpu, siblings[cpu]);
    for (size_t i = 0; i < 5; i++)
        put_gpu(*state, lanes[i], "0", "0-3");
    struct cpu_sets sets;
    make(*state, lanes, 2, "0-3", &sets);
    lane_has(&sets, 1, "0,2");
    lane_has(&sets, 2, "1,3");
    cpu_sets_fini(&sets);
    make(*state, lanes, 4, "0-3", &sets);
    lane_has(&sets, 1, "0");
    lane_has(&sets, 4, "3");
    cpu_sets_fini(&sets);
    make(*state, lanes, 5, "0-3", &sets);
    assert_null(sets.lanes);
    assert_string_equal(sets.why.text, "4 processors near the GPUs are too few for 5 slots");
    cpu_sets_fini(&sets);
}

static void is_refused(const char *root, const char *bus, const char *part)
{
    struct cpus cpus;
    struct err err = {0};
    int node;
    assert_false(cpu_sets_near(root, bus, &cpus, &node, &err));
    if (!strstr(err.text, part))
        fail_msg("%s: '%s' does not say '%s'", bus, err.text, part);
}

static void what_the_machine_says_badly_gives_nobody_a_set(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0", "0000:02:00.0"};
    put_gpu(*state, lanes[0], "0", "0-7");
    put_gpu(*state, lanes[1], "0", "0-7;rm");
    put_gpu(*state, "0000:03:00.0", "0", "\n");
    put_gpu(*state, "0000:04:00.0", "-1", NULL);
    is_refused(*state, "0000:02:00.0",
               "/sys/bus/pci/devices/0000:02:00.0/local_cpulist: Invalid argument");
    is_refused(*state, "0000:03:00.0", "no processor is near");
    is_refused(*state, "0000:04:00.0", "No such file");
    is_refused(*state, "0000:09:00.0", "No such file");
    is_refused(*state, "../../../etc", "is no PCI address");
    is_refused(*state, "", "is no PCI address");
    is_refused(*state, "..", "is no PCI address");
    struct cpu_sets sets;
    make(*state, lanes, 2, "0-7", &sets);
    assert_null(sets.lanes);
    assert_non_null(strstr(sets.why.text, "0000:02:00.0/local_cpulist"));
    assert_null(cpu_sets_text(&sets));
    cpu_sets_fini(&sets);
}

static void the_node_tells_where_the_device_does_not_and_one_lane_needs_nothing(void **state)
{
    static const char *const lanes[] = {"0000:01:00.0"};
    struct cpus cpus, expected = list("4-7");
    struct err err = {0};
    int node;
    put_gpu(*state, lanes[0], "1\n", NULL);
    put(*state, "/sys/devices/system/node/node1/cpulist", "4-7\n");
    assert_true(cpu_sets_near(*state, lanes[0], &cpus, &node, &err));
    assert_true(cpus_equal(&cpus, &expected));
    assert_int_equal(node, 1);
    struct cpu_sets sets;
    make(*state, lanes, 1, "0-7", &sets);
    assert_null(sets.lanes);
    assert_string_equal(sets.why.text, "");
    cpu_sets_fini(&sets);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(on_two_sockets_each_lane_gets_eight_whole_cores_beside_its_gpu),
        TEST(every_lane_gets_as_many_also_where_one_node_has_fewer_gpus),
        TEST(never_more_than_the_runner_may_use),
        TEST(a_lane_whose_gpus_stand_apart_leaves_the_others_theirs),
        TEST(where_there_are_fewer_cores_than_lanes_threads_are_dealt_and_then_nothing),
        TEST(what_the_machine_says_badly_gives_nobody_a_set),
        TEST(the_node_tells_where_the_device_does_not_and_one_lane_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
