#include "report/live/width.h"

#include <stdlib.h>
#include <sys/ioctl.h>

size_t width_of_terminal(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long number = columns ? strtol(columns, NULL, 10) : 0;
    return number >= 20 && number <= 10000 ? (size_t)number : 80;
}
