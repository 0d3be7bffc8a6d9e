#include "machine/contain/job.h"
#include "machine/contain/start.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fixture.h"
#include "machine/contain/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A runner of its own: a child that starts one job, tells who it is, and waits to be killed. */
struct runner {
    pid_t pid;
    int output; /* the job's */
    struct job_identity identity;
};

struct told {
    pid_t pid;
    uint64_t start_time;
    char boot_id[40], tag[40], cgroup[4096];
};

/* What the child does with a guardian. */
enum guard { UNGUARDED, GUARDED, RELEASED, STOPPED };

static _Noreturn void runner_main(struct shell_job *shell, enum guard guard, bool open_gate,
                                  int tell)
{
    struct guardian *guardian = guard == UNGUARDED ? NULL : guardian_start(NULL);
    struct told told = {0};
    shell->job = job_start(&shell->request, NULL);
    if (!shell->job || (guard != UNGUARDED && !guardian))
        _exit(1);
    close(shell->theirs);
    const struct job_identity *identity = job_identity(shell->job);
    if (guardian && !guardian_watch(guardian, identity, NULL))
        _exit(1);
    if (guard == RELEASED)
        guardian_release(guardian, identity);
    if (guard == STOPPED)
        guardian_stop(guardian);
    if (open_gate)
        job_open_gate(shell->job, NULL);
    told.pid = identity->pid;
    told.start_time = identity->start_time;
    strcpy(told.boot_id, identity->boot_id);
    strcpy(told.tag, identity->tag);
    snprintf(told.cgroup, sizeof told.cgroup, "%s", identity->cgroup ? identity->cgroup : "");
    if (write(tell, &told, sizeof told) != (ssize_t)sizeof told)
        _exit(1);
    for (;;)
        pause();
}

static void runner_start(struct runner *runner, enum containment_mode mode, const char *script,
                         enum guard guard, bool open_gate)
{
    struct shell_job shell;
    struct told told;
    int ends[2];
    shell_init(&shell, mode, script);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    runner->pid = fork();
    assert_true(runner->pid >= 0);
    if (runner->pid == 0) {
        close(shell.output);
        runner_main(&shell, guard, open_gate, ends[1]);
    }
    close(ends[1]);
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    assert_int_equal(read(ends[0], &told, sizeof told), sizeof told);
    close(ends[0]);
    runner->output = dup(shell.output);
    runner->identity = (struct job_identity){.pid = told.pid, .start_time = told.start_time};
    strcpy(runner->identity.boot_id, told.boot_id);
    runner->identity.tag = mem_strdup(told.tag);
    runner->identity.cgroup = told.cgroup[0] ? mem_strdup(told.cgroup) : NULL;
    shell_fini(&shell);
}

static void runner_kill(struct runner *runner)
{
    if (runner->pid > 0) {
        kill(runner->pid, SIGKILL);
        assert_int_equal(waitpid(runner->pid, NULL, 0), runner->pid);
    }
    runner->pid = -1;
}

static void runner_fini(struct runner *runner)
{
    close(runner->output);
    job_identity_fini(&runner->identity);
}

/* Its init killed with it, so that nobody is there to end the tree; the init first, while its
 * runner would still show a change of pid. */
static void runner_and_init_kill(struct runner *runner)
{
    kill(runner->identity.pid, SIGKILL);
    runner_kill(runner);
}

static const char daemon_script[] = "setsid sh -c 'trap \"\" TERM HUP; echo up; sleep 1000' & wait";

static enum containment_mode mode_of(void **state)
{
    return *(const enum containment_mode *)*state;
}

static void a_tree_dies_with_its_runner(void **state)
{
    struct runner runner;
    char line[16];
    runner_start(&runner, mode_of(state), daemon_script, UNGUARDED, true);
    read_line(runner.output, line, sizeof line);
    runner_kill(&runner);
    assert_end(runner.output);
    size_t killed = 0;
    assert_true(job_recover(&runner.identity, NULL, 30, &killed, NULL));
    if (runner.identity.cgroup)
        assert_int_equal(access(runner.identity.cgroup, F_OK), -1);
    runner_fini(&runner);
}

