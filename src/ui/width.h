/* width: how many columns of a terminal a text takes, whatever the locale. */
#ifndef TARE_UI_WIDTH_H
#define TARE_UI_WIDTH_H

#include "base/text.h"

#include <stddef.h>

/* UTF-8; wide characters (CJK, emoji) count 2, combining ones 0, a broken byte 1. */
size_t width_columns(const char *s);

/* Adds as much of s as fits into columns, whole characters only; control characters and broken bytes become '?', so
 * that nothing that came out of a log can steer the terminal. Gives the columns used. */
size_t width_fit(const char *s, size_t columns, struct text *out);

/* Columns of the terminal behind fd, else of COLUMNS, else 80. */
size_t width_of_terminal(int fd);

#endif
