/* Runs a command under ptrace, tells its processes apart by what they are to it, and kills one of
 * them by SIGKILL at one system call: the NUMBER-th CALL (from 1) that processes of this ROLE make
 * in the whole run. (strace counts for each process anew, so it would hit the first job's always
 * and never a later one's.) Jobs are let go when they are executed.
 *
 * crash_tracer REPORT COMMAND...                                 counts: REPORT gets lines "COUNT
 * ROLE CALL" crash_tracer REPORT ROLE CALL NUMBER before|after COMMAND...   kills; REPORT gets the
 * line "hit" when it came to that
 *
 * COMMAND is an absolute path. The role runner+guardian counts the runner's calls and kills both.
 * Ends when the command has: with its exit code, 128 + n after signal n; 77 when tracing is not
 * allowed. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PTRACE_GET_INFO 0x420e /* PTRACE_GET_SYSCALL_INFO */

enum { TRACEES_MAX = 256, OP_ENTRY = 1, OP_EXIT = 2, CANNOT = 77 };

/* struct ptrace_syscall_info (Linux 5.3), which older headers do not have. */
struct call_info {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t ip, sp, number, arguments[6];
};

enum role { RUNNER, STORE, NEWBORN, INIT, COMMAND, GUARDIAN, ROLE_COUNT };
static const char *const roles[] = {"runner", "store", "newborn", "init", "command", "guardian"};

/* What starts a job, ends it, or tells another process about it; and the journal. */
static const struct call {
    long number;
    const char *name;
    const char *file; /* only when the descriptor's path contains this */
} calls[] = {
    {SYS_clone, "clone", NULL},
    {SYS_clone3, "clone3", NULL},
#ifdef SYS_fork
    {SYS_fork, "fork", NULL},
    {SYS_vfork, "vfork", NULL},
    {SYS_mkdir, "mkdir", NULL},
    {SYS_rmdir, "rmdir", NULL},
    {SYS_poll, "poll", NULL},
    {SYS_dup2, "dup", NULL},
#endif
    {SYS_mkdirat, "mkdir", NULL},
    {SYS_unlinkat, "rmdir", NULL},
    {SYS_ppoll, "poll", NULL},
    {SYS_dup3, "dup", NULL},
    {SYS_execve, "execve", NULL},
    {SYS_unshare, "unshare", NULL},
    {SYS_mount, "mount", NULL},
    {SYS_prctl, "prctl", NULL},
    {SYS_setsid, "setsid", NULL},
    {SYS_setpgid, "setpgid", NULL},
    {SYS_setresuid, "setresuid", NULL},
    {SYS_chdir, "chdir", NULL},
    {SYS_socketpair, "socketpair", NULL},
    {SYS_pipe2, "pipe", NULL},
    {SYS_sendto, "send", NULL},
    {SYS_recvfrom, "receive", NULL},
    {SYS_signalfd4, "signalfd", NULL},
    {SYS_kill, "kill", NULL},
    {434, "pidfd_open", NULL},
    {424, "pidfd_send_signal", NULL},
    {436, "close_range", NULL},
    {SYS_waitid, "waitid", NULL},
    {SYS_wait4, "wait4", NULL},
    {SYS_exit_group, "exit_group", NULL},
    {SYS_write, "write to the cgroup", "/cgroup."},
    {SYS_write, "write of the user map", "id_map"},
    {SYS_write, "write to a pipe", "pipe:"},
    {SYS_read, "read from a pipe", "pipe:"},
    {SYS_fdatasync, "journal sync", "run.db"},
};
enum { CALL_COUNT = sizeof calls / sizeof *calls };

struct tracee {
    pid_t id; /* of the thread */
    pid_t process;
    enum role role;
    int call; /* it is in; -1: none of ours */
};

struct tracer {
    struct tracee tracees[TRACEES_MAX];
    size_t count;
    pid_t root;
    long counts[ROLE_COUNT][CALL_COUNT];
    int role; /* to be hit; -1: nobody */
    const char *call;
    long number;
    bool after, guardian_too, hit;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "crash_tracer: %s: %s\n", what, strerror(errno));
    exit(CANNOT);
}

