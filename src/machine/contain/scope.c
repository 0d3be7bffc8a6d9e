#include "machine/contain/scope.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <systemd/sd-bus.h>

/* A manager that does not answer must not keep anybody waiting: it is one layer of several. */
static const double ANSWER_S = 2;
static const int64_t MOVE_NS = 2 * NS_PER_S;

struct answer {
    bool came;
    struct err *err;
    bool good;
};

static int on_answer(sd_bus_message *reply, void *context, sd_bus_error *unused)
{
    (void)unused;
    struct answer *answer = context;
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    answer->came = true;
    answer->good = !error;
    if (error)
        err_set(answer->err, "systemd's user manager: %s",
                error->message ? error->message : error->name);
    return 0;
}

/* Properties of scope units as org.freedesktop.systemd1(5) and systemd.scope(5) have them. A scope
 * in which nobody is any more goes by itself, failed or not. */
static int message_fill(sd_bus_message *message, const char *unit, pid_t pid)
{
    int code = sd_bus_message_set_auto_start(message, false);
    if (code >= 0)
        code = sd_bus_message_append(message, "ss", unit, "fail");
    if (code >= 0)
        code = sd_bus_message_append(message, "a(sv)", 5, "Description", "s",
                                     TARE_NAME " and its jobs", "Slice", "s", "app.slice",
                                     "CollectMode", "s", "inactive-or-failed", "Delegate", "b", 1,
                                     "PIDs", "au", 1, (uint32_t)pid);
    return code >= 0 ? sd_bus_message_append(message, "a(sa(sv))", 0) : code;
}

static int bus_open(const char *address, sd_bus **out)
{
    if (!address)
        return sd_bus_open_user(out);
    int code = sd_bus_new(out);
    if (code >= 0)
        code = sd_bus_set_address(*out, address);
    return code >= 0 ? sd_bus_start(*out) : code;
}

/* Not sd_bus_call: it would wait for the connection itself without this bound. */
static int wait_for_bus_answer(sd_bus *bus, const struct answer *answer, int64_t deadline_ns)
{
    while (!answer->came) {
        int64_t left_ns = deadline_ns - clock_monotonic_ns();
        int code = sd_bus_process(bus, NULL);
        if (code == 0 && left_ns <= 0)
            return -ETIMEDOUT;
        if (code == 0)
            code = sd_bus_wait(bus, (uint64_t)left_ns / 1000);
        if (code < 0 && code != -EINTR)
            return code;
    }
    return 0;
}

bool scope_ask(const char *address, const char *unit, pid_t pid, double timeout_s, struct err *err)
{
    int64_t deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * (double)NS_PER_S);
    struct answer answer = {.err = err};
    sd_bus *bus = NULL;
    sd_bus_message *message = NULL;
    int code = bus_open(address, &bus);
    if (code >= 0)
        code = sd_bus_message_new_method_call(
            bus, &message, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
            "org.freedesktop.systemd1.Manager", "StartTransientUnit");
    if (code >= 0)
        code = message_fill(message, unit, pid);
    if (code >= 0)
        code = sd_bus_call_async(bus, NULL, message, on_answer, &answer, 0);
    if (code >= 0)
        code = wait_for_bus_answer(bus, &answer, deadline_ns);
    sd_bus_message_unref(message);
    sd_bus_close(bus);
    sd_bus_unref(bus);
    if (code >= 0)
        return answer.good;
    bool absent = code == -ENOMEDIUM || code == -ENOENT || code == -ECONNREFUSED;
    return absent ? err_set(err, "there is no systemd user manager")
                  : err_set(err, "systemd's user manager does not answer: %s", strerror(-code));
}

/* The manager's own socket, also for users without a bus. */
static char *manager_socket(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && runtime[0] == '/')
        return mem_printf("%s/systemd/private", runtime);
    return mem_printf("/run/user/%u/systemd/private", (unsigned)geteuid());
}

bool scope_manager_there(void)
{
    AUTO_FREE char *path = manager_socket();
    return access(path, F_OK) == 0;
}

/* NULL: the path would have to be escaped in an address. */
static char *manager_address(void)
{
    static const char plain[] =
        "/._-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    AUTO_FREE char *path = manager_socket();
    return path[strspn(path, plain)] ? NULL : mem_printf("unix:path=%s", path);
}

static bool has_moved(const char *unit)
{
    char text[8192], own[4096];
    ssize_t length = proc_read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof text);
    if (length <= 0 || !proc_cgroup_path(text, (size_t)length, NULL, own, sizeof own))
        return false;
    const char *name = strrchr(own, '/');
    return name && strcmp(name + 1, unit) == 0;
}

bool scope_enter(struct err *err)
{
    AUTO_FREE char *unit = mem_printf(TARE_NAME "-%d-%llx.scope", (int)getpid(),
                                      (unsigned long long)clock_realtime_ns());
    struct err direct = {0};
    AUTO_FREE char *address = manager_address();
    if (!scope_ask(NULL, unit, getpid(), ANSWER_S, err) &&
        (!address || !scope_ask(address, unit, getpid(), ANSWER_S, &direct)))
        return false;
    int64_t deadline_ns = clock_monotonic_ns() + MOVE_NS;
    while (!has_moved(unit)) {
        if (clock_monotonic_ns() >= deadline_ns)
            return err_set(err, "systemd's user manager made no cgroup for %s", unit);
        poll(NULL, 0, 1);
    }
    AUTO_FREE char *scope = cgroup_own(err);
    return scope && cgroup_enter_runner(scope, err);
}

bool scope_outlives_login(const char *own, uid_t uid, const char *linger, const char *user)
{
    AUTO_FREE char *manager = mem_printf("/user@%u.service/", (unsigned)uid);
    if (strstr(own, manager))
        return true;
    if (!user || !*user || strchr(user, '/'))
        return false;
    AUTO_FREE char *path = mem_printf("%s/%s", linger, user);
    return access(path, F_OK) == 0;
}
