#include "run/log/number_read.h"

#include "base/ascii.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_TEXT_MAX = 512 };

struct span {
    const char *at;
    size_t length;
};

static bool is_ascii_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_number_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ascii_is_digit(c) || c == '_' ||
           c == '.';
}

static struct span trim_span(struct span text)
{
    while (text.length && is_ascii_space(text.at[text.length - 1]))
        text.length--;
    for (; text.length && is_ascii_space(*text.at); text.length--)
        text.at++;
    return text;
}

static bool read_number_word(struct span text, double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"infinity", INFINITY}};
    EACH_OF (item, words) {
        if (strlen(item->word) != text.length || strncasecmp(text.at, item->word, text.length) != 0)
            continue;
        *out = item->value;
        return true;
    }
    return false;
}

/* Groups of three digits after the first separator. */
static bool is_grouped(struct span digits, char separator)
{
    const char *first = memchr(digits.at, separator, digits.length);
    size_t head = first ? (size_t)(first - digits.at) : digits.length;
    if (!first || head == 0 || head > 3 || (digits.length - head) % 4 != 0 || *digits.at == '0')
        return false;
    for (size_t i = 0; i < digits.length; i++) {
        bool has_separator = i >= head && (i - head) % 4 == 0;
        if (has_separator ? digits.at[i] != separator : !ascii_is_digit(digits.at[i]))
            return false;
    }
    return true;
}

/* Finds the decimal mark and the separator of groups (0: none). False: ambiguous or invalid. */
static bool find_marks(struct span text, char *decimal, char *group)
{
    size_t commas = 0, points = 0;
    char last = 0, other = 0;
    EACH (item, text.at, text.length) {
        char c = *item;
        commas += c == ',';
        points += c == '.';
        last = c == ',' || c == '.' ? c : last;
        other = c == '_' || c == '\'' ? c : other;
    }
    *decimal = 0;
    *group = other;
    if (other && commas)
        return false;
    if (commas + points == 0)
        return true;
    if (commas && points) {
        *decimal = last;
        *group = last == ',' ? '.' : ',';
        return (last == ',' ? commas : points) == 1;
    }
    if (commas + points > 1) {
        *group = last;
        return commas > 0;
    }
    *decimal = last;
    /* "12,345" may be 12345 in English and 12.345 in German. */
    return last == '.' || !is_grouped(text, ',');
}

/* With a decimal point and without separators. */
static bool plain_copy(struct span text, char copy[NUMBER_TEXT_MAX + 1])
{
    char decimal, group;
    struct span mantissa = {text.at, 0};
    while (mantissa.length < text.length && text.at[mantissa.length] != 'e' &&
           text.at[mantissa.length] != 'E')
        mantissa.length++;
    if (memchr(text.at, '\0', text.length) || !find_marks(mantissa, &decimal, &group))
        return false;
    const char *mark = decimal ? memchr(mantissa.at, decimal, mantissa.length) : NULL;
    size_t whole = mark ? (size_t)(mark - mantissa.at) : mantissa.length, used = 0;
    if (group && !is_grouped((struct span){text.at, whole}, group))
        return false;
    if (decimal == ',' && (whole == 0 || whole + 1 == mantissa.length))
        return false;
    for (size_t i = 0; i < text.length; i++)
        if (i >= whole || text.at[i] != group)
            copy[used++] = text.at[i] == ',' ? '.' : text.at[i];
    copy[used] = '\0';
    return true;
}

/* strtod would accept hexadecimal digits and a second sign. */
static bool read_decimal_number(struct span text, locale_t c_locale, double *out)
{
    char copy[NUMBER_TEXT_MAX + 1], *end;
    if (!plain_copy(text, copy) || *copy == '-' || *copy == '+' ||
        strspn(copy, "0123456789.eE+-") != strlen(copy))
        return false;
    *out = strtod_l(copy, &end, c_locale);
    return end != copy && *end == '\0';
}

static bool read_signed(struct span text, locale_t c_locale, double *out)
{
    bool negative = text.length && *text.at == '-';
    if (text.length && (*text.at == '-' || *text.at == '+')) {
        text.at++;
        text.length--;
    }
    double value = 0;
    if (text.length == 0 || text.length > NUMBER_TEXT_MAX ||
        (!read_decimal_number(text, c_locale, &value) && !read_number_word(text, &value)))
        return false;
    *out = negative ? -value : value;
    return true;
}

/* The argument of "name(argument, ...)" without brackets or quotes. */
static bool find_argument(struct span text, size_t *length, struct span *out)
{
    size_t at = 0;
    while (at < text.length && is_number_name_char(text.at[at]))
        at++;
    if (at == 0 || ascii_is_digit(*text.at) || at == text.length || text.at[at] != '(')
        return false;
    size_t depth = 1, end = ++at, stop = 0;
    for (; end < text.length && end < NUMBER_TEXT_MAX; end++) {
        char c = text.at[end];
        depth += c == '(';
        depth -= c == ')';
        if (!stop &&
            (c == ')' || (c == ',' && end + 1 < text.length && is_ascii_space(text.at[end + 1]))))
            stop = end;
        if (depth == 0)
            break;
    }
    if (depth > 0 || end >= text.length)
        return false;
    struct span argument = {text.at + at, stop - at};
    while (argument.length > 1 && *argument.at == '[' && argument.at[argument.length - 1] == ']')
        argument = (struct span){argument.at + 1, argument.length - 2};
    if (argument.length > 1 && *argument.at == '\'' && argument.at[argument.length - 1] == '\'')
        argument = (struct span){argument.at + 1, argument.length - 2};
    *length = end + 1;
    *out = argument;
    return true;
}

size_t number_scalar_length(const char *text, size_t length)
{
    struct span argument;
    size_t used;
    if (!find_argument((struct span){text, length}, &used, &argument))
        return 0;
    argument = trim_span(argument);
    size_t sign = argument.length > 1 && (*argument.at == '-' || *argument.at == '+');
    struct span digits = {argument.at + sign, argument.length - sign};
    double number;
    return (digits.length && (ascii_is_digit(*digits.at) || *digits.at == '.')) ||
                   read_number_word(digits, &number)
               ? used
               : 0;
}

bool number_read(const char *text, size_t length, locale_t c_locale, double *out)
{
    struct span all = trim_span((struct span){text, length}), argument;
    size_t used;
    if (find_argument(all, &used, &argument))
        return used == all.length && read_signed(trim_span(argument), c_locale, out);
    return read_signed(all, c_locale, out);
}
