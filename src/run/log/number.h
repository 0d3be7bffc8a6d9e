/* number: the text of a match read as a number. */
#ifndef TARE_RUN_LOG_NUMBER_H
#define TARE_RUN_LOG_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* As Python's float() and JSON write them: a sign, decimal digits with or without a point, an exponent; nan, inf and
 * infinity in any case (a training that diverged says so); blanks around are passed over. The whole text or nothing:
 * "0.93." and "12%" are no numbers. c_locale: a locale with a decimal point, whatever the program's is. */
bool number_read(const char *text, size_t length, locale_t c_locale, double *out);

#endif
