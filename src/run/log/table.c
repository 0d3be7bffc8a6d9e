#include "run/log/table.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "run/log/number_read.h"

#include <string.h>

enum { HEADER_CELL_MAX = 40 };

static char find_delimiter(const char *text)
{
    for (const char *c = "|,;\t"; *c; c++)
        if (strchr(text, *c))
            return *c;
    return ' ';
}

static void add_table_cell(const char *text, size_t begin, size_t end, struct table_column *cells,
                           size_t *count)
{
    while (begin < end && text[begin] == ' ')
        begin++;
    while (begin < end && text[end - 1] == ' ')
        end--;
    if (*count < TABLE_COLUMNS_MAX)
        cells[*count] = (struct table_column){.begin = (uint32_t)begin, .end = (uint32_t)end};
    ++*count;
}

/* May exceed the room. */
static size_t split_cells(const char *text, size_t length, char delimiter,
                          struct table_column *cells)
{
    size_t count = 0, begin = strspn(text, " "), end = length;
    while (end > begin && text[end - 1] == ' ')
        end--;
    if (delimiter == '|' && begin < end && text[begin] == '|')
        begin++;
    if (delimiter == '|' && begin < end && text[end - 1] == '|')
        end--;
    for (size_t at = begin; at <= end; at++) {
        bool is_gap = delimiter == ' ' && at + 1 < end && text[at] == ' ' && text[at + 1] == ' ';
        if (at < end && !is_gap && (delimiter == ' ' || text[at] != delimiter))
            continue;
        add_table_cell(text, begin, at, cells, &count);
        while (is_gap && text[at + 1] == ' ')
            at++;
        begin = at + 1;
    }
    return count;
}

static bool read_table_header(const struct printed_line *line,
                              const struct printed_name *vocabulary, size_t count,
                              struct log_table *out)
{
    struct log_table found = {.delimiter = find_delimiter(line->text)};
    size_t known = 0;
    found.count = split_cells(line->text, line->length, found.delimiter, found.columns);
    if (found.count < 2 || found.count > TABLE_COLUMNS_MAX || line->is_cut)
        return false;
    EACH (column, found.columns, found.count) {
        const char *text = line->text + column->begin;
        size_t length = column->end - column->begin;
        if (length > HEADER_CELL_MAX || (length && (ascii_is_digit(*text) || strchr("-+.", *text))))
            return false;
        column->is_known = printed_column_parse(line, column->begin, column->end, vocabulary, count,
                                                &column->name);
        known += column->is_known;
    }
    if (known)
        *out = found;
    return known > 0;
}

/* If cells are empty, the overlapping one. NULL: none. */
static const struct table_column *find_cell(const struct log_table *table, size_t column,
                                            const struct table_column *cells, size_t count)
{
    const struct table_column *found = NULL;
    if (count == table->count)
        return &cells[column];
    EACH (cell, cells, count) {
        if (cell->end <= table->columns[column].begin || cell->begin >= table->columns[column].end)
            continue;
        if (found)
            return NULL;
        found = cell;
    }
    return found;
}

static void read_table_row(const struct log_table *table, struct printed_line *line,
                           locale_t c_locale)
{
    struct table_column cells[TABLE_COLUMNS_MAX] = {{0}};
    size_t count = split_cells(line->text, line->length, table->delimiter, cells);
    bool has_empty = count < table->count && table->delimiter == ' ';
    if ((count != table->count && !has_empty) || !ascii_is_digit(line->text[cells[0].begin]))
        return;
    for (size_t i = 0; i < table->count && line->value_count < PRINTED_VALUES_MAX; i++) {
        const struct table_column *cell =
            table->columns[i].is_known ? find_cell(table, i, cells, count) : NULL;
        if (!cell)
            continue;
        struct printed_value value = table->columns[i].name;
        value.text = line->text + cell->begin;
        value.length = cell->end - cell->begin;
        bool is_cut = line->is_cut && cell->end == line->length;
        value.readable = !is_cut && number_read(value.text, value.length, c_locale, &value.number);
        if (value.readable || (value.length && ascii_is_digit(*value.text)))
            line->values[line->value_count++] = value;
    }
}

void log_table_read_line(struct log_table *table, struct printed_line *line,
                         const struct printed_name *vocabulary, size_t count, locale_t c_locale)
{
    if (line->value_count > 0 || line->token_count == 0)
        return;
    if (!read_table_header(line, vocabulary, count, table) && table->count)
        read_table_row(table, line, c_locale);
}
