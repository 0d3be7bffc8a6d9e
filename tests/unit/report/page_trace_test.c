#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/page_private.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64];
    int fd;
};

static int make_folder(void **state)
{
    struct folder *folder = mem_alloc(sizeof *folder);
    strcpy(folder->path, "/tmp/trace-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder->fd >= 0);
    assert_int_equal(mkdirat(folder->fd, "energy", 0700), 0);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    static const char *const names[] = {"energy/gpu.csv", "energy/gpu_power.csv",
                                        "energy/gpu_utilization.csv", "energy/gpu_temperature.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(folder->fd, names[i], 0);
    unlinkat(folder->fd, "training.log", 0);
    unlinkat(folder->fd, "energy", AT_REMOVEDIR);
    close(folder->fd);
    rmdir(folder->path);
    free(folder);
    return 0;
}

static void write_file(const struct folder *folder, const char *name, const char *bytes,
                       size_t count)
{
    AUTO_CLOSE int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct err err = {0};
    assert_true(fd >= 0 && fs_write_all(fd, bytes, count, &err));
}

static double number(const json_t *device, const char *list, size_t at)
{
    return json_number_value(json_array_get(json_object_get(device, list), at));
}

/* 10,000 rows of 300 W, of which one has 50 W and one 700 W: both must be among the few that are
 * kept. */
static void thinning_keeps_the_extremes_and_makes_no_row_up(void **state)
{
    const struct folder *folder = *state;
    AUTO_TEXT struct text csv = {0};
    struct err err = {0};
    text_add(
        &csv,
        "timestamp,seconds,gpu,power_draw_w,temperature_c,utilisation_percent,memory_used_mib\n");
    for (int i = 0; i < 10000; i++)
        text_addf(&csv, "t,%d,GPU 0,%d,%d,,%d\n", i,
                  i == 3333   ? 50
                  : i == 7777 ? 700
                              : 300,
                  i % 90, 2 * i);
    write_file(folder, "energy/gpu.csv", text_get(&csv), csv.length);
    json_t *trace = page_trace_read(folder->fd, 100, &err);
    assert_non_null(trace);
    assert_int_equal(json_array_size(trace), 1);
    const json_t *device = json_array_get(trace, 0);
    size_t count = json_array_size(json_object_get(device, "seconds"));
    assert_in_range(count, 50, 100);
    bool low = false, high = false;
    for (size_t i = 0; i < count; i++) {
        double second = number(device, "seconds", i), power = number(device, "power_w", i);
        assert_true(i == 0 || second > number(device, "seconds", i - 1));
        assert_true(number(device, "memory_mib", i) == 2 * second);
        assert_true(number(device, "temperature_c", i) == (int)second % 90);
        assert_true(
            json_is_null(json_array_get(json_object_get(device, "utilisation_percent"), i)));
        low = low || (second == 3333 && power == 50);
        high = high || (second == 7777 && power == 700);
    }
    assert_true(low && high);
    json_decref(trace);
}

/* More rows than are kept at once: what is thinned twice keeps the extremes of all the same. */
static void thinning_of_more_rows_than_are_kept_keeps_the_extremes(void **state)
{
    const struct folder *folder = *state;
    enum { ROWS = 600000, LEAST = 599990, MOST = 12 };
    AUTO_TEXT struct text csv = {0};
    struct err err = {0};
    text_add(&csv, "seconds,gpu,power_draw_w\n");
    for (int i = 0; i < ROWS; i++)
        text_addf(&csv, "%d,0,%d\n", i, i == LEAST ? 1 : i == MOST ? 999 : 100 + i % 400);
    write_file(folder, "energy/gpu.csv", text_get(&csv), csv.length);
    json_t *trace = page_trace_read(folder->fd, 200, &err);
    const json_t *device = json_array_get(trace, 0);
    size_t count = json_array_size(json_object_get(device, "seconds"));
    assert_in_range(count, 100, 200);
    bool low = false, high = false;
    for (size_t i = 0; i < count; i++) {
        int second = (int)number(device, "seconds", i), power = (int)number(device, "power_w", i);
        assert_true(i == 0 || second > (int)number(device, "seconds", i - 1));
        assert_int_equal(power, second == LEAST ? 1 : second == MOST ? 999 : 100 + second % 400);
        low = low || second == LEAST;
        high = high || second == MOST;
    }
    assert_true(low && high);
    json_decref(trace);
}

/* The study's files have time-stamps of their own; they count from the experiment's start, which
 * has a fraction. */
static void files_of_the_study_are_traces_of_their_own(void **state)
{
    const struct folder *folder = *state;
    static const char power[] = "timestamp,power_draw_w\n1763455994,5.24\n1763455996,250.5\n";
    static const char heat[] = "timestamp,gpu_temp_c,memory_temp_c\n1763455995,56,N/A\n";
    struct err err = {0};
    write_file(folder, "energy/gpu_power.csv", power, sizeof power - 1);
    write_file(folder, "energy/gpu_temperature.csv", heat, sizeof heat - 1);
    json_t *trace = page_trace_study(folder->fd, 1763455993.25, 100, &err);
    assert_int_equal(json_array_size(trace), 2);
    const json_t *first = json_array_get(trace, 0), *second = json_array_get(trace, 1);
    assert_true(number(first, "seconds", 0) == 0.75 && number(first, "seconds", 1) == 2.75);
    assert_true(number(first, "power_w", 0) == 5.24 && number(first, "power_w", 1) == 250.5);
    assert_null(json_object_get(first, "temperature_c"));
    assert_true(number(second, "seconds", 0) == 1.75 && number(second, "temperature_c", 0) == 56);
    assert_true(json_is_null(json_array_get(json_object_get(second, "memory_temperature_c"), 0)));
    json_decref(trace);
    /* Nobody knows when it began: then with the first sample of all. */
    trace = page_trace_study(folder->fd, NAN, 100, &err);
    assert_true(number(json_array_get(trace, 0), "seconds", 0) == 0);
    assert_true(number(json_array_get(trace, 1), "seconds", 0) == 1);
    json_decref(trace);
}

static void rows_of_two_gpus_are_kept_apart(void **state)
{
    const struct folder *folder = *state;
    static const char csv[] =
        "seconds,gpu,power_draw_w\n0,GPU 0,10\n0,GPU 1,20\n1,GPU 0,11\n1,GPU 1,N/A\n";
    struct err err = {0};
    write_file(folder, "energy/gpu.csv", csv, sizeof csv - 1);
    json_t *trace = page_trace_read(folder->fd, 100, &err);
    assert_int_equal(json_array_size(trace), 2);
    const json_t *second = json_array_get(trace, 1);
    assert_string_equal(json_string_value(json_object_get(second, "gpu")), "GPU 1");
    assert_true(number(second, "power_w", 0) == 20);
    assert_true(json_is_null(json_array_get(json_object_get(second, "power_w"), 1)));
    assert_true(number(json_array_get(trace, 0), "power_w", 1) == 11);
    json_decref(trace);
}

static void no_file_is_an_empty_trace_and_a_broken_one_an_error_with_its_line(void **state)
{
    const struct folder *folder = *state;
    static const char csv[] = "seconds,gpu,power_draw_w\n0,GPU 0,10\n1,\"GPU";
    struct err err = {0};
    json_t *none = page_trace_read(folder->fd, 100, &err);
    assert_int_equal(json_array_size(none), 0);
    json_decref(none);
    write_file(folder, "energy/gpu.csv", csv, sizeof csv - 1);
    assert_null(page_trace_read(folder->fd, 100, &err));
    assert_non_null(strstr(err.text, "gpu.csv"));
    assert_non_null(strstr(err.text, "line 3"));
}

static void a_link_in_the_folder_is_not_followed(void **state)
{
    const struct folder *folder = *state;
    struct err err = {0};
    assert_int_equal(symlinkat("/etc/passwd", folder->fd, "energy/gpu.csv"), 0);
    assert_null(page_trace_read(folder->fd, 100, &err));
    assert_int_equal(symlinkat("/etc/passwd", folder->fd, "training.log"), 0);
    json_t *log = page_trace_log_end(folder->fd, 100);
    assert_true(json_is_null(log));
    json_decref(log);
}

static void the_end_of_a_log_begins_with_a_whole_line_and_is_utf8(void **state)
{
    const struct folder *folder = *state;
    static const char log[] =
        "a first line that is cut off\nsecond \xff\x1b[31mred\r\n\xc3\xa9nd\n";
    write_file(folder, "training.log", log, sizeof log - 1);
    json_t *end = page_trace_log_end(folder->fd, 30);
    assert_string_equal(json_string_value(end), "second \xef\xbf\xbd[31mred\n\xc3\xa9nd\n");
    json_decref(end);
    json_t *whole = page_trace_log_end(folder->fd, 1000);
    assert_memory_equal(json_string_value(whole), "a first line", 12);
    json_decref(whole);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(thinning_keeps_the_extremes_and_makes_no_row_up,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(thinning_of_more_rows_than_are_kept_keeps_the_extremes,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(files_of_the_study_are_traces_of_their_own, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(rows_of_two_gpus_are_kept_apart, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(
            no_file_is_an_empty_trace_and_a_broken_one_an_error_with_its_line, make_folder,
            remove_folder),
        cmocka_unit_test_setup_teardown(a_link_in_the_folder_is_not_followed, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(the_end_of_a_log_begins_with_a_whole_line_and_is_utf8,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
