#include "base/csv.h"

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
    reader->at += *reader->at == '\r' && reader->end - reader->at > 1 && reader->at[1] == '\n' ? 2 : 1;
    reader->next_line++;
    return true;
}

static bool fail(struct csv_reader *reader, struct err *err, const char *what)
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
            return fail(reader, err, "a quoted cell is not closed");
        if (!*reader->at)
            return fail(reader, err, "a NUL byte");
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
            return fail(reader, err, "text behind a closing quote");
    } else {
        const char *from = reader->at;
        while (reader->at < reader->end && !strchr(",\r\n", *reader->at))
            reader->at++;
        text_add_bytes(cell, from, (size_t)(reader->at - from));
    }
    return reader->at == reader->end || *reader->at ? true : fail(reader, err, "a NUL byte");
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
            fail(reader, err, "more than 4096 cells");
            return -1;
        }
        strv_add_owned(row, text_take(&cell));
        if (reader->at == reader->end || *reader->at != ',')
            break;
        reader->at++;
    }
    skip_line_end(reader);
    return 1;
}

void csv_add_cell(struct text *out, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        text_add(out, cell);
        return;
    }
    text_add_char(out, '"');
    for (; *cell; cell++) {
        if (*cell == '"')
            text_add_char(out, '"');
        text_add_char(out, *cell);
    }
    text_add_char(out, '"');
}
