/* What only a comparison with others of the kind shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "results/judge/judge.h"

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
        fixture_add(fixture,
                    i == odd ? run : &(struct fixture_run){.watts = 200 + (double)(i * 5 % 7)});
}

static void power_far_from_the_siblings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, 7, &(struct fixture_run){.watts = 320});
    judge_and_end(&fixture, 7, "outlier energy_unlike");
}

static void a_duration_far_from_the_siblings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, 7, &(struct fixture_run){.watts = 201, .duration_s = 120});
    judge_and_end(&fixture, 7, "outlier time_unlike energy_unlike");
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

static void three_others_are_too_few_for_an_outlier_and_enough_for_a_comparison(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < 4; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = i == 3 ? 400 : 200});
    judge_and_end(&fixture, 3, "energy_unlike");
}

/* Power and utilisation drop at 30 s, when something else that shared the GPU ends. */
static void write_step(struct fixture *fixture, size_t index, double before_w)
{
    AUTO_TEXT struct text power = {0}, busy = {0};
    double sum = 0;
    text_add(&power, "timestamp,power_draw_w\n");
    text_add(&busy, "timestamp,gpu_util_percent,memory_util_percent\n");
    for (int i = 0; i < 60; i++) {
        double watts = i < 3 ? 70 : i < 32 ? before_w : 150;
        text_addf(&power, "%lld,%.2f\n", (long long)fixture_start_s(index) + i, watts);
        text_addf(&busy, "%lld,%d,40\n", (long long)fixture_start_s(index) + i,
                  i < 3    ? 0
                  : i < 32 ? 99
                           : 60);
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
    write_step(&fixture, 5, 340);
    judge_and_end(&fixture, 5, "load_step energy_unlike");
}

static void a_step_that_siblings_have_is_the_trainings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_twelve(&fixture, SIZE_MAX, NULL);
    write_step(&fixture, 5, 262);
    write_step(&fixture, 6, 262);
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
            fixture_add(&fixture,
                        &(struct fixture_run){.watts = 200 * (1 + 0.03 * rng_normal(&rng)),
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

/* A results folder as trainings make it, in memory: what a training takes is its start and, for
 * each epoch, its steps, whose time grows with the batch; a fuller GPU draws more. The noise is 1
 * to 3 % of each, the same throughout a folder. */
struct sweep {
    struct rng rng;
    struct dataset dataset;
    double noise;
};

static double noisy(struct sweep *sweep, double value)
{
    return value * exp(sweep->noise * rng_normal(&sweep->rng));
}

static void add_param(struct dataset_experiment *experiment, const char *name, double value)
{
    experiment->params =
        mem_resize(experiment->params, experiment->param_count + 1, sizeof *experiment->params);
    experiment->params[experiment->param_count++] =
        (struct dataset_param){mem_strdup(name), {.kind = VALUE_FLOAT, .real = value}};
}

struct training {
    int model, epochs, batch;
    double rate;
    bool parallel;
};

/* slower: 1, or what something that nobody saw makes of its time. */
static void add_training(struct sweep *sweep, const struct training *of, double slower)
{
    static const double start_s[] = {4, 9, 25, 14}, step_s[] = {0.004, 0.012, 0.03, 0.0008},
                        samples[] = {50000, 20000, 8000, 1797};
    struct dataset_experiment *experiment = dataset_add(&sweep->dataset);
    double steps = ceil(samples[of->model] / of->batch);
    double seconds = start_s[of->model] +
                     of->epochs * steps * step_s[of->model] * (0.6 + 0.4 * of->batch / 32.0);
    double watts =
        70 + 230 * of->batch / (of->batch + 40.0) + 4 * of->model + (of->parallel ? 60 : 0);
    seconds = noisy(sweep, seconds * (of->parallel ? 1.7 : 1)) * slower;
    watts = noisy(sweep, watts);
    experiment->id = mem_printf("demo_m%d_%03zu", of->model, sweep->dataset.count);
    experiment->repo = mem_strdup("demo");
    experiment->model = mem_printf("m%d", of->model);
    experiment->parallel = of->parallel;
    experiment->has_success = experiment->success = experiment->judged = experiment->has_end = true;
    experiment->duration_s = (struct reading){seconds, true};
    experiment->gpu = (struct dataset_gpu){.source = "samples",
                                           .energy_j = {seconds * watts, true},
                                           .power_mean_w = {watts, true},
                                           .samples = 60};
    add_param(experiment, "batch_size", of->batch);
    add_param(experiment, "learning_rate", of->rate);
    add_param(experiment, "epochs", of->epochs);
    add_param(experiment, "seed", (double)rng_below(&sweep->rng, 1000000));
}

static int one_of(struct sweep *sweep, const int *of, size_t count)
{
    return of[rng_below(&sweep->rng, count)];
}

/* Of each model a sweep of batch sizes, repeated or not, drawn hyperparameters, and repeats of one
 * setting. */
static void add_folder(struct sweep *sweep)
{
    static const int epochs[] = {1, 2, 5, 10, 40, 100}, sizes[] = {8, 16, 32, 64, 128, 256, 512};
    int models = 1 + (int)rng_below(&sweep->rng, 4);
    for (int model = 0; model < models; model++) {
        struct training of = {.model = model,
                              .epochs = one_of(sweep, epochs, 6),
                              .rate = 0.01,
                              .parallel = rng_unit(&sweep->rng) < 0.3};
        int repeats = 1 + (int)rng_below(&sweep->rng, 3);
        for (size_t i = 0; i < 7; i++)
            for (int k = 0; k < repeats; k++)
                add_training(
                    sweep, &(struct training){of.model, of.epochs, sizes[i], of.rate, of.parallel},
                    1);
        for (int i = 0; i < 10; i++) /* as mutation draws them */
            add_training(sweep,
                         &(struct training){model, 1 + (int)rng_below(&sweep->rng, 30),
                                            one_of(sweep, sizes, 7),
                                            exp(-9 + 6 * rng_unit(&sweep->rng)), of.parallel},
                         1);
        int same = 4 + (int)rng_below(&sweep->rng, 17);
        of.batch = 32;
        for (int i = 0; i < same; i++)
            add_training(sweep, &of, 1);
    }
}

static void begin_sweep(struct sweep *sweep, uint64_t seed)
{
    *sweep = (struct sweep){.noise = 0};
    rng_seed(&sweep->rng, seed);
    sweep->noise = 0.01 + 0.02 * rng_unit(&sweep->rng);
    sweep->dataset.folders = mem_array(1, sizeof *sweep->dataset.folders);
    sweep->dataset.folders[0] =
        (struct dataset_folder){.path = mem_strdup("runs"), .layout = DATASET_TARE};
    sweep->dataset.folder_count = 1;
}

static size_t count_outliers(const struct dataset *dataset)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        count += dataset_has_evidence(&dataset->items[i], "outlier");
        assert_int_equal(dataset->items[i].verdict, VERDICT_CLEAN); /* a remark makes no verdict */
    }
    return count;
}

static void of_two_hundred_clean_folders_one_in_a_hundred_names_somebody(void **state)
{
    (void)state;
    size_t folders = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sweep sweep;
        begin_sweep(&sweep, seed);
        add_folder(&sweep);
        audit_judge(&sweep.dataset);
        folders += count_outliers(&sweep.dataset) > 0;
        dataset_fini(&sweep.dataset);
    }
    if (folders > 2)
        fail_msg("in %zu of 200 clean folders", folders);
}

