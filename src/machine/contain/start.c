#include "machine/contain/start.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/contain/cgroup_tree.h"
#include "machine/contain/job.h"
#include "machine/contain/job_private.h"
#include "machine/contain/probe.h"
#include "machine/contain/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Far above what the slowest machine takes; an init that is stuck in the kernel is given up. */
enum { READY_TIMEOUT_MS = 30000, GROUPS_MAX = 65536 };

struct start {
    const struct job_request *request;
    struct job *job;
    struct strv env;
    gid_t *groups;
    size_t group_count;
    int null, runner, cgroup;
    struct init_folder records, own; /* path: freed with this */
    struct init_folder read_only[JOB_READ_ONLY_MAX];
    int clone_errno; /* of the last try: what the kernel said to the namespaces, or 0 */
    /* why that was refused, when a user namespace is tried after it; or NULL */
    char *without_userns;
};

static bool tag_make(char **out, struct err *err)
{
    unsigned char bytes[TAG_BYTES];
    char tag[TAG_DIGITS + 1];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(err, "getrandom");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(tag + 2 * i, 3, "%02x", bytes[i]);
    *out = mem_strdup(tag);
    return true;
}

static bool groups_find(struct start *start, struct err *err)
{
    const struct job_request *request = start->request;
    if (!request->change_user)
        return true;
    if (geteuid() != 0)
        return err_set(err, "only root can start a job as another user");
    struct passwd *user = getpwuid(request->uid);
    int count = 64;
    start->groups = mem_array((size_t)count, sizeof(gid_t));
    if (!user) {
        start->groups[0] = request->gid;
        start->group_count = 1;
        return true;
    }
    while (getgrouplist(user->pw_name, request->gid, start->groups, &count) < 0) {
        if (count > GROUPS_MAX)
            return err_set(err, "user %s has too many groups", user->pw_name);
        start->groups = mem_resize(start->groups, (size_t)count, sizeof(gid_t));
    }
    start->group_count = (size_t)count;
    return true;
}

static void plan_fill(const struct start *start, int control, struct init_plan *plan)
{
    const struct job_request *request = start->request;
    const struct job *job = start->job;
    *plan = (struct init_plan){
        .argv = request->argv->items,
        .envp = start->env.items,
        .cwd = request->cwd,
        .stdio = {request->stdin_fd >= 0 ? request->stdin_fd : start->null, request->stdout_fd,
                  request->stderr_fd},
        .null = start->null,
        .control = control,
        .runner = start->runner,
        .cgroup = start->cgroup,
        .shared = request->shared_fd,
        .pidns = job->layers.pidns,
        .userns = job->layers.userns,
        .map_by_runner = job->layers.userns && geteuid() == 0,
        .foreground_tty = request->foreground_tty,
        .terminal_group = getpgrp(),
        .change_user = request->change_user,
        .uid = request->uid,
        .gid = request->gid,
        .groups = start->groups,
        .group_count = start->group_count,
        .own_shm = request->own.shm,
        .own_ipc = request->own.ipc,
        .own_tmp = request->own.tmp,
        .records = start->records,
        .own = start->own,
        .read_only = {start->read_only[0], start->read_only[1]},
        .hidden = job->layers.hidden.items,
        .leaf = job->identity.cgroup,
        .tag = job->identity.tag,
        .cpus = job->cpus == JOB_CPUS_CPUSET ? NULL : request->cpus,
    };
    if (request->limits.cpu_time_s > 0)
        plan->cpu_limit_s = (uint64_t)request->limits.cpu_time_s + 1;
    snprintf(plan->uid_map, sizeof plan->uid_map, "%u %u 1\n", (unsigned)geteuid(),
             (unsigned)geteuid());
    snprintf(plan->gid_map, sizeof plan->gid_map, "%u %u 1\n", (unsigned)getegid(),
             (unsigned)getegid());
}

/* Clones the init. In a pid namespace by the bare call; else by fork(), whose child may allocate
 * (init.h). All signals are blocked meanwhile, so that no handler of the runner ever runs in the
 * child. */
static pid_t init_spawn(const struct init_plan *plan, int *pidfd)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uint64_t flags = CLONE_NEWPID | CLONE_NEWNS | (plan->userns ? CLONE_NEWUSER : 0) |
                     (plan->own_ipc ? CLONE_NEWIPC : 0);
    *pidfd = -1;
    pid_t pid = plan->pidns ? sys_clone(flags, pidfd) : fork();
    if (pid == 0)
        init_main(plan);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && *pidfd < 0)
        *pidfd = sys_pidfd_open(pid);
    if (pid < 0)
        errno = error;
    return pid;
}

/* Every user (or group) of this namespace as itself: what may be mapped are the ranges that are
 * mapped here (user_namespaces(7)). */
