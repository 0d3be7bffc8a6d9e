/* What run.db keeps of a plan reads back as the same plan. */
#include "base/json_print.h"
#include "plan/command.h"
#include "plan/plan_json.h"
#include "plan/planner.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "plan/job.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static struct plan_job sample_job(void)
{
    static const char *const names[] = {"lr",       "epochs",    "decay",    "width",
                                        "nesterov", "optimizer", "schedule", "seed"};
    const struct value values[] = {value_float(1e-7),
                                   value_float(30.0),
                                   value_float(0.1),
                                   value_int(-5),
                                   value_bool(true),
                                   value_text("a'b \xc3\xa9"),
                                   {0},
                                   value_int(INT64_MAX)};
    struct plan_job job = {.repo = mem_strdup("toy"),
                           .model = mem_strdup("big net"),
                           .mode = MODE_MUTATION,
                           .cwd = mem_strdup("/srv/toy")};
    job.params = mem_array(8, sizeof *job.params);
    for (; job.param_count < 8; job.param_count++)
        job.params[job.param_count] =
            (struct plan_param){.name = mem_strdup(names[job.param_count]),
                                .value = values[job.param_count],
                                .mutated = job.param_count % 2 == 0};
    strv_add(&job.argv, "/srv/toy/train.sh");
    strv_add(&job.argv, "");
    strv_add(&job.argv, "two words");
    strv_add(&job.env, "A=1");
    strv_add(&job.path_prepend, "/srv/bin");
    job.metrics = mem_array(1, sizeof *job.metrics);
    job.metrics[job.metric_count++] =
        (struct registry_metric){mem_strdup("loss"), mem_strdup("loss: (\\d+)"), GOAL_MAXIMIZE};
    job.marks = mem_array(3, sizeof *job.marks);
    job.marks[job.mark_count++] =
        (struct registry_mark){mem_strdup("epoch"), mem_strdup("^E (\\d+)"), NULL};
    job.marks[job.mark_count++] =
        (struct registry_mark){mem_strdup("fold"), NULL, mem_strdup("^fold")};
    job.marks[job.mark_count++] =
        (struct registry_mark){mem_strdup("val"), mem_strdup("<"), mem_strdup(">")};
    strv_add(&job.success, "^done$");
    strv_add(&job.errors, "^Traceback");
    job.exit_code_required = true;
    return job;
}

static struct plan_experiment sample(bool parallel)
{
    struct plan_experiment experiment = {
        .id = mem_strdup("toy_big_net_012_parallel"),
        .number = 12,
        .entry = 4,
        .configuration = 6,
        .parallel = parallel,
        .foreground = sample_job(),
        .max_retries = 2,
        .governor = mem_strdup(parallel ? "performance" : NULL),
        .timeout_s = 0.1,
    };
    if (parallel) {
        experiment.background = mem_alloc(sizeof *experiment.background);
        *experiment.background = sample_job();
        experiment.background->mode = MODE_DEFAULT;
        experiment.background->exit_code_required = false;
    }
    return experiment;
}

/* Through text, as run.db does. */
static json_t *through_text(json_t *json)
{
    AUTO_TEXT struct text text = {0};
    json_print(json, &text);
    json_decref(json);
    json_t *back = json_loads(text_get(&text), 0, NULL);
    assert_non_null(back);
    return back;
}

static void assert_same_list(const struct strv *a, const struct strv *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_string_equal(a->items[i], b->items[i]);
}

static void assert_same_value(const struct value *a, const struct value *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->truth, b->truth);
    assert_true(a->integer == b->integer);
    assert_true(a->real == b->real);
    if (a->text)
        assert_string_equal(a->text, b->text);
}

static void assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_job(const struct plan_job *a, const struct plan_job *b)
{
    assert_string_equal(a->repo, b->repo);
    assert_string_equal(a->model, b->model);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->param_count, b->param_count);
    for (size_t i = 0; i < a->param_count; i++) {
        assert_string_equal(a->params[i].name, b->params[i].name);
        assert_int_equal(a->params[i].mutated, b->params[i].mutated);
        assert_same_value(&a->params[i].value, &b->params[i].value);
    }
    assert_string_equal(a->cwd, b->cwd);
    assert_same_list(&a->argv, &b->argv);
    assert_same_list(&a->env, &b->env);
    assert_same_list(&a->path_prepend, &b->path_prepend);
    assert_int_equal(a->metric_count, b->metric_count);
    for (size_t i = 0; i < a->metric_count; i++) {
        assert_string_equal(a->metrics[i].name, b->metrics[i].name);
        assert_string_equal(a->metrics[i].pattern, b->metrics[i].pattern);
    }
    assert_int_equal(a->mark_count, b->mark_count);
    for (size_t i = 0; i < a->mark_count; i++) {
        assert_string_equal(a->marks[i].name, b->marks[i].name);
        assert_same_text(a->marks[i].start, b->marks[i].start);
        assert_same_text(a->marks[i].end, b->marks[i].end);
    }
    assert_same_list(&a->success, &b->success);
    assert_same_list(&a->errors, &b->errors);
    assert_int_equal(a->exit_code_required, b->exit_code_required);
}

