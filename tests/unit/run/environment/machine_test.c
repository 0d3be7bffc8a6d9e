#include "../fixture.h"

#include "base/mem.h"
#include "tare_build.h"

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

UNIT_TESTS(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
    const struct CMUnitTest tests[] = {
        IN_WORLD(machine_json_says_where_it_ran),
        IN_WORLD(the_file_of_an_earlier_session_is_kept),
        IN_WORLD(a_virtual_environment_lists_its_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
