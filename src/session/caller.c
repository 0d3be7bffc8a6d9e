#include "session/caller.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/sys.h"
#include "machine/state/state.h"
#include "session/measuring.h"
#include "session/on_event.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What Debian gives a user who logs in, for callers whose own cannot be read. */
#define SAFE_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

enum { ANCESTORS_MAX = 8, ENVIRON_MAX = 4 << 20, STAT_MAX = 4096 };

static bool number_from_env(const char *name, unsigned *out)
{
    const char *text = getenv(name);
    if (!text || !*text || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    unsigned long number = strtoul(text, NULL, 10);
    *out = (unsigned)number;
    return errno == 0 && number < UINT32_MAX;
}

static void copy_environ(struct strv *out)
{
    for (char **at = environ; at && *at; at++)
        strv_add(out, *at);
}

void caller_parse_environ(const char *bytes, size_t count, struct strv *out)
{
    const char *end = bytes + count;
    while (bytes < end) {
        size_t length = strnlen(bytes, (size_t)(end - bytes));
        const char *equals = memchr(bytes, '=', length);
        if (equals && equals > bytes)
            strv_add_owned(out, mem_strndup(bytes, length));
        bytes += length + 1;
    }
}

/* Parent and command of a process, from /proc/PID/stat: "1 (name) S 0 ...". The name may hold
 * anything, so its end is the last parenthesis. */
static bool read_parent(int proc, pid_t *parent, char name[64])
{
    AUTO_TEXT struct text stat = {0};
    if (!fs_read_kernel(proc, "stat", STAT_MAX, &stat, NULL))
        return false;
    const char *open = strchr(text_get(&stat), '(');
    const char *close = strrchr(text_get(&stat), ')');
    if (!open || !close || close < open || strlen(close) < 5)
        return false;
    size_t length = (size_t)(close - open - 1);
    length = length < 63 ? length : 63;
    memcpy(name, open + 1, length);
    name[length] = '\0';
    *parent = (pid_t)strtol(close + 4, NULL, 10);
    return true;
}

/* Sudo was given the caller's environment as it was at that moment; the shell's file in /proc shows
 * only what the shell itself began with. So sudo's own is better, and the shell's the second
 * choice. */
static const char *read_callers_environment(uid_t uid, struct strv *out)
{
    pid_t pid = getppid();
    for (size_t step = 0; step < ANCESTORS_MAX && pid > 1; step++) {
        AUTO_FREE char *path = mem_printf("/proc/%d", (int)pid);
        AUTO_CLOSE int proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat status;
        char name[64];
        if (proc < 0 || fstat(proc, &status) != 0 || !read_parent(proc, &pid, name))
            return NULL;
        bool is_sudo =
            status.st_uid == 0 && (strcmp(name, "sudo") == 0 || strcmp(name, "sudo-rs") == 0);
        if (!is_sudo && status.st_uid != uid)
            continue;
        AUTO_TEXT struct text bytes = {0};
        if (fs_read_kernel(proc, "environ", ENVIRON_MAX, &bytes, NULL) && bytes.length > 0) {
            caller_parse_environ(bytes.data, bytes.length, out);
            /* sudo runs a monitor of its own in between, whose environment is root's. */
            if (!is_sudo || !strv_env_get(out, "SUDO_UID"))
                return is_sudo ? "sudo's own" : "the calling shell's";
            strv_fini(out);
            *out = (struct strv){0};
        }
    }
    return NULL;
}

void caller_merge(const struct strv *callers, const struct strv *ours, const char *user,
                  const char *home, const char *shell, struct strv *out)
{
    strv_add_all(out, callers);
    EACH (item, ours->items, ours->count) {
        const char *entry = *item;
        /* sudo's own PATH and MAIL are root's; only a caller whose environment is unknown lacks
         * PATH. */
        if (strncmp(entry, "SUDO_", 5) == 0 || strncmp(entry, "PATH=", 5) == 0 ||
            strncmp(entry, "MAIL=", 5) == 0)
            continue;
        AUTO_FREE char *name = mem_strndup(entry, strcspn(entry, "="));
        if (!strv_env_get(callers, name))
            strv_add(out, entry);
    }
    if (!strv_env_get(out, "PATH"))
        strv_env_set(out, "PATH", SAFE_PATH);
    if (user) {
        strv_env_set(out, "USER", user);
        strv_env_set(out, "LOGNAME", user);
    }
    if (home)
        strv_env_set(out, "HOME", home);
    if (shell && *shell)
        strv_env_set(out, "SHELL", shell);
}

enum { WITH_CGROUP = 1, SHUT = 2 };

static bool drop_root(const struct passwd *user, uid_t uid, gid_t gid, bool shut, struct err *err)
{
    if (user ? initgroups(user->pw_name, gid) != 0 : setgroups(1, &gid) != 0)
        return err_sys(err, "take the groups of user %u", (unsigned)uid);
    if (setresgid(gid, gid, gid) != 0)
        return err_sys(err, "become group %u", (unsigned)gid);
    if (setresuid(uid, uid, uid) != 0)
        return err_sys(err, "become user %u", (unsigned)uid);
    if (setuid(0) == 0)
        return err_set(err, "root could not be given up for user %u", (unsigned)uid);
    /* A process that changed its user is not dumpable, and its own files in /proc are root's:
     * without this no user namespace could be made (proc(5), /proc/PID/uid_map). Nothing of root's
     * is in memory here. */
    if (prctl(PR_SET_DUMPABLE, shut ? 0 : 1) != 0)
        return err_sys(err, "set whether the process is dumpable");
    return true;
}

static bool set_environ(const struct strv *environment, struct err *err)
{
    clearenv();
    EACH (item, environment->items, environment->count) {
        AUTO_FREE char *name = mem_strndup(*item, strcspn(*item, "="));
        if (setenv(name, *item + strlen(name) + 1, 1) != 0)
            return err_sys(err, "set %s", name);
    }
    return true;
}

static bool drop_to_user(uid_t uid, gid_t gid, unsigned how, struct caller *out, struct err *err)
{
    AUTO_STRV struct strv callers = {0};
    AUTO_STRV struct strv ours = {0};
    copy_environ(&ours);
    const struct passwd *user = getpwuid(uid);
    const char *from = read_callers_environment(uid, &callers);
    out->environment_from = from ? from : "a safe default";
    caller_merge(&callers, &ours, user ? user->pw_name : getenv("SUDO_USER"),
                 user ? user->pw_dir : NULL, user ? user->pw_shell : NULL, &out->environment);
    if (how & WITH_CGROUP)
        cgroup_delegate(uid, gid);
    /* Root's right to refuse it goes with root, and the terminal may be that of a root shell. */
    sys_typing_refuse();
    if (!drop_root(user, uid, gid, how & SHUT, err) || !set_environ(&out->environment, err))
        return false;
    out->became = true;
    out->uid = uid;
    out->gid = gid;
    return true;
}

static bool become_caller(bool as_root, unsigned how, struct caller *out, struct err *err)
{
    *out = (struct caller){.uid = geteuid(), .gid = getegid()};
    unsigned uid, gid;
    bool asked = getenv("SUDO_UID") && getenv("SUDO_GID");
    if (geteuid() == 0 && asked && !as_root) {
        if (!number_from_env("SUDO_UID", &uid) || !number_from_env("SUDO_GID", &gid))
            return err_set(
                err, "SUDO_UID and SUDO_GID are no user and group numbers; --as-root runs as root");
        if (uid != 0)
            return drop_to_user(uid, gid, how, out, err);
    }
    copy_environ(&out->environment);
    return true;
}

bool caller_become(bool as_root, struct caller *out, struct err *err)
{
    return become_caller(as_root, 0, out, err);
}

bool caller_become_for_jobs(bool as_root, enum containment_mode containment, struct caller *out,
                            struct err *err)
{
    return become_caller(as_root, containment != CONTAINMENT_SWEEP ? WITH_CGROUP : 0, out, err);
}

bool caller_become_shut(struct caller *out, struct err *err)
{
    return become_caller(false, SHUT, out, err);
}

void caller_hide_folders(const struct strv *environment, struct containment *containment)
{
    AUTO_FREE char *configuration = on_event_folder(environment);
    state_hide(containment);
    if (geteuid() == 0)
        strv_add_owned(&containment->hidden, meters_calibrations_path());
    if (!configuration)
        return;
    bool is_there = mkdir(configuration, 0700) == 0 || errno == EEXIST;
    AUTO_CLOSE int made = is_there ? -1 : fs_make_path(configuration, 0700, NULL);
    if (is_there || made >= 0)
        strv_add(&containment->hidden, configuration);
}

void caller_fini(struct caller *caller)
{
    strv_fini(&caller->environment);
    *caller = (struct caller){0};
}
