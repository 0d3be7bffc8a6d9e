/* The table of what was measured: figures that were put in by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "session/command.h"
#include "session/energy_text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 4 };

struct sheet {
    struct energy_meters_figures devices[DEVICES_MAX];
    struct energy_meters_missing missing[DEVICES_MAX];
    struct measured measured;
    struct energy_meters_options options;
    struct energy_page page;
};

/* A minute without anything in it. */
static void begin(struct sheet *sheet)
{
    *sheet = (struct sheet){0};
    sheet->measured = (struct measured){
        .start_ns = 5 * NS_PER_S, .end_ns = 65 * NS_PER_S, .ready_ns = 5 * NS_PER_S};
    sheet->measured.result.devices = sheet->devices;
    sheet->measured.result.missing = sheet->missing;
    sheet->options.gpu_count = 1;
    sheet->page = (struct energy_page){.measured = &sheet->measured,
                                       .options = &sheet->options,
                                       .until = "until the command ended"};
}

static struct reading is(double value)
{
    return (struct reading){value, true};
}

/* 36 kJ are 0.01 kWh, and in a minute 600 W. */
static struct energy_meters_figures *add_gpu(struct sheet *sheet, const char *name)
{
    struct energy_meters_figures *figures = &sheet->devices[sheet->measured.result.device_count++];
    *figures = (struct energy_meters_figures){.scope = ENERGY_GPU, .name = name, .devices = 1};
    figures->window = (struct window_energy){.energy_j = is(36000),
                                             .half_width_j = is(3.14159),
                                             .aliasing_bound_j = is(0),
                                             .power_mean_w = is(600),
                                             .power_min_w = is(90.04),
                                             .power_max_w = is(699.96),
                                             .source = "nvml-counter",
                                             .covered_share = 1};
    figures->temperature_mean_c = is(50.4);
    figures->temperature_max_c = is(61);
    figures->utilisation_mean_percent = is(97);
    figures->utilisation_max_percent = is(100);
    figures->memory_peak_bytes = is(3.0 * (1 << 29));
    return figures;
}

static void add_package(struct sheet *sheet)
{
    struct energy_meters_figures *figures = &sheet->devices[sheet->measured.result.device_count++];
    *figures =
        (struct energy_meters_figures){.scope = ENERGY_PACKAGE, .name = "package-0", .devices = 1};
    figures->window = (struct window_energy){.energy_j = is(3000),
                                             .half_width_j = is(0.01),
                                             .aliasing_bound_j = is(0),
                                             .power_mean_w = is(50),
                                             .source = "rapl-perf",
                                             .covered_share = 1};
}

static void add_missing(struct sheet *sheet, enum energy_meters_scope scope, const char *name,
                        const char *reason)
{
    sheet->missing[sheet->measured.result.missing_count++] =
        (struct energy_meters_missing){scope, name, reason};
}

static void expect_text(const struct sheet *sheet, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    energy_text(&sheet->page, &text);
    assert_string_equal(text_get(&text), expected);
}

static void expect_part(const struct sheet *sheet, const char *part)
{
    AUTO_TEXT struct text text = {0};
    energy_text(&sheet->page, &text);
    if (!strstr(text_get(&text), part))
        fail_msg("'%s' is not in:\n%s", part, text_get(&text));
}

#define LAST_WORDS                                                                       \
    "  All the energy of the device, whoever used it. ± is 95 % and contains all but\n" \
    "  the sensor's gain, which is unknown: the vendor states none.\n"

static void each_device_has_its_energy_power_and_state(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    add_gpu(&sheet, "GPU 3");
    add_package(&sheet);
    expect_text(&sheet, "Energy of 60.000 s, until the command ended:\n"
                        "\n"
                        "         36.000 ± 0.003 kJ  GPU 3 (GPU board, nvml-counter)\n"
                        "                            10.0000 ± 0.0009 Wh, 600.0 W (90.0 to 700.0)\n"
                        "                            50 °C (most 61), 97 % busy (most 100), memory "
                        "at most 1.50 GiB\n"
                        "    3.000000 ± 0.000010 kJ  package-0 (CPU package, rapl-perf)\n"
                        "                            833.3333 ± 0.0028 mWh, 50.0 W\n"
                        "\n" LAST_WORDS);
}

