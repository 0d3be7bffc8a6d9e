#include "session/message.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "session/command.h"
#include "tare_build.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct text output = {0};

static int tear_down(void **state)
{
    (void)state;
    text_fini(&output);
    return 0;
}

/* Runs it in a child whose standard output or error is the other end of a pipe, and keeps what came
 * there. Returns its exit status. */
static int run(int (*say)(void), int fd, const char *input)
{
    int ends[2], in[2], status;
    char bytes[4096];
    fflush(stdout);
    assert_int_equal(pipe2(ends, O_CLOEXEC) | pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], input, strlen(input)), strlen(input));
    close(in[1]);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], fd);
        dup2(in[0], STDIN_FILENO);
        status = say();
        fflush(stderr);
        _exit(status);
    }
    close(ends[1]);
    close(in[0]);
    text_clear(&output);
    for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
        text_add_bytes(&output, bytes, (size_t)got);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_output(const char *expected)
{
    assert_string_equal(text_get(&output), expected);
}

static const char hostile[] = "a\tb\n\033[31mred\033[0m \033]0;x\a \302\233\r\n";

static int print_hostile(void)
{
    AUTO_TEXT struct text text = {0};
    text_add(&text, hostile);
    return !message_print(&text);
}

static int print_exactly(void)
{
    AUTO_TEXT struct text text = {0};
    text_add_bytes(&text, "\033\0x", 3);
    return !message_print_exact(&text);
}

static int print_aside(void)
{
    AUTO_TEXT struct text text = {0};
    text_add(&text, hostile);
    message_print_aside(&text);
    return 0;
}

static void what_steers_a_terminal_is_replaced(void **state)
{
    (void)state;
    static const char safe[] = "a\tb\n?[31mred?[0m ?]0;x? ??\n";
    assert_int_equal(run(print_hostile, STDOUT_FILENO, ""), 0);
    assert_output(safe);
    assert_int_equal(run(print_aside, STDERR_FILENO, ""), 0);
    assert_output(safe);
    assert_int_equal(run(print_exactly, STDOUT_FILENO, ""), 0);
    assert_int_equal(output.length, 3);
    assert_memory_equal(text_get(&output), "\033\0x", 3);
}

static int say_error(void)
{
    cli_error("no '%s'", "a\nb\033[2J");
    cli_note("once");
    return 0;
}

static void an_error_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(run(say_error, STDERR_FILENO, ""), 0);
    assert_output(TARE_NAME ": error: no 'a?b?[2J'\n" TARE_NAME ": once\n");
}

static int ask_twice(void)
{
    char answer[6];
    if (!message_ask("sure? ", answer, sizeof answer) || strcmp(answer, "yes") != 0)
        return 1;
    return message_ask("again? ", answer, sizeof answer);
}

static void an_answer_is_a_line_without_its_end(void **state)
{
    (void)state;
    assert_int_equal(run(ask_twice, STDERR_FILENO, "yes\r\n"), 0);
    assert_output("sure? again? ");
}

static int write_to_full(void)
{
    AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    dup2(full, STDOUT_FILENO);
    bool first = message_printf("%d\n", 1), second = message_printf("%d\n", 2);
    if (first || second)
        return 1;
    return message_exit_code(CLI_OK) == CLI_BROKEN && message_exit_code(CLI_USAGE) == CLI_USAGE &&
                   message_exit_code(CLI_SOME_FAILED) == CLI_BROKEN
               ? 0
               : 2;
}

static int write_to_nobody(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return 1;
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    return !message_printf("%d\n", 1) || message_exit_code(CLI_OK) != CLI_OK;
}

static void output_that_fails_is_said_once_and_has_its_exit_code(void **state)
{
    (void)state;
    assert_int_equal(run(write_to_full, STDERR_FILENO, ""), 0);
    assert_output(TARE_NAME ": error: cannot write to standard output: No space left on device\n");
    assert_int_equal(run(write_to_nobody, STDERR_FILENO, ""), 0); /* a reader that is gone */
    assert_output("");
}

static void a_terminal_has_colour_unless_told_otherwise(void **state)
{
    (void)state;
    int master, terminal;
    assert_int_equal(openpty(&master, &terminal, NULL, NULL, NULL), 0);
    AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_true(message_colour(terminal));
    assert_false(message_colour(null));
    setenv("NO_COLOR", "", 1); /* empty: not set */
    assert_true(message_colour(terminal));
    setenv("NO_COLOR", "0", 1);
    assert_false(message_colour(terminal));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(message_colour(terminal));
    unsetenv("TERM");
    assert_false(message_colour(terminal));
    close(terminal);
    close(master);
}

static int list_problems(void)
{
    struct problem items[] = {
        {.severity = SEVERITY_ERROR,
         .file = (char[]){"b"},
         .place = {.line = 9},
         .text = (char[]){"1"}},
        {.severity = SEVERITY_WARNING,
         .file = (char[]){"a"},
         .place = {.line = 7},
         .text = (char[]){"2"}},
        {.severity = SEVERITY_ERROR,
         .file = (char[]){"b"},
         .place = {.line = 2, .column = 5},
         .text = (char[]){"3"}},
        {.severity = SEVERITY_ERROR,
         .file = (char[]){"b"},
         .place = {.line = 2, .column = 1},
         .text = (char[]){"4"}},
        {.severity = SEVERITY_ERROR, .text = (char[]){"5"}},
        {.severity = SEVERITY_ERROR,
         .file = (char[]){"b"},
         .place = {.line = 9},
         .text = (char[]){"6"}},
    };
    const struct problems problems = {.items = items, .count = 6, .errors = 5};
    message_problems(&problems);
    message_problem_count(&problems);
    message_problem_count(&(struct problems){.count = 1, .errors = 1});
    return 0;
}

static void problems_are_listed_by_file_line_and_column(void **state)
{
    (void)state;
    assert_int_equal(run(list_problems, STDERR_FILENO, ""), 0);
    AUTO_TEXT struct text order = {0};
    const char *at = text_get(&output);
    for (const char *end; (end = strchr(at, '\n')); at = end + 1)
        text_add_char(&order, end[-1]);
    /* b came first; the last two lines are the counts */
    assert_string_equal(text_get(&order), "431625nn");
    assert_non_null(strstr(text_get(&output), "\n5 errors, 1 warning; nothing was run\n"
                                              "1 error; nothing was run\n"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_steers_a_terminal_is_replaced),
        cmocka_unit_test(an_error_is_one_line),
        cmocka_unit_test(an_answer_is_a_line_without_its_end),
        cmocka_unit_test(output_that_fails_is_said_once_and_has_its_exit_code),
        cmocka_unit_test(a_terminal_has_colour_unless_told_otherwise),
        cmocka_unit_test(problems_are_listed_by_file_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
