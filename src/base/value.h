/* value: one hyperparameter's value, and how it is written, read and compared. */
#ifndef TARE_BASE_VALUE_H
#define TARE_BASE_VALUE_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum value_kind { VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_FLOAT, VALUE_TEXT };

struct value {
    enum value_kind kind;
    bool truth;
    int64_t integer;
    double real;
    char *text; /* owned */
};

struct value value_int(int64_t integer);
struct value value_float(double real);
struct value value_bool(bool truth);
struct value value_text(const char *text);
struct value value_copy(const struct value *value);
void value_fini(struct value *value);

/* Scalars only: false for an object or array. */
bool value_from_json(const json_t *json, struct value *out);
/* A new reference; NaN and infinities as json_from_reading has them. */
json_t *value_to_json(const struct value *value);

/* As it stands on a command line, in a CSV cell and in a log: integers in decimal; floats in the
 * shortest form that reads back as the same double, whole ones with ".0" (0.0, 30.0), exponents as
 * 1e-07 is never written: 1e-7; True/False for booleans; "" for null. The caller frees it. */
char *value_format(const struct value *value);

/* Reads what value_format or Python wrote in a CSV cell: int, float, True/False, "" (null), else
 * text. */
struct value value_parse(const char *text);

/* The form in which two values count as the same. Numbers, whatever their kind (32 and 32.0 are
 * one): at six significant digits, and at every digit in front of the point, so that integers are
 * compared exactly (2^53 + 1 is not 2^53). Other kinds by their text. The caller frees it. */
char *value_key(const struct value *value);

/* double: the shortest decimal that reads back as the same double, into out; "1e-7", "0.001",
 * "30.0", "inf", "nan". */
void number_shortest(double number, char out[32]);

/* Reads -?DIGITS[.DIGITS][e[+-]DIGITS] whatever the locale; false for all else and for what is too
 * large for a double. */
bool number_parse(const char *text, double *out);

/* "nan", "inf", "-inf"; false: it is none of these. */
bool number_named(const char *text, double *out);

/* Rounded to this many significant digits, correctly (through decimal). */
double number_round(double number, int digits);

/* The natural logarithm of x above 0, and e to the power of x: by +, -, *, / and what IEEE 754
 * defines to the last bit, built without fused operations. libm's differ between machines, and a
 * plan must not. */
double number_log(double x);
double number_exp(double x);

#endif