static void what_is_unknown_is_no_zero(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    struct energy_meters_figures *gpu = add_gpu(&sheet, "GPU 0");
    *gpu = (struct energy_meters_figures){.scope = ENERGY_GPU, .name = "GPU 0", .devices = 1};
    gpu->window = (struct window_energy){.source = "none", .covered_share = 0.254};
    assert_false(energy_text_any(&sheet.measured));
    expect_text(
        &sheet,
        "Energy of 60.000 s, until the command ended:\n"
        "\n"
        "                   unknown  GPU 0 (GPU board): seen 25 % of the time, too little to tell\n"
        "\n"
        "  Not measured: CPU: its energy counters cannot be read\n");
}

static void what_a_load_in_step_may_hide_is_told_where_it_is_much_or_unknown(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    struct energy_meters_figures *gpu = add_gpu(&sheet, "GPU 0");
    gpu->window.aliasing_bound_j = is(9000);
    expect_part(
        &sheet,
        "  a load in step with its sensor may hide up to 9 kJ: tare calibrate may exclude that\n");
    gpu->window.aliasing_bound_j.valid = false;
    expect_part(&sheet, "  the most that a load in step with its sensor may hide is unknown: no "
                        "power limit stated\n");
}

static void a_half_width_above_a_fifth_of_the_energy_is_told_with_what_helps(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    struct window_energy *window = &add_gpu(&sheet, "GPU 0")->window;
    window->end_ns = 60 * NS_PER_S;
    window->half_width_j = is(7201);
    window->parts.j[WINDOW_PART_UNSEEN] = 7201 / 1.96;
    expect_part(&sheet, "\n                 36 ± 7 kJ  GPU 0 ");
    expect_part(&sheet, "  ± is above 20 % of the energy: run 'tare calibrate'\n");
    window->parts = (struct window_parts){.j[WINDOW_PART_INTERPOLATION] = 7201 / 1.96};
    expect_part(&sheet, "  ± is above 20 % of the energy: measure a longer window\n");
}

static void a_sum_of_two_is_told_and_one_alone_is_not(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    add_gpu(&sheet, "GPU 0");
    add_gpu(&sheet, "GPU 1");
    struct energy_meters_figures *sum = &sheet.measured.result.sums[ENERGY_GPU];
    *sum = (struct energy_meters_figures){.scope = ENERGY_GPU, .devices = 2};
    sum->window = (struct window_energy){.energy_j = is(72000),
                                         .half_width_j = is(4.443),
                                         .aliasing_bound_j = is(0),
                                         .power_mean_w = is(1200),
                                         .source = "nvml-counter"};
    expect_part(&sheet, "\n         72.000 ± 0.004 kJ  all GPUs\n"
                        "                            20.0000 ± 0.0012 Wh, 1200.0 W\n");
}

static void what_is_missing_for_one_reason_is_told_once(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    sheet.options.gpu_count = 3;
    add_missing(&sheet, ENERGY_GPU, "GPU 0", "no driver");
    add_missing(&sheet, ENERGY_GPU, "GPU 1", "no driver");
    add_missing(&sheet, ENERGY_GPU, "GPU 2", "it is lost");
    add_missing(&sheet, ENERGY_PLATFORM, "psys", "not wanted");
    AUTO_FREE char *missing = energy_text_missing(&sheet.page);
    assert_string_equal(
        missing,
        "GPU 0, GPU 1: no driver; GPU 2: it is lost; CPU: its energy counters cannot be read");
}

static void nothing_is_missing_where_all_is_measured(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    add_gpu(&sheet, "GPU 0");
    add_package(&sheet);
    assert_null(energy_text_missing(&sheet.page));
    sheet.options.gpu_count = 0;
    AUTO_FREE char *missing = energy_text_missing(&sheet.page);
    assert_string_equal(missing, "GPU: no NVIDIA GPU is seen here");
}

static void the_first_moments_are_told_when_the_meters_came_late(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    add_gpu(&sheet, "GPU 0");
    sheet.devices[0].window.covered_share = 0.97;
    sheet.measured.ready_ns = sheet.measured.start_ns + 1250 * NS_PER_MS;
    sheet.measured.unanswered = 2;
    expect_part(&sheet, "\n  The meters were ready 1.25 s after the start: ");
    expect_part(&sheet, "\n  2 readings of the last moment did not come in time.\n");
    expect_part(&sheet, " seen by its sensor 97 % of the time, the rest is estimated\n");
}

static void the_platform_alone_is_nothing_measured(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    add_gpu(&sheet, "psys")->scope = ENERGY_PLATFORM;
    assert_false(energy_text_any(&sheet.measured));
    sheet.devices[0].scope = ENERGY_DRAM;
    assert_true(energy_text_any(&sheet.measured));
}

