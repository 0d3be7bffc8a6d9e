#include "report/live/layout.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP    "  "
#define INDENT "  "

void bar_draw(double share, size_t width, bool ascii, struct text *out)
{
    size_t halves = (size_t)(fmin(fmax(share, 0), 1) * 2 * (double)width + 1e-9);
    if (ascii)
        text_add_char(out, '[');
    for (size_t i = 0; i < width; i++) {
        if (ascii)
            text_add_char(out, halves >= 2 * i + 2 ? '#' : '.');
        else
            text_add(out, halves >= 2 * i + 2 ? "━" : halves == 2 * i + 1 ? "╸" : "─");
    }
    if (ascii)
        text_add_char(out, ']');
}

/* Rows of at most width columns. */
struct rows {
    struct text *out;
    size_t width, most, count; /* count: rows that were begun */
    size_t used;               /* columns of the last */
    size_t empty;              /* as many of these are its indent */
    size_t part, part_used;    /* where the last part begins in out, and in columns */
    const char *more;          /* what says that something is left out */
    bool full;                 /* something was: nothing is added any more */
};

/* As many whole words as fit, and the sign of more. */
static void cut_words(const char *words, size_t columns, const char *more, struct text *out)
{
    size_t fits = 0, used = 0, sign = utf8_columns(more),
           room = columns > sign ? columns - sign : 0;
    for (size_t at = 0; words[at];) {
        size_t end = at + strcspn(words + at, " ");
        AUTO_FREE char *word = mem_strndup(words + at, end - at);
        used += (at - fits) + utf8_columns(word);
        if (used >= room) /* a blank comes before the sign */
            break;
        fits = end;
        at = end + strspn(words + end, " ");
    }
    AUTO_FREE char *whole = mem_strndup(words, fits);
    /* Where less than half of the row were left, a part of the word says more. */
    if (utf8_columns(whole) * 2 < columns) {
        utf8_fit(words, room, out);
    } else {
        text_add(out, whole);
        text_add_char(out, ' ');
    }
    text_add(out, more);
}

static void begin_next_row(struct rows *rows)
{
    if (rows->count > 0)
        text_add(rows->out, "\n" INDENT);
    rows->used = rows->empty = rows->count > 0 ? strlen(INDENT) : 0;
    rows->count++;
}

/* The sign at the end of the last row replaces all that is left out and, if it does not fit
 * otherwise, the part before it. */
static void mark_left_out(struct rows *rows)
{
    rows->full = true;
    if (rows->used + 1 + utf8_columns(rows->more) <= rows->width) {
        text_addf(rows->out, " %s", rows->more);
        return;
    }
    AUTO_FREE char *part = mem_strdup(text_get(rows->out) + rows->part);
    rows->out->length = rows->part;
    rows->out->data[rows->part] = '\0';
    rows->used = rows->part_used;
    if (rows->used > rows->empty)
        mark_left_out(rows);
    else
        cut_words(part, rows->width > rows->used ? rows->width - rows->used : 1, rows->more,
                  rows->out);
}

/* Appends the part to the row, or begins the next row with it. */
static void put_part(struct rows *rows, const char *part)
{
    size_t columns = utf8_columns(part), gap = rows->used > rows->empty ? strlen(GAP) : 0;
    bool last = rows->count == rows->most;
    if (rows->full)
        return;
    if (rows->used + gap + columns > rows->width && gap > 0) {
        if (last) {
            mark_left_out(rows);
            return;
        }
        begin_next_row(rows);
        gap = 0;
    }
    rows->part = rows->out->length;
    rows->part_used = rows->used;
    if (gap)
        text_add(rows->out, GAP);
    rows->used += gap;
    size_t left = rows->width > rows->used ? rows->width - rows->used : 1;
    if (columns <= left)
        text_add(rows->out, part);
    else
        cut_words(part, left, rows->more, rows->out);
    rows->used += columns < left ? columns : left;
}

/* Columns of the parts of a group side by side. */
static size_t group_columns(const char *group)
{
    size_t parts = 1;
    for (const char *c = group; *c; c++)
        parts += *c == LAYOUT_PART[0];
    /* A separator counts as one column. */
    return utf8_columns(group) + (parts - 1) * (strlen(GAP) - 1);
}

void layout_rows(const char *words, size_t width, size_t most, bool ascii, struct text *out)
{
    struct rows rows = {
        .out = out, .width = width, .most = most ? most : 1, .more = ascii ? "..." : "…"};
    AUTO_FREE char *copy = mem_strdup(words);
    char *group_rest, *part_rest;
    begin_next_row(&rows);
    for (char *group = strtok_r(copy, LAYOUT_GROUP, &group_rest); group;
         group = strtok_r(NULL, LAYOUT_GROUP, &group_rest)) {
        size_t columns = group_columns(group);
        bool whole = rows.used + strlen(GAP) + columns <= width;
        if (!whole && rows.used > rows.empty && columns + strlen(INDENT) <= width &&
            rows.count < rows.most)
            begin_next_row(&rows);
        for (char *part = strtok_r(group, LAYOUT_PART, &part_rest); part;
             part = strtok_r(NULL, LAYOUT_PART, &part_rest))
            put_part(&rows, part);
    }
}

void layout_ascii(const char *words, struct text *out)
{
    static const struct {
        const char *from, *to;
    } known[] = {{"±", "+-"}, {"°", ""}, {"…", "..."}};
    while (*words) {
        size_t length = utf8_length(words, strlen(words)), i = 0;
        length = length ? length : 1;
        for (; i < sizeof known / sizeof *known && strncmp(words, known[i].from, length) != 0; i++)
            ;
        if (length == 1 && (unsigned char)*words < 0x80)
            text_add_char(out, *words);
        else
            text_add(out, i < sizeof known / sizeof *known ? known[i].to : "?");
        words += length;
    }
}
