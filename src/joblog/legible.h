/* legible: bytes of a log made fit to be shown. */
#ifndef TARE_JOBLOG_LEGIBLE_H
#define TARE_JOBLOG_LEGIBLE_H

#include <stddef.h>

/* At most size - 1 bytes of whole characters and a NUL. Each byte that is no UTF-8, and each control character but
 * the tab (they steer terminals), becomes U+FFFD. */
void legible_copy(const char *bytes, size_t count, char *out, size_t size);

#endif
