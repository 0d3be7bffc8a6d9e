/* Files that the user named, and which files of a folder are ours to replace. */
#include "base/fs_output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "in_folder.h"

static void write_ok(const char *path, const char *bytes)
{
    struct err err = {0};
    if (!fs_write_output(path, bytes, strlen(bytes), &err))
        fail_msg("%s", err.text);
}

static void assert_refused(const char *path, const char *expected)
{
    struct err err = {0};
    assert_false(fs_write_output(path, "new", 3, &err));
    assert_string_equal(err.text, expected);
}

static struct stat status_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status;
}

static size_t entries(void)
{
    FILE *list = popen("ls -A", "r");
    char line[300];
    size_t count = 0;
    while (fgets(line, sizeof line, list))
        count++;
    pclose(list);
    return count;
}

static void a_new_file_and_an_old_one_are_written_whole_and_nothing_else_is_left(void **state)
{
    (void)state;
    write_ok("out", "first, and longer");
    assert_holds("out", "first, and longer");
    write_ok("./out", "second");
    assert_holds("out", "second");
    assert_int_equal(entries(), 1);
}

static void a_link_stays_and_what_it_names_is_written(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    put("folder/target", "old");
    assert_int_equal(symlink("folder/target", "link"), 0);
    assert_int_equal(symlink("link", "link_of_link"), 0);
    write_ok("link_of_link", "new");
    assert_true(S_ISLNK(status_of("link").st_mode) && S_ISLNK(status_of("link_of_link").st_mode));
    assert_holds("folder/target", "new");
}

static void a_link_that_leads_nowhere_makes_its_target(void **state)
{
    (void)state;
    assert_int_equal(symlink("not_yet", "link"), 0);
    write_ok("link", "new");
    assert_true(S_ISLNK(status_of("link").st_mode));
    assert_holds("not_yet", "new");
}

static void links_in_a_circle_are_an_error(void **state)
{
    (void)state;
    assert_int_equal(symlink("b", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_refused("a", "write a: follow the link a: Too many levels of symbolic links");
}

static void the_mode_of_an_old_file_is_kept_and_a_new_one_obeys_the_umask(void **state)
{
    (void)state;
    put("out", "old");
    assert_int_equal(chmod("out", 0640), 0);
    mode_t before = umask(077);
    write_ok("out", "new");
    umask(027);
    write_ok("fresh", "new");
    umask(before);
    assert_int_equal(status_of("out").st_mode & 07777, 0640);
    assert_int_equal(status_of("fresh").st_mode & 07777, 0640);
}

/* As root one can look: as another user the file would be written in place. */
static void the_owner_of_an_old_file_is_kept(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    put("out", "old");
    assert_int_equal(chown("out", 12345, 54321), 0);
    write_ok("out", "new");
    assert_int_equal(status_of("out").st_uid, 12345);
    assert_int_equal(status_of("out").st_gid, 54321);
}

static void a_device_is_written_and_never_replaced(void **state)
{
    (void)state;
    /* A node of our own in place of /dev/null, which a mistake would destroy. */
    if (mknod("null", S_IFCHR | 0666, makedev(1, 3)) != 0)
        skip();
    AUTO_CLOSE int can = open("null", O_WRONLY | O_CLOEXEC);
    if (can < 0)
        skip(); /* a file system without devices */
    ino_t before = status_of("null").st_ino;
    write_ok("null", "gone");
    assert_true(S_ISCHR(status_of("null").st_mode));
    assert_int_equal(status_of("null").st_ino, before);
}

static void a_pipe_is_written_and_never_replaced(void **state)
{
    (void)state;
    char got[8] = "";
    assert_int_equal(mkfifo("pipe", 0600), 0);
    AUTO_CLOSE int reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    write_ok("pipe", "hello");
    assert_int_equal(read(reader, got, sizeof got), 5);
    assert_memory_equal(got, "hello", 5);
    assert_true(S_ISFIFO(status_of("pipe").st_mode));
}

/* As a shell's "> out" gave it: what others wrote there before stays before, and the name stays
 * what it was. */
static void a_descriptor_is_written_where_it_stands(void **state)
{
    (void)state;
    int fd = open("out", O_WRONLY | O_CREAT, 0666); /* handed to us: not closed on exec */
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "before ", 7), 7);
    ino_t inode = status_of("out").st_ino;
    AUTO_FREE char *of_dev = mem_printf("/dev/fd/%d", fd),
                   *of_proc = mem_printf("/proc/self/fd/%d", fd);
    write_ok(of_dev, "tare ");
    write_ok(of_proc, "tare ");
    assert_int_equal(write(fd, "after", 5), 5);
    close(fd);
    assert_holds("out", "before tare tare after");
    assert_int_equal(status_of("out").st_ino, inode);
}

