#include "run/aftermath.h"
#include "machine/contain/holders.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "run/attempt_json.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "machine/gpu/vendor.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

enum { LOG_TAIL = 32 << 10, LEFT_NAMED = 5, MAPS_BYTES = 16 << 20 };

/* Files carry the time of the last tick: up to 10 ms ago at 100 Hz. */
static const int64_t TICK_NS = 10 * NS_PER_MS;

static bool is_at_end(int pipe)
{
    struct pollfd wait = {.fd = pipe, .events = POLLIN};
    return poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP) != 0;
}

char *aftermath_log_holders(int pipe)
{
    struct job_member members[ATTEMPT_MEMBERS_MAX];
    struct stat status;
    size_t hidden = 0;
    if (is_at_end(pipe) || fstat(pipe, &status) != 0)
        return NULL;
    size_t count =
        holders_of_pipe("/proc", (uint64_t)status.st_ino, members, ATTEMPT_MEMBERS_MAX, &hidden);
    if (count == 0 && is_at_end(pipe))
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

/* Without these device files there is no GPU to hold. */
static bool has_gpus(const char *dev)
{
    static const char *const names[] = {"kfd", "dri"};
    bool found = gpu_vendor_loaded(dev, NULL) != NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dev, names[i]);
        found = access(path, F_OK) == 0;
    }
    return found;
}

static bool is_suspect(const struct census_process *process, const struct job_identity *job,
                       uid_t uid)
{
    return process->devices.count > 0 && process->uid == uid &&
           process->stat.start_time >= job->start_time && process->stat.pid != getpid() &&
           process->stat.ppid != getpid() &&
           (!process->tag || (job->tag && strcmp(process->tag, job->tag) == 0));
}

char *aftermath_gpu_holders(const struct census_roots *roots, const struct job_identity *job,
                            uid_t uid, aftermath_known_fn *known, void *context)
{
    static const struct census_roots machine = {"/proc", "/dev"};
    struct census census;
    struct text text = {0};
    roots = roots ? roots : &machine;
    if (!has_gpus(roots->dev))
        return NULL;
    census_take(roots, &census, NULL);
    EACH (process, census.items, census.count) {
        if (!is_suspect(process, job, uid) || (known && known(context, process->stat.pid)))
            continue;
        AUTO_FREE char *devices = strv_join(&process->devices, ", ");
        text_addf(&text, "%s%ld %s (%s)",
                  text.length ? "; " : "possibly of this job, and left alone: ",
                  (long)process->stat.pid, process->stat.comm, devices);
    }
    census_fini(&census);
    return text.length ? text_take(&text) : NULL;
}

struct left {
    struct text text;
    size_t count;
};

static void add_remnant(struct left *left, const char *what, const char *name, uint64_t bytes)
{
    if (left->count++ >= LEFT_NAMED)
        return;
    text_addf(&left->text, "%s%s%s",
              left->text.length ? "; " : "possibly of this job, and left alone: ", what, name);
    if (bytes)
        text_addf(&left->text, " (%.1f MiB)", (double)bytes / 1048576);
}

static bool is_mapped(const char *path)
{
    AUTO_DIR DIR *proc = fs_list(AT_FDCWD, "/proc");
    bool mapped = false;
    for (const struct dirent *entry; proc && !mapped && (entry = readdir(proc));) {
        AUTO_TEXT struct text maps = {0};
        AUTO_FREE char *file = mem_printf("%s/maps", entry->d_name);
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            fs_read_kernel(dirfd(proc), file, MAPS_BYTES, &maps, NULL))
            mapped = strstr(text_get(&maps), path) != NULL;
    }
    return mapped;
}

static bool is_between(int64_t t_ns, int64_t from_ns, int64_t to_ns)
{
    return t_ns >= from_ns && t_ns <= to_ns;
}

