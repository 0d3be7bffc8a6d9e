#include "machine/contain/job.h"
#include "machine/contain/prove.h"
#include "machine/contain/start.h"
#include "machine/contain/usage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/procfs.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum containment_mode mode_of(void **state)
{
    return *(const enum containment_mode *)*state;
}

static void run(void **state, const char *script, char *output, size_t size, struct job_exit *end)
{
    struct shell_job shell;
    shell_init(&shell, mode_of(state), script);
    shell_start(&shell);
    shell_open_gate(&shell);
    *end = shell_wait(&shell);
    read_to_end(shell.output, output, size);
    shell_prove(&shell);
    shell_fini(&shell);
}

static void the_exit_code_is_the_command_s(void **state)
{
    char output[256];
    struct job_exit end;
    run(state, "echo to stdout; echo to stderr >&2; exit 7", output, sizeof output, &end);
    assert_string_equal(output, "to stdout\nto stderr\n");
    assert_false(end.signalled);
    assert_int_equal(end.code, 7);
    assert_false(end.exec_failed);
}

static void an_end_by_a_signal_is_told_as_one(void **state)
{
    char output[256];
    struct job_exit end;
    run(state, "kill -USR1 $$", output, sizeof output, &end);
    assert_true(end.signalled);
    assert_int_equal(end.code, SIGUSR1);
}

static void what_cannot_be_executed_is_told_with_its_errno(void **state)
{
    struct shell_job shell;
    shell_init(&shell, mode_of(state), "");
    free(shell.argv.items[0]);
    shell.argv.items[0] = strdup("/no/such/program");
    shell_start(&shell);
    shell_open_gate(&shell);
    struct job_exit end = shell_wait(&shell);
    assert_true(end.exec_failed);
    assert_int_equal(end.exec_errno, ENOENT);
    assert_int_equal(end.code, 127);
    shell_prove(&shell);
    shell_fini(&shell);
}

static void nothing_runs_before_the_gate_opens(void **state)
{
    struct shell_job shell;
    char output[64];
    shell_init(&shell, mode_of(state), "echo ran");
    shell_start(&shell);
    struct pollfd wait = {.fd = shell.output, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 200), 0);
    assert_false(job_take_exit(shell.job).ended);
    shell_open_gate(&shell);
    assert_int_equal(shell_wait(&shell).code, 0);
    read_to_end(shell.output, output, sizeof output);
    assert_string_equal(output, "ran\n");
    shell_prove(&shell);
    shell_fini(&shell);
}

static void a_job_ended_at_its_gate_never_runs(void **state)
{
    struct shell_job shell;
    char output[64];
    shell_init(&shell, mode_of(state), "echo ran");
    shell_start(&shell);
    shell_prove(&shell);
    read_to_end(shell.output, output, sizeof output);
    assert_string_equal(output, "");
    shell_fini(&shell);
}

static void an_identity_names_the_init_and_the_leaf(void **state)
{
    struct shell_job shell;
    char boot_id[40], output[256], expected[128];
    uint64_t start_time = 0;
    shell_init(&shell, mode_of(state), "echo $TARE_JOB $KEPT");
    strv_add(&shell.env, "KEPT=kept");
    strv_add(&shell.env, "TARE_JOB=of an outer job");
    shell_start(&shell);
    const struct job_identity *identity = job_identity(shell.job);
    assert_true(process_start_time(identity->pid, &start_time));
    assert_true(identity->start_time == start_time);
    assert_true(boot_id_read(boot_id, NULL));
    assert_string_equal(identity->boot_id, boot_id);
    assert_int_equal(strlen(identity->tag), 32);
    assert_true(job_layers(shell.job)->cgroup == (identity->cgroup != NULL));
    if (identity->cgroup)
        assert_int_equal(access(identity->cgroup, F_OK), 0);
    shell_open_gate(&shell);
    read_to_end(shell.output, output, sizeof output);
    snprintf(expected, sizeof expected, "%s kept\n", identity->tag);
    assert_string_equal(output, expected);
    shell_prove(&shell);
    if (identity->cgroup)
        assert_int_equal(access(identity->cgroup, F_OK), -1);
    shell_fini(&shell);
}

