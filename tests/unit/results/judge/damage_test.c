/* Each kind of damage, done to one experiment of a clean folder: found there, as what it is, and
 * nowhere else. */
#include "results/judge/account.h"
#include "results/judge/audit_tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HURT = 2 };

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture);
    for (int i = 0; i < 5; i++)
        fixture_add(fixture, &(struct fixture_run){.watts = 200 + i});
}

static void end(struct fixture *fixture, const char *kind)
{
    struct dataset dataset;
    fixture_judge(fixture, &dataset);
    fixture_expect_alone(&dataset, kind ? HURT : SIZE_MAX, kind);
    dataset_fini(&dataset);
    fixture_end(fixture);
}

/* Text with every `from` replaced. */
static char *replaced(const char *text, const char *from, const char *to)
{
    struct text out = {0};
    for (const char *at = text, *found;; at = found + strlen(from)) {
        found = strstr(at, from);
        text_add_bytes(&out, at, found ? (size_t)(found - at) : strlen(at));
        if (!found)
            return text_take(&out);
        text_add(&out, to);
    }
}

static void replace(struct fixture *fixture, const char *name, const char *from, const char *to)
{
    AUTO_FREE char *text = fixture_read(fixture, HURT, name);
    AUTO_FREE char *changed = replaced(text, from, to);
    fixture_write(fixture, HURT, name, changed);
}

static double energy_of_clean(void)
{
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    fixture_judge(&fixture, &dataset);
    double energy = dataset.items[HURT].gpu.energy_j.value;
    dataset_fini(&dataset);
    fixture_end(&fixture);
    return energy;
}

/* The same energy, whatever the writing. */
static void expect_same_energy(struct fixture *fixture)
{
    struct dataset dataset;
    double expected = energy_of_clean();
    fixture_judge(fixture, &dataset);
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    assert_true(fabs(dataset.items[HURT].gpu.energy_j.value - expected) < 1e-9);
    dataset_fini(&dataset);
    fixture_end(fixture);
}

static void lines_may_end_as_on_windows(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    replace(&fixture, "gpu_power.csv", "\n", "\r\n");
    replace(&fixture, "gpu_utilization.csv", "\n", "\r\n");
    replace(&fixture, "experiment.json", ", ", ",\r\n");
    expect_same_energy(&fixture);
}

static void figures_may_carry_their_unit(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    replace(&fixture, "gpu_power.csv", "\n", " W\n");
    expect_same_energy(&fixture);
}

static void commas_in_figures_are_read(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    AUTO_TEXT struct text text = {0};
    begin(&fixture);
    text_add(&text, "timestamp,power_draw_w\n");
    for (int i = 0; i < 60; i++)
        text_addf(&text, i % 2 ? "%lld,\"1,200.50\"\n" : "%lld,1,200.50\n",
                  (long long)fixture_start_s(HURT) + i);
    fixture_write(&fixture, HURT, "gpu_power.csv", text_get(&text));
    fixture_judge(&fixture, &dataset);
    assert_true(fabs(dataset.items[HURT].gpu.energy_j.value - 1200.5 * 59.7) < 1e-6);
    assert_int_equal(dataset.items[HURT].gpu.samples, 60);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void a_trace_that_is_cut_off(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    AUTO_FREE char *text = fixture_read(&fixture, HURT, "gpu_temperature.csv");
    text[strlen(text) - 3] = '\0';
    fixture_write(&fixture, HURT, "gpu_temperature.csv", text);
    end(&fixture, "file_damaged");
}

static void a_cut_off_figure_is_not_believed(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    AUTO_FREE char *text = fixture_read(&fixture, HURT, "gpu_power.csv");
    text[strlen(text) - 5] = '\0'; /* 2, of 201.96 */
    fixture_write(&fixture, HURT, "gpu_power.csv", text);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.items[HURT].gpu.samples, 59);
    assert_true(dataset.items[HURT].gpu.power_min_w.value == 70);
    assert_string_equal(dataset.items[HURT].evidence[0].kind, "file_damaged");
    assert_int_equal(dataset.items[HURT].verdict, VERDICT_SUSPECT);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void an_empty_file(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    fixture_write(&fixture, HURT, "gpu_utilization.csv", "");
    end(&fixture, "file_damaged");
}

static void a_header_and_no_samples(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    fixture_write(&fixture, HURT, "gpu_utilization.csv",
                  "timestamp,gpu_util_percent,memory_util_percent\n");
    end(&fixture, "file_damaged");
}

static void lines_that_are_no_samples(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    replace(&fixture, "gpu_temperature.csv", ",55,N/A\n", ",fifty-five,N/A\n");
    end(&fixture, "file_damaged");
}

static void a_file_that_is_missing(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu_utilization.csv", "gpu_temperature.csv",
                                        "cpu_energy_raw.txt"};
    for (size_t i = 0; i < 3; i++) {
        struct fixture fixture;
        begin(&fixture);
        fixture_write(&fixture, HURT, names[i], NULL);
        end(&fixture, "value_missing");
    }
}

