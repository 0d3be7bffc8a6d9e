#include "pattern/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_length(const char *at, size_t left)
{
    static const struct {
        unsigned char lead_min, lead_max, next_min, next_max;
        size_t length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *bytes = (const unsigned char *)at;
    if (bytes[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (bytes[0] < forms[i].lead_min || bytes[0] > forms[i].lead_max || forms[i].length > left)
            continue;
        if (bytes[1] < forms[i].next_min || bytes[1] > forms[i].next_max)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((bytes[k] & 0xC0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

bool utf8_is_valid(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint64_t word;
        if (count - i >= sizeof word) {
            memcpy(&word, bytes + i, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof word;
                continue;
            }
        }
        size_t length = utf8_length(bytes + i, count - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}