/* The runner may have been started by something that ignores signals (nohup, Python's SIGPIPE), or
 * block some itself. */
static void the_job_has_all_signals_at_their_default(void **state)
{
    char output[512];
    struct job_exit end;
    sigset_t block, before;
    char ignore[64] = {0}, old[64] = {0};
    uintptr_t ignored = 1; /* SIG_IGN, the first word of the kernel's struct sigaction */
    memcpy(ignore, &ignored, sizeof ignored);
    assert_int_equal(syscall(SYS_rt_sigaction, 32, ignore, old, 8), 0);
    void (*hangup)(int) = signal(SIGHUP, SIG_IGN), (*pipe_signal)(int) = signal(SIGPIPE, SIG_IGN);
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &before);
    run(state, "exec grep -E '^Sig(Blk|Ign):' /proc/self/status", output, sizeof output, &end);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGHUP, hangup);
    signal(SIGPIPE, pipe_signal);
    syscall(SYS_rt_sigaction, 32, old, NULL, 8);
    assert_string_equal(output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void nothing_of_the_runner_stays_open_in_the_job(void **state)
{
    char output[512];
    struct job_exit end;
    int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 700);
    run(state, "for fd in /proc/self/fd/*; do echo ${fd##*/}; done", output, sizeof output, &end);
    close(low);
    close(high);
    /* The shell expands the pattern itself: 3 may be the folder that it reads. */
    assert_true(strcmp(output, "0\n1\n2\n") == 0 || strcmp(output, "0\n1\n2\n3\n") == 0);
}

static void without_a_stdin_the_job_reads_an_end(void **state)
{
    char output[64];
    struct job_exit end;
    run(state, "cat; echo end $?", output, sizeof output, &end);
    assert_string_equal(output, "end 0\n");
}

static void the_working_folder_is_the_one_asked_for(void **state)
{
    struct shell_job shell;
    char output[64];
    shell_init(&shell, mode_of(state), "pwd -P");
    shell.request.cwd = "/proc/sys/kernel";
    shell_start(&shell);
    shell_open_gate(&shell);
    read_to_end(shell.output, output, sizeof output);
    assert_string_equal(output, "/proc/sys/kernel\n");
    assert_int_equal(shell_wait(&shell).code, 0);
    shell_prove(&shell);
    shell_fini(&shell);
}

static void a_job_has_a_session_of_its_own_unless_it_uses_the_terminal(void **state)
{
    struct shell_job shell;
    for (int tty = 0; tty <= 1; tty++) {
        char line[1024];
        struct proc_stat stat;
        shell_init(&shell, mode_of(state), "exec cat /proc/self/stat");
        shell.request.foreground_tty = tty;
        shell_start(&shell);
        shell_open_gate(&shell);
        read_to_end(shell.output, line, sizeof line);
        assert_true(proc_stat_parse(line, strlen(line), &stat));
        /* A namespace shows the processes outside of it as 0. */
        pid_t outer = shell.containment.pidns ? 0 : getsid(0);
        assert_true((stat.session == outer) == tty);
        shell_wait(&shell);
        shell_prove(&shell);
        shell_fini(&shell);
    }
}

static void term_reaches_every_process_of_the_tree(void **state)
{
    struct shell_job shell;
    char line[16];
    shell_init(&shell, mode_of(state),
               "sleep 1000 & setsid sleep 1000 & (sleep 1000 & echo up; wait) & wait");
    shell_start(&shell);
    shell_open_gate(&shell);
    read_line(shell.output, line, sizeof line);
    job_signal(shell.job, SIGTERM);
    struct job_exit end = shell_wait(&shell);
    assert_true(end.signalled);
    assert_int_equal(end.code, SIGTERM);
    /* Not a race: a process between fork and exec may have missed it, KILL follows. */
    shell_prove(&shell);
    assert_end(shell.output);
    shell_fini(&shell);
}

