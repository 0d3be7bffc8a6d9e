/* utf8: text from outside (names, paths, log lines, cells), and what of it may reach a terminal.
 * Well-formed UTF-8 is that of Unicode 15, table 3-7. What steers a terminal or deceives its reader
 * is never shown: C0 and C1 controls, DEL, the marks that turn the direction of writing (UTR
 * 36, 3.7), the line ends U+2028 and U+2029, and bytes that are no UTF-8, among them the C1
 * controls as raw bytes. */
#ifndef TARE_BASE_UTF8_H
#define TARE_BASE_UTF8_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct utf8_step {
    size_t length; /* bytes, at least 1; a byte that begins no character is a step of its own */
    uint32_t code; /* 0 for such a byte */
    bool shown;    /* may reach a terminal */
};

/* The step at, of which left bytes (at least 1) can be read. */
struct utf8_step utf8_step(const char *at, size_t left);

/* The length of the character that begins at, of which left bytes (at least 1) can be read; 0: none
 * begins here. */
size_t utf8_length(const char *at, size_t left);

bool utf8_is_valid(const char *bytes, size_t count);

/* Characters: people count these, not bytes. A byte that continues none counts as one. */
size_t utf8_count(const char *bytes, size_t count);

/* How many of the bytes, at most most, end with a whole character. */
size_t utf8_cut(const char *bytes, size_t count, size_t most);

/* Nothing in it that may not be shown. */
bool utf8_is_printable(const char *bytes, size_t count);

/* C0, DEL or C1: for names, which may hold any other character, and bytes that are no UTF-8. */
bool utf8_has_control(const char *s);

/* For a terminal: '?' for each step that may not be shown. kept: ASCII controls that stay ("\n\t").
 * utf8_make_printable: in place. */
void utf8_add_printable(const char *bytes, size_t count, const char *kept, struct text *out);
void utf8_make_printable(char *s, const char *kept);

/* A fresh copy that can stand within a line of ours: no line end either. */
char *utf8_line(const char *s);

/* The same of words that somebody else broke into lines: tabs and line ends become blanks. */
void utf8_add_words(const char *bytes, size_t count, struct text *out);

/* What a message quotes: utf8_line of at most most bytes, and "..." behind it where s goes on. */
char *utf8_quoted(const char *s, size_t most);

/* The same of the last line that is not blank: of a traceback, the error. */
char *utf8_last_line(const char *s, size_t length, size_t most);

/* For what is kept: at most size - 1 bytes of whole characters and a NUL; U+FFFD for each step that
 * may not be shown, but for tabs. */
void utf8_copy_legible(const char *bytes, size_t count, char *out, size_t size);

/* Columns of a terminal: wide characters (CJK, emoji) count 2, combining ones 0, what may not be
 * shown 1. */
size_t utf8_columns(const char *s);

/* Adds as much of s as fits into columns, whole characters only, printable. Gives the columns
 * used. */
size_t utf8_fit(const char *s, size_t columns, struct text *out);

#endif
