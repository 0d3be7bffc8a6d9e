/* number_read: the text of a metric as a number. */
#ifndef TARE_RUN_LOG_NUMBER_READ_H
#define TARE_RUN_LOG_NUMBER_READ_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads the whole text, without surrounding blanks ("0.93." and "12%" are not numbers): numbers of
 * Python and JSON; nan, inf and infinity in any case; unambiguous decimal commas and separators
 * ("0,3514", "1,234.5", "1.234,5", "12_345", "12'345", but not "12,345"); scalars of NumPy,
 * PyTorch, JAX and TensorFlow ("np.float64(0.25)", "tensor([0.43])"). c_locale: with a decimal
 * point. */
bool number_read(const char *text, size_t length, locale_t c_locale, double *out);

/* Length of the scalar "name(number, ...)"; 0: none. */
size_t number_scalar_length(const char *text, size_t length);

#endif
