#include "run/aftermath.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "contain/holders.h"
#include "run/attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_TAIL = 32 << 10 };

/* A pipe whose last writer has gone is at its end. */
static bool at_end(int pipe)
{
    struct pollfd wait = {.fd = pipe, .events = POLLIN};
    return poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP) != 0;
}

char *aftermath_log_holders(int pipe)
{
    struct job_member members[ATTEMPT_MEMBERS_MAX];
    struct stat status;
    size_t hidden = 0;
    if (at_end(pipe) || fstat(pipe, &status) != 0)
        return NULL;
    size_t count = holders_of_pipe("/proc", (uint64_t)status.st_ino, members, ATTEMPT_MEMBERS_MAX, &hidden);
    if (count == 0 && at_end(pipe))
        return NULL;
    struct text text = {0};
    text_add(&text, "nothing of the job is left, but its log's pipe is still open for writing in ");
    if (count > 0) {
        AUTO_FREE char *names = attempt_members_text(members, count);
        text_add(&text, names);
    } else if (hidden > 0) {
        text_addf(&text, "one of %zu processes that may not be looked into", hidden);
    } else {
        text_add(&text, "a process that cannot be found");
    }
    text_add(&text, "; what comes that way is not in training.log");
    return text_take(&text);
}

/* Without one of these there is no GPU to hold, and nothing to look for. */
static bool has_gpus(const char *dev)
{
    static const char *const names[] = {"nvidiactl", "kfd", "dri"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dev, names[i]);
        found = access(path, F_OK) == 0;
    }
    return found;
}

static bool is_suspect(const struct census_process *process, const struct job_identity *job, uid_t uid)
{
    return process->devices.count > 0 && process->uid == uid && process->stat.start_time >= job->start_time &&
           process->stat.pid != getpid() && process->stat.ppid != getpid() &&
           (!process->tag || (job->tag && strcmp(process->tag, job->tag) == 0));
}

char *aftermath_gpu_holders(const struct census_roots *roots, const struct job_identity *job, uid_t uid,
                            aftermath_known_fn *known, void *context)
{
    static const struct census_roots machine = {"/proc", "/dev"};
    struct census census;
    struct text text = {0};
    roots = roots ? roots : &machine;
    if (!has_gpus(roots->dev))
        return NULL;
    census_take(roots, &census, NULL);
    for (size_t i = 0; i < census.count; i++) {
        const struct census_process *process = &census.items[i];
        if (!is_suspect(process, job, uid) || (known && known(context, process->stat.pid)))
            continue;
        AUTO_FREE char *devices = strv_join(&process->devices, ", ");
        text_addf(&text, "%s%ld %s (%s)",
                  text.length ? "; " : "possibly of this job, and left alone: ", (long)process->stat.pid,
                  process->stat.comm, devices);
    }
    census_fini(&census);
    return text.length ? text_take(&text) : NULL;
}

bool aftermath_setuid_refused(int folder, const char *log_name)
{
    char tail[LOG_TAIL + 1];
    struct stat status;
    AUTO_CLOSE int log = openat(folder, log_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (log < 0 || fstat(log, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    off_t start = status.st_size > LOG_TAIL ? status.st_size - LOG_TAIL : 0;
    ssize_t length = pread(log, tail, LOG_TAIL, start);
    for (ssize_t i = 0; i < length; i++)
        if (tail[i] == '\0')
            tail[i] = ' ';
    tail[length > 0 ? length : 0] = '\0';
    return setuid_refusal_told(tail);
}
