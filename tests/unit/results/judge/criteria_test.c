#include "results/judge/criteria.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Ten of a minute, an hour apart; the last four fail. */
static void begin(struct fixture *fixture, struct dataset *dataset, int failing)
{
    fixture_begin(fixture);
    for (int i = 0; i < 20; i++)
        fixture_add(fixture, &(struct fixture_run){.watts = 200 + i % 3,
                                                   .failed = i >= 20 - failing,
                                                   .no_metrics = i >= 20 - failing});
    fixture_judge(fixture, dataset);
}

static void end(struct fixture *fixture, struct dataset *dataset)
{
    dataset_fini(dataset);
    fixture_end(fixture);
}

static struct criterion_result checked(const struct dataset *dataset, const char *criterion)
{
    struct criteria criteria;
    struct criterion_result result;
    struct err err;
    if (!criteria_parse(criterion, &criteria, &err) || !criteria_match(&criteria, dataset, &err))
        fail_msg("%s", err.text);
    criterion_check(&criteria, 0, dataset, &result);
    criteria_fini(&criteria);
    return result;
}

static bool holds(const struct dataset *dataset, const char *criterion)
{
    return checked(dataset, criterion).held;
}

static void criteria_hold_or_not(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture, &dataset, 8);
    assert_true(holds(&dataset, "contaminated=0"));
    assert_true(holds(&dataset, "unverified>=12"));
    assert_false(holds(&dataset, "unverified>12"));
    assert_true(holds(&dataset, "success_rate=60%"));
    assert_false(holds(&dataset, "success_rate>0.6"));
    assert_true(holds(&dataset, "success_rate<=60%"));
    /* 200, 201 and 202 W by turns: their deviation is 0.4 %. */
    assert_true(holds(&dataset, "power_cv_between<0.6%"));
    assert_false(holds(&dataset, "power_cv_between<0.3%"));
    /* Twelve successes: 200 201 202 four times each, 3 s at 70 W of 59.7 s; the deviation of those
     * is 0.853 W. */
    assert_true(holds(&dataset, "power_cv_between>0.39%"));
    end(&fixture, &dataset);
}

static void a_criterion_without_data_does_not_hold(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    fixture_add(&fixture, &(struct fixture_run){.batch_size = 16});
    fixture_add(&fixture, &(struct fixture_run){.batch_size = 32});
    fixture_judge(&fixture, &dataset);
    assert_false(holds(&dataset, "power_cv_between<50%"));
    assert_false(holds(&dataset, "power_cv_between>0"));
    end(&fixture, &dataset);
}

/* Two models of one name in two repositories, and one of a third name: 4, 2 and 3 experiments. */
static void begin_models(struct fixture *fixture, struct dataset *dataset)
{
    fixture_begin(fixture);
    for (int i = 0; i < 4; i++)
        fixture_add(fixture,
                    &(struct fixture_run){.repo = "one", .model = "mlp", .watts = 200 + i});
    for (int i = 0; i < 2; i++)
        fixture_add(fixture,
                    &(struct fixture_run){.repo = "two", .model = "mlp", .watts = 200 + 40 * i});
    for (int i = 0; i < 3; i++)
        fixture_add(fixture, &(struct fixture_run){.repo = "two",
                                                   .model = "pcb",
                                                   .batch_size = 8 << i,
                                                   .failed = i == 2,
                                                   .no_metrics = i == 2});
    fixture_judge(fixture, dataset);
}

static void a_criterion_may_be_of_one_model(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin_models(&fixture, &dataset);
    assert_true(holds(&dataset, "success_rate[one/mlp]=100%"));
    assert_true(holds(&dataset, "success_rate[two/mlp]=1"));
    assert_true(holds(&dataset, "success_rate[pcb]<67%"));
    assert_true(holds(&dataset, "success_rate[pcb]>66%"));
    assert_true(holds(&dataset, "success_rate[two/pcb]>66%"));
    assert_false(holds(&dataset, "success_rate[pcb]=100%"));
    /* 200, 201, 202, 203 W: a deviation of 1.29 W. 200 and 240 W: one of 28 W. The greater is that
     * of all. */
    assert_true(holds(&dataset, "power_cv_between[one/mlp]<0.65%"));
    assert_true(holds(&dataset, "power_cv_between[one/mlp]>0.55%"));
    assert_true(holds(&dataset, "power_cv_between[two/mlp]>10%"));
    assert_true(holds(&dataset, "power_cv_between>10%"));
    /* pcb: two successes of one power with different batch sizes. */
    assert_true(holds(&dataset, "power_cv[pcb]<0.01%"));
    assert_true(holds(&dataset, "power_cv[one/mlp]>0.55%"));
    assert_true(holds(&dataset, "power_cv[one/mlp]<0.65%"));
    assert_string_equal(checked(&dataset, "contaminated[one/mlp]=0").why, "0 of 4");
    assert_string_equal(checked(&dataset, "clean_share[two/mlp]>=0").why + 1, " of 2");
    /* Each of the experiments of pcb has another batch size. */
    struct criterion_result unknown = checked(&dataset, "power_cv_between[pcb]<5%");
    assert_false(unknown.held);
    assert_false(unknown.value.valid);
    end(&fixture, &dataset);
}

