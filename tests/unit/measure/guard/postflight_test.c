#include "measure/guard/look.h"

#include "scene.h"

/* The job was born at 1000 ticks, its command ended at 2000. */
static const struct postflight_times times = {1000, 2000};

static void expect(double used_mib, const struct guard_user *users, size_t count, double since_s,
                   enum postflight_state expected, const char *kinds)
{
    struct guard_known known = {.empty_bytes = {0, true}};
    struct guard_findings found = {0};
    struct gpu_readings readings = scene_idle();
    char text[400];
    scene_set(&readings, GPU_MEMORY_USED_BYTES, used_mib * MIB);
    struct guard_look look = scene_look(S, &readings, users, count);
    assert_int_equal(postflight_judge(&guard_settings_default.preflight, &known, &look, &times,
                                      since_s, 1, &found),
                     expected);
    scene_kinds(&found, text);
    assert_string_equal(text, kinds);
    guard_findings_fini(&found);
}

static struct guard_user born(int ticks, double mib)
{
    struct guard_user user = scene_user(GUARD_FOREIGN, 7, mib, 0);
    user.start_time = (uint64_t)ticks;
    return user;
}

static void memory_that_is_back_is_back_at_once(void **state)
{
    (void)state;
    expect(0, NULL, 0, 0.1, POSTFLIGHT_BACK, "");
    expect(64, NULL, 0, 0.1, POSTFLIGHT_BACK, "");
}

static void memory_that_nobody_holds_is_waited_for_and_then_a_leak(void **state)
{
    (void)state;
    expect(300, NULL, 0, 0.1, POSTFLIGHT_WAIT, "");
    expect(300, NULL, 0, 9.9, POSTFLIGHT_WAIT, "");
    expect(300, NULL, 0, 10, POSTFLIGHT_LEAKED, "memory_leaked");
}

static void who_holds_the_rest_is_named_by_when_it_was_born(void **state)
{
    (void)state;
    struct guard_user during = born(1500, 900), after = born(2001, 900), before = born(999, 900);
    expect(900, &during, 1, 0.1, POSTFLIGHT_HELD, "possibly_delegated");
    expect(900, &after, 1, 0.1, POSTFLIGHT_HELD, "foreign_after");
    expect(900, &before, 1, 0.1, POSTFLIGHT_HELD, "foreign_after");
    before.known = true; /* told before the attempt began */
    expect(900, &before, 1, 0.1, POSTFLIGHT_HELD, "");
}

static void what_a_holder_does_not_explain_is_waited_for_and_leaked(void **state)
{
    (void)state;
    struct guard_user after = born(2001, 900);
    expect(1300, &after, 1, 0.1, POSTFLIGHT_WAIT, "");
    expect(1300, &after, 1, 10, POSTFLIGHT_LEAKED, "foreign_after memory_leaked");
    /* One that does not tell how much may have it all. */
    after.memory_bytes.valid = false;
    expect(1300, &after, 1, 10, POSTFLIGHT_HELD, "foreign_after");
}

static void where_owners_are_unknown_nobody_is_accused_of_a_leak(void **state)
{
    (void)state;
    struct guard_user unseen = scene_user(GUARD_UNSEEN, 7, 900, 0);
    expect(900, &unseen, 1, 0.1, POSTFLIGHT_WAIT, "");
    expect(900, &unseen, 1, 10, POSTFLIGHT_UNKNOWN, "processes_unseen");
}

static void without_readings_nothing_is_said(void **state)
{
    (void)state;
    struct guard_known known = {.empty_bytes = {0, true}};
    struct guard_findings found = {0};
    struct guard_look look = {.device = "GPU 0"};
    assert_int_equal(
        postflight_judge(&guard_settings_default.preflight, &known, &look, &times, 10, 1, &found),
        POSTFLIGHT_UNKNOWN);
    assert_int_equal(found.count, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_back_is_back_at_once),
        cmocka_unit_test(memory_that_nobody_holds_is_waited_for_and_then_a_leak),
        cmocka_unit_test(who_holds_the_rest_is_named_by_when_it_was_born),
        cmocka_unit_test(what_a_holder_does_not_explain_is_waited_for_and_leaked),
        cmocka_unit_test(where_owners_are_unknown_nobody_is_accused_of_a_leak),
        cmocka_unit_test(without_readings_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
