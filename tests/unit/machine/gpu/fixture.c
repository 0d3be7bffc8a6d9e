#include "fixture.h"
#include "base/fs_path.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int fixture_setup(void **out)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    strcpy(fixture->top, "/tmp/gpu-test.XXXXXX");
    assert_non_null(mkdtemp(fixture->top));
    *out = fixture;
    return 0;
}

int fixture_teardown(void **out)
{
    struct fixture *fixture = *out;
    folder_remove(fixture->top);
    free(fixture);
    return 0;
}

char *fixture_path(const struct fixture *fixture, const char *name)
{
    return mem_printf("%s/%s", fixture->top, name);
}

void fixture_write(const struct fixture *fixture, const char *name, const char *text)
{
    AUTO_FREE char *path = fixture_path(fixture, name);
    AUTO_FREE char *folder = fs_dirname(path);
    AUTO_CLOSE int dir = fs_make_path(folder, 0755, NULL);
    assert_true(dir >= 0);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_true(fs_write_all(fd, text, strlen(text), NULL));
}

char *fixture_read(const struct fixture *fixture, const char *name)
{
    AUTO_FREE char *path = fixture_path(fixture, name);
    struct text text = {0};
    assert_true(fs_read(path, 65536, &text, NULL));
    return text_take(&text);
}