static void a_check_is_a_criterion(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin_models(&fixture, &dataset);
    /* The study recorded neither memory nor processes. */
    struct criterion_result unknown = checked(&dataset, "memory_back=100%");
    assert_false(unknown.held);
    assert_false(unknown.value.valid);
    assert_non_null(strstr(unknown.why, "not recorded in this layout"));
    for (size_t i = 0; i < dataset.count; i++) {
        enum check_outcome outcome = i == 5   ? CHECK_FAILED
                                     : i == 6 ? CHECK_NOT_NEEDED
                                              : CHECK_PASSED;
        while (dataset.items[i].check_count > 0) {
            struct check_result *old = &dataset.items[i].checks[--dataset.items[i].check_count];
            free(old->text);
            old->text = NULL;
        }
        if (i != 0)
            dataset_check(&dataset.items[i], CHECK_MEMORY_BACK, outcome, "as planted");
    }
    /* The first was not checked, the sixth failed, the seventh does not need it. */
    assert_string_equal(checked(&dataset, "memory_back=100%").why,
                        "6 of 8; the check was not made in 1");
    assert_true(holds(&dataset, "memory_back=75%"));
    assert_true(holds(&dataset, "memory_back[pcb]=100%"));
    assert_false(holds(&dataset, "memory_back[two/mlp]=100%"));
    assert_true(holds(&dataset, "memory_back[two/mlp]=50%"));
    assert_false(holds(&dataset, "memory_back[one/mlp]=100%"));
    end(&fixture, &dataset);
}

static void a_model_that_did_not_run_is_unknown(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    static const char *const rows[] = {"contaminated[hrnet18]=0", "clean[two/hrnet18]<9",
                                       "power_cv[mlp_2]<1", "clean[resnet20]=0",
                                       "memory_back[hrnet18]=100%"};
    begin_models(&fixture, &dataset);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct criterion_result result = checked(&dataset, rows[i]);
        if (result.held || result.value.valid || !strstr(result.why, "(there are mlp, pcb)"))
            fail_msg("%s: %s", rows[i], result.why);
    }
    /* Another number is another model; another letter is a slip. */
    free(dataset.items[0].model);
    dataset.items[0].model = mem_strdup("hrnet18");
    assert_false(checked(&dataset, "clean[hrnet48]<9").value.valid);
    struct criteria criteria;
    struct err err = {0};
    assert_true(criteria_parse("clean[hrmet18]<9", &criteria, &err));
    assert_false(criteria_match(&criteria, &dataset, &err));
    criteria_fini(&criteria);
    end(&fixture, &dataset);
}

static void a_model_that_is_not_one_of_the_dataset_is_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    static const struct {
        const char *criterion, *says;
    } rows[] = {
        {"clean[pbc]=1",
         "no experiment is of the model 'pbc' (there are mlp, pcb); did you mean 'pcb'?"},
        {"clean[one/pcb]=1", "no experiment is of the model 'one/pcb' (there are mlp, pcb)"},
        {"clean[two/]=1", "no experiment is of the model 'two/' (there are mlp, pcb)"},
        {"clean[mlp]=1", "'mlp' is a model of one and two: write [one/mlp]"},
        {"clean=1,clean[two/pcb]=1,clean[ml]=1", "no experiment is of the model 'ml'"}};
    begin_models(&fixture, &dataset);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct criteria criteria;
        struct err err = {0};
        assert_true(criteria_parse(rows[i].criterion, &criteria, &err));
        assert_false(criteria_match(&criteria, &dataset, &err));
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].criterion, err.text);
        criteria_fini(&criteria);
    }
    end(&fixture, &dataset);
}

static void commas_in_brackets_are_of_the_model(void **state)
{
    (void)state;
    struct criteria criteria;
    struct err err = {0};
    assert_true(criteria_parse(" clean[a,b<c]=1 ,suspect[r/m]<2,, unverified=3 ", &criteria, &err));
    assert_int_equal(criteria.count, 3);
    assert_string_equal(criteria.items[0].text, "clean[a,b<c]=1");
    assert_string_equal(criteria.items[0].model, "a,b<c");
    assert_int_equal(criteria.items[0].how, CRITERION_EQUAL);
    assert_string_equal(criteria.items[1].model, "r/m");
    assert_null(criteria.items[2].model);
    criteria_fini(&criteria);
}

static void criteria_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "power_cv_between",
                                        "power<5%",
                                        "clean<",
                                        "clean<five",
                                        "clean=>5",
                                        ",",
                                        "clean[]=1",
                                        "clean<5,oops",
                                        "clean[a=1",
                                        "clean[a]",
                                        "clean[a]b=1",
                                        "[a]=1",
                                        "clean=1[a]",
                                        "oops[a]=1",
                                        "clean[a][b]=1",
                                        "clean[,]b,[",
                                        "memory_back[=",
                                        "memory_backs=1",
                                        "differences[a]=0"};
    struct err err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct criteria criteria;
        if (criteria_parse(texts[i], &criteria, &err))
            fail_msg("'%s' was taken", texts[i]);
        criteria_fini(&criteria);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(criteria_hold_or_not),
        cmocka_unit_test(a_criterion_without_data_does_not_hold),
        cmocka_unit_test(a_criterion_may_be_of_one_model),
        cmocka_unit_test(a_check_is_a_criterion),
        cmocka_unit_test(a_model_that_did_not_run_is_unknown),
        cmocka_unit_test(a_model_that_is_not_one_of_the_dataset_is_refused),
        cmocka_unit_test(commas_in_brackets_are_of_the_model),
        cmocka_unit_test(criteria_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
