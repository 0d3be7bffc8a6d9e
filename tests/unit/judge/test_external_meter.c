/* Files of meters, and energies beside theirs, whose figures follow by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "results/judge/external_meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t begin_s = 1763884800; /* 2025-11-23T08:00:00Z */

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static struct meter_csv read_good(const char *text)
{
    struct meter_csv csv;
    struct err err = {0};
    if (!meter_csv_parse("m.csv", text, strlen(text), &csv, &err))
        fail_msg("%s", err.text);
    return csv;
}

static void times_may_be_seconds_or_iso_and_columns_in_any_order(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "time,watts\n1763884800.25,100\n1763884801.25,200\n",
        "\xef\xbb\xbfwatts,note,time\r\n100,a,2025-11-23T08:00:00.25Z\r\n\r\n200,b,2025-11-23T08:00:01.25Z\r\n",
        "time , watts\n 2025-11-23 16:00:00.25+08:00 , 100 \n2025-11-23T02:30:01.250-0530,200",
        "time,watts\n1763884800.250000000,1e2\n1.76388480125e9,2e2\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct meter_csv csv = read_good(texts[i]);
        assert_int_equal(csv.count, 2);
        assert_int_equal(csv.items[0].t_ns, begin_s * NS_PER_S + NS_PER_S / 4);
        assert_true(llabs(csv.items[1].t_ns - begin_s * NS_PER_S - 5 * NS_PER_S / 4) < 1000);
        near(csv.items[0].power_w, 100, 0);
        near(csv.items[1].energy_j, 150, 1e-4);
        near(csv.items[1].variance_j2, 100.0 * 100 / 12, 0.01);
        meter_csv_fini(&csv);
    }
}

static void what_is_wrong_is_told_with_its_line_and_what_to_write(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong, *fix;
    } cases[] = {
        {"", "m.csv: it is empty", "time,watts"},
        {"1763884800,100\n", "m.csv:1: no column is called time", "let the first line name the columns"},
        {"time,power\n1763884800,100\n", "m.csv:1: no column is called watts", "time,watts"},
        {"time,watts,time\n", "m.csv:1: two columns are called time", "rename"},
        {"time,watts\n1763884800\n", "m.csv:2: the row has 1 cells", "complete or delete"},
        {"time,watts\nnoon,100\n", "m.csv:2: 'noon' is not a time", "seconds since 1970"},
        {"time,watts\n1763884800123,100\n", "m.csv:2: '1763884800123' is not a time", "seconds since 1970"},
        {"time,watts\n2025-02-31T08:00:00Z,100\n", "m.csv:2: '2025-02-31T08:00:00Z' is not a time", "2026-"},
        {"time,watts\n2025-11-23T08:00:00,100\n", "does not say its zone", "write Z (UTC) or its offset"},
        {"time,watts\n1763884800,100\n1763884801,\n", "m.csv:3: '' is not a power", "123.4"},
        {"time,watts\n1763884800,nan\n", "m.csv:2: 'nan' is not a power", "123.4"},
        {"time,watts\n1763884800,-5\n", "m.csv:2: -5 W cannot be", "check the unit and the sign"},
        {"time,watts\n1763884800,1e9\n", "m.csv:2: 1e9 W cannot be", "check the unit"},
        {"time,watts\n1763884801,100\n1763884800,100\n", "m.csv:3: its time is not after", "sort the rows"},
        {"time,watts\n1763884800,100\n1763884800,100\n", "m.csv:3: its time is not after", "sort the rows"},
        {"time,watts\n1763884800,100\n", "m.csv: it has 1 readings", "needs 2"},
        {"time,watts\n1763884800,\"100\n", "m.csv: line 2", ""},
        {"time,watts\n\033[31m,100\n", "m.csv:2: '?[31m' is not a time", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct meter_csv csv;
        struct err err = {0};
        assert_false(meter_csv_parse("m.csv", cases[i].text, strlen(cases[i].text), &csv, &err));
        if (!strstr(err.text, cases[i].wrong) || !strstr(err.text, cases[i].fix))
            fail_msg("\"%s\" does not say \"%s\" and \"%s\"", err.text, cases[i].wrong, cases[i].fix);
        assert_null(csv.items);
    }
}