static void a_descriptor_of_our_own_is_not_what_was_meant(void **state)
{
    (void)state;
    put("own", "precious");
    AUTO_CLOSE int fd = open("own", O_RDWR | O_CLOEXEC);
    AUTO_FREE char *name = mem_printf("/dev/fd/%d", fd);
    AUTO_FREE char *expected = mem_printf("write %s: open it: Bad file descriptor", name);
    assert_refused(name, expected);
    assert_holds("own", "precious");
}

static void a_full_device_is_told_with_its_name(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_refused("/dev/full", "write /dev/full: write: No space left on device");
}

/* A file system of one page: what was there survives what does not fit. */
static void a_full_disk_leaves_the_old_file_and_no_other(void **state)
{
    (void)state;
    struct err err = {0};
    static char large[300000];
    memset(large, 'x', sizeof large);
    assert_int_equal(mkdir("disk", 0777), 0);
    if (mount("tmpfs", "disk", "tmpfs", 0, "size=128k") != 0)
        skip();
    put("disk/out", "old");
    bool written = fs_write_output("disk/out", large, sizeof large, &err);
    bool there = access("disk/out", F_OK) == 0;
    AUTO_TEXT struct text text = {0};
    fs_read("disk/out", 100, &text, NULL);
    assert_int_equal(chdir("disk"), 0);
    size_t count = entries();
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(umount2("disk", MNT_DETACH), 0);
    assert_false(written);
    assert_string_equal(err.text, "write disk/out: write: No space left on device");
    assert_true(there);
    assert_string_equal(text_get(&text), "old");
    assert_int_equal(count, 1);
}

static void what_is_in_the_way_is_named_with_what_to_do(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_refused("folder", "write folder: it is a folder: name a file in it, such as folder/out");
    assert_refused("none/out", "write none/out: there is no folder none: make it first (mkdir -p)");
    assert_refused("", "write : find it: No such file or directory");
    assert_refused("new/", "write new/: find it: No such file or directory");
}

static void whether_it_will_work_is_said_before(void **state)
{
    (void)state;
    struct err err = {0};
    put("out", "old");
    assert_true(fs_may_write_output("out", &err));
    assert_true(fs_may_write_output("new", &err));
    assert_true(fs_may_write_output("/dev/null", &err));
    assert_false(fs_may_write_output("none/out", &err));
    assert_false(fs_may_write_output(".", &err));
    assert_holds("out", "old");
    assert_int_equal(entries(), 1);
}

static void a_dropped_file_was_never_there(void **state)
{
    (void)state;
    struct err err = {0};
    struct fs_output output;
    put("out", "old");
    assert_true(fs_output_open("out", &output, &err));
    assert_true(fs_output_write(&output, "new", 3, &err));
    fs_output_drop(&output);
    assert_holds("out", "old");
    assert_int_equal(entries(), 1);
}

static void a_nameless_file_is_in_no_folder(void **state)
{
    (void)state;
    struct err err = {0};
    char got[3];
    char *before = getenv("TMPDIR");
    AUTO_FREE char *kept = before ? mem_strdup(before) : NULL;
    setenv("TMPDIR", ".", 1);
    AUTO_CLOSE int fd = fs_open_nameless(&err);
    assert_true(fd >= 0);
    assert_true(fs_write_all(fd, "abc", 3, &err));
    assert_int_equal(pread(fd, got, 3, 0), 3);
    assert_memory_equal(got, "abc", 3);
    assert_int_equal(entries(), 0);
    setenv("TMPDIR", "./none", 1);
    AUTO_CLOSE int none = fs_open_nameless(&err);
    assert_true(none < 0);
    assert_non_null(strstr(err.text, "./none (TMPDIR): No such file or directory"));
    if (kept)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_new_file_and_an_old_one_are_written_whole_and_nothing_else_is_left),
        IN_FOLDER(a_link_stays_and_what_it_names_is_written),
        IN_FOLDER(a_link_that_leads_nowhere_makes_its_target),
        IN_FOLDER(links_in_a_circle_are_an_error),
        IN_FOLDER(the_mode_of_an_old_file_is_kept_and_a_new_one_obeys_the_umask),
        IN_FOLDER(the_owner_of_an_old_file_is_kept),
        IN_FOLDER(a_device_is_written_and_never_replaced),
        IN_FOLDER(a_pipe_is_written_and_never_replaced),
        IN_FOLDER(a_descriptor_is_written_where_it_stands),
        IN_FOLDER(a_descriptor_of_our_own_is_not_what_was_meant),
        IN_FOLDER(a_full_device_is_told_with_its_name),
        IN_FOLDER(a_full_disk_leaves_the_old_file_and_no_other),
        IN_FOLDER(what_is_in_the_way_is_named_with_what_to_do),
        IN_FOLDER(whether_it_will_work_is_said_before),
        IN_FOLDER(a_dropped_file_was_never_there),
        IN_FOLDER(a_nameless_file_is_in_no_folder),
    };
    return cmocka_run_group_tests_name("fs_output", tests, NULL, NULL);
}
