#include "report/watch/log_tail.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];
static int dir;
static struct watch_log seen;

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/tare-log-tail.XXXXXX");
    assert_non_null(mkdtemp(top));
    dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(dir, "one", 0700), 0);
    seen = (struct watch_log){0};
    return dir < 0;
}

static int tear_down(void **state)
{
    (void)state;
    watch_log_fini(&seen);
    close(dir);
    return folder_remove(top);
}

static void put_log(const char *bytes, size_t count)
{
    AUTO_CLOSE int fd =
        openat(dir, "one/training.log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, count), count);
}

/* The lines that are shown, each with a '|' behind it. */
static void assert_lines(const char *log, size_t count, const char *expected)
{
    AUTO_TEXT struct text out = {0};
    put_log(log, count);
    watch_log_fini(&seen);
    watch_log_read(dir, "one", &seen);
    assert_null(seen.fault);
    for (size_t i = 0; i < seen.lines.count; i++)
        text_addf(&out, "%s|", seen.lines.items[i]);
    assert_string_equal(text_get(&out), expected);
}

#define LINES(log, expected) assert_lines(log, sizeof(log) - 1, expected)

static void lines_are_shown_as_a_terminal_would(void **state)
{
    (void)state;
    LINES("", "");
    LINES("one\ntwo\n", "one|two|");
    LINES("one\n\nno end", "one||no end|");
    LINES("10%\r50%\r100%\n", "100%|");
    LINES("dos\r\n", "dos|");
    LINES("ab\tc\n", "ab      c|");
    LINES("\tc\n", "        c|");
}

static void nothing_can_steer_the_terminal(void **state)
{
    (void)state;
    LINES("\033[1;31mred\033[0m\n", "red|");
    LINES("\033]0;title\atext\n", "text|");
    LINES("\033]8;;x\033\\text\n", "text|");
    LINES("\033Ptext\n", "|"); /* a string without its end */
    LINES("\033[2\n", "|");
    LINES("\033", "|");
    LINES("\033Mtext\n", "text|");
    LINES("a\001b\177c\0d\n", "a?b?c?d|");
    LINES("\302\233 \377 \303\244\n", "? ? \303\244|");
}

static void of_a_long_log_the_last_whole_lines_are_shown(void **state)
{
    (void)state;
    AUTO_TEXT struct text log = {0};
    for (int i = 0; i < 20000; i++)
        text_addf(&log, "line %05d\n", i);
    put_log(text_get(&log), log.length);
    watch_log_read(dir, "one", &seen);
    /* 64 KiB of 11 bytes a line, of which the first is cut off */
    assert_int_equal(seen.lines.count, 65536 / 11);
    assert_string_equal(seen.lines.items[0], "line 14043");
    assert_string_equal(seen.lines.items[seen.lines.count - 1], "line 19999");
    AUTO_FREE char *wide = mem_alloc(10000);
    memset(wide, 'x', 10000);
    put_log(wide, 10000);
    watch_log_read(dir, "one", &seen);
    assert_int_equal(seen.lines.count, 1);
    assert_int_equal(strlen(seen.lines.items[0]), 2000);
}

static void what_cannot_be_read_has_its_reason(void **state)
{
    (void)state;
    watch_log_read(dir, "one", &seen);
    assert_string_equal(seen.fault, "no log yet");
    LINES("text\n", "text|");
    assert_int_equal(unlinkat(dir, "one/training.log", 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir, "one/training.log"), 0);
    watch_log_read(dir, "one", &seen);
    assert_string_equal(seen.fault, "the log is no regular file");
    assert_int_equal(seen.lines.count, 0);
    assert_int_equal(unlinkat(dir, "one/training.log", 0), 0);
    assert_int_equal(mkfifoat(dir, "one/training.log", 0600), 0);
    watch_log_read(dir, "one", &seen); /* and does not wait for a writer */
    assert_string_equal(seen.fault, "the log is no regular file");
    watch_log_read(dir, "../one", &seen);
    assert_non_null(seen.fault);
}

#define IN_RUN(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        IN_RUN(lines_are_shown_as_a_terminal_would),
        IN_RUN(nothing_can_steer_the_terminal),
        IN_RUN(of_a_long_log_the_last_whole_lines_are_shown),
        IN_RUN(what_cannot_be_read_has_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
