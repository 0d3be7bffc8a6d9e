/* reading: one figure that a sensor may or may not give. */
#ifndef TARE_BASE_READING_H
#define TARE_BASE_READING_H

#include <stdbool.h>

/* Absent is not zero. */
struct reading {
    double value;
    bool valid;
};

#endif
