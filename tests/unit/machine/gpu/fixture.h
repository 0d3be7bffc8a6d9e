/* What the tests of gpu share: a folder of their own, with files and folders in it. */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unit.h"

struct fixture {
    char top[64]; /* a temporary folder */
};

int fixture_setup(void **out);
int fixture_teardown(void **out);

/* top/name; the caller frees. */
char *fixture_path(const struct fixture *fixture, const char *name);

/* A file, with the folders above it. */
void fixture_write(const struct fixture *fixture, const char *name, const char *text);

/* The file's whole text; the caller frees. */
char *fixture_read(const struct fixture *fixture, const char *name);

#endif
