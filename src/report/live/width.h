/* width: how wide a terminal is. */
#ifndef TARE_REPORT_LIVE_WIDTH_H
#define TARE_REPORT_LIVE_WIDTH_H

#include <stddef.h>

/* Columns of the terminal behind fd, else of COLUMNS, else 80. */
size_t width_of_terminal(int fd);

#endif
