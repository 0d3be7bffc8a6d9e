/* Names in texts, values and tables, and what they become. */
#include "base/json_print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "results/judge/anonymous.h"

#include <stdlib.h>
#include <string.h>

static int setup(void **state)
{
    static const struct dataset none;
    setenv("HOME", "/data/people/eve", 1);
    *state = anonymous_new(&none);
    return 0;
}

static int teardown(void **state)
{
    anonymous_free(*state);
    return 0;
}

static void expect(struct anonymous *anonymous, const char *text, const char *expected)
{
    AUTO_TEXT struct text out = {0};
    anonymous_text(anonymous, text, &out);
    assert_string_equal(text_get(&out), expected);
}

/* The caller's own names may have taken the first numbers: only others are counted here. */
static void expect_gone(struct anonymous *anonymous, const char *text, const char *const *names)
{
    AUTO_TEXT struct text out = {0};
    anonymous_text(anonymous, text, &out);
    for (; *names; names++)
        if (strstr(text_get(&out), *names))
            fail_msg("%s is in: %s", *names, text_get(&out));
}

static void processes_and_their_numbers_are_replaced_and_figures_stay(void **state)
{
    expect(
        *state,
        "other processes used 5.1 % of the machine's CPU time: tmux: server (pid 4711 and 2 more), "
        "7 %",
        "other processes used 5.1 % of the machine's CPU time: process 1 (pid 1 and 2 more), 7 %");
    expect(*state, "GPU 0: 2 processes of unknown owner: pid 4711 with 12 MiB, pid 99",
           "GPU 0: 2 processes of unknown owner: pid 1 with 12 MiB, pid 2");
    expect(*state, "run.lock is locked by process 99 (tmux: server)",
           "run.lock is locked by process 2 (process 1)");
    expect(*state, "Process 99 has 3 GiB memory in use", "Process 2 has 3 GiB memory in use");
    expect(*state, "the training process took 12 s", "the training process took 12 s");
}

static void users_are_replaced_where_they_are_named_and_ever_after(void **state)
{
    static const char *const names[] = {"ada", "4711", "secret", "o'brien", NULL};
    expect_gone(*state,
                "GPU 0 is used by pid 4711 of user ada, 'python3 secret.py --of o'brien', 2 h 03 "
                "min old, 5 MiB; end it with 'sudo tare clean --pid 4711'",
                names);
    expect_gone(*state, "/scratch/ada/x and ada_2 are ada's", names);
    expect_gone(*state, "it belongs to user 4711, who keeps others out", names);
    expect(*state, "Canada and adagrad", "Canada and adagrad");
}

static void homes_and_ids_of_devices_are_replaced(void **state)
{
    static const char *const names[] = {"bob", "eve", "1234", "/root", NULL};
    expect_gone(*state, "cannot open '/home/bob/x.py': bob; /data/people/eve/run, /root/y", names);
    expect_gone(*state, "GPU-12345678-1234-1234-1234-123456789abc was lost", names);
    expect_gone(*state, "file:///Users/bob", names);
    expect(*state, "/tmp/home/z.py, /rooted", "/tmp/home/z.py, /rooted");
}

static void values_are_replaced_by_their_keys_and_vocabulary_stays(void **state)
{
    json_t *json = json_pack("{s:s, s:{s:i}, s:{s:i, s:s}, s:[s], s:s, s:s}", "host", "wednesday",
                             "hyperparameters", "pid", 3, "left", "pid", 4711, "command",
                             "web content", "command", "wednesday", "experiment_id",
                             "wednesday_net_001", "text", "it ran on wednesday");
    anonymous_json(*state, json);
    AUTO_TEXT struct text out = {0};
    json_print(json, &out);
    assert_null(strstr(text_get(&out), "web content"));
    assert_null(strstr(text_get(&out), "4711"));
    assert_string_equal(json_string_value(json_object_get(json, "experiment_id")),
                        "wednesday_net_001");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(json, "hyperparameters"), "pid")), 3);
    const char *host = json_string_value(json_object_get(json, "host"));
    assert_memory_equal(host, "host ", 5);
    AUTO_FREE char *text = mem_printf("it ran on %s", host);
    assert_string_equal(json_string_value(json_object_get(json, "text")), text);
    json_decref(json);
}

static void tables_keep_their_header_and_their_ids(void **state)
{
    struct text csv = {0};
    text_add(&csv, "experiment_id,host,reason\r\nbob_net_001,saturn,\"of user bob, at saturn\"\n");
    anonymous_csv(*state, &csv);
    assert_memory_equal(text_get(&csv), "experiment_id,host,reason\nbob_net_001,host ", 42);
    assert_null(strstr(text_get(&csv), "saturn"));
    assert_null(strstr(text_get(&csv), "user bob"));
    text_fini(&csv);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes_and_their_numbers_are_replaced_and_figures_stay,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(users_are_replaced_where_they_are_named_and_ever_after,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(homes_and_ids_of_devices_are_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_replaced_by_their_keys_and_vocabulary_stays,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(tables_keep_their_header_and_their_ids, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
