#include "base/fs_output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder of its own for each test, and its descriptor. */
struct place {
    char path[200];
    int dir;
};

static int make_place(void **state)
{
    struct place *place = mem_alloc(sizeof *place);
    const char *base = getenv("TMPDIR");
    snprintf(place->path, sizeof place->path, "%s/base-fs-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(place->path))
        return -1;
    place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = place;
    return place->dir < 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    close(place->dir);
    int result = folder_remove(place->path);
    free(place);
    return result;
}

static void put(const struct place *place, const char *name, const char *bytes)
{
    AUTO_CLOSE int fd = openat(place->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
}

static char *path_of(const struct place *place, const char *name)
{
    return mem_printf("%s/%s", place->path, name);
}

static bool is_there(const struct place *place, const char *name)
{
    struct stat status;
    return fstatat(place->dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void assert_content(const struct place *place, const char *name, const char *expected)
{
    AUTO_CLOSE int fd = openat(place->dir, name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    char bytes[1000];
    ssize_t count = read(fd, bytes, sizeof bytes);
    assert_int_equal(count, strlen(expected));
    assert_memory_equal(bytes, expected, strlen(expected));
}

static size_t count_entries(const struct place *place)
{
    DIR *folder = opendir(place->path);
    assert_non_null(folder);
    size_t count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* "." and ".." */
}

static void a_file_is_read_whole_in_place_of_what_was_there(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *path = path_of(place, "a.json");
    AUTO_TEXT struct text text = {0};
    text_add(&text, "old");
    put(place, "a.json", "{\"x\": 1}");
    assert_true(fs_read(path, 8, &text, NULL));
    assert_string_equal(text_get(&text), "{\"x\": 1}");
    put(place, "a.json", "");
    assert_true(fs_read(path, 0, &text, NULL));
    assert_string_equal(text_get(&text), "");
}

static void a_file_longer_than_the_limit_is_refused(void **state)
{
    const struct place *place = *state;
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    put(place, "long", "123456789");
    assert_false(fs_read_at(place->dir, "long", 8, &text, &err));
    assert_string_equal(err.text, "long is longer than 8 bytes");
    assert_int_equal(err.code, EFBIG);
    assert_int_equal(text.length, 0);
}

static void a_missing_file_says_so(void **state)
{
    const struct place *place = *state;
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    assert_false(fs_read_at(place->dir, "none.json", 100, &text, &err));
    assert_string_equal(err.text, "open none.json: No such file or directory");
    assert_int_equal(err.code, ENOENT);
}

static void a_link_is_followed_by_path_but_not_in_a_folder(void **state)
{
    const struct place *place = *state;
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *path = path_of(place, "link");
    struct err err = {0};
    put(place, "real", "content");
    assert_int_equal(symlinkat("real", place->dir, "link"), 0);
    assert_true(fs_read(path, 100, &text, NULL));
    assert_string_equal(text_get(&text), "content");
    assert_false(fs_read_at(place->dir, "link", 100, &text, &err));
    assert_string_equal(err.text, "link is a symbolic link");
    assert_int_equal(err.code, ELOOP);
}

static void only_regular_files_are_read_and_pipes_do_not_hold_us(void **state)
{
    const struct place *place = *state;
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    assert_int_equal(mkfifoat(place->dir, "pipe", 0600), 0);
    assert_int_equal(mkdirat(place->dir, "folder", 0700), 0);
    assert_false(fs_read_at(place->dir, "pipe", 100, &text, &err));
    assert_string_equal(err.text, "pipe is no regular file");
    assert_false(fs_read_at(place->dir, "folder", 100, &text, &err));
    assert_string_equal(err.text, "folder is a folder");
    assert_int_equal(err.code, EISDIR);
    assert_false(fs_read("/dev/null", 100, &text, &err));
    assert_string_equal(err.text, "/dev/null is no regular file");
}

static void kernel_files_are_read_although_they_say_they_are_empty(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    assert_true(fs_read_kernel(AT_FDCWD, "/proc/self/stat", 4096, &text, NULL));
    assert_int_equal(strtol(text_get(&text), NULL, 10), getpid());
    AUTO_CLOSE int dir = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(prctl(PR_SET_NAME, "fs_test"), 0);
    assert_true(fs_read_kernel(dir, "comm", 100, &text, NULL));
    assert_string_equal(text_get(&text), "fs_test\n");
    assert_false(fs_read_kernel(dir, "comm", 7, &text, &err));
    assert_string_equal(err.text, "comm is longer than 7 bytes");
    assert_true(fs_read_kernel(AT_FDCWD, "/dev/null", 10, &text, NULL));
    assert_string_equal(text_get(&text), "");
}

static void an_atomic_write_makes_and_replaces_and_leaves_nothing_else(void **state)
{
    const struct place *place = *state;
    mode_t old = umask(027);
    assert_true(fs_write_atomic(place->dir, "out.json", "first", 5, NULL));
    umask(old);
    struct stat status;
    assert_int_equal(fstatat(place->dir, "out.json", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_content(place, "out.json", "first");
    assert_true(fs_write_atomic(place->dir, "out.json", "2nd", 3, NULL));
    assert_content(place, "out.json", "2nd");
    assert_true(fs_write_atomic(place->dir, "empty", NULL, 0, NULL));
    assert_content(place, "empty", "");
    assert_int_equal(count_entries(place), 2);
}

static void an_atomic_write_takes_paths_and_names_as_long_as_can_be(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *path = path_of(place, "sub/a.csv");
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(mkdirat(place->dir, "sub", 0700), 0);
    assert_true(fs_write_atomic(place->dir, "sub/a.csv", "x\n", 2, NULL));
    assert_content(place, "sub/a.csv", "x\n");
    assert_true(fs_write_atomic(AT_FDCWD, path, "y\n", 2, NULL));
    assert_content(place, "sub/a.csv", "y\n");
    assert_true(fs_write_atomic(place->dir, name, "z\n", 2, NULL));
    assert_content(place, name, "z\n");
}

static void an_atomic_write_replaces_a_link_and_not_what_it_points_to(void **state)
{
    const struct place *place = *state;
    struct stat status;
    put(place, "target", "precious");
    assert_int_equal(symlinkat("target", place->dir, "out"), 0);
    assert_true(fs_write_atomic(place->dir, "out", "new", 3, NULL));
    assert_content(place, "target", "precious");
    assert_content(place, "out", "new");
    assert_int_equal(fstatat(place->dir, "out", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(status.st_mode));
}

static void an_atomic_write_that_fails_leaves_the_old_file_alone(void **state)
{
    const struct place *place = *state;
    struct err err = {0};
    assert_false(fs_write_atomic(place->dir, "none/a", "x", 1, &err));
    assert_string_equal(err.text, "write none/a: open its folder: No such file or directory");
    assert_int_equal(mkdirat(place->dir, "busy", 0700), 0);
    assert_false(fs_write_atomic(place->dir, "busy", "x", 1, &err));
    assert_string_equal(err.text, "write busy: rename: Is a directory");
    assert_int_equal(err.code, EISDIR);
    assert_int_equal(count_entries(place), 1);
}

/* A limit on the size of files stands for a full disk: the write comes back short, then fails. */
static void a_disk_that_fills_up_leaves_the_old_file_and_no_other(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *bytes = mem_alloc(100000);
    struct err err = {0};
    struct rlimit before, small;
    put(place, "summary.csv", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){50000, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool written = fs_write_atomic(place->dir, "summary.csv", bytes, 100000, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_false(written);
    assert_string_equal(
        err.text, "write summary.csv: write: File too large (limit on file sizes: ulimit -f)");
    assert_int_equal(err.code, EFBIG);
    assert_content(place, "summary.csv", "old");
    assert_int_equal(count_entries(place), 1);
}

static void a_full_device_is_an_error(void **state)
{
    (void)state;
    AUTO_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        print_message("# skipped: there is no /dev/full here\n");
        return;
    }
    struct err err = {0};
    assert_false(fs_write_all(fd, "x", 1, &err));
    assert_string_equal(err.text, "write: No space left on device");
    assert_int_equal(err.code, ENOSPC);
    assert_true(fs_write_all(fd, "", 0, NULL));
}

static void on_alarm(int number)
{
    (void)number;
}

/* Reads count bytes that repeat 0 .. 250; never returns. */
static void check_stream_and_exit(int fd, size_t count)
{
    size_t seen = 0;
    unsigned char buffer[1000];
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < got; i++)
            if (buffer[i] != seen++ % 251)
                _exit(1);
    _exit(seen == count ? 0 : 2);
}

static void all_bytes_arrive_across_interruptions(void **state)
{
    (void)state;
    const size_t count = 4 << 20;
    AUTO_FREE char *bytes = mem_alloc(count);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (char)(i % 251);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[1]);
        check_stream_and_exit(ends[0], count);
    }
    close(ends[0]);
    struct sigaction action = {.sa_handler = on_alarm}, before; /* without SA_RESTART */
    struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    bool written = fs_write_all(ends[1], bytes, count, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    close(ends[1]);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(written);
    assert_int_equal(status, 0);
}

static void a_folder_is_made_once_and_opened_always(void **state)
{
    const struct place *place = *state;
    struct stat status;
    for (int i = 0; i < 2; i++) {
        AUTO_CLOSE int fd = fs_make_dir_at(place->dir, i ? "run/" : "run", 0700, NULL);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0700);
    }
}

static void a_link_or_file_in_a_folder_s_place_is_refused(void **state)
{
    const struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->dir, "real", 0700), 0);
    assert_int_equal(symlinkat("real", place->dir, "link"), 0);
    put(place, "file", "x");
    assert_int_equal(fs_make_dir_at(place->dir, "link", 0700, &err), -1);
    assert_string_equal(err.text, "link is a symbolic link");
    assert_int_equal(fs_make_dir_at(place->dir, "link/", 0700, &err), -1);
    assert_string_equal(err.text, "link is a symbolic link");
    assert_int_equal(fs_make_dir_at(place->dir, "file", 0700, &err), -1);
    assert_string_equal(err.text, "open folder file: Not a directory");
    assert_int_equal(fs_make_dir_at(place->dir, "none/x", 0700, &err), -1);
    assert_string_equal(err.text, "make folder none/x: No such file or directory");
}

/* The folder that somebody else filled: place/in; outside of it stands place/out. */
static void assert_nothing_leads_out(const struct place *place)
{
    struct err err;
    AUTO_TEXT struct text text = {0};
    AUTO_CLOSE int in = openat(place->dir, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const leading[] = {"link/file",       "../out/file", "sub/../../out/file",
                                          "sub/link/file",   "/tmp/file",   "link_to_file",
                                          "sub/../link/file"};
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++) {
        assert_int_equal(fs_open_beneath(in, leading[i], O_RDONLY, 0), -1);
        assert_true(errno == EXDEV || errno == ELOOP || errno == ENOTDIR);
        assert_false(fs_read_at(in, leading[i], 100, &text, &err));
        assert_int_equal(fs_open_at(in, leading[i], &err), -1);
    }
    static const char *const made[] = {"link/new", "../out/new", "sub/link/new",
                                       "sub/../../out/new"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        assert_false(fs_write_atomic(in, made[i], "x", 1, &err));
        assert_int_equal(fs_create_at(in, made[i], &err), -1);
        assert_int_equal(fs_make_dir_at(in, made[i], 0777, &err), -1);
        assert_false(is_there(place, "out/new"));
    }
    assert_int_equal(fs_make_dir_at(in, "..", 0777, &err), -1);
    assert_int_equal(fs_open_folder_beneath(in, "link"), -1);
    assert_content(place, "out/file", "theirs");
    /* What stays inside is reached, across folders too. */
    assert_true(fs_read_at(in, "sub/file", 100, &text, &err));
    assert_string_equal(text_get(&text), "ours");
    assert_true(fs_write_atomic(in, "./sub/other", "y", 1, &err));
    assert_content(place, "in/sub/other", "y");
    AUTO_CLOSE int deeper = fs_make_dir_at(in, "sub/deeper", 0777, &err);
    assert_true(deeper >= 0 && is_there(place, "in/sub/deeper"));
    AUTO_CLOSE int created = fs_create_at(in, "sub/deeper/file", &err);
    assert_true(created >= 0 && is_there(place, "in/sub/deeper/file"));
}

static void fill_in_and_out(const struct place *place)
{
    assert_int_equal(mkdirat(place->dir, "in", 0700) | mkdirat(place->dir, "in/sub", 0700) |
                         mkdirat(place->dir, "out", 0700),
                     0);
    assert_int_equal(symlinkat("../out", place->dir, "in/link") |
                         symlinkat("../../out", place->dir, "in/sub/link") |
                         symlinkat("../out/file", place->dir, "in/link_to_file"),
                     0);
    put(place, "in/sub/file", "ours");
    put(place, "out/file", "theirs");
}

static void nothing_in_a_folder_leads_out_of_it(void **state)
{
    const struct place *place = *state;
    fill_in_and_out(place);
    assert_nothing_leads_out(place);
}

/* Linux before 5.6 (ENOSYS), and filters of containers that do not know the call (EPERM):
 * seccomp(2). */
static void nothing_leads_out_where_openat2_is_missing_either(void **state)
{
    const struct place *place = *state;
    static const unsigned codes[] = {ENOSYS, EPERM};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437, 0, 1), /* openat2, x86-64 and arm64 */
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | codes[i]),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            };
            struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                _exit(77);
            if (syscall(437, place->dir, ".", NULL, 0) != -1 || errno != (int)codes[i])
                _exit(78);
            char name[20];
            snprintf(name, sizeof name, "without_%zu", i);
            struct place own = {.dir = fs_make_dir_at(place->dir, name, 0700, NULL)};
            snprintf(own.path, sizeof own.path, "%.150s/%s", place->path, name);
            fill_in_and_out(&own);
            assert_nothing_leads_out(&own);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void a_path_is_made_step_by_step(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *path = path_of(place, "a//b/c/");
    struct stat status;
    for (int i = 0; i < 2; i++) {
        AUTO_CLOSE int fd = fs_make_path(path, 0755, NULL);
        assert_true(fd >= 0);
    }
    assert_int_equal(fstatat(place->dir, "a/b/c", &status, 0), 0);
    assert_true(S_ISDIR(status.st_mode));
    put(place, "a/file", "x");
    AUTO_FREE char *blocked = path_of(place, "a/file/d");
    AUTO_FREE char *expected = mem_printf("make folder %s: Not a directory", blocked);
    struct err err = {0};
    assert_int_equal(fs_make_path(blocked, 0755, &err), -1);
    assert_string_equal(err.text, expected);
    assert_int_equal(fs_make_path("", 0755, &err), -1);
    AUTO_CLOSE int root = fs_make_path("/", 0755, &err);
    assert_true(root >= 0);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

/* Nothing else that begins like it, no link, no folder, and nothing behind a link. */
static void what_a_killed_writer_left_is_removed_and_nothing_else(void **state)
{
    const struct place *place = *state;
    static const char *const kept[] = {".writing-",
                                       ".writing-0123456789abcde",
                                       ".writing-0123456789abcdef0",
                                       ".writing-0123456789abcdeF",
                                       ".writing-report.html",
                                       "x.writing-0123456789abcdef",
                                       "writing-0123456789abcdef"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        put(place, kept[i], "mine");
    assert_int_equal(mkdirat(place->dir, "below", 0755), 0);
    assert_int_equal(mkdirat(place->dir, ".hidden", 0755), 0);
    assert_int_equal(mkdirat(place->dir, ".writing-dddddddddddddddd", 0755), 0);
    put(place, ".writing-0123456789abcdef", "torn");
    put(place, "below/.writing-fedcba9876543210", "torn");
    put(place, ".hidden/.writing-0123456789abcdef", "mine");
    assert_int_equal(symlinkat("below", place->dir, "link"), 0);
    assert_int_equal(symlinkat("below", place->dir, ".writing-aaaaaaaaaaaaaaaa"), 0);
    assert_int_equal(mkfifoat(place->dir, ".writing-bbbbbbbbbbbbbbbb", 0600), 0);
    assert_int_equal(fs_clear_unfinished(place->dir, false), 1);
    assert_false(is_there(place, ".writing-0123456789abcdef"));
    assert_true(is_there(place, "below/.writing-fedcba9876543210"));
    assert_int_equal(fs_clear_unfinished(place->dir, true), 1);
    assert_false(is_there(place, "below/.writing-fedcba9876543210"));
    assert_int_equal(fs_clear_unfinished(place->dir, true), 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_true(is_there(place, kept[i]));
    assert_true(is_there(place, ".writing-aaaaaaaaaaaaaaaa"));
    assert_true(is_there(place, ".writing-bbbbbbbbbbbbbbbb"));
    assert_true(is_there(place, ".writing-dddddddddddddddd"));
    assert_true(is_there(place, ".hidden/.writing-0123456789abcdef"));
}

/* The name is the one that is written under: a writer that cannot finish leaves it. */
static void a_writer_that_is_killed_leaves_a_name_that_is_known(void **state)
{
    const struct place *place = *state;
    const struct rlimit limit = {1000, 1000};
    char *bytes = mem_alloc(100000);
    memset(bytes, 'x', 100000);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* The file may not grow so long, and the default of SIGXFSZ is death. */
        signal(SIGXFSZ, SIG_DFL);
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        setrlimit(RLIMIT_FSIZE, &limit);
        fs_write_atomic(place->dir, "report.html", bytes, 100000, NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(bytes);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_int_equal(fs_clear_unfinished(place->dir, true), 1);
    assert_false(is_there(place, "report.html"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(a_file_is_read_whole_in_place_of_what_was_there),
        WITH_PLACE(a_file_longer_than_the_limit_is_refused),
        WITH_PLACE(a_missing_file_says_so),
        WITH_PLACE(a_link_is_followed_by_path_but_not_in_a_folder),
        WITH_PLACE(only_regular_files_are_read_and_pipes_do_not_hold_us),
        cmocka_unit_test(kernel_files_are_read_although_they_say_they_are_empty),
        WITH_PLACE(an_atomic_write_makes_and_replaces_and_leaves_nothing_else),
        WITH_PLACE(an_atomic_write_takes_paths_and_names_as_long_as_can_be),
        WITH_PLACE(an_atomic_write_replaces_a_link_and_not_what_it_points_to),
        WITH_PLACE(an_atomic_write_that_fails_leaves_the_old_file_alone),
        WITH_PLACE(a_disk_that_fills_up_leaves_the_old_file_and_no_other),
        WITH_PLACE(what_a_killed_writer_left_is_removed_and_nothing_else),
        WITH_PLACE(a_writer_that_is_killed_leaves_a_name_that_is_known),
        cmocka_unit_test(a_full_device_is_an_error),
        cmocka_unit_test(all_bytes_arrive_across_interruptions),
        WITH_PLACE(a_folder_is_made_once_and_opened_always),
        WITH_PLACE(a_link_or_file_in_a_folder_s_place_is_refused),
        WITH_PLACE(nothing_in_a_folder_leads_out_of_it),
        WITH_PLACE(nothing_leads_out_where_openat2_is_missing_either),
        WITH_PLACE(a_path_is_made_step_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
