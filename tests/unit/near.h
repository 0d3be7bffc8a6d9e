/* near: cmocka compares floats in single precision only. */
#ifndef TARE_TESTS_NEAR_H
#define TARE_TESTS_NEAR_H

#include <math.h>

#define assert_near(a, b, within) assert_true(fabs((double)(a) - (double)(b)) <= (within))

#endif
