/* ascii: classes of single characters, whatever the locale. */
#ifndef TARE_BASE_ASCII_H
#define TARE_BASE_ASCII_H

#include <stdbool.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#endif