/* 100 W until 1 s, to 200 W at 2 s, as much until 20 s; no reading from 10 to 20 s. From 0.5 to 1.5 s: 50 J, and 100 W to 150 W
 * for half a second: 62.5 J; half of the step's (100 J)²/12. */
static void the_energy_of_a_window_is_that_of_trapezoids(void **state)
{
    (void)state;
    struct text text = {0};
    const char *why;
    double u_j;
    text_add(&text, "time,watts\n");
    for (int i = 0; i <= 10; i++)
        text_addf(&text, "%lld,%d\n", (long long)begin_s + i, i < 2 ? 100 : 200);
    text_addf(&text, "%lld,200\n%lld,200\n", (long long)begin_s + 20, (long long)begin_s + 21);
    struct meter_csv csv = read_good(text_get(&text));
    int64_t begin_ns = begin_s * NS_PER_S, half_ns = NS_PER_S / 2;
    struct reading energy = meter_csv_energy(&csv, begin_ns + half_ns, begin_ns + 3 * half_ns, &u_j, &why);
    assert_true(energy.valid && !why);
    near(energy.value, 112.5, 1e-9);
    near(u_j, sqrt(0.5 * 100 * 100 / 12), 1e-9);
    assert_false(meter_csv_energy(&csv, begin_ns - 1, begin_ns + half_ns, &u_j, &why).valid);
    assert_string_equal(why, "it began before the meter's first reading");
    assert_false(meter_csv_energy(&csv, begin_ns, begin_ns + 22 * NS_PER_S, &u_j, &why).valid);
    assert_string_equal(why, "it ended after the meter's last reading");
    assert_false(meter_csv_energy(&csv, begin_ns + 9 * NS_PER_S, begin_ns + 11 * NS_PER_S, &u_j, &why).valid);
    assert_string_equal(why, "the meter was not read for over 5 s meanwhile");
    assert_true(meter_csv_energy(&csv, begin_ns + 20 * NS_PER_S, begin_ns + 21 * NS_PER_S, &u_j, &why).valid);
    assert_true(meter_csv_energy(&csv, begin_ns, begin_ns + 10 * NS_PER_S, &u_j, &why).valid);
    assert_false(meter_csv_energy(&csv, begin_ns, begin_ns, &u_j, &why).valid);
    meter_csv_fini(&csv);
    text_fini(&text);
}

enum { EXPERIMENTS = 4 };
static struct dataset_board boards[EXPERIMENTS][2];
static struct dataset_experiment items[EXPERIMENTS];
static struct dataset_folder folder = {.path = (char *)(intptr_t) "run"};
static const struct dataset dataset = {.items = items, .count = EXPERIMENTS, .folders = &folder, .folder_count = 1};

/* Four experiments of 10 s, 20 s apart; a meter of 100, 200, 300 and 400 W from 5 s before to 5 s behind each. */
static struct meter_csv plant(const double gpu_j[EXPERIMENTS])
{
    struct text text = {0};
    text_add(&text, "time,watts\n");
    for (int i = 0; i < EXPERIMENTS; i++) {
        boards[i][0] = (struct dataset_board){
            .uuid = (char *)(intptr_t) "GPU-aa11", .energy_j = gpu_j[i], .half_width_j = {0.0196 * gpu_j[i], true}};
        items[i] = (struct dataset_experiment){.id = (char *)(intptr_t) "one",
                                               .has_start = true,
                                               .start_utc_ns = (begin_s + 5 + 20 * i) * NS_PER_S,
                                               .duration_s = {10, true},
                                               .boards = boards[i],
                                               .board_count = 1};
        items[i].gpu.energy_j = (struct reading){gpu_j[i], true};
        items[i].gpu.half_width_j = boards[i][0].half_width_j;
        for (int k = 0; k < 20; k++)
            text_addf(&text, "%lld,%d\n", (long long)begin_s + 20 * i + k, 100 * (i + 1));
    }
    struct meter_csv csv = read_good(text_get(&text));
    text_fini(&text);
    return csv;
}

