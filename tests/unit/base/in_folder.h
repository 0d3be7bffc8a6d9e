/* in_folder: a test in an empty folder, of which it holds a descriptor. */
#ifndef TARE_TESTS_IN_FOLDER_H
#define TARE_TESTS_IN_FOLDER_H

#include "base/fs_output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

/* The working folder of each test is a fresh one. */
static inline int enter(void **state)
{
    char *path = mem_printf("%s/fs-output-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    *state = path;
    return mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static inline int leave(void **state)
{
    int removed = chdir("/") == 0 ? folder_remove(*state) : -1;
    free(*state);
    return removed;
}

static inline void put(const char *path, const char *bytes)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0 && fs_write_all(fd, bytes, strlen(bytes), NULL));
}

static inline void assert_holds(const char *path, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    if (!fs_read(path, 1000, &text, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text_get(&text), expected);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

#endif
