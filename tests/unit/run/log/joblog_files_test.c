/* The files of a joblog: what is kept, its times, its cap, and disks that are full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "run/log/joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A file without a name. */
static int temporary(void)
{
    int fd = memfd_create("joblog", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int copy_of(int fd)
{
    int copy = dup(fd);
    assert_true(copy >= 0);
    return copy;
}

static void assert_holds(int fd, const char *expected, size_t count)
{
    char got[4096];
    ssize_t length = pread(fd, got, sizeof got, 0);
    assert_int_equal(length, count);
    assert_memory_equal(got, expected, count);
}

static struct joblog *made(int log_fd, int times_fd, int64_t start_ns, uint64_t cap)
{
    struct joblog *log = joblog_new(
        &(struct joblog_options){
            .log_fd = log_fd, .times_fd = times_fd, .start_ns = start_ns, .cap_bytes = cap},
        NULL);
    assert_non_null(log);
    return log;
}

static void every_byte_is_kept(void **state)
{
    (void)state;
    static const char bytes[] = "a\r\n\0\xff\xfe line\rno end";
    AUTO_CLOSE int file = temporary();
    struct joblog *log = made(copy_of(file), -1, 0, 0);
    for (size_t i = 0; i < sizeof bytes - 1; i++)
        assert_true(joblog_add_bytes(log, bytes + i, 1, 0, NULL));
    assert_holds(file, bytes, sizeof bytes - 1); /* at once, not only at the end */
    assert_true(joblog_end(log, 0, NULL));
    assert_holds(file, bytes, sizeof bytes - 1);
    assert_int_equal(joblog_totals(log).kept, sizeof bytes - 1);
    assert_false(joblog_totals(log).capped);
    joblog_free(log);
}

static void times_say_when_a_line_was_complete_and_where_it_begins(void **state)
{
    (void)state;
    const int64_t start = 5 * NS_PER_S;
    static const char expected[] =
        "line,seconds,offset\n1,0.500000,0\n1,1.250000,4\n2,1.250000,7\n3,3600.000001,8\n";
    AUTO_CLOSE int times = temporary();
    struct joblog *log = made(-1, copy_of(times), start, 0);
    assert_true(joblog_add_bytes(log, "one\r", 4, start + 500 * NS_PER_MS, NULL));
    assert_true(joblog_add_bytes(log, "tw", 2, start + 600 * NS_PER_MS, NULL));
    assert_true(joblog_add_bytes(log, "\n\nlast", 6, start + 1250 * NS_PER_MS, NULL));
    assert_true(joblog_add_bytes(log, " one", 4, start + 3600 * NS_PER_S + 1999, NULL));
    /* the last line was complete before */
    assert_true(joblog_end(log, start + 4000 * NS_PER_S, NULL));
    assert_holds(times, expected, sizeof expected - 1);
    joblog_free(log);
}

static void the_offset_of_a_line_lies_behind_both_bytes_of_its_line_end(void **state)
{
    (void)state;
    static const char expected[] =
        "line,seconds,offset\n1,0.000000,0\n2,0.000000,3\n3,0.000000,6\n";
    AUTO_CLOSE int times = temporary();
    struct joblog *log = made(-1, copy_of(times), 0, 0);
    assert_true(joblog_add_bytes(log, "a\r", 2, 0, NULL));
    assert_true(joblog_add_bytes(log, "\nb\r\nc\n", 6, 0, NULL));
    assert_true(joblog_end(log, 0, NULL));
    assert_holds(times, expected, sizeof expected - 1);
    joblog_free(log);
}

static void times_reach_the_file_within_a_second_of_the_next_output(void **state)
{
    (void)state;
    static const char expected[] = "line,seconds,offset\n1,0.000000,0\n2,2.000000,2\n";
    AUTO_CLOSE int times = temporary();
    struct joblog *log = made(-1, copy_of(times), 0, 0);
    assert_true(joblog_add_bytes(log, "a\n", 2, 0, NULL));
    assert_true(joblog_add_bytes(log, "b\n", 2, 2 * NS_PER_S, NULL));
    assert_holds(times, expected, sizeof expected - 1);
    joblog_free(log);
}

static void a_job_without_output_has_a_header_of_times(void **state)
{
    (void)state;
    AUTO_CLOSE int times = temporary();
    struct joblog *log = made(-1, copy_of(times), 0, 0);
    assert_true(joblog_end(log, 0, NULL));
    assert_holds(times, "line,seconds,offset\n", 20);
    joblog_free(log);
}

static void many_times_are_all_written_in_order(void **state)
{
    (void)state;
    AUTO_CLOSE int times = temporary();
    struct joblog *log = made(-1, copy_of(times), 0, 0);
    for (int i = 0; i < 20000; i++)
        assert_true(joblog_add_bytes(log, "line\n", 5, i * NS_PER_MS, NULL));
    assert_true(joblog_end(log, 0, NULL));
    joblog_free(log);
    AUTO_FILE FILE *file = fdopen(copy_of(times), "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    char row[100], expected[100];
    assert_non_null(fgets(row, sizeof row, file));
    for (int i = 0; i < 20000; i++) {
        snprintf(expected, sizeof expected, "%d,%d.%03d000,%d\n", i + 1, i / 1000, i % 1000, i * 5);
        assert_non_null(fgets(row, sizeof row, file));
        assert_string_equal(row, expected);
    }
    assert_null(fgets(row, sizeof row, file));
}

static void a_capped_log_keeps_its_first_bytes_and_goes_on_matching(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "n", "n=([0-9]+)"};
    static const char times_expected[] =
        "line,seconds,offset\n1,0.000000,0\n2,0.000000,4\n3,0.000000,8\n";
    AUTO_CLOSE int file = temporary();
    AUTO_CLOSE int times = temporary();
    struct joblog *log = joblog_new(&(struct joblog_options){.log_fd = copy_of(file),
                                                             .times_fd = copy_of(times),
                                                             .cap_bytes = 10,
                                                             .patterns = &pattern,
                                                             .pattern_count = 1},
                                    NULL);
    assert_true(joblog_add_bytes(log, "n=1\nn=2\n", 8, 0, NULL));
    assert_false(joblog_totals(log).capped);
    assert_true(joblog_add_bytes(log, "n=3\nn=4\n", 8, 0, NULL));
    assert_true(joblog_add_bytes(log, "n=5\n", 4, 0, NULL));
    assert_true(joblog_end(log, 0, NULL));
    struct joblog_totals totals = joblog_totals(log);
    assert_true(totals.capped);
    assert_int_equal(totals.kept, 10);
    assert_int_equal(totals.bytes, 20);
    assert_int_equal(totals.lines, 5);
    assert_holds(file, "n=1\nn=2\nn=", 10);
    assert_holds(times, times_expected, sizeof times_expected - 1);
    assert_true(joblog_result(log, 0)->number == 5);
    joblog_free(log);
}

static void a_log_as_long_as_its_cap_is_not_capped(void **state)
{
    (void)state;
    AUTO_CLOSE int file = temporary();
    struct joblog *log = made(copy_of(file), -1, 0, 4);
    assert_true(joblog_add_bytes(log, "abc\n", 4, 0, NULL));
    assert_true(joblog_end(log, 0, NULL));
    assert_false(joblog_totals(log).capped);
    assert_int_equal(joblog_totals(log).kept, 4);
    joblog_free(log);
}

/* A row of a time is many times longer than an empty line. */
static void the_times_of_a_capped_log_are_capped_too(void **state)
{
    (void)state;
    char newlines[1000];
    memset(newlines, '\n', sizeof newlines);
    AUTO_CLOSE int times = temporary();
    struct joblog *log = made(-1, copy_of(times), 0, 200000);
    for (int i = 0; i < 200; i++)
        assert_true(joblog_add_bytes(log, newlines, sizeof newlines, 0, NULL));
    assert_true(joblog_end(log, 0, NULL));
    struct stat status;
    assert_int_equal(fstat(times, &status), 0);
    assert_true(status.st_size <= 4 * 200000 + (1 << 20));
    assert_true(status.st_size > 4 * 200000 + (1 << 20) - 200);
    char last = 0;
    assert_int_equal(pread(times, &last, 1, status.st_size - 1), 1);
    assert_int_equal(last, '\n'); /* whole rows */
    joblog_free(log);
}

static void a_full_disk_is_told_once_and_matching_goes_on(void **state)
{
    (void)state;
    const struct joblog_pattern pattern = {JOBLOG_METRIC, "n", "n=([0-9]+)"};
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) {
        print_message("no /dev/full here\n");
        skip();
    }
    struct joblog *log = joblog_new(
        &(struct joblog_options){
            .log_fd = full, .times_fd = -1, .patterns = &pattern, .pattern_count = 1},
        NULL);
    struct err err = {0};
    assert_false(joblog_add_bytes(log, "n=1\n", 4, 0, &err));
    assert_int_equal(err.code, ENOSPC);
    assert_string_equal(err.text, "write the log: No space left on device");
    assert_true(joblog_result(log, 0)->number == 1);
    assert_true(joblog_add_bytes(log, "n=2\n", 4, 0, &err));
    assert_true(joblog_end(log, 0, &err));
    assert_true(joblog_result(log, 0)->number == 2);
    assert_int_equal(joblog_totals(log).kept, 0);
    assert_int_equal(joblog_totals(log).bytes, 8);
    joblog_free(log);
}

static void times_on_a_full_disk_are_told_once(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) {
        print_message("no /dev/full here\n");
        skip();
    }
    AUTO_CLOSE int file = temporary();
    struct joblog *log = made(copy_of(file), full, 0, 0);
    struct err err = {0};
    assert_true(joblog_add_bytes(log, "a\n", 2, 0, &err)); /* in the buffer */
    assert_false(joblog_add_bytes(log, "b\n", 2, 2 * NS_PER_S, &err));
    assert_int_equal(err.code, ENOSPC);
    assert_string_equal(err.text, "write the line times: No space left on device");
    assert_true(joblog_add_bytes(log, "c\n", 2, 4 * NS_PER_S, &err));
    assert_true(joblog_end(log, 5 * NS_PER_S, &err));
    assert_holds(file, "a\nb\nc\n", 6);
    joblog_free(log);
}

