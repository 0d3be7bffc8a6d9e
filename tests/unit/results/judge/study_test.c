/* Each kind of contamination, planted in one experiment of a clean folder: found there, as what it
 * is, and nowhere else. */
#include "results/judge/account.h"
#include "results/judge/audit_tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

/* Six of one kind, of which the third may be another, four of another, three parallel ones. */
static void add_with_third(struct fixture *fixture, const struct fixture_run *third)
{
    fixture_begin(fixture);
    for (int i = 0; i < 6; i++)
        fixture_add(fixture, i == 2 ? third : &(struct fixture_run){.watts = 200 + i});
    for (int i = 0; i < 4; i++)
        fixture_add(fixture,
                    &(struct fixture_run){
                        .model = "big", .watts = 300 - i, .duration_s = 90 + i, .epochs = 5});
    for (int i = 0; i < 3; i++)
        fixture_add(fixture, &(struct fixture_run){.parallel = true, .watts = 310 + i, .busy = 95});
}

static void add_clean(struct fixture *fixture)
{
    add_with_third(fixture, &(struct fixture_run){.watts = 202});
}

static void expect_one(struct fixture *fixture, size_t index, const char *kind)
{
    struct dataset dataset;
    fixture_judge(fixture, &dataset);
    fixture_expect_alone(&dataset, index, kind);
    dataset_fini(&dataset);
    fixture_end(fixture);
}

static void a_clean_folder_has_no_accusation(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    add_clean(&fixture);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.count, 13);
    assert_int_equal(dataset.problem_count, 0);
    assert_true(dataset.folders[0].has_zone && dataset.folders[0].zone_s == FIXTURE_ZONE_S);
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    for (size_t i = 0; i < 10; i++)
        assert_true(fixture_lacks_processes_alone(&dataset.items[i]));
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void what_a_clean_experiment_says_is_taken_whole(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    add_clean(&fixture);
    fixture_judge(&fixture, &dataset);
    const struct dataset_experiment *parallel = &dataset.items[10], *plain = &dataset.items[0];
    char end[40];
    assert_string_equal(plain->id, "demo_net_001");
    assert_string_equal(plain->repo, "demo");
    assert_true(plain->success && !plain->parallel && parallel->parallel);
    near(plain->duration_s.value, 60, 0);
    near(dataset_metric(plain, "loss").value, 0.25, 0);
    near(dataset_param_number(plain, "epochs").value, 2, 0);
    near(plain->cpu_j.value, 1733.17, 0);
    near(plain->dram_j.value, 57.13, 0);
    dataset_format_time(plain->end_local_ns, end);
    /* 08:00 UTC and a minute, eight hours ahead */
    assert_string_equal(end, "2025-11-18T16:01:00.000000");
    /* 70 W up to the third sample, at 2.5 s; a line of a second; then about 200 W until 59.7 s,
     * when perf ended. */
    assert_string_equal(plain->gpu.window_from, "perf");
    near(plain->gpu.energy_j.value, 2.5 * 70 + 135 + 200 * 56.2, 3);
    near(plain->gpu.samples_sum_j.value, plain->recorded[RECORDED_GPU_TOTAL].value, 1e-6);
    near(parallel->gpu.early_utilisation_percent.value, 96, 0);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* What a leftover of the run before does. */
static void a_gpu_that_is_busy_at_the_start(void **state)
{
    (void)state;
    struct fixture fixture;
    add_with_third(&fixture,
                   &(struct fixture_run){.watts = 202, .before_watts = 120, .before_busy = 90});
    expect_one(&fixture, 2, "gpu_busy_before");
}

/* At the power of rest a few per cent are a screen, or a program that computes little, and many a
 * driver that is loaded for each reading: nobody is accused, and it is not clean. */
static void a_gpu_that_is_busy_at_the_start_at_the_power_of_rest(void **state)
{
    (void)state;
    static const double busy[] = {9, 90};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        struct dataset dataset;
        add_with_third(&fixture, &(struct fixture_run){
                                     .watts = 202, .before_watts = 76, .before_busy = busy[i]});
        fixture_judge(&fixture, &dataset);
        fixture_expect_alone(&dataset, SIZE_MAX, NULL);
        assert_int_equal(dataset.items[2].verdict, VERDICT_UNVERIFIED);
        assert_false(fixture_lacks_processes_alone(&dataset.items[2]));
        assert_true(fixture_lacks_processes_alone(&dataset.items[3]));
        dataset_fini(&dataset);
        fixture_end(&fixture);
    }
}

