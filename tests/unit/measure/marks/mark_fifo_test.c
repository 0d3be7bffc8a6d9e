/* The FIFO of $TARE_MARKS, and writers of all sorts. */
#include "measure/marks/mark_fifo.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "marks"

struct place {
    char *path;
    int dir;
    struct mark_fifo *fifo;
    struct text told; /* "epoch(3) /epoch(3) " */
    uint64_t count;
};

static int set_up(void **state)
{
    static struct place place;
    const char *base = getenv("TMPDIR");
    place = (struct place){
        .path = mem_printf("%s/tare-test-marks-XXXXXX", base && *base ? base : P_tmpdir)};
    assert_non_null(mkdtemp(place.path));
    place.dir = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place.dir >= 0);
    struct err err = {0};
    place.fifo = mark_fifo_new(place.dir, NAME, (uid_t)-1, &err);
    if (!place.fifo)
        fail_msg("%s", err.text);
    *state = &place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    mark_fifo_free(place->fifo);
    unlinkat(place->dir, NAME, 0);
    close(place->dir);
    rmdir(place->path);
    free(place->path);
    text_fini(&place->told);
    return 0;
}

static int writer(const struct place *place)
{
    int fd = openat(place->dir, NAME, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void put(const struct place *place, const char *bytes, size_t count)
{
    int fd = writer(place);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

static void note_mark(void *context, const struct mark *mark)
{
    struct place *place = context;
    place->count++;
    if (place->told.length < 4096)
        text_addf(&place->told, "%s%s(%s) ", mark->is_end ? "/" : "", mark->name, mark->label);
}

static bool take(struct place *place)
{
    return mark_fifo_read(place->fifo, NS_PER_S, note_mark, place);
}

static void lines_become_marks_whoever_writes_them(void **state)
{
    struct place *place = *state;
    put(place, "epoch 1\n", 8);
    put(place, "epoch 2\n/epoch 2\n", 17);
    assert_true(take(place));
    assert_string_equal(text_get(&place->told), "epoch(1) epoch(2) /epoch(2) ");
    assert_int_equal(mark_fifo_refused(place->fifo), 0);
}

static void it_is_for_its_owner_alone(void **state)
{
    struct place *place = *state;
    struct stat status;
    assert_int_equal(fstatat(place->dir, NAME, &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_uid, geteuid());
}

static void a_writer_that_leaves_makes_no_end_of_file(void **state)
{
    struct place *place = *state;
    struct pollfd wait = {.fd = mark_fifo_fd(place->fifo), .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 0), 0);
    put(place, "epoch 1\n", 8);
    assert_int_equal(poll(&wait, 1, 20000), 1);
    assert_true(take(place));
    assert_int_equal(poll(&wait, 1, 0), 0); /* an event loop would spin here */
    assert_true(take(place));
    assert_int_equal(place->count, 1);
}

static void a_line_may_come_in_pieces(void **state)
{
    struct place *place = *state;
    put(place, "epo", 3);
    assert_true(take(place));
    put(place, "ch 7", 4);
    assert_true(take(place));
    assert_int_equal(place->count, 0);
    put(place, "7\nepo", 5);
    assert_true(take(place));
    assert_string_equal(text_get(&place->told), "epoch(77) ");
    put(place, "ch 78", 5);
    assert_true(take(place));
    mark_fifo_end(place->fifo, note_mark, place); /* printf without a newline */
    mark_fifo_end(place->fifo, note_mark, place);
    assert_string_equal(text_get(&place->told), "epoch(77) epoch(78) ");
}

static void garbage_is_counted_and_what_follows_is_read(void **state)
{
    struct place *place = *state;
    char garbage[300];
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 37 + 11 == '\n' ? 0 : i * 37 + 11);
    for (size_t i = 0; i < sizeof garbage; i++)
        if (garbage[i] == '\n')
            garbage[i] = 'x';
    put(place, garbage, sizeof garbage);
    put(place, "\n\nepoch 1\n-x\nepoch 2\n", 21);
    assert_true(take(place));
    assert_string_equal(text_get(&place->told), "epoch(1) epoch(2) ");
    assert_int_equal(mark_fifo_refused(place->fifo), 3); /* the long one, the empty one, -x */
}

static void a_line_of_256_bytes_is_read_and_one_of_257_is_not(void **state)
{
    struct place *place = *state;
    char line[257];
    memset(line, ' ', sizeof line);
    memcpy(line, "epoch 1", 7);
    line[255] = '\n';
    put(place, line, 256);
    line[255] = ' ';
    line[256] = '\n';
    put(place, line, 257);
    assert_true(take(place));
    assert_string_equal(text_get(&place->told), "epoch(1) ");
    assert_int_equal(mark_fifo_refused(place->fifo), 1);
}

/* Writes blocks until it is killed. */
static pid_t start_flood(const struct place *place, const char *bytes, size_t count)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    int fd = openat(place->dir, NAME, O_WRONLY);
    while (fd >= 0 && (write(fd, bytes, count) > 0 || errno == EINTR))
        ;
    _exit(1);
}

static void a_flood_takes_no_memory_and_each_call_ends(void **state)
{
    struct place *place = *state;
    struct rusage before, after;
    AUTO_FREE char *block = mem_alloc(65536);
    for (size_t i = 0; i + 8 <= 65536; i += 8)
        memcpy(block + i, i % 1024 < 512 ? "epoch 1\n" : "garbage,", 8);
    pid_t pids[3];
    for (size_t i = 0; i < 3; i++)
        pids[i] = start_flood(place, block, 65536);
    getrusage(RUSAGE_SELF, &before);
    int64_t end_ns = clock_monotonic_ns() + 60 * NS_PER_S;
    while (place->count < 500000 && clock_monotonic_ns() < end_ns)
        take(place);
    getrusage(RUSAGE_SELF, &after);
    for (size_t i = 0; i < 3; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    assert_true(place->count >= 500000);
    assert_true(mark_fifo_refused(place->fifo) > 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 8 * 1024); /* KiB */
}

/* Lines of at most PIPE_BUF bytes, written at once, stay whole. */
static void many_writers_do_not_tear_each_others_lines(void **state)
{
    struct place *place = *state;
    enum { WRITERS = 8, LINES = 2000 };
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] > 0)
            continue;
        int fd = openat(place->dir, NAME, O_WRONLY);
        for (int k = 0; k < LINES; k++) {
            char line[64];
            int length = snprintf(line, sizeof line, "epoch %d-%d\n", i, k);
            if (write(fd, line, (size_t)length) != length)
                _exit(1);
        }
        _exit(0);
    }
    int64_t end_ns = clock_monotonic_ns() + 60 * NS_PER_S;
    while (place->count < WRITERS * LINES && clock_monotonic_ns() < end_ns) {
        struct pollfd wait = {.fd = mark_fifo_fd(place->fifo), .events = POLLIN};
        poll(&wait, 1, 100);
        take(place);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(place->count, WRITERS * LINES);
    assert_int_equal(mark_fifo_refused(place->fifo), 0);
}

