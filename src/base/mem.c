#include "base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *mem_alloc(size_t size)
{
    return checked(calloc(1, size ? size : 1));
}

void *mem_array(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_resize(void *old, size_t count, size_t size)
{
    return checked(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *mem_strdup(const char *s)
{
    return s ? checked(strdup(s)) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
    return checked(strndup(s, n));
}

char *mem_vprintf(const char *format, va_list args)
{
    char *made = NULL;
    int length = vasprintf(&made, format, args);
    return checked(length < 0 ? NULL : made);
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *made = mem_vprintf(format, args);
    va_end(args);
    return made;
}

void *mem_room(void *items, size_t count, size_t size)
{
    bool is_full = count == 0 || (count >= 8 && (count & (count - 1)) == 0);
    return is_full ? mem_resize(items, count ? 2 * count : 8, size) : items;
}
