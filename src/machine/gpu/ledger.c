#include "machine/gpu/ledger.h"

#include "base/cleanup.h"
#include "base/gpu_ledger.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a context of a current GPU takes: assumed only where the driver lists no process by its own
 * number. */
static const uint64_t CONTEXT_ASSUMED = UINT64_C(512) << 20;

/* Programs use small numbers for files of their own. */
enum { FIRST_NUMBER = 100 };

struct ledger {
    struct gpu_ledger *table;
    struct gpu_limit limit;
    int fd;
    int proc;               /* the job's /proc; -1: not known */
    uint64_t pid_namespace; /* whose numbers are those there */
    char *library;
    char nonce[GPU_LEDGER_NONCE + 1];
};

bool gpu_limit_is_set(const struct gpu_limit *limit)
{
    return limit->bytes > 0 || limit->share > 0;
}

static bool read_elf_header(const char *path, Elf64_Ehdr *out, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "open %s", path);
    if (read(fd, out, sizeof *out) != (ssize_t)sizeof *out ||
        memcmp(out->e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, "%s is not a shared library", path);
    return true;
}

/* The dynamic loader would say it into the job's log, and go on without. */
static bool library_check(const char *path, struct err *err)
{
    Elf64_Ehdr own = {0}, its = {0};
    if (strpbrk(path, " :\t\n"))
        return err_set(
            err, "%s: the dynamic loader takes no library with a space or colon in its path", path);
    if (!read_elf_header("/proc/self/exe", &own, err) || !read_elf_header(path, &its, err))
        return false;
    if (its.e_type != ET_DYN || its.e_machine != own.e_machine ||
        its.e_ident[EI_CLASS] != own.e_ident[EI_CLASS])
        return err_set(err, "%s is not for this machine", path);
    return true;
}

static bool nonce_make(char out[GPU_LEDGER_NONCE + 1], struct err *err)
{
    unsigned char bytes[GPU_LEDGER_NONCE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(err, "getrandom");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool table_make(struct ledger *ledger, struct err *err)
{
    AUTO_CLOSE int fd = memfd_create(GPU_LEDGER_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_sys(err, "make the table of GPU memory");
    ledger->fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_NUMBER);
    /* there are no such numbers under a low limit of open files; any other will do */
    if (ledger->fd < 0)
        ledger->fd = steal_fd(&fd);
    if (ftruncate(ledger->fd, sizeof *ledger->table) != 0 ||
        fcntl(ledger->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return err_sys(err, "make the table of GPU memory");
    void *map =
        mmap(NULL, sizeof *ledger->table, PROT_READ | PROT_WRITE, MAP_SHARED, ledger->fd, 0);
    if (map == MAP_FAILED)
        return err_sys(err, "map the table of GPU memory");
    ledger->table = map;
    return nonce_make(ledger->nonce, err);
}

static void table_fill(struct ledger *ledger)
{
    struct gpu_ledger *table = ledger->table;
    table->magic = GPU_LEDGER_MAGIC;
    table->version = GPU_LEDGER_VERSION;
    table->size = sizeof *table;
    memcpy(table->nonce, ledger->nonce, GPU_LEDGER_NONCE);
    table->limit = ledger->limit.bytes;
    table->limit_share = (uint64_t)(ledger->limit.share * GPU_LEDGER_WHOLE + 0.5);
    table->context_assumed = CONTEXT_ASSUMED;
}

struct ledger *ledger_new(const char *library, const struct gpu_limit *limit, struct err *err)
{
    struct ledger *ledger = mem_alloc(sizeof *ledger);
    ledger->fd = ledger->proc = -1;
    ledger->limit = *limit;
    ledger->library = mem_strdup(library);
    if (!library_check(library, err) || !table_make(ledger, err)) {
        ledger_free(ledger);
        return NULL;
    }
    table_fill(ledger);
    return ledger;
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    if (ledger->table)
        munmap(ledger->table, sizeof *ledger->table);
    cleanup_close(&ledger->fd);
    cleanup_close(&ledger->proc);
    free(ledger->library);
    free(ledger);
}

int ledger_fd(const struct ledger *ledger)
{
    return ledger->fd;
}

/* By path, not by number: programs close descriptors that they do not know before they start
 * others. In a pid namespace the job's init holds it, and is number 1; without one this process
 * does. Whom neither lets look takes it from any process of the job that has kept it. */
/* AddressSanitizer refuses to begin behind a preloaded library, for the order of the two; ours
 * replaces nothing of its. */
static void allow_preload(struct strv *environment)
{
    static const char name[] = "ASAN_OPTIONS", option[] = "verify_asan_link_order";
    const char *before = strv_env_get(environment, name);
    if (before && strstr(before, option))
        return;
    AUTO_FREE char *options =
        mem_printf("%s%s%s=0", before ? before : "", before && *before ? ":" : "", option);
    strv_env_set(environment, name, options);
}

void ledger_tell_job(const struct ledger *ledger, const char *trace, struct strv *environment)
{
    const char *before = strv_env_get(environment, "LD_PRELOAD");
    AUTO_FREE char *preload = before && *before ? mem_printf("%s:%s", before, ledger->library)
                                                : mem_strdup(ledger->library);
    AUTO_FREE char *place =
        mem_printf("%s /proc/self/fd/%d:/proc/1/fd/%d:/proc/%d/fd/%d:/proc/*/fd/%d", ledger->nonce,
                   ledger->fd, ledger->fd, (int)getpid(), ledger->fd, ledger->fd);
    strv_env_set(environment, "LD_PRELOAD", preload);
    allow_preload(environment);
    strv_env_set(environment, GPU_LEDGER_VARIABLE, place);
    strv_env_set(environment, GPU_LEDGER_TRACE_VARIABLE, trace ? trace : "");
}

void ledger_watch(struct ledger *ledger, pid_t init)
{
    char path[64];
    struct stat status;
    cleanup_close(&ledger->proc);
    snprintf(path, sizeof path, "/proc/%d/root/proc", (int)init);
    ledger->proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)init);
    ledger->pid_namespace = stat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static uint64_t load_ledger_figure(const _Atomic uint64_t *place)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)place, memory_order_relaxed);
}