static void an_unwritten_rest_of_times_is_told_at_the_end(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) {
        print_message("no /dev/full here\n");
        skip();
    }
    struct joblog *log = made(-1, full, 0, 0);
    struct err err = {0};
    assert_true(joblog_add_bytes(log, "a\n", 2, 0, &err));
    assert_false(joblog_end(log, 0, &err));
    assert_int_equal(err.code, ENOSPC);
    joblog_free(log);
}

static void reading_takes_what_is_there_and_tells_the_end(void **state)
{
    (void)state;
    int ends[2];
    AUTO_CLOSE int file = temporary();
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    struct joblog *log = made(copy_of(file), -1, 0, 0);
    struct err err = {0};
    assert_int_equal(joblog_read(log, ends[0], 0, &err), 0);
    assert_int_equal(write(ends[1], "hello\n", 6), 6);
    assert_int_equal(joblog_read(log, ends[0], 0, &err), 1);
    assert_int_equal(joblog_read(log, ends[0], 0, &err), 0);
    assert_int_equal(write(ends[1], "end", 3), 3);
    close(ends[1]);
    int result = joblog_read(log, ends[0], 0, &err);
    if (result == 1)
        result = joblog_read(log, ends[0], 0, &err);
    assert_int_equal(result, -1);
    assert_int_equal(joblog_read(log, ends[0], 0, &err), -1);
    close(ends[0]);
    assert_true(joblog_end(log, 0, &err));
    assert_int_equal(joblog_totals(log).lines, 2);
    assert_holds(file, "hello\nend", 9);
    assert_int_equal(joblog_read(log, -1, 0, &err), -2);
    assert_int_equal(err.code, EBADF);
    joblog_free(log);
}

