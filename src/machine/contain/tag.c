#include "machine/contain/tag.h"

#include "base/fs.h"
#include "base/mem.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { CGROUP_MAX = 16384, ANCESTORS_MAX = 1000, ADOPTION_STEPS = 1000, CHILDREN_MAX = 256 };

bool tag_is_formed(const char *tag)
{
    return strlen(tag) == TAG_DIGITS && tag[strspn(tag, "0123456789abcdef")] == '\0';
}

static bool environ_tagged(int proc, const char *path, const char *tag)
{
    AUTO_FREE char *value = NULL;
    return proc_environ_value(proc, path, "TARE_JOB", &value) && value && strcmp(value, tag) == 0;
}

/* A zombie leader has no environment any more, its living threads have. */
static bool threads_tagged(int proc, pid_t pid, const char *tag)
{
    char path[300];
    snprintf(path, sizeof path, "%d/task", (int)pid);
    AUTO_DIR DIR *listing = fs_list(proc, path);
    bool tagged = false;
    for (struct dirent *entry; listing && !tagged && (entry = readdir(listing));) {
        snprintf(path, sizeof path, "%d/task/%s/environ", (int)pid, entry->d_name);
        tagged = entry->d_name[0] != '.' && environ_tagged(proc, path, tag);
    }
    return tagged;
}

bool tag_is_carried(int proc, const struct proc_stat *stat, const char *tag)
{
    char path[40];
    snprintf(path, sizeof path, "%d/environ", (int)stat->pid);
    return environ_tagged(proc, path, tag) ||
           (stat->threads > 1 && stat->state == 'Z' && threads_tagged(proc, stat->pid, tag));
}

static bool in_other_slurm_job(int proc, pid_t pid, char *owner)
{
    char path[40];
    AUTO_FREE char *theirs = NULL;
    const char *ours = getenv("SLURM_JOB_ID");
    snprintf(path, sizeof path, "%d/environ", (int)pid);
    proc_environ_value(proc, path, "SLURM_JOB_ID", &theirs);
    if (!theirs || !theirs[0] || (ours && strcmp(ours, theirs) == 0))
        return false;
    snprintf(owner, TAG_OWNER_MAX, "Slurm job %.64s", theirs);
    return true;
}

/* Of cgroup v2, else of systemd's own v1 hierarchy. */
static bool cgroup_path(int proc, const char *who, char *out, size_t size)
{
    char path[40], text[CGROUP_MAX];
    snprintf(path, sizeof path, "%s/cgroup", who);
    ssize_t length = proc_read_at(proc, path, text, sizeof text);
    return length > 0 &&
           ((proc_cgroup_path(text, (size_t)length, NULL, out, size) && strcmp(out, "/") != 0) ||
            proc_cgroup_path(text, (size_t)length, "name=systemd", out, size));
}

/* Whether the kernel has it in the cgroup that a job with this tag was given, or below it. */
static bool in_leaf(int proc, pid_t pid, const char *tag)
{
    char who[16], path[4096], name[TAG_OWNER_MAX];
    snprintf(who, sizeof who, "%d", (int)pid);
    int length = snprintf(name, sizeof name, "/" TARE_NAME "-job-%s", tag);
    if (length >= (int)sizeof name || !cgroup_path(proc, who, path, sizeof path))
        return false;
    for (const char *at = path; (at = strstr(at, name)); at += length)
        if (at[length] == '/' || at[length] == '\0')
            return true;
    return false;
}

static bool is_of_job(int proc, const struct proc_stat *stat, const char *tag)
{
    return tag_is_carried(proc, stat, tag) || in_leaf(proc, stat->pid, tag);
}

bool tag_holds_this_process(int proc, const char *tag)
{
    struct proc_stat stat = {.ppid = getpid()};
    for (int i = 0; i < ANCESTORS_MAX && stat.ppid > 0 && proc_stat_read(proc, stat.ppid, &stat);
         i++)
        if (is_of_job(proc, &stat, tag))
            return true;
    return false;
}

static bool name_ends_with(const char *text, size_t length, const char *end)
{
    size_t tail = strlen(end);
    return length > tail && strncmp(text + length - tail, end, tail) == 0;
}

/* A service, a container, a scope of systemd-run, a job of Slurm: what is started there belongs
 * there. Sessions, terminals and tare's own scopes are none: what a run left in one of them is
 * ended from another. */
static bool is_a_place_of_its_own(const char *name, size_t length, bool in_slurm)
{
    static const char *const scopes[] = {"run-", "docker-", "libpod-", "cri-", "crio-", "machine-"};
    if (in_slurm && strncmp(name, "job_", 4) == 0)
        return true;
    if (name_ends_with(name, length, ".service"))
        return strncmp(name, "user@", 5) != 0;
    for (size_t i = 0; name_ends_with(name, length, ".scope") && i < sizeof scopes / sizeof *scopes;
         i++)
        if (strncmp(name, scopes[i], strlen(scopes[i])) == 0)
            return true;
    return false;
}