static void the_json_has_the_two_moments_and_nothing_of_a_job(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    add_gpu(&sheet, "GPU 0");
    strv_add(&sheet.measured.notes, "GPU 0: nothing was read");
    json_t *json = energy_text_json(&sheet.page);
    assert_int_equal(json_integer_value(json_object_get(json, "start_ns")), 5000000000);
    assert_int_equal(json_integer_value(json_object_get(json, "end_ns")), 65000000000);
    assert_true(json_real_value(json_object_get(json, "duration_seconds")) == 60);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "notes"), 0)),
                        "GPU 0: nothing was read");
    assert_string_equal(json_string_value(json_object_get(json, "not_measured")),
                        "CPU: its energy counters cannot be read");
    assert_true(json_is_array(json_object_get(json, "epochs")));
    assert_int_equal(json_array_size(json_object_get(json, "epochs")), 0);
    assert_null(json_object_get(json_object_get(json, "host"), "job_share"));
    assert_non_null(json_object_get(json_object_get(json, "host"), "busy_share"));
    const json_t *device = json_array_get(json_object_get(json, "devices"), 0);
    assert_true(json_real_value(json_object_get(device, "joules")) == 36000);
    json_decref(json);
    strv_fini(&sheet.measured.notes);
}

/* Of a GPU that draws 100 W and a package of 20 W: an energy for so many seconds. */
static struct energy_meters_epoch drawn(double seconds)
{
    struct energy_meters_epoch epoch = {0};
    epoch.of[ENERGY_GPU].window = (struct window_energy){
        .energy_j = is(100 * seconds), .half_width_j = is(0.125), .power_mean_w = is(100)};
    epoch.of[ENERGY_GPU].energy_mj = (int64_t)(100000 * seconds);
    epoch.of[ENERGY_PACKAGE].window = (struct window_energy){
        .energy_j = is(20 * seconds), .half_width_j = is(0.5), .power_mean_w = is(20)};
    epoch.of[ENERGY_PACKAGE].energy_mj = (int64_t)(20000 * seconds);
    return epoch;
}

static void epochs_are_rows_as_far_as_anything_is_known_of_them(void **state)
{
    (void)state;
    struct sheet sheet;
    struct epoch epochs[] = {
        {.part = EPOCH_STARTUP,
         .name = "epoch",
         .start_ns = 5 * NS_PER_S,
         .end_ns = 7 * NS_PER_S,
         .has_end = true},
        {.part = EPOCH_ITSELF,
         .name = "epoch",
         .label = "1",
         .start_ns = 7 * NS_PER_S,
         .end_ns = 65 * NS_PER_S,
         .has_end = true,
         .source = MARK_FIFO},
    };
    struct energy_meters_epoch figures[] = {drawn(2), drawn(58)};
    begin(&sheet);
    add_gpu(&sheet, "GPU 0");
    sheet.measured.epochs = epochs;
    sheet.measured.result.epochs = figures;
    sheet.measured.result.epoch_count = 2;
    figures[0].of[ENERGY_GPU].window.half_width_j.valid = false; /* bridged over a gap */
    figures[1].of[ENERGY_GPU].memory_peak_bytes = is(3 << 20);
    expect_part(&sheet,
                "\n\n"
                "   SECONDS           GPU J  GPU W         CPU J  CPU W  GPU MiB  EPOCH\n"
                "     2.000   200 ± unknown  100.0    40.0 ± 0.5   20.0        -  (startup)\n"
                "    58.000  5800.00 ± 0.12  100.0  1160.0 ± 0.5   20.0        3  epoch 1\n"
                "\n");
    json_t *json = energy_text_json(&sheet.page);
    json_t *parts = json_object_get(json, "epochs");
    assert_int_equal(json_array_size(parts), 2);
    AUTO_FREE char *first = json_dumps(json_array_get(parts, 0), JSON_COMPACT);
    assert_string_equal(
        first,
        "{\"name\":\"epoch\",\"part\":\"startup\",\"label\":null,\"start_s\":0.0,\"end_s\":2.0,"
        "\"duration_s\":2.0,\"source\":null,\"gpu_energy_j\":200.0,\"gpu_half_width_j\":null,"
        "\"gpu_power_w\":100.0,\"gpu_mem_peak_mib\":null,\"cpu_energy_j\":40.0,"
        "\"cpu_half_width_j\":0.5,\"dram_energy_j\":null,\"dram_half_width_j\":null,"
        "\"host_mem_peak_mib\":null}");
    const json_t *second = json_array_get(parts, 1);
    assert_string_equal(json_string_value(json_object_get(second, "label")), "1");
    assert_string_equal(json_string_value(json_object_get(second, "source")), "fifo");
    assert_true(json_number_value(json_object_get(second, "gpu_mem_peak_mib")) == 3);
    json_decref(json);
}

