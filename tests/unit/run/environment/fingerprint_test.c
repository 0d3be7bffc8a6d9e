/* machine.json and the questions behind it. */
#include "../fixture.h"
#include "base/fs_path.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/query.h"
#include "results/store/machines.h"
#include "run/environment/fingerprint.h"
#include "run/environment/git.h"
#include "run/environment/machine.h"
#include "run/run.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static bool ask(const char *script, double timeout_s, struct text *out)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_add(&argv, script);
    strv_add(&env, "PATH=/usr/bin:/bin");
    return query_program(&argv, &env, 1000, timeout_s, false, out, NULL);
}

static void a_query_takes_the_answer_of_a_program(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    assert_true(ask("echo one; echo two; echo lost >&2", 60, &out));
    assert_string_equal(text_get(&out), "one\ntwo\n");
    text_clear(&out);
    assert_false(ask("echo no; exit 1", 60, &out));
}

static void a_query_ends_what_takes_too_long_or_says_too_much(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    int64_t start_ns = clock_monotonic_ns();
    assert_false(ask("sleep 1000", 0.2, &out));
    assert_false(ask("exec >&-; sleep 1000", 0.2, &out));
    assert_false(ask("yes", 100, &out));
    assert_true(clock_monotonic_ns() - start_ns < 90 * NS_PER_S);
}

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

