/* csv: RFC 4180 rows, in from bytes and out to text. */
#ifndef TARE_BASE_CSV_H
#define TARE_BASE_CSV_H

#include "base/err.h"
#include "base/reading.h"
#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct csv_reader {
    const char *at; /* borrowed bytes: they must live as long as the reader */
    const char *end;
    size_t line; /* of the row last read, from 1 */
    size_t next_line;
};

/* A UTF-8 byte order mark is skipped. */
void csv_start(struct csv_reader *reader, const char *bytes, size_t count);

/* The next row's cells into row (cleared first); quoted cells may hold commas, quotes and line
 * ends; \n, \r\n and \r end a row; empty lines are skipped. 1: a row, 0: the end, -1: an error (an
 * open quote at the end, text behind a closing quote, a NUL, over 4096 cells) that names the
 * line. */
int csv_next(struct csv_reader *reader, struct strv *row, struct err *err);

/* One cell, quoted when it must be; the caller puts commas and "\n" between. What a spreadsheet
 * would take for a formula (it begins with = + - @, a TAB or a line end, and is no number) gets an
 * apostrophe before it, as does what has such an apostrophe already: csv_next takes one away.
 * csv_add_exact: none is added. */
void csv_add_cell(struct text *out, const char *cell);
void csv_add_exact(struct text *out, const char *cell);

/* A comma, and a cell behind it: empty where it is NULL, or the reading is not valid. */
void csv_add_next(struct text *out, const char *cell);
void csv_add_reading(struct text *out, struct reading reading);

#endif
