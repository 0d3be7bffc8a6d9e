#include "measure/guard/look.h"

#include "scene.h"

static const struct guard_known empty = {.empty_bytes = {0, true}};

static void begin(struct watch *watch)
{
    *watch = (struct watch){0};
    watch_begin(watch, "GPU 0", 100 * S, 64 * MIB, NULL);
}

static void see(struct watch *watch, double at_s, const struct gpu_readings *readings,
                const struct guard_user *users, size_t count)
{
    struct guard_look look = scene_look(100 * S + (int64_t)(at_s * 1e9), readings, users, count);
    watch_take(watch, &empty, &look);
}

static void expect_span(const struct watch *watch, size_t which, const char *kind, double from_s,
                        double to_s)
{
    assert_true(which < watch->count);
    const struct watch_span *span = &watch->spans[which];
    assert_string_equal(span->kind, kind);
    assert_true(span->from_ns == 100 * S + (int64_t)(from_s * 1e9));
    assert_true(span->to_ns == 100 * S + (int64_t)(to_s * 1e9));
}

static void nothing_is_said_of_a_job_at_full_load(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    struct guard_user job = scene_user(GUARD_OURS, 7, 90000, 99);
    begin(&watch);
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 90000 * MIB);
    scene_set(&readings, GPU_POWER_INSTANT_W, 699);
    scene_set(&readings, GPU_TEMPERATURE_C, 70);
    scene_set(&readings, GPU_UTILISATION_PERCENT, 100);
    scene_set(&readings, GPU_CLOCK_REASONS,
              GPU_CLOCK_POWER_CAP | GPU_CLOCK_SYNC_BOOST | GPU_CLOCK_APPLICATION_SETTING);
    for (int i = 1; i < 100; i++)
        see(&watch, i, &readings, &job, 1);
    watch_end(&watch, 200 * S);
    assert_int_equal(watch.count, 0);
    assert_null(watch_news(&watch));
    watch_fini(&watch);
}

static void a_span_lasts_from_the_look_before_to_the_look_after(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle(), hot = scene_idle();
    scene_set(&hot, GPU_CLOCK_REASONS, GPU_CLOCK_HW_THERMAL | GPU_CLOCK_HW_SLOWDOWN);
    begin(&watch);
    see(&watch, 1, &readings, NULL, 0);
    see(&watch, 2, &hot, NULL, 0);
    see(&watch, 3, &hot, NULL, 0);
    see(&watch, 4, &readings, NULL, 0);
    /* It comes back within 5 s: the same span. */
    see(&watch, 7, &hot, NULL, 0);
    see(&watch, 8, &readings, NULL, 0);
    /* And much later: another one, which lasts to the end. */
    see(&watch, 20, &readings, NULL, 0);
    see(&watch, 21, &hot, NULL, 0);
    watch_end(&watch, 130 * S);
    assert_int_equal(watch.count, 2);
    expect_span(&watch, 0, "hw_thermal", 1, 8);
    expect_span(&watch, 1, "hw_thermal", 20, 30);
    assert_int_equal(watch.spans[0].times, 2);
    watch_fini(&watch);
}

static void each_reason_has_its_kind(void **state)
{
    (void)state;
    static const struct {
        unsigned bits;
        const char *kind;
    } rows[] = {{GPU_CLOCK_HW_THERMAL, "hw_thermal"},
                {GPU_CLOCK_POWER_BRAKE, "hw_power_brake"},
                {GPU_CLOCK_HW_SLOWDOWN, "hw_slowdown"},
                {GPU_CLOCK_SW_THERMAL, "sw_thermal"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct watch watch;
        struct gpu_readings readings = scene_idle();
        scene_set(&readings, GPU_CLOCK_REASONS, rows[i].bits);
        begin(&watch);
        see(&watch, 1, &readings, NULL, 0);
        watch_end(&watch, 110 * S);
        assert_int_equal(watch.count, 1);
        expect_span(&watch, 0, rows[i].kind, 0, 10);
        watch_fini(&watch);
    }
}

static void a_foreign_process_is_told_once_and_has_its_span(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    struct guard_user users[] = {scene_user(GUARD_OURS, 7, 900, 90),
                                 scene_user(GUARD_FOREIGN, 8, 500, 0)};
    begin(&watch);
    see(&watch, 1, &readings, users, 1);
    see(&watch, 2, &readings, users, 2);
    const struct watch_span *news = watch_news(&watch);
    assert_non_null(news);
    assert_non_null(strstr(news->text, "500 MiB"));
    see(&watch, 3, &readings, users, 2);
    assert_null(watch_news(&watch));
    see(&watch, 4, &readings, users, 1);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 1);
    expect_span(&watch, 0, "foreign_process", 1, 4);
    watch_fini(&watch);
}

