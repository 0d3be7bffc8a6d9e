#include "run/log/number.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_TEXT_MAX 512
#define EXPONENT_MAX    99999 /* beyond it every double is 0 or infinite: no need to count on */

struct decimal {
    uint64_t digits; /* the first 19 significant ones */
    int digit_count;
    int exponent;
    bool cut; /* there were more digits */
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_digit(struct decimal *decimal, char c, bool fraction)
{
    if (decimal->digit_count < 19) {
        decimal->digits = decimal->digits * 10 + (uint64_t)(c - '0');
        decimal->digit_count += decimal->digits != 0;
        decimal->exponent -= fraction;
    } else {
        decimal->cut = true;
    }
}

static const char *read_exponent(const char *at, const char *end, struct decimal *decimal)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end || !is_digit(*at))
        return NULL;
    int exponent = 0;
    for (; at < end && is_digit(*at); at++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    decimal->exponent += negative ? -exponent : exponent;
    return at;
}

/* True when all of it is a decimal number without a sign. */
static bool read_decimal(const char *at, const char *end, struct decimal *decimal)
{
    bool any = false;
    for (; at < end && is_digit(*at); at++, any = true)
        add_digit(decimal, *at, false);
    if (at < end && *at == '.')
        for (at++; at < end && is_digit(*at); at++, any = true)
            add_digit(decimal, *at, true);
    if (any && at < end && (*at == 'e' || *at == 'E'))
        at = read_exponent(at + 1, end, decimal);
    return any && at == end;
}

static bool read_word(const char *at, size_t length, double *out)
{
    if (length == 3 && strncasecmp(at, "nan", 3) == 0)
        *out = NAN;
    else if ((length == 3 && strncasecmp(at, "inf", 3) == 0) || (length == 8 && strncasecmp(at, "infinity", 8) == 0))
        *out = INFINITY;
    else
        return false;
    return true;
}

/* Digits and power of ten are both exact doubles: one correctly rounded operation gives the nearest double (Clinger
 * 1990). */
static bool is_exact(const struct decimal *decimal)
{
    return !decimal->cut && decimal->digits <= UINT64_C(1) << 53 && decimal->exponent >= -22 && decimal->exponent <= 22;
}

static double exact_value(const struct decimal *decimal)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double digits = (double)decimal->digits;
    return decimal->exponent < 0 ? digits / tens[-decimal->exponent] : digits * tens[decimal->exponent];
}

static double slow_value(const char *text, size_t length, locale_t c_locale)
{
    char copy[NUMBER_TEXT_MAX + 1];
    memcpy(copy, text, length);
    copy[length] = '\0';
    return strtod_l(copy, NULL, c_locale);
}

bool number_read(const char *text, size_t length, locale_t c_locale, double *out)
{
    while (length && is_blank(text[length - 1]))
        length--;
    for (; length && is_blank(*text); length--)
        text++;
    bool negative = length && *text == '-';
    if (length && (*text == '-' || *text == '+')) {
        text++;
        length--;
    }
    if (length == 0 || length > NUMBER_TEXT_MAX)
        return false;
    struct decimal decimal = {0};
    double value = 0;
    if (read_decimal(text, text + length, &decimal))
        value = is_exact(&decimal) ? exact_value(&decimal) : slow_value(text, length, c_locale);
    else if (!read_word(text, length, &value))
        return false;
    *out = negative ? -value : value;
    return true;
}