static bool gpu_used(const struct gpu_ledger_gpu *gpu)
{
    return atomic_load((_Atomic uint32_t *)(uintptr_t)&gpu->state) == GPU_LEDGER_USED;
}

void ledger_read(const struct ledger *ledger, struct ledger_sum *out)
{
    const struct gpu_ledger *table = ledger->table;
    *out = (struct ledger_sum){.attached = load_ledger_figure(&table->attached),
                               .unplaced = load_ledger_figure(&table->unplaced)};
    EACH (gpu, table->gpus, GPU_LEDGER_GPUS) {
        if (!gpu_used(gpu))
            continue;
        out->refused += load_ledger_figure(&gpu->refused);
        out->live_peak = load_ledger_figure(&gpu->live_peak) > out->live_peak
                             ? load_ledger_figure(&gpu->live_peak)
                             : out->live_peak;
        out->over =
            load_ledger_figure(&gpu->over) > out->over ? load_ledger_figure(&gpu->over) : out->over;
        out->context_assumed |= gpu->context_how == GPU_LEDGER_CONTEXT_ASSUMED;
    }
}

static json_t *count_json(uint64_t count)
{
    return json_integer(count > INT64_MAX ? INT64_MAX : (json_int_t)count);
}

static void uuid_add(const uint8_t uuid[16], struct text *out)
{
    text_add(out, "GPU");
    for (size_t i = 0; i < 16; i++)
        text_addf(out, i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static json_t *uuid_json(const uint8_t uuid[16])
{
    AUTO_TEXT struct text text = {0};
    uuid_add(uuid, &text);
    return json_string(text_get(&text));
}

/* Rows are taken from the first on. GPU_LEDGER_GPUS: none is that GPU's. */
static size_t row_find(const struct gpu_ledger *table, const char *uuid)
{
    size_t place = 0;
    for (; place < GPU_LEDGER_GPUS && gpu_used(&table->gpus[place]); place++) {
        AUTO_TEXT struct text text = {0};
        uuid_add(table->gpus[place].uuid, &text);
        if (strcmp(text_get(&text), uuid) == 0)
            return place;
    }
    return GPU_LEDGER_GPUS;
}

/* Processes whose state is unknown count as alive. */
static bool has_process_ended(const struct ledger *ledger, const struct gpu_ledger_process *process)
{
    char name[16];
    struct stat status;
    snprintf(name, sizeof name, "%d", process->pid);
    return ledger->proc >= 0 && ledger->pid_namespace &&
           process->pid_namespace == ledger->pid_namespace && process->pid > 0 &&
           fstatat(ledger->proc, name, &status, 0) != 0 && errno == ENOENT;
}

bool ledger_look(const struct ledger *ledger, const char *uuid, struct ledger_gpu *out)
{
    const struct gpu_ledger *table = ledger->table;
    size_t place = row_find(table, uuid);
    if (place == GPU_LEDGER_GPUS)
        return false;
    const struct gpu_ledger_gpu *gpu = &table->gpus[place];
    *out = (struct ledger_gpu){.held = load_ledger_figure(&gpu->held),
                               .sum_peak = load_ledger_figure(&gpu->held_peak)};
    EACH (process, table->processes, GPU_LEDGER_PROCESSES) {
        const struct gpu_ledger_use *use = &process->gpus[place];
        uint64_t peak = load_ledger_figure(&use->held_peak), held = load_ledger_figure(&use->held);
        out->processes += peak > 0;
        out->peak = peak > out->peak ? peak : out->peak;
        /* Nobody of the job has asked for anything since it ended, or else it had left. */
        if (held > 0 && process->state == GPU_LEDGER_USED && has_process_ended(ledger, process))
            out->held -= held < out->held ? held : out->held;
    }
    out->sum_peak = out->sum_peak > out->peak ? out->sum_peak : out->peak;
    return true;
}

static json_t *none_or_count(uint64_t count)
{
    return count ? count_json(count) : json_null();
}

static json_t *ledger_gpu_json(const struct gpu_ledger_gpu *gpu)
{
    static const char *const how[] = {
        [GPU_LEDGER_CONTEXT_READ] = "driver", [GPU_LEDGER_CONTEXT_ASSUMED] = "assumed"};
    uint32_t context_how = gpu->context_how;
    bool known =
        context_how == GPU_LEDGER_CONTEXT_READ || context_how == GPU_LEDGER_CONTEXT_ASSUMED;
    json_t *out = json_object();
    json_object_set_new(out, "uuid", uuid_json(gpu->uuid));
    json_object_set_new(out, "total_bytes", count_json(gpu->total));
    json_object_set_new(out, "limit_bytes", none_or_count(gpu->limit));
    json_object_set_new(out, "live_bytes", count_json(load_ledger_figure(&gpu->live)));
    json_object_set_new(out, "live_peak_bytes", count_json(load_ledger_figure(&gpu->live_peak)));
    json_object_set_new(out, "held_bytes", count_json(load_ledger_figure(&gpu->held)));
    json_object_set_new(out, "held_peak_bytes", count_json(load_ledger_figure(&gpu->held_peak)));
    json_object_set_new(out, "context_bytes",
                        known ? count_json(load_ledger_figure(&gpu->context)) : json_null());
    json_object_set_new(out, "context_source", known ? json_string(how[context_how]) : json_null());
    json_object_set_new(out, "footprint_peak_bytes",
                        count_json(load_ledger_figure(&gpu->footprint_peak)));
    json_object_set_new(out, "over_limit_bytes", count_json(load_ledger_figure(&gpu->over)));
    json_object_set_new(out, "refused", count_json(load_ledger_figure(&gpu->refused)));
    json_object_set_new(out, "refused_least_bytes",
                        none_or_count(load_ledger_figure(&gpu->refused_least)));
    json_object_set_new(out, "refused_most_bytes",
                        none_or_count(load_ledger_figure(&gpu->refused_most)));
    json_object_set_new(out, "driver_refused",
                        count_json(load_ledger_figure(&gpu->driver_refused)));
    json_object_set_new(out, "driver_refused_most_bytes",
                        none_or_count(load_ledger_figure(&gpu->driver_refused_most)));
    return out;
}

static json_t *gpu_use_json(const struct gpu_ledger_gpu *gpu, const struct gpu_ledger_use *use,
                            uint64_t refused)
{
    json_t *out = json_object();
    json_object_set_new(out, "uuid", uuid_json(gpu->uuid));
    json_object_set_new(out, "live_bytes", count_json(load_ledger_figure(&use->live)));
    json_object_set_new(out, "live_peak_bytes", count_json(load_ledger_figure(&use->live_peak)));
    json_object_set_new(out, "held_bytes", count_json(load_ledger_figure(&use->held)));
    json_object_set_new(out, "held_peak_bytes", count_json(load_ledger_figure(&use->held_peak)));
    json_object_set_new(out, "context_bytes", count_json(load_ledger_figure(&use->context)));
    json_object_set_new(out, "allocations", count_json(load_ledger_figure(&use->allocations)));
    json_object_set_new(out, "frees", count_json(load_ledger_figure(&use->frees)));
    json_object_set_new(out, "refused", count_json(refused));
    return out;
}

static json_t *ledger_command_json(const char command[GPU_LEDGER_COMMAND])
{
    char text[GPU_LEDGER_COMMAND + 1] = {0};
    memcpy(text, command, GPU_LEDGER_COMMAND);
    utf8_make_printable(text, "");
    return json_string(text);
}

static json_t *ledger_process_json(const struct gpu_ledger *table,
                                   const struct gpu_ledger_process *process)
{
    json_t *gpus = json_array();
    for (size_t i = 0; i < GPU_LEDGER_GPUS; i++)
        if (gpu_used(&table->gpus[i]) && (load_ledger_figure(&process->gpus[i].allocations) ||
                                          load_ledger_figure(&process->refused[i])))
            json_array_append_new(gpus, gpu_use_json(&table->gpus[i], &process->gpus[i],
                                                     load_ledger_figure(&process->refused[i])));
    return json_pack("{s:o, s:o, s:o}", "pid", json_integer(process->pid), "command",
                     ledger_command_json(process->command), "gpus", gpus);
}

json_t *ledger_json(const struct ledger *ledger)
{
    const struct gpu_ledger *table = ledger->table;
    json_t *gpus = json_array(), *processes = json_array();
    EACH (gpu, table->gpus, GPU_LEDGER_GPUS)
        if (gpu_used(gpu))
            json_array_append_new(gpus, ledger_gpu_json(gpu));
    EACH (process, table->processes, GPU_LEDGER_PROCESSES) {
        uint32_t state = process->state;
        if (state == GPU_LEDGER_USED || state == GPU_LEDGER_GONE)
            json_array_append_new(processes, ledger_process_json(table, process));
    }
    const struct gpu_limit *limit = &ledger->limit;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "limit_bytes", none_or_count(limit->bytes),
                     "limit_share", limit->share > 0 ? json_finite(limit->share) : json_null(),
                     "followed_processes", count_json(load_ledger_figure(&table->attached)), "gpus",
                     gpus, "processes", processes);
}
