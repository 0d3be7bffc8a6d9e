#include "fixture.h"
#include "base/fs_path.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/contain/start.h"

#include "base/mem.h"
#include "machine/contain/guardian.h"

#include "tests/unit/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 10, POLLS = 3000 };

int fixture_setup(void **out)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    snprintf(fixture->top, sizeof fixture->top, "/tmp/state-test.XXXXXX");
    assert_non_null(mkdtemp(fixture->top));
    snprintf(fixture->path, sizeof fixture->path, "%s/state", fixture->top);
    snprintf(fixture->runs, sizeof fixture->runs, "%s/runs", fixture->path);
    snprintf(fixture->lock, sizeof fixture->lock, "%s/lock", fixture->top);
    *out = fixture;
    return 0;
}

int fixture_teardown(void **out)
{
    struct fixture *fixture = *out;
    folder_remove(fixture->top);
    free(fixture);
    return 0;
}

bool comes_true(bool (*question)(const void *), const void *about)
{
    for (int i = 0; i < POLLS; i++) {
        if (question(about))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return false;
}

static int take_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool lock_is_free(const char *path)
{
    int fd = take_lock(path);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_free(const void *path)
{
    return lock_is_free(path);
}

bool lock_gets_free(const char *path)
{
    return comes_true(is_free, path);
}

static bool is_sleep(const void *about)
{
    char path[40], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)*(const pid_t *)about);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return read && strcmp(name, "sleep\n") == 0;
}

static char *sleep_path(void)
{
    return fs_find_executable("sleep", NULL, "/usr/bin:/bin");
}

pid_t tagged_process(const struct fixture *fixture, const char *tag)
{
    AUTO_FREE char *program = sleep_path();
    AUTO_FREE char *variable = mem_printf("TARE_JOB=%s", tag);
    char *argv[] = {(char *)"sleep", (char *)"1000", NULL}, *envp[] = {variable, NULL};
    int lock = take_lock(fixture->lock);
    assert_true(lock >= 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(lock, STDIN_FILENO);
        execve(program, argv, envp);
        _exit(127);
    }
    close(lock);
    assert_true(comes_true(is_sleep, &pid));
    return pid;
}

void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The runner: everything that goes wrong ends it, and the test sees that nothing came through the
 * pipe. */
static _Noreturn void be_runner(const struct fixture *fixture, enum state_kind kind,
                                const char *run_dir, int out)
{
    struct containment containment;
    struct strv argv = {0}, env = {0};
    struct other_run told = {.runner = getpid()};
    int lock = take_lock(fixture->lock), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct state *state = state_open(fixture->path, NULL);
    if (lock < 0 || null < 0 || !state || !state_register(state, kind, run_dir, NULL))
        _exit(1);
    /* After the lock, so that it has to let go of it. */
    struct guardian *guardian = guardian_start(NULL);
    containment_assume(CONTAINMENT_SWEEP, &containment);
    strv_add_owned(&argv, sleep_path());
    strv_add(&argv, "1000");
    struct job_request request = {.containment = &containment,
                                  .argv = &argv,
                                  .env = &env,
                                  .stdin_fd = lock,
                                  .stdout_fd = null,
                                  .stderr_fd = null};
    struct job *job = job_start(&request, NULL);
    if (!job || !guardian || !state_job_born(state, job_identity(job), NULL) ||
        !guardian_watch(guardian, job_identity(job), NULL) || !job_open_gate(job, NULL))
        _exit(1);
    close(lock);
    told.guardian = guardian_pid(guardian);
    told.init = job_identity(job)->pid;
    snprintf(told.tag, sizeof told.tag, "%s", job_identity(job)->tag);
    if (write(out, &told, sizeof told) != (ssize_t)sizeof told)
        _exit(1);
    for (;;)
        pause();
}

struct command_of {
    pid_t init;
};

/* The command is the init's only child, and has become "sleep". */
static bool command_runs(const void *about)
{
    const struct command_of *of = about;
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of->init, (int)of->init);
    FILE *file = fopen(path, "re");
    if (!file)
        return true; /* a kernel without this file: the lock alone must do */
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    pid_t child = (pid_t)strtol(text, NULL, 10);
    return read && child > 0 && is_sleep(&child);
}

struct holder {
    pid_t pid;
    const char *folder;
};

