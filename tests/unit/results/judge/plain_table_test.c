#include "results/judge/plain_table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "one_folder.h"

#include <math.h>
#include <string.h>

static struct err err;

static bool read_table(struct dataset *dataset, const char *bytes)
{
    AUTO_TEXT struct text text = {0};
    text_add(&text, bytes);
    err = (struct err){0};
    one_folder_make(dataset, DATASET_TABLE);
    return plain_table_parse(dataset, 0, "t.csv", &text, &err);
}

static void assert_near(struct reading reading, double expected)
{
    assert_true(reading.valid);
    if (fabs(reading.value - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g is not %.12g", reading.value, expected);
}

static void columns_are_known_by_name_and_unit(void **state)
{
    (void)state;
    static const struct {
        const char *column;
        double time_s, energy_j; /* of a cell "2"; 0: it is neither */
    } rows[] = {
        {"time", 2, 0},
        {"Duration", 2, 0},
        {"seconds", 2, 0},
        {"Train time [ms]", 0.002, 0},
        {"elapsed_min", 120, 0},
        {"wall-clock (h)", 7200, 0},
        {"energy", 0, 2},
        {"Energy kWh", 0, 7.2e6},
        {"total_energy_wh", 0, 7200},
        {"gpu_energy_kJ", 0, 2000},
        {"delay_ms", 0, 0},  /* a unit, but not of a time that is known */
        {"energy_ms", 0, 0}, /* a unit of something else */
        {"time_spent", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dataset dataset = {0};
        AUTO_FREE char *text = mem_printf("accuracy,%s\n0.5,2\n", rows[i].column);
        if (!read_table(&dataset, text))
            fail_msg("%s: %s", rows[i].column, err.text);
        const struct dataset_experiment *experiment = &dataset.items[0];
        assert_int_equal(dataset.count, 1);
        assert_int_equal(experiment->duration_s.valid, rows[i].time_s > 0);
        assert_int_equal(experiment->gpu.energy_j.valid, rows[i].energy_j > 0);
        if (rows[i].time_s > 0)
            assert_near(experiment->duration_s, rows[i].time_s);
        else if (rows[i].energy_j > 0)
            assert_near(experiment->gpu.energy_j, rows[i].energy_j);
        else
            assert_string_equal(experiment->params[0].name, rows[i].column);
        dataset_fini(&dataset);
    }
}

static void a_row_is_an_experiment_with_parameters_and_metrics(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(read_table(&dataset, "id,model,project,lr,seed,val_acc,time_s,success\n"
                                     "a,net,zoo,0.1,7,0.75,10,yes\n"
                                     "b,net,zoo,0.2,8,,12,False\n"
                                     ",,,,,,,\n"
                                     "d,,,,,,1,TRUE\n"));
    assert_int_equal(dataset.count, 4);
    assert_true(dataset.items[3].success);
    const struct dataset_experiment *one = &dataset.items[0], *two = &dataset.items[1];
    assert_string_equal(one->id, "a");
    assert_string_equal(one->model, "net");
    assert_string_equal(one->repo, "zoo");
    assert_int_equal(one->line, 2);
    assert_int_equal(one->param_count, 2);
    assert_string_equal(one->params[0].name, "lr");
    assert_string_equal(one->params[1].name, "seed");
    assert_int_equal(one->metric_count, 1);
    assert_string_equal(one->metrics[0].name, "val_acc");
    assert_near(one->metrics[0].value, 0.75);
    assert_near(one->duration_s, 10);
    assert_true(one->has_success && one->success);
    assert_false(two->success);
    assert_int_equal(two->metric_count, 0);
    assert_string_equal(dataset.items[2].id, "line 4");
    assert_false(dataset.items[2].duration_s.valid);
    assert_int_equal(dataset.folders[0].summary_rows, 4);
    assert_non_null(strstr(dataset.folders[0].note, "without energy ("));
    dataset_fini(&dataset);
}

static void given_columns_go_before_names(void **state)
{
    (void)state;
    AUTO_STRV struct strv columns = {0};
    strv_add(&columns, "time=spent_ms");
    strv_add(&columns, "metric=lr");
    assert_true(plain_table_check_columns(&columns, NULL));
    struct dataset dataset = {.columns = &columns};
    assert_true(read_table(&dataset, "lr,spent_ms,duration\n0.1,500,9\n"));
    assert_near(dataset.items[0].duration_s, 0.5);
    assert_string_equal(dataset.items[0].metrics[0].name, "lr");
    assert_string_equal(dataset.items[0].params[0].name, "duration"); /* another one is given */
    dataset_fini(&dataset);
    dataset = (struct dataset){.columns = &columns};
    assert_false(read_table(&dataset, "spent_ms,acc\n1,2\n"));
    assert_string_equal(err.text, "it has no column for --columns metric=lr");
    dataset_fini(&dataset);
}

static void only_roles_with_a_column_can_be_given(void **state)
{
    (void)state;
    static const char *const wrong[] = {"time", "tim=x", "times=x", "=x", "", "TIME=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        AUTO_STRV struct strv columns = {0};
        strv_add(&columns, wrong[i]);
        err = (struct err){0};
        assert_false(plain_table_check_columns(&columns, &err));
        assert_non_null(strstr(err.text, "is not ROLE=COLUMN"));
    }
    assert_true(plain_table_check_columns(NULL, NULL));
}

static void tables_that_say_nothing_or_two_things_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"", "it is empty"},
        {"a,b\n1,2\n", "no column of it is known to be a time, an energy or a metric"},
        {"time,seconds\n1,2\n", "its columns time and seconds may both be the time"},
        {"{\"results\": []}", "it is not hyperfine's JSON"},
        {"{\"results\": [{\"times\": 1}]}", "it is not hyperfine's JSON"},
        {"{", "it is not hyperfine's JSON"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dataset dataset = {0};
        assert_false(read_table(&dataset, rows[i].text));
        if (!strstr(err.text, rows[i].reason))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].reason);
        dataset_fini(&dataset);
    }
}

