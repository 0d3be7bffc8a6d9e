#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/contain/prove.h"
#include "machine/contain/start.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t tests_possible(struct CMUnitTest *tests, size_t count)
{
    bool possible[CONTAINMENT_SWEEP + 1];
    size_t kept = 0;
    for (int mode = CONTAINMENT_AUTO; mode <= CONTAINMENT_SWEEP; mode++) {
        struct containment containment;
        struct err err = {0};
        possible[mode] = containment_probe((enum containment_mode)mode, &containment, &err);
        if (!possible[mode])
            printf("# not tested on this machine: %s\n", err.text);
        containment_fini(&containment);
    }
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        if (!tests[i].initial_state ||
            possible[*(const enum containment_mode *)tests[i].initial_state])
            tests[kept++] = tests[i];
    return kept;
}

void shell_init(struct shell_job *shell, enum containment_mode mode, const char *script)
{
    struct err err = {0};
    int ends[2];
    *shell = (struct shell_job){0};
    if (!containment_probe(mode, &shell->containment, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    shell->output = ends[0];
    shell->theirs = ends[1];
    strv_add(&shell->argv, "/bin/sh");
    strv_add(&shell->argv, "-c");
    strv_add(&shell->argv, script);
    strv_add(&shell->env, "PATH=/usr/local/bin:/usr/bin:/bin");
    shell->request = (struct job_request){.containment = &shell->containment,
                                          .argv = &shell->argv,
                                          .env = &shell->env,
                                          .stdin_fd = -1,
                                          .stdout_fd = shell->theirs,
                                          .stderr_fd = shell->theirs};
}

void shell_start(struct shell_job *shell)
{
    struct err err = {0};
    shell->job = job_start(&shell->request, &err);
    if (!shell->job)
        fail_msg("%s", err.text);
    close(shell->theirs);
    shell->theirs = -1;
}

void shell_open_gate(struct shell_job *shell)
{
    struct err err = {0};
    assert_true(job_open_gate(shell->job, &err));
}

struct job_exit shell_wait(struct shell_job *shell)
{
    struct pollfd wait = {.fd = job_fd(shell->job), .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    struct job_exit end = job_take_exit(shell->job);
    assert_true(end.ended);
    return end;
}

void shell_prove(struct shell_job *shell)
{
    int64_t deadline = clock_monotonic_ns() + PATIENCE_MS * NS_PER_MS;
    struct job_member members[4];
    size_t count = 0;
    job_kill(shell->job);
    while (!job_prove_step(shell->job, members, 4, &count)) {
        if (clock_monotonic_ns() > deadline)
            fail_msg("%zu processes are left, the first is %s", count,
                     count ? members[0].command : "-");
        poll(NULL, 0, 2);
    }
    assert_int_equal(count, 0);
}

void shell_fini(struct shell_job *shell)
{
    job_free(shell->job);
    close(shell->output);
    if (shell->theirs >= 0)
        close(shell->theirs);
    strv_fini(&shell->argv);
    strv_fini(&shell->env);
    containment_fini(&shell->containment);
}

static ssize_t read_some(int fd, char *out, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    ssize_t got = read(fd, out, size);
    assert_true(got >= 0);
    return got;
}

void read_to_end(int fd, char *out, size_t size)
{
    size_t length = 0;
    ssize_t got;
    while ((got = read_some(fd, out + length, size - 1 - length)) > 0) {
        length += (size_t)got;
        assert_true(length < size - 1);
    }
    out[length] = '\0';
}

void read_line(int fd, char *out, size_t size)
{
    size_t length = 0;
    for (;;) {
        assert_true(length + 1 < size);
        assert_int_equal(read_some(fd, out + length, 1), 1);
        if (out[length] == '\n')
            break;
        length++;
    }
    out[length] = '\0';
}

void assert_end(int fd)
{
    char rest[4096];
    while (read_some(fd, rest, sizeof rest) > 0)
        ;
}

int is_held(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, 0) == 0 || !(wait.revents & POLLHUP);
}
