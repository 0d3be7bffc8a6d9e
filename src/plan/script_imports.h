/* script_imports: the modules that Python source imports, read from its text: nothing is run.
 * The text is whatever the file holds. */
#ifndef TARE_PLAN_SCRIPT_IMPORTS_H
#define TARE_PLAN_SCRIPT_IMPORTS_H

#include "base/strv.h"

#include <stddef.h>

/* What is read of one file; the rest is ignored. */
enum { SCRIPT_IMPORTS_MAX = 2000, SCRIPT_MODULE_BYTES = 300 };

/* The source without what Python does not execute: comments are blanks, strings with their
 * quotes are runs of '"', a line that goes on after a backslash is one line, a NUL is a blank.
 * Of the same length, so that a place in it is the same place in text. Fresh. */
char *script_code(const char *text, size_t length);

/* Adds the names, each once: "a.b", and with leading dots as Python counts them ".x", "..pkg.y".
 * "from a import b" gives a and a.b, since b may be a module; "*" gives a alone.
 * import_module("a") and __import__("a") count, open("a.py") gives "a.py" (a file that is
 * executed). code: script_code of the same text. */
void script_imports_parse(const char *text, const char *code, size_t length, struct strv *out);

/* The next place of the word in code at or after from, where it is not a part of another name;
 * NULL: there is none. */
const char *script_code_find(const char *code, const char *from, const char *word);

#endif
