#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *err, const char *format, ...)
{
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = 0;
    return false;
}

bool err_sys(struct err *err, const char *format, ...)
{
    int code = errno;
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    const char *hint = code == EFBIG ? " (limit on file sizes: ulimit -f)" : "";
    snprintf(err->text + used, sizeof err->text - used, ": %s%s", strerror(code), hint);
    err->code = code;
    return false;
}

bool err_wrap(struct err *err, const char *format, ...)
{
    if (!err)
        return false;
    char before[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(before, sizeof before, format, args);
    va_end(args);
    size_t used = strlen(before);
    char *end = before + used;
    if (used + 2 < sizeof before) {
        end = stpcpy(end, ": ");
        *stpncpy(end, err->text, (size_t)(before + sizeof before - 1 - end)) =
            '\0'; /* cut where it is too long */
    }
    strcpy(err->text, before);
    return false;
}

bool err_is_shortage(int code)
{
    return code == EMFILE || code == ENFILE || code == ENOMEM || code == EAGAIN || code == ENOBUFS;
}
