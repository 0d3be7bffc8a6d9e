/* problem: what is wrong with the files a person wrote, collected so that all of it is told at
 * once. */
#ifndef TARE_PLAN_CONFIG_PROBLEM_H
#define TARE_PLAN_CONFIG_PROBLEM_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct problem {
    enum severity severity;
    char *file; /* may be NULL: about a flag or the machine */
    struct json_place place;
    char *path; /* JSON path, or NULL */
    char *text; /* what is wrong, what was expected, the nearest name: one line */
};

struct problems {
    struct problem *items;
    size_t count;
    size_t errors;
    size_t missing; /* of the errors: what this machine lacks, while the files are right */
};

/* doc and path may be NULL; a doc without a file (settings made of flags) gives neither place nor
 * path. The place is looked up in doc. At most 500 errors and 500 warnings are kept, with a line
 * that says so; errors counts them all. */
void problems_add(struct problems *problems, enum severity severity, const struct json_doc *doc,
                  const char *path, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for an error. False. */
bool problems_error(struct problems *problems, const struct json_doc *doc, const char *path,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As problems_add, with the place of the key instead of its value: for a name that should not be
 * there. */
void problems_add_at_key(struct problems *problems, enum severity severity,
                         const struct json_doc *doc, const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* A file that could not be read or is no JSON: the place is taken from the front of err's text when
 * it stands there. */
void problems_add_unreadable(struct problems *problems, const char *file, const struct err *err);

/* "FILE:LINE:COLUMN: error: TEXT (at $.PATH)", as compilers write it. The caller frees it. */
char *problem_format(const struct problem *problem);

/* "; did you mean 'x'?" for the nearest of the names (Damerau-Levenshtein, upper and lower case the
 * same, at most a third of the longer name's length), else for one that is the beginning or end of
 * the other, or "". The caller frees it. */
char *problem_nearest(const char *given, const char *const *names, size_t count);

/* The nearest name itself (borrowed), or NULL. */
const char *problem_nearest_name(const char *given, const char *const *names, size_t count);

void problems_fini(struct problems *problems);

#endif