static void an_experiment_survives_the_way_through_json(void **state)
{
    (void)state;
    for (int parallel = 0; parallel <= 1; parallel++) {
        struct plan_experiment experiment = sample(parallel), back;
        json_t *json = through_text(plan_experiment_to_json(&experiment));
        assert_true(plan_experiment_from_json(json, &back, NULL));
        json_decref(json);
        assert_string_equal(back.id, experiment.id);
        assert_int_equal(back.number, 12);
        assert_int_equal(back.entry, 4);
        assert_int_equal(back.parallel, parallel);
        assert_int_equal(back.max_retries, 2);
        assert_true(back.timeout_s == 0.1);
        if (parallel)
            assert_string_equal(back.governor, "performance");
        else
            assert_null(back.governor);
        assert_same_job(&experiment.foreground, &back.foreground);
        if (parallel)
            assert_same_job(experiment.background, back.background);
        plan_experiment_fini(&experiment);
        plan_experiment_fini(&back);
    }
}

static void floats_stand_in_json_in_their_shortest_form(void **state)
{
    (void)state;
    struct plan_experiment experiment = sample(false);
    json_t *json = plan_experiment_to_json(&experiment);
    AUTO_TEXT struct text text = {0};
    json_print(json, &text);
    json_decref(json);
    assert_non_null(strstr(text_get(&text), "{\"name\":\"lr\",\"value\":1e-7,\"mutated\":true}"));
    assert_non_null(
        strstr(text_get(&text), "{\"name\":\"epochs\",\"value\":30.0,\"mutated\":false}"));
    assert_non_null(strstr(text_get(&text), "{\"name\":\"decay\",\"value\":0.1,\"mutated\":true}"));
    assert_non_null(
        strstr(text_get(&text), "{\"name\":\"schedule\",\"value\":null,\"mutated\":true}"));
    plan_experiment_fini(&experiment);
}

static void an_experiment_that_lacks_something_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const keys[] = {"id",         "number",      "entry",
                                       "foreground", "max_retries", "timeout_s"};
    struct plan_experiment experiment = sample(false);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *json = plan_experiment_to_json(&experiment);
        json_object_del(json, keys[i]);
        struct plan_experiment back;
        struct err err = {0};
        assert_false(plan_experiment_from_json(json, &back, &err));
        assert_non_null(
            strstr(err.text, strcmp(keys[i], "foreground") == 0 ? "foreground" : keys[i]));
        json_decref(json);
    }
    plan_experiment_fini(&experiment);
}

/* As the documents say: <repository>_<model>_<nnn>[_parallel]. Everything else, what leads
 * elsewhere and the run's own files above all, is another program's. */
static void only_an_id_that_tare_gives_is_read(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a_b_001", "a_b_1234", "a_b_001_parallel", "\xE8\xAE\xAD_x_010", "-x_y_001", "_a_b.c_002"};
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "../../../.ssh",
                                      "../a_b_001",
                                      "/tmp/a_b_001",
                                      ".a_b_001",
                                      "a/b_001",
                                      "tasks",
                                      "run.db",
                                      "plan.json",
                                      "summary.csv",
                                      "run.lock",
                                      "a_b_01",
                                      "a_b001",
                                      "001",
                                      "_parallel",
                                      "a_001_parallel_parallel",
                                      "a_b_001\n",
                                      "a\033_b_001",
                                      "a\xC2\x9B_b_001",
                                      "machine.1.json"};
    struct plan_experiment experiment = sample(false), back;
    json_t *json = plan_experiment_to_json(&experiment);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        json_object_set_new(json, "id", json_string(good[i]));
        assert_true(plan_experiment_from_json(json, &back, NULL));
        assert_string_equal(back.id, good[i]);
        plan_experiment_fini(&back);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        json_object_set_new(json, "id", json_string(bad[i]));
        assert_false(plan_experiment_from_json(json, &back, &err));
        assert_non_null(strstr(err.text, "'id'"));
        assert_null(strchr(err.text, '\033'));
    }
    json_decref(json);
    plan_experiment_fini(&experiment);
}

