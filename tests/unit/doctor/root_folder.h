/* root_folder: a folder that stands for the root of a machine. */
#ifndef TARE_TESTS_ROOT_FOLDER_H
#define TARE_TESTS_ROOT_FOLDER_H

#include "base/fs_path.h"
#include "doctor/doctor_contain.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "session/command.h"
#include "tare_build.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static inline int setup(void **state)
{
    char *top = mem_strdup("/tmp/doctor-test.XXXXXX");
    assert_non_null(mkdtemp(top));
    *state = top;
    return 0;
}

static inline int teardown(void **state)
{
    folder_remove(*state);
    free(*state);
    return 0;
}

static inline void put(const char *top, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s%s", top, name);
    AUTO_FREE char *folder = fs_dirname(path);
    AUTO_CLOSE int dir = fs_make_path(folder, 0755, NULL);
    assert_true(dir >= 0);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_true(fs_write_all(fd, text, strlen(text), NULL));
}

static inline const struct finding *find(const struct findings *findings, const char *name)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].name, name) == 0)
            return &findings->items[i];
    fail_msg("no finding '%s'", name);
    return NULL;
}

static inline void same_text(const char *text, const char *expected)
{
    if (!expected)
        assert_null(text);
    else if (!text)
        fail_msg("nothing instead of: %s", expected);
    else
        assert_string_equal(text, expected);
}

#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
