#include "results/judge/identical.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "results/judge/dataset.h"
#include "results/judge/study_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct dataset dataset;

static int set_up(void **state)
{
    (void)state;
    dataset = (struct dataset){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dataset_fini(&dataset);
    return 0;
}

/* "lr=0.1 seed=1", and a duration in seconds; below 0: not known. */
static void add(const char *repo, const char *params, double seconds)
{
    struct dataset_experiment *experiment = dataset_add(&dataset);
    experiment->id = mem_strdup("");
    experiment->repo = mem_strdup(repo);
    experiment->model = mem_strdup("net");
    experiment->duration_s = (struct reading){seconds, seconds >= 0};
    AUTO_FREE char *words = mem_strdup(params);
    for (char *rest = words, *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = '\0';
        study_param_set(experiment, word, value_parse(value));
    }
}

static struct reading duration(const struct dataset_experiment *experiment, const void *context)
{
    (void)context;
    return experiment->duration_s;
}

static void experiments_of_one_model_are_a_group(void **state)
{
    (void)state;
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    add("b", "", 1);
    add("a", "", 1);
    add("b", "", 1);
    add("a", "", 1);
    dataset.items[3].parallel = true;
    assert_int_equal(audit_group(&dataset, &order, &groups), 3);
    static const size_t expected_order[] = {1, 3, 0, 2}, expected_groups[] = {0, 1, 2, 4};
    assert_memory_equal(order, expected_order, sizeof expected_order);
    assert_memory_equal(groups, expected_groups, sizeof expected_groups);
}

static void settings_are_hyperparameters_without_the_seed(void **state)
{
    (void)state;
    static const size_t items[] = {0, 1, 2, 3, 4, 5}, part[] = {0, 1, 0, 0, 0, 0};
    size_t setting[6];
    add("a", "lr=0.1 seed=1", 1);
    add("a", "random_seed=2 lr=0.10", 1); /* the same number */
    add("a", "lr=0.2 seed=1", 1);
    add("a", "lr=0.1 x=1", 1);
    add("a", "seed=3 lr=0.1", 1);
    add("a", "", 1);
    static const size_t alike[] = {0, 0, 1, 2, 0, 3}, parted[] = {0, 1, 2, 3, 0, 4};
    assert_int_equal(audit_settings(&dataset, items, NULL, 6, setting), 4);
    assert_memory_equal(setting, alike, sizeof alike);
    assert_int_equal(audit_settings(&dataset, items, part, 6, setting), 5);
    assert_memory_equal(setting, parted, sizeof parted);
}

static void keys_differ_where_names_or_values_do(void **state)
{
    (void)state;
    static const char *const params[] = {"ab=c", "a=bc", "a=1 b=2", "a=12 b=", "a=1", "b=1", ""};
    enum { COUNT = sizeof params / sizeof *params };
    char *keys[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        add("a", params[i], 1);
        keys[i] = audit_params_key(&dataset.items[i], true);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(keys[i], keys[k]);
    }
    for (size_t i = 0; i < COUNT; i++)
        free(keys[i]);
    add("a", "seed=1 lr=2", 1);
    add("a", "lr=2 seed=3", 1);
    AUTO_FREE char *one = audit_params_key(&dataset.items[COUNT], false);
    AUTO_FREE char *other = audit_params_key(&dataset.items[COUNT + 1], false);
    AUTO_FREE char *seeded = audit_params_key(&dataset.items[COUNT], true);
    AUTO_FREE char *other_seed = audit_params_key(&dataset.items[COUNT + 1], true);
    assert_string_equal(one, other);
    assert_string_not_equal(seeded, other_seed);
}

static void names_that_differ_by_case_become_the_usual_one(void **state)
{
    (void)state;
    add("a", "LR=1", 1);
    add("a", "lr=1", 1);
    add("a", "lr=2 Wd=1", 1);
    add("a", "wd=1 Mode=x mode=y", 1);
    audit_join_names(&dataset);
    assert_non_null(dataset_param(&dataset.items[0], "lr"));
    assert_null(dataset_param(&dataset.items[0], "LR"));
    /* equally often: small letters */
    assert_non_null(dataset_param(&dataset.items[2], "wd"));
    /* one experiment has both */
    assert_non_null(dataset_param(&dataset.items[3], "Mode"));
    assert_int_equal(dataset.spelling_count, 3);
    size_t apart = 0;
    for (size_t i = 0; i < dataset.spelling_count; i++)
        apart += dataset.spellings[i].apart;
    assert_int_equal(apart, 1);
}

static void a_hyperparameter_differs_by_value_or_absence(void **state)
{
    (void)state;
    static const size_t all[] = {0, 1, 2}, first_two[] = {0, 1};
    add("a", "lr=0.1 bs=4", 1);
    add("a", "lr=1e-1 bs=4", 1);
    add("a", "lr=0.1", 1);
    assert_false(audit_param_differs(&dataset, all, 3, "lr"));
    assert_true(audit_param_differs(&dataset, all, 3, "bs"));
    assert_false(audit_param_differs(&dataset, first_two, 2, "bs"));
    assert_false(audit_param_differs(&dataset, all, 3, "none"));
}

/* {10, 12}: mean 11, standard deviation sqrt(2); {20, 20, 26}: 22, sqrt(12). */
static void spread_is_pooled_over_sets_by_degrees_of_freedom(void **state)
{
    (void)state;
    static const size_t items[] = {0, 1, 2, 3, 4, 5, 6};
    add("a", "lr=1 seed=1", 10);
    add("a", "lr=2", 20);
    add("a", "lr=1 seed=2", 12);
    add("a", "lr=2", -1); /* not known */
    add("a", "lr=2", 20);
    add("a", "lr=3", 5); /* alone */
    add("a", "lr=2", 26);
    struct audit_spread spread = audit_spread_of(&dataset, items, 7, false, duration, NULL);
    assert_int_equal(spread.sets, 2);
    assert_int_equal(spread.values, 5);
    assert_int_equal(spread.freedom, 3);
    assert_true(fabs(spread.cv.value - sqrt((2 / 121.0 + 2 * 12 / 484.0) / 3)) < 1e-12);
    spread = audit_spread_of(&dataset, items, 7, true, duration, NULL);
    assert_int_equal(spread.sets, 1);
    assert_int_equal(spread.freedom, 5);
    spread = audit_spread_of(&dataset, items, 2, false, duration, NULL);
    assert_false(spread.cv.valid);
}

#define FRESH(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(experiments_of_one_model_are_a_group),
        FRESH(settings_are_hyperparameters_without_the_seed),
        FRESH(keys_differ_where_names_or_values_do),
        FRESH(names_that_differ_by_case_become_the_usual_one),
        FRESH(a_hyperparameter_differs_by_value_or_absence),
        FRESH(spread_is_pooled_over_sets_by_degrees_of_freedom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