static void add_shared_files(struct left *left, uid_t uid, int64_t from_ns, int64_t to_ns)
{
    AUTO_DIR DIR *dir = fs_list(AT_FDCWD, "/dev/shm");
    struct statx status;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        if (statx(dirfd(dir), entry->d_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
                  &status) != 0 ||
            !S_ISREG(status.stx_mode) || status.stx_uid != uid)
            continue;
        /* tmpfs records a file's creation since Linux 6.1. */
        const struct statx_timestamp *made =
            status.stx_mask & STATX_BTIME ? &status.stx_btime : &status.stx_ctime;
        AUTO_FREE char *path = mem_printf("/dev/shm/%s", entry->d_name);
        if (!is_between(made->tv_sec * NS_PER_S + made->tv_nsec, from_ns - TICK_NS, to_ns) ||
            is_mapped(path))
            continue;
        utf8_make_printable(path, "");
        add_remnant(left, "", path, status.stx_blocks * 512);
    }
}

/* Finds a cell by its column's name. UINT64_MAX: not found. */
static uint64_t find_cell_number(const char *heads, const char *row, const char *name)
{
    size_t length = strlen(name);
    while (*heads && *heads != '\n') {
        heads += strspn(heads, " ");
        row += strspn(row, " ");
        size_t head = strcspn(heads, " \n");
        if (head == length && memcmp(heads, name, length) == 0)
            return strtoull(row, NULL, 10);
        heads += head;
        row += strcspn(row, " \n");
    }
    return UINT64_MAX;
}

static void add_ipc(struct left *left, uid_t uid, int64_t from_ns, int64_t to_ns)
{
    static const struct {
        const char *file, *id, *what, *bytes;
    } kinds[] = {{"/proc/sysvipc/shm", "shmid", "System V shared memory ", "size"},
                 {"/proc/sysvipc/sem", "semid", "System V semaphores ", NULL},
                 {"/proc/sysvipc/msg", "msqid", "System V message queue ", "cbytes"}};
    EACH_OF (kind, kinds) {
        AUTO_TEXT struct text table = {0};
        if (!fs_read_kernel(AT_FDCWD, kind->file, MAPS_BYTES, &table, NULL))
            continue;
        const char *heads = text_get(&table);
        for (const char *row = strchr(heads, '\n'); row && row[1]; row = strchr(row, '\n')) {
            row++;
            uint64_t attached = find_cell_number(heads, row, "nattch");
            int64_t made_ns = (int64_t)find_cell_number(heads, row, "ctime") * NS_PER_S;
            if (find_cell_number(heads, row, "cuid") != uid ||
                (attached != UINT64_MAX && attached > 0) ||
                !is_between(made_ns, from_ns - NS_PER_S, to_ns))
                continue;
            char id[24];
            snprintf(id, sizeof id, "%llu",
                     (unsigned long long)find_cell_number(heads, row, kind->id));
            add_remnant(left, kind->what, id,
                        kind->bytes ? find_cell_number(heads, row, kind->bytes) : 0);
        }
    }
}

char *aftermath_memory_left(uid_t uid, int64_t from_ns, int64_t to_ns)
{
    struct left left = {0};
    add_shared_files(&left, uid, from_ns, to_ns);
    add_ipc(&left, uid, from_ns, to_ns);
    if (left.count > LEFT_NAMED)
        text_addf(&left.text, "; and %zu more", left.count - LEFT_NAMED);
    return left.count ? text_take(&left.text) : NULL;
}

bool aftermath_log_tail(int folder, const char *log_name, size_t most, struct text *out)
{
    struct stat status;
    AUTO_CLOSE int log =
        folder < 0 ? -1 : openat(folder, log_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (log < 0 || fstat(log, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    AUTO_FREE char *tail = mem_alloc(most);
    ssize_t length =
        pread(log, tail, most, status.st_size > (off_t)most ? status.st_size - (off_t)most : 0);
    if (length > 0)
        text_add_bytes(out, tail, (size_t)length);
    return length > 0;
}

bool aftermath_has_setuid_refusal(int folder, const char *log_name)
{
    AUTO_TEXT struct text tail = {0};
    if (!aftermath_log_tail(folder, log_name, LOG_TAIL, &tail))
        return false;
    EACH (item, tail.data, tail.length)
        if (*item == '\0')
            *item = ' ';
    return setuid_refusal_told(text_get(&tail));
}
