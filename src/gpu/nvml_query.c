#include "gpu/nvml_query.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* nvml.h of the driver's API. */
enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7, UUID_SIZE = 80 };
typedef int nvml_return;
typedef void *nvml_device;

/* nvmlProcessInfo_t of the calls _v2 and _v3. */
struct process_info {
    unsigned pid;
    unsigned long long used_memory; /* all bits set: not available */
    unsigned gpu_instance, compute_instance;
};

/* A GPU has room for a few hundred contexts; the library is asked again with more while it says there are more. */
enum { PROCESSES_FIRST = 256, PROCESSES_MAX = 65536, GPUS_MAX = 1024 };

typedef nvml_return processes_fn(nvml_device, unsigned *, struct process_info *);

struct nvml {
    nvml_return (*init)(void);
    nvml_return (*count)(unsigned *);
    nvml_return (*handle)(unsigned, nvml_device *);
    nvml_return (*uuid)(nvml_device, char *, unsigned);
    nvml_return (*minor)(nvml_device, unsigned *);
    processes_fn *compute, *graphics;
    const char *(*error_text)(nvml_return);
};

/* The older name is tried when the first is not there. */
struct symbol {
    const char *name, *older;
    size_t offset;
    bool required;
};

static const struct symbol symbols[] = {
    {"nvmlInit_v2", "nvmlInit", offsetof(struct nvml, init), true},
    {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", offsetof(struct nvml, count), true},
    {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", offsetof(struct nvml, handle), true},
    {"nvmlDeviceGetUUID", NULL, offsetof(struct nvml, uuid), false},
    {"nvmlDeviceGetMinorNumber", NULL, offsetof(struct nvml, minor), false},
    /* Those without a number fill a shorter struct. */
    {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
     offsetof(struct nvml, compute), true},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
     offsetof(struct nvml, graphics), false},
    {"nvmlErrorString", NULL, offsetof(struct nvml, error_text), false},
};

static bool load(const char *library, struct nvml *out, struct err *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(err, "%s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(handle, symbols[i].name);
        if (!found && symbols[i].older)
            found = dlsym(handle, symbols[i].older);
        if (!found && symbols[i].required)
            return err_set(err, "%s has no %s: the driver is too old", library, symbols[i].name);
        memcpy((char *)out + symbols[i].offset, &found, sizeof found);
    }
    return true;
}

static bool failed(const struct nvml *nvml, const char *what, nvml_return code, struct err *err)
{
    const char *text = nvml->error_text ? nvml->error_text(code) : NULL;
    return err_set(err, "%s: %s (%d)", what, text ? text : "error", code);
}

static void send_message(int out, const struct nvml_message *message)
{
    const char *bytes = (const char *)message;
    for (size_t sent = 0; sent < sizeof *message;) {
        ssize_t written = write(out, bytes + sent, sizeof *message - sent);
        if (written < 0 && errno != EINTR)
            _exit(1);
        sent += written > 0 ? (size_t)written : 0;
    }
}

struct processes {
    struct process_info *items;
    unsigned count;
};

/* False: this GPU does not tell. */
static bool list(processes_fn *ask, nvml_device device, struct processes *out)
{
    for (unsigned room = PROCESSES_FIRST; room <= PROCESSES_MAX; room *= 4) {
        out->items = mem_resize(out->items, room, sizeof *out->items);
        out->count = room;
        nvml_return code = ask(device, &out->count, out->items);
        if (code != NVML_ERROR_INSUFFICIENT_SIZE) {
            out->count = code != NVML_SUCCESS ? 0 : out->count < room ? out->count : room;
            return code == NVML_SUCCESS;
        }
    }
    out->count = 0;
    return false;
}

/* The two lists of a GPU: a process that computes and draws is in both, with the same figure. */
struct uses {
    struct nvml_use *items;
    size_t count, capacity, compute; /* the first so many are of the first list */
};

static bool is_drawn_too(const struct uses *uses, pid_t pid)
{
    for (size_t i = 0; i < uses->compute; i++)
        if (uses->items[i].pid == pid)
            return true;
    return false;
}

static void add_list(struct uses *uses, const struct nvml_use *gpu, const struct processes *processes)
{
    for (unsigned i = 0; i < processes->count; i++) {
        const struct process_info *info = &processes->items[i];
        struct nvml_use use = *gpu;
        use.pid = (pid_t)info->pid;
        use.has_bytes = info->used_memory != ~0ULL;
        use.bytes = use.has_bytes ? info->used_memory : 0;
        if (is_drawn_too(uses, use.pid))
            continue;
        uses->items = mem_room(uses->items, uses->count, &uses->capacity, sizeof *uses->items);
        uses->items[uses->count++] = use;
    }
}

static bool ask_gpu(const struct nvml *nvml, unsigned index, int out)
{
    nvml_device device;
    unsigned minor;
    struct nvml_use gpu = {.minor = -1};
    struct processes compute = {0}, graphics = {0};
    struct uses uses = {0};
    if (nvml->handle(index, &device) != NVML_SUCCESS)
        return false;
    if (nvml->minor && nvml->minor(device, &minor) == NVML_SUCCESS)
        gpu.minor = (int)minor;
    if (nvml->uuid && nvml->uuid(device, gpu.uuid, UUID_SIZE) != NVML_SUCCESS)
        gpu.uuid[0] = '\0';
    bool told = list(nvml->compute, device, &compute);
    add_list(&uses, &gpu, &compute);
    uses.compute = uses.count;
    if (nvml->graphics)
        list(nvml->graphics, device, &graphics);
    add_list(&uses, &gpu, &graphics);
    for (size_t i = 0; i < uses.count; i++)
        send_message(out, &(struct nvml_message){.kind = NVML_MESSAGE_USE, .use = uses.items[i]});
    free(compute.items);
    free(graphics.items);
    free(uses.items);
    return told;
}

static bool ask_all(const char *library, int out, uint64_t *silent, struct err *err)
{
    struct nvml nvml = {0};
    unsigned count = 0;
    if (!load(library, &nvml, err) || !nvml.init || !nvml.count)
        return false;
    nvml_return code = nvml.init();
    if (code != NVML_SUCCESS)
        return failed(&nvml, "nvmlInit", code, err);
    code = nvml.count(&count);
    if (code != NVML_SUCCESS)
        return failed(&nvml, "nvmlDeviceGetCount", code, err);
    for (unsigned i = 0; i < count && i < GPUS_MAX; i++)
        *silent += !ask_gpu(&nvml, i, out);
    return true;
}

void nvml_query(const char *library, int out)
{
    struct err err = {0};
    struct nvml_message last = {.kind = NVML_MESSAGE_END};
    if (!ask_all(library, out, &last.failed, &err)) {
        last.kind = NVML_MESSAGE_FAILED;
        memcpy(last.reason, err.text, strnlen(err.text, sizeof last.reason - 1));
    }
    send_message(out, &last);
}
