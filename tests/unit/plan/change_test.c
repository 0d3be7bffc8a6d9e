/* What a retry changes of a job's command. */
#include "plan/change.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* train --batch 64 --opt sgd; accumulation by the environment; a flag whose value is null stands
 * nowhere. */
static void make(struct plan_experiment *experiment)
{
    static const char *const words[] = {"/bin/train", "--batch", "64", "--opt", "sgd"};
    *experiment =
        (struct plan_experiment){.id = mem_strdup("r_m_001"), .number = 1, .governor = NULL};
    struct plan_job *job = &experiment->foreground;
    job->repo = mem_strdup("r");
    job->model = mem_strdup("m");
    job->cwd = mem_strdup("/");
    for (size_t i = 0; i < 5; i++)
        strv_add(&job->argv, words[i]);
    strv_env_set(&job->env, "TARE_PARAM_ACCUMULATION", "1");
    job->params = mem_array(4, sizeof *job->params);
    job->param_count = 4;
    job->params[0] = (struct plan_param){.name = mem_strdup("batch"),
                                         .value = value_int(64),
                                         .flag = mem_strdup("--batch"),
                                         .place = 2};
    job->params[1] = (struct plan_param){.name = mem_strdup("opt"),
                                         .value = value_text("sgd"),
                                         .flag = mem_strdup("--opt"),
                                         .place = 4};
    job->params[2] = (struct plan_param){.name = mem_strdup("accumulation"), .value = value_int(1)};
    job->params[3] = (struct plan_param){.name = mem_strdup("clip"), .flag = mem_strdup("--clip")};
}

static struct registry_change scale(const char *name, double factor, double low, double high)
{
    return (struct registry_change){
        .name = mem_strdup(name), .scales = true, .factor = factor, .low = low, .high = high};
}

static struct registry_change set(const char *name, struct value value)
{
    return (struct registry_change){.name = mem_strdup(name), .value = value};
}

static struct registry_oom_step *add_step(struct plan_job *job)
{
    job->oom_steps = mem_resize(job->oom_steps, job->oom_step_count + 1, sizeof *job->oom_steps);
    struct registry_oom_step *step = &job->oom_steps[job->oom_step_count++];
    *step = (struct registry_oom_step){.times = 1, .changes = mem_array(4, sizeof *step->changes)};
    return step;
}

static void assert_words(const struct plan_job *job, const char *expected)
{
    AUTO_FREE char *words = strv_join(&job->argv, " ");
    assert_string_equal(words, expected);
}

static void assert_changed(const json_t *changed, const char *expected)
{
    AUTO_FREE char *text = change_text(changed);
    assert_string_equal(text, expected);
}

static void a_step_scales_sets_and_adds_at_once(void **state)
{
    (void)state;
    struct plan_experiment experiment;
    make(&experiment);
    struct plan_job *job = &experiment.foreground;
    struct registry_oom_step *step = add_step(job);
    step->changes[step->change_count++] = scale("batch", 0.5, 8, 512);
    step->changes[step->change_count++] = scale("accumulation", 2, 1, 64);
    step->changes[step->change_count++] = set("opt", value_text("adam"));
    strv_add(&step->args, "--amp");
    strv_add(&step->env, "A=b");
    json_t *changed = json_array();
    assert_true(change_take_step(job, 0, changed));
    assert_words(job, "/bin/train --batch 32 --opt adam --amp");
    assert_string_equal(strv_env_get(&job->env, "TARE_PARAM_ACCUMULATION"), "2");
    assert_string_equal(strv_env_get(&job->env, "A"), "b");
    assert_changed(changed, "batch 64 -> 32; accumulation 1 -> 2; opt sgd -> adam; --amp; A=b");
    char *first = json_dumps(json_array_get(changed, 0), JSON_COMPACT);
    assert_string_equal(first,
                        "{\"kind\":\"hyperparameter\",\"name\":\"batch\",\"from\":64,\"to\":32}");
    free(first);
    json_decref(changed);
    plan_experiment_fini(&experiment);
}

/* 64, 32, 16, 8; 4 is below 8. */
static void a_step_ends_at_its_bounds_and_leaves_all_as_it_was(void **state)
{
    (void)state;
    struct plan_experiment experiment;
    make(&experiment);
    struct plan_job *job = &experiment.foreground;
    struct registry_oom_step *step = add_step(job);
    step->changes[step->change_count++] = scale("accumulation", 2, 1, 1000);
    step->changes[step->change_count++] = scale("batch", 0.5, 8, 512);
    json_t *changed = json_array();
    for (int i = 0; i < 3; i++)
        assert_true(change_take_step(job, 0, changed));
    assert_false(change_take_step(job, 0, changed));
    assert_words(job, "/bin/train --batch 8 --opt sgd");
    assert_string_equal(strv_env_get(&job->env, "TARE_PARAM_ACCUMULATION"), "8");
    assert_int_equal(json_array_size(changed), 6);
    assert_changed(changed, "accumulation 1 -> 8; batch 64 -> 8");
    json_decref(changed);
    plan_experiment_fini(&experiment);
}

