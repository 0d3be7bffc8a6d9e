#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HURT = 2 };

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture);
    for (int i = 0; i < 5; i++)
        fixture_add(fixture, &(struct fixture_run){.watts = 200 + i});
}

static void a_folder_that_is_missing(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    char from[300], to[300];
    begin(&fixture);
    snprintf(from, sizeof from, "%s/%s", fixture.path, fixture.ids[HURT]);
    snprintf(to, sizeof to, "%s/.gone", fixture.path);
    assert_int_equal(rename(from, to), 0);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.folders[0].without_folder, 1);
    fixture_expect_alone(&dataset, HURT, "value_missing");
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void a_folder_without_a_row(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    char *row = strstr(fixture.rows.data, "demo_net_005");
    *row = '\0';
    fixture.rows.length = (size_t)(row - fixture.rows.data);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.folders[0].without_row, 1);
    assert_int_equal(dataset.folders[0].summary_rows, 4);
    assert_int_equal(dataset.count, 5);
    assert_string_equal(dataset.items[4].id, "demo_net_005");
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void without_a_summary_the_folders_speak(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    text_clear(&fixture.rows);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.count, 5);
    assert_int_equal(dataset.problem_count, 1);
    assert_true(dataset.items[0].success && dataset.items[0].duration_s.value == 60);
    fixture_expect_alone(&dataset, SIZE_MAX, NULL);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

static void an_id_that_stands_twice(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    begin(&fixture);
    AUTO_FREE char *row = mem_strdup(strstr(fixture.rows.data, "demo_net_005"));
    text_add(&fixture.rows, row);
    fixture_judge(&fixture, &dataset);
    assert_int_equal(dataset.count, 6);
    for (size_t i = 0; i < 6; i++)
        fixture_expect(&dataset, i, i >= 4 ? "duplicate_id copied_run" : NULL);
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

/* Ids are names of folders: one that leads elsewhere is not followed, nor is a link. */
static void nothing_outside_of_the_folder_is_read(void **state)
{
    (void)state;
    struct fixture fixture, other;
    struct dataset dataset;
    char path[256], target[256];
    begin(&other);
    begin(&fixture);
    fixture_path(&fixture, HURT, "gpu_temperature.csv", path);
    fixture_path(&other, HURT, "gpu_temperature.csv", target);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(target, path), 0);
    const char *name = strrchr(other.path, '/') + 1;
    text_addf(
        &fixture.rows,
        "../%s/"
        "demo_net_001,2025-11-19T18:01:00.000000,demo,net,True,60,0,32,2,91.5,0.25,1,1,1,1\r\n",
        name);
    fixture_judge(&fixture, &dataset);
    fixture_expect(&dataset, HURT, "value_missing");
    assert_int_equal(dataset.count, 6);
    assert_int_equal(dataset.items[5].gpu.samples, 0);
    assert_int_equal(dataset.folders[0].without_folder, 1);
    dataset_fini(&dataset);
    fixture_end(&fixture);
    fixture_end(&other);
}

static void what_is_no_results_folder_is_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset = {0};
    struct err err;
    fixture_begin(&fixture);
    assert_false(dataset_read(&dataset, fixture.path, &err));
    assert_non_null(strstr(err.text, "neither run.db nor summary.csv"));
    dataset_fini(&dataset);
    fixture_end(&fixture);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_that_is_missing),
        cmocka_unit_test(a_folder_without_a_row),
        cmocka_unit_test(without_a_summary_the_folders_speak),
        cmocka_unit_test(what_is_no_results_folder_is_refused),
        cmocka_unit_test(nothing_outside_of_the_folder_is_read),
        cmocka_unit_test(an_id_that_stands_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
