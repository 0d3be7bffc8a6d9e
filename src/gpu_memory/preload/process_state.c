#include "gpu_memory/preload/process_state.h"

#include "base/mem.h"
#include "gpu_memory/preload/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The program may change its environment before it first allocates: what was in it when it started
 * counts. */
static char ledger_words[4096], trace_path[4096];
/* As found when the program started, for its forked children too: later it may have no descriptor
 * left to open it. */
static struct gpu_ledger *ledger_mapped;
_Atomic(struct process_state *) process_state_page;

static void keep_variable(const char *name, char *out, size_t size)
{
    const char *value = getenv(name);
    if (value && strlen(value) < size)
        strcpy(out, value);
}

static struct process_state *page_get(void)
{
    struct process_state *out = atomic_load_explicit(&process_state_page, memory_order_acquire);
    if (out)
        return out;
    struct process_state *fresh = pointers_wiped_map(sizeof *fresh), *none = NULL;
    if (!fresh)
        return NULL;
    if (atomic_compare_exchange_strong(&process_state_page, &none, fresh))
        return fresh;
    munmap(fresh, sizeof *fresh);
    return none;
}

/* Opening another kind of file could have side effects. */
static bool is_ledger_memfd(const char *path)
{
    static const char name[] = "/memfd:" GPU_LEDGER_NAME;
    char target[64];
    ssize_t length = readlink(path, target, sizeof target);
    return length >= (ssize_t)sizeof name - 1 && memcmp(target, name, sizeof name - 1) == 0;
}

/* What is at that path is the ledger only if its length is fixed (no SIGBUS, ever) and its nonce is
 * the one told. */
static struct gpu_ledger *ledger_open(const char *path, const char *nonce)
{
    int fd = is_ledger_memfd(path) ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
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
    for (ssize_t got;
         proc >= 0 && !found && (got = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0;)
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
        struct gpu_ledger *found =
            strchr(path, '*') ? ledger_seek(path, nonce) : ledger_open(path, nonce);
        if (found)
            return found;
    }
    return NULL;
}

static uint64_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Clock ticks, as /proc tells when a process began. */
static uint64_t ticks_after_boot(void)
{
    struct timespec now;
    uint64_t each_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) / each_ns;
}

struct process_stat {
    char state;
    uint64_t threads, start_ticks;
};

/* /proc/PID/stat: fields 3, 20 and 22, counted after the last bracket: the command may hold any.
 * False: it cannot be told (no descriptor is left, it is hidden, it is gone now). */
static bool stat_read(pid_t pid, struct process_stat *out)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    out->state = at[2];
    for (int field = 2; at; at = strchr(at + 1, ' '), field++) {
        if (field == 20)
            out->threads = strtoull(at + 1, NULL, 10);
        if (field == 22) {
            out->start_ticks = strtoull(at + 1, NULL, 10);
            return true;
        }
    }
    return false;
}

