/* Numbers as text, exactly and in any locale; log and exp that are the same on every machine. */
#include "base/mem.h"
#include "base/text.h"
#include "base/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 17 significant digits tell all doubles apart. */
#define MOST_DIGITS 17

/* number = 0.D1D2D3... * 10^point, without its sign. */
struct decimal {
    char digits[MOST_DIGITS + 1];
    int count;
    int point;
};

/* The nearest decimal of count digits. The radix character, which depends on the locale, is left
 * out. */
static void decimal_make(double magnitude, int count, struct decimal *out)
{
    char printed[64];
    snprintf(printed, sizeof printed, "%.*e", count - 1, magnitude);
    const char *exponent = strrchr(printed, 'e');
    out->count = 0;
    for (const char *c = printed; c < exponent; c++)
        if (*c >= '0' && *c <= '9' && out->count < MOST_DIGITS)
            out->digits[out->count++] = *c;
    out->digits[out->count] = '\0';
    out->point = (int)strtol(exponent + 1, NULL, 10) + 1;
}

/* Without a radix character, so that every locale reads the same. */
static double decimal_read(const struct decimal *decimal)
{
    char written[64];
    snprintf(written, sizeof written, "%se%d", decimal->digits, decimal->point - decimal->count);
    return strtod(written, NULL);
}

static void decimal_trim(struct decimal *decimal)
{
    while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0')
        decimal->digits[--decimal->count] = '\0';
}

/* The next decimal up with as many digits. */
static void decimal_raise(struct decimal *decimal)
{
    int i = decimal->count - 1;
    while (i >= 0 && decimal->digits[i] == '9')
        decimal->digits[i--] = '0';
    if (i >= 0) {
        decimal->digits[i]++;
        return;
    }
    decimal->digits[0] = '1';
    decimal->point++;
}

/* Whether count digits are enough; then they are in out. */
static bool decimal_suffices(double magnitude, int count, struct decimal *out)
{
    decimal_make(magnitude, count, out);
    if (decimal_read(out) == magnitude)
        return true;
    /* Below a power of two the doubles lie twice as dense as above it: there the nearest decimal
     * may read as the double below while the one above it, a little farther off, still reads
     * back. */
    int exponent;
    if (frexp(magnitude, &exponent) != 0.5)
        return false;
    decimal_raise(out);
    return decimal_read(out) == magnitude;
}

static void decimal_shortest(double magnitude, struct decimal *out)
{
    /* A decimal of up to 15 digits survives the way through a normal double, so 15 finds every
     * shorter one too (with zeros behind it); the subnormal ones hold fewer digits. */
    int count = magnitude < 0x1p-1022 ? 1 : 15;
    while (count < MOST_DIGITS && !decimal_suffices(magnitude, count, out))
        count++;
    if (count == MOST_DIGITS)
        decimal_make(magnitude, count, out);
    decimal_trim(out);
}

/* Exponents from where Python's repr has them. */
static void decimal_format(const struct decimal *decimal, char *out, size_t size)
{
    const char *digits = decimal->digits;
    int count = decimal->count;
    int point = decimal->point;
    if (point > 16 || point < -3)
        snprintf(out, size, "%.1s%s%se%d", digits, count > 1 ? "." : "", digits + 1, point - 1);
    else if (point <= 0)
        snprintf(out, size, "0.%.*s%s", -point, "000", digits);
    else if (point >= count)
        snprintf(out, size, "%s%.*s.0", digits, point - count, "0000000000000000");
    else
        snprintf(out, size, "%.*s.%s", point, digits, digits + point);
}

void number_shortest(double number, char out[32])
{
    if (isnan(number)) {
        strcpy(out, "nan");
        return;
    }
    size_t sign = signbit(number) ? 1 : 0;
    if (sign)
        out[0] = '-';
    double magnitude = fabs(number);
    if (isinf(magnitude)) {
        strcpy(out + sign, "inf");
    } else if (magnitude == 0) {
        strcpy(out + sign, "0.0");
    } else {
        struct decimal decimal;
        decimal_shortest(magnitude, &decimal);
        decimal_format(&decimal, out + sign, 32 - sign);
    }
}

double number_round(double number, int digits)
{
    if (!isfinite(number) || number == 0 || digits >= MOST_DIGITS)
        return number;
    struct decimal decimal;
    decimal_make(fabs(number), digits < 1 ? 1 : digits, &decimal);
    return copysign(decimal_read(&decimal), number);
}

bool number_named(const char *text, double *out)
{
    bool infinite = strcmp(text + (*text == '-'), "inf") == 0;
    if (!infinite && strcmp(text, "nan") != 0)
        return false;
    *out = !infinite ? NAN : *text == '-' ? -INFINITY : INFINITY;
    return true;
}

static size_t span_digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Length of the exponent at s ("e-07"), 0 when there is none. */
static size_t span_exponent(const char *s)
{
    if (*s != 'e' && *s != 'E')
        return 0;
    size_t sign = s[1] == '+' || s[1] == '-' ? 1 : 0;
    size_t digits = span_digits(s + 1 + sign);
    return digits ? 1 + sign + digits : 0;
}

bool number_parse(const char *text, double *out)
{
    const char *s = text + (*text == '-');
    size_t whole = span_digits(s);
    size_t fraction = s[whole] == '.' ? span_digits(s + whole + 1) : 0;
    if (!whole || (s[whole] == '.' && !fraction))
        return false;
    const char *exponent = s + whole + (fraction ? fraction + 1 : 0);
    if (exponent[span_exponent(exponent)])
        return false;
    /* strtod knows the locale's radix character only: the point is taken out and counted in the
     * exponent. An exponent that does not fit is far out of every double's range. */
    long long power = 0;
    if (*exponent) {
        errno = 0;
        power = strtoll(exponent + 1, NULL, 10);
        if (errno)
            power = power < 0 ? -(1LL << 50) : 1LL << 50;
    }
    AUTO_FREE char *plain =
        mem_printf("%.*s%.*s%.*se%lld", (int)(s - text), text, (int)whole, s, (int)fraction,
                   s + whole + (fraction ? 1 : 0), power - (long long)fraction);
    double number = strtod(plain, NULL);
    if (isinf(number))
        return false;
    *out = number;
    return true;
}

static const double ln2 = 0.69314718055994531;
/* its last bits are 0: a small whole number times it is exact */
static const double ln2_high = 0x1.62e42feep-1;
static const double ln2_low = 0x1.a39ef35793c76p-33;

double number_log(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        exponent--;
    }
    double z = (mantissa - 1) / (mantissa + 1);
    double square = z * z;
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2) /* |z| < 0.172: what is left out is below 1e-19 */
        sum = sum * square + 1.0 / k;
    return exponent * ln2_high + (2 * z * sum + exponent * ln2_low);
}

double number_exp(double x)
{
    double whole = floor(x / ln2 + 0.5);
    double rest = x - whole * ln2_high - whole * ln2_low;
    double sum = 1;
    for (int k = 16; k >= 1; k--) /* |rest| < 0.35: what is left out is below 1e-22 */
        sum = 1 + sum * rest / k;
    return ldexp(sum, (int)whole);
}
