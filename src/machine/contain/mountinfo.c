#include "machine/contain/mountinfo.h"

#include <string.h>

struct field {
    const char *start;
    size_t length;
};

static bool field_next(const char **at, const char *end, struct field *out)
{
    while (*at < end && **at == ' ')
        (*at)++;
    out->start = *at;
    while (*at < end && **at != ' ')
        (*at)++;
    out->length = (size_t)(*at - out->start);
    return out->length > 0;
}

static bool octal_at(const char *at, const char *end)
{
    return end - at >= 4 && at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' &&
           at[2] <= '7' && at[3] >= '0' && at[3] <= '7';
}

/* The kernel writes space, tab, newline and backslash in a path as \ooo. False: does not fit. */
static bool field_unescape(const struct field *field, char *out, size_t size)
{
    const char *at = field->start, *end = at + field->length;
    size_t length = 0;
    while (at < end) {
        char c = *at;
        if (octal_at(at, end)) {
            c = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            at += 3;
        }
        at++;
        if (c == '\0' || length + 1 >= size)
            return false;
        out[length++] = c;
    }
    out[length] = '\0';
    return true;
}

static void field_cut(const struct field *field, char *out, size_t size)
{
    size_t length = field->length < size - 1 ? field->length : size - 1;
    memcpy(out, field->start, length);
    out[length] = '\0';
}

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue: the number of
 * optional fields before the dash varies. */
static bool line_parse(const char *at, const char *end, struct mount *out)
{
    struct field field, root, point, type, options;
    for (int i = 0; i < 3; i++)
        if (!field_next(&at, end, &field))
            return false;
    if (!field_next(&at, end, &root) || !field_next(&at, end, &point) ||
        !field_next(&at, end, &field))
        return false;
    do {
        if (!field_next(&at, end, &field))
            return false;
    } while (field.length != 1 || field.start[0] != '-');
    if (!field_next(&at, end, &type) || !field_next(&at, end, &field) ||
        !field_next(&at, end, &options))
        return false;
    field_cut(&type, out->type, sizeof out->type);
    field_cut(&options, out->options, sizeof out->options);
    return field_unescape(&root, out->root, sizeof out->root) &&
           field_unescape(&point, out->point, sizeof out->point);
}

bool mountinfo_next(const char **at, const char *end, struct mount *out)
{
    while (*at < end) {
        const char *line = *at;
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        *at = newline ? newline + 1 : end;
        if (!memchr(line, '\0', (size_t)(stop - line)) && line_parse(line, stop, out))
            return true;
    }
    return false;
}

bool mount_option_has(const char *options, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = options; *at;) {
        size_t part = strcspn(at, ",");
        if (part == length && memcmp(at, word, length) == 0)
            return true;
        at += part;
        at += *at == ',';
    }
    return false;
}
