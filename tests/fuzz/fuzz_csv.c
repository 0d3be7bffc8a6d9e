/* Any bytes read as CSV; what was read and written again reads the same. */
#include "base/csv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One row, with a cell in front that keeps a row of one empty cell from being an empty line. */
static void write_row(const struct strv *row, struct text *out)
{
    text_add(out, "row");
    for (size_t i = 0; i < row->count; i++) {
        text_add_char(out, ',');
        csv_add_cell(out, row->items[i]);
    }
    text_add(out, "\n");
}

static void check_same(const struct strv *row)
{
    AUTO_TEXT struct text written = {0};
    write_row(row, &written);
    AUTO_STRV struct strv again = {0};
    struct csv_reader reader;
    csv_start(&reader, written.data, written.length);
    int result = csv_next(&reader, &again, NULL);
    if (row->count == 4096) { /* with the cell in front, too many */
        if (result != -1)
            abort();
        return;
    }
    if (result != 1 || again.count != row->count + 1)
        abort();
    for (size_t i = 0; i < row->count; i++)
        if (strcmp(row->items[i], again.items[i + 1]) != 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_STRV struct strv row = {0};
    struct csv_reader reader;
    struct err err;
    csv_start(&reader, (const char *)data, size);
    size_t line = 0;
    int result;
    while ((result = csv_next(&reader, &row, &err)) == 1) {
        if (row.count == 0 || row.count > 4096 || reader.line <= line)
            abort();
        line = reader.line;
        check_same(&row);
    }
    if (result == -1 && strncmp(err.text, "line ", 5) != 0)
        abort();
    return 0;
}
