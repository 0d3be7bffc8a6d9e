#include "results/store/lock.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct run run;

static int set_up(void **state)
{
    (void)state;
    run_make(&run);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_remove(&run);
    return 0;
}

static void put_holder(const char *text)
{
    AUTO_CLOSE int fd = openat(run.dir, "run.lock", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void the_first_holder_writes_its_pid_and_host(void **state)
{
    (void)state;
    struct err err = {0};
    struct stat status;
    char host[256];
    put_holder("a longer line of an earlier holder, of some other host, and of another process\n");
    assert_int_equal(lock_look(run.path), LOCK_UNSEEN);
    AUTO_CLOSE int lock = lock_take(run.dir, run.path, &err);
    assert_true(lock >= 0);
    assert_int_equal(gethostname(host, sizeof host), 0);
    AUTO_FREE char *expected = mem_printf("%d %s\n", (int)getpid(), host);
    AUTO_FREE char *text = run_read(&run, "run.lock");
    assert_string_equal(text, expected);
    assert_int_equal(fstat(lock, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600); /* older runs left it readable */
    assert_int_equal(lock_look(run.path), LOCK_HELD);
    assert_int_equal(lock_look_at(run.dir), LOCK_HELD);
}

static void a_second_one_is_refused_until_the_first_lets_go(void **state)
{
    (void)state;
    struct err err = {0};
    int lock = lock_take(run.dir, run.path, &err);
    AUTO_FREE char *holder = mem_printf("in use by process %d on host", (int)getpid());
    assert_int_equal(lock_take(run.dir, run.path, &err), -1);
    assert_int_equal(err.code, EWOULDBLOCK);
    assert_non_null(strstr(err.text, holder));
    close(lock);
    assert_int_equal(lock_look(run.path), LOCK_FREE);
    AUTO_CLOSE int again = lock_take(run.dir, run.path, &err);
    assert_true(again >= 0);
}

/* The file's word counts for nothing where the kernel knows who holds the lock. */
static void the_kernel_names_who_holds_it(void **state)
{
    (void)state;
    struct err err = {0};
    char host[256];
    assert_int_equal(gethostname(host, sizeof host), 0);
    AUTO_FREE char *line = mem_printf("1 %s\n", host);
    put_holder(line);
    AUTO_CLOSE int other = openat(run.dir, "run.lock", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX), 0);
    AUTO_FREE char *holder = mem_printf("is locked by process %d (", (int)getpid());
    assert_int_equal(lock_take(run.dir, run.path, &err), -1);
    assert_int_equal(err.code, EWOULDBLOCK);
    if (!strstr(err.text, holder))
        fail_msg("%s", err.text);
}

static void a_child_that_was_forked_keeps_it(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int lock = lock_take(run.dir, run.path, NULL);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0);
    }
    close(lock);
    assert_int_equal(lock_look(run.path), LOCK_HELD);
    close(ends[1]);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lock_look(run.path), LOCK_FREE);
}

static void links_folders_and_pipes_are_refused(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(lock_look(run.path), LOCK_FREE);
    assert_int_equal(symlinkat("elsewhere", run.dir, "run.lock"), 0);
    assert_int_equal(lock_take(run.dir, run.path, &err), -1);
    assert_false(run_has(&run, "elsewhere"));
    assert_int_equal(lock_look(run.path), LOCK_UNSEEN);
    assert_int_equal(unlinkat(run.dir, "run.lock", 0), 0);
    assert_int_equal(mkfifoat(run.dir, "run.lock", 0600), 0);
    assert_int_equal(lock_take(run.dir, run.path, &err), -1);
    assert_non_null(strstr(err.text, "is no regular file"));
    assert_int_equal(unlinkat(run.dir, "run.lock", 0), 0);
    assert_int_equal(mkdirat(run.dir, "run.lock", 0700), 0);
    assert_int_equal(lock_take(run.dir, run.path, &err), -1);
    AUTO_FREE char *nowhere = mem_printf("%s/nowhere", run.path);
    assert_int_equal(lock_look(nowhere), LOCK_FREE);
}

static void lock_and_last_session_say_how_far_a_run_is(void **state)
{
    (void)state;
    for (enum lock_seen seen = LOCK_FREE; seen <= LOCK_UNSEEN; seen++)
        assert_int_equal(run_life_of(true, seen),
                         seen == LOCK_HELD ? RUN_LIFE_UNDER_WAY : RUN_LIFE_ENDED);
    assert_int_equal(run_life_of(false, LOCK_FREE), RUN_LIFE_DIED);
    assert_int_equal(run_life_of(false, LOCK_HELD), RUN_LIFE_UNDER_WAY);
    assert_int_equal(run_life_of(false, LOCK_UNSEEN), RUN_LIFE_ELSEWHERE);
}

#define IN_RUN(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        IN_RUN(the_first_holder_writes_its_pid_and_host),
        IN_RUN(a_second_one_is_refused_until_the_first_lets_go),
        IN_RUN(the_kernel_names_who_holds_it),
        IN_RUN(a_child_that_was_forked_keeps_it),
        IN_RUN(links_folders_and_pipes_are_refused),
        cmocka_unit_test(lock_and_last_session_say_how_far_a_run_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