static void the_smallest_of_a_sweep_of_batch_sizes_is_no_outlier(void **state)
{
    (void)state;
    static const int sizes[] = {8, 64, 64, 128, 128, 256, 256, 512, 512};
    struct sweep sweep;
    begin_sweep(&sweep, 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_training(&sweep, &(struct training){.epochs = 10, .batch = sizes[i], .rate = 0.01}, 1);
    audit_judge(&sweep.dataset);
    assert_true(sweep.dataset.items[0].duration_s.value >
                2 * sweep.dataset.items[1].duration_s.value);
    assert_int_equal(count_outliers(&sweep.dataset), 0);
    dataset_fini(&sweep.dataset);
}

/* Among the repeats of one setting, in a folder like the clean ones: one that took 1.5 times as
 * long, or two. */
static void one_that_took_half_as_long_again_as_its_repeats_is_named_and_nobody_else(void **state)
{
    (void)state;
    size_t planted = 0, named = 0, wrong = 0;
    for (uint64_t seed = 1001; seed <= 1100; seed++) {
        struct sweep sweep;
        begin_sweep(&sweep, seed);
        add_folder(&sweep);
        size_t first = sweep.dataset.count, bad = 1 + seed % 2;
        for (size_t i = 0; i < 12; i++)
            add_training(&sweep,
                         &(struct training){.model = 1, .epochs = 7, .batch = 48, .rate = 0.02},
                         i >= 4 && i < 4 + bad ? 1.5 : 1);
        audit_judge(&sweep.dataset);
        for (size_t i = 0; i < sweep.dataset.count; i++) {
            bool is_bad = i >= first + 4 && i < first + 4 + bad;
            bool is_named = dataset_has_evidence(&sweep.dataset.items[i], "outlier");
            planted += is_bad;
            named += is_bad && is_named;
            wrong += !is_bad && is_named;
        }
        dataset_fini(&sweep.dataset);
    }
    if (named < planted * 95 / 100 || wrong > 1)
        fail_msg("%zu of %zu are named, and %zu others", named, planted, wrong);
}

static void repeats_on_another_gpu_are_not_compared(void **state)
{
    (void)state;
    struct sweep sweep;
    begin_sweep(&sweep, 3);
    for (size_t i = 0; i < 8; i++) {
        add_training(&sweep, &(struct training){.epochs = 10, .batch = 32, .rate = 0.01},
                     i == 7 ? 2 : 1);
        sweep.dataset.items[i].facts[FACT_GPU_MODEL] =
            mem_strdup(i == 7 ? "Tesla T4" : "NVIDIA H200");
    }
    audit_judge(&sweep.dataset);
    assert_int_equal(count_outliers(&sweep.dataset), 0);
    dataset_fini(&sweep.dataset);
}

/* Never busy at the power of an idle GPU, where three of its siblings were busy; where one of these
 * is not known it cannot be clean. */
static void a_gpu_that_was_not_used_is_no_better_where_files_of_its_siblings_are_missing(
    void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        struct fixture fixture;
        struct dataset dataset;
        AUTO_TEXT struct text idle = {0};
        fixture_begin(&fixture);
        for (int i = 0; i < 4; i++)
            fixture_add(&fixture, &(struct fixture_run){.watts = i == 3 ? 72 : 200});
        text_add(&idle, "timestamp,gpu_util_percent,memory_util_percent\n");
        for (int i = 0; i < 60; i++)
            text_addf(&idle, "%lld,0,0\n", (long long)fixture_start_s(3) + i);
        fixture_write(&fixture, 3, "gpu_utilization.csv", text_get(&idle));
        if (missing)
            fixture_write(&fixture, 1, "gpu_utilization.csv", NULL);
        fixture_judge(&fixture, &dataset);
        assert_int_equal(dataset_has_evidence(&dataset.items[3], "gpu_unused"), !missing);
        assert_int_equal(dataset.items[3].verdicts.of[QUANTITY_METRIC],
                         missing ? VERDICT_UNVERIFIED : VERDICT_SUSPECT);
        assert_int_equal(dataset.items[2].verdicts.of[QUANTITY_METRIC], VERDICT_CLEAN);
        dataset_fini(&dataset);
        fixture_end(&fixture);
    }
}

