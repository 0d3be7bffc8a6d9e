#include "machine/gpu/nvml_memory.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "machine/gpu/nvml_query.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* After SIGKILL: what does not die now is stuck in the driver, and left to the system. */
enum { REAP_TRIES = 100, REAP_PAUSE_MS = 5 };

static const size_t ANSWER_MAX = 64 << 20;

/* Nothing of ours is left open in a child that may hang for ever: neither the terminal nor a lock. */
static _Noreturn void be_child(const char *library, int out, pid_t parent)
{
    struct rlimit none = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setrlimit(RLIMIT_CORE, &none);
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(out, STDERR_FILENO + 1) < 0)
        _exit(1);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            _exit(1);
    if (syscall(SYS_close_range, STDERR_FILENO + 2, UINT_MAX, 0) != 0)
        for (int fd = STDERR_FILENO + 2; fd < 1024; fd++)
            close(fd); /* before Linux 5.9 */
    nvml_query(library, STDERR_FILENO + 1);
    _exit(0);
}

/* False: the time was over. */
static bool read_answer(int fd, int64_t deadline_ns, struct text *out)
{
    char buffer[16384];
    while (out->length < ANSWER_MAX) {
        int64_t left_ns = deadline_ns - clock_monotonic_ns();
        int64_t wait_ms = left_ns / NS_PER_MS + 1;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (left_ns <= 0)
            return false;
        if (poll(&wait, 1, wait_ms < INT_MAX ? (int)wait_ms : INT_MAX) <= 0)
            continue;
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        text_add_bytes(out, buffer, (size_t)got);
    }
    return true;
}

static void reap(pid_t pid)
{
    kill(pid, SIGKILL); /* our own child, not reaped */
    for (int i = 0; i < REAP_TRIES; i++) {
        pid_t ended = waitpid(pid, NULL, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return;
        poll(NULL, 0, REAP_PAUSE_MS);
    }
}

static void add_use(struct nvml_memory *out, struct nvml_use use)
{
    use.uuid[NVML_UUID_SIZE - 1] = '\0';
    utf8_make_printable(use.uuid, "");
    out->items = mem_room(out->items, out->count, &out->capacity, sizeof *out->items);
    size_t at = out->count++;
    for (; at > 0 && out->items[at - 1].pid > use.pid; at--)
        out->items[at] = out->items[at - 1];
    out->items[at] = use;
}

static bool take_answer(const struct text *answer, struct nvml_memory *out, struct err *err)
{
    struct nvml_message message;
    for (size_t at = 0; at + sizeof message <= answer->length; at += sizeof message) {
        memcpy(&message, text_get(answer) + at, sizeof message);
        message.reason[sizeof message.reason - 1] = '\0';
        utf8_make_printable(message.reason, "");
        if (message.kind == NVML_MESSAGE_USE)
            add_use(out, message.use);
        else if (message.kind == NVML_MESSAGE_FAILED)
            return err_set(err, "%s", message.reason);
        else
            out->failed = (size_t)message.failed;
        if (message.kind == NVML_MESSAGE_END)
            return true;
    }
    return err_set(err, "the driver's library ended its process");
}

bool nvml_memory_read(const char *library, double timeout_s, struct nvml_memory *out, struct err *err)
{
    AUTO_TEXT struct text answer = {0};
    int ends[2];
    *out = (struct nvml_memory){0};
    int64_t deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "make a pipe");
    pid_t pid = fork();
    if (pid == 0)
        be_child(library, ends[1], parent);
    int code = errno;
    close(ends[1]);
    AUTO_CLOSE int from = ends[0];
    if (pid < 0) {
        errno = code;
        return err_sys(err, "fork");
    }
    bool in_time = read_answer(from, deadline_ns, &answer);
    reap(pid);
    bool known = in_time ? take_answer(&answer, out, err)
                         : err_set(err, "the driver's library did not answer within %g s", timeout_s);
    if (!known)
        nvml_memory_fini(out);
    return known;
}

void nvml_memory_fini(struct nvml_memory *memory)
{
    free(memory->items);
    *memory = (struct nvml_memory){0};
}

bool nvml_memory_of(const struct nvml_memory *memory, pid_t pid, uint64_t *bytes)
{
    bool known = false;
    *bytes = 0;
    for (size_t i = 0; i < memory->count; i++) {
        if (memory->items[i].pid != pid || !memory->items[i].has_bytes)
            continue;
        known = true;
        *bytes += memory->items[i].bytes;
    }
    return known;
}
