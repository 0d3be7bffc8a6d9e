/* table: a text table (libsmartcols) built cell by cell. */
#ifndef TARE_REPORT_TABLE_H
#define TARE_REPORT_TABLE_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct table;

/* Aborts without memory, as mem does. */
struct table *table_new(bool colour);
void table_free(struct table *table);

/* right: numbers. */
void table_add_column(struct table *table, const char *title, bool right);

/* Begins a row; then one cell for each column. colour: an escape sequence, or NULL. The text is copied. */
void table_add_row(struct table *table);
void table_add_cell(struct table *table, const char *text, const char *colour);

/* Title line and rows, as wide as they are. */
void table_print(struct table *table, struct text *out);

#endif