/* A number behind a key in /proc/ID/status. */
static pid_t status_number(pid_t id, const char *key)
{
    char path[64], line[256];
    long number = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)id);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return (pid_t)number;
}

static struct tracee *tracee_find(struct tracer *tracer, pid_t id)
{
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->tracees[i].id == id)
            return &tracer->tracees[i];
    return NULL;
}

static void tracee_forget(struct tracer *tracer, pid_t id)
{
    struct tracee *tracee = tracee_find(tracer, id);
    if (tracee)
        *tracee = tracer->tracees[--tracer->count];
}

static struct tracee *tracee_add(struct tracer *tracer, pid_t id)
{
    if (tracer->count == TRACEES_MAX) {
        errno = ENOMEM;
        fail("too many processes");
    }
    struct tracee *tracee = &tracer->tracees[tracer->count];
    *tracee = (struct tracee){
        .id = id, .process = status_number(id, "Tgid:"), .role = NEWBORN, .call = -1};
    const struct tracee *parent = tracee_find(tracer, status_number(id, "PPid:"));
    if (id == tracer->root)
        tracee->role = RUNNER;
    else if (tracee->process == tracer->root)
        tracee->role = STORE;
    else if (parent && (parent->role == INIT || parent->role == COMMAND))
        tracee->role = COMMAND;
    tracer->count++;
    return tracee;
}

/* The forked processes of the program name themselves soon after their birth. */
static void role_by_name(struct tracee *tracee)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tracee->id);
    FILE *file = fopen(path, "r");
    if (file && fgets(name, sizeof name, file)) {
        if (strstr(name, "-init\n"))
            tracee->role = INIT;
        else if (strstr(name, "-guardian\n"))
            tracee->role = GUARDIAN;
    }
    if (file)
        fclose(file);
}

static bool path_contains(pid_t id, uint64_t fd, const char *word)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)id, (int)fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return strstr(path, word) != NULL;
}

/* Which of ours this is, or of the one that is aimed at; calls of the same name are one. */
static int call_of(const struct tracer *tracer, pid_t id, const struct call_info *info)
{
    for (int i = 0; i < CALL_COUNT; i++) {
        if (calls[i].number != (long)info->number ||
            (tracer->call && strcmp(calls[i].name, tracer->call) != 0) ||
            (calls[i].file && !path_contains(id, info->arguments[0], calls[i].file)))
            continue;
        int first = 0;
        while (strcmp(calls[first].name, calls[i].name) != 0)
            first++;
        return first;
    }
    return -1;
}

static bool is_target(const struct tracer *tracer, const struct tracee *tracee)
{
    return !tracer->hit && (int)tracee->role == tracer->role && tracee->call >= 0 &&
           strcmp(calls[tracee->call].name, tracer->call) == 0 &&
           tracer->counts[tracee->role][tracee->call] == tracer->number;
}

static void hit(struct tracer *tracer, const struct tracee *tracee)
{
    tracer->hit = true;
    for (size_t i = 0; tracer->guardian_too && i < tracer->count; i++)
        if (tracer->tracees[i].role == GUARDIAN)
            kill(tracer->tracees[i].process, SIGKILL);
    kill(tracee->process, SIGKILL);
}

static void at_call(struct tracer *tracer, struct tracee *tracee)
{
    struct call_info info = {0};
    if (ptrace(PTRACE_GET_INFO, tracee->id, sizeof info, &info) < 0)
        return;
    if (info.op == OP_ENTRY) {
        if (tracee->role == NEWBORN)
            role_by_name(tracee);
        tracee->call = call_of(tracer, tracee->id, &info);
        if (tracee->call >= 0)
            tracer->counts[tracee->role][tracee->call]++;
        if (!tracer->after && is_target(tracer, tracee))
            hit(tracer, tracee);
    } else if (info.op == OP_EXIT) {
        if (tracer->after && is_target(tracer, tracee))
            hit(tracer, tracee);
        tracee->call = -1;
    }
}