static bool in_other_unit(int proc, pid_t pid, char *owner)
{
    char who[16], theirs[4096], ours[4096] = "";
    snprintf(who, sizeof who, "%d", (int)pid);
    if (!cgroup_path(proc, who, theirs, sizeof theirs))
        return false;
    cgroup_path(proc, "self", ours, sizeof ours);
    bool in_slurm = false;
    for (const char *name = theirs; *name;) {
        name += *name == '/';
        size_t length = strcspn(name, "/"), prefix = (size_t)(name - theirs) + length;
        bool shared =
            strncmp(ours, theirs, prefix) == 0 && (ours[prefix] == '/' || ours[prefix] == '\0');
        in_slurm |= strncmp(name, "slurm", 5) == 0;
        if (!shared && is_a_place_of_its_own(name, length, in_slurm)) {
            snprintf(owner, TAG_OWNER_MAX, "%.*s", (int)length, name);
            return true;
        }
        name += length;
    }
    return false;
}

static bool in_other_pid_namespace(int proc, pid_t pid, char *owner)
{
    char path[40], theirs[64], ours[64];
    snprintf(path, sizeof path, "%d/ns/pid", (int)pid);
    ssize_t length = readlinkat(proc, path, theirs, sizeof theirs),
            own = readlinkat(proc, "self/ns/pid", ours, sizeof ours);
    if (length <= 0 || own <= 0 || (length == own && memcmp(theirs, ours, (size_t)own) == 0))
        return false;
    snprintf(owner, TAG_OWNER_MAX, "another pid namespace (a container)");
    return true;
}

/* In the grandchild: tells who has it when its parent is gone. */
static _Noreturn void write_adopter(pid_t parent, int out)
{
    pid_t now = getppid();
    for (int i = 0; now == parent && i < ADOPTION_STEPS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        now = getppid();
    }
    ssize_t written = write(out, &now, sizeof now);
    _exit(written != sizeof now);
}

/* Who adopts the orphans of this place when it is not pid 1 (prctl's PR_SET_CHILD_SUBREAPER). /proc
 * does not tell: it is tried. */
static pid_t adopter_find(void)
{
    int ends[2];
    pid_t adopter = 1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return adopter;
    pid_t child = fork();
    if (child == 0) {
        pid_t self = getpid();
        if (fork() == 0)
            write_adopter(self, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &adopter, sizeof adopter) != sizeof adopter)
        adopter = 1;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return adopter;
}

static bool is_adopter(int proc, const struct proc_stat *stat)
{
    static _Thread_local pid_t asked_by, adopter;
    if (proc_is_user_manager(proc, stat))
        return true;
    if (asked_by != getpid()) {
        adopter = adopter_find();
        asked_by = getpid();
    }
    return stat->pid == adopter;
}

