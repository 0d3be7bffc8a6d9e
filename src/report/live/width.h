/* width: how wide a terminal is, and what it can show. */
#ifndef TARE_REPORT_LIVE_WIDTH_H
#define TARE_REPORT_LIVE_WIDTH_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of the terminal behind fd, else of COLUMNS, else 80. */
size_t width_of_terminal(int fd);
size_t height_of_terminal(int fd); /* rows; else 24 */

/* The environment names a locale of UTF-8 (LC_ALL, LC_CTYPE, LANG: the first that is set). */
bool width_is_utf8(void);

#endif
