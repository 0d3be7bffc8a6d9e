/* machine.json of each session of a run. */
#include "results/store/machines.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_session_finds_the_machine_of_its_host_and_boot(void **state)
{
    (void)state;
    char dir[] = "/tmp/machines-test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    write_file(dir, "machine.json",
               "{\"session\": 3, \"host\": \"b\", \"boot_id\": \"2\", \"kernel\": \"6.1\"}");
    write_file(dir, "machine.1.json",
               "{\"session\": 1, \"host\": \"a\", \"boot_id\": \"1\", \"memory_bytes\": 4096,"
               " \"cpu\": {\"model\": \"x\", \"count\": 8}, \"nvidia_driver\": \"a 550.1\","
               " \"gpus\": [{\"uuid\": \"u\", \"model\": \"m\"}],"
               " \"repositories\": [{\"name\": \"r\", \"commit\": \"c\", \"dirty\": true}],"
               " \"interpreters\": [{\"path\": \"/p\", \"packages\": [\"a==1\"]},"
               " {\"path\": \"/q\", \"packages\": null}]}");
    write_file(dir, "machine.3.json", "{\"host\": \"c\"}"); /* 2 is missing: not reached */
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    struct machines machines;
    machines_read(fd, &machines);
    assert_int_equal(machines.count, 2);
    assert_ptr_equal(machines_find(&machines, "b", "2"), &machines.items[0]);
    assert_null(machines_find(&machines, "b", "1"));
    assert_null(machines_find(&machines, NULL, NULL));
    const struct machine_record *first = machines_find(&machines, "a", "1");
    assert_int_equal(first->session, 1);
    assert_int_equal(first->cpu_count, 8);
    assert_int_equal(first->memory_bytes, 4096);
    assert_string_equal(first->driver, "a 550.1");
    assert_string_equal(first->gpus[0].model, "m");
    assert_true(first->repositories[0].dirty);
    assert_true(first->interpreters[0].packages.known && !first->interpreters[1].packages.known);
    assert_string_equal(first->interpreters[0].packages.names.items[0], "a==1");
    machines_fini(&machines);
    static const char *const names[] = {"machine.json", "machine.1.json", "machine.3.json"};
    for (size_t i = 0; i < 3; i++)
        unlinkat(fd, names[i], 0);
    close(fd);
    rmdir(dir);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_finds_the_machine_of_its_host_and_boot),
    };
    return cmocka_run_group_tests_name("machines", tests, NULL, NULL);
}