static void no_power_trace_is_no_energy(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    fixture_write(&fixture, HURT, "gpu_power.csv", NULL);
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, HURT, "value_missing");
    assert_false(dataset.items[HURT].gpu.energy_j.valid);
    /* What was recorded stays to be seen. */
    assert_true(dataset_energy(&dataset.items[HURT]).valid);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void values_that_are_not_there(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    char from[60], to[60];
    AUTO_FREE char *text = fixture_read(&fixture, HURT, "gpu_utilization.csv");
    snprintf(from, sizeof from, "%lld,", (long long)fixture_start_s(HURT) + 30);
    char *figure = strstr(text, from) + strlen(from);
    size_t length = strcspn(figure, ",");
    snprintf(from, sizeof from, "%lld,%.*s,", (long long)fixture_start_s(HURT) + 30, (int)length,
             figure);
    snprintf(to, sizeof to, "%lld,N/A,", (long long)fixture_start_s(HURT) + 30);
    replace(&fixture, "gpu_utilization.csv", from, to);
    end(&fixture, "value_missing");
}

static void values_that_cannot_be(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    replace(&fixture, "gpu_temperature.csv", ",55,N/A\n", ",5500,N/A\n");
    end(&fixture, "value_impossible");
}

static void time_that_goes_backwards(void **state)
{
    (void)state;
    struct fixture fixture;
    char from[40], to[40];
    begin(&fixture);
    snprintf(from, sizeof from, "%lld,", (long long)fixture_start_s(HURT) + 30);
    snprintf(to, sizeof to, "%lld,", (long long)fixture_start_s(HURT) + 25);
    replace(&fixture, "gpu_temperature.csv", from, to);
    end(&fixture, "time_backwards");
}

static void samples_of_another_time(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    AUTO_TEXT struct text power = {0}, busy = {0};
    text_add(&power, "timestamp,power_draw_w\n");
    text_add(&busy, "timestamp,gpu_util_percent,memory_util_percent\n");
    AUTO_FREE char *old = fixture_read(&fixture, HURT, "gpu_power.csv");
    AUTO_FREE char *old_busy = fixture_read(&fixture, HURT, "gpu_utilization.csv");
    char *rest = NULL, *line;
    strtok_r(old, "\n", &rest);
    while ((line = strtok_r(NULL, "\n", &rest)))
        text_addf(&power, "%lld%s\n", atoll(line) - 5400, strchr(line, ','));
    rest = NULL;
    strtok_r(old_busy, "\n", &rest);
    while ((line = strtok_r(NULL, "\n", &rest)))
        text_addf(&busy, "%lld%s\n", atoll(line) - 5400, strchr(line, ','));
    fixture_write(&fixture, HURT, "gpu_power.csv", text_get(&power));
    fixture_write(&fixture, HURT, "gpu_utilization.csv", text_get(&busy));
    end(&fixture, "duration_differs");
}

static void a_duration_that_the_trace_does_not_have(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    AUTO_FREE char *changed =
        replaced(fixture.rows.data, "demo_net_003,2025-11-18T18:01:00.000000,demo,net,True,60,",
                 "demo_net_003,2025-11-18T18:01:00.000000,demo,net,True,90,");
    text_clear(&fixture.rows);
    text_add(&fixture.rows, changed);
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, HURT, "duration_differs time_unlike");
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void an_experiment_json_that_is_cut_off(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    fixture_write(&fixture, HURT, "experiment.json",
                  "{\"experiment_id\": \"demo_net_003\", \"timest");
    end(&fixture, "file_damaged");
}

static void pythons_nan_is_no_damage(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    replace(&fixture, "experiment.json", "\"loss\": 0.25",
            "\"loss\": NaN, \"say \\\"NaN\\\"\": -Infinity");
    end(&fixture, NULL);
}

static void a_row_that_is_cut_off(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    char *row = strstr(fixture.rows.data, "demo_net_005"), *cell = row;
    for (int i = 0; i < 9; i++)
        cell = strchr(cell, ',') + 1;
    cell[-1] = '\0';
    fixture.rows.length = (size_t)(cell - 1 - fixture.rows.data);
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, 4, "file_damaged");
    assert_int_equal(dataset.problem_count, 1);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* What others have and its own samples tell. */
