/* What Slurm's programs answer, as its manuals describe it and as 22.05 prints it. */
#include "batch/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_configuration_is_read_by_its_keys(void **state)
{
    (void)state;
    struct slurm_config config = slurm_config_parse("Configuration data as of 2026-11-21T12:00:00\n"
                                                    "KillOnBadExit           = 0\n"
                                                    "KillWait                = 30 sec\n"
                                                    "MaxArraySize            = 4001\n"
                                                    "MaxDBDMsgs              = 20008\n");
    assert_true(config.kill_wait_s == 30);
    assert_int_equal(config.array_size, 4001);
}

static void what_is_not_said_is_what_slurm_comes_with(void **state)
{
    (void)state;
    struct slurm_config config = slurm_config_parse("MaxArraySize            = 0\nKillWaits = 9\n");
    assert_true(config.kill_wait_s == 0);
    assert_int_equal(config.array_size, 1001);
}

static void the_queue_is_tasks_with_an_index(void **state)
{
    (void)state;
    struct slurm_queue queue = {0};
    slurm_queue_parse("tare-run_1.1 7\ntare-run_1.1 12\nother job 3\ntare-run_1.1 N/A\n\ntare-run_1.2 0", &queue);
    assert_int_equal(queue.count, 4);
    assert_string_equal(queue.tasks[0].job_name, "tare-run_1.1");
    assert_int_equal(queue.tasks[0].index, 7);
    assert_int_equal(queue.tasks[1].index, 12);
    assert_string_equal(queue.tasks[2].job_name, "other job");
    assert_string_equal(queue.tasks[3].job_name, "tare-run_1.2");
    assert_int_equal(queue.tasks[3].index, 0);
    slurm_queue_fini(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configuration_is_read_by_its_keys),
        cmocka_unit_test(what_is_not_said_is_what_slurm_comes_with),
        cmocka_unit_test(the_queue_is_tasks_with_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
