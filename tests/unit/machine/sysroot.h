/* A folder that stands for the root of the file system, with the kernel's files that a test writes
 * into it. */
#ifndef METER_SYSROOT_H
#define METER_SYSROOT_H

#include "base/cleanup.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sysroot {
    char top[64];
};

static inline void sysroot_init(struct sysroot *root)
{
    snprintf(root->top, sizeof root->top, "/tmp/meter-XXXXXX");
    assert_non_null(mkdtemp(root->top));
    assert_int_equal(chmod(root->top, 0755), 0);
}

static inline void sysroot_fini(struct sysroot *root)
{
    assert_int_equal(folder_remove(root->top), 0);
}

/* Writes the file anew, and the folders above it; what has it open sees the new text. */
static inline void sysroot_file(const struct sysroot *root, const char *path, const char *text)
{
    AUTO_FREE char *whole = mem_printf("%s%s", root->top, path);
    for (char *slash = strchr(whole + strlen(root->top) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(whole, 0755) == 0)
            assert_int_equal(chmod(whole, 0755), 0); /* whatever the umask says */
        *slash = '/';
    }
    AUTO_CLOSE int fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline void sysroot_number(const struct sysroot *root, const char *path,
                                  unsigned long long number)
{
    char text[32];
    snprintf(text, sizeof text, "%llu\n", number);
    sysroot_file(root, path, text);
}

static inline void sysroot_read(const struct sysroot *root, const char *path, char *out,
                                size_t size)
{
    AUTO_FREE char *whole = mem_printf("%s%s", root->top, path);
    AUTO_CLOSE int fd = open(whole, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t length = read(fd, out, size - 1);
    assert_true(length >= 0);
    out[length] = '\0';
}

static inline int sysroot_setup(void **state)
{
    struct sysroot *root = mem_alloc(sizeof *root);
    sysroot_init(root);
    *state = root;
    return 0;
}

static inline int sysroot_teardown(void **state)
{
    sysroot_fini(*state);
    free(*state);
    return 0;
}

#endif
