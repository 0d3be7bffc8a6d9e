#include "base/fs_path.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void paths_are_resolved_as_text(void **state)
{
    (void)state;
    static const struct {
        const char *base, *path, *home, *expected;
    } rows[] = {
        {"/data", "a.csv", NULL, "/data/a.csv"},
        {"/data", "/abs/a.csv", NULL, "/abs/a.csv"},
        {"/data/", "./x//y/../z/", NULL, "/data/x/z"},
        {"/data/sub", "../../..", NULL, "/"},
        {"/data", "..", NULL, "/"},
        {"/", "a", NULL, "/a"},
        {"/data", "", NULL, "/data"},
        {"/data", NULL, NULL, "/data"},
        {"/data", ".", NULL, "/data"},
        {"/data", "...", NULL, "/data/..."},
        {"/data", ".hidden", NULL, "/data/.hidden"},
        {"/data", "~/models", "/home/ada", "/home/ada/models"},
        {"/data", "~/../eve", "/home/ada", "/home/eve"},
        {"/data", "~/models", NULL, "/data/~/models"},
        {"/data", "~ada/x", "/home/ada", "/data/~ada/x"},
        {"/data", "a/~/x", "/home/ada", "/data/a/~/x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *resolved = fs_resolve(rows[i].base, rows[i].path, rows[i].home);
        assert_string_equal(resolved, rows[i].expected);
    }
}

static void without_a_base_paths_start_at_the_working_folder(void **state)
{
    (void)state;
    AUTO_CLOSE int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(before >= 0);
    assert_int_equal(chdir("/usr"), 0);
    AUTO_FREE char *file = fs_resolve(NULL, "share/x", NULL);
    AUTO_FREE char *folder = fs_resolve(NULL, NULL, NULL);
    AUTO_FREE char *relative = fs_resolve("share", "../x", NULL);
    assert_int_equal(fchdir(before), 0);
    assert_string_equal(file, "/usr/share/x");
    assert_string_equal(folder, "/usr");
    assert_string_equal(relative, "/usr/x");
}

/* The expected parts are those of dirname(1) and basename(1). */
static void paths_are_split_as_the_shell_tools_do(void **state)
{
    (void)state;
    static const struct {
        const char *path, *folder, *last;
    } rows[] = {
        {"a/b", "a", "b"},       {"a", ".", "a"},  {"/a", "/", "a"},   {"/", "/", "/"},
        {"//a", "/", "a"},       {"a/", ".", "a"}, {"a/b/", "a", "b"}, {"a//b", "a", "b"},
        {"/a/b/c", "/a/b", "c"}, {"", ".", "."},   {"..", ".", ".."},  {"/a//", "/", "a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *folder = fs_dirname(rows[i].path);
        AUTO_FREE char *last = fs_basename(rows[i].path);
        assert_string_equal(folder, rows[i].folder);
        assert_string_equal(last, rows[i].last);
    }
}

static void put_executable(const char *path, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void assert_found(const char *name, const char *cwd, const char *path, const char *expected)
{
    AUTO_FREE char *found = fs_find_executable(name, cwd, path);
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
}

static void executables_are_found_along_the_path_or_by_their_place(void **state)
{
    (void)state;
    char root[200];
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/base-path-XXXXXX", base && *base == '/' ? base : "/tmp");
    assert_non_null(mkdtemp(root));
    AUTO_FREE char *one = mem_printf("%s/one", root);
    AUTO_FREE char *two = mem_printf("%s/two", root);
    AUTO_FREE char *folder = mem_printf("%s/one/tool", root); /* a folder is no executable */
    AUTO_FREE char *tool = mem_printf("%s/two/tool", root);
    AUTO_FREE char *plain = mem_printf("%s/one/plain", root);
    AUTO_FREE char *path = mem_printf("%s/none:%s:%s", root, one, two);
    AUTO_FREE char *empty_step = mem_printf("%s::/nowhere", one);
    assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700) | mkdir(folder, 0700), 0);
    put_executable(tool, 0700);
    put_executable(plain, 0600);

    assert_found("tool", "/", path, tool);
    assert_found("plain", "/", path, NULL);
    assert_found("none", "/", path, NULL);
    assert_found("", "/", path, NULL);
    assert_found("tool", two, NULL, NULL);
    assert_found("tool", two, empty_step, tool); /* an empty step is the working folder */
    assert_found("tool", root, "two", tool);
    assert_found("./tool", two, path, tool);
    assert_found("two/tool", root, "/nowhere", tool);
    assert_found("../two/tool", one, NULL, tool);
    assert_found(tool, "/", NULL, tool);
    assert_found("./plain", one, path, NULL);
    assert_found("two/", root, path, NULL);

    assert_true(fs_is_file(plain) && fs_is_folder(folder));
    assert_false(fs_is_folder(plain) || fs_is_file(folder));
    assert_false(fs_is_file("/no/such") || fs_is_folder("/no/such"));

    assert_int_equal(unlink(tool) | unlink(plain), 0);
    assert_int_equal(rmdir(folder) | rmdir(one) | rmdir(two) | rmdir(root), 0);
}

/* The rules are POSIX's (3.170 Filename, NAME_MAX of Linux) and those of a terminal (ECMA-48: C0,
 * DEL, C1). */
static void a_name_is_that_of_one_file_or_folder_and_leads_nowhere(void **state)
{
    (void)state;
    static const char *const good[] = {"repo_net_001",
                                       "a_b_012_parallel",
                                       "x",
                                       "-x",
                                       "a.b",
                                       "a..b",
                                       "a+b=c@d",
                                       "a b",
                                       "~",
                                       "a\\b",
                                       "\xC3\xA9t\xC3\xA9_001", /* U+00E9: a letter */
                                       "\xC2\xA0x",             /* U+00A0, the first after C1 */
                                       "\xE8\xAE\xAD\xE7\xBB\x83_001"};
    static const struct {
        const char *name, *error;
    } bad[] = {
        {"", "'' is empty"},
        {".", "'.' begins with a '.'"},
        {"..", "'..' begins with a '.'"},
        {".ssh", "'.ssh' begins with a '.'"},
        {"/", "'/' holds a '/'"},
        {"../../../.ssh", "'../../../.ssh' holds a '/'"},
        {"a/../b", "'a/../b' holds a '/'"},
        {"a/", "'a/' holds a '/'"},
        {"/etc/passwd", "'/etc/passwd' holds a '/'"},
        {"a\nb", "'a?b' holds a control character"},
        {"\033]0;x\007", "'?]0;x?' holds a control character"},
        {"a\177", "'a?' holds a control character"},
        {"\xC2\x9B"
         "2J",
         "'?2J' holds a control character"}, /* U+009B */
        {NULL, "'' is missing"},
    };
    struct err err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(fs_check_name(good[i], NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "%s, so it is no name of a file or folder", bad[i].error);
        assert_false(fs_check_name(bad[i].name, &err));
        assert_string_equal(err.text, wanted);
    }
    char longest[257];
    memset(longest, 'x', 256);
    longest[255] = '\0';
    assert_true(fs_check_name(longest, NULL));
    longest[255] = 'x';
    longest[256] = '\0';
    assert_false(fs_check_name(longest, &err));
    assert_non_null(strstr(err.text, "is longer than 255 bytes"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_that_of_one_file_or_folder_and_leads_nowhere),
        cmocka_unit_test(paths_are_resolved_as_text),
        cmocka_unit_test(without_a_base_paths_start_at_the_working_folder),
        cmocka_unit_test(paths_are_split_as_the_shell_tools_do),
        cmocka_unit_test(executables_are_found_along_the_path_or_by_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
