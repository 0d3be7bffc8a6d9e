/* The study's own settings plan unchanged. How many experiments each file means, and which names
 * its models lack, was counted by another program over the same files. */
#include "plan/command.h"
#include "plan/planner.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER PROJECT_ROOT "/../shared/data/settings"

struct study_file {
    const char *name;
    size_t experiments;
    size_t parallel;
    const char *lacking; /* the one hyperparameter that is left out, or NULL */
};

static const struct study_file files[] = {
    {"11_models_quick_validation_1epoch", 22, 11, NULL},
    {"gpu_memory_cleanup_test", 10, 0, "batchsize"},
    {"mutation_all_models_2x_dynamic", 160, 80, NULL},
    {"mutation_validation_1x", 80, 40, NULL},
    {"parallel_example", 2, 2, "dropout"},
    {"parallel_feasibility_test", 12, 12, "epochs"},
    {"stage_final_all_remaining", 110, 83, NULL},
};

static const struct plan_options options = {
    .has_seed = true, .seed = 1, .cwd = "/", .path = "/usr/bin:/bin"};

struct planned {
    struct registry registry;
    struct settings settings;
    struct problems problems;
    struct plan plan;
    bool ok;
};

static void plan_file(const char *name, const struct plan_options *with, struct planned *out)
{
    *out = (struct planned){0};
    AUTO_FREE char *path = mem_printf("%s/%s.json", FOLDER, name);
    registry_read(FOLDER "/models_config.json", &out->registry, &out->problems);
    settings_read(path, &out->settings, &out->problems);
    out->ok = plan_make(&out->settings, &out->registry, with, &out->plan, &out->problems);
}

static void let_go(struct planned *planned)
{
    plan_fini(&planned->plan);
    problems_fini(&planned->problems);
    settings_fini(&planned->settings);
    registry_fini(&planned->registry);
}

static size_t count_text(const struct problems *problems, const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < problems->count; i++)
        count += strstr(problems->items[i].text, part) != NULL;
    return count;
}

static void assert_no_errors(const struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        if (problems->items[i].severity != SEVERITY_ERROR)
            continue;
        AUTO_FREE char *text = problem_format(&problems->items[i]);
        fail_msg("%s", text);
    }
}

static void every_file_plans_as_many_experiments_as_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct planned planned;
        plan_file(files[i].name, &options, &planned);
        assert_no_errors(&planned.problems);
        assert_true(planned.ok);
        assert_int_equal(planned.plan.count, files[i].experiments);
        size_t parallel = 0;
        for (size_t k = 0; k < planned.plan.count; k++)
            parallel += planned.plan.experiments[k].parallel;
        assert_int_equal(parallel, files[i].parallel);
        let_go(&planned);
    }
}

static void what_a_model_lacks_is_left_out_with_one_warning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct planned planned;
        plan_file(files[i].name, &options, &planned);
        assert_int_equal(count_text(&planned.problems, "has no hyperparameter"),
                         files[i].lacking ? 1 : 0);
        if (files[i].lacking) {
            AUTO_FREE char *said = mem_printf("has no hyperparameter '%s'", files[i].lacking);
            assert_int_equal(count_text(&planned.problems, said), 1);
        }
        let_go(&planned);
    }
}

static void strict_makes_what_is_lacking_an_error(void **state)
{
    (void)state;
    struct plan_options strict = options;
    strict.strict = true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct planned planned;
        plan_file(files[i].name, &strict, &planned);
        assert_int_equal(planned.ok, files[i].lacking == NULL);
        assert_int_equal(planned.problems.errors, files[i].lacking ? 1 : 0);
        let_go(&planned);
    }
}

static void a_missing_history_is_a_warning(void **state)
{
    (void)state;
    struct planned planned;
    plan_file("stage_final_all_remaining", &options, &planned);
    assert_true(planned.ok);
    assert_int_equal(count_text(&planned.problems, "data/raw_data.csv"), 1);
    let_go(&planned);
}

static void assert_job(const struct plan_job *job, const char *shell_end)
{
    AUTO_FREE char *shell = plan_job_shell(job, NULL);
    size_t length = strlen(shell), end = strlen(shell_end);
    if (length < end || strcmp(shell + length - end, shell_end) != 0)
        fail_msg("%s does not end in %s", shell, shell_end);
}

static void commands_are_those_of_the_study(void **state)
{
    (void)state;
    struct planned planned;
    plan_file("11_models_quick_validation_1epoch", &options, &planned);
    assert_int_equal(planned.plan.count, 22);
    const struct plan_experiment *experiments = planned.plan.experiments;
    assert_string_equal(experiments[0].id, "MRT-OAST_default_001");
    assert_string_equal(experiments[3].id, "VulBERTa_mlp_004");
    assert_job(&experiments[0].foreground,
               "repos/MRT-OAST/train.sh --epochs 1 --lr 0.0001 --seed 1334 --dropout 0.2 "
               "--weight-decay 0.0");
    assert_job(&experiments[1].foreground, "repos/bug-localization-by-dnn-and-rvsm/train.sh "
                                           "--max_iter 500 --kfold 10 --alpha 1e-5 --seed 42");
    assert_job(&experiments[3].foreground, "repos/VulBERTa/train.sh -n mlp -d d2a --epochs 1 "
                                           "--learning_rate 3e-5 --seed 42 --weight_decay 0.0");
    let_go(&planned);
}

static void mutations_never_repeat_and_never_are_the_default(void **state)
{
    (void)state;
    struct planned planned;
    plan_file("stage_final_all_remaining", &options, &planned);
    struct seen *seen = seen_new();
    for (size_t i = 0; i < planned.plan.count; i++) {
        const struct plan_experiment *experiment = &planned.plan.experiments[i];
        const struct plan_job *job = &experiment->foreground;
        const struct repo *repo = registry_find(&planned.registry, job->repo);
        AUTO_TEXT struct text key = {0};
        text_addf(&key, "%s %s %d", job->repo, job->model, experiment->parallel);
        for (size_t k = 0; k < job->param_count; k++) {
            AUTO_FREE char *value = value_key(&job->params[k].value);
            AUTO_FREE char *standard = value_key(&repo->params[k].default_value);
            assert_int_equal(strcmp(value, standard) != 0, job->params[k].mutated);
            text_addf(&key, " %s", value);
        }
        assert_true(seen_add(seen, text_get(&key)));
    }
    seen_free(seen);
    let_go(&planned);
}

UNIT_TESTS(void)
{
    if (access(FOLDER "/models_config.json", R_OK) != 0) {
        /* All of the file at once: cmocka calls a single skipped test "not ok", which counts as
         * failed. */
        puts("1..0 # SKIP ../shared/data/settings is not there");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_plans_as_many_experiments_as_it_says),
        cmocka_unit_test(what_a_model_lacks_is_left_out_with_one_warning),
        cmocka_unit_test(strict_makes_what_is_lacking_an_error),
        cmocka_unit_test(a_missing_history_is_a_warning),
        cmocka_unit_test(commands_are_those_of_the_study),
        cmocka_unit_test(mutations_never_repeat_and_never_are_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
