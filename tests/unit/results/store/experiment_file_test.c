/* The memory of an experiment, read from experiment.json. */
#include "results/store/experiment_file.h"

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

static struct experiment_file file_of(const char *text)
{
    char dir[] = "/tmp/experiment-file-test.XXXXXX", path[200];
    struct experiment_file file;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/experiment.json", dir);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(experiment_file_read(fd, &file));
    unlinkat(fd, "experiment.json", 0);
    assert_false(experiment_file_read(fd, &(struct experiment_file){0}));
    close(fd);
    rmdir(dir);
    return file;
}

static void the_foreground_of_a_parallel_experiment_counts(void **state)
{
    (void)state;
    struct experiment_file file = file_of(
        "{\"foreground\": {\"hyperparameters\": {\"batch_size\": 64}},"
        " \"background\": {\"hyperparameters\": {\"batch_size\": 8}}, \"tare\": {\"epochs\": ["
        "{\"gpu_mem_peak_mib\": 100}, {\"part\": \"step\", \"gpu_mem_peak_mib\": null}]}}");
    assert_true(file.batch_size == 64);
    assert_int_equal(file.epoch_count, 2);
    assert_null(file.epochs[0].part);
    assert_true(file.epochs[0].gpu_mem_peak_mib.value == 100);
    assert_false(file.epochs[1].gpu_mem_peak_mib.valid);
    experiment_file_fini(&file);
}

static void a_setting_that_is_null_was_looked_for_and_not_set(void **state)
{
    (void)state;
    struct experiment_file file = file_of(
        "{\"hyperparameters\": {\"batch_size\": 2}, \"tare\": {\"attempts\": [{\"oom\": null},"
        " {\"oom\": {\"allocator_setting\": null}}, {\"oom\": {\"allocator_setting\": \"x\"}}]}}");
    assert_true(file.batch_size == 2);
    assert_int_equal(file.attempt_count, 3);
    assert_false(file.attempts[0].oom.has_setting);
    assert_true(file.attempts[1].oom.has_setting && !file.attempts[1].oom.allocator_setting);
    assert_string_equal(file.attempts[2].oom.allocator_setting, "x");
    experiment_file_fini(&file);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_foreground_of_a_parallel_experiment_counts),
        cmocka_unit_test(a_setting_that_is_null_was_looked_for_and_not_set),
    };
    return cmocka_run_group_tests_name("experiment file", tests, NULL, NULL);
}