static void a_runner_that_dies_at_the_gate_has_run_nothing(void **state)
{
    struct runner runner;
    char output[64];
    runner_start(&runner, mode_of(state), "echo ran", UNGUARDED, false);
    runner_kill(&runner);
    read_to_end(runner.output, output, sizeof output);
    assert_string_equal(output, "");
    size_t killed = 0;
    assert_true(job_recover(&runner.identity, NULL, 30, &killed, NULL));
    runner_fini(&runner);
}

static void what_outlived_runner_and_init_is_found_and_ended(void **state)
{
    struct runner runner;
    struct err err = {0};
    char line[16];
    size_t killed = 0;
    runner_start(&runner, mode_of(state), daemon_script, UNGUARDED, true);
    read_line(runner.output, line, sizeof line);
    runner_and_init_kill(&runner);
    if (!job_recover(&runner.identity, NULL, 30, &killed, &err))
        fail_msg("%s", err.text);
    assert_end(runner.output);
    /* In a namespace they have died with the init. */
    if (mode_of(state) != CONTAINMENT_PIDNS)
        assert_true(killed >= 1);
    assert_true(job_recover(&runner.identity, NULL, 30, &killed, &err));
    assert_int_equal(killed, 0);
    runner_fini(&runner);
}

static void a_job_of_another_boot_is_not_looked_for(void **state)
{
    (void)state;
    struct runner runner;
    char line[16];
    size_t killed = 0;
    runner_start(&runner, CONTAINMENT_SWEEP, daemon_script, UNGUARDED, true);
    read_line(runner.output, line, sizeof line);
    runner_and_init_kill(&runner);
    struct job_identity other;
    job_identity_copy(&runner.identity, &other);
    other.boot_id[0] = other.boot_id[0] == '0' ? '1' : '0';
    assert_true(job_recover(&other, NULL, 30, &killed, NULL));
    assert_int_equal(killed, 0);
    assert_true(is_held(runner.output));
    job_identity_fini(&other);
    assert_true(job_recover(&runner.identity, NULL, 30, &killed, NULL));
    assert_end(runner.output);
    runner_fini(&runner);
}

/* Whoever wrote the identity down may have made it up: the kernel shows who started the job. */
static void a_job_whose_runner_lives_is_left_alone(void **state)
{
    struct runner runner;
    struct job_member member;
    char line[16];
    size_t killed = 0;
    runner_start(&runner, mode_of(state), daemon_script, UNGUARDED, true);
    read_line(runner.output, line, sizeof line);
    assert_true(job_recover(&runner.identity, NULL, 1, &killed, NULL));
    assert_int_equal(killed, 0);
    assert_true(is_held(runner.output));
    assert_true(job_is_unproven(&runner.identity, &member));
    assert_int_equal(member.pid, runner.identity.pid);
    if (runner.identity.cgroup)
        assert_int_equal(access(runner.identity.cgroup, F_OK), 0);
    runner_kill(&runner);
    assert_end(runner.output);
    runner_fini(&runner);
}