static void reading_stops_after_about_a_mebibyte(void **state)
{
    (void)state;
    AUTO_CLOSE int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_true(zero >= 0);
    struct joblog *log = made(-1, -1, 0, 0);
    assert_int_equal(joblog_read(log, zero, 0, NULL), 1);
    assert_int_equal(joblog_totals(log).bytes, 1 << 20);
    joblog_free(log);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_kept),
        cmocka_unit_test(times_say_when_a_line_was_complete_and_where_it_begins),
        cmocka_unit_test(the_offset_of_a_line_lies_behind_both_bytes_of_its_line_end),
        cmocka_unit_test(times_reach_the_file_within_a_second_of_the_next_output),
        cmocka_unit_test(a_job_without_output_has_a_header_of_times),
        cmocka_unit_test(many_times_are_all_written_in_order),
        cmocka_unit_test(a_capped_log_keeps_its_first_bytes_and_goes_on_matching),
        cmocka_unit_test(a_log_as_long_as_its_cap_is_not_capped),
        cmocka_unit_test(the_times_of_a_capped_log_are_capped_too),
        cmocka_unit_test(a_full_disk_is_told_once_and_matching_goes_on),
        cmocka_unit_test(times_on_a_full_disk_are_told_once),
        cmocka_unit_test(an_unwritten_rest_of_times_is_told_at_the_end),
        cmocka_unit_test(reading_takes_what_is_there_and_tells_the_end),
        cmocka_unit_test(reading_stops_after_about_a_mebibyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