static void a_signal_can_go_to_the_command_alone(void **state)
{
    struct shell_job shell;
    char line[16];
    shell_init(&shell, mode_of(state), "trap 'exit 9' USR1; echo up; while :; do sleep 0.05; done");
    shell_start(&shell);
    shell_open_gate(&shell);
    read_line(shell.output, line, sizeof line);
    job_signal_command(shell.job, SIGUSR1);
    struct job_exit end = shell_wait(&shell);
    assert_false(end.signalled);
    assert_int_equal(end.code, 9);
    shell_prove(&shell);
    shell_fini(&shell);
}

/* Both are forked when the shell ends; a moment later they have become what they are. */
static void wait_for_two_sleeps(struct job *job, struct job_member members[8])
{
    int64_t deadline = clock_monotonic_ns() + PATIENCE_MS * NS_PER_MS;
    for (;;) {
        assert_int_equal(job_members(job, members, 8), 2);
        if (strcmp(members[0].command, "sleep") == 0 && strcmp(members[1].command, "sleep") == 0)
            return;
        assert_true(clock_monotonic_ns() < deadline);
        poll(NULL, 0, 5);
    }
}

/* The init may end while an order is on its way to it; its report must not be lost for that. */
static void an_end_is_told_whatever_was_asked_meanwhile(void **state)
{
    for (int round = 0; round < 30; round++) {
        struct shell_job shell;
        shell_init(&shell, mode_of(state), "exit 9");
        shell_start(&shell);
        shell_open_gate(&shell);
        for (int i = 0; i < 200 && is_held(shell.output); i++)
            job_signal_command(shell.job, SIGCONT);
        job_signal_command(shell.job, SIGCONT);
        struct job_exit end = shell_wait(&shell);
        assert_false(end.signalled);
        assert_int_equal(end.code, 9);
        shell_prove(&shell);
        shell_fini(&shell);
    }
}

static void what_a_command_leaves_behind_is_counted_named_and_ended(void **state)
{
    struct shell_job shell;
    struct job_member members[8];
    shell_init(&shell, mode_of(state), "sleep 1000 & setsid sleep 1000 & exit 0");
    shell_start(&shell);
    shell_open_gate(&shell);
    assert_int_equal(shell_wait(&shell).code, 0);
    wait_for_two_sleeps(shell.job, members);
    for (size_t i = 0; i < 2; i++) {
        uint64_t start_time = 0;
        assert_string_equal(members[i].command, "sleep");
        assert_true(process_start_time(members[i].pid, &start_time));
        assert_true(start_time == members[i].start_time);
    }
    assert_true(is_held(shell.output));
    shell_prove(&shell);
    assert_end(shell.output);
    assert_int_equal(job_members(shell.job, members, 8), 0);
    shell_fini(&shell);
}

static void a_job_that_is_freed_is_ended(void **state)
{
    struct shell_job shell;
    char line[16];
    shell_init(&shell, mode_of(state),
               "trap '' TERM; setsid sh -c \"trap '' TERM; echo up; sleep 1000\"");
    shell_start(&shell);
    shell_open_gate(&shell);
    read_line(shell.output, line, sizeof line);
    job_free(shell.job);
    shell.job = NULL;
    assert_end(shell.output);
    shell_fini(&shell);
}

/* The command says itself what it used: user and system seconds of the shell and of its children
 * (times, POSIX). */