static void a_row_whose_last_cell_is_empty(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    char *cell = strrchr(fixture.rows.data, ',') + 1;
    cell[0] = '\0';
    fixture.rows.length = (size_t)(cell - fixture.rows.data);
    text_add(&fixture.rows, "\r\n");
    fixture_judge(&fixture, &dataset);
    fixture_expect_alone(&dataset, 4, "value_missing");
    assert_int_equal(dataset.items[4].verdict, VERDICT_UNVERIFIED);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static struct dataset_experiment named(const char *id, bool parallel)
{
    return (struct dataset_experiment){.id = (char *)(uintptr_t)id,
                                       .repo = (char *)(uintptr_t) "a_b",
                                       .model = (char *)(uintptr_t) "c",
                                       .parallel = parallel};
}

static void ids_have_a_form(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        bool parallel, well_formed;
    } rows[] = {{"a_b_c_001", false, true},           {"a_b_c_1234", false, true},
                {"a_b_c_001_parallel", true, true},   {"a_b_c_01", false, false},
                {"a_b_c_001_parallel", false, false}, {"a_b_c_001", true, false},
                {"a_b_d_001", false, false},          {"a_b_c_001x", false, false},
                {"../a_b_c_001", false, false},       {"", false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dataset_experiment experiment = named(rows[i].id, rows[i].parallel);
        if (audit_id_well_formed(&experiment) != rows[i].well_formed)
            fail_msg("%s", rows[i].id);
    }
    /* As the program and the study's scripts write names that no file can have; and where the names
     * are unknown. */
    struct dataset_experiment safe = named("a_b_c_001", false), unknown = named("x_001", false);
    safe.repo = (char *)(uintptr_t) "a/b";
    unknown.repo = unknown.model = (char *)(uintptr_t) "";
    assert_true(audit_id_well_formed(&safe));
    assert_true(audit_id_well_formed(&unknown));
    unknown.id = (char *)(uintptr_t) "001";
    assert_false(audit_id_well_formed(&unknown));
}

/* A file that grew to 2 GB (mostly a hole): read through, with no more memory than for a small
 * one. */
static void two_gigabytes_need_no_memory(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct rusage before, after;
    char path[256];
    begin(&fixture);
    fixture_path(&fixture, HURT, "gpu_temperature.csv", path);
    if (truncate(path, (off_t)2 << 30) != 0) {
        fixture_end(&fixture);
        print_message("no file of 2 GB can be made here\n");
        skip();
    }
    getrusage(RUSAGE_SELF, &before);
    fixture_judge(&fixture, &dataset);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 32 * 1024);
    fixture_expect_alone(&dataset, HURT, "file_damaged");
    assert_true(dataset.items[HURT].gpu.temperature_max_c.value == 59);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void a_row_with_impossible_figures_is_safe_but_unverified(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct err err;
    struct account account;
    struct audit_tables tables;
    begin(&fixture);
    replace(&fixture, "gpu_temperature.csv", ",55,N/A\n", ",5500,N/A\n");
    fixture_judge(&fixture, &dataset);
    assert_true(account_make(&dataset, NULL, &account, &err));
    assert_true(audit_tables_make(&dataset, &account, 0, &tables, &err));
    const char *safe = text_get(&tables.safe);
    size_t lines = 0;
    for (const char *at = safe; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1 + 5);
    assert_int_equal(tables.safe_rows, 5);
    assert_int_equal(tables.affected_rows, 0);
    const char *row = strstr(safe, "\ndemo_net_003,");
    assert_non_null(row);
    const char *verdict = strstr(row, ",unverified,");
    assert_true(verdict && verdict < strchr(row + 1, '\n'));
    assert_non_null(strstr(
        safe, "\ndemo_net_004,2025-11-18T19:01:00.000000,demo,net,True,60,0,32,2,91.5,0.25,"));
    assert_non_null(
        strstr(safe, "energy_gpu_total_joules,verdict,consistency,audit_gpu_energy_joules,"));
    assert_non_null(
        strstr(text_get(&tables.affected),
               "energy_gpu_total_joules,verdict,consistency,reason,audit_gpu_energy_joules,"));
    audit_tables_fini(&tables);
    account_fini(&account);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_may_end_as_on_windows),
        cmocka_unit_test(figures_may_carry_their_unit),
        cmocka_unit_test(commas_in_figures_are_read),
        cmocka_unit_test(a_trace_that_is_cut_off),
        cmocka_unit_test(a_cut_off_figure_is_not_believed),
        cmocka_unit_test(an_empty_file),
        cmocka_unit_test(a_header_and_no_samples),
        cmocka_unit_test(lines_that_are_no_samples),
        cmocka_unit_test(a_file_that_is_missing),
        cmocka_unit_test(no_power_trace_is_no_energy),
        cmocka_unit_test(values_that_are_not_there),
        cmocka_unit_test(values_that_cannot_be),
        cmocka_unit_test(time_that_goes_backwards),
        cmocka_unit_test(samples_of_another_time),
        cmocka_unit_test(a_duration_that_the_trace_does_not_have),
        cmocka_unit_test(an_experiment_json_that_is_cut_off),
        cmocka_unit_test(pythons_nan_is_no_damage),
        cmocka_unit_test(a_row_that_is_cut_off),
        cmocka_unit_test(a_row_whose_last_cell_is_empty),
        cmocka_unit_test(ids_have_a_form),
        cmocka_unit_test(two_gigabytes_need_no_memory),
        cmocka_unit_test(a_row_with_impossible_figures_is_safe_but_unverified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
