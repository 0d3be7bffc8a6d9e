/* table: columns and rows of text once, and two writers: a terminal's (libsmartcols) and a
 * page's. */
#ifndef TARE_REPORT_TABLE_H
#define TARE_REPORT_TABLE_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct table;

/* Titles of all columns: ">TITLE" is set to the right, as numbers are; NULL: this column is left
 * out, as its cell in each row is. Then a text for each column, which is taken; NULL: an empty
 * cell. Aborts without memory, as mem does. */
#define table_of(colour, ...) \
    table_with(colour, (const char *const[]){__VA_ARGS__}, TABLE_COUNT(__VA_ARGS__))
#define table_row(table, ...) \
    table_take_row(table, (char *[]){__VA_ARGS__}, TABLE_COUNT(__VA_ARGS__))
#define TABLE_COUNT(...) (sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *))
struct table *table_with(bool colour, const char *const *titles, size_t count);
void table_take_row(struct table *table, char *const *texts, size_t count);

/* Of a cell of the last row, an escape sequence, or in a page a class; NULL: none. column: its
 * place among the titles, those left out counted. */
void table_tint(struct table *table, size_t column, const char *colour);

/* Title line and rows, as wide as they are; frees the table. rows: how many there are. */
size_t table_rows(const struct table *table);
void table_end(struct table *table, struct text *out);

/* The same as an element of a page, which scrolls where it is wider; without a title line where no
 * column has a title. */
void table_end_page(struct table *table, struct text *out);

/* The same one by one, where titles are not the program's own: first all columns. */
struct table *table_new(bool colour);
void table_free(struct table *table);

/* right: numbers. */
void table_add_column(struct table *table, const char *title, bool right);

/* Begins a row; then one cell for each column. colour: as of table_tint. The text is copied. */
void table_add_row(struct table *table);
void table_add_cell(struct table *table, const char *text, const char *colour);

void table_print(const struct table *table, struct text *out);

/* Columns of the widest line of what was printed, escape sequences not counted. */
size_t table_widest(const char *printed);

#endif
