#include "report/live/width.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
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

size_t height_of_terminal(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

bool width_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    EACH_OF (name, names) {
        const char *value = getenv(*name);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}