static bool ids_map(pid_t pid, const char *file)
{
    char path[40], own[8192], map[8192];
    size_t length = 0;
    unsigned first, outside, count;
    int used;
    snprintf(path, sizeof path, "/proc/self/%s", file);
    if (proc_read_at(AT_FDCWD, path, own, sizeof own) <= 0)
        return false;
    for (const char *at = own; sscanf(at, "%u %u %u%n", &first, &outside, &count, &used) == 3;
         at += used)
        length +=
            (size_t)snprintf(map + length, sizeof map - length, "%u %u %u\n", first, first, count);
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, map, length) == (ssize_t)length;
}

/* Root without CAP_SYS_ADMIN, as in a container: only a user namespace gives it a pid namespace.
 * The map of all users is the runner's to write (CAP_SETUID); an init that does not hear of it any
 * more is found by ready_wait. */
static void users_map(pid_t pid, int control)
{
    struct init_order order = {.kind = INIT_MAPPED,
                               .users_mapped = ids_map(pid, "uid_map"),
                               .groups_mapped = ids_map(pid, "gid_map")};
    ssize_t sent = send(control, &order, sizeof order, MSG_NOSIGNAL);
    (void)sent;
}

static bool ready_wait(int control, struct init_report *out, struct err *err)
{
    struct pollfd wait = {.fd = control, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, READY_TIMEOUT_MS);
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return err_set(err, "the job's init did not answer in %d s", READY_TIMEOUT_MS / 1000);
    ssize_t got = recv(control, out, sizeof *out, MSG_DONTWAIT);
    if (got != (ssize_t)sizeof *out || out->kind != INIT_READY)
        return err_set(err, "the job's init ended before it was ready");
    if (out->step != INIT_STEP_NONE) {
        errno = out->error;
        return err_sys(err, "%s", init_step_text(out->step));
    }
    return true;
}

static void init_give_up(struct job *job, pid_t pid)
{
    if (job->pidfd >= 0)
        sys_pidfd_signal(job->pidfd, SIGKILL);
    else
        kill(pid, SIGKILL); /* our own child, not reaped: the pid is still its */
    /* A killed init that only waited at its gate is gone at once; one stuck in the kernel is left
     * behind. */
    for (int i = 0; i < 2000 && waitpid(pid, NULL, WNOHANG) == 0; i++)
        poll(NULL, 0, 1);
    cleanup_close(&job->pidfd);
    job->pidfd = -1;
}

/* One try with the job's layers. cgroup_error: the command could not enter the leaf. */
static bool init_start(struct start *start, int *cgroup_error, struct err *err)
{
    struct job *job = start->job;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_sys(err, "socketpair");
    AUTO_CLOSE int mine = pair[0], theirs = pair[1];
    struct init_plan plan;
    plan_fill(start, theirs, &plan);
    pid_t pid = init_spawn(&plan, &job->pidfd);
    start->clone_errno = pid < 0 ? errno : 0;
    if (pid < 0)
        return err_sys(err, plan.userns  ? "clone a user and pid namespace"
                            : plan.pidns ? "clone a pid namespace"
                                         : "fork");
    close(steal_fd(&theirs));
    if (plan.map_by_runner)
        users_map(pid, mine);
    struct init_report ready = {0};
    bool good = job->pidfd >= 0 || err_sys(err, "pidfd_open");
    good = good && ready_wait(mine, &ready, err);
    good = good && (process_start_time(pid, &job->identity.start_time) ||
                    err_sys(err, "/proc/%d/stat of the job's init", pid));
    *cgroup_error = ready.cgroup_error;
    if (start->request->cpus && job->cpus != JOB_CPUS_CPUSET)
        job->cpus = ready.cpus_error ? JOB_CPUS_REFUSED : JOB_CPUS_AFFINITY;
    job->cpus_errno = ready.cpus_error;
    job->typing_errno = ready.typing_error;
    job->records_errno = ready.records_error;
    if (!good || ready.cgroup_error) {
        init_give_up(job, pid);
        return good;
    }
    job->identity.pid = pid;
    job->control = steal_fd(&mine);
    return true;
}

