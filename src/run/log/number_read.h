/* number_read: the text of a metric as a number. */
#ifndef TARE_RUN_LOG_NUMBER_READ_H
#define TARE_RUN_LOG_NUMBER_READ_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads the whole text or nothing ("0.93." and "12%" are not numbers):
 * - as Python's float() and JSON write numbers: a sign, decimal digits with or without a point, an
 *   exponent; nan, inf and infinity in any case
 * - with a decimal comma or separators of thousands, where only one reading is possible: "0,3514",
 *   "91,25", "1,234.5", "1.234,5", "12_345", "12'345"; "12,345" could be two numbers and is neither
 * - as scalars of NumPy, PyTorch, JAX and TensorFlow print themselves: "np.float64(0.25)",
 *   "tensor(0.43, device='cuda:0')", "tensor([0.43])"
 * Blanks around it are skipped. c_locale: a locale with a decimal point. */
bool number_read(const char *text, size_t length, locale_t c_locale, double *out);

/* Bytes of the scalar "name(number, ...)" at text, with its closing parenthesis; 0: none is
 * there. */
size_t number_scalar_length(const char *text, size_t length);

#endif
