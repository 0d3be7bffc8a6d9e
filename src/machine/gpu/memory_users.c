#include "machine/gpu/memory_users.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* After SIGKILL: what does not die now is stuck in the driver, and left to the system. */
enum { REAP_TRIES = 100, REAP_PAUSE_MS = 5 };

static const size_t ANSWER_MAX = 64 << 20;

enum answer_kind { ANSWER_USE = 1, ANSWER_END, ANSWER_FAILED };

/* Fixed size, same program on both ends. The last one is an END or a FAILED. */
struct answer {
    int32_t kind;
    struct gpu_memory_use use; /* of USE */
    uint64_t failed;           /* of END: GPUs that did not answer */
    char reason[200];          /* of FAILED */
};

/* The child's part. */
enum { GPUS_MAX = 1024 };

static void send_message(int out, const struct answer *message)
{
    if (!fs_write_all(out, (const char *)message, sizeof *message, NULL))
        _exit(1);
}

static void send_users(const struct gpu_identity *who, const struct gpu_user_list *users, int out)
{
    EACH (user, users->items, users->count) {
        struct answer message = {.kind = ANSWER_USE};
        struct gpu_memory_use *use = &message.use;
        *use = (struct gpu_memory_use){
            .pid = user->pid, .minor = who->minor, .has_bytes = user->memory_bytes.valid};
        use->bytes = use->has_bytes ? (uint64_t)user->memory_bytes.value : 0;
        memcpy(use->uuid, who->uuid, strnlen(who->uuid, sizeof use->uuid - 1));
        send_message(out, &message);
    }
}

/* False: this GPU does not tell. */
static bool ask_gpu(const struct gpu_backend *backend, struct gpu_driver *driver, uint32_t index,
                    int out)
{
    char number[16];
    struct gpu_identity who;
    struct gpu_user_list users = {0};
    snprintf(number, sizeof number, "%" PRIu32, index);
    struct gpu_sensor *sensor = backend->sensor_open(driver, number, NULL);
    if (!sensor)
        return false;
    backend->identify(sensor, &who);
    bool told = backend->all_users(sensor, &users, NULL);
    send_users(&who, &users, out);
    free(users.items);
    backend->sensor_close(sensor);
    return told;
}

static bool query_all_gpus(const struct gpu_backend *backend, const char *library, int out,
                           uint64_t *silent, struct err *err)
{
    uint32_t count = 0;
    struct gpu_driver *driver = backend->open(library, err);
    if (!driver || !backend->count(driver, &count, err))
        return false;
    for (uint32_t i = 0; i < count && i < GPUS_MAX; i++)
        *silent += !ask_gpu(backend, driver, i, out);
    return true;
}

/* The process ends after this: the driver is not bid farewell, which may hang too. */
static void query(const struct gpu_vendor *vendor, const char *library, int out)
{
    struct err err = {0};
    struct answer last = {.kind = ANSWER_END};
    if (!query_all_gpus(vendor->backend, library, out, &last.failed, &err)) {
        last.kind = ANSWER_FAILED;
        memcpy(last.reason, err.text, strnlen(err.text, sizeof last.reason - 1));
    }
    send_message(out, &last);
}

/* Nothing of ours is left open in a child that may hang for ever: neither the terminal nor a
 * lock. */
static _Noreturn void be_child(const struct gpu_vendor *vendor, const char *library, int out,
                               pid_t parent)
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
    query(vendor, library, STDERR_FILENO + 1);
    _exit(0);
}

/* False: the deadline passed. */
static bool read_child_answer(int fd, int64_t deadline_ns, struct text *out)
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

static void kill_and_reap(pid_t pid)
{
    kill(pid, SIGKILL); /* our own child, not reaped */
    for (int i = 0; i < REAP_TRIES; i++) {
        pid_t ended = waitpid(pid, NULL, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return;
        poll(NULL, 0, REAP_PAUSE_MS);
    }
}

static void insert_memory_use(struct gpu_memory_users *out, struct gpu_memory_use use)
{
    use.uuid[GPU_TEXT_SIZE - 1] = '\0';
    utf8_make_printable(use.uuid, "");
    out->items = mem_room(out->items, out->count, sizeof *out->items);
    size_t at = out->count++;
    for (; at > 0 && out->items[at - 1].pid > use.pid; at--)
        out->items[at] = out->items[at - 1];
    out->items[at] = use;
}

static bool parse_users_answer(const struct text *answer, const struct gpu_vendor *vendor,
                               struct gpu_memory_users *out, struct err *err)
{
    struct answer message;
    for (size_t at = 0; at + sizeof message <= answer->length; at += sizeof message) {
        memcpy(&message, text_get(answer) + at, sizeof message);
        message.reason[sizeof message.reason - 1] = '\0';
        utf8_make_printable(message.reason, "");
        message.use.vendor = vendor;
        if (message.kind == ANSWER_USE)
            insert_memory_use(out, message.use);
        else if (message.kind == ANSWER_FAILED)
            return err_set(err, "%s", message.reason);
        else
            out->failed = (size_t)message.failed;
        if (message.kind == ANSWER_END)
            return true;
    }
    return err_set(err, "the driver's library ended its process");
}

bool gpu_memory_users_read(const struct gpu_vendor *vendor, const char *library, double timeout_s,
                           struct gpu_memory_users *out, struct err *err)
{
    AUTO_TEXT struct text answer = {0};
    struct gpu_memory_users found = {0};
    int ends[2];
    int64_t deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "make a pipe");
    pid_t pid = fork();
    if (pid == 0)
        be_child(vendor, library, ends[1], parent);
    int code = errno;
    close(ends[1]);
    AUTO_CLOSE int from = ends[0];
    if (pid < 0) {
        errno = code;
        return err_sys(err, "fork");
    }
    bool in_time = read_child_answer(from, deadline_ns, &answer);
    kill_and_reap(pid);
    bool known = in_time
                     ? parse_users_answer(&answer, vendor, &found, err)
                     : err_set(err, "the driver's library did not answer within %g s", timeout_s);
    for (size_t i = 0; known && i < found.count; i++)
        insert_memory_use(out, found.items[i]);
    out->failed += known ? found.failed : 0;
    gpu_memory_users_fini(&found);
    return known;
}

void gpu_memory_users_fini(struct gpu_memory_users *memory)
{
    free(memory->items);
    *memory = (struct gpu_memory_users){0};
}

bool gpu_memory_users_of(const struct gpu_memory_users *memory, pid_t pid, uint64_t *bytes)
{
    bool known = false;
    *bytes = 0;
    EACH (item, memory->items, memory->count) {
        if (item->pid != pid || !item->has_bytes)
            continue;
        known = true;
        *bytes += item->bytes;
    }
    return known;
}
