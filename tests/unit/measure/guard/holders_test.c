#include "measure/guard/holders.h"

#include "scene.h"
#include "tare_build.h"

#include <stdlib.h>

static char used[] = "GPU 0 is used", unseen[] = "GPU 0: pid 12 with 5540 MiB",
            unsaid[] = "not said";

static struct guard_finding holder(int32_t pid, uint64_t start_time)
{
    return (struct guard_finding){.kind = pid ? "foreign_process" : "memory_not_empty",
                                  .text = used,
                                  .pids = {pid},
                                  .pid_count = pid != 0,
                                  .start_time = start_time,
                                  .blocks = true,
                                  .holds = true};
}

/* How long the wait has lasted at now_s, with these holders there. */
static double waited(struct guard_holders *wait, struct guard_finding *items, size_t count,
                     double now_s)
{
    struct guard_findings found = {.items = items, .count = count};
    return guard_holders_add(wait, &found, now_s);
}

static void each_holder_gets_a_wait_of_its_own(void **state)
{
    (void)state;
    struct guard_holders wait = {0};
    struct guard_finding a = holder(7, 100), b = holder(8, 200), reused = holder(7, 300),
                         both[] = {b, a};
    assert_true(waited(&wait, &a, 1, 0) == 0);
    assert_true(waited(&wait, &a, 1, 400) == 400);
    assert_true(waited(&wait, both, 2, 500) == 500); /* of the one that is there longest */
    assert_true(waited(&wait, &b, 1, 700) == 200);
    assert_true(waited(&wait, &a, 1, 800) == 0);      /* it came back */
    assert_true(waited(&wait, &reused, 1, 900) == 0); /* its pid is another process's */
    assert_int_equal(wait.came, 4);
    guard_holders_fini(&wait);
}

static void a_holder_without_a_name_is_one_holder_and_load_beside_a_named_one_is_not(void **state)
{
    (void)state;
    struct guard_holders wait = {0};
    struct guard_finding nameless = holder(0, 0), two[] = {holder(0, 0), holder(7, 100)};
    assert_true(waited(&wait, &nameless, 1, 10) == 0);
    assert_true(waited(&wait, &nameless, 1, 300) == 290);
    assert_true(waited(&wait, two, 2, 400) == 0);
    assert_true(waited(&wait, two, 2, 500) == 100);
    guard_holders_fini(&wait);
}

static void heat_is_waited_for_from_when_the_last_holder_left(void **state)
{
    (void)state;
    struct guard_holders wait = {0};
    struct guard_finding a = holder(7, 100),
                         heat = {.kind = "hot_start", .text = used, .blocks = true};
    assert_true(waited(&wait, &heat, 1, 100) == 100);
    assert_true(waited(&wait, &a, 1, 200) == 0);
    assert_true(waited(&wait, &a, 1, 500) == 300);
    assert_true(waited(&wait, &heat, 1, 530) == 30);
    guard_holders_fini(&wait);
}

static void expect_text(struct guard_finding *items, size_t count, const char *wanted)
{
    struct guard_findings found = {.items = items, .count = count};
    char *text = guard_holders_text(&found);
    assert_string_equal(text, wanted);
    free(text);
}

#define CLEAN TARE_NAME " clean --pid "

static void the_text_names_who_holds_the_gpu_and_the_command_that_ends_it(void **state)
{
    (void)state;
    struct guard_finding many[5];
    for (int i = 0; i < 5; i++)
        many[i] = holder(10 + i, 100);
    expect_text(many, 1, "GPU 0 is used; end it with '" CLEAN "10'");
    many[0].other_user = true;
    expect_text(many, 1, "GPU 0 is used; end it with 'sudo " CLEAN "10'");
    expect_text(many, 2,
                "GPU 0 is used; GPU 0 is used; end them with 'sudo " CLEAN "10; " CLEAN "11'");
    expect_text(many, 5,
                "GPU 0 is used; GPU 0 is used; GPU 0 is used; and by 2 more ('" TARE_NAME
                " clean' lists them); "
                "end them with 'sudo " CLEAN "10; " CLEAN "11; " CLEAN "12'");
    many[1] = many[0]; /* on another GPU of the slot */
    expect_text(many, 2, "GPU 0 is used; GPU 0 is used; end it with 'sudo " CLEAN "10'");
}

static void where_the_holder_cannot_be_named_the_text_says_what_is_known(void **state)
{
    (void)state;
    struct guard_finding hidden[] = {
        {.kind = "processes_unseen", .text = unseen, .pids = {12}, .pid_count = 1},
        holder(0, 0),
        {.kind = "gpu_state_unchecked", .text = unsaid}};
    expect_text(hidden, 3,
                "GPU 0: pid 12 with 5540 MiB; GPU 0 is used; its process cannot be seen here: "
                "'sudo " TARE_NAME
                " clean' names it, in a container only where /proc is the host's (--pid=host)");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_holder_gets_a_wait_of_its_own),
        cmocka_unit_test(a_holder_without_a_name_is_one_holder_and_load_beside_a_named_one_is_not),
        cmocka_unit_test(heat_is_waited_for_from_when_the_last_holder_left),
        cmocka_unit_test(the_text_names_who_holds_the_gpu_and_the_command_that_ends_it),
        cmocka_unit_test(where_the_holder_cannot_be_named_the_text_says_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