static json_t *written(struct world *world)
{
    struct err err = {0};
    AUTO_STRV struct strv environment = {0};
    for (char **entry = environ; *entry; entry++)
        strv_add(&environment, *entry);
    json_t *software = machine_software_json(&world->plan, &world->containment, &environment);
    const struct machine_facts facts = {.software = software, .session = 1};
    if (!machine_write(world->dir, &world->plan, &world->containment, &facts, &err))
        fail_msg("%s", err.text);
    json_decref(software);
    AUTO_FREE char *text = world_read(world, "machine.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void machine_json_says_where_it_ran(void **state)
{
    struct world *world = *state;
    struct utsname host;
    uname(&host);
    world_add(world, "exit 0");
    json_t *json = written(world);
    assert_string_equal(json_string_value(json_object_get(json, "host")), host.nodename);
    assert_string_equal(json_string_value(json_object_get(json, "kernel")), host.release);
    assert_string_equal(json_string_value(json_object_get(json, "version")), TARE_VERSION);
    AUTO_TEXT struct text total = {0};
    assert_true(ask("sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo", 60, &total));
    json_int_t memory = json_integer_value(json_object_get(json, "memory_bytes"));
    assert_true(memory > 0 && memory == strtoll(text_get(&total), NULL, 10) * 1024);
    assert_true(json_is_array(json_object_get(json, "gpus")));
    assert_string_equal(json_string_value(json_object_get(json, "calibrations")), "none");
    /* The scripts' folder is no repository: absent is null. */
    const json_t *repository = json_array_get(json_object_get(json, "repositories"), 0);
    assert_string_equal(json_string_value(json_object_get(repository, "path")), world->root);
    assert_true(json_is_null(json_object_get(repository, "commit")));
    assert_true(json_is_null(json_object_get(repository, "dirty")));
    json_decref(json);
}

static void the_file_of_an_earlier_session_is_kept(void **state)
{
    struct world *world = *state;
    world_add(world, "exit 0");
    for (int i = 0; i < 3; i++)
        json_decref(written(world));
    assert_true(world_has(world, "machine.json"));
    assert_true(world_has(world, "machine.1.json"));
    assert_true(world_has(world, "machine.2.json"));
    assert_false(world_has(world, "machine.3.json"));
}

static void a_repository_gives_its_commit_and_whether_it_was_changed(void **state)
{
    struct world *world = *state;
    AUTO_TEXT struct text head = {0};
    AUTO_FREE char *make = mem_printf(
        "export HOME=%s; cd %s && git init -q . && echo a >file && git add file && "
        "git -c user.name=a -c user.email=a@b.c commit -q -m first && git rev-parse HEAD",
        world->root, world->root);
    AUTO_FREE char *git = fs_find_executable("git", NULL, "/usr/bin:/bin");
    if (!git) {
        print_message("# git is not installed\n");
        skip();
    }
    setenv("GIT_CEILING_DIRECTORIES", "/", 1);
    assert_true(ask(make, 60, &head));
    world_add(world, "exit 0");
    json_t *json = written(world);
    const json_t *repository = json_array_get(json_object_get(json, "repositories"), 0);
    AUTO_FREE char *commit = mem_strndup(text_get(&head), head.length - 1);
    assert_int_equal(strlen(commit), 40);
    assert_string_equal(json_string_value(json_object_get(repository, "commit")), commit);
    assert_true(json_is_false(json_object_get(repository, "dirty")));
    json_decref(json);
    AUTO_FREE char *change = mem_printf("echo b >%s/file", world->root);
    text_clear(&head);
    assert_true(ask(change, 60, &head));
    json = written(world);
    repository = json_array_get(json_object_get(json, "repositories"), 0);
    assert_true(json_is_true(json_object_get(repository, "dirty")));
    json_decref(json);
}

static void git_is_asked_only_where_a_repository_may_be(void **state)
{
    static const struct {
        const char *path, *with;
        bool may;
    } cases[] = {{"a/b/c", "a/.git/", true},
                 {"a/b/c", "a/b/c/.git", true},
                 {"a", "a/b/.git/", false},
                 {"bare/objects", "bare/HEAD", true},
                 {"none", "", false}};
    struct world *world = *state;
    AUTO_TEXT struct text out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_FREE char *make =
            mem_printf("cd %s && rm -rf a bare none && mkdir -p %s a/b && case '%s' in '') ;; */) "
                       "mkdir -p %s ;; *) touch %s ;; esac",
                       world->root, cases[i].path, cases[i].with, cases[i].with, cases[i].with);
        AUTO_FREE char *path = mem_printf("%s/%s", world->root, cases[i].path);
        assert_true(ask(make, 60, &out));
        assert_int_equal(git_has_repository(path), cases[i].may);
    }
}

static void a_virtual_environment_lists_its_packages(void **state)
{
    struct world *world = *state;
    AUTO_TEXT struct text out = {0};
    /* A stand-in that only knows its version and where it searches: the folders' names say the
     * rest. */
    AUTO_FREE char *make = mem_printf(
        "cd %s && mkdir -p venv/bin venv/lib/python3.11/site-packages/numpy-1.26.4.dist-info "
        "venv/lib/python3.11/site-packages/six-1.16.0.dist-info "
        "venv/lib/python3.12/site-packages/no-1.dist-info "
        "src/own.egg-info old/numpy-1.0-py3.11.egg-info old/zip-2.0-py3.11.egg-info && "
        "printf 'Metadata-Version: 2.1\\nName: own\\nVersion: 0.3.dev1\\n' "
        ">src/own.egg-info/PKG-INFO && "
        "printf '#!/bin/sh\\n[ \"$1\" = -c ] && printf \"3.11.7\\\\n%%%%s\\\\n\" "
        "%s/venv/lib/python3.11/site-packages "
        "%s/src "
        "%s/old\\n' >venv/bin/python && chmod +x venv/bin/python",
        world->root, world->root, world->root, world->root);
    assert_true(ask(make, 60, &out));
    struct plan_experiment *experiment = world_add(world, "exit 0");
    AUTO_FREE char *python = mem_printf("%s/venv/bin/python", world->root);
    free(experiment->foreground.argv.items[0]);
    experiment->foreground.argv.items[0] = mem_strdup(python);
    json_t *json = written(world);
    const json_t *interpreter = json_array_get(json_object_get(json, "interpreters"), 0);
    assert_string_equal(json_string_value(json_object_get(interpreter, "path")), python);
    assert_string_equal(json_string_value(json_object_get(interpreter, "version")), "3.11.7");
    const json_t *packages = json_object_get(interpreter, "packages");
    /* Of two versions the first on the path counts, as for an import. */
    assert_int_equal(json_array_size(packages), 4);
    assert_string_equal(json_string_value(json_array_get(packages, 0)), "numpy==1.26.4");
    assert_string_equal(json_string_value(json_array_get(packages, 1)), "own==0.3.dev1");
    assert_string_equal(json_string_value(json_array_get(packages, 2)), "six==1.16.0");
    assert_string_equal(json_string_value(json_array_get(packages, 3)), "zip==2.0");
    json_decref(json);
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
        cmocka_unit_test(a_query_takes_the_answer_of_a_program),
        cmocka_unit_test(a_query_ends_what_takes_too_long_or_says_too_much),
        cmocka_unit_test(packages_are_read_from_the_names_of_their_folders),
        cmocka_unit_test(the_interpreter_of_a_command_is_its_first_python),
        IN_WORLD(machine_json_says_where_it_ran),
        IN_WORLD(the_file_of_an_earlier_session_is_kept),
        IN_WORLD(a_repository_gives_its_commit_and_whether_it_was_changed),
        IN_WORLD(git_is_asked_only_where_a_repository_may_be),
        IN_WORLD(a_virtual_environment_lists_its_packages),
        cmocka_unit_test(a_difference_names_interpreter_and_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
