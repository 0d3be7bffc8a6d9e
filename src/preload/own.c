#include "preload/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The program may change its environment before it first allocates: what stood there when it started counts. */
static char ledger_words[4096], trace_path[4096];
_Atomic(struct own *) own_page;

static void keep_variable(const char *name, char *out, size_t size)
{
    const char *value = getenv(name);
    if (value && strlen(value) < size)
        strcpy(out, value);
}

static struct own *page_get(void)
{
    struct own *out = atomic_load_explicit(&own_page, memory_order_acquire);
    if (out)
        return out;
    struct own *fresh = wiped_map(sizeof *fresh), *none = NULL;
    if (!fresh)
        return NULL;
    if (atomic_compare_exchange_strong(&own_page, &none, fresh))
        return fresh;
    munmap(fresh, sizeof *fresh);
    return none;
}

/* Opening what is no memfd could do something to it. */
static bool is_ours(const char *path)
{
    static const char name[] = "/memfd:" GPU_LEDGER_NAME;
    char target[64];
    ssize_t length = readlink(path, target, sizeof target);
    return length >= (ssize_t)sizeof name - 1 && memcmp(target, name, sizeof name - 1) == 0;
}

/* What stands at that path is the ledger only if its length is fixed (no SIGBUS, ever) and its nonce is the one
 * told. */
