#include "run/log/rank.h"

#include "base/mem.h"

#include <string.h>

enum { LABEL_BYTES = 40 };

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* "rank: 1", "rank1", "default12" */
static const char *skip_name(const char *text)
{
    static const char *const names[] = {"local_rank", "rank", "Rank", "default"};
    EACH_OF (name, names)
        if (strncmp(text, *name, strlen(*name)) == 0) {
            text += strlen(*name);
            text += *text == ':';
            return text + (*text == ' ');
        }
    return NULL;
}

bool rank_is_other(const char *line, size_t length)
{
    char label[LABEL_BYTES + 1];
    while (length && *line == ' ') {
        line++;
        length--;
    }
    if (length == 0 || *line != '[')
        return false;
    size_t bytes = length < LABEL_BYTES ? length : LABEL_BYTES;
    memcpy(label, line, bytes);
    label[bytes] = '\0';
    const char *at = skip_name(label + 1);
    bool is_named = at != NULL;
    if (!at) {
        at = label + 1;
        size_t job = count_digits(at);
        at += job && at[job] == ',' ? job + 1 : 0;
    }
    size_t digits = count_digits(at);
    const char *end = at + digits;
    if (digits == 0 || *end != ']' || (!is_named && strncmp(end, "]<std", 5) != 0))
        return false;
    return strspn(at, "0") != digits;
}
