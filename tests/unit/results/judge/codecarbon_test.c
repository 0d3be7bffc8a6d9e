#include "results/judge/codecarbon.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "one_folder.h"

#include <math.h>

#define HEADER                                                                           \
    "timestamp,project_name,run_id,duration,emissions,cpu_energy,gpu_energy,ram_energy," \
    "energy_consumed,cpu_model,gpu_count,gpu_model\n"
#define CELLS(run, duration, cpu, gpu, ram, all)                                      \
    "2024-01-02T03:04:05,zoo," run "," duration ",0.002," cpu "," gpu "," ram "," all \
    ",Xeon,1,1 x NVIDIA H100\n"

static struct err err;

static bool read_rows(struct dataset *dataset, const char *bytes)
{
    err = (struct err){0};
    one_folder_make(dataset, DATASET_CODECARBON);
    return codecarbon_take(dataset, 0, bytes, strlen(bytes), &err);
}

static void assert_near(struct reading reading, double expected)
{
    assert_true(reading.valid);
    if (fabs(reading.value - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g is not %.12g", reading.value, expected);
}

/* 1 kWh is 3.6 MJ. */
static void kilowatt_hours_become_joules(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(
        read_rows(&dataset, HEADER CELLS("r1", "100", "0.001", "0.01", "0.0005", "0.0115")));
    const struct dataset_experiment *row = &dataset.items[0];
    assert_int_equal(dataset.count, 1);
    assert_string_equal(row->id, "r1");
    assert_string_equal(row->repo, "zoo");
    assert_near(row->duration_s, 100);
    assert_near(row->gpu.energy_j, 36000);
    assert_near(row->gpu.power_mean_w, 360);
    assert_near(row->cpu_j, 3600);
    assert_near(row->dram_j, 1800);
    assert_int_equal(row->evidence_count, 0);
    assert_string_equal(row->facts[FACT_GPU_MODEL], "1 x NVIDIA H100");
    assert_string_equal(row->facts[FACT_CPU], "Xeon");
    assert_true(row->has_end);
    /* date -ud 2024-01-02T03:04:05 +%s */
    assert_int_equal(row->end_local_ns, INT64_C(1704164645) * 1000000000);
    dataset_fini(&dataset);
}

static void parts_that_were_not_measured_are_absent_and_not_zero(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(read_rows(&dataset,
                          "run_id,duration,cpu_energy,gpu_energy,ram_energy,energy_consumed,"
                          "cpu_model,gpu_count\n"
                          "a,1,0,0,0.1,0.1,,\n"
                          "b,1,0,0,0.1,0.1,Xeon,2\n"
                          "c,1,0,0,0.1,0.1,0,0.0\n"));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(dataset.items[i].cpu_j.valid, i == 1);
        assert_int_equal(dataset.items[i].gpu.energy_j.valid, i == 1);
        assert_true(dataset.items[i].dram_j.valid);
    }
    dataset_fini(&dataset);
}

static void the_last_row_of_a_flushed_run_counts(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(read_rows(&dataset, HEADER CELLS("r1", "10", "0", "0.1", "0", "0.1")
                                        CELLS("r2", "20", "0", "0.2", "0", "0.2")
                                            CELLS("r1", "30", "0", "0.3", "0", "0.3")
                                                CELLS("", "40", "0", "0.4", "0", "0.4")
                                                    CELLS("", "50", "0", "0.5", "0", "0.5")));
    assert_int_equal(dataset.count, 4);
    assert_int_equal(dataset.folders[0].summary_rows, 5);
    assert_string_equal(dataset.items[0].id, "r2");
    assert_string_equal(dataset.items[1].id, "r1");
    assert_near(dataset.items[1].duration_s, 30);
    assert_string_equal(dataset.items[2].id, "line 5");
    assert_string_equal(dataset.items[3].id, "line 6");
    dataset_fini(&dataset);
}

static void figures_that_cannot_be_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *row, *kind;
    } rows[] = {
        {HEADER CELLS("r", "-1", "0", "0.1", "0", "0.1"), "value_missing"},
        {HEADER CELLS("r", "-1", "0", "0.1", "0", "0.1"), "value_impossible"},
        {HEADER CELLS("r", "x", "0", "0.1", "0", "0.1"), "value_impossible"},
        {HEADER CELLS("r", "1", "0", "-0.1", "0", "-0.1"), "value_impossible"},
        {HEADER CELLS("r", "1", "0", "0.1", "0", ""), "value_missing"},
        {HEADER CELLS("r", "1", "0.1", "0.1", "0", "0.1"), "values_differ"},
        {HEADER CELLS("r", "1", "0", "0.1", "0", "0.1") "2024,zoo\n", "file_damaged"},
        {"run_id,duration,energy_consumed,timestamp\nr,1,0.1,noon\n", "value_impossible"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dataset dataset = {0};
        assert_true(read_rows(&dataset, rows[i].row));
        if (one_folder_count(&dataset, rows[i].kind) == 0)
            fail_msg("row %zu has no %s", i, rows[i].kind);
        dataset_fini(&dataset);
    }
}

/* CodeCarbon leaves empty cells out of rows that it appends. */
static void cells_behind_the_energies_of_a_shifted_row_are_not_read(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    assert_true(
        read_rows(&dataset, HEADER "2024-01-02T03:04:05,zoo,r,9,0.1,0,0.1,0,0.1,1,model\n"));
    assert_near(dataset.items[0].duration_s, 9);
    assert_null(dataset.items[0].facts[FACT_CPU]);
    assert_null(dataset.items[0].facts[FACT_GPU_MODEL]);
    dataset_fini(&dataset);
}

static void other_tables_are_not_codecarbons(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "duration,energy_consumed\n1,2\n",
                                        "run_id,energy_consumed\n1,2\n", "run_id,duration\n1,2\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dataset dataset = {0};
        assert_false(read_rows(&dataset, texts[i]));
        assert_non_null(strstr(err.text, "is not CodeCarbon's"));
        dataset_fini(&dataset);
    }
    struct dataset dataset = {0};
    assert_true(read_rows(&dataset, "experiment_id,duration,energy_consumed\nv1,2,3\n"));
    assert_string_equal(dataset.items[0].id, "v1");
    dataset_fini(&dataset);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kilowatt_hours_become_joules),
        cmocka_unit_test(parts_that_were_not_measured_are_absent_and_not_zero),
        cmocka_unit_test(the_last_row_of_a_flushed_run_counts),
        cmocka_unit_test(figures_that_cannot_be_are_named),
        cmocka_unit_test(cells_behind_the_energies_of_a_shifted_row_are_not_read),
        cmocka_unit_test(other_tables_are_not_codecarbons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