/* However long and strange the names of a registry are. */
static void every_id_that_tare_gives_can_be_read_and_name_a_folder(void **state)
{
    (void)state;
    char words[1001];
    for (size_t i = 0; i < 1000; i++)
        words[i] = "\xE8\xAE\xAD"[i % 3];
    words[999] = '\0';
    const char *const names[] = {"r",    "",      "..",        "../../.ssh", ".hidden",
                                 "a\nb", "a\x7F", "a\xC2\x9B", "a b",        words};
    struct plan_experiment experiment = sample(false), back;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        free(experiment.id);
        experiment.id = plan_experiment_id(names[i], names[i], i == 0 ? SIZE_MAX : 1, true);
        json_t *json = plan_experiment_to_json(&experiment);
        assert_true(strlen(experiment.id) <= 250);
        assert_true(plan_experiment_from_json(json, &back, NULL));
        assert_string_equal(back.id, experiment.id);
        plan_experiment_fini(&back);
        json_decref(json);
    }
    plan_experiment_fini(&experiment);
}

static void a_job_that_lacks_something_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const keys[] = {"repository", "model",   "mode",   "hyperparameters",
                                       "cwd",        "argv",    "env",    "path_prepend",
                                       "metrics",    "success", "errors", "exit_code_required",
                                       "marks"};
    struct plan_experiment experiment = sample(true);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *json = plan_experiment_to_json(&experiment);
        json_object_set_new(json_object_get(json, "background"), keys[i], json_integer(1));
        struct plan_experiment back;
        struct err err = {0};
        assert_false(plan_experiment_from_json(json, &back, &err));
        AUTO_FREE char *start = mem_printf("experiment: background: '%s'", keys[i]);
        assert_int_equal(strncmp(err.text, start, strlen(start)), 0);
        json_decref(json);
    }
    plan_experiment_fini(&experiment);
}

static void a_plan_from_before_there_were_marks_is_read(void **state)
{
    (void)state;
    struct plan_experiment experiment = sample(false), back;
    json_t *json = plan_experiment_to_json(&experiment);
    json_object_del(json_object_get(json, "foreground"), "marks");
    assert_true(plan_experiment_from_json(json, &back, NULL));
    assert_int_equal(back.foreground.mark_count, 0);
    json_decref(json);
    plan_experiment_fini(&back);
    plan_experiment_fini(&experiment);
}

static void the_head_survives_the_way_through_json(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0, 1, UINT64_C(9007199254740993), UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        struct plan plan = {
            .name = i % 2 ? mem_strdup("night") : NULL,
            .seed = seeds[i],
            .timing = {60, 0.5, 1e-7, 10},
            .parallel = {31, 4.5, 1e6, 0},
            .limits = {.job = {0.1, UINT64_C(1) << 40}, .log_bytes = 3, .own = {.ipc = true}},
            .order = i % 2 ? ORDER_BLOCKS : ORDER_FILE,
            .guard = {.preflight = {PREFLIGHT_REFUSE, 1, 0.25, UINT64_C(1) << 33, 7.5, 12, 60, 3},
                      .cooldown = {COOLDOWN_ADAPTIVE, 4, 8.5},
                      .half_width_percent = 12.5},
        };
        struct plan back;
        json_t *json = through_text(plan_head_to_json(&plan));
        assert_true(plan_head_from_json(json, &back, NULL));
        json_decref(json);
        if (plan.name)
            assert_string_equal(back.name, "night");
        else
            assert_null(back.name);
        assert_true(back.seed == seeds[i]);
        assert_true(back.timing.between_runs_s == 60);
        assert_true(back.timing.between_configurations_s == 0.5);
        assert_true(back.timing.before_retry_s == 1e-7);
        assert_true(back.timing.stop_grace_s == 10);
        assert_true(back.parallel.wait_s == 31);
        assert_true(back.parallel.hold_s == 4.5);
        assert_true(back.parallel.limit_s == 1e6);
        assert_true(back.parallel.restart_delay_s == 0);
        assert_true(back.limits.job.cpu_time_s == 0.1);
        assert_true(back.limits.job.memory_bytes == UINT64_C(1) << 40);
        assert_int_equal(back.limits.log_bytes, 3);
        assert_true(back.limits.own.ipc && !back.limits.own.shm && !back.limits.own.tmp);
        assert_int_equal(back.order, plan.order);
        assert_int_equal(back.guard.preflight.policy, PREFLIGHT_REFUSE);
        assert_true(back.guard.preflight.wait_s == 1);
        assert_true(back.guard.preflight.baseline_s == 0.25);
        assert_true(back.guard.preflight.memory_bytes == UINT64_C(1) << 33);
        assert_true(back.guard.preflight.utilisation_percent == 7.5);
        assert_true(back.guard.preflight.band_c == 12);
        assert_true(back.guard.preflight.temperature_c == 60);
        assert_true(back.guard.preflight.memory_wait_s == 3);
        assert_int_equal(back.guard.cooldown.mode, COOLDOWN_ADAPTIVE);
        assert_true(back.guard.cooldown.min_s == 4);
        assert_true(back.guard.cooldown.max_s == 8.5);
        assert_true(back.guard.half_width_percent == 12.5);
        assert_int_equal(back.count, 0);
        plan_fini(&plan);
        plan_fini(&back);
    }
}