static void what_was_told_before_counts_when_it_works(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    struct guard_user user = scene_user(GUARD_FOREIGN, 8, 500, 0);
    user.known = true;
    begin(&watch);
    see(&watch, 1, &readings, &user, 1);
    assert_int_equal(watch.count, 0);
    user.sm_percent.value = 1;
    see(&watch, 2, &readings, &user, 1);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 1);
    expect_span(&watch, 0, "foreign_process", 1, 10);
    watch_fini(&watch);
}

static void what_was_born_when_the_command_had_ended_is_none_of_its_time(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    struct guard_user user = scene_user(GUARD_FOREIGN, 8, 500, 50);
    user.later = true;
    begin(&watch);
    see(&watch, 1, &readings, &user, 1);
    assert_int_equal(watch.count, 0);
    watch_fini(&watch);
}

static void one_that_ends_between_two_calls_is_not_unknown(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    struct guard_user user = scene_user(GUARD_UNSEEN, 8, 500, 0);
    begin(&watch);
    see(&watch, 1, &readings, &user, 1);
    see(&watch, 2, &readings, &user, 0);
    see(&watch, 3, &readings, &user, 1);
    see(&watch, 3.5, &readings, &user, 0);
    assert_int_equal(watch.count, 0);
    for (int i = 4; i < 10; i++)
        see(&watch, i, &readings, &user, 1);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 1);
    assert_string_equal(watch.spans[0].kind, "processes_unseen");
    watch_fini(&watch);
}

static void memory_in_use_that_the_driver_names_nobody_for_is_unseen(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 900 * MIB);
    begin(&watch);
    for (int i = 1; i < 10; i++)
        see(&watch, i, &readings, NULL, 0);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 1);
    assert_string_equal(watch.spans[0].kind, "processes_unseen");
    watch_fini(&watch);
}

static void a_list_that_failed_or_was_cut_is_unseen_for_as_long_as_that(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct watch watch;
        struct gpu_readings readings = scene_idle();
        begin(&watch);
        for (int i = 1; i <= 6; i++) {
            struct guard_look look = scene_look((100 + i) * S, &readings, NULL, 0);
            /* Not told at the seconds 3 and 4; one look alone is not believed. */
            look.listed = cut || (i != 3 && i != 4);
            look.left_out = cut && (i == 3 || i == 4) ? 172 : 0;
            watch_take(&watch, &empty, &look);
        }
        watch_end(&watch, 110 * S);
        assert_int_equal(watch.count, 1);
        expect_span(&watch, 0, "processes_unseen", 3, 5);
        watch_fini(&watch);
    }
}

static void the_last_look_at_processes_that_just_went_says_nothing_of_owners(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    struct guard_user dying = scene_user(GUARD_UNSEEN, 8, 500, 0);
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 900 * MIB);
    begin(&watch);
    see(&watch, 1, &readings, NULL, 0);
    struct guard_look look = scene_look(102 * S, &readings, NULL, 0);
    look.ended = true;
    watch_take(&watch, &empty, &look);
    assert_int_equal(watch.count, 0);
    begin(&watch);
    see(&watch, 1, &readings, &dying, 1);
    look = scene_look(102 * S, &readings, &dying, 1);
    look.ended = true;
    watch_take(&watch, &empty, &look);
    assert_int_equal(watch.count, 0);
    watch_fini(&watch);
}

static void a_power_limit_that_is_changed_is_told_with_both_values(void **state)
{
    (void)state;
    struct watch watch = {0};
    struct gpu_readings readings = scene_idle();
    watch_begin(&watch, "GPU 0", 100 * S, 64 * MIB, &readings);
    scene_set(&readings, GPU_POWER_LIMIT_W, 700.4); /* rounding */
    see(&watch, 1, &readings, NULL, 0);
    scene_set(&readings, GPU_POWER_LIMIT_W, 450);
    see(&watch, 2, &readings, NULL, 0);
    see(&watch, 3, &readings, NULL, 0);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 1);
    assert_string_equal(watch.spans[0].text,
                        "GPU 0: its power limit was changed from 700 W to 450 W");
    expect_span(&watch, 0, "power_limit_changed", 1, 3);
    watch_fini(&watch);
}