static void whole_numbers_are_rounded_down(void **state)
{
    (void)state;
    struct plan_experiment experiment;
    make(&experiment);
    struct plan_job *job = &experiment.foreground;
    struct registry_oom_step *step = add_step(job);
    step->changes[step->change_count++] = scale("batch", 0.3, 1, 512); /* 19.2, 5.7, 1.5, 0.3 */
    json_t *changed = json_array();
    static const char *const ways[] = {"19", "5", "1"};
    for (size_t i = 0; i < 3; i++) {
        assert_true(change_take_step(job, 0, changed));
        assert_string_equal(job->argv.items[2], ways[i]);
    }
    assert_false(change_take_step(job, 0, changed));
    json_decref(changed);
    plan_experiment_fini(&experiment);
}

static void a_value_that_was_left_out_comes_with_its_flag_and_goes_with_it(void **state)
{
    (void)state;
    struct plan_experiment experiment;
    make(&experiment);
    struct plan_job *job = &experiment.foreground;
    struct registry_oom_step *step = add_step(job);
    step->changes[step->change_count++] = set("clip", value_float(0.5));
    step->changes[step->change_count++] = set("batch", (struct value){0});
    json_t *changed = json_array();
    assert_true(change_take_step(job, 0, changed));
    assert_words(job, "/bin/train --opt sgd --clip 0.5");
    assert_int_equal(job->params[1].place, 2);
    assert_int_equal(job->params[3].place, 4);
    assert_changed(changed, "clip none -> 0.5; batch 64 -> none");
    /* What is so already is no change. */
    assert_false(change_take_step(job, 0, changed));
    json_decref(changed);
    plan_experiment_fini(&experiment);
}

/* train --lr=0.5 --n 1 32, whose last word is a value without a flag. */
static void joined_words_are_changed_and_removed_as_one(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/train", "--lr=0.5", "--n", "1", "32"};
    struct plan_experiment experiment = {.id = mem_strdup("r_m_001"), .number = 1};
    struct plan_job *job = &experiment.foreground;
    for (size_t i = 0; i < 5; i++)
        strv_add(&job->argv, words[i]);
    job->params = mem_array(3, sizeof *job->params);
    job->param_count = 3;
    job->params[0] = (struct plan_param){.name = mem_strdup("lr"),
                                         .value = value_float(0.5),
                                         .flag = mem_strdup("--lr="),
                                         .place = 1};
    job->params[1] = (struct plan_param){
        .name = mem_strdup("n"), .value = value_int(1), .flag = mem_strdup("--n"), .place = 3};
    job->params[2] = (struct plan_param){
        .name = mem_strdup("batch"), .value = value_int(32), .flag = mem_strdup(""), .place = 4};
    struct registry_oom_step *step = add_step(job);
    step->changes[step->change_count++] = scale("lr", 0.5, 0.2, 1);
    step->changes[step->change_count++] = scale("batch", 0.5, 8, 512);
    struct registry_oom_step *other = add_step(job);
    other->changes[other->change_count++] = set("lr", (struct value){.kind = VALUE_NULL});
    other->changes[other->change_count++] = set("n", value_int(2));
    json_t *changed = json_array();
    assert_true(change_take_step(job, 0, changed));
    assert_words(job, "/bin/train --lr=0.25 --n 1 16");
    assert_true(change_take_step(job, 1, changed));
    assert_words(job, "/bin/train --n 2 16");
    json_decref(changed);
    plan_experiment_fini(&experiment);
}

static void a_copy_is_changed_alone_and_keeps_its_steps(void **state)
{
    (void)state;
    struct plan_experiment experiment;
    make(&experiment);
    struct registry_oom_step *step = add_step(&experiment.foreground);
    step->changes[step->change_count++] = scale("batch", 0.5, 8, 512);
    step->times = 3;
    experiment.foreground.memory_snapshot = true;
    struct plan_experiment *copy = change_copy(&experiment);
    assert_non_null(copy);
    assert_true(copy->foreground.memory_snapshot);
    assert_int_equal(copy->foreground.oom_steps[0].times, 3);
    assert_float_equal(copy->foreground.oom_steps[0].changes[0].low, 8, 0);
    json_t *changed = json_array();
    assert_true(change_take_step(&copy->foreground, 0, changed));
    change_set_env(&copy->foreground, "X", NULL, "y", changed);
    assert_words(&copy->foreground, "/bin/train --batch 32 --opt sgd");
    assert_words(&experiment.foreground, "/bin/train --batch 64 --opt sgd");
    assert_null(strv_env_get(&experiment.foreground.env, "X"));
    assert_changed(changed, "batch 64 -> 32; X=y");
    json_decref(changed);
    plan_experiment_fini(copy);
    free(copy);
    plan_experiment_fini(&experiment);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_scales_sets_and_adds_at_once),
        cmocka_unit_test(a_step_ends_at_its_bounds_and_leaves_all_as_it_was),
        cmocka_unit_test(whole_numbers_are_rounded_down),
        cmocka_unit_test(a_value_that_was_left_out_comes_with_its_flag_and_goes_with_it),
        cmocka_unit_test(joined_words_are_changed_and_removed_as_one),
        cmocka_unit_test(a_copy_is_changed_alone_and_keeps_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