/* Its calls matter: to stop at each costs more than the program does. What is newly born may turn
 * out to be what is aimed at. */
static bool calls_matter(const struct tracer *tracer, const struct tracee *tracee)
{
    return tracer->role < 0 || (int)tracee->role == tracer->role || tracee->role == NEWBORN;
}

/* One stop of a tracee: which signal it goes on with. *gone: it is not ours any more. */
static int at_stop(struct tracer *tracer, struct tracee *tracee, int status, bool *gone)
{
    int event = status >> 16, signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80))
        at_call(tracer, tracee);
    /* After the hit the others go their own way; what was executed is a job, or a tool of the
     * runner's. */
    bool executed = event == PTRACE_EVENT_EXEC && tracee->id != tracer->root;
    bool stopped = event == PTRACE_EVENT_STOP && signal != SIGTRAP;
    *gone = (tracer->hit && signal == (SIGTRAP | 0x80)) || executed || stopped;
    return event == 0 && signal != (SIGTRAP | 0x80) ? signal : 0;
}

static int trace(struct tracer *tracer)
{
    for (;;) {
        int status = 0;
        pid_t id = waitpid(-1, &status, __WALL);
        if (id < 0)
            fail("waitpid");
        if (!WIFSTOPPED(status)) {
            if (id == tracer->root)
                return status;
            tracee_forget(tracer, id);
            continue;
        }
        struct tracee *tracee = tracee_find(tracer, id);
        if (!tracee)
            tracee = tracee_add(tracer, id);
        bool gone = false;
        int signal = at_stop(tracer, tracee, status, &gone);
        ptrace(gone                           ? PTRACE_DETACH
               : calls_matter(tracer, tracee) ? PTRACE_SYSCALL
                                              : PTRACE_CONT,
               id, NULL, signal);
        if (gone)
            tracee_forget(tracer, id);
    }
}

static pid_t start(char **command)
{
    int gate[2];
    if (pipe(gate) != 0)
        fail("pipe");
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1)
            _exit(CANNOT);
        close(gate[0]);
        execvp(command[0], command);
        _exit(127);
    }
    close(gate[0]);
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, options) != 0 ||
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
        fail("trace a process");
    if (write(gate[1], "", 1) != 1)
        fail("start the command");
    close(gate[1]);
    return pid;
}

static void report(const struct tracer *tracer, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fail(path);
    if (tracer->hit)
        fprintf(file, "hit\n");
    for (int role = 0; tracer->role < 0 && role < ROLE_COUNT; role++)
        for (int call = 0; call < CALL_COUNT; call++)
            if (tracer->counts[role][call] > 0)
                fprintf(file, "%ld %s %s\n", tracer->counts[role][call], roles[role],
                        calls[call].name);
    fclose(file);
}

static void aim(struct tracer *tracer, char **words)
{
    tracer->guardian_too = strcmp(words[0], "runner+guardian") == 0;
    for (int i = 0; i < ROLE_COUNT; i++)
        if (strcmp(tracer->guardian_too ? "runner" : words[0], roles[i]) == 0)
            tracer->role = i;
    tracer->call = words[1];
    tracer->number = atol(words[2]);
    tracer->after = strcmp(words[3], "after") == 0;
}

int main(int argc, char **argv)
{
    static struct tracer tracer = {.role = -1};
    if (argc < 3 || (argv[2][0] != '/' && argc < 7)) {
        fprintf(stderr,
                "usage: crash_tracer REPORT [ROLE CALL NUMBER before|after] /PATH/OF/COMMAND...\n");
        return 2;
    }
    bool aimed = argv[2][0] != '/';
    if (aimed)
        aim(&tracer, argv + 2);
    tracer.root = start(argv + (aimed ? 6 : 2));
    int status = trace(&tracer);
    report(&tracer, argv[1]);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
