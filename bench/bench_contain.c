/* Times containment. Prints "KEY VALUE" lines, times in milliseconds.
 * bench_contain tree PROCESSES ROUNDS [MODE]   a job of so many processes is stopped: from the
 * signal to the proof that none is left: term_* by TERM (each dies of it), kill_* by KILL (what
 * follows a grace) bench_contain start ROUNDS TARE              starting "true": plain, under TARE
 * exec (every containment), under unshare; in turns */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/contain/prove.h"
#include "machine/contain/start.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000, END_S = 60 };

static _Noreturn void fail(const char *what, const struct err *err)
{
    fprintf(stderr, "bench_contain: %s%s%s\n", what, err ? ": " : "", err ? err->text : "");
    exit(2);
}

static int by_value(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void print_times(const char *name, double *ms, size_t count)
{
    qsort(ms, count, sizeof *ms, by_value);
    printf("%s_median %.3f\n%s_max %.3f\n", name, ms[count / 2], name, ms[count - 1]);
}

static double ms_since(int64_t began_ns)
{
    return (double)(clock_monotonic_ns() - began_ns) / (double)NS_PER_MS;
}

/* The job itself: forks until there are so many, then says so. */
static int be_tree(long processes)
{
    for (long i = 1; i < processes; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            return 1;
        }
        if (pid == 0)
            for (;;)
                pause();
    }
    if (write(STDOUT_FILENO, "", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static struct job *tree_start(const struct containment *containment, const char *processes,
                              int *ready)
{
    struct err err = {0};
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        fail("pipe", NULL);
    strv_add(&argv, "/proc/self/exe");
    strv_add(&argv, "be");
    strv_add(&argv, processes);
    struct job_request request = {.containment = containment,
                                  .argv = &argv,
                                  .env = &env,
                                  .stdin_fd = -1,
                                  .stdout_fd = out[1],
                                  .stderr_fd = STDERR_FILENO};
    struct job *job = job_start(&request, &err);
    close(out[1]);
    if (!job || !job_open_gate(job, &err))
        fail("start the job", &err);
    *ready = out[0];
    return job;
}

static void wait_for_end(struct job *job)
{
    struct pollfd wait = {.fd = job_fd(job), .events = POLLIN};
    if (poll(&wait, 1, END_S * 1000) != 1 || !job_take_exit(job).ended)
        fail("the command does not end", NULL);
}

static void prove(struct job *job)
{
    int64_t give_up = clock_monotonic_ns() + END_S * NS_PER_S;
    struct pollfd end = {.fd = job_end_fd(job), .events = POLLIN};
    struct job_member member;
    size_t count = 0;
    for (int ended = 0; !job_prove_step(job, &member, 1, &count);) {
        if (clock_monotonic_ns() > give_up)
            fail("the tree does not end", NULL);
        /* As the runner does: at once when the init has ended, else in a moment. */
        if (ended)
            poll(NULL, 0, 1);
        ended = poll(&end, 1, 1);
    }
}

/* One tree from its start to its proven end; gives the time of the stop. */
static double tree_stop(const struct containment *containment, const char *processes, int signal)
{
    int ready = -1;
    char byte;
    struct job *job = tree_start(containment, processes, &ready);
    if (read(ready, &byte, 1) != 1)
        fail("the job did not get ready", NULL);
    int64_t began_ns = clock_monotonic_ns();
    if (signal) {
        job_signal(job, signal);
        wait_for_end(job);
    }
    job_kill(job);
    prove(job);
    double took_ms = ms_since(began_ns);
    close(ready);
    job_free(job);
    return took_ms;
}

static int bench_tree(const char *processes, long rounds, const char *name)
{
    struct err err = {0};
    struct containment containment;
    enum containment_mode mode;
    double term_ms[ROUNDS_MAX], kill_ms[ROUNDS_MAX];
    if (!containment_mode_parse(name, &mode) || !containment_probe(mode, &containment, &err))
        fail("containment", &err);
    for (long i = 0; i < rounds; i++) {
        term_ms[i] = tree_stop(&containment, processes, SIGTERM);
        kill_ms[i] = tree_stop(&containment, processes, 0);
    }
    AUTO_FREE char *layers = containment_describe(&containment);
    printf("layers %s\n", layers);
    print_times("term", term_ms, (size_t)rounds);
    print_times("kill", kill_ms, (size_t)rounds);
    containment_fini(&containment);
    return 0;
}

extern char **environ;

/* In milliseconds; negative when it does not exit with 0. */
static double start_once(const char *const *argv)
{
    pid_t pid = 0;
    int status = 0;
    int64_t began_ns = clock_monotonic_ns();
    int error = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
    if (error || waitpid(pid, &status, 0) != pid)
        return -1;
    double took_ms = ms_since(began_ns);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? took_ms : -1;
}

static int bench_start(long rounds, const char *tare)
{
    const char *const plain[] = {"true", NULL};
    const char *const contained[] = {tare, "exec", "--", "true", NULL};
    const char *const cgroup[] = {tare, "exec", "--containment", "cgroup", "--", "true", NULL};
    const char *const sweep[] = {tare, "exec", "--containment", "sweep", "--", "true", NULL};
    const char *const root_unshare[] = {"unshare", "--pid", "--fork", "--mount-proc", "true", NULL};
    /* Who is not root needs a user namespace for the others. */
    const char *const user_unshare[] = {
        "unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true", NULL};
    enum { COMMANDS = 5 };
    const char *const *commands[COMMANDS] = {
        plain, contained, geteuid() == 0 ? root_unshare : user_unshare, sweep, cgroup};
    static const char *const names[COMMANDS] = {"plain", "contained", "unshare", "sweep", "cgroup"};
    static double ms[COMMANDS][ROUNDS_MAX];
    /* Many machines have no cgroup for an ordinary user. */
    int count = start_once(cgroup) < 0 ? COMMANDS - 1 : COMMANDS;
    /* three that are not counted, to have the files in memory */
    for (long i = -3; i < rounds; i++) {
        for (int which = 0; which < count; which++) {
            double took_ms = start_once(commands[which]);
            if (took_ms < 0)
                fail(names[which], &(struct err){.text = "does not exit with 0"});
            if (i >= 0)
                ms[which][i] = took_ms;
        }
    }
    for (int which = 0; which < count; which++)
        print_times(names[which], ms[which], (size_t)rounds);
    return 0;
}

int main(int argc, char **argv)
{
    long rounds = argc > 3 ? atol(argv[argc > 3 && strcmp(argv[1], "tree") == 0 ? 3 : 2]) : 0;
    if (argc == 3 && strcmp(argv[1], "be") == 0)
        return be_tree(atol(argv[2]));
    if (argc > 3 && rounds > 0 && rounds <= ROUNDS_MAX) {
        if (strcmp(argv[1], "tree") == 0)
            return bench_tree(argv[2], rounds, argc > 4 ? argv[4] : "auto");
        if (strcmp(argv[1], "start") == 0)
            return bench_start(rounds, argv[3]);
    }
    fprintf(stderr, "usage: bench_contain tree PROCESSES ROUNDS [MODE] | start ROUNDS TARE\n");
    return 2;
}
