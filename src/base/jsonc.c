/* JSON with comments and trailing commas: both become blanks, byte for byte, so that what is left is JSON in which
 * everything is where it was. */
#include "base/json_place.h"

#include <stdbool.h>
#include <string.h>

static void blank(char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (text[i] != '\n' && text[i] != '\r')
            text[i] = ' ';
}

/* Behind the string that begins here. */
static size_t string_end(const char *text, size_t length, size_t at)
{
    for (at++; at < length && text[at] != '"' && text[at] != '\n'; at++)
        at += text[at] == '\\' && at + 1 < length;
    return at < length ? at + 1 : length;
}

/* Behind the comment that begins here; 0: a block comment that is not closed. */
static size_t comment_end(const char *text, size_t length, size_t at)
{
    if (text[at + 1] == '/') {
        while (at < length && text[at] != '\n' && text[at] != '\r')
            at++;
        return at;
    }
    for (at += 2; at + 1 < length; at++)
        if (text[at] == '*' && text[at + 1] == '/')
            return at + 2;
    return 0;
}

const char *jsonc_blank(char *text, size_t length)
{
    size_t comma = SIZE_MAX; /* the last one, while nothing but blanks and comments came behind it */
    bool value = false;      /* a value came before what is next: a comma behind it may be left over */
    for (size_t at = 0; at < length;) {
        char c = text[at];
        if (c == '/' && at + 1 < length && (text[at + 1] == '/' || text[at + 1] == '*')) {
            size_t end = comment_end(text, length, at);
            if (!end)
                return text + at;
            blank(text, at, end);
            at = end;
            continue;
        }
        size_t next = c == '"' ? string_end(text, length, at) : at + 1;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            at = next;
            continue;
        }
        if ((c == ']' || c == '}') && comma != SIZE_MAX)
            text[comma] = ' ';
        comma = c == ',' && value ? at : SIZE_MAX;
        value = !strchr(",:[{", c);
        at = next;
    }
    return NULL;
}
