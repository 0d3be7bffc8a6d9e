/* Folders of one run that become part of another. */
#include "slurm/collect.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

struct place {
    char path[40];
    int dir;
};

static int begin(void **state)
{
    static struct place place;
    strcpy(place.path, "/tmp/test-files-XXXXXX");
    if (!mkdtemp(place.path))
        return -1;
    place.dir = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &place;
    return place.dir < 0;
}

static int end(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char *slash = strrchr(place->path, '/');
    int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool removed = files_remove_tree(parent, slash + 1, &err);
    close(parent);
    close(place->dir);
    return removed ? 0 : -1;
}

static void write_file(int dir, const char *name, const char *text)
{
    AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int folder(int dir, const char *name)
{
    if (mkdirat(dir, name, 0755) != 0)
        assert_int_equal(errno, EEXIST);
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static bool is_there(int dir, const char *name)
{
    struct stat status;
    return fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void every_file_is_there_twice_with_the_same_bytes_on_the_disk(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct stat one, other;
    AUTO_CLOSE int from = folder(place->dir, "from");
    AUTO_CLOSE int to = folder(place->dir, "to");
    AUTO_CLOSE int below = folder(from, "energy");
    write_file(from, "training.log", "loss 1\n");
    write_file(below, "marks.csv", "a,b\n");
    assert_true(files_link_tree(from, to, &err));
    assert_int_equal(fstatat(from, "energy/marks.csv", &one, 0), 0);
    assert_int_equal(fstatat(to, "energy/marks.csv", &other, 0), 0);
    assert_int_equal(one.st_ino, other.st_ino);
    assert_true(is_there(to, "training.log"));
}

static void what_is_there_already_stays(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char got[10] = "";
    AUTO_CLOSE int from = folder(place->dir, "from");
    AUTO_CLOSE int to = folder(place->dir, "to");
    write_file(from, "a", "new");
    write_file(to, "a", "old");
    assert_true(files_link_tree(from, to, &err));
    AUTO_CLOSE int fd = openat(to, "a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, got, sizeof got), 3);
    assert_string_equal(got, "old");
}

static void links_fifos_and_hidden_names_are_left_out(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    AUTO_CLOSE int from = folder(place->dir, "from");
    AUTO_CLOSE int to = folder(place->dir, "to");
    assert_int_equal(symlinkat("/etc/passwd", from, "link"), 0);
    assert_int_equal(symlinkat("/etc", from, "folder"), 0);
    assert_int_equal(mkfifoat(from, "fifo", 0600), 0);
    write_file(from, ".hidden", "x");
    write_file(from, "seen", "x");
    assert_true(files_link_tree(from, to, &err));
    assert_true(is_there(to, "seen"));
    assert_false(is_there(to, "link") || is_there(to, "folder") || is_there(to, "fifo") ||
                 is_there(to, ".hidden"));
}

static void a_folder_goes_with_all_that_is_in_it_and_a_link_alone(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    AUTO_CLOSE int doomed = folder(place->dir, "doomed");
    AUTO_CLOSE int kept = folder(place->dir, "kept");
    AUTO_CLOSE int below = folder(doomed, "below");
    write_file(below, "a", "x");
    write_file(kept, "b", "x");
    assert_int_equal(symlinkat("../kept", doomed, "link"), 0);
    assert_true(files_remove_tree(place->dir, "doomed", &err));
    assert_false(is_there(place->dir, "doomed"));
    assert_true(is_there(place->dir, "kept/b"));
    assert_true(files_remove_tree(place->dir, "doomed", &err));
    /* A link in its place is not followed. */
    assert_int_equal(symlinkat("kept", place->dir, "linked"), 0);
    assert_false(files_remove_tree(place->dir, "linked", &err));
    assert_true(is_there(place->dir, "kept/b"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_file_is_there_twice_with_the_same_bytes_on_the_disk,
                                        begin, end),
        cmocka_unit_test_setup_teardown(what_is_there_already_stays, begin, end),
        cmocka_unit_test_setup_teardown(links_fifos_and_hidden_names_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(a_folder_goes_with_all_that_is_in_it_and_a_link_alone,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
