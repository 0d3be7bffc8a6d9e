/* Who holds a pipe's writing end; and what is told of setuid programs. */
#include "machine/contain/holders.h"
#include "machine/contain/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static uint64_t inode_of(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return (uint64_t)status.st_ino;
}

/* A child that keeps one end of the pipe and waits. */
static pid_t keep(int kept, int closed)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(closed);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "kee)per 1");
        if (fcntl(kept, F_GETFD) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void the_writer_of_a_pipe_is_found_and_its_reader_is_not(void **state)
{
    (void)state;
    int ends[2];
    struct job_member members[4];
    size_t hidden;
    assert_int_equal(pipe(ends), 0);
    pid_t writer = keep(ends[1], ends[0]), reader = keep(ends[0], ends[1]);
    close(ends[1]);
    assert_int_equal(holders_of_pipe("/proc", inode_of(ends[0]), members, 4, &hidden), 1);
    assert_int_equal(members[0].pid, writer);
    assert_string_equal(members[0].command, "kee)per 1");
    end(writer);
    assert_int_equal(holders_of_pipe("/proc", inode_of(ends[0]), members, 4, &hidden), 0);
    end(reader);
    close(ends[0]);
}

static void more_writers_than_fit_are_counted(void **state)
{
    (void)state;
    int ends[2];
    struct job_member members[1] = {{0}};
    size_t hidden;
    assert_int_equal(pipe(ends), 0);
    pid_t first = keep(ends[1], ends[0]), second = keep(ends[1], ends[0]);
    close(ends[1]);
    assert_int_equal(holders_of_pipe("/proc", inode_of(ends[0]), members, 1, &hidden), 2);
    assert_true(members[0].pid == first || members[0].pid == second);
    end(first);
    end(second);
    close(ends[0]);
}

static void where_there_is_no_proc_nobody_is_found(void **state)
{
    (void)state;
    size_t hidden = 1;
    assert_int_equal(holders_of_pipe("/nonexistent", 1, NULL, 0, &hidden), 0);
    assert_int_equal(hidden, 0);
}

/* The words of sudo 1.8 and 1.9, and of util-linux. */
static void a_refused_setuid_program_is_known_by_its_words(void **state)
{
    (void)state;
    assert_true(setuid_refusal_told(
        "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set"));
    assert_true(
        setuid_refusal_told("sudo: effective uid is not 0, is sudo installed setuid root?"));
    assert_true(
        setuid_refusal_told("a line\nsudo: /etc/sudo.conf is owned by uid 65534, should be 0\n"));
    assert_true(setuid_refusal_told("mount: must be setuid root"));
    assert_false(setuid_refusal_told("sudo: a password is required"));
    assert_false(setuid_refusal_told("RuntimeError: CUDA error: operation not permitted"));
    assert_false(setuid_refusal_told(""));
}

static void only_a_user_namespace_is_a_reason(void **state)
{
    (void)state;
    struct containment with = {.pidns = true, .userns = true}, without = {.pidns = true};
    bool forbidden = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    const char *hint = setuid_hint(&with);
    assert_null(setuid_hint(&without));
    assert_true(forbidden ? hint == NULL : strstr(hint, "--containment cgroup") != NULL);
    /* Forbidden by whoever started us, nothing helps: so nothing is promised. */
    pid_t pid = fork();
    if (pid == 0)
        _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && !setuid_hint(&with) ? 0 : 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_program_with_the_setuid_bit_of_root_is_one(void **state)
{
    (void)state;
    char path[] = "/tmp/setuid.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_false(setuid_root_program(path));
    assert_int_equal(fchmod(fd, 04755), 0);
    assert_true(setuid_root_program(path) == (geteuid() == 0));
    close(fd);
    unlink(path);
    assert_false(setuid_root_program(path));
    assert_false(setuid_root_program("/"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_writer_of_a_pipe_is_found_and_its_reader_is_not),
        cmocka_unit_test(more_writers_than_fit_are_counted),
        cmocka_unit_test(where_there_is_no_proc_nobody_is_found),
        cmocka_unit_test(a_refused_setuid_program_is_known_by_its_words),
        cmocka_unit_test(only_a_user_namespace_is_a_reason),
        cmocka_unit_test(a_program_with_the_setuid_bit_of_root_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
