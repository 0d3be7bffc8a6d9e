#include "machine/state/census.h"
#include "machine/contain/tag.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "machine/contain/sys.h"
#include "machine/gpu/vendor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <time.h>

enum { ANCESTORS_MAX = 1000, CMDLINE_MAX = 4096 };

/* One pass over /proc. */
struct taker {
    const struct census_roots *roots;
    int proc;
    double uptime_s, ticks_per_s;
};

char *census_command_text(const char *bytes, size_t count)
{
    struct text text = {0};
    while (count > 0 && bytes[count - 1] == '\0')
        count--;
    for (size_t at = 0; at < count;) {
        size_t part = strnlen(bytes + at, count - at);
        utf8_add_printable(bytes + at, part, "", &text);
        if (at + part < count)
            text_add_char(&text, ' ');
        at += part + 1;
    }
    return text_take(&text);
}

char *census_command(int proc, const struct proc_stat *stat)
{
    char path[40], words[CMDLINE_MAX];
    snprintf(path, sizeof path, "%d/cmdline", (int)stat->pid);
    ssize_t length = proc_read_at(proc, path, words, sizeof words);
    AUTO_FREE char *command = length > 0 ? census_command_text(words, (size_t)length) : NULL;
    return command && command[0] ? steal_ptr(command) : mem_printf("[%s]", stat->comm);
}

double census_age_s(uint64_t start_time)
{
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return -1;
    double age_s = (double)now.tv_sec + ns_to_s(now.tv_nsec) -
                   (double)start_time / (double)sysconf(_SC_CLK_TCK);
    return age_s > 0 ? age_s : 0;
}

static bool read_process_tag(const struct taker *taker, struct census_process *process)
{
    char path[40];
    snprintf(path, sizeof path, "%d/environ", (int)process->stat.pid);
    bool seen = proc_environ_value(taker->proc, path, "TARE_JOB", &process->tag);
    if (process->tag && !tag_is_formed(process->tag))
        free(steal_ptr(process->tag));
    return seen;
}