/* Three trainings alone, four parallel ones that lose power half-way: how many of these are
 * clean. */
static int clean_after_a_fall(double alone_loses_s)
{
    struct fixture fixture;
    struct dataset dataset;
    int clean = 0;
    fixture_begin(&fixture);
    for (int i = 0; i < 3; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = 200 + i, .alone_s = alone_loses_s});
    for (int i = 0; i < 4; i++)
        fixture_add(&fixture, &(struct fixture_run){
                                  .parallel = true, .watts = 310 + i, .busy = 95, .alone_s = 30});
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    for (size_t i = 3; i < 7; i++)
        clean += dataset_check_passed(&dataset.items[i], CHECK_BACKGROUND_LOAD);
    dataset_fini(&dataset);
    fixture_end(&fixture);
    return clean;
}

/* In all of its kind alike, so that no comparison among them shows it; that a training alone does
 * so too explains it. */
static void a_background_that_ends_before_its_foreground_in_every_repetition(void **state)
{
    (void)state;
    assert_int_equal(clean_after_a_fall(0), 0);
    assert_int_equal(clean_after_a_fall(30), 4);
}

static void a_gpu_that_is_busy_from_the_third_second_on_is_the_trainings(void **state)
{
    (void)state;
    struct fixture fixture;
    add_clean(&fixture);
    char *text = fixture_read(&fixture, 2, "gpu_utilization.csv");
    char *third = strstr(strstr(strstr(text, ",0,0\n") + 1, ",0,0\n") + 1, ",0,0\n");
    third[1] = '9';
    fixture_write(&fixture, 2, "gpu_utilization.csv", text);
    free(text);
    expect_one(&fixture, SIZE_MAX, NULL);
}

/* Utilisation of a whole trace by the second: zero where told. */
static void make_idle(struct fixture *fixture, size_t index, int from, int to)
{
    AUTO_TEXT struct text text = {0};
    text_add(&text, "timestamp,gpu_util_percent,memory_util_percent\n");
    for (int i = 0; i < 60; i++)
        text_addf(&text, "%lld,%d,40\n", (long long)fixture_start_s(index) + i,
                  i >= from && i < to ? 0 : 95);
    fixture_write(fixture, index, "gpu_utilization.csv", text_get(&text));
}

static void a_parallel_load_that_is_never_there(void **state)
{
    (void)state;
    struct fixture fixture;
    add_clean(&fixture);
    make_idle(&fixture, 11, 0, 60);
    expect_one(&fixture, 11, "background_no_load");
}

/* A background that alternates has such gaps; whether it did what it should is seen by time and
 * energy. */
static void a_parallel_load_that_is_not_there_at_the_start_may_begin_later(void **state)
{
    (void)state;
    struct fixture fixture;
    add_clean(&fixture);
    make_idle(&fixture, 11, 0, 4);
    expect_one(&fixture, SIZE_MAX, NULL);
}

static void a_parallel_load_may_restart_now_and_then(void **state)
{
    (void)state;
    struct fixture fixture;
    add_clean(&fixture);
    make_idle(&fixture, 11, 40, 45);
    expect_one(&fixture, SIZE_MAX, NULL);
}

static void a_retry_has_overwritten_the_energy(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_begin(&fixture);
    for (int i = 0; i < 5; i++)
        fixture_add(&fixture, &(struct fixture_run){.retries = i == 3 ? 2 : 0});
    expect_one(&fixture, 3, "energy_overwritten");
}

