#include "report/watch/grid.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void grid_resize(struct grid *grid, size_t rows, size_t columns)
{
    if (rows * columns > grid->rows * grid->columns || !grid->cells) {
        free(grid->cells);
        grid->cells = mem_array(rows * columns + 1, sizeof *grid->cells);
    }
    grid->rows = rows;
    grid->columns = columns;
    for (size_t i = 0; i < rows * columns; i++)
        grid->cells[i] = (struct grid_cell){.text = " "};
}

void grid_fini(struct grid *grid)
{
    free(grid->cells);
    *grid = (struct grid){0};
}

static struct grid_cell *area_cell_at(const struct grid_area *area, size_t row, size_t column)
{
    size_t x = area->column + column, y = area->row + row;
    bool inside = row < area->rows && column < area->columns && y < area->grid->rows &&
                  x < area->grid->columns;
    return inside ? &area->grid->cells[y * area->grid->columns + x] : NULL;
}

/* A character of ours in ASCII; NULL: it has no like. */
static const char *like(const char *character)
{
    static const char *const likes[][2] = {
        {"─", "-"}, {"│", "|"}, {"┌", "+"}, {"┐", "+"}, {"└", "+"}, {"┘", "+"},
        {"━", "="}, {"╸", "-"}, {"✓", "+"}, {"✗", "x"}, {"▶", ">"}, {"·", "."},
        {"…", "."}, {"–", "-"}, {"±", "~"}, {"↻", "o"},
    };
    EACH_OF (item, likes)
        if (strcmp(character, (*item)[0]) == 0)
            return (*item)[1];
    return NULL;
}

static void set_cell(struct grid_cell *cell, const char *text, size_t length, enum grid_style style)
{
    memcpy(cell->text, text, length);
    cell->text[length] = '\0';
    cell->style = (unsigned char)style;
}

/* Where a wide character loses one of its halves the other becomes blank. */
static void free_cell(const struct grid_area *area, size_t row, size_t column)
{
    struct grid_cell *cell = area_cell_at(area, row, column),
                     *before = column > 0 ? area_cell_at(area, row, column - 1) : NULL;
    struct grid_cell *behind = area_cell_at(area, row, column + 1);
    if (cell && !*cell->text && before)
        set_cell(before, " ", 1, before->style);
    if (behind && !*behind->text)
        set_cell(behind, " ", 1, behind->style);
}

/* One character; gives the columns that it took: 0 for one that combines with the one before, or of
 * which there is no room. */
static size_t put_character(const struct grid_area *area, size_t row, size_t column,
                            enum grid_style style, const char *text)
{
    const char *shown = area->grid->ascii && (unsigned char)*text >= 0x80 ? like(text) : text;
    shown = shown ? shown : "?";
    size_t columns = utf8_columns(shown), length = strlen(shown);
    struct grid_cell *cell = area_cell_at(area, row, column),
                     *before = column > 0 ? area_cell_at(area, row, column - 1) : NULL;
    if (columns == 0 && before && *before->text && strlen(before->text) + length < GRID_BYTES)
        memcpy(before->text + strlen(before->text), shown, length + 1);
    if (columns == 0 || !cell || (columns == 2 && !area_cell_at(area, row, column + 1)))
        return 0;
    free_cell(area, row, column);
    set_cell(cell, shown, length, style);
    if (columns == 2) {
        free_cell(area, row, column + 1);
        set_cell(area_cell_at(area, row, column + 1), "", 0, style);
    }
    return columns;
}

static bool next_character(const char **at, char out[GRID_BYTES])
{
    size_t left = strnlen(*at, GRID_BYTES);
    if (left == 0)
        return false;
    struct utf8_step step = utf8_step(*at, left);
    bool fits = step.shown && step.length < GRID_BYTES;
    memcpy(out, fits ? *at : "?", fits ? step.length : 1);
    out[fits ? step.length : 1] = '\0';
    *at += step.length;
    return true;
}

size_t grid_put(const struct grid_area *area, size_t row, size_t column, enum grid_style style,
                const char *text)
{
    char character[GRID_BYTES];
    if (row >= area->rows)
        return column;
    size_t begin = column;
    while (next_character(&text, character)) {
        size_t columns = utf8_columns(character);
        if (column + columns > area->columns) {
            if (area->columns > begin)
                put_character(area, row, area->columns - 1, style, "…");
            return area->columns;
        }
        column += put_character(area, row, column, style, character);
    }
    return column;
}

size_t grid_putf(const struct grid_area *area, size_t row, size_t column, enum grid_style style,
                 const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    size_t behind = length < 0 ? column : grid_put(area, row, column, style, text);
    if (length >= 0)
        free(text);
    return behind;
}

size_t grid_field(const struct grid_area *area, size_t row, size_t column, size_t width, bool right,
                  enum grid_style style, const char *text)
{
    if (column >= area->columns)
        return column + width;
    struct grid_area field = *area;
    field.column += column;
    field.columns = width < area->columns - column ? width : area->columns - column;
    size_t columns = right ? utf8_columns(text) : 0;
    grid_put(&field, row, right && columns < field.columns ? field.columns - columns : 0, style,
             text);
    return column + width;
}

void grid_choose(const struct grid_area *area, size_t row)
{
    for (size_t i = 0; i < area->columns; i++) {
        struct grid_cell *cell = area_cell_at(area, row, i);
        if (cell)
            cell->chosen = true;
    }
}

struct grid_area grid_frame(struct grid_area area, const char *title, bool strong)
{
    enum grid_style style = strong ? GRID_STRONG : GRID_DIM;
    if (area.rows < 3 || area.columns < 4)
        return (struct grid_area){.grid = area.grid};
    size_t last_row = area.rows - 1, last = area.columns - 1;
    for (size_t i = 1; i < last; i++) {
        put_character(&area, 0, i, style, "─");
        put_character(&area, last_row, i, style, "─");
    }
    for (size_t i = 1; i < last_row; i++) {
        put_character(&area, i, 0, style, "│");
        put_character(&area, i, last, style, "│");
    }
    put_character(&area, 0, 0, style, "┌");
    put_character(&area, 0, last, style, "┐");
    put_character(&area, last_row, 0, style, "└");
    put_character(&area, last_row, last, style, "┘");
    struct grid_area top = {area.grid, area.row, area.column + 2, 1,
                            area.columns > 6 ? area.columns - 4 : 0};
    size_t behind = grid_putf(&top, 0, 0, strong ? GRID_STRONG : GRID_PLAIN, " %s", title);
    grid_put(&top, 0, behind, style, behind < top.columns ? " " : "");
    return (struct grid_area){area.grid, area.row + 1, area.column + 1, area.rows - 2,
                              area.columns - 2};
}

void grid_print(const struct grid *grid, struct text *out)
{
    for (size_t row = 0; row < grid->rows; row++) {
        size_t end = grid->columns;
        const struct grid_cell *cells = &grid->cells[row * grid->columns];
        while (end > 0 && strcmp(cells[end - 1].text, " ") == 0)
            end--;
        EACH (cell, cells, end)
            text_add(out, cell->text);
        text_add_char(out, '\n');
    }
}
