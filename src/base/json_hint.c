#include "base/json_place.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The last byte before this place that is not blank; 0: there is none. */
static char before(const char *text, size_t place)
{
    while (place > 0 && is_blank(text[place - 1]))
        place--;
    return place > 0 ? text[place - 1] : '\0';
}

static const char *hint_of_end(const char *text, size_t length)
{
    return before(text, length) ? "not everything that was opened by '{' or '[' is closed" : "it is empty";
}

static const char *hint_of_word(const char *word)
{
    static const char *const python[] = {"True", "False", "None", "TRUE", "FALSE", "NULL", "Null"};
    static const char *const no_number[] = {"NaN", "nan", "Infinity", "inf", "-Infinity", "-inf"};
    for (size_t i = 0; i < sizeof python / sizeof *python; i++)
        if (begins(word, python[i]))
            return "JSON writes true, false and null";
    for (size_t i = 0; i < sizeof no_number / sizeof *no_number; i++)
        if (begins(word, no_number[i]))
            return "JSON has no such number";
    return NULL;
}

const char *json_hint(const char *text, size_t length, const json_error_t *error)
{
    static const char near[] = "near '";
    const char *token = strstr(error->text, near);
    if (strstr(error->text, "near end of file"))
        return hint_of_end(text, length);
    if (!token || error->position < 1 || (size_t)error->position > length)
        return NULL;
    token += strlen(near);
    bool close_expected = begins(error->text, "'}' expected") || begins(error->text, "']' expected");
    switch (*token) {
    case '\'':
        return "strings and keys need double quotes";
    case '/':
    case '#':
        return "JSON has no comments; a key \"comment\" can hold one";
    case '}':
    case ']':
        return before(text, (size_t)error->position - 1) == ',' ? "remove the comma before it" : NULL;
    case ':':
        return NULL;
    default:
        return close_expected ? "a comma is missing before it" : hint_of_word(token);
    }
}
