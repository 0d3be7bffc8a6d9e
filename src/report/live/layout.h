/* Words on rows: parts are kept together where they can be, and no word is broken. */
#ifndef TARE_REPORT_LIVE_LAYOUT_H
#define TARE_REPORT_LIVE_LAYOUT_H

#include "report/live/parts.h"
#include "report/live/progress_private.h"

/* width columns, of which share is filled; ascii: in brackets. */
void bar_draw(double share, size_t width, bool ascii, struct text *out);

/* Rows with '\n' between them, each of at most width columns; those behind the first are indented.
 * What has no place on most rows is left out, which "…" (ascii: "...") says; only a word that is
 * wider than a row is broken. */
void layout_rows(const char *words, size_t width, size_t most, bool ascii, struct text *out);

/* In ASCII alone: "+-" for "±", "?" for what has no like. */
void layout_ascii(const char *words, struct text *out);

#endif