static void of_very_many_epochs_the_first_and_the_last_are_rows(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct sheet sheet;
    struct epoch *epochs = mem_array(COUNT, sizeof *epochs);
    char(*labels)[8] = mem_array(COUNT, sizeof *labels);
    begin(&sheet);
    add_gpu(&sheet, "GPU 0");
    for (int i = 0; i < COUNT; i++) {
        snprintf(labels[i], sizeof labels[i], "%d", i + 1);
        epochs[i] = (struct epoch){
            .part = EPOCH_ITSELF, .name = "epoch", .label = labels[i], .has_end = true};
    }
    sheet.measured.epochs = epochs;
    sheet.measured.result.epochs = mem_array(COUNT, sizeof *sheet.measured.result.epochs);
    sheet.measured.result.epoch_count = COUNT;
    expect_part(&sheet, "epoch 30\n");
    expect_part(&sheet, "epoch 991\n");
    expect_part(&sheet, "epoch 1000\n  960 more between the first 30 and the last 10.\n");
    AUTO_TEXT struct text text = {0};
    energy_text(&sheet.page, &text);
    assert_null(strstr(text_get(&text), "epoch 31\n"));
    assert_null(strstr(text_get(&text), "epoch 990\n"));
    free(sheet.measured.result.epochs);
    free(labels);
    free(epochs);
}

static void what_the_processes_used_is_told_and_what_may_not_be_seen_is_named(void **state)
{
    (void)state;
    struct sheet sheet;
    begin(&sheet);
    sheet.measured.has_subject = true;
    struct host_job_figures *job = &sheet.measured.result.job;
    *job = (struct host_job_figures){.cpu_s = is(90),
                                     .memory_peak_bytes = is(1.5 * (1 << 20)),
                                     .processes_peak = is(3),
                                     .read_bytes = is(2.5 * (1 << 20)),
                                     .written_bytes = is(1 << 20)};
    expect_part(
        &sheet,
        "Measured for 60.000 s, until the command ended:\n\n"
        "                   90.00 s  CPU time of its processes, 1.50 CPUs in the mean\n"
        "                   1.5 MiB  memory at most (its largest process, or a sampled sum)\n"
        "                   2.5 MiB  read from storage, 1.0 MiB written\n"
        "                         3  processes at most, of those seen once a second\n\n");
    job->read_bytes.valid = job->written_bytes.valid = false;
    job->io_refused = 2;
    job->memory_charged = true;
    expect_part(&sheet,
                "                   1.5 MiB  memory at most, with its share of the file cache\n"
                "                   unknown  read and written: only the user of the processes, and "
                "root, may see "
                "that\n");
    /* Where nobody's processes were watched nothing is said of any. */
    sheet.measured.has_subject = false;
    AUTO_TEXT struct text text = {0};
    energy_text(&sheet.page, &text);
    assert_null(strstr(text_get(&text), "CPU time"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_has_its_energy_power_and_state),
        cmocka_unit_test(what_is_unknown_is_no_zero),
        cmocka_unit_test(what_a_load_in_step_may_hide_is_told_where_it_is_much_or_unknown),
        cmocka_unit_test(a_half_width_above_a_fifth_of_the_energy_is_told_with_what_helps),
        cmocka_unit_test(a_sum_of_two_is_told_and_one_alone_is_not),
        cmocka_unit_test(what_is_missing_for_one_reason_is_told_once),
        cmocka_unit_test(nothing_is_missing_where_all_is_measured),
        cmocka_unit_test(the_first_moments_are_told_when_the_meters_came_late),
        cmocka_unit_test(the_platform_alone_is_nothing_measured),
        cmocka_unit_test(the_json_has_the_two_moments_and_nothing_of_a_job),
        cmocka_unit_test(epochs_are_rows_as_far_as_anything_is_known_of_them),
        cmocka_unit_test(of_very_many_epochs_the_first_and_the_last_are_rows),
        cmocka_unit_test(what_the_processes_used_is_told_and_what_may_not_be_seen_is_named),
    };
    /* as the program does: the table's library escapes "±" in others */
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