/* /proc may be another pid namespace's: then its numbers are others' too. */
static bool proc_is_ours(void)
{
    char text[16], self[16];
    ssize_t length = readlink("/proc/self", text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    snprintf(self, sizeof self, "%d", (int)getpid());
    return strcmp(text, self) == 0;
}

/* Dead is only of whom the kernel says so: there is none of that number, or one that began after
 * the place was taken, or one that only waits for its parent. (While other threads run, a leader
 * that has ended looks the same but for their number.) Whoever cannot be judged lives: what is
 * counted wrongly is counted too high, and no limit is passed. */
static bool is_dead(const struct gpu_ledger_process *process, uint64_t namespace)
{
    struct process_stat stat;
    if (namespace == 0 || process->pid_namespace != namespace)
        return false;
    if (kill(process->pid, 0) != 0 && errno == ESRCH)
        return true;
    if (!proc_is_ours() || !stat_read(process->pid, &stat))
        return false;
    bool waits = (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
    return waits || stat.start_ticks > process->since_ticks;
}

/* One of several that see it takes its figures out of the totals. While they stood there another
 * may have got the place. */
static void remove_process(struct gpu_ledger *ledger, struct gpu_ledger_process *process,
                           int32_t pid, uint64_t since_ticks)
{
    uint32_t used = GPU_LEDGER_USED;
    if (!atomic_compare_exchange_strong(&process->state, &used, GPU_LEDGER_TAKING))
        return;
    bool same = process->pid == pid && process->since_ticks == since_ticks;
    if (same)
        ledger_remove_process(ledger, process);
    atomic_store_explicit(&process->state, same ? GPU_LEDGER_GONE : GPU_LEDGER_USED,
                          memory_order_release);
}

/* Places are taken from the first on. */
static size_t count_attached(const struct gpu_ledger *ledger)
{
    uint64_t attached = atomic_load(&ledger->attached);
    return attached < GPU_LEDGER_PROCESSES ? (size_t)attached : GPU_LEDGER_PROCESSES;
}

static bool has_some(const struct gpu_ledger_process *process, int gpu)
{
    const struct gpu_ledger_use *use = &process->gpus[gpu < 0 ? 0 : gpu];
    return gpu < 0 || atomic_load(&use->live) || atomic_load(&use->held) ||
           atomic_load(&use->context) || atomic_load(&use->reserved);
}

void process_state_reap(struct process_state *state, int gpu)
{
    struct gpu_ledger *ledger = state->ledger;
    int kept = errno;
    uint64_t namespace = pid_namespace();
    for (size_t i = 0; i < count_attached(ledger); i++) {
        struct gpu_ledger_process *process = &ledger->processes[i];
        int32_t pid = process->pid;
        uint64_t since_ticks = process->since_ticks;
        if (process != state->place && atomic_load(&process->state) == GPU_LEDGER_USED &&
            has_some(process, gpu) && is_dead(process, namespace))
            remove_process(ledger, process, pid, since_ticks);
    }
    errno = kept;
}

/* execve(2) leaves the process alive and its GPU memory not. */
static void remove_self_before_exec(struct gpu_ledger *ledger)
{
    uint64_t namespace = pid_namespace();
    for (size_t i = 0; i < count_attached(ledger); i++) {
        struct gpu_ledger_process *process = &ledger->processes[i];
        if (atomic_load(&process->state) == GPU_LEDGER_USED && process->pid == getpid() &&
            process->pid_namespace == namespace)
            remove_process(ledger, process, process->pid, process->since_ticks);
    }
}

static struct gpu_ledger_process *place_claim(struct gpu_ledger *ledger, uint32_t wanted)
{
    EACH (process, ledger->processes, GPU_LEDGER_PROCESSES) {
        uint32_t found = wanted;
        if (atomic_compare_exchange_strong(&process->state, &found, GPU_LEDGER_TAKING))
            return process;
    }
    return NULL;
}

/* The process's name, else the thread's. */
static void command_read(char out[GPU_LEDGER_COMMAND])
{
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, out, GPU_LEDGER_COMMAND - 1) : 0;
    if (fd >= 0)
        close(fd);
    out[length > 0 ? length - (out[length - 1] == '\n') : 0] = '\0';
    if (fd < 0)
        prctl(PR_GET_NAME, out);
}

/* A free one, else that of a process that is gone: its figures are lost then, the totals are
 * not. */
static struct gpu_ledger_process *place_find(struct gpu_ledger *ledger)
{
    struct gpu_ledger_process *place = place_claim(ledger, GPU_LEDGER_FREE);
    place = place ? place : place_claim(ledger, GPU_LEDGER_GONE);
    atomic_fetch_add(&ledger->attached, 1);
    if (!place) {
        atomic_fetch_add(&ledger->unplaced, 1);
        return NULL;
    }
    memset(place->gpus, 0, sizeof place->gpus);
    memset(place->refused, 0, sizeof place->refused);
    place->pid = getpid();
    place->pid_namespace = pid_namespace();
    place->since_ticks = ticks_after_boot();
    command_read(place->command);
    atomic_store_explicit(&place->state, GPU_LEDGER_USED, memory_order_release);
    return place;
}

__attribute__((constructor)) static void set_up_process_state(void)
{
    keep_variable(GPU_LEDGER_VARIABLE, ledger_words, sizeof ledger_words);
    keep_variable(GPU_LEDGER_TRACE_VARIABLE, trace_path, sizeof trace_path);
    page_get();
    int kept = errno;
    ledger_mapped = ledger_words[0] ? ledger_find() : NULL;
    if (ledger_mapped)
        remove_self_before_exec(ledger_mapped);
    errno = kept;
}

/* Those that ended before this process came leave first. */
static void set_up(struct process_state *state)
{
    pthread_mutex_lock(&state->lock);
    if (!atomic_load(&state->ready)) {
        state->ledger = ledger_mapped ? ledger_mapped : ledger_words[0] ? ledger_find() : NULL;
        if (state->ledger) {
            process_state_reap(state, -1);
            state->place = place_find(state->ledger);
            state->uses = state->place ? state->place->gpus : state->unplaced;
        }
        atomic_store_explicit(&state->ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&state->lock);
}

struct process_state *process_state_set_up(void)
{
    struct process_state *state = page_get();
    int kept = errno;
    if (state && !atomic_load_explicit(&state->ready, memory_order_acquire))
        set_up(state);
    errno = kept;
    return state && state->ledger ? state : NULL;
}

/* The holder is a few stores from its end, unless it lost its processor: then it needs this one. */
void process_state_wait(struct process_state *state)
{
    enum { TURNS = 100, NAP_NS = 50000 };
    for (unsigned turn = 0; atomic_flag_test_and_set_explicit(&state->spin, memory_order_acquire);
         turn++) {
        if (turn < TURNS)
            continue;
        int kept = errno;
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        errno = kept;
    }
}

/* Opens the file each time: a program may close a descriptor that it does not know and reuse its
 * number. */
static void append_trace_event(const char *path, const struct gpu_ledger_event *event)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return;
    ssize_t written = write(fd, event, sizeof *event);
    (void)written;
    close(fd);
}

void trace_event(enum gpu_ledger_event_kind kind, int gpu, int how, uint64_t address,
                 uint64_t bytes)
{
    if (!trace_path[0])
        return;
    int kept = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    append_trace_event(trace_path,
                       &(struct gpu_ledger_event){
                           .time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                           .address = address,
                           .bytes = bytes,
                           .pid = getpid(),
                           .kind = (uint8_t)kind,
                           .gpu = (uint8_t)gpu,
                           .how = (uint16_t)how,
                       });
    errno = kept;
}
