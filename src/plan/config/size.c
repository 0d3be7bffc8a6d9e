#include "plan/config/size.h"

#include "base/mem.h"
#include "base/value.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    uint64_t bytes;
} units[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1000},
    {"MB", UINT64_C(1000) * 1000},
    {"GB", UINT64_C(1000) * 1000 * 1000},
    {"TB", UINT64_C(1000) * 1000 * 1000 * 1000},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
};

/* Digits and at most one point. Not strtod: it follows the locale and accepts "inf" and "0x10". */
static const char *parse_decimal(const char *at, double *number)
{
    double whole = 0;
    double scale = 1;
    bool point = false;
    const char *start = at;
    for (; isdigit((unsigned char)*at) || (*at == '.' && !point && at > start); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        whole = whole * 10 + (*at - '0');
        if (point)
            scale *= 10;
    }
    *number = whole / scale;
    return at > start && at[-1] != '.' ? at : NULL;
}

bool size_parse(const char *text, uint64_t *bytes, struct err *err)
{
    double number = 0;
    const char *unit = parse_decimal(text, &number);
    if (!unit)
        return err_set(err, "'%s' does not begin with a number", text);
    while (*unit == ' ')
        unit++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcasecmp(unit, units[i].name) != 0)
            continue;
        double total = number * (double)units[i].bytes;
        if (!(total <= (double)(UINT64_C(1) << 53)))
            return err_set(err, "'%s' is more than 2^53 bytes", text);
        *bytes = (uint64_t)total;
        return true;
    }
    return err_set(err, "'%s' is no unit of memory (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)", unit);
}

/* Digits and at most one point, a % behind them. */
static bool share_parse(const char *text, size_t digits, struct gpu_limit *out)
{
    AUTO_FREE char *number = mem_strndup(text, digits);
    double percent = 0, scale = 0;
    for (const char *at = number; *at; at++) {
        if (*at == '.' && scale == 0 && at > number) {
            scale = 1;
        } else if (isdigit((unsigned char)*at)) {
            percent = percent * 10 + (*at - '0');
            scale *= 10;
        } else {
            return false;
        }
    }
    percent = scale > 0 ? percent / scale : percent;
    if (digits == 0 || !(percent >= 0.01 && percent <= 100))
        return false;
    *out = (struct gpu_limit){.share = percent / 100};
    return true;
}

bool gpu_limit_parse(const char *text, struct gpu_limit *out, struct err *err)
{
    enum { LEAST = 1 << 20 };
    size_t length = strlen(text);
    uint64_t bytes = 0;
    if (length > 0 && text[length - 1] == '%') {
        length--;
        while (length > 0 && text[length - 1] == ' ')
            length--;
        return share_parse(text, length, out) ||
               err_set(err, "'%s' is no share of a GPU's memory (more than 0%%, up to 100%%)",
                       text);
    }
    if (!size_parse(text, &bytes, err))
        return false;
    if (bytes < LEAST)
        return err_set(err, "'%s' is less than 1 MiB", text);
    *out = (struct gpu_limit){.bytes = bytes};
    return true;
}

/* Joules first; the first four are those that are printed, from the smallest. */
static const struct unit {
    const char *name;
    double j;
} energy_units[] = {{"J", 1},    {"Wh", 3600}, {"kWh", 3.6e6}, {"MWh", 3.6e9},
                    {"kJ", 1e3}, {"MJ", 1e6},  {"GJ", 1e9}};
enum { ENERGY_UNITS = sizeof energy_units / sizeof *energy_units, ENERGY_UNITS_PRINTED = 4 };

#define MOST_J 1e15

bool size_energy_parse(const char *text, double *j, struct err *err)
{
    double number = 0;
    const char *unit = parse_decimal(text, &number);
    if (!unit)
        return err_set(
            err, "'%s' does not begin with a number; expected an energy such as \"20 kWh\"", text);
    while (*unit == ' ')
        unit++;
    EACH (energy_unit, energy_units, ENERGY_UNITS) {
        if (strcmp(unit, energy_unit->name) != 0)
            continue;
        double value = number * energy_unit->j;
        if (!(value > 0 && value <= MOST_J))
            return err_set(err, "'%s' is %s", text, value > 0 ? "too much" : "not more than 0");
        *j = value;
        return true;
    }
    return err_set(err,
                   *unit ? "'%s' has another unit than %s (upper and lower case as here)"
                         : "'%s' has no unit (%s)",
                   text, "J, kJ, MJ, GJ, Wh, kWh, MWh");
}

char *size_energy_text(double j)
{
    const struct unit *unit = &energy_units[0];
    for (size_t i = 1; i < ENERGY_UNITS_PRINTED; i++)
        if (j >= energy_units[i].j * 0.99995)
            unit = &energy_units[i];
    return mem_printf("%.12g %s", number_round(j / unit->j, 4), unit->name);
}
