#include "base/query.h"

#include "base/clock.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_POLL_MS = 5 };

static int left_ms(int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - clock_monotonic_ns();
    return left_ns <= 0 ? 0 : (int)(left_ns / NS_PER_MS) + 1;
}

static void redirect_descriptor(posix_spawn_file_actions_t *files, int fd, int as)
{
    if (fd >= 0)
        posix_spawn_file_actions_adddup2(files, fd, as);
    else
        posix_spawn_file_actions_addopen(files, as, "/dev/null",
                                         as == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
}

int query_spawn(const char *program, char *const *argv, char *const *env, int input, int output,
                int errors, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    redirect_descriptor(&files, input, STDIN_FILENO);
    redirect_descriptor(&files, output, STDOUT_FILENO);
    redirect_descriptor(&files, errors, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int code = posix_spawnp(pid, program, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

int query_input(const struct text *text, struct err *err)
{
    AUTO_CLOSE int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd >= 0 && fs_write_all(fd, text_get(text), text->length, NULL) &&
        lseek(fd, 0, SEEK_SET) == 0)
        return steal_fd(&fd);
    err_sys(err, "keep what a program is to read");
    return -1;
}

/* Reads to the end of the output. False: the deadline or the limit was exceeded. */
static bool read_query_answer(int fd, size_t limit, int64_t deadline_ns, struct text *out)
{
    char bytes[4096];
    for (;;) {
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        int wait_ms = left_ms(deadline_ns);
        if (wait_ms == 0)
            return false;
        if (poll(&entry, 1, wait_ms) <= 0)
            continue;
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (got > 0)
            text_add_bytes(out, bytes, (size_t)got);
        if (out->length > limit)
            return false;
    }
}

/* Whether it has ended. It is not reaped, so that its number, which is its group's too, stays its
 * own. */
static bool wait_end(pid_t pid, int64_t deadline_ns)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
            return false;
        if (info.si_pid == pid)
            return true;
        if (left_ms(deadline_ns) == 0)
            return false;
        poll(NULL, 0, WAIT_POLL_MS);
    }
}

bool query_program(const struct strv *argv, const struct strv *env, size_t limit, double timeout_s,
                   bool with_errors, struct text *out, int *status)
{
    int ends[2], ignored;
    status = status ? status : &ignored;
    int64_t deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * (double)NS_PER_S);
    *status = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    AUTO_CLOSE int read_end = ends[0];
    pid_t pid = 0;
    int code = query_spawn(argv->items[0], argv->items, env->items, -1, ends[1],
                           with_errors ? ends[1] : -1, &pid);
    close(ends[1]);
    if (code != 0)
        return false;
    bool whole = read_query_answer(read_end, limit, deadline_ns, out);
    bool ended = whole && wait_end(pid, deadline_ns);
    kill(-pid, SIGKILL); /* its leader is not reaped */
    if (!ended)
        kill(pid, SIGKILL); /* not reaped; it may have left its group */
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        continue;
    if (!ended)
        *status = -1;
    return ended && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}