/* The meter has 1000, 2000, 3000, 4000 J. The sensor shows 1.02 of it, twice 10 J more and twice 10 J less: 10200 J in all, so 1.02;
 * Σ² = 400, u = √(4·400/3)/10200 = 0.226 %; read-out 1 %; accuracy 1 %/√3 = 0.577 %; together 1.177 %. */
static void a_meter_of_a_gpu_tells_the_gain_of_its_sensor(void **state)
{
    (void)state;
    struct meter_csv csv = plant((double[]){1030, 2030, 3050, 4090});
    struct external_meter meter;
    struct err err = {0};
    struct external_meter_options options = {"m.csv", "GPU-aa", {0.01, true}};
    assert_true(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_string_equal(meter.uuid, "GPU-aa11");
    assert_int_equal(meter.compared, 4);
    near(meter.rows[2].meter_j.value, 3000, 1e-6);
    assert_true(meter.has_gain && !meter.has_fit && meter.sum.complete);
    near(meter.gain, 1.02, 1e-12);
    double scatter = sqrt(4 * 400.0 / 3) / 10200, u = sqrt(scatter * scatter + 0.01 * 0.01 + 0.0001 / 3);
    near(meter.sum.u, u, 1e-9);
    near(meter.sum.df, pow(u / scatter, 4) * 3, 1);
    external_meter_fini(&meter);
    /* Without its accuracy nobody knows how far off that is. */
    options.accuracy.valid = false;
    assert_true(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_true(meter.has_gain && !meter.sum.complete);
    external_meter_fini(&meter);
    boards[1][0].half_width_j.valid = false;
    options.accuracy.valid = true;
    assert_true(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_false(meter.sum.complete);
    external_meter_fini(&meter);
    meter_csv_fini(&csv);
}

/* The GPUs drew 50, 130, 210 and 290 W: the meter is 37.5 W + 1.25 times that. */
static void a_meter_of_the_machine_tells_a_slope_and_no_gain(void **state)
{
    (void)state;
    struct meter_csv csv = plant((double[]){500, 1300, 2100, 2900});
    struct external_meter meter;
    struct err err = {0};
    struct external_meter_options options = {"m.csv", "machine", {0, false}};
    assert_true(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_true(meter.has_fit && !meter.has_gain);
    near(meter.slope, 1.25, 1e-9);
    near(meter.base_w, 37.5, 1e-6);
    near(meter.slope_half, 0, 1e-6);
    external_meter_fini(&meter);
    /* The second overlaps the third: neither is the machine's alone, and two are no slope. Of the GPU's own meter both count. */
    items[1].duration_s.value = 25;
    assert_true(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_int_equal(meter.compared, 2);
    assert_non_null(strstr(meter.rows[1].why, "at the same time"));
    assert_non_null(strstr(meter.rows[2].why, "at the same time"));
    assert_false(meter.has_fit);
    external_meter_fini(&meter);
    meter_csv_fini(&csv);
}

static void a_gpu_that_is_not_there_or_not_the_only_one_is_refused(void **state)
{
    (void)state;
    struct meter_csv csv = plant((double[]){1000, 2000, 3000, 4000});
    struct external_meter meter;
    struct err err = {0};
    struct external_meter_options options = {"m.csv", "GPU-bb", {0, false}};
    assert_false(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_non_null(strstr(err.text, "no experiment was measured on a GPU GPU-bb"));
    external_meter_fini(&meter);
    boards[2][0].uuid = (char *)(intptr_t) "GPU-aa22";
    options.of = "GPU-aa";
    assert_false(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_non_null(strstr(err.text, "write more of it"));
    external_meter_fini(&meter);
    options.of = "GPU-aa1";
    assert_true(external_meter_compare(&dataset, &csv, &options, &meter, &err));
    assert_int_equal(meter.count, 3);
    external_meter_fini(&meter);
    meter_csv_fini(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_may_be_seconds_or_iso_and_columns_in_any_order),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line_and_what_to_write),
        cmocka_unit_test(the_energy_of_a_window_is_that_of_trapezoids),
        cmocka_unit_test(a_meter_of_a_gpu_tells_the_gain_of_its_sensor),
        cmocka_unit_test(a_meter_of_the_machine_tells_a_slope_and_no_gain),
        cmocka_unit_test(a_gpu_that_is_not_there_or_not_the_only_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
