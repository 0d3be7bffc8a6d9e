#include "ui/width.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

struct range {
    uint32_t first, last;
};

/* Unicode 15: East Asian Width W and F, in coarse blocks; and what is drawn over the character before it. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97C},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
static const struct range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF},
    {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* The character at s: its length in bytes and its code point; a broken one has length 1 and code 0. */
static size_t decode(const char *s, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)s[0];
    size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
    *code = 0;
    if (length == 0 || lead > 0xF4)
        return 1;
    uint32_t value = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)s[i];
        if ((next & 0xC0) != 0x80)
            return 1;
        value = value << 6 | (next & 0x3FU);
    }
    if (value < smallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 1;
    *code = value;
    return length;
}

static bool is_control(uint32_t code)
{
    bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 || direction;
}

static size_t columns_of(uint32_t code)
{
    if (in_ranges(combining, sizeof combining / sizeof *combining, code))
        return 0;
    return in_ranges(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
}

size_t width_columns(const char *s)
{
    size_t columns = 0;
    while (*s) {
        uint32_t code;
        s += decode(s, &code);
        columns += columns_of(code);
    }
    return columns;
}

size_t width_fit(const char *s, size_t columns, struct text *out)
{
    size_t used = 0;
    while (*s) {
        uint32_t code;
        size_t length = decode(s, &code);
        size_t needed = is_control(code) ? 1 : columns_of(code);
        if (used + needed > columns)
            break;
        if (is_control(code))
            text_add_char(out, '?');
        else
            text_add_bytes(out, s, length);
        used += needed;
        s += length;
    }
    return used;
}

size_t width_of_terminal(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long number = columns ? strtol(columns, NULL, 10) : 0;
    return number >= 20 && number <= 10000 ? (size_t)number : 80;
}