static bool leaf_start(struct start *start, struct err *err)
{
    struct job *job = start->job;
    const char *parent = start->request->containment->cgroup_parent;
    AUTO_FREE char *found = NULL;
    bool insist = job->layers.mode == CONTAINMENT_CGROUP;
    AUTO_FREE char *leaf = parent ? cgroup_leaf_path(parent, job->identity.tag)
                                  : cgroup_find_leaf(insist, job->identity.tag, &found, err);
    if (!leaf || (parent && !cgroup_make(leaf, err)))
        return false;
    start->cgroup = open(leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (start->cgroup < 0) {
        err_sys(err, "open %s", leaf);
        rmdir(leaf);
        return false;
    }
    job->identity.cgroup = steal_ptr(leaf);
    if (found)
        job->layers.cgroup_parent = steal_ptr(found);
    cgroup_limit_memory(job->identity.cgroup, start->request->limits.memory_bytes);
    if (start->request->cpus && cgroup_limit_cpus(job->identity.cgroup, start->request->cpus))
        job->cpus = JOB_CPUS_CPUSET;
    return true;
}

static void leaf_drop(struct start *start, const struct err *reason)
{
    struct job *job = start->job;
    job->layers.cgroup = false;
    job->cpus = JOB_CPUS_FREE;
    free(job->layers.cgroup_reason);
    job->layers.cgroup_reason = mem_strdup(reason->text);
    cleanup_close(&start->cgroup);
    start->cgroup = -1;
    if (job->identity.cgroup)
        cgroup_remove(job->identity.cgroup);
    free(steal_ptr(job->identity.cgroup));
}

/* Root may lack the right to a pid namespace, and have one with a user namespace around it; AUTO
 * goes without either. False: neither is left to be tried; err tells of both. */
static bool pidns_again(struct start *start, struct err *err)
{
    struct containment *layers = &start->job->layers;
    if (!layers->userns && start->clone_errno == EPERM) {
        layers->userns = true;
        start->without_userns = mem_strdup(err->text);
        return true;
    }
    if (start->without_userns) {
        struct err second = *err;
        err_set(err, "%s; %s", start->without_userns, second.text);
    }
    const struct job_private *own = &start->request->own;
    if (own->shm || own->ipc || own->tmp)
        return false;
    layers->pidns = layers->userns = false;
    free(layers->pidns_reason);
    layers->pidns_reason = mem_strdup(err->text);
    return layers->mode == CONTAINMENT_AUTO;
}

/* Tries the layers asked for, then with AUTO without those that were refused. */
static bool layers_start(struct start *start, struct err *err)
{
    struct job *job = start->job;
    enum containment_mode mode = job->layers.mode;
    const struct job_private *own = &start->request->own;
    if (!job->layers.pidns && (own->shm || own->ipc || own->tmp))
        return err_set(err,
                       "what the settings make private (shm, ipc, tmp) needs a pid namespace: %s",
                       job->layers.pidns_reason ? job->layers.pidns_reason : "there is none");
    bool cgroup_optional = mode != CONTAINMENT_CGROUP;
    if (job->layers.cgroup && !leaf_start(start, err)) {
        if (!cgroup_optional)
            return false;
        leaf_drop(start, err);
    }
    for (;;) {
        int cgroup_error = 0;
        bool started = init_start(start, &cgroup_error, err);
        if (started && cgroup_error) {
            errno = cgroup_error;
            err_sys(err, "enter %s", job->identity.cgroup);
            if (!cgroup_optional)
                return false;
            leaf_drop(start, err);
            continue;
        }
        if (started)
            return true;
        /* What is short now is no refusal of the layer: the job would only be held by less. */
        if (!job->layers.pidns || err_is_shortage(err->code) || !pidns_again(start, err))
            return false;
    }
}

/* Where it is now: a training may have given its folders other names. */
static bool folder_find(int fd, struct init_folder *out, struct err *err)
{
    char link[40], path[PATH_MAX];
    struct stat status;
    if (fd == 0)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || fstat(fd, &status) != 0)
        return err_sys(err, "find a folder to protect");
    *out = (struct init_folder){mem_strndup(path, (size_t)length), status.st_dev, status.st_ino};
    return true;
}

static bool start_prepare(struct start *start, struct err *err)
{
    struct job *job = start->job;
    containment_copy(start->request->containment, &job->layers);
    if (!tag_make(&job->identity.tag, err) || !boot_id_read(job->identity.boot_id, err) ||
        !groups_find(start, err) ||
        !folder_find(start->request->records_fd, &start->records, err) ||
        !folder_find(start->request->own_fd, &start->own, err))
        return false;
    for (size_t i = 0; i < JOB_READ_ONLY_MAX; i++)
        if (!folder_find(start->request->read_only_fds[i], &start->read_only[i], err))
            return false;
    strv_add_all(&start->env, start->request->env);
    strv_env_set(&start->env, "TARE_JOB", job->identity.tag);
    start->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (start->null < 0)
        return err_sys(err, "open /dev/null");
    start->runner = sys_pidfd_open(getpid());
    return start->runner >= 0 || err_sys(err, "pidfd_open");
}

struct job *job_start(const struct job_request *request, struct err *err)
{
    struct err local = {0};
    struct start start = {.request = request, .null = -1, .runner = -1, .cgroup = -1};
    struct job *job = start.job = mem_alloc(sizeof *job);
    job->control = job->pidfd = -1;
    job->foreground_tty = request->foreground_tty;
    bool started = start_prepare(&start, &local) && layers_start(&start, &local);
    if (!started) {
        if (job->identity.cgroup)
            cgroup_remove(job->identity.cgroup);
        job->proven = true;
        job_free(job);
        job = NULL;
        if (err)
            *err = local;
        err_wrap(err, "start %s", request->argv->items[0]);
    }
    free((char *)start.records.path);
    free((char *)start.own.path);
    for (size_t i = 0; i < JOB_READ_ONLY_MAX; i++)
        free((char *)start.read_only[i].path);
    free(start.groups);
    free(start.without_userns);
    strv_fini(&start.env);
    int fds[] = {start.null, start.runner, start.cgroup};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        cleanup_close(&fds[i]);
    return job;
}
