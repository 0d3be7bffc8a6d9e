#include "session/message.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "session/command.h"
#include "tare_build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RED     "\033[1;31m"
#define MAGENTA "\033[1;35m"
#define PLAIN   "\033[0m"

bool message_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return !(no_color && *no_color) && isatty(fd) && term && strcmp(term, "dumb") != 0;
}

static void print_message(const char *colour, const char *kind, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void print_message(const char *colour, const char *kind, const char *format, va_list args)
{
    bool coloured = kind && message_colour(STDERR_FILENO);
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        return;
    /* Names in a message come from elsewhere: they may neither break the line nor reach the
     * terminal as commands. */
    utf8_make_printable(text, "");
    fprintf(stderr, "%s: ", TARE_NAME);
    if (kind)
        fprintf(stderr, "%s%s:%s ", coloured ? colour : "", kind, coloured ? PLAIN : "");
    fprintf(stderr, "%s\n", text);
    free(text);
}

void cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(RED, "error", format, args);
    va_end(args);
}

void cli_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(MAGENTA, "warning", format, args);
    va_end(args);
}

void cli_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message("", NULL, format, args);
    va_end(args);
}

/* What is ours of the escape sequences: a colour or its end, and only where there is colour. 0:
 * none of them. */
static size_t colour_length(const char *at)
{
    static const char *const ours[] = {"\033[0m",  "\033[1m",  "\033[2m", "\033[31m",
                                       "\033[32m", "\033[33m", RED,       MAGENTA};
    EACH_OF (our, ours)
        if (strncmp(at, *our, strlen(*our)) == 0)
            return strlen(*our);
    return 0;
}

/* Keeps line ends and our own colours, and removes all else that steers a terminal. */
static void make_lines_printable(const struct text *text, bool coloured, struct text *out)
{
    const char *at = text_get(text), *end = at + text->length;
    while (at < end) {
        const char *escape = coloured ? memchr(at, '\033', (size_t)(end - at)) : NULL;
        size_t colour = escape ? colour_length(escape) : 0;
        size_t plain = (size_t)((escape ? escape + !colour : end) - at);
        utf8_add_printable(at, plain, "\n\t", out);
        text_add_bytes(out, at + plain, colour);
        at += plain + colour;
    }
}

/* The state of standard output: what could not be written there is said once, and counts at the
 * end. */
static bool is_broken;

void message_output_failed(int code)
{
    if (!is_broken)
        cli_error("cannot write to standard output: %s", strerror(code ? code : EIO));
    is_broken = true;
}

static bool write_stdout(const char *bytes, size_t count)
{
    if (is_broken)
        return false;
    struct err err = {0};
    if (fs_write_all(STDOUT_FILENO, bytes, count, &err) || err.code == EPIPE)
        return true;
    message_output_failed(err.code);
    return false;
}

bool message_print(const struct text *text)
{
    AUTO_TEXT struct text safe = {0};
    make_lines_printable(text, message_colour(STDOUT_FILENO), &safe);
    return write_stdout(text_get(&safe), safe.length);
}

bool message_print_exact(const struct text *text)
{
    return write_stdout(text_get(text), text->length);
}

bool message_printf(const char *format, ...)
{
    AUTO_FREE char *made = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&made, format, args);
    va_end(args);
    return length >= 0 && message_print(&(struct text){.data = made, .length = (size_t)length});
}

void message_print_aside(const struct text *text)
{
    AUTO_TEXT struct text safe = {0};
    make_lines_printable(text, message_colour(STDERR_FILENO), &safe);
    fputs(text_get(&safe), stderr);
}

bool message_ask(const char *question, char *answer, int size)
{
    AUTO_TEXT struct text text = {0};
    text_add(&text, question);
    message_print_aside(&text);
    if (!fgets(answer, size, stdin))
        return false;
    answer[strcspn(answer, "\r\n")] = '\0';
    return true;
}

/* What a command has found out by itself counts more: a mistake of the person, a signal, a code
 * that is another program's. */
int message_exit_code(int code)
{
    return is_broken && (code == CLI_OK || code == CLI_SOME_FAILED) ? CLI_BROKEN : code;
}

int cli_failed(int code, const struct err *err)
{
    cli_error("%s", err->text);
    return code;
}

void message_see_help(const struct cli_command *command)
{
    fprintf(stderr, "See '%s%s%s --help'.\n", TARE_NAME, command ? " " : "",
            command ? command->name : "");
}

int cli_usage_error(const struct cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(RED, "error", format, args);
    va_end(args);
    message_see_help(command);
    return command->usage_code ? command->usage_code : CLI_USAGE;
}

static void print_problem(const struct problem *problem, bool coloured)
{
    AUTO_FREE char *line = problem_format(problem);
    bool error = problem->severity == SEVERITY_ERROR;
    const char *kind = error ? "error:" : "warning:";
    const char *at = coloured ? strstr(line, kind) : NULL;
    if (!at) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    fprintf(stderr, "%.*s%s%s%s%s\n", (int)(at - line), line, error ? RED : MAGENTA, kind, PLAIN,
            at + strlen(kind));
}

/* Where a problem stands: its file's place among the files, its line and column, else its own
 * place. */
struct order {
    const struct problem *problem;
    size_t file, index;
};

static bool same_file(const struct problem *a, const struct problem *b)
{
    return a->file == b->file || (a->file && b->file && strcmp(a->file, b->file) == 0);
}

static int compare_sizes(size_t a, size_t b)
{
    return ORDER(a, b);
}

static int compare_problem_order(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    int result = compare_sizes(a->file, b->file);
    if (result == 0)
        result = compare_sizes(a->problem->place.line, b->problem->place.line);
    if (result == 0)
        result = compare_sizes(a->problem->place.column, b->problem->place.column);
    return result ? result : compare_sizes(a->index, b->index);
}

/* They were found by different readers; a person goes through a file from its top. */
void message_problems(const struct problems *problems)
{
    bool coloured = message_colour(STDERR_FILENO);
    struct order *orders = mem_array(problems->count + 1, sizeof *orders);
    for (size_t i = 0; i < problems->count; i++) {
        size_t first = 0;
        while (!same_file(&problems->items[first], &problems->items[i]))
            first++;
        orders[i] = (struct order){&problems->items[i], first, i};
    }
    qsort(orders, problems->count, sizeof *orders, compare_problem_order);
    EACH (item, orders, problems->count)
        print_problem(item->problem, coloured);
    free(orders);
}

void message_problem_count(const struct problems *problems)
{
    size_t warnings = problems->count - problems->errors;
    AUTO_TEXT struct text line = {0};
    text_addf(&line, "%zu error%s", problems->errors, problems->errors == 1 ? "" : "s");
    if (warnings)
        text_addf(&line, ", %zu warning%s", warnings, warnings == 1 ? "" : "s");
    fprintf(stderr, "%s; nothing was run\n", text_get(&line));
}
