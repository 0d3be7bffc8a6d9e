#include "joblog/legible.h"

#include "pattern/utf8.h"

#include <stdbool.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

static bool is_control(const unsigned char *at, size_t length)
{
    if (length == 1)
        return (*at < 0x20 && *at != '\t') || *at == 0x7F;
    return length == 2 && *at == 0xC2 && at[1] < 0xA0; /* U+0080 to U+009F */
}

void legible_copy(const char *bytes, size_t count, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < count;) {
        const unsigned char *at = (const unsigned char *)bytes + i;
        size_t length = utf8_length(bytes + i, count - i);
        bool bad = length == 0 || is_control(at, length);
        const char *from = bad ? replacement : bytes + i;
        size_t adds = bad ? sizeof replacement - 1 : length;
        if (used + adds >= size)
            break;
        memcpy(out + used, from, adds);
        used += adds;
        i += length ? length : 1;
    }
    out[used] = '\0';
}
