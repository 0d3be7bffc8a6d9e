#include "measure/guard/look.h"

#include "measure/guard/evidence.h"
#include "scene.h"

#include <stdio.h>

static const struct guard_known empty = {.empty_bytes = {0, true}};

/* What is found on a GPU of these readings and users. */
static void expect(const struct guard_known *known, const struct gpu_readings *readings,
                   const struct guard_user *users, size_t count, const char *kinds)
{
    struct guard_findings found = {0};
    struct guard_look look = scene_look(S, readings, users, count);
    char text[400];
    preflight_look(&guard_settings_default.preflight, known, &look, &found);
    scene_kinds(&found, text);
    assert_string_equal(text, kinds);
    guard_findings_fini(&found);
}

static void an_idle_empty_cool_gpu_is_clear(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    expect(&empty, &readings, NULL, 0, "");
    struct guard_known known = {{0, true}, {78, true}, {30, true}};
    expect(&known, &readings, NULL, 0, "");
    struct guard_known nothing = {0};
    expect(&nothing, &readings, NULL, 0, "");
}

static void each_thing_that_is_wrong_is_found_alone(void **state)
{
    (void)state;
    struct guard_known known = {{0, true}, {78, true}, {30, true}};
    static const struct {
        enum gpu_reading which;
        double good, bad;
        const char *kind;
    } rows[] = {
        {GPU_MEMORY_USED_BYTES, 64 * MIB, 65 * MIB, "memory_not_empty"},
        {GPU_UTILISATION_PERCENT, 5, 6, "gpu_busy_before"},
        {GPU_POWER_INSTANT_W, 99, 101, "gpu_busy_before"}, /* 78 * 1.15 + 10 = 99.7 */
        {GPU_TEMPERATURE_C, 40, 41, "hot_start"},
        {GPU_CLOCK_REASONS, GPU_CLOCK_POWER_CAP, GPU_CLOCK_HW_THERMAL, "brake_before"},
        {GPU_CLOCK_REASONS, GPU_CLOCK_SYNC_BOOST, GPU_CLOCK_POWER_BRAKE, "brake_before"},
        {GPU_CLOCK_REASONS, GPU_CLOCK_APPLICATION_SETTING, GPU_CLOCK_HW_SLOWDOWN, "brake_before"},
        {GPU_CLOCK_REASONS, GPU_CLOCK_IDLE, GPU_CLOCK_SW_THERMAL, "brake_before"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_readings readings = scene_idle();
        scene_set(&readings, rows[i].which, rows[i].good);
        expect(&known, &readings, NULL, 0, "");
        scene_set(&readings, rows[i].which, rows[i].bad);
        expect(&known, &readings, NULL, 0, rows[i].kind);
    }
}

static void what_the_driver_does_not_tell_is_said_to_be_unchecked(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    readings.of[GPU_UTILISATION_PERCENT].valid = false;
    expect(&empty, &readings, NULL, 0, ""); /* its power tells it too */
    readings.of[GPU_POWER_INSTANT_W].valid = readings.of[GPU_POWER_AVERAGE_W].valid = false;
    expect(&empty, &readings, NULL, 0, "gpu_state_unchecked");
    readings = scene_idle();
    readings.of[GPU_MEMORY_USED_BYTES].valid = false;
    expect(&empty, &readings, NULL, 0, "gpu_state_unchecked");
}

static void before_anything_idle_was_measured_half_the_limit_is_too_much(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    scene_set(&readings, GPU_POWER_INSTANT_W, 350);
    expect(&empty, &readings, NULL, 0, "");
    scene_set(&readings, GPU_POWER_INSTANT_W, 351);
    expect(&empty, &readings, NULL, 0, "gpu_busy_before");
}

static void a_foreign_process_explains_its_own_memory(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    struct guard_user user = scene_user(GUARD_FOREIGN, 7, 5632, 0);
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 5632 * MIB);
    expect(&empty, &readings, &user, 1, "foreign_process");
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 6000 * MIB);
    expect(&empty, &readings, &user, 1, "foreign_process memory_not_empty");
    /* One that does not tell may have all of it. */
    user.memory_bytes.valid = false;
    expect(&empty, &readings, &user, 1, "foreign_process");
}

/* The numbers are those that the text names: of owners that are unknown the first three. */
static void findings_have_the_numbers_that_their_texts_name(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    struct guard_findings found = {0};
    struct guard_user users[] = {
        scene_user(GUARD_UNSEEN, 7, 0, 0),  scene_user(GUARD_FOREIGN, 8, 0, 0),
        scene_user(GUARD_UNSEEN, 9, 0, 0),  scene_user(GUARD_UNSEEN, 10, 0, 0),
        scene_user(GUARD_UNSEEN, 11, 0, 0), scene_user(GUARD_OURS, 12, 0, 0)};
    struct guard_look look = scene_look(S, &readings, users, 6);
    preflight_look(&guard_settings_default.preflight, &empty, &look, &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.items[0].kind, "foreign_process");
    assert_int_equal(found.items[0].pid_count, 1);
    assert_int_equal(found.items[0].pids[0], 8);
    assert_string_equal(found.items[1].kind, "processes_unseen");
    assert_int_equal(found.items[1].pid_count, 3);
    assert_int_equal(found.items[1].pids[0], 7);
    assert_int_equal(found.items[1].pids[1], 9);
    assert_int_equal(found.items[1].pids[2], 10);
    guard_findings_fini(&found);
}

