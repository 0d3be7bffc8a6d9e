#include "gpu_memory/allocator/names.h"

#include <string.h>

static const char *const texts[NAME_COUNT] = {"",
#define X(name, text) text,
                                              NAMES(X)
#undef X
};

static size_t slot(const char *text, size_t length)
{
    return (length * 7 + (unsigned char)text[0] + (size_t)(unsigned char)text[length - 1] * 3) % 128;
}

void names_init(struct names *names)
{
    memset(names, 0, sizeof *names);
    for (unsigned name = 1; name < NAME_COUNT; name++) {
        uint8_t *first = &names->first[slot(texts[name], strlen(texts[name]))];
        names->next[name] = *first;
        *first = (uint8_t)name;
    }
}

enum name names_find(const struct names *names, const char *text, size_t length)
{
    if (length == 0)
        return NAME_UNKNOWN;
    unsigned name = names->first[slot(text, length)];
    while (name && (strlen(texts[name]) != length || memcmp(texts[name], text, length) != 0))
        name = names->next[name];
    return name;
}

const char *name_text(enum name name)
{
    return texts[name];
}