static struct gpu_ledger *ledger_open(const char *path, const char *nonce)
{
    int fd = is_ours(path) ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    if (fd < 0)
        return NULL;
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat status;
    void *map = MAP_FAILED;
    if (seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &status) == 0 &&
        status.st_size >= (off_t)sizeof(struct gpu_ledger))
        map = mmap(NULL, sizeof(struct gpu_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return NULL;
    struct gpu_ledger *ledger = map;
    if (ledger->magic == GPU_LEDGER_MAGIC && ledger->version == GPU_LEDGER_VERSION &&
        memcmp(ledger->nonce, nonce, GPU_LEDGER_NONCE) == 0)
        return ledger;
    munmap(map, sizeof(struct gpu_ledger));
    return NULL;
}

/* pattern: "/proc/" "*" "/fd/N". Without opendir(3), which allocates. */
static struct gpu_ledger *ledger_seek(const char *pattern, const char *nonce)
{
    struct entry { /* getdents64(2) */
        uint64_t inode, offset;
        uint16_t length;
        uint8_t type;
        char name[];
    };
    _Alignas(8) char entries[4096];
    char path[64];
    struct gpu_ledger *found = NULL;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (ssize_t got; proc >= 0 && !found && (got = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < got && !found;) {
            const struct entry *entry = (const void *)(entries + at);
            at += entry->length;
            if (entry->name[0] < '1' || entry->name[0] > '9')
                continue;
            snprintf(path, sizeof path, "/proc/%.20s%.20s", entry->name, strchr(pattern, '*') + 1);
            found = ledger_open(path, nonce);
        }
    if (proc >= 0)
        close(proc);
    return found;
}

static struct gpu_ledger *ledger_find(void)
{
    char words[sizeof ledger_words], *rest = NULL;
    memcpy(words, ledger_words, sizeof words);
    const char *nonce = strtok_r(words, " ", &rest);
    if (!nonce || strlen(nonce) != GPU_LEDGER_NONCE)
        return NULL;
    for (const char *path; (path = strtok_r(NULL, ":", &rest));) {
        struct gpu_ledger *found = strchr(path, '*') ? ledger_seek(path, nonce) : ledger_open(path, nonce);
        if (found)
            return found;
    }
    return NULL;
}

/* Field 22 of /proc/PID/stat, counted after the last bracket: the command may hold any. state: its third field. */
static bool process_read(const char *path, uint64_t *start_time, char *state)
{
    char text[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    *state = at[2];
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return false;
    *start_time = strtoull(at + 1, NULL, 10);
    return true;
}

static uint64_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Only one of its own pid namespace can be judged by its number. */
static bool is_dead(const struct gpu_ledger_process *process, uint64_t namespace)
{
    if (process->pid_namespace != namespace)
        return false;
    char path[32], state = 0;
    uint64_t start_time = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process->pid);
    return !process_read(path, &start_time, &state) || start_time != process->start_time || state == 'Z' ||
           state == 'X';
}

static void subtract(_Atomic uint64_t *from, uint64_t bytes)
{
    atomic_fetch_sub_explicit(from, bytes, memory_order_relaxed);
}

/* One of several that see it takes its figures out of the totals. */
static void leave(struct gpu_ledger *ledger, struct gpu_ledger_process *process)
{
    uint32_t used = GPU_LEDGER_USED;
    if (!atomic_compare_exchange_strong(&process->state, &used, GPU_LEDGER_GONE))
        return;
    for (size_t gpu = 0; gpu < GPU_LEDGER_GPUS; gpu++) {
        subtract(&ledger->gpus[gpu].live, atomic_exchange(&process->gpus[gpu].live, 0));
        subtract(&ledger->gpus[gpu].held, atomic_exchange(&process->gpus[gpu].held, 0));
        subtract(&ledger->gpus[gpu].context, atomic_exchange(&process->gpus[gpu].context, 0));
    }
}

/* Places are taken from the first on. */
static size_t places_taken(const struct gpu_ledger *ledger)
{
    uint64_t attached = atomic_load(&ledger->attached);
    return attached < GPU_LEDGER_PROCESSES ? (size_t)attached : GPU_LEDGER_PROCESSES;
}

void own_reap(struct gpu_ledger *ledger)
{
    uint64_t namespace = pid_namespace();
    for (size_t i = 0; i < places_taken(ledger); i++)
        if (atomic_load(&ledger->processes[i].state) == GPU_LEDGER_USED && is_dead(&ledger->processes[i], namespace))
            leave(ledger, &ledger->processes[i]);
}

/* execve(2) leaves the process alive and its GPU memory not. */
static void leave_as_before_exec(struct gpu_ledger *ledger)
{
    uint64_t namespace = pid_namespace();
    for (size_t i = 0; i < places_taken(ledger); i++) {
        struct gpu_ledger_process *process = &ledger->processes[i];
        if (atomic_load(&process->state) == GPU_LEDGER_USED && process->pid == getpid() &&
            process->pid_namespace == namespace)
            leave(ledger, process);
    }
}

static struct gpu_ledger_process *place_take(struct gpu_ledger *ledger, uint32_t wanted)
{
    for (size_t i = 0; i < GPU_LEDGER_PROCESSES; i++) {
        uint32_t state = wanted;
        if (atomic_compare_exchange_strong(&ledger->processes[i].state, &state, GPU_LEDGER_TAKING))
            return &ledger->processes[i];
    }
    return NULL;
}

static void command_read(char out[GPU_LEDGER_COMMAND])
{
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, out, GPU_LEDGER_COMMAND - 1) : 0;
    if (fd >= 0)
        close(fd);
    out[length > 0 ? length - (out[length - 1] == '\n') : 0] = '\0';
}

/* A free one, else that of a process that is gone: its figures are lost then, the totals are not. */
static struct gpu_ledger_process *process_enter(struct gpu_ledger *ledger)
{
    struct gpu_ledger_process *place = place_take(ledger, GPU_LEDGER_FREE);
    if (!place) {
        own_reap(ledger);
        place = place_take(ledger, GPU_LEDGER_GONE);
    }
    atomic_fetch_add(&ledger->attached, 1);
    if (!place) {
        atomic_fetch_add(&ledger->unplaced, 1);
        return NULL;
    }
    char state;
    memset(place->gpus, 0, sizeof place->gpus);
    place->pid = getpid();
    place->pid_namespace = pid_namespace();
    if (!process_read("/proc/self/stat", &place->start_time, &state))
        place->start_time = 0;
    command_read(place->command);
    atomic_store_explicit(&place->state, GPU_LEDGER_USED, memory_order_release);
    return place;
}

__attribute__((constructor)) static void begin(void)
{
    keep_variable(GPU_LEDGER_VARIABLE, ledger_words, sizeof ledger_words);
    keep_variable(GPU_LEDGER_TRACE_VARIABLE, trace_path, sizeof trace_path);
    page_get();
    int kept = errno;
    struct gpu_ledger *ledger = ledger_words[0] ? ledger_find() : NULL;
    if (ledger) {
        leave_as_before_exec(ledger);
        munmap(ledger, sizeof *ledger);
    }
    errno = kept;
}

static void set_up(struct own *own)
{
    pthread_mutex_lock(&own->lock);
    if (!atomic_load(&own->ready)) {
        own->ledger = ledger_words[0] ? ledger_find() : NULL;
        if (own->ledger)
            own->process = process_enter(own->ledger);
        atomic_store_explicit(&own->ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&own->lock);
}

struct own *own_set_up(void)
{
    struct own *own = page_get();
    int kept = errno;
    if (own && !atomic_load_explicit(&own->ready, memory_order_acquire))
        set_up(own);
    errno = kept;
    return own && own->ledger ? own : NULL;
}

/* The holder is a few stores from its end, unless it lost its processor: then it needs this one. */
void own_wait(struct own *own)
{
    enum { TURNS = 100, NAP_NS = 50000 };
    for (unsigned turn = 0; atomic_flag_test_and_set_explicit(&own->books, memory_order_acquire); turn++) {
        if (turn < TURNS)
            continue;
        int kept = errno;
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        errno = kept;
    }
}

const char *own_trace_path(void)
{
    return trace_path;
}
