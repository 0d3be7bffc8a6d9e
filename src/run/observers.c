/* All that watches an attempt, in the order in which it is told. */
#include "run/observer.h"

const struct observer *const observers[] = {
    &memory_observer,
    NULL,
};
