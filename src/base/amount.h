/* amount: a measured figure as people read it: with its unit, in the digits that its ± allows. */
#ifndef TARE_BASE_AMOUNT_H
#define TARE_BASE_AMOUNT_H

#include "base/reading.h"

/* J and Wh get the prefix ("mJ", "kJ") that fits the figure or its ±, whichever is larger; other
 * units stay as they are, "" is none. The results are fresh. */

/* "5.9 kJ", "705 J": three significant digits; "" where it is not valid. For figures that have no
 * ±. */
char *amount_format(struct reading value, const char *unit);

/* "5.903 ± 0.003 kJ", "-1 ± 8 kJ". The half-width has two significant digits if the first is 1 or
 * 2, else one; the value ends at the same decimal place. "5.9 kJ ± unknown" where the half-width is
 * not valid or not finite; "" where the value is not valid. */
char *amount_format_with(struct reading value, struct reading half_width, const char *unit);

/* The power of ten of the last digit of such a half-width: -3 for 0.0034, -2 for 0.13. half_width:
 * above 0, finite. */
int amount_last_place(double half_width);

#endif
