/* What only a comparison with others of the kind shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#include "audit/judge.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void judge_and_end(struct fixture *fixture, size_t index, const char *kind)
{
    struct dataset dataset;
    fixture_judge(fixture, &dataset);
    fixture_expect_alone(&dataset, index, kind);
    dataset_fini(&dataset);
    fixture_end(fixture);
}

/* Twelve alike at 200 W within a few watts. */
static void add_twelve(struct fixture *fixture, size_t odd, const struct fixture_run *run)
{
    fixture_begin(fixture);
    for (size_t i = 0; i < 12; i++)
        fixture_add(fixture, i == odd ? run : &(struct fixture_run){.watts = 200 + (double)(i * 5 % 7)});
}

static void power_far_from_the_siblings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, 7, &(struct fixture_run){.watts = 320});
    judge_and_end(&fixture, 7, "outlier");
}

static void a_duration_per_epoch_far_from_the_siblings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, 7, &(struct fixture_run){.watts = 201, .duration_s = 120});
    judge_and_end(&fixture, 7, "outlier");
}

static void more_epochs_take_longer_and_that_is_no_outlier(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, 7, &(struct fixture_run){.watts = 204, .duration_s = 120, .epochs = 4});
    judge_and_end(&fixture, SIZE_MAX, NULL);
}

static void a_few_per_cent_are_no_outlier_however_alike_the_others_are(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < 12; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = i == 3 ? 210 : 200});
    judge_and_end(&fixture, SIZE_MAX, NULL);
}

static void four_are_too_few_to_accuse_one(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < 4; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = i == 3 ? 400 : 200});
    judge_and_end(&fixture, SIZE_MAX, NULL);
}

/* Power and utilisation drop at 30 s, when something else that shared the GPU ends. */
static void write_step(struct fixture *fixture, size_t index)
{
    AUTO_TEXT struct text power = {0}, busy = {0};
    double sum = 0;
    text_add(&power, "timestamp,power_draw_w\n");
    text_add(&busy, "timestamp,gpu_util_percent,memory_util_percent\n");
    for (int i = 0; i < 60; i++) {
        double watts = i < 3 ? 70 : i < 32 ? 262 : 150;
        text_addf(&power, "%lld,%.2f\n", (long long)fixture_start_s(index) + i, watts);
        text_addf(&busy, "%lld,%d,40\n", (long long)fixture_start_s(index) + i, i < 3 ? 0 : i < 32 ? 99 : 60);
        sum += watts;
    }
    fixture_write(fixture, index, "gpu_power.csv", text_get(&power));
    fixture_write(fixture, index, "gpu_utilization.csv", text_get(&busy));
    fixture_record(fixture, index, sum);
}

static void a_lasting_step_that_no_sibling_has(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, SIZE_MAX, NULL);
    write_step(&fixture, 5);
    judge_and_end(&fixture, 5, "load_step");
}

static void a_step_that_siblings_have_is_the_trainings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, SIZE_MAX, NULL);
    write_step(&fixture, 5);
    write_step(&fixture, 6);
    judge_and_end(&fixture, SIZE_MAX, NULL);
}

static void a_result_that_its_siblings_have_and_it_has_not(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, 2, &(struct fixture_run){.watts = 202, .no_second_metric = true});
    judge_and_end(&fixture, 2, "value_missing");
}

/* Power, duration and utilisation that differ as they do from run to run. */
static void honest_noise_accuses_next_to_nobody(void **state)
{
    (void)state;
    struct rng rng;
    size_t accused = 0, all = 0;
    rng_seed(&rng, 5);
    for (int round = 0; round < 12; round++) {
        struct fixture fixture;
        struct dataset dataset;
        fixture_begin(&fixture);
        for (int i = 0; i < 20; i++)
            fixture_add(&fixture, &(struct fixture_run){.watts = 200 * (1 + 0.03 * rng_normal(&rng)),
                                                        .duration_s = floor(60 + 3 * rng_normal(&rng)),
                                                        .busy = floor(85 + 5 * rng_unit(&rng))});
        fixture_judge(&fixture, &dataset);
        for (size_t i = 0; i < dataset.count; i++)
            accused += dataset.items[i].evidence_count > 0;
        all += dataset.count;
        dataset_fini(&dataset);
        fixture_end(&fixture);
    }
    assert_int_equal(all, 240);
    assert_int_equal(accused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_far_from_the_siblings),
        cmocka_unit_test(a_duration_per_epoch_far_from_the_siblings),
        cmocka_unit_test(more_epochs_take_longer_and_that_is_no_outlier),
        cmocka_unit_test(a_few_per_cent_are_no_outlier_however_alike_the_others_are),
        cmocka_unit_test(four_are_too_few_to_accuse_one),
        cmocka_unit_test(a_lasting_step_that_no_sibling_has),
        cmocka_unit_test(a_step_that_siblings_have_is_the_trainings),
        cmocka_unit_test(a_result_that_its_siblings_have_and_it_has_not),
        cmocka_unit_test(honest_noise_accuses_next_to_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