static void a_head_from_before_parallel_experiments_has_their_defaults(void **state)
{
    (void)state;
    const struct plan plan = {.parallel = {1, 2, 3, 4}};
    json_t *json = plan_head_to_json(&plan);
    struct plan back;
    assert_int_equal(json_object_del(json, "parallel"), 0);
    assert_true(plan_head_from_json(json, &back, NULL));
    json_decref(json);
    assert_true(back.parallel.wait_s == 30);
    assert_true(back.parallel.limit_s == 120);
    plan_fini(&back);
}

static void a_head_that_lacks_something_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "seed",           "order",        "between_runs_s", "between_configurations_s",
        "before_retry_s", "stop_grace_s", "cpu_time_s",     "memory_bytes",
        "log_bytes"};
    const struct plan plan = {0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *json = plan_head_to_json(&plan);
        json_object_set_new(json, keys[i], json_string("wrong"));
        struct plan back;
        struct err err = {0};
        assert_false(plan_head_from_json(json, &back, &err));
        assert_non_null(strstr(err.text, keys[i]));
        json_decref(json);
    }
}

static void a_command_can_be_pasted_into_a_shell(void **state)
{
    (void)state;
    struct plan_job job = sample_job();
    strv_add(&job.env, "NOTE=it's here");
    strv_add(&job.argv, "it's");
    strv_add(&job.argv, "--lr=1e-7");
    AUTO_FREE char *shell = plan_job_shell(&job, NULL);
    assert_string_equal(
        shell, "A=1 NOTE='it'\\''s here' PATH=/srv/bin:\"$PATH\" /srv/toy/train.sh '' 'two words' "
               "'it'\\''s' --lr=1e-7");
    plan_job_fini(&job);
}

static void a_plan_from_before_the_guard_has_its_defaults(void **state)
{
    (void)state;
    struct plan plan = {.order = ORDER_FILE}, back;
    json_t *json = plan_head_to_json(&plan);
    json_object_del(json_object_get(json, "guard"), "energy_half_width_percent");
    assert_true(plan_head_from_json(json, &back, NULL));
    assert_true(back.guard.half_width_percent == 20);
    plan_fini(&back);
    json_object_del(json, "guard");
    assert_true(plan_head_from_json(json, &back, NULL));
    assert_true(back.guard.half_width_percent == 20);
    assert_int_equal(back.guard.preflight.policy, PREFLIGHT_WAIT);
    assert_true(back.guard.preflight.wait_s == 600);
    assert_true(back.guard.preflight.baseline_s == 2);
    assert_int_equal(back.guard.cooldown.mode, COOLDOWN_FIXED);
    plan_fini(&back);
    json_t *guard = json_object();
    json_object_set_new(guard, "policy", json_string("perhaps"));
    json_object_set_new(json, "guard", guard);
    assert_false(plan_head_from_json(json, &back, NULL));
    json_decref(json);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_experiment_survives_the_way_through_json),
        cmocka_unit_test(floats_stand_in_json_in_their_shortest_form),
        cmocka_unit_test(an_experiment_that_lacks_something_is_refused_by_name),
        cmocka_unit_test(only_an_id_that_tare_gives_is_read),
        cmocka_unit_test(every_id_that_tare_gives_can_be_read_and_name_a_folder),
        cmocka_unit_test(a_job_that_lacks_something_is_refused_by_name),
        cmocka_unit_test(a_plan_from_before_there_were_marks_is_read),
        cmocka_unit_test(the_head_survives_the_way_through_json),
        cmocka_unit_test(a_head_from_before_parallel_experiments_has_their_defaults),
        cmocka_unit_test(a_plan_from_before_the_guard_has_its_defaults),
        cmocka_unit_test(a_head_that_lacks_something_is_refused_by_name),
        cmocka_unit_test(a_command_can_be_pasted_into_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
