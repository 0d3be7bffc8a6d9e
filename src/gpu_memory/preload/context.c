#include "gpu_memory/preload/context.h"
#include "base/mem.h"
#include "gpu_memory/preload/driver.h"
#include "gpu_memory/preload/ledger_gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* NVML API Reference Guide: nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v2 and _v3
 * fill it. */
struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
typedef void *nvml_device;

struct nvml {
    int (*init)(void);
    int (*by_uuid)(const char *uuid, nvml_device *out);
    int (*processes)(nvml_device device, unsigned *count, struct nvml_process *out);
};

enum { NVML_OK = 0, PROCESSES_MAX = 128 };
static const uint64_t UNREAD = UINT64_C(64) << 20;
static const int64_t NS_PER_MS = 1000000;
/* The driver answers in about 0.1 ms: at most a tenth of a per cent of the time goes there, more
 * often near the limit. */
static const int64_t SELDOM_NS = 200 * NS_PER_MS, OFTEN_NS = 20 * NS_PER_MS,
                     EXACTLY_NS = 2 * NS_PER_MS;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

static bool nvml_open(struct nvml *out)
{
    dlsym_fn *find = real_dlsym();
    void *library = find ? dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (!library) {
        dlerror();
        return false;
    }
    out->init = (int (*)(void))find(library, "nvmlInit_v2");
    out->by_uuid = (int (*)(const char *, nvml_device *))find(library, "nvmlDeviceGetHandleByUUID");
    void *processes = find(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    processes = processes ? processes : find(library, "nvmlDeviceGetComputeRunningProcesses_v2");
    out->processes = (int (*)(nvml_device, unsigned *, struct nvml_process *))processes;
    dlerror();
    return out->init && out->by_uuid && out->processes && out->init() == NVML_OK;
}

/* Only the thread that holds state->reading comes here; a child of a fork opens anew (nvmlInit
 * counts). */
static const struct nvml *nvml_get(void)
{
    static struct nvml nvml;
    static pid_t opened_by;
    static bool good;
    pid_t self = getpid();
    if (opened_by != self) {
        opened_by = self;
        good = nvml_open(&nvml);
    }
    return good ? &nvml : NULL;
}

static void uuid_text(const uint8_t uuid[16], char out[48])
{
    int at = snprintf(out, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        at += snprintf(out + at, (size_t)(48 - at),
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static bool nvml_own_bytes(const struct gpu_ledger_gpu *row, uint64_t *out)
{
    const struct nvml *nvml = nvml_get();
    char uuid[48];
    nvml_device device;
    struct nvml_process processes[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    uuid_text(row->uuid, uuid);
    if (!nvml || nvml->by_uuid(uuid, &device) != NVML_OK ||
        nvml->processes(device, &count, processes) != NVML_OK)
        return false;
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++)
        if ((pid_t)processes[i].pid == getpid() && processes[i].used != ~0ULL) {
            *out = processes[i].used;
            return true;
        }
    return false;
}

struct moment {
    uint64_t held /* and reserved for what is on its way */, calls_under_way, calls_begun;
};

static struct moment moment_now(struct process_state *state, int gpu)
{
    STATE_LOCKED(state);
    const struct gpu_ledger_use *use = &state->uses[gpu];
    uint64_t contexts =
        saturating_add(atomic_load(&use->context), atomic_load(&state->context_reserved[gpu]));
    uint64_t reserved = atomic_load(&use->reserved);
    return (struct moment){reserved > contexts ? reserved - contexts : 0, state->calls_under_way,
                           state->calls_begun};
}

/* A context grows by some MiB when the driver needs tables for more memory, or a kernel: between
 * two looks it may do so without going beyond the limit, as far as there is room. known: its size
 * so far. */
static uint64_t room_to_grow(const struct gpu_ledger_gpu *row, uint64_t known, uint64_t context)
{
    static const uint64_t ROOM = UINT64_C(8) << 20;
    uint64_t reserved = atomic_load(&row->reserved),
             others = reserved > known ? reserved - known : 0;
    uint64_t used = saturating_add(others, context),
             left = used < row->limit ? row->limit - used : 0;
    return left < ROOM ? left : ROOM;
}

/* A pending request makes the driver's figure seem too small (room for it is reserved first and
 * returned last), never too large: a larger figure is always accepted, a smaller one only if no
 * request is pending. reserved: for the context that exists now. False: no new figure. */
static bool sample_context(struct process_state *state, int gpu, enum context_when when,
                           uint64_t reserved)
{
    const struct gpu_ledger_gpu *row = &state->ledger->gpus[gpu];
    struct moment before = moment_now(state, gpu);
    uint64_t used = 0;
    bool told = nvml_own_bytes(row, &used);
    struct moment after = moment_now(state, gpu);
    uint64_t held = after.held;
    uint64_t known = atomic_load(&state->uses[gpu].context);
    /* or a figure of another process of that number, in another namespace */
    if (!told || used < held / 2) {
        if (!state->context_read[gpu])
            ledger_context_set(gpu, state->ledger->context_assumed, GPU_LEDGER_CONTEXT_ASSUMED,
                               reserved);
        return !state->context_read[gpu];
    }
    state->context_read[gpu] = true;
    bool same = held == before.held;
    bool quiet = same && before.calls_under_way == 0 && after.calls_begun == before.calls_begun;
    uint64_t context = used > held ? used - held : 0;
    bool learnt = (same && context > known) || (quiet && when == CONTEXT_EXACTLY);
    if (learnt)
        ledger_context_set(gpu, context + room_to_grow(row, known + reserved, context),
                           GPU_LEDGER_CONTEXT_READ, reserved);
    return learnt;
}

static bool is_due(const struct process_state *state, int gpu, enum context_when when)
{
    const struct gpu_ledger_gpu *row = &state->ledger->gpus[gpu];
    int64_t last = atomic_load_explicit(&state->context_read_ns[gpu], memory_order_relaxed);
    bool near = ledger_headroom(state, gpu) < row->limit / 4;
    int64_t pause = when == CONTEXT_EXACTLY ? EXACTLY_NS : near ? OFTEN_NS : SELDOM_NS;
    return last == 0 || now_ns() - last >= pause;
}

static bool sample_context_if_due(int gpu, enum context_when when, uint64_t reserved)
{
    struct process_state *state = process_state_get();
    if ((!reserved && !is_due(state, gpu, when)) || atomic_flag_test_and_set(&state->reading))
        return false;
    int kept = errno;
    bool learnt = sample_context(state, gpu, when, reserved);
    atomic_store(&state->context_read_ns[gpu], now_ns());
    atomic_flag_clear(&state->reading);
    errno = kept;
    return learnt;
}

/* One that is being made is read by whoever makes it. */
void context_look(int gpu, enum context_when when)
{
    if (!atomic_load(&process_state_get()->context_reserved[gpu]))
        sample_context_if_due(gpu, when, 0);
}

/* The largest context of the job's processes on that GPU, as far as the driver has reported it;
 * else an assumed size plus a margin, because other processes may take the rest until the context
 * can be read. */
static uint64_t expected_context_bytes(const struct process_state *state, int gpu)
{
    uint64_t most = 0;
    EACH (process, state->ledger->processes, GPU_LEDGER_PROCESSES) {
        uint64_t context =
            atomic_load_explicit(&process->state, memory_order_relaxed) == GPU_LEDGER_FREE
                ? 0
                : atomic_load_explicit(&process->gpus[gpu].context, memory_order_relaxed);
        most = context > most ? context : most;
    }
    return most ? most : state->ledger->context_assumed + UNREAD;
}

/* With state->lock held: of several threads that make the process's first context, one takes the
 * room for it. */
static bool reserve_room(struct process_state *state, int gpu, uint64_t *taken)
{
    if (atomic_load(&state->uses[gpu].context) > 0 ||
        atomic_load(&state->context_reserved[gpu]) > 0)
        return true;
    uint64_t bytes = expected_context_bytes(state, gpu);
    if (!ledger_context_reserve(gpu, bytes))
        return false;
    *taken = bytes;
    return true;
}

/* A context is about to be made: takes room for it, as much as others of the job have. False: there
 * is none; nothing is to be done then. Afterwards, whether it was made: it is read. */
static bool context_begin(int gpu, uint64_t *taken)
{
    struct process_state *state = process_state_get();
    *taken = 0;
    if (!state->ledger->gpus[gpu].limit)
        return true;
    pthread_mutex_lock(&state->lock);
    bool room = reserve_room(state, gpu, taken);
    pthread_mutex_unlock(&state->lock);
    return room;
}

static void context_made(int gpu, uint64_t taken, bool good)
{
    struct process_state *state = process_state_get();
    if (!state->ledger->gpus[gpu].limit)
        return;
    if (!taken && good)
        context_look(gpu, CONTEXT_EXACTLY);
    else if (taken && !good)
        ledger_context_set(gpu, atomic_load(&state->uses[gpu].context), GPU_LEDGER_CONTEXT_NONE,
                           taken);
    else if (taken && !sample_context_if_due(gpu, CONTEXT_EXACTLY, taken))
        ledger_context_set(gpu, taken, GPU_LEDGER_CONTEXT_ASSUMED, taken);
}

static void context_gone(const void *context)
{
    ledger_forget();
    ledger_context_gone(context);
}

AFTER(cuCtxDestroy_v2, (cu_context context), (context), context_gone(context))
AFTER(cuCtxDestroy, (cu_context context), (context), context_gone(context))

static struct gpu_state *gpu_state(cu_device device)
{
    struct process_state *state = process_state_get();
    return state && device >= 0 && device < STATE_GPUS ? &state->gpus[device] : NULL;
}

static bool is_active(cu_device device)
{
    unsigned flags;
    int active = 0;
    return REAL(cuDevicePrimaryCtxGetState) &&
           REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* Each ABI of cuCtxCreate has its own parameters; the device is the last of all. */
#define CREATE(name, parameters, arguments)                     \
    cu_result name parameters                                   \
    {                                                           \
        NEED(name);                                             \
        uint64_t taken = 0;                                     \
        int place = ledger_gpu(device);                         \
        if (place >= 0 && !context_begin(place, &taken))        \
            return CUDA_ERROR_OUT_OF_MEMORY;                    \
        cu_result result = real arguments;                      \
        if (place >= 0)                                         \
            context_made(place, taken, result == CUDA_SUCCESS); \
        return result;                                          \
    }

CREATE(cuCtxCreate, (cu_context * out, unsigned flags, cu_device device), (out, flags, device))
CREATE(cuCtxCreate_v2, (cu_context * out, unsigned flags, cu_device device), (out, flags, device))
CREATE(cuCtxCreate_v3,
       (cu_context * out, void *affinities, int count, unsigned flags, cu_device device),
       (out, affinities, count, flags, device))
CREATE(cuCtxCreate_v4, (cu_context * out, void *options, unsigned flags, cu_device device),
       (out, options, flags, device))

cu_result cuDevicePrimaryCtxRetain(cu_context *out, cu_device device)
{
    NEED(cuDevicePrimaryCtxRetain);
    int place = ledger_gpu(device);
    bool fresh = place >= 0 && !is_active(device);
    uint64_t taken = 0;
    if (fresh && !context_begin(place, &taken))
        return CUDA_ERROR_OUT_OF_MEMORY;
    cu_result result = real(out, device);
    if (fresh)
        context_made(place, taken, result == CUDA_SUCCESS);
    struct gpu_state *gpu = result == CUDA_SUCCESS ? gpu_state(device) : NULL;
    if (gpu)
        gpu->primary = *out;
    return result;
}

static void primary_gone(cu_device device)
{
    const struct gpu_state *gpu = gpu_state(device);
    context_gone(gpu ? gpu->primary : NULL);
}

/* The last one to release it ends it. */
static void primary_released(cu_device device)
{
    if (!is_active(device))
        primary_gone(device);
}

AFTER(cuDevicePrimaryCtxRelease, (cu_device device), (device), primary_released(device))
AFTER(cuDevicePrimaryCtxRelease_v2, (cu_device device), (device), primary_released(device))
AFTER(cuDevicePrimaryCtxReset, (cu_device device), (device), primary_gone(device))
AFTER(cuDevicePrimaryCtxReset_v2, (cu_device device), (device), primary_gone(device))
