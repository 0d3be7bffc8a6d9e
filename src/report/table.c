#include "report/table.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <libsmartcols.h>
#include <stdlib.h>

struct table {
    struct libscols_table *scols;
    struct libscols_line *row;
    size_t cell, rows;
    size_t count; /* of the columns given to table_with */
    bool *shown;  /* which of them */
};

static void *must(void *made)
{
    if (!made)
        abort();
    return made;
}

struct table *table_new(bool colour)
{
    struct table *table = mem_alloc(sizeof *table);
    table->scols = must(scols_new_table());
    scols_table_enable_colors(table->scols, colour);
    scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER);
    scols_table_set_column_separator(table->scols, "  ");
    return table;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    scols_unref_table(table->scols);
    free(table->shown);
    free(table);
}

void table_add_column(struct table *table, const char *title, bool right)
{
    must(scols_table_new_column(table->scols, title, 0, right ? SCOLS_FL_RIGHT : 0));
}

void table_add_row(struct table *table)
{
    table->row = must(scols_table_new_line(table->scols, NULL));
    table->cell = 0;
    table->rows++;
}

void table_add_cell(struct table *table, const char *text, const char *colour)
{
    struct libscols_cell *cell = must(scols_line_get_cell(table->row, table->cell++));
    AUTO_FREE char *safe = text ? utf8_line(text) : NULL;
    if (scols_cell_set_data(cell, safe) != 0)
        abort();
    if (colour && scols_table_colors_wanted(table->scols))
        scols_cell_set_color(cell, colour);
}

struct table *table_with(bool colour, const char *const *titles, size_t count)
{
    struct table *table = table_new(colour);
    table->count = count;
    table->shown = mem_array(count, sizeof *table->shown);
    for (size_t i = 0; i < count; i++) {
        bool right = titles[i] && *titles[i] == '>';
        table->shown[i] = titles[i] != NULL;
        if (titles[i])
            table_add_column(table, titles[i] + right, right);
    }
    return table;
}

void table_take_row(struct table *table, char *const *texts, size_t count)
{
    if (count != table->count)
        abort();
    table_add_row(table);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *text = texts[i];
        if (table->shown[i])
            table_add_cell(table, text ? text : "", NULL);
    }
}

void table_tint(struct table *table, size_t column, const char *colour)
{
    size_t at = 0;
    for (size_t i = 0; i < column; i++)
        at += table->shown[i];
    if (table->shown[column] && colour && scols_table_colors_wanted(table->scols))
        scols_cell_set_color(must(scols_line_get_cell(table->row, at)), colour);
}

size_t table_rows(const struct table *table)
{
    return table->rows;
}

void table_end(struct table *table, struct text *out)
{
    table_print(table, out);
    table_free(table);
}

/* The last column's padding is of no use, and in the way of whoever copies the table. */
static void add_line_without_trailing_blanks(struct text *out, const char *line, size_t length)
{
    while (length > 0 && line[length - 1] == ' ')
        length--;
    text_add_bytes(out, line, length);
    text_add_char(out, '\n');
}

void table_print(struct table *table, struct text *out)
{
    AUTO_FREE char *printed = NULL;
    if (scols_print_table_to_string(table->scols, &printed) != 0)
        abort();
    const char *at = printed;
    while (at && *at) {
        const char *end = at;
        while (*end && *end != '\n')
            end++;
        add_line_without_trailing_blanks(out, at, (size_t)(end - at));
        at = *end ? end + 1 : end;
    }
}
