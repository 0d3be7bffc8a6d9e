/* sysfs: small files of the kernel below a root that tests replace ("" is this machine), and how
 * they write numbers. */
#ifndef TARE_MACHINE_SENSORS_SYSFS_H
#define TARE_MACHINE_SENSORS_SYSFS_H

#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first line of SYSROOT/PATH, without its end. False and errno: it cannot be read, or is longer
 * (E2BIG). */
bool sysfs_line(const char *sysroot, const char *path, char *out, size_t size);

/* The whole file, at most size - 1 bytes, with a NUL behind: how many, or -1 and errno. */
ssize_t sysfs_read(const char *sysroot, const char *path, char *out, size_t size);

/* A file that holds one number. */
bool sysfs_number(const char *sysroot, const char *path, uint64_t *out);

/* The names in a folder, sorted. False and errno: it cannot be read. */
bool sysfs_list(const char *sysroot, const char *path, struct strv *out);

/* Decimal digits and at most one newline. */
bool sysfs_number_parse(const char *bytes, size_t count, uint64_t *out);

/* An event of a PMU whose configuration is its number alone: "event=0x02". */
bool sysfs_event_parse(const char *bytes, size_t count, uint64_t *config);

#endif
