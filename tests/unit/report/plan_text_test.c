#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "report/plan_text.h"

#include <string.h>

static void fill_job(struct plan_job *job, enum mode mode, bool mutated)
{
    job->repo = mem_strdup("digits");
    job->model = mem_strdup("mlp");
    job->mode = mode;
    job->cwd = mem_strdup("/srv/digits");
    job->params = mem_array(2, sizeof *job->params);
    job->param_count = 2;
    job->params[0] =
        (struct plan_param){.name = mem_strdup("epochs"), .value = value_int(30), .mutated = false};
    job->params[1] = (struct plan_param){
        .name = mem_strdup("learning_rate"), .value = value_float(1e-7), .mutated = mutated};
    strv_add(&job->argv, "/usr/bin/python3");
    strv_add(&job->argv, "train.py");
    strv_add(&job->argv, "--note");
    strv_add(&job->argv, "two words");
    strv_add(&job->env, "CUDA_VISIBLE_DEVICES=0");
}

static struct plan plan_of(size_t count, size_t parallel)
{
    struct plan plan = {
        .seed = 42,
        .count = count,
        .parallel = {.wait_s = 30, .hold_s = 5, .limit_s = 120, .restart_delay_s = 2},
        .timing = {.between_runs_s = 60, .between_configurations_s = 60, .before_retry_s = 30},
        .experiments = mem_array(count + 1, sizeof *plan.experiments)};
    for (size_t i = 0; i < count; i++) {
        struct plan_experiment *experiment = &plan.experiments[i];
        experiment->number = i + 1;
        experiment->parallel = i >= count - parallel;
        experiment->id =
            mem_printf("digits_mlp_%03zu%s", i + 1, experiment->parallel ? "_parallel" : "");
        experiment->max_retries = 2;
        fill_job(&experiment->foreground, i == 0 ? MODE_MUTATION : MODE_DEFAULT, i == 0);
        if (experiment->parallel)
            fill_job(experiment->background = mem_alloc(sizeof *experiment->background),
                     MODE_DEFAULT, false);
    }
    return plan;
}

static const struct plan_text_options options = {
    .settings = "settings.json", .registry = "models_config.json", .pauses_s = 60};

static void fixed_pauses_may_say_how_much_adaptive_ones_would_save(void **state)
{
    (void)state;
    struct plan plan = plan_of(2, 0);
    struct plan_text_options saving = options;
    saving.adaptive_saves_s = 55;
    AUTO_TEXT struct text out = {0};
    plan_text(&plan, &saving, 0, &out);
    assert_non_null(strstr(text_get(&out),
                           "\npauses       1 min 00 s between experiments in all, 30 s before each "
                           "retry; --cooldown adaptive: up to 55.0 s less\n"));
    plan_fini(&plan);
}

static void every_command_line_stands_in_a_dry_run(void **state)
{
    (void)state;
    struct plan plan = plan_of(2, 1);
    plan.experiments[0].timeout_s = 90;
    plan.experiments[0].governor = mem_strdup("performance");
    plan.experiments[1].max_retries = 0;
    AUTO_TEXT struct text out = {0};
    for (size_t number = 0; number <= plan.count; number++)
        plan_text(&plan, &options, number, &out);
    assert_string_equal(
        text_get(&out),
        "settings     settings.json\n"
        "registry     models_config.json\n"
        "seed         42\n"
        "order        file\n"
        "experiments  2: 1 mutation, 1 parallel\n"
        "pauses       1 min 00 s between experiments in all, 30 s before each retry\n"
        "background   runs alone for 30 s, then until its load has held 5 s (at most "
        "120 s); started again after 2 s until the foreground ends\n"
        "\n"
        "[1/2] digits_mlp_001  at most 3 attempts, timeout 90 s, governor performance\n"
        "  mutation: learning_rate 1e-7\n"
        "    cd /srv/digits\n"
        "    CUDA_VISIBLE_DEVICES=0 /usr/bin/python3 train.py --note 'two words'\n"
        "\n"
        "[2/2] digits_mlp_002_parallel  at most 1 attempt\n"
        "  foreground default\n"
        "    cd /srv/digits\n"
        "    CUDA_VISIBLE_DEVICES=0 /usr/bin/python3 train.py --note 'two words'\n"
        "  background default\n"
        "    cd /srv/digits\n"
        "    CUDA_VISIBLE_DEVICES=0 /usr/bin/python3 train.py --note 'two words'\n");
    plan_fini(&plan);
}

static void the_json_of_a_dry_run_holds_each_experiments_argv(void **state)
{
    (void)state;
    struct plan plan = plan_of(2, 0);
    AUTO_TEXT struct text out = {0};
    for (size_t number = 0; number <= plan.count; number++)
        plan_text_json(&plan, &options, number, &out);
    json_t *json = json_loads(text_get(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "registry")), "models_config.json");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "plan"), "seed")),
                     42);
    const json_t *experiments = json_object_get(json, "experiments");
    assert_int_equal(json_array_size(experiments), 2);
    const json_t *first = json_array_get(experiments, 0);
    assert_string_equal(json_string_value(json_object_get(first, "id")), "digits_mlp_001");
    json_decref(json);
    plan_fini(&plan);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_pauses_may_say_how_much_adaptive_ones_would_save),
        cmocka_unit_test(every_command_line_stands_in_a_dry_run),
        cmocka_unit_test(the_json_of_a_dry_run_holds_each_experiments_argv),
    };
    return cmocka_run_group_tests_name("plan_text", tests, NULL, NULL);
}