static void displays_and_our_own_are_no_strangers(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    struct guard_user users[] = {scene_user(GUARD_FOREIGN, 7, 400, 3),
                                 scene_user(GUARD_OURS, 8, 0, 0)};
    users[0].graphics = true;
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 400 * MIB);
    expect(&empty, &readings, users, 2, "");
}

static void where_owners_are_unknown_memory_and_load_decide(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    struct guard_user user = scene_user(GUARD_UNSEEN, 7, 5632, 0);
    expect(&empty, &readings, &user, 1, "processes_unseen");
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 5632 * MIB);
    expect(&empty, &readings, &user, 1, "processes_unseen memory_not_empty");
    scene_set(&readings, GPU_UTILISATION_PERCENT, 80);
    expect(&empty, &readings, &user, 1, "processes_unseen memory_not_empty gpu_busy_before");
}

static void a_gpu_that_tells_nothing_is_suspect_and_blocks_nobody(void **state)
{
    (void)state;
    struct guard_findings found = {0};
    struct guard_look look = {.device = "GPU 0"};
    preflight_look(&guard_settings_default.preflight, &empty, &look, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].kind, "processes_unseen");
    assert_false(guard_findings_block(&found));
    assert_int_equal(preflight_decide(&guard_settings_default.preflight, &found, 0, false, 1),
                     PREFLIGHT_CLEAR);
    guard_findings_fini(&found);
}

static void a_list_that_failed_or_was_cut_is_suspect_and_blocks_nobody(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    for (int cut = 0; cut < 2; cut++) {
        struct guard_findings found = {0};
        struct guard_look look = scene_look(100 * S, &readings, NULL, 0);
        look.listed = cut;
        look.left_out = cut ? 172 : 0;
        preflight_look(&guard_settings_default.preflight, &empty, &look, &found);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.items[0].kind, "processes_unseen");
        assert_non_null(
            strstr(found.items[0].text, cut ? "172 processes more" : "who computes on it"));
        assert_false(guard_findings_block(&found));
        guard_findings_fini(&found);
    }
}

static enum preflight_step decide(int policy, const char *kind, double looked_s, bool settling,
                                  double scale)
{
    struct preflight_settings settings = guard_settings_default.preflight;
    bool holds = strcmp(kind, "foreign_process") == 0;
    struct guard_finding finding = {.kind = kind, .text = NULL, .blocks = true, .holds = holds};
    struct guard_findings found = {.items = &finding, .count = 1};
    settings.policy = policy;
    return preflight_decide(&settings, &found, looked_s, settling, scale);
}

static void the_policies_wait_refuse_and_go_on(void **state)
{
    (void)state;
    assert_int_equal(decide(PREFLIGHT_WAIT, "foreign_process", 599, false, 1), PREFLIGHT_LOOK_ON);
    assert_int_equal(decide(PREFLIGHT_WAIT, "foreign_process", 600, false, 1), PREFLIGHT_STOP);
    assert_int_equal(decide(PREFLIGHT_WAIT, "foreign_process", 59, false, 0.1), PREFLIGHT_LOOK_ON);
    assert_int_equal(decide(PREFLIGHT_WAIT, "foreign_process", 60, false, 0.1), PREFLIGHT_STOP);
    /* Heat is not a program that could be ended. */
    assert_int_equal(decide(PREFLIGHT_WAIT, "hot_start", 599, false, 1), PREFLIGHT_LOOK_ON);
    assert_int_equal(decide(PREFLIGHT_WAIT, "hot_start", 600, false, 1), PREFLIGHT_OVERRIDE);
    /* One look alone is not believed. */
    assert_int_equal(decide(PREFLIGHT_REFUSE, "foreign_process", 0, false, 1), PREFLIGHT_LOOK_ON);
    assert_int_equal(decide(PREFLIGHT_REFUSE, "foreign_process", 1.5, false, 1), PREFLIGHT_STOP);
    assert_int_equal(decide(PREFLIGHT_GO_ON, "foreign_process", 1.5, false, 1), PREFLIGHT_OVERRIDE);
}

