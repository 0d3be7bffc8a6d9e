#include "base/mark.h"

#include <stddef.h>
#include <string.h>

static const char *const source_names[] = {[MARK_LOG] = "log", [MARK_FIFO] = "fifo"};

bool mark_name_is_valid(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t length = strspn(name, letters);
    return length >= 1 && length <= MARK_NAME_MAX && name[length] == '\0' && name[0] != '-' &&
           name[0] != '.';
}

const char *mark_source_name(enum mark_source source)
{
    return source_names[source];
}

bool mark_source_parse(const char *name, enum mark_source *out)
{
    for (unsigned i = 0; i < sizeof source_names / sizeof *source_names; i++)
        if (strcmp(name, source_names[i]) == 0) {
            *out = (enum mark_source)i;
            return true;
        }
    return false;
}