static void a_process_that_nothing_but_pid_and_start_time_names_is_left_alone(void **state)
{
    (void)state;
    size_t killed = 0;
    struct job_member member;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    struct job_identity identity = {.pid = pid,
                                    .tag = mem_strdup("0123456789abcdef0123456789abcdef")};
    assert_true(boot_id_read(identity.boot_id, NULL));
    assert_true(process_start_time(pid, &identity.start_time));
    assert_true(job_recover(&identity, NULL, 30, &killed, NULL));
    assert_int_equal(killed, 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_true(job_is_unproven(&identity, &member));
    identity.start_time--;
    assert_true(job_recover(&identity, NULL, 30, &killed, NULL));
    assert_false(job_is_unproven(&identity, &member));
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    job_identity_fini(&identity);
}

static void the_guardian_ends_what_outlived_runner_and_init(void **state)
{
    struct runner runner;
    char line[16];
    runner_start(&runner, mode_of(state), daemon_script, GUARDED, true);
    read_line(runner.output, line, sizeof line);
    runner_and_init_kill(&runner);
    assert_end(runner.output);
    int64_t deadline = clock_monotonic_ns() + PATIENCE_MS * NS_PER_MS;
    while (runner.identity.cgroup && access(runner.identity.cgroup, F_OK) == 0) {
        assert_true(clock_monotonic_ns() < deadline);
        poll(NULL, 0, 5);
    }
    runner_fini(&runner);
}

/* Released or not: the guardian does not touch what it was told to let be. */
static void let_be(enum guard guard)
{
    struct runner runner;
    char line[16];
    size_t killed = 0;
    runner_start(&runner, CONTAINMENT_SWEEP, daemon_script, guard, true);
    read_line(runner.output, line, sizeof line);
    runner_and_init_kill(&runner);
    poll(NULL, 0, 300);
    assert_true(is_held(runner.output));
    assert_true(job_recover(&runner.identity, NULL, 30, &killed, NULL));
    assert_true(killed >= 1);
    assert_end(runner.output);
    runner_fini(&runner);
}

static void a_released_job_is_no_longer_the_guardian_s(void **state)
{
    (void)state;
    let_be(RELEASED);
}

static void a_stopped_guardian_ends_nothing(void **state)
{
    (void)state;
    let_be(STOPPED);
}

static void a_guardian_holds_nothing_of_its_starter_and_ends_when_stopped(void **state)
{
    (void)state;
    int ends[2];
    uint64_t start_time = 0;
    assert_int_equal(pipe(ends), 0);
    struct guardian *guardian = guardian_start(NULL);
    assert_non_null(guardian);
    pid_t pid = guardian_pid(guardian);
    assert_true(process_start_time(pid, &start_time));
    close(ends[1]);
    assert_end(ends[0]);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(kill(pid, SIGHUP), 0);
    assert_int_equal(kill(pid, SIGTERM), 0);
    int64_t deadline = clock_monotonic_ns() + PATIENCE_MS * NS_PER_MS;
    while (getsid(pid) != pid) {
        assert_true(clock_monotonic_ns() < deadline);
        poll(NULL, 0, 5);
    }
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    guardian_stop(guardian);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        assert_true(clock_monotonic_ns() < deadline);
        poll(NULL, 0, 5);
    }
    close(ends[0]);
}

static enum containment_mode pidns = CONTAINMENT_PIDNS, cgroup = CONTAINMENT_CGROUP,
                             sweep = CONTAINMENT_SWEEP;

#define EACH_MODE(test)                                                                           \
    {#test " (pidns)", test, NULL, NULL, &pidns}, {#test " (cgroup)", test, NULL, NULL, &cgroup}, \
    {                                                                                             \
#test " (sweep)", test, NULL, NULL, &sweep                                                \
    }

UNIT_TESTS(void)
{
    struct CMUnitTest tests[] = {
        EACH_MODE(a_tree_dies_with_its_runner),
        EACH_MODE(a_runner_that_dies_at_the_gate_has_run_nothing),
        EACH_MODE(what_outlived_runner_and_init_is_found_and_ended),
        EACH_MODE(the_guardian_ends_what_outlived_runner_and_init),
        cmocka_unit_test(a_job_of_another_boot_is_not_looked_for),
        EACH_MODE(a_job_whose_runner_lives_is_left_alone),
        cmocka_unit_test(a_process_that_nothing_but_pid_and_start_time_names_is_left_alone),
        cmocka_unit_test(a_released_job_is_no_longer_the_guardian_s),
        cmocka_unit_test(a_stopped_guardian_ends_nothing),
        cmocka_unit_test(a_guardian_holds_nothing_of_its_starter_and_ends_when_stopped),
    };
    size_t count = tests_possible(tests, sizeof tests / sizeof *tests);
    return _cmocka_run_group_tests("contain", tests, count, NULL, NULL);
}
