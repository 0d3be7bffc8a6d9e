#include "base/value.h"

#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

struct value value_float(double real)
{
    return (struct value){.kind = VALUE_FLOAT, .real = real};
}

struct value value_bool(bool truth)
{
    return (struct value){.kind = VALUE_BOOL, .truth = truth};
}

struct value value_text(const char *text)
{
    return (struct value){.kind = VALUE_TEXT, .text = mem_strdup(text)};
}

struct value value_copy(const struct value *value)
{
    struct value copy = *value;
    copy.text = mem_strdup(value->text);
    return copy;
}

void value_fini(struct value *value)
{
    free(value->text);
    *value = (struct value){0};
}

bool value_from_json(const json_t *json, struct value *out)
{
    if (json_is_null(json))
        *out = (struct value){0};
    else if (json_is_boolean(json))
        *out = value_bool(json_is_true(json));
    else if (json_is_integer(json))
        *out = value_int(json_integer_value(json));
    else if (json_is_real(json))
        *out = value_float(json_real_value(json));
    else if (json_is_string(json))
        *out = value_text(json_string_value(json));
    else
        return false;
    return true;
}

json_t *value_to_json(const struct value *value)
{
    switch (value->kind) {
    case VALUE_BOOL:
        return json_boolean(value->truth);
    case VALUE_INT:
        return json_integer(value->integer);
    case VALUE_FLOAT:
        return json_from_reading(value->real);
    case VALUE_TEXT: { /* a cell's bytes may be no UTF-8, which JSON cannot hold */
        json_t *text = json_string(value->text);
        return text ? text : json_null();
    }
    case VALUE_NULL:
        break;
    }
    return json_null();
}

char *value_format(const struct value *value)
{
    switch (value->kind) {
    case VALUE_BOOL:
        return mem_strdup(value->truth ? "True" : "False");
    case VALUE_INT:
        return mem_printf("%" PRId64, value->integer);
    case VALUE_FLOAT: {
        char written[32];
        number_shortest(value->real, written);
        return mem_strdup(written);
    }
    case VALUE_TEXT:
        return mem_strdup(value->text);
    case VALUE_NULL:
        break;
    }
    return mem_strdup("");
}

/* Only as an integer is written: "-0", "007" and "+5" are not. */
static bool parse_int(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-');
    if (*digits < '0' || *digits > '9' || digits[strspn(digits, "0123456789")] ||
        (*digits == '0' && (digits[1] || digits > text)))
        return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

/* Numbers beyond int64 become floats; digits that no number is written with ("007") stay text. */
static bool parse_float(const char *text, double *out)
{
    if (number_named(text, out))
        return true;
    const char *digits = text + (*text == '-');
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
        return false;
    return number_parse(text, out);
}

struct value value_parse(const char *text)
{
    int64_t integer;
    double real;
    if (!*text)
        return (struct value){0};
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        return value_bool(*text == 'T');
    if (parse_int(text, &integer))
        return value_int(integer);
    if (parse_float(text, &real))
        return value_float(real);
    return value_text(text);
}

/* Below this, six significant digits hold every digit in front of the point. */
static const double SIX_DIGITS = 1e6;
static const double INTEGERS_END = 0x1p63;

static char *float_key(double number)
{
    char written[32];
    double magnitude = fabs(number);
    if (magnitude >= SIX_DIGITS && magnitude < INTEGERS_END)
        return mem_printf("%.0f", number);
    /* + 0.0: -0.0 is 0 */
    number_shortest(magnitude < SIX_DIGITS ? number_round(number, 6) + 0.0 : number, written);
    size_t length = strlen(written);
    if (length > 2 && strcmp(written + length - 2, ".0") == 0)
        written[length - 2] = '\0'; /* the text "32" and the number 32 are one on a command line */
    return mem_strdup(written);
}

char *value_key(const struct value *value)
{
    return value->kind == VALUE_FLOAT ? float_key(value->real) : value_format(value);
}