/* It has no energy of a result that its earlier attempts could have used. */
static void a_retried_failure_is_not_suspect(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_begin(&fixture);
    for (int i = 0; i < 5; i++)
        fixture_add(&fixture, &(struct fixture_run){.retries = i == 3 ? 3 : 0,
                                                    .failed = i == 3,
                                                    .no_metrics = i == 3});
    struct dataset dataset;
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.items[3].retries, 3);
    assert_int_equal(dataset.items[3].evidence_count, 0);
    assert_int_equal(dataset.items[3].verdict, VERDICT_NONE);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void a_success_without_results_of_a_model_alone_cannot_be_verified(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    for (int i = 0; i < 3; i++)
        fixture_add(&fixture,
                    &(struct fixture_run){.model = i == 1 ? "silent" : NULL, .no_metrics = i == 1});
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, 1, "success_without_metrics");
    assert_int_equal(dataset.items[1].verdict, VERDICT_UNVERIFIED);
    /* no training of it has one */
    assert_int_equal(dataset.items[1].verdicts.of[QUANTITY_METRIC], VERDICT_NONE);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void a_failed_training_is_not_judged_and_its_row_is_safe(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    for (int i = 0; i < 6; i++)
        fixture_add(&fixture, &(struct fixture_run){.failed = i == 4,
                                                    .no_metrics = i == 4,
                                                    .duration_s = i == 4 ? 20 : 60});
    fixture_judge(&fixture, &dataset);
    for (size_t i = 0; i < dataset.count; i++) {
        assert_int_equal(dataset.items[i].evidence_count, 0);
        assert_int_equal(dataset.items[i].verdict, i == 4 ? VERDICT_NONE : VERDICT_UNVERIFIED);
        assert_int_equal(fixture_lacks_processes_alone(&dataset.items[i]), i != 4);
    }
    assert_false(dataset.items[4].success);
    struct account account;
    struct audit_tables tables;
    assert_true(account_make(&dataset, NULL, &account, NULL));
    assert_true(audit_tables_make(&dataset, &account, 0, &tables, NULL));
    assert_int_equal(tables.safe_rows, 6);
    assert_non_null(strstr(text_get(&tables.safe), ",False,"));
    audit_tables_fini(&tables);
    account_fini(&account);
    assert_string_equal(dataset.items[4].error, "it broke");
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* Every third sample is missing: the sum is a third low, the integral is not. */
static void missing_samples_make_the_sum_too_low(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    AUTO_TEXT struct text text = {0};
    double sum = 0;
    add_clean(&fixture);
    text_add(&text, "timestamp,power_draw_w\n");
    for (int i = 0; i < 60; i++)
        if (i % 3 != 1) {
            text_addf(&text, "%lld,200.00\n", (long long)fixture_start_s(1) + i);
            sum += 200;
        }
    fixture_write(&fixture, 1, "gpu_power.csv", text_get(&text));
    fixture_record(&fixture, 1, sum);
    fixture_judge(&fixture, &dataset);
    /* Straight lines over missing seconds of a steady load are still known: it is told by the
     * check, and is no evidence. */
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    assert_true(dataset_check_passed(&dataset.items[1], CHECK_SAMPLING));
    near(dataset.items[1].gpu.samples_sum_j.value, 8000, 0);
    near(dataset.items[1].gpu.energy_j.value, 200 * 59.7, 1e-6);
    near(dataset.items[1].gpu.sampled_share.value, 40 / 59.7, 1e-9);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* 50 and 600 W by turns, every 20 seconds: what was drawn between two of four samples is
 * anything. */
static void what_was_recorded_too_coarsely_is_called_that(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    AUTO_TEXT struct text text = {0};
    add_clean(&fixture);
    text_add(&text, "timestamp,power_draw_w\n");
    for (int i = 0; i < 4; i++)
        text_addf(&text, "%lld,%d.00\n", (long long)fixture_start_s(1) + (i < 3 ? 20 * i : 59),
                  i % 2 ? 600 : 50);
    fixture_write(&fixture, 1, "gpu_power.csv", text_get(&text));
    fixture_record(&fixture, 1, 1300);
    fixture_judge(&fixture, &dataset);
    const struct dataset_experiment *item = &dataset.items[1];
    assert_true(item->gpu.half_width_j.value > 0.2 * item->gpu.energy_j.value);
    assert_true(dataset_has_evidence(item, "energy_imprecise"));
    assert_int_equal(item->verdicts.of[QUANTITY_METRIC], VERDICT_CLEAN);
    assert_false(dataset_has_evidence(&dataset.items[2], "energy_imprecise"));
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void a_trace_of_another_run_does_not_add_up(void **state)
{
    (void)state;
    struct fixture fixture;
    add_clean(&fixture);
    char *text = fixture_read(&fixture, 1, "gpu_power.csv");
    char *figure = strstr(strchr(text, '\n'), ",70.00");
    memcpy(figure, ",75.00", 6);
    fixture_write(&fixture, 1, "gpu_power.csv", text);
    free(text);
    expect_one(&fixture, 1, "energy_differs");
}

/* 60 samples of two decimals: printing them changes their sum by 0.3 J at most. */
static void rounding_of_the_samples_is_no_difference(void **state)
{
    (void)state;
    static const struct {
        double off_j;
        const char *kind;
    } rows[] = {{0.28, NULL}, {-0.28, NULL}, {0.32, "energy_differs"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture fixture;
        struct dataset dataset;
        add_clean(&fixture);
        double sum_j = 0;
        AUTO_FREE char *text = fixture_read(&fixture, 1, "gpu_power.csv");
        for (const char *line = strchr(text, '\n'); line[1]; line = strchr(line + 1, '\n'))
            sum_j += strtod(strchr(line, ',') + 1, NULL);
        fixture_record(&fixture, 1, sum_j + rows[i].off_j);
        if (rows[i].kind) {
            expect_one(&fixture, 1, rows[i].kind);
            continue;
        }
        fixture_judge(&fixture, &dataset);
        fixture_expect(&dataset, 1, NULL);
        dataset_fini(&dataset);
        fixture_end(&fixture);
    }
}

/* A trace of one sample in two seconds has no three seconds in a row. */
static void without_three_seconds_in_a_row_the_power_at_rest_is_unknown(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    add_clean(&fixture);
    for (size_t i = 0; i < fixture.count; i++) {
        AUTO_FREE char *text = fixture_read(&fixture, i, "gpu_power.csv");
        AUTO_TEXT struct text halved = {0};
        size_t number = 0;
        for (const char *line = text, *next; *line; line = next, number++) {
            next = strchr(line, '\n') + 1;
            if (number == 0 || number % 2)
                text_addf(&halved, "%.*s", (int)(next - line), line);
        }
        fixture_write(&fixture, i, "gpu_power.csv", text_get(&halved));
    }
    fixture_judge(&fixture, &dataset);
    for (size_t i = 0; i < dataset.count; i++) {
        bool said = false;
        for (size_t c = 0; c < dataset.items[i].check_count; c++) {
            const char *why = dataset.items[i].checks[c].text;
            said = said || strstr(why, "the power at rest is not known");
            assert_null(strstr(why, "inf "));
            assert_null(strstr(why, "nan "));
        }
        assert_true(said);
    }
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* How many of the experiments from first on passed a check; -1: of these some did, and some did
 * not. */
static int all_passed(const struct dataset *dataset, size_t first, size_t count, enum check check)
{
    size_t passed = 0;
    for (size_t i = first; i < first + count; i++)
        passed += dataset_check_passed(&dataset->items[i], check);
    return passed == count ? 1 : passed ? -1 : 0;
}

/* Three kinds of five, one after another or in turns; CPU energy of the last of the first kind. */
static void judge_three_kinds(struct dataset *dataset, bool in_turns, double cpu_j)
{
    static const char *const models[] = {"net", "big", "small"};
    struct fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < 15; i++) {
        const char *model = models[in_turns ? i % 3 : i / 5];
        fixture_add(&fixture, &(struct fixture_run){.model = model,
                                                    .cpu_j = i == (in_turns ? 12 : 4) ? cpu_j : 0});
    }
    fixture_judge(&fixture, dataset);
    fixture_expect_alone(dataset, SIZE_MAX, NULL);
    fixture_end(&fixture);
}

/* What used the processors beside all of a kind shows beside what ran before and behind it
 * alone. */
static void a_kind_in_a_row_needs_the_experiments_around_it_for_other_cpu(void **state)
{
    (void)state;
    struct dataset dataset;
    judge_three_kinds(&dataset, false, 0);
    assert_int_equal(all_passed(&dataset, 0, 15, CHECK_OTHER_CPU), 1);
    dataset_fini(&dataset);
    judge_three_kinds(&dataset, false, 1.12 * 1733.17);
    assert_int_equal(all_passed(&dataset, 0, 4, CHECK_OTHER_CPU), 1);
    assert_int_equal(all_passed(&dataset, 4, 6, CHECK_OTHER_CPU),
                     0); /* that one, and the kind that ran just behind it */
    assert_int_equal(all_passed(&dataset, 5, 5, CHECK_LIKE_TIME), 1);
    assert_int_equal(all_passed(&dataset, 10, 5, CHECK_OTHER_CPU), 1);
    dataset_fini(&dataset);
    judge_three_kinds(&dataset, true, 1.12 * 1733.17);
    assert_int_equal(all_passed(&dataset, 0, 12, CHECK_OTHER_CPU), 1);
    dataset_fini(&dataset);
}

/* Of six that are alike one differs by so much: more is doubted sooner than less. */
static bool is_like_with(double duration_s)
{
    struct fixture fixture;
    struct dataset dataset;
    add_with_third(&fixture, &(struct fixture_run){.watts = 202, .duration_s = duration_s});
    fixture_judge(&fixture, &dataset);
    bool passed = dataset_check_passed(&dataset.items[2], CHECK_LIKE_TIME);
    assert_true(dataset_check_passed(&dataset.items[1], CHECK_LIKE_TIME));
    dataset_fini(&dataset);
    fixture_end(&fixture);
    return passed;
}

static void the_upper_bound_of_what_it_took_more_decides(void **state)
{
    (void)state;
    assert_true(is_like_with(62));
    assert_false(is_like_with(64.5));
    assert_true(is_like_with(55.5));
    assert_false(is_like_with(51));
}

static void a_gpu_that_is_warmer_than_at_other_starts_or_hot_leaves_throttling_unknown(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    for (int i = 0; i < 6; i++)
        fixture_add(&fixture, &(struct fixture_run){.start_c = i == 2 ? 56 : i == 3 ? 57 : 50});
    fixture_judge(&fixture, &dataset);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(dataset_check_passed(&dataset.items[i], CHECK_THROTTLING), i != 3);
    assert_true(fixture_lacks_processes_alone(&dataset.items[2]));
    assert_false(fixture_lacks_processes_alone(&dataset.items[3]));
    dataset_fini(&dataset);
    /* that one may have been the coolest */
    fixture_write(&fixture, 5, "gpu_temperature.csv", NULL);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(all_passed(&dataset, 0, 6, CHECK_THROTTLING), 0);
    dataset_fini(&dataset);
    fixture_end(&fixture);
    fixture_begin(&fixture);
    for (int i = 0; i < 6; i++)
        fixture_add(&fixture, &(struct fixture_run){.start_c = i == 2 ? 71 : 70});
    fixture_judge(&fixture, &dataset);
    /* 80 C */
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(dataset_check_passed(&dataset.items[i], CHECK_THROTTLING), i != 2);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* Whether like_energy passed of the third of six, which leaves the GPU idle for so long and begins
 * at so many watts. */
static bool is_energy_known(int idle_s, double watts, double before_watts)
{
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    for (int i = 0; i < 6; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = watts,
                                                    .before_watts = i == 2 ? before_watts : 0});
    make_idle(&fixture, 2, 0, idle_s);
    fixture_judge(&fixture, &dataset);
    bool passed = dataset_check_passed(&dataset.items[2], CHECK_LIKE_ENERGY);
    assert_true(dataset_check_passed(&dataset.items[1], CHECK_LIKE_ENERGY));
    dataset_fini(&dataset);
    fixture_end(&fixture);
    return passed;
}

/* 70 W at rest: what another program adds to that while nothing computes is in all alike. */
static void energy_that_hangs_on_the_power_of_rest_is_not_known(void **state)
{
    (void)state;
    assert_true(is_energy_known(3, 200, 87));
    assert_true(is_energy_known(40, 200, 72));
    /* two thirds of the time 17 W more than at rest, of 200 */
    assert_false(is_energy_known(40, 200, 87));
}

/* Whether idle_before passed where the GPU draws 70 W at least and so much at most. */
static bool is_rest_known(double watts)
{
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    for (int i = 0; i < 4; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = watts});
    fixture_judge(&fixture, &dataset);
    int passed = all_passed(&dataset, 0, 4, CHECK_IDLE_BEFORE);
    dataset_fini(&dataset);
    fixture_end(&fixture);
    assert_true(passed >= 0);
    return passed;
}

/* A program that holds the GPU beside the whole folder: it never rests. */
static void a_lowest_power_that_no_gpu_rests_at_makes_no_idle_start(void **state)
{
    (void)state;
    assert_true(is_rest_known(200));
    assert_false(is_rest_known(180));
}

/* Four parallel experiments and, where alone is over 0 W, two of their model alone: whether
 * background_load passed. */
static int is_background_known(double alone_watts, double alone_busy)
{
    struct fixture fixture;
    struct dataset dataset;
    fixture_begin(&fixture);
    for (int i = 0; i < 4; i++)
        fixture_add(&fixture, &(struct fixture_run){.parallel = true, .watts = 310, .busy = 95});
    for (int i = 0; alone_watts > 0 && i < 2; i++)
        fixture_add(&fixture, &(struct fixture_run){.watts = alone_watts, .busy = alone_busy});
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    int passed = all_passed(&dataset, 0, 4, CHECK_BACKGROUND_LOAD);
    dataset_fini(&dataset);
    fixture_end(&fixture);
    return passed;
}

static void a_background_is_known_by_what_it_adds_to_trainings_of_the_model_alone(void **state)
{
    (void)state;
    assert_int_equal(is_background_known(0, 0), 0);
    assert_int_equal(is_background_known(320, 97), 0);
    assert_int_equal(is_background_known(320, 60), 1);
    assert_int_equal(is_background_known(200, 97), 1);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_folder_has_no_accusation),
        cmocka_unit_test(what_a_clean_experiment_says_is_taken_whole),
        cmocka_unit_test(a_gpu_that_is_busy_at_the_start),
        cmocka_unit_test(a_gpu_that_is_busy_at_the_start_at_the_power_of_rest),
        cmocka_unit_test(a_background_that_ends_before_its_foreground_in_every_repetition),
        cmocka_unit_test(a_gpu_that_is_busy_from_the_third_second_on_is_the_trainings),
        cmocka_unit_test(a_parallel_load_that_is_never_there),
        cmocka_unit_test(a_parallel_load_that_is_not_there_at_the_start_may_begin_later),
        cmocka_unit_test(a_parallel_load_may_restart_now_and_then),
        cmocka_unit_test(a_retry_has_overwritten_the_energy),
        cmocka_unit_test(a_retried_failure_is_not_suspect),
        cmocka_unit_test(a_success_without_results_of_a_model_alone_cannot_be_verified),
        cmocka_unit_test(a_failed_training_is_not_judged_and_its_row_is_safe),
        cmocka_unit_test(missing_samples_make_the_sum_too_low),
        cmocka_unit_test(a_trace_of_another_run_does_not_add_up),
        cmocka_unit_test(what_was_recorded_too_coarsely_is_called_that),
        cmocka_unit_test(rounding_of_the_samples_is_no_difference),
        cmocka_unit_test(without_three_seconds_in_a_row_the_power_at_rest_is_unknown),
        cmocka_unit_test(a_kind_in_a_row_needs_the_experiments_around_it_for_other_cpu),
        cmocka_unit_test(the_upper_bound_of_what_it_took_more_decides),
        cmocka_unit_test(
            a_gpu_that_is_warmer_than_at_other_starts_or_hot_leaves_throttling_unknown),
        cmocka_unit_test(energy_that_hangs_on_the_power_of_rest_is_not_known),
        cmocka_unit_test(a_lowest_power_that_no_gpu_rests_at_makes_no_idle_start),
        cmocka_unit_test(a_background_is_known_by_what_it_adds_to_trainings_of_the_model_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