/* A fork that has not run yet still has its parent's files open, and with them the lock. */
static bool has_let_go(const void *about)
{
    const struct holder *holder = about;
    char path[40], target[256];
    bool holds = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)holder->pid);
    DIR *listing = opendir(path);
    if (!listing)
        return false;
    for (struct dirent *entry; (entry = readdir(listing));) {
        ssize_t length = readlinkat(dirfd(listing), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        holds |= strncmp(target, holder->folder, strlen(holder->folder)) == 0;
    }
    closedir(listing);
    return !holds;
}

void other_run_start(const struct fixture *fixture, enum state_kind kind, const char *run_dir,
                     struct other_run *out)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_runner(fixture, kind, run_dir, ends[1]);
    close(ends[1]);
    ssize_t got = read(ends[0], out, sizeof *out);
    close(ends[0]);
    assert_int_equal(got, sizeof *out);
    assert_true(comes_true(command_runs, &(struct command_of){out->init}));
    assert_true(comes_true(has_let_go, &(struct holder){out->guardian, fixture->path}));
    assert_true(comes_true(has_let_go, &(struct holder){out->init, fixture->path}));
    assert_false(lock_is_free(fixture->lock));
}

void other_run_kill(const struct other_run *run)
{
    kill(run->guardian, SIGSTOP);
    kill(run->init, SIGSTOP);
    kill(run->guardian, SIGKILL);
    kill(run->init, SIGKILL);
    end_process(run->runner);
}

void write_run_file(const struct fixture *fixture, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", fixture->runs, name);
    mkdir(fixture->path, 0700);
    mkdir(fixture->runs, 0700);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

char *run_file_text(const char *host, const char *boot_id, uint64_t pid_namespace, const char *tag)
{
    return mem_printf(
        "{\"kind\":\"run\",\"run_dir\":\"/somewhere/results/"
        "run_1\",\"host\":\"%s\",\"boot_id\":\"%s\","
        "\"pid\":2147483646,\"start_time\":1,\"pid_namespace\":%llu,\"version\":\"0.0.0\"}\n"
        "{\"job\":\"born\",\"pid\":2147483645,\"start_time\":1,\"boot_id\":\"%s\",\"cgroup\":null,"
        "\"tag\":\"%s\"}\n",
        host, boot_id, (unsigned long long)pid_namespace, boot_id, tag);
}

void own_host(char out[256])
{
    assert_int_equal(gethostname(out, 256), 0);
}

void own_boot_id(char out[40])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    assert_non_null(file);
    assert_non_null(fgets(out, 40, file));
    fclose(file);
    out[strcspn(out, "\n")] = '\0';
}

/* The link reads "pid:[4026531836]". */
uint64_t own_pid_namespace(void)
{
    char link[64];
    ssize_t length = readlink("/proc/self/ns/pid", link, sizeof link - 1);
    assert_true(length > 5);
    link[length] = '\0';
    return strtoull(link + strlen("pid:["), NULL, 10);
}

static size_t list_runs(const struct fixture *fixture, char **last)
{
    size_t count = 0;
    DIR *listing = opendir(fixture->runs);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (last) {
            free(*last);
            *last = mem_strdup(entry->d_name);
        }
    }
    closedir(listing);
    return count;
}

size_t run_file_count(const struct fixture *fixture)
{
    return list_runs(fixture, NULL);
}

char *only_run_file(const struct fixture *fixture)
{
    char *name = NULL;
    assert_int_equal(list_runs(fixture, &name), 1);
    return name;
}

static void keep_text(char *buffer, const char **text)
{
    snprintf(buffer, 256, "%s", *text ? *text : "");
    *text = *text ? buffer : NULL;
}

static void on_report(void *context, const struct state_report *report)
{
    struct said *said = context;
    said->count++;
    said->last = *report;
    keep_text(said->file, &said->last.file);
    keep_text(said->run_dir, &said->last.run_dir);
    keep_text(said->names, &said->last.names);
    keep_text(said->reason, &said->last.reason);
}

const struct said *recover(struct state *state)
{
    static struct said said; /* its texts point into itself */
    struct err err = {0};
    said = (struct said){0};
    if (!state_recover(state, 60, on_report, &said, &err))
        fail_msg("%s", err.text);
    return &said;
}