static void errors_count_from_what_they_were_at_the_first_look(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle();
    scene_set(&readings, GPU_ECC_UNCORRECTED, 3);
    scene_set(&readings, GPU_XID_COUNT, 1);
    scene_set(&readings, GPU_XID_LAST, 79);
    begin(&watch);
    see(&watch, 1, &readings, NULL, 0);
    see(&watch, 2, &readings, NULL, 0);
    assert_int_equal(watch.count, 0);
    scene_set(&readings, GPU_ECC_UNCORRECTED, 4);
    see(&watch, 3, &readings, NULL, 0);
    scene_set(&readings, GPU_XID_COUNT, 2);
    scene_set(&readings, GPU_XID_LAST, 31);
    see(&watch, 4, &readings, NULL, 0);
    scene_set(&readings, GPU_XID_COUNT, 3);
    scene_set(&readings, GPU_XID_LAST, 48);
    see(&watch, 5, &readings, NULL, 0);
    /* The sensor was opened anew: it counts from 0. */
    scene_set(&readings, GPU_XID_COUNT, 0);
    see(&watch, 6, &readings, NULL, 0);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 3);
    expect_span(&watch, 0, "ecc", 2, 4);
    expect_span(&watch, 1, "xid_program", 3, 5);
    expect_span(&watch, 2, "xid", 4, 6);
    watch_fini(&watch);
}

static void an_error_before_the_first_look_counts_and_one_before_the_attempt_does_not(void **state)
{
    (void)state;
    struct watch watch = {0};
    struct gpu_readings before = scene_idle(), readings = scene_idle();
    scene_set(&before, GPU_XID_COUNT, 1);
    scene_set(&before, GPU_ECC_UNCORRECTED, 2);
    scene_set(&readings, GPU_XID_COUNT, 2);
    scene_set(&readings, GPU_XID_LAST, 79);
    scene_set(&readings, GPU_ECC_UNCORRECTED, 2);
    watch_begin(&watch, "GPU 0", 100 * S, 64 * MIB, &before);
    see(&watch, 1, &readings, NULL, 0);
    watch_end(&watch, 110 * S);
    assert_int_equal(watch.count, 1);
    expect_span(&watch, 0, "xid", 0, 10);
    watch_fini(&watch);
}

static void hours_of_on_and_off_do_not_fill_the_journal(void **state)
{
    (void)state;
    struct watch watch;
    struct gpu_readings readings = scene_idle(), hot = scene_idle();
    scene_set(&hot, GPU_CLOCK_REASONS, GPU_CLOCK_SW_THERMAL);
    begin(&watch);
    for (int i = 1; i < 36000; i++)
        see(&watch, i, i % 20 == 0 ? &hot : &readings, NULL, 0);
    watch_end(&watch, 36100 * S);
    assert_int_equal(watch.count, 20);
    expect_span(&watch, 19, "sw_thermal", 399, 35981);
    assert_int_equal(watch.spans[19].times, 1799 - 19);
    watch_fini(&watch);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_of_a_job_at_full_load),
        cmocka_unit_test(a_span_lasts_from_the_look_before_to_the_look_after),
        cmocka_unit_test(each_reason_has_its_kind),
        cmocka_unit_test(a_foreign_process_is_told_once_and_has_its_span),
        cmocka_unit_test(what_was_told_before_counts_when_it_works),
        cmocka_unit_test(what_was_born_when_the_command_had_ended_is_none_of_its_time),
        cmocka_unit_test(one_that_ends_between_two_calls_is_not_unknown),
        cmocka_unit_test(memory_in_use_that_the_driver_names_nobody_for_is_unseen),
        cmocka_unit_test(a_list_that_failed_or_was_cut_is_unseen_for_as_long_as_that),
        cmocka_unit_test(the_last_look_at_processes_that_just_went_says_nothing_of_owners),
        cmocka_unit_test(a_power_limit_that_is_changed_is_told_with_both_values),
        cmocka_unit_test(errors_count_from_what_they_were_at_the_first_look),
        cmocka_unit_test(an_error_before_the_first_look_counts_and_one_before_the_attempt_does_not),
        cmocka_unit_test(hours_of_on_and_off_do_not_fill_the_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