static void the_heat_of_our_own_job_gets_time_to_go(void **state)
{
    (void)state;
    assert_int_equal(decide(PREFLIGHT_REFUSE, "hot_start", 29, true, 1), PREFLIGHT_LOOK_ON);
    assert_int_equal(decide(PREFLIGHT_REFUSE, "hot_start", 30, true, 1), PREFLIGHT_STOP);
    assert_int_equal(decide(PREFLIGHT_REFUSE, "foreign_process", 2, true, 1), PREFLIGHT_STOP);
    assert_int_equal(decide(PREFLIGHT_GO_ON, "gpu_busy_before", 29, true, 1), PREFLIGHT_LOOK_ON);
}

/* The evidence of what begins all the same, in each policy: its kinds, and its verdict. */
static void expect_evidence(const struct gpu_readings *readings, struct guard_user user,
                            const char *kinds)
{
    for (int policy = PREFLIGHT_WAIT; policy <= PREFLIGHT_GO_ON; policy++) {
        struct preflight_settings settings = guard_settings_default.preflight;
        struct guard_findings found = {0}, evidence = {0};
        struct guard_look look = scene_look(S, readings, &user, user.text ? 1 : 0);
        enum verdict judged = VERDICT_CLEAN;
        char text[400], wanted[400];
        settings.policy = policy;
        preflight_look(&settings, &empty, &look, &found);
        preflight_evidence(&settings, &found, 600, &evidence);
        scene_kinds(&evidence, text);
        snprintf(wanted, sizeof wanted, "%s%s",
                 policy == PREFLIGHT_WAIT ? "went_on_after_wait " : "", kinds);
        assert_string_equal(text, wanted);
        for (size_t i = 0; i < evidence.count; i++)
            judged = verdict_with(judged, evidence.items[i].kind);
        assert_int_equal(judged, VERDICT_CONTAMINATED);
        guard_findings_fini(&found);
        guard_findings_fini(&evidence);
    }
}

static void the_same_facts_have_the_same_verdict_in_each_policy(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 5540 * MIB);
    expect_evidence(&readings, scene_user(GUARD_FOREIGN, 7, 5540, 0), "foreign_process");
    expect_evidence(&readings, scene_user(GUARD_FOREIGN, 7, 5540, 40), "foreign_process");
    expect_evidence(&readings, (struct guard_user){0}, "memory_not_empty");
}

static void the_empty_gpu_is_learnt_once_and_not_from_what_somebody_holds(void **state)
{
    (void)state;
    struct gpu_readings readings = scene_idle();
    struct guard_known known = {0};
    /* The driver tells its own memory apart: what is in use is somebody's. */
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 300 * MIB);
    struct guard_look look = scene_look(S, &readings, NULL, 0);
    guard_known_learn(&known, &look);
    assert_true(known.empty_bytes.valid && known.empty_bytes.value == 0);
    /* It does not: 615 MiB of an H200 are its own, 5632 more are not. */
    readings.of[GPU_MEMORY_RESERVED_BYTES].valid = false;
    known = (struct guard_known){0};
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 615 * MIB);
    guard_known_learn(&known, &look);
    assert_true(known.empty_bytes.value == 615 * MIB);
    scene_set(&readings, GPU_MEMORY_USED_BYTES, 6247 * MIB);
    guard_known_learn(&known, &look);
    assert_true(known.empty_bytes.value == 615 * MIB);
    known = (struct guard_known){0};
    guard_known_learn(&known, &look);
    assert_true(known.empty_bytes.value == 1024 * MIB);
    /* A process that tells what it has does not belong to it. */
    struct guard_user user = scene_user(GUARD_FOREIGN, 7, 5632, 0);
    known = (struct guard_known){0};
    look = scene_look(S, &readings, &user, 1);
    guard_known_learn(&known, &look);
    assert_true(known.empty_bytes.value == 615 * MIB);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_empty_cool_gpu_is_clear),
        cmocka_unit_test(each_thing_that_is_wrong_is_found_alone),
        cmocka_unit_test(what_the_driver_does_not_tell_is_said_to_be_unchecked),
        cmocka_unit_test(before_anything_idle_was_measured_half_the_limit_is_too_much),
        cmocka_unit_test(a_foreign_process_explains_its_own_memory),
        cmocka_unit_test(findings_have_the_numbers_that_their_texts_name),
        cmocka_unit_test(displays_and_our_own_are_no_strangers),
        cmocka_unit_test(where_owners_are_unknown_memory_and_load_decide),
        cmocka_unit_test(a_gpu_that_tells_nothing_is_suspect_and_blocks_nobody),
        cmocka_unit_test(a_list_that_failed_or_was_cut_is_suspect_and_blocks_nobody),
        cmocka_unit_test(the_policies_wait_refuse_and_go_on),
        cmocka_unit_test(the_heat_of_our_own_job_gets_time_to_go),
        cmocka_unit_test(the_same_facts_have_the_same_verdict_in_each_policy),
        cmocka_unit_test(the_empty_gpu_is_learnt_once_and_not_from_what_somebody_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