/* 200 W are no idle GPU's, whatever the utilisation says. */
static void a_gpu_that_draws_the_power_of_its_siblings_was_used(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    AUTO_TEXT struct text idle = {0};
    fixture_begin(&fixture);
    for (int i = 0; i < 4; i++)
        fixture_add(&fixture, &(struct fixture_run){0});
    text_add(&idle, "timestamp,gpu_util_percent,memory_util_percent\n");
    for (int i = 0; i < 60; i++)
        text_addf(&idle, "%lld,0,0\n", (long long)fixture_start_s(3) + i);
    fixture_write(&fixture, 3, "gpu_utilization.csv", text_get(&idle));
    fixture_judge(&fixture, &dataset);
    assert_false(dataset_has_evidence(&dataset.items[3], "gpu_unused"));
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_that_draws_the_power_of_its_siblings_was_used),
        cmocka_unit_test(power_far_from_the_siblings),
        cmocka_unit_test(a_duration_far_from_the_siblings),
        cmocka_unit_test(more_epochs_take_longer_and_that_is_no_outlier),
        cmocka_unit_test(a_few_per_cent_are_no_outlier_however_alike_the_others_are),
        cmocka_unit_test(three_others_are_too_few_for_an_outlier_and_enough_for_a_comparison),
        cmocka_unit_test(a_lasting_step_that_no_sibling_has),
        cmocka_unit_test(a_step_that_siblings_have_is_the_trainings),
        cmocka_unit_test(a_result_that_its_siblings_have_and_it_has_not),
        cmocka_unit_test(honest_noise_accuses_next_to_nobody),
        cmocka_unit_test(of_two_hundred_clean_folders_one_in_a_hundred_names_somebody),
        cmocka_unit_test(the_smallest_of_a_sweep_of_batch_sizes_is_no_outlier),
        cmocka_unit_test(one_that_took_half_as_long_again_as_its_repeats_is_named_and_nobody_else),
        cmocka_unit_test(repeats_on_another_gpu_are_not_compared),
        cmocka_unit_test(
            a_gpu_that_was_not_used_is_no_better_where_files_of_its_siblings_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
