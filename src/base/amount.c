#include "base/amount.h"

#include "base/mem.h"
#include "base/value.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 3, DIGITS_EXACT = 6 };

static int decimal_exponent(double value)
{
    return (int)floor(log10(fabs(value)));
}

/* The power of ten of the last of so many significant digits; of 0: of none behind the point. */
static int last_place(double value, int digits)
{
    value = number_round(value, digits);
    return value == 0 ? 0 : decimal_exponent(value) - digits + 1;
}

int amount_last_place(double half_width)
{
    /* Of the first digit as it will be shown: 0.96 has two, 1.0. */
    double shown = number_round(half_width, 2);
    bool two = shown < 3 * pow(10, decimal_exponent(shown));
    return two ? last_place(half_width, 2) : decimal_exponent(shown);
}

static double round_at(double value, int place)
{
    double step = pow(10, place);
    return round(value / step) * step;
}

static char *format_at(double value, int place)
{
    /* Behind the point printf rounds, exactly. */
    char *text =
        place < 0 ? mem_printf("%.*f", -place, value) : mem_printf("%.0f", round_at(value, place));
    /* What is rounded to 0 has no sign either. */
    if (*text == '-' && strspn(text + 1, "0.") == strlen(text + 1))
        memmove(text, text + 1, strlen(text));
    return text;
}

/* Where the last digit of a value is that has no half-width, or one of 0. */
static int free_place(double value, int digits)
{
    int place = last_place(value, digits);
    double rounded = number_round(value, digits);
    /* As %g: without zeros at its end. */
    while (place < 0 && fabs(remainder(rounded, pow(10, place + 1))) < pow(10, place) / 2)
        place++;
    return place;
}

struct scaled {
    double value, half_width;
    const char *prefix;
};

static const char *const prefixes[] = {"m", "", "k", "M", "G"};
enum { PREFIX_NONE = 1, PREFIXES = sizeof prefixes / sizeof *prefixes };
static const double MOST_SHOWN = 1000 - 1e-9; /* 1000, but for what rounding in binary leaves */

static bool has_prefixes(const char *unit)
{
    return strcmp(unit, "J") == 0 || strcmp(unit, "Wh") == 0;
}

static int place_for(double value, double half_width, int digits)
{
    return half_width > 0 ? amount_last_place(half_width) : free_place(value, digits);
}

/* Picks the smallest prefix with which at most three digits precede the point, after rounding:
 * 999.96 ± 0.5 J is 1.0000 ± 0.0005 kJ. */
static struct scaled scale_to_prefix(double value, double half_width, int digits, const char *unit)
{
    if (!has_prefixes(unit) || (value == 0 && half_width == 0))
        return (struct scaled){value, half_width, ""};
    double larger = fmax(fabs(value), half_width);
    for (int i = 0;; i++) {
        double factor = pow(1000, PREFIX_NONE - i);
        int place = place_for(value * factor, half_width * factor, digits);
        if (round_at(larger * factor, place) < MOST_SHOWN || i + 1 == PREFIXES)
            return (struct scaled){value * factor, half_width * factor, prefixes[i]};
    }
}

static char *format_amount(struct reading value, double half_width, int digits, const char *unit,
                           const char *end)
{
    struct scaled scaled = scale_to_prefix(value.value, half_width, digits, unit);
    int place = place_for(scaled.value, scaled.half_width, digits);
    AUTO_FREE char *shown = format_at(scaled.value, place);
    const char *space = *unit ? " " : "";
    if (end)
        return mem_printf("%s%s%s%s%s", shown, space, scaled.prefix, unit, end);
    AUTO_FREE char *half = format_at(scaled.half_width, scaled.half_width > 0 ? place : 0);
    return mem_printf("%s ± %s%s%s%s", shown, half, space, scaled.prefix, unit);
}

char *amount_format(struct reading value, const char *unit)
{
    return value.valid && isfinite(value.value) ? format_amount(value, 0, DIGITS, unit, "")
                                                : mem_strdup("");
}

char *amount_format_with(struct reading value, struct reading half_width, const char *unit)
{
    if (!value.valid || !isfinite(value.value))
        return mem_strdup("");
    if (!half_width.valid || !isfinite(half_width.value))
        return format_amount(value, 0, DIGITS, unit, " ± unknown");
    return format_amount(value, fabs(half_width.value), DIGITS_EXACT, unit, NULL);
}
