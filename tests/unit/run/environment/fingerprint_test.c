/* machine.json and the questions behind it. */
#include "../fixture.h"
#include "base/fs_path.h"

#include "base/mem.h"
#include "results/store/machines.h"
#include "run/environment/fingerprint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine_file.h"

#include "tests/unit/base/ask.h"

static void packages_are_read_from_the_names_of_their_folders(void **state)
{
    (void)state;
    char *package;
    assert_true(fingerprint_parse_package("numpy-1.26.4.dist-info", &package));
    assert_string_equal(package, "numpy==1.26.4");
    free(package);
    assert_true(fingerprint_parse_package("torch-2.3.0+cu121.dist-info", &package));
    assert_string_equal(package, "torch==2.3.0+cu121");
    free(package);
    assert_true(fingerprint_parse_package("own-0.3.dev1-py3.11.egg-info", &package));
    assert_string_equal(package, "own==0.3.dev1");
    free(package);
    assert_true(fingerprint_parse_package("six-1.16.0.egg-info", &package));
    assert_string_equal(package, "six==1.16.0");
    free(package);
    assert_true(fingerprint_parse_package("own.egg-info", &package));
    assert_string_equal(package, "own==");
    free(package);
    assert_false(fingerprint_parse_package(".egg-info", &package));
    assert_false(fingerprint_parse_package("numpy", &package));
    assert_false(fingerprint_parse_package("numpy.dist-info", &package));
    assert_false(fingerprint_parse_package("-1.dist-info", &package));
    assert_false(fingerprint_parse_package("numpy-1.26.4.dist-info.bak", &package));
}

static void the_interpreter_of_a_command_is_its_first_python(void **state)
{
    (void)state;
    AUTO_STRV struct strv argv = {0};
    assert_null(fingerprint_find_interpreter(&argv));
    strv_add(&argv, "/usr/bin/nice");
    strv_add(&argv, "/opt/python_train");
    assert_string_equal(fingerprint_find_interpreter(&argv), "/usr/bin/nice");
    strv_add(&argv, "/venv/bin/python3.11");
    assert_string_equal(fingerprint_find_interpreter(&argv), "/venv/bin/python3.11");
}

/* ---- What differs between two sessions. */

static void expect_difference(const char *before, const char *now, const char *expected)
{
    struct plan_experiment experiment = {0};
    json_t *a = json_loads(before, 0, NULL), *b = json_loads(now, 0, NULL);
    assert_true(a && b);
    experiment.foreground.cwd = mem_strdup("/nowhere/at/all");
    strv_add(&experiment.foreground.argv, "/opt/bin/python3");
    AUTO(machine_record_fini) struct machine_record of_before;
    AUTO(machine_record_fini) struct machine_record of_now;
    machine_record_read(a, &of_before);
    machine_record_read(b, &of_now);
    AUTO_FREE char *difference = fingerprint_difference(&experiment, &of_before, &of_now);
    if (expected)
        assert_string_equal(difference ? difference : "none", expected);
    else
        assert_null(difference);
    free(experiment.foreground.cwd);
    strv_fini(&experiment.foreground.argv);
    json_decref(a);
    json_decref(b);
}

#define MACHINE(version, packages)                                                 \
    "{\"interpreters\": [{\"path\": \"/opt/bin/python3\", \"version\": \"" version \
    "\", \"packages\": [" packages "]}"                                            \
    "]}"

static void a_difference_names_interpreter_and_packages(void **state)
{
    (void)state;
    expect_difference(MACHINE("3.11.7", "\"a==1\", \"b==2\""),
                      MACHINE("3.11.7", "\"b==2\", \"a==1\""), NULL);
    expect_difference(MACHINE("3.11.7", "\"a==1\""), MACHINE("3.12.1", "\"a==1.1\""),
                      "python3 3.11.7 became 3.12.1, a 1 became 1.1");
    expect_difference(MACHINE("3.11.7", "\"a==1\""), MACHINE("3.11.7", "\"ab==1\""),
                      "ab added, a removed");
    expect_difference(MACHINE("1", ""),
                      MACHINE("1", "\"a==1\", \"b==1\", \"c==1\", \"d==1\", \"e==1\""),
                      "a added, b added, c added and 2 more differences");
    /* A version that did not record it says nothing. */
    expect_difference("{}", MACHINE("3.11.7", "\"a==1\""), NULL);
    expect_difference("{\"nvidia_driver\": \"a 550.54\"}", "{\"nvidia_driver\": \"a 560.1\"}",
                      "the GPU driver changed (a 560.1)");
    expect_difference("{\"nvidia_driver\": null}", "{\"nvidia_driver\": \"a 560.1\"}", NULL);
}

UNIT_TESTS(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_are_read_from_the_names_of_their_folders),
        cmocka_unit_test(the_interpreter_of_a_command_is_its_first_python),
        cmocka_unit_test(a_difference_names_interpreter_and_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