static void cpu_time_is_what_the_command_says_it_used(void **state)
{
    struct shell_job shell;
    char output[256];
    unsigned minutes[4];
    double seconds[4], said = 0;
    shell_init(&shell, mode_of(state), "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; times");
    shell_start(&shell);
    shell_open_gate(&shell);
    shell_wait(&shell);
    read_to_end(shell.output, output, sizeof output);
    shell_prove(&shell);
    assert_int_equal(sscanf(output, "%um%lfs %um%lfs\n%um%lfs %um%lfs", &minutes[0], &seconds[0],
                            &minutes[1], &seconds[1], &minutes[2], &seconds[2], &minutes[3],
                            &seconds[3]),
                     8);
    for (size_t i = 0; i < 4; i++)
        said += minutes[i] * 60 + seconds[i];
    struct job_usage usage = job_usage(shell.job);
    assert_true(usage.has_cpu);
    /* The clock ticks of times are 10 ms each, four roundings; starting and ending cost a little
     * more. */
    assert_true(usage.cpu_s > said - 0.05);
    assert_true(usage.cpu_s < said + 1);
    assert_true(usage.has_peak_memory);
    assert_true(usage.peak_memory_bytes > 100 * 1024);
    shell_fini(&shell);
}

static void a_job_that_is_killed_has_told_what_it_used(void **state)
{
    struct shell_job shell;
    char line[16];
    /* Twenty million bytes in a variable of the shell. */
    shell_init(&shell, mode_of(state),
               "x=$(head -c 20000000 /dev/zero | tr '\\0' a); echo full; sleep 1000");
    shell_start(&shell);
    shell_open_gate(&shell);
    read_line(shell.output, line, sizeof line);
    assert_string_equal(line, "full");
    job_usage(shell.job);
    shell_prove(&shell);
    struct job_usage usage = job_usage(shell.job);
    assert_true(usage.has_cpu);
    assert_true(usage.has_peak_memory);
    assert_true(usage.peak_memory_bytes > 20000000);
    assert_true(usage.peak_memory_bytes < 1000000000);
    if (!job_layers(shell.job)->pidns)
        assert_false(usage.has_processes); /* nobody counts them */
    shell_fini(&shell);
}

static void a_limit_of_cpu_time_ends_the_command(void **state)
{
    struct shell_job shell;
    shell_init(&shell, mode_of(state), "while :; do :; done");
    shell.request.limits.cpu_time_s = 0.5;
    shell_start(&shell);
    shell_open_gate(&shell);
    struct job_exit end = shell_wait(&shell);
    assert_true(end.signalled);
    assert_int_equal(end.code, SIGXCPU);
    shell_prove(&shell);
    shell_fini(&shell);
}

static void a_job_can_become_another_user(void **state)
{
    struct shell_job shell;
    struct err err = {0};
    char output[256];
    shell_init(&shell, mode_of(state), "id -u; id -g; id -G");
    shell.request.change_user = true;
    shell.request.uid = 54321;
    shell.request.gid = 54322;
    if (geteuid() != 0) {
        assert_null(job_start(&shell.request, &err));
        assert_non_null(strstr(err.text, "only root"));
    } else {
        shell_start(&shell);
        shell_open_gate(&shell);
        read_to_end(shell.output, output, sizeof output);
        assert_string_equal(output, "54321\n54322\n54322\n");
        shell_wait(&shell);
        shell_prove(&shell);
    }
    shell_fini(&shell);
}

static void a_namespace_hides_the_rest_of_the_machine(void **state)
{
    (void)state;
    struct shell_job shell;
    char output[256];
    shell_init(&shell, CONTAINMENT_PIDNS,
               "echo $$; set -- /proc/[0-9]*; echo $#; id -u; id -g; umask");
    shell_start(&shell);
    shell_open_gate(&shell);
    read_to_end(shell.output, output, sizeof output);
    shell_wait(&shell);
    char expected[256];
    mode_t mask = umask(0);
    umask(mask);
    /* The init is 1, the command 2; nobody else is seen; who the job is has not changed. */
    snprintf(expected, sizeof expected, "2\n2\n%d\n%d\n%04o\n", (int)getuid(), (int)getgid(),
             (unsigned)mask);
    assert_string_equal(output, expected);
    shell_prove(&shell);
    struct job_usage usage = job_usage(shell.job);
    /* The shell, and id twice. */
    assert_true(usage.has_processes);
    assert_int_equal(usage.processes, 3);
    shell_fini(&shell);
}