static void a_row_with_other_cells_is_damaged(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(read_table(&dataset, "lr,time\n0.1,5\n0.2\n0.3,6,7\n"));
    assert_int_equal(dataset.count, 3);
    assert_int_equal(dataset.items[0].evidence_count, 0);
    assert_string_equal(dataset.items[1].evidence[0].text, "line 3 of t.csv has 1 cells of 2");
    assert_string_equal(dataset.items[2].evidence[0].text, "line 4 of t.csv has 3 cells of 2");
    assert_int_equal(one_folder_count(&dataset, "file_damaged"), 2);
    dataset_fini(&dataset);
}

static void each_time_of_hyperfine_is_a_run(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(read_table(&dataset,
                           " {\"results\": [{\"command\": \"sleep 1\", \"times\": [1.5, 2, \"x\"],"
                           " \"exit_codes\": [0, 3], \"parameters\": {\"n\": \"8\", \"m\": 1}}]}"));
    assert_int_equal(dataset.count, 3);
    assert_string_equal(dataset.items[1].id, "sleep 1 run 2");
    assert_string_equal(dataset.items[1].repo, "sleep 1");
    assert_near(dataset.items[0].duration_s, 1.5);
    assert_near(dataset.items[1].duration_s, 2);
    assert_false(dataset.items[2].duration_s.valid);
    assert_true(dataset.items[0].success);
    assert_false(dataset.items[1].success);
    assert_true(dataset.items[2].success); /* its exit code is not recorded */
    assert_int_equal(dataset.items[0].param_count, 1);
    assert_string_equal(dataset.items[0].params[0].name, "n");
    dataset_fini(&dataset);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_known_by_name_and_unit),
        cmocka_unit_test(a_row_is_an_experiment_with_parameters_and_metrics),
        cmocka_unit_test(given_columns_go_before_names),
        cmocka_unit_test(only_roles_with_a_column_can_be_given),
        cmocka_unit_test(tables_that_say_nothing_or_two_things_are_refused),
        cmocka_unit_test(a_row_with_other_cells_is_damaged),
        cmocka_unit_test(each_time_of_hyperfine_is_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