/* Whether it executes the same file as this process. */
static bool is_this_program(int proc, pid_t pid)
{
    char path[40];
    struct stat own, theirs;
    snprintf(path, sizeof path, "%d/exe", (int)pid);
    return stat("/proc/self/exe", &own) == 0 && fstatat(proc, path, &theirs, 0) == 0 &&
           own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

static bool runs_same_file(int proc, pid_t a, pid_t b)
{
    char path[40];
    struct stat one, other;
    snprintf(path, sizeof path, "%d/exe", (int)a);
    if (fstatat(proc, path, &one, 0) != 0)
        return false;
    snprintf(path, sizeof path, "%d/exe", (int)b);
    return fstatat(proc, path, &other, 0) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* A runner of any version and name: a job's init or a guardian that executes the same file is its
 * child. */
static bool has_helper(int proc, pid_t pid)
{
    pid_t children[CHILDREN_MAX];
    ssize_t count = proc_children_read(proc, pid, pid, children, CHILDREN_MAX);
    for (ssize_t i = 0; i < count; i++) {
        struct proc_stat child;
        if (proc_stat_read(proc, children[i], &child) &&
            (strcmp(child.comm, TARE_NAME "-init") == 0 ||
             strcmp(child.comm, TARE_NAME "-guardian") == 0) &&
            runs_same_file(proc, pid, child.pid))
            return true;
    }
    return false;
}

/* By pid and start time, which the caller knows, not by the name of its file. */
static bool is_known_runner(const struct proc_stat *stat, const struct live_runners *runners)
{
    for (size_t i = 0; runners && i < runners->count; i++)
        if (runners->items[i].pid == stat->pid && runners->items[i].start_time == stat->start_time)
            return true;
    return false;
}

/* The process itself or an ancestor of it, if that is known to live, or is a runner by its program
 * or its children. A program can play that; it is then listed instead of ended, which is the safe
 * mistake. */
static bool runner_find(int proc, const struct proc_stat *stat, const struct live_runners *runners,
                        struct proc_stat *out)
{
    *out = *stat;
    for (int i = 0; i < ANCESTORS_MAX; i++) {
        bool helper = strncmp(out->comm, TARE_NAME "-", sizeof TARE_NAME) == 0;
        bool named = !helper && (is_this_program(proc, out->pid) || has_helper(proc, out->pid));
        if (out->pid != getpid() && (named || is_known_runner(out, runners)))
            return true;
        if (out->ppid <= 0 || !proc_stat_read(proc, out->ppid, out))
            return false;
    }
    return false;
}

/* An exiting process has no executable any more; an init waits so for its namespace to empty. */
static bool is_ending(int proc, pid_t pid)
{
    char path[40];
    struct stat status;
    snprintf(path, sizeof path, "%d/exe", (int)pid);
    return fstatat(proc, path, &status, 0) != 0 && errno == ENOENT;
}

/* A runner that is pid 1 of a container is the parent of its inits as if it had adopted them. */
static bool is_runner(int proc, const struct proc_stat *stat)
{
    return stat->pid != getpid() &&
           (strcmp(stat->comm, TARE_NAME) == 0 ||
            (strcmp(stat->comm, TARE_NAME "-init") != 0 && is_this_program(proc, stat->pid)));
}

bool job_init_is_left(int proc, pid_t pid, uint64_t start_time)
{
    struct proc_stat stat, parent;
    uid_t uid;
    if (pid <= 0 || !proc_stat_read(proc, pid, &stat) || stat.start_time != start_time ||
        !proc_stat_alive(&stat) || strcmp(stat.comm, TARE_NAME "-init") != 0 ||
        !proc_real_uid(proc, pid, &uid) || uid != geteuid() ||
        !(is_this_program(proc, pid) || is_ending(proc, pid)))
        return false;
    /* Another user's pid 1 may be hidden. */
    bool seen = proc_stat_read(proc, stat.ppid, &parent);
    return (stat.ppid == 1 || (seen && is_adopter(proc, &parent))) &&
           !(seen && is_runner(proc, &parent));
}

/* The nearest ancestor that is not of the job, or is another user's: whoever started it, or adopted
 * it as an orphan. False: pid 1 adopted it. */
static bool keeper_find(int proc, const struct proc_stat *stat, const char *tag, uid_t uid,
                        struct proc_stat *out)
{
    uid_t theirs;
    *out = *stat;
    for (int i = 0; i < ANCESTORS_MAX; i++) {
        pid_t child = out->pid, parent = out->ppid;
        if (parent == 1)
            return proc_stat_read(proc, parent, out) && is_runner(proc, out);
        if (!proc_stat_read(proc, parent, out)) {
            /* Gone in this moment: then another has the child. Else it is one that this user may
             * not see. */
            if (proc_stat_read(proc, child, out) && out->ppid != parent)
                continue;
            *out = (struct proc_stat){.pid = parent, .comm = "somebody"};
            return true;
        }
        if (!is_of_job(proc, out, tag) || !proc_real_uid(proc, parent, &theirs) || theirs != uid)
            return true;
    }
    return true;
}

bool tag_is_foreign(int proc, const struct proc_stat *stat, const char *tag, uid_t uid, pid_t root,
                    const struct live_runners *runners, char *owner)
{
    struct proc_stat keeper;
    uid_t theirs;
    owner[0] = '\0';
    /* The tag is no secret: it is in the run's files and in the name of the job's cgroup. */
    if (proc_real_uid(proc, stat->pid, &theirs) && theirs != uid) {
        snprintf(owner, TAG_OWNER_MAX, "user %u", (unsigned)theirs);
        return true;
    }
    bool kept = keeper_find(proc, stat, tag, uid, &keeper);
    /* As long as the init lives it adopts the job's orphans: ancestry tells all. */
    if (root && kept && keeper.pid == root)
        return false;
    if (in_other_slurm_job(proc, stat->pid, owner) || in_other_unit(proc, stat->pid, owner) ||
        in_other_pid_namespace(proc, stat->pid, owner))
        return true;
    bool adopted =
        !kept || keeper.pid == getpid() || (is_adopter(proc, &keeper) && !is_runner(proc, &keeper));
    if (kept && (root || !adopted)) {
        snprintf(owner, TAG_OWNER_MAX, "%s (pid %d)", keeper.comm, (int)keeper.pid);
        return true;
    }
    /* A job's tag is copied, and its cgroup joined, by whoever likes: a run that lives is never
     * ended for either. */
    struct proc_stat runner;
    if (!root && !(kept && keeper.pid == getpid()) && runner_find(proc, stat, runners, &runner)) {
        snprintf(owner, TAG_OWNER_MAX, "a run that lives: %s (pid %d)", runner.comm,
                 (int)runner.pid);
        return true;
    }
    if (root)
        snprintf(owner, TAG_OWNER_MAX, "none of the job's processes");
    return root != 0;
}