static void two_jobs_at_once_do_not_hold_each_other_s_pipes(void **state)
{
    struct shell_job one, two;
    shell_init(&one, mode_of(state), "exit 1");
    shell_init(&two, mode_of(state), "sleep 1000");
    shell_start(&one);
    shell_start(&two);
    shell_open_gate(&two);
    shell_open_gate(&one);
    assert_int_equal(shell_wait(&one).code, 1);
    assert_end(one.output);
    assert_true(is_held(two.output));
    shell_prove(&one);
    shell_prove(&two);
    assert_end(two.output);
    shell_fini(&one);
    shell_fini(&two);
}

static enum containment_mode pidns = CONTAINMENT_PIDNS, cgroup = CONTAINMENT_CGROUP,
                             sweep = CONTAINMENT_SWEEP;

#define EACH_MODE(test)                                                                           \
    {#test " (pidns)", test, NULL, NULL, &pidns}, {#test " (cgroup)", test, NULL, NULL, &cgroup}, \
    {                                                                                             \
#test " (sweep)", test, NULL, NULL, &sweep                                                \
    }

static void the_start_time_is_that_of_the_stat_file(void **state)
{
    (void)state;
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    uint64_t start_time = 0;
    assert_true(proc_stat_read(proc, getpid(), &stat));
    assert_true(process_start_time(getpid(), &start_time));
    assert_true(start_time == stat.start_time);
    assert_false(process_start_time(0, &start_time));
}

static void the_boot_id_is_a_uuid(void **state)
{
    (void)state;
    char id[40];
    assert_true(boot_id_read(id, NULL));
    assert_int_equal(strlen(id), 36);
    assert_int_equal(strspn(id, "0123456789abcdef-"), 36);
}

UNIT_TESTS(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_start_time_is_that_of_the_stat_file, &sweep),
        cmocka_unit_test_prestate(the_boot_id_is_a_uuid, &sweep),
        EACH_MODE(the_exit_code_is_the_command_s),
        EACH_MODE(an_end_by_a_signal_is_told_as_one),
        EACH_MODE(what_cannot_be_executed_is_told_with_its_errno),
        EACH_MODE(nothing_runs_before_the_gate_opens),
        EACH_MODE(a_job_ended_at_its_gate_never_runs),
        EACH_MODE(an_identity_names_the_init_and_the_leaf),
        EACH_MODE(the_job_has_all_signals_at_their_default),
        EACH_MODE(nothing_of_the_runner_stays_open_in_the_job),
        EACH_MODE(without_a_stdin_the_job_reads_an_end),
        EACH_MODE(the_working_folder_is_the_one_asked_for),
        EACH_MODE(a_job_has_a_session_of_its_own_unless_it_uses_the_terminal),
        EACH_MODE(term_reaches_every_process_of_the_tree),
        EACH_MODE(a_signal_can_go_to_the_command_alone),
        EACH_MODE(an_end_is_told_whatever_was_asked_meanwhile),
        EACH_MODE(what_a_command_leaves_behind_is_counted_named_and_ended),
        EACH_MODE(a_job_that_is_freed_is_ended),
        EACH_MODE(cpu_time_is_what_the_command_says_it_used),
        EACH_MODE(a_job_that_is_killed_has_told_what_it_used),
        EACH_MODE(a_job_can_become_another_user),
        EACH_MODE(two_jobs_at_once_do_not_hold_each_other_s_pipes),
        cmocka_unit_test_prestate(a_limit_of_cpu_time_ends_the_command, &sweep),
        cmocka_unit_test_prestate(a_namespace_hides_the_rest_of_the_machine, &pidns),
    };
    size_t count = tests_possible(tests, sizeof tests / sizeof *tests);
    return _cmocka_run_group_tests("contain", tests, count, NULL, NULL);
}
