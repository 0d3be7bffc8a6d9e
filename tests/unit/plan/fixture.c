#include "base/fs_path.h"
#include "base/json_print.h"
#include "plan/plan_json.h"
#include "plan/planner.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#include "base/mem.h"

#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char toy_registry[] =
    "{'models': {'toy': {'path': 'toy', 'train_script': './train.sh', 'models': ['net', 'big "
    "net'], 'model_flag': '-n',"
    " 'supported_hyperparams': {"
    "  'epochs': {'flag': '-e', 'type': 'int', 'default': 10, 'range': [1, 20], 'distribution': "
    "'uniform'},"
    "  'lr': {'flag': '--lr', 'type': 'float', 'default': 0.01, 'range': [0.001, 0.1], "
    "'distribution': 'log_uniform'},"
    "  'seed': {'flag': '--seed', 'type': 'int', 'default': 1, 'range': [0, 9999], 'distribution': "
    "'uniform'},"
    "  'optimizer': {'flag': '--opt', 'type': 'choice', 'default': 'adam', 'choices': ['adam', "
    "'sgd', 'lion']}},"
    " 'performance_metrics': {'log_patterns': {'accuracy': 'Accuracy: ([0-9.]+)'}},"
    " 'marks': {'epoch': {'end': '^Epoch ([0-9]+):'}}}}}";

static char *double_quoted(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

void fixture_init(struct fixture *fixture)
{
    const char *base = getenv("TMPDIR");
    *fixture = (struct fixture){
        .folder = mem_printf("%s/tare-plan-XXXXXX", base && *base ? base : P_tmpdir)};
    assert_non_null(mkdtemp(fixture->folder));
    fixture->options = (struct plan_options){.has_seed = true, .seed = 1, .cwd = fixture->folder};
    fixture_write(fixture, "toy/train.sh", "#!/bin/sh\n", true);
}

static void let_go(struct fixture *fixture)
{
    plan_fini(&fixture->plan);
    problems_fini(&fixture->problems);
    settings_fini(&fixture->settings);
    registry_fini(&fixture->registry);
}

void fixture_fini(struct fixture *fixture)
{
    let_go(fixture);
    folder_remove(fixture->folder);
    free(fixture->folder);
}

int fixture_set_up(void **state)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    fixture_init(fixture);
    *state = fixture;
    return 0;
}

int fixture_tear_down(void **state)
{
    fixture_fini(*state);
    free(*state);
    return 0;
}

void fixture_write(const struct fixture *fixture, const char *name, const char *text,
                   bool executable)
{
    AUTO_FREE char *path = mem_printf("%s/%s", fixture->folder, name);
    AUTO_FREE char *folder = fs_dirname(path);
    AUTO_CLOSE int dir = fs_make_path(folder, 0777, NULL);
    assert_true(dir >= 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, executable ? 0755 : 0644), 0);
}

static void assert_readable(const struct problems *problems)
{
    if (problems->errors == 0)
        return;
    AUTO_FREE char *first = problem_format(&problems->items[0]);
    fail_msg("the texts of the test are wrong: %s", first);
}

void fixture_plan(struct fixture *fixture, const char *registry, const char *settings)
{
    let_go(fixture);
    AUTO_FREE char *registry_text = double_quoted(registry);
    AUTO_FREE char *settings_text = double_quoted(settings);
    AUTO_FREE char *registry_file = mem_printf("%s/registry.json", fixture->folder);
    AUTO_FREE char *settings_file = mem_printf("%s/settings.json", fixture->folder);
    registry_parse(registry_file, registry_text, strlen(registry_text), &fixture->registry,
                   &fixture->problems);
    settings_parse(settings_file, settings_text, strlen(settings_text), &fixture->settings,
                   &fixture->problems);
    assert_readable(&fixture->problems);
    fixture->ok = plan_make(&fixture->settings, &fixture->registry, &fixture->options,
                            &fixture->plan, &fixture->problems);
}

void fixture_plan_toy(struct fixture *fixture, const char *settings)
{
    fixture_plan(fixture, toy_registry, settings);
}

const struct problem *fixture_problem(const struct fixture *fixture, const char *part)
{
    for (size_t i = 0; i < fixture->problems.count; i++)
        if (strstr(fixture->problems.items[i].text, part))
            return &fixture->problems.items[i];
    return NULL;
}

static void print_line(json_t *json, struct text *out)
{
    json_print(json, out);
    text_add_char(out, '\n');
    json_decref(json);
}

char *fixture_print(const struct fixture *fixture)
{
    struct text out = {0};
    print_line(plan_head_to_json(&fixture->plan), &out);
    for (size_t i = 0; i < fixture->plan.count; i++)
        print_line(plan_experiment_to_json(&fixture->plan.experiments[i]), &out);
    return text_take(&out);
}

char *fixture_value(const struct plan_experiment *experiment, const char *name)
{
    for (size_t i = 0; i < experiment->foreground.param_count; i++)
        if (strcmp(experiment->foreground.params[i].name, name) == 0)
            return value_format(&experiment->foreground.params[i].value);
    fail_msg("%s has no %s", experiment->id, name);
    return NULL;
}
