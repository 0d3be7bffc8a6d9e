/* What Slurm's programs answer, as its manuals describe it and as 22.05 prints it. */
#include "slurm/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

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

static void assert_gpus(const char *line, bool expected)
{
    assert_int_equal(slurm_config_parse(line).has_gpus, expected);
}

static void gpus_are_dealt_out_where_they_are_a_resource(void **state)
{
    (void)state;
    assert_gpus("GresTypes               = gpu\n", true);
    assert_gpus("GresTypes               = mps,gpu,nic\n", true);
    assert_gpus("GresTypes               = gpus\nMpiDefault = gpu\n", false);
    assert_gpus("GresTypes               = (null)\n", false);
    assert_gpus("GresTypes               = \ngpu = 1\n", false);
}

static void the_queue_is_tasks_with_an_index(void **state)
{
    (void)state;
    struct slurm_tasks queue = {0};
    slurm_queue_parse("tare-run_1.1|7|RUNNING|node3|None\n"
                      "tare-run_1.1|12|PENDING||launch failed requeued held\n"
                      "tare-run_1.1|N/A|PENDING||\n"
                      "\n"
                      "tare-run_1.2|0|COMPLETING",
                      &queue);
    assert_int_equal(queue.count, 3);
    assert_string_equal(queue.items[0].job_name, "tare-run_1.1");
    assert_int_equal(queue.items[0].index, 7);
    assert_string_equal(queue.items[0].state, "RUNNING");
    assert_string_equal(queue.items[0].nodes, "node3");
    assert_int_equal(queue.items[1].index, 12);
    assert_string_equal(queue.items[1].nodes, "");
    assert_string_equal(queue.items[1].reason, "launch failed requeued held");
    assert_string_equal(queue.items[2].job_name, "tare-run_1.2");
    assert_int_equal(queue.items[2].index, 0);
    assert_string_equal(queue.items[2].state, "COMPLETING");
    assert_string_equal(queue.items[2].reason, "");
    slurm_tasks_fini(&queue);
}

static void the_accounting_is_arrays_with_an_index(void **state)
{
    (void)state;
    struct slurm_tasks accounts = {0};
    slurm_accounts_parse("4711_3|NODE_FAIL|node3|0:0\n"
                         "4711_[5-8]|PENDING|None assigned|0:0\n"
                         "4711|COMPLETED|node1|0:0\n"
                         "4711_12|CANCELLED by 1000|node1|0:15\n",
                         &accounts);
    assert_int_equal(accounts.count, 2);
    assert_string_equal(accounts.items[0].job_id, "4711");
    assert_int_equal(accounts.items[0].index, 3);
    assert_string_equal(accounts.items[0].state, "NODE_FAIL");
    assert_string_equal(accounts.items[0].nodes, "node3");
    assert_int_equal(accounts.items[1].index, 12);
    assert_string_equal(accounts.items[1].state, "CANCELLED by 1000");
    assert_string_equal(accounts.items[1].reason, "0:15");
    slurm_tasks_fini(&accounts);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configuration_is_read_by_its_keys),
        cmocka_unit_test(what_is_not_said_is_what_slurm_comes_with),
        cmocka_unit_test(gpus_are_dealt_out_where_they_are_a_resource),
        cmocka_unit_test(the_queue_is_tasks_with_an_index),
        cmocka_unit_test(the_accounting_is_arrays_with_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
