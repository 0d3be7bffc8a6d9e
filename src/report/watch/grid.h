/* grid: what a terminal shows, cell by cell: text in a few styles, cut to its place. Nothing here
 * knows of a terminal, so that it can be tested; session/watch_screen.c shows it. All text is made
 * printable on its way in. */
#ifndef TARE_REPORT_WATCH_GRID_H
#define TARE_REPORT_WATCH_GRID_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum grid_style {
    GRID_PLAIN,
    GRID_DIM,
    GRID_STRONG,
    GRID_GOOD,
    GRID_WARN,
    GRID_BAD,
    GRID_POWER,
    GRID_METRIC,
    GRID_STYLES
};

enum { GRID_BYTES = 16 }; /* of a cell: a character with what combines with it */

struct grid_cell {
    /* one character of one or two columns; "": the right half of the one before */
    char text[GRID_BYTES];
    unsigned char style;
    bool chosen; /* shown in reverse */
};

struct grid {
    size_t rows, columns;
    struct grid_cell *cells; /* rows * columns, row by row */
    bool ascii;              /* no other characters: what has no like is '?' */
};

/* All blank. Keeps ascii. */
void grid_resize(struct grid *grid, size_t rows, size_t columns);
void grid_fini(struct grid *grid);

/* A part of the grid; what is put behind its right end is cut, which the last column says with an
 * ellipsis. */
struct grid_area {
    struct grid *grid;
    size_t row, column, rows, columns;
};

/* Puts text into row (from 0) of the area, from column on; gives the column behind it, at most the
 * area's columns. A row outside of the area takes nothing. */
size_t grid_put(const struct grid_area *area, size_t row, size_t column, enum grid_style style,
                const char *text);
size_t grid_putf(const struct grid_area *area, size_t row, size_t column, enum grid_style style,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same in a field of so many columns, cut to it; right: at its right end. Gives the column
 * behind the field. */
size_t grid_field(const struct grid_area *area, size_t row, size_t column, size_t width, bool right,
                  enum grid_style style, const char *text);

/* The whole row of the area is shown as chosen. */
void grid_choose(const struct grid_area *area, size_t row);

/* A frame at the area's border with a title; gives what is inside. strong: the pane that has the
 * keys. Less than 3 rows or 4 columns have nothing inside. */
struct grid_area grid_frame(struct grid_area area, const char *title, bool strong);

/* Rows as lines, blanks at their ends left out. */
void grid_print(const struct grid *grid, struct text *out);

#endif