static void it_is_gone_when_it_is_freed(void **state)
{
    struct place *place = *state;
    mark_fifo_free(place->fifo);
    place->fifo = NULL;
    assert_int_equal(faccessat(place->dir, NAME, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void what_was_put_in_its_place_is_left_alone(void **state)
{
    struct place *place = *state;
    unlinkat(place->dir, NAME, 0);
    int fd = openat(place->dir, NAME, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    mark_fifo_free(place->fifo);
    place->fifo = NULL;
    assert_int_equal(faccessat(place->dir, NAME, F_OK, AT_SYMLINK_NOFOLLOW), 0);
    mark_fifo_remove(place->dir, NAME); /* no FIFO: not ours */
    assert_int_equal(faccessat(place->dir, NAME, F_OK, AT_SYMLINK_NOFOLLOW), 0);
}

static void what_a_dead_session_left_makes_way(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct mark_fifo *next = mark_fifo_new(place->dir, NAME, (uid_t)-1, &err);
    assert_non_null(next);
    put(place, "epoch 1\n", 8);
    assert_true(take(place));
    assert_int_equal(place->count, 0); /* the new one has it */
    mark_fifo_read(next, 1, note_mark, place);
    assert_int_equal(place->count, 1);
    mark_fifo_free(next);
    assert_int_equal(symlinkat("/nonexistent/target", place->dir, NAME), 0);
    next = mark_fifo_new(place->dir, NAME, (uid_t)-1, &err);
    assert_non_null(next); /* the link went, its target was never looked at */
    mark_fifo_free(next);
    assert_int_equal(mkdirat(place->dir, NAME, 0700), 0);
    assert_null(mark_fifo_new(place->dir, NAME, (uid_t)-1, &err));
    assert_non_null(strstr(err.text, NAME));
    assert_int_equal(unlinkat(place->dir, NAME, AT_REMOVEDIR), 0);
}

static void under_root_it_belongs_to_the_jobs_user(void **state)
{
    struct place *place = *state;
    if (geteuid() != 0) {
        print_message("# only root can give a FIFO away\n");
        skip();
    }
    struct err err = {0};
    struct stat status;
    struct mark_fifo *fifo = mark_fifo_new(place->dir, NAME, 12345, &err);
    if (!fifo && (err.code == EPERM || err.code == EINVAL)) {
        print_message("# this root may not change owners\n");
        skip();
    }
    assert_non_null(fifo);
    assert_int_equal(fstatat(place->dir, NAME, &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(status.st_uid, 12345);
    assert_int_equal(status.st_mode & 07777, 0600);
    mark_fifo_free(fifo);
    assert_int_equal(faccessat(place->dir, NAME, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_become_marks_whoever_writes_them),
        TEST(it_is_for_its_owner_alone),
        TEST(a_writer_that_leaves_makes_no_end_of_file),
        TEST(a_line_may_come_in_pieces),
        TEST(garbage_is_counted_and_what_follows_is_read),
        TEST(a_line_of_256_bytes_is_read_and_one_of_257_is_not),
        TEST(a_flood_takes_no_memory_and_each_call_ends),
        TEST(many_writers_do_not_tear_each_others_lines),
        TEST(it_is_gone_when_it_is_freed),
        TEST(what_was_put_in_its_place_is_left_alone),
        TEST(what_a_dead_session_left_makes_way),
        TEST(under_root_it_belongs_to_the_jobs_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
