#include "plan/config/problem.h"
#include "base/json_place.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Every place costs a scan of the file and nobody reads more: what is over is counted, not kept.
 * Errors and warnings are counted apart, so that many warnings never hide an error. */
enum { KEPT_OF_A_KIND = 500, LONGEST_NAME = 128 };

static size_t count_kept(const struct problems *problems, enum severity severity)
{
    size_t kept = 0;
    EACH (item, problems->items, problems->count)
        kept += item->severity == severity;
    return kept;
}

static struct problem *add_empty_problem(struct problems *problems, enum severity severity)
{
    problems->items = mem_room(problems->items, problems->count, sizeof *problems->items);
    struct problem *problem = &problems->items[problems->count++];
    *problem = (struct problem){.severity = severity};
    return problem;
}

__attribute__((format(printf, 6, 0))) static void add_formatted_problem(
    struct problems *problems, enum severity severity, const struct json_doc *doc, const char *path,
    bool at_key, const char *format, va_list args)
{
    if (severity == SEVERITY_ERROR)
        problems->errors++;
    size_t kept = count_kept(problems, severity);
    if (kept > KEPT_OF_A_KIND)
        return;
    struct problem *problem = add_empty_problem(problems, severity);
    if (doc && doc->file) {
        problem->file = mem_strdup(doc->file);
        problem->path = mem_strdup(path);
        if (path && doc->text)
            problem->place = json_doc_place(doc, path, at_key);
    }
    if (kept == KEPT_OF_A_KIND) {
        free(problem->path);
        problem->path = NULL;
        problem->place = (struct json_place){0};
        problem->text = mem_printf("more than %d %s: the others are not shown", KEPT_OF_A_KIND,
                                   severity == SEVERITY_ERROR ? "errors" : "warnings");
        return;
    }
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    problem->text = length < 0 ? mem_strdup("a problem that could not be put into words") : text;
}

void problems_add(struct problems *problems, enum severity severity, const struct json_doc *doc,
                  const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_formatted_problem(problems, severity, doc, path, false, format, args);
    va_end(args);
}

bool problems_error(struct problems *problems, const struct json_doc *doc, const char *path,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_formatted_problem(problems, SEVERITY_ERROR, doc, path, false, format, args);
    va_end(args);
    return false;
}

void problems_add_at_key(struct problems *problems, enum severity severity,
                         const struct json_doc *doc, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_formatted_problem(problems, severity, doc, path, true, format, args);
    va_end(args);
}

void problems_add_unreadable(struct problems *problems, const char *file, const struct err *err)
{
    problems->errors++;
    struct problem *problem = add_empty_problem(problems, SEVERITY_ERROR);
    problem->file = mem_strdup(file);
    const char *text = err->text;
    size_t length = strlen(file);
    int taken = 0;
    struct json_place place = {0};
    if (strncmp(text, file, length) == 0 &&
        sscanf(text + length, ":%9zu:%9zu: %n", &place.line, &place.column, &taken) == 2 &&
        taken > 0) {
        problem->place = place;
        text += length + (size_t)taken;
    }
    problem->text = mem_strdup(text);
}

char *problem_format(const struct problem *problem)
{
    AUTO_TEXT struct text out = {0};
    if (problem->file) {
        text_add(&out, problem->file);
        if (problem->place.line)
            text_addf(&out, ":%zu:%zu", problem->place.line, problem->place.column);
        text_add(&out, ": ");
    }
    text_addf(&out, "%s: %s", problem->severity == SEVERITY_ERROR ? "error" : "warning",
              problem->text);
    if (problem->path)
        text_addf(&out, " (at %s)", problem->path);
    /* Names come from the file: they may neither break the line nor reach the terminal as
     * commands. */
    utf8_make_printable(out.data, "");
    return text_take(&out);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int lower_case(char c)
{
    return tolower((unsigned char)c);
}

/* Damerau-Levenshtein in its restricted form (no part is edited twice), upper and lower case being
 * the same. Three rows of the table are enough: a swap looks two rows back. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = lower_case(a[i - 1]) != lower_case(b[j - 1]);
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + change);
            if (i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
                lower_case(a[i - 2]) == lower_case(b[j - 1]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *problem_nearest_name(const char *given, const char *const *names, size_t count)
{
    size_t length = strlen(given);
    if (length > LONGEST_NAME)
        return NULL;
    const char *best = NULL;
    size_t best_distance = 0;
    EACH (name, names, count) {
        size_t other = strlen(*name);
        size_t allowed = (length > other ? length : other) / 3;
        size_t apart = length > other ? length - other : other - length;
        if (other > LONGEST_NAME || apart > allowed)
            continue;
        size_t steps = distance(given, length, *name, other);
        if (steps > allowed || (best && steps >= best_distance))
            continue;
        best = *name;
        best_distance = steps;
    }
    return best;
}

/* The first name that is the beginning or the end of what was given, or the other way round: "opt"
 * for "optimizer", "script" for "train_script". */
static const char *longer_or_shorter(const char *given, const char *const *names, size_t count)
{
    enum { FEWEST = 3 };
    size_t length = strlen(given);
    if (length > LONGEST_NAME)
        return NULL;
    EACH (name, names, count) {
        size_t other = strlen(*name);
        size_t common = least(length, other);
        if (common >= FEWEST && other <= LONGEST_NAME &&
            (strncasecmp(given, *name, common) == 0 ||
             strcasecmp(given + length - common, *name + other - common) == 0))
            return *name;
    }
    return NULL;
}

char *problem_nearest(const char *given, const char *const *names, size_t count)
{
    const char *name = problem_nearest_name(given, names, count);
    if (!name)
        name = longer_or_shorter(given, names, count);
    return name ? mem_printf("; did you mean '%s'?", name) : mem_strdup("");
}

void problems_fini(struct problems *problems)
{
    EACH (item, problems->items, problems->count) {
        free(item->file);
        free(item->path);
        free(item->text);
    }
    free(problems->items);
    *problems = (struct problems){0};
}
