#include "base/csv.h"

#include "base/mem.h"
#include "base/value.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 4096

void csv_start(struct csv_reader *reader, const char *bytes, size_t count)
{
    *reader = (struct csv_reader){.at = bytes, .end = bytes + count, .next_line = 1};
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        reader->at += 3;
}

/* Steps over one line end, if there is one. */
static bool skip_line_end(struct csv_reader *reader)
{
    if (reader->at == reader->end || (*reader->at != '\n' && *reader->at != '\r'))
        return false;
    reader->at +=
        *reader->at == '\r' && reader->end - reader->at > 1 && reader->at[1] == '\n' ? 2 : 1;
    reader->next_line++;
    return true;
}

static bool fail_row(struct csv_reader *reader, struct err *err, const char *what)
{
    reader->at = reader->end; /* what comes after cannot be trusted: no further row */
    return err_set(err, "line %zu: %s", reader->line, what);
}

/* From behind the opening quote to behind the closing one. */
static bool read_quoted(struct csv_reader *reader, struct text *cell, struct err *err)
{
    for (;;) {
        const char *from = reader->at;
        while (reader->at < reader->end && !strchr("\"\r\n", *reader->at))
            reader->at++; /* NUL stops here too: strchr finds it */
        text_add_bytes(cell, from, (size_t)(reader->at - from));
        from = reader->at;
        if (reader->at == reader->end)
            return fail_row(reader, err, "a quoted cell is not closed");
        if (!*reader->at)
            return fail_row(reader, err, "a NUL byte");
        if (skip_line_end(reader)) {
            text_add_bytes(cell, from, (size_t)(reader->at - from));
            continue;
        }
        reader->at++;
        if (reader->at == reader->end || *reader->at != '"')
            return true;
        text_add_char(cell, *reader->at++);
    }
}

static bool read_cell(struct csv_reader *reader, struct text *cell, struct err *err)
{
    if (reader->at < reader->end && *reader->at == '"') {
        reader->at++;
        if (!read_quoted(reader, cell, err))
            return false;
        if (reader->at < reader->end && !strchr(",\r\n", *reader->at))
            return fail_row(reader, err, "text behind a closing quote");
    } else {
        const char *from = reader->at;
        while (reader->at < reader->end && !strchr(",\r\n", *reader->at))
            reader->at++;
        text_add_bytes(cell, from, (size_t)(reader->at - from));
    }
    return reader->at == reader->end || *reader->at ? true : fail_row(reader, err, "a NUL byte");
}

/* Signs and digits alone, as in -1.5e3, +00:00 or -inf: nothing that a spreadsheet could
 * compute. */
static bool is_figure(const char *cell)
{
    cell += *cell == '-' || *cell == '+';
    if (strcmp(cell, "inf") == 0 || strcmp(cell, "nan") == 0)
        return true;
    size_t digits = strspn(cell, "0123456789.:");
    cell += digits;
    if (digits && (*cell == 'e' || *cell == 'E')) {
        cell++;
        cell += *cell == '-' || *cell == '+';
        size_t exponent = strspn(cell, "0123456789");
        cell += exponent;
        digits = exponent;
    }
    return digits && !*cell;
}

/* What spreadsheets take for a formula, with any number of apostrophes before it
 * (https://owasp.org/www-community/attacks/CSV_Injection): ASCII's signs and their full-width
 * forms. One apostrophe more is written, and one less is read, so that every cell comes back as it
 * was. */
static bool is_formula(const char *cell)
{
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                       "\xef\xbc\xa0"};
    const char *at = cell + strspn(cell, "'");
    bool begins = *at && strchr("=+-@\t\r\n", *at);
    EACH_OF (item, wide)
        begins |= strncmp(at, *item, strlen(*item)) == 0;
    return begins && (at > cell || !is_figure(cell));
}

int csv_next(struct csv_reader *reader, struct strv *row, struct err *err)
{
    while (row->count)
        free(row->items[--row->count]);
    while (skip_line_end(reader))
        ;
    if (reader->at == reader->end)
        return 0;
    reader->line = reader->next_line;
    for (;;) {
        AUTO_TEXT struct text cell = {0};
        if (!read_cell(reader, &cell, err))
            return -1;
        if (row->count == MOST_CELLS) {
            fail_row(reader, err, "more than 4096 cells");
            return -1;
        }
        bool escaped = cell.length && *text_get(&cell) == '\'' && is_formula(text_get(&cell));
        strv_add_owned(row, escaped ? mem_strdup(text_get(&cell) + 1) : text_take(&cell));
        if (reader->at == reader->end || *reader->at != ',')
            break;
        reader->at++;
    }
    skip_line_end(reader);
    return 1;
}

static void append_csv_cell(struct text *out, const char *cell, bool escape)
{
    /* Where a comma separates decimals, spreadsheets part cells at semicolons. */
    if (!escape && !strpbrk(cell, ",;\t\"\r\n")) {
        text_add(out, cell);
        return;
    }
    text_add(out, escape ? "\"'" : "\"");
    for (; *cell; cell++) {
        if (*cell == '"')
            text_add_char(out, '"');
        text_add_char(out, *cell);
    }
    text_add_char(out, '"');
}

void csv_add_cell(struct text *out, const char *cell)
{
    append_csv_cell(out, cell, is_formula(cell));
}

void csv_add_exact(struct text *out, const char *cell)
{
    append_csv_cell(out, cell, false);
}

void csv_add_next(struct text *out, const char *cell)
{
    text_add_char(out, ',');
    csv_add_cell(out, cell ? cell : "");
}

void csv_add_reading(struct text *out, struct reading reading)
{
    char shortest[32] = "";
    if (reading.valid)
        number_shortest(reading.value, shortest);
    csv_add_next(out, shortest);
}
