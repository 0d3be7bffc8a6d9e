/* number: figures in the study's files, parsed in place and fast. Private to audit/. */
#ifndef TARE_AUDIT_NUMBER_H
#define TARE_AUDIT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* What a cell holds. */
enum number_kind {
    NUMBER_IS,     /* a finite number */
    NUMBER_ABSENT, /* empty, "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "nan" and the like */
    NUMBER_BAD     /* neither */
};

/* The bytes from at to end, blanks around them left out. Thousands may be parted by commas ("13,138.35"), one unit may
 * follow ("74.69 W"). Correctly rounded, as strtod is. */
enum number_kind number_read(const char *at, const char *end, double *out);

/* Decimal digits alone: whole seconds. False for all else, and for what does not fit. */
bool number_read_whole(const char *at, const char *end, int64_t *out);

#endif