static bool all_digits(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* The vendors' own, AMD's compute, and what the kernel's graphics drivers offer for computing. */
static bool is_gpu(const char *dev, const char *path)
{
    size_t length = strlen(dev);
    if (strncmp(path, dev, length) != 0 || path[length] != '/')
        return false;
    const char *name = path + length + 1;
    return gpu_vendor_of_device(name) || gpu_vendor_of_control(name) || strcmp(name, "kfd") == 0 ||
           (strncmp(name, "dri/renderD", 11) == 0 && all_digits(name + 11));
}

static void add_open_device(const struct taker *taker, int folder, const char *name,
                            struct census_process *process)
{
    static const char deleted[] = " (deleted)";
    char path[PATH_MAX];
    ssize_t length = readlinkat(folder, name, path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    size_t tail = sizeof deleted - 1;
    if ((size_t)length > tail && strcmp(path + (size_t)length - tail, deleted) == 0)
        path[(size_t)length - tail] = '\0';
    if (is_gpu(taker->roots->dev, path) && !strv_has(&process->devices, path))
        strv_add(&process->devices, path);
}

static bool read_open_devices(const struct taker *taker, struct census_process *process)
{
    char path[40];
    snprintf(path, sizeof path, "%d/fd", (int)process->stat.pid);
    AUTO_DIR DIR *listing = fs_list(taker->proc, path);
    if (!listing)
        return false;
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.')
            add_open_device(taker, dirfd(listing), entry->d_name, process);
    return true;
}

static void process_fini(struct census_process *process)
{
    free(process->tag);
    free(process->command);
    strv_fini(&process->devices);
}

static void add_census_process(const struct taker *taker, pid_t pid, struct census *out)
{
    struct census_process process = {.age_s = -1};
    if (!proc_stat_read(taker->proc, pid, &process.stat) || !proc_stat_alive(&process.stat) ||
        !proc_real_uid(taker->proc, pid, &process.uid))
        return;
    if (taker->uptime_s >= 0)
        process.age_s = taker->uptime_s - (double)process.stat.start_time / taker->ticks_per_s;
    if (process.age_s < 0 && taker->uptime_s >= 0)
        process.age_s = 0;
    bool has_environment = read_process_tag(taker, &process),
         has_devices = read_open_devices(taker, &process);
    process.looked_into = has_environment && has_devices;
    out->closed += !process.looked_into && process.uid != geteuid();
    process.command = census_command(taker->proc, &process.stat);
    process.orphan = proc_adopts(taker->proc, process.stat.ppid);
    MEM_ADD(out->items, out->count) = process;
}

static int compare_census_pids(const void *a, const void *b)
{
    const struct census_process *left = a, *right = b;
    return ORDER(left->stat.pid, right->stat.pid);
}

const struct census_process *census_find(const struct census *census, pid_t pid)
{
    struct census_process key = {.stat.pid = pid};
    return census->count
               ? bsearch(&key, census->items, census->count, sizeof key, compare_census_pids)
               : NULL;
}

/* The first number of /proc/uptime, always with two decimals: "350735.47 234388.90". Below 0:
 * unknown. */
static double read_uptime(int proc)
{
    char text[64];
    uint64_t seconds, hundredths;
    ssize_t length = proc_read_at(proc, "uptime", text, sizeof text);
    size_t whole = length > 0 ? strcspn(text, ".") : 0;
    if (length < (ssize_t)whole + 3 || !proc_number_parse(text, whole, INT_MAX, &seconds) ||
        !proc_number_parse(text + whole + 1, 2, 99, &hundredths))
        return -1;
    return (double)seconds + (double)hundredths / 100;
}

static bool read_all_processes(const struct taker *taker, DIR *listing, struct census *out,
                               struct err *err)
{
    for (pid_t pid; (pid = proc_next_pid(listing));)
        add_census_process(taker, pid, out);
    return errno == 0 || err_sys(err, "read %s", taker->roots->proc);
}

bool census_take(const struct census_roots *roots, struct census *out, struct err *err)
{
    *out = (struct census){0};
    AUTO_DIR DIR *listing = fs_list(AT_FDCWD, roots->proc);
    if (!listing)
        return err_sys(err, "open %s", roots->proc);
    struct taker taker = {.roots = roots, .proc = dirfd(listing)};
    taker.uptime_s = read_uptime(taker.proc);
    taker.ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    bool complete = read_all_processes(&taker, listing, out, err);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_census_pids);
    return complete;
}

void census_fini(struct census *census)
{
    EACH (item, census->items, census->count)
        process_fini(item);
    free(census->items);
    *census = (struct census){0};
}

void census_own_tags(const struct census_roots *roots, struct strv *out)
{
    AUTO_CLOSE int proc = open(roots->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct taker taker = {.roots = roots, .proc = proc};
    struct census_process process = {.stat.ppid = getpid()};
    for (int i = 0; proc >= 0 && i < ANCESTORS_MAX && process.stat.ppid > 0; i++) {
        if (!proc_stat_read(proc, process.stat.ppid, &process.stat))
            break;
        read_process_tag(&taker, &process);
        if (process.tag && !strv_has(out, process.tag))
            strv_add(out, process.tag);
        free(steal_ptr(process.tag));
    }
}

static bool is_the_same(const struct census_roots *roots, const struct census_process *process)
{
    AUTO_CLOSE int proc = open(roots->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct census_process now = {0};
    if (proc < 0 || !proc_stat_read(proc, process->stat.pid, &now.stat) ||
        now.stat.start_time != process->stat.start_time)
        return false;
    if (!process->tag)
        return true;
    struct taker taker = {.roots = roots, .proc = proc};
    read_process_tag(&taker, &now);
    AUTO_FREE char *tag = now.tag;
    return tag && strcmp(tag, process->tag) == 0;
}

int census_hold(const struct census_roots *roots, const struct census_process *process,
                struct err *err)
{
    AUTO_CLOSE int pidfd = sys_pidfd_open(process->stat.pid);
    if (pidfd < 0) {
        err_sys(err, "process %d", (int)process->stat.pid);
        return -1;
    }
    if (!is_the_same(roots, process)) {
        err_set(err, "process %d is another one by now", (int)process->stat.pid);
        return -1;
    }
    return steal_fd(&pidfd);
}
