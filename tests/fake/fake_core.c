/* A libnvidia-ml.so.1 whose GPUs are described by a scenario file (README.md), with the binary
 * interface of the real one. FAKE_TOO_OLD: without nvmlDeviceGetHandleByIndex. FAKE_AS_REAL:
 * without the symbol that tells it from one. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct fake_scenario scenario;
static int opened; /* nvmlInit is counted */

static int64_t clock_ns(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* The wall clock that stamps the samples: from set_at_ns on this much off, before that by what was
 * said before. */
static struct {
    int64_t before_ns, after_ns, set_at_ns;
} shift;

EXPORT void fake_set_wall_clock(int64_t shift_ns);
void fake_set_wall_clock(int64_t shift_ns)
{
    shift.before_ns = shift.after_ns;
    shift.after_ns = shift_ns;
    shift.set_at_ns = now_ns();
}

/* Both clocks at one instant, of a few tries: the process may be interrupted. */
int64_t wall_offset_ns(void)
{
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < 100 && best > 20000; i++) {
        int64_t before = now_ns(), wall = clock_ns(CLOCK_REALTIME), width = now_ns() - before;
        if (width < best) {
            best = width;
            offset = wall - before - width / 2;
        }
    }
    return offset;
}

long long wall_us(int64_t offset_ns, int64_t t_ns)
{
    return (t_ns + offset_ns + (t_ns >= shift.set_at_ns ? shift.after_ns : shift.before_ns)) / 1000;
}
void pass(double us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1e6), .tv_nsec = (long)(us * 1000) % 1000000000L};
    while (us > 0 && nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

int number_of(nvmlDevice_t device)
{
    uintptr_t value = (uintptr_t)device;
    return value >= 4096 && (value - 4096) / 64 < (uintptr_t)scenario.gpu_count
               ? (int)((value - 4096) / 64)
               : -1;
}

nvmlDevice_t device_of(int number)
{
    return (nvmlDevice_t)((uintptr_t)number * 64 + 4096);
}

static bool applies(struct fake_fault *fault, const char *call, int gpu)
{
    if ((strcmp(fault->call, "*") != 0 && strcmp(fault->call, call) != 0) ||
        (fault->gpu >= 0 && fault->gpu != gpu))
        return false;
    double t_s = (double)(now_ns() - scenario.gpus[gpu < 0 ? 0 : gpu].origin_ns) / 1e9;
    if (t_s < fault->from_s || t_s >= fault->until_s ||
        (fault->when[0] && access(fault->when, F_OK) != 0))
        return false;
    fault->seen++;
    if (fault->seen < fault->from_call ||
        (fault->calls && fault->seen >= fault->from_call + fault->calls))
        return false;
    if (!fault->once[0])
        return true;
    int fd = open(fault->once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

nvmlReturn_t enter(const char *call, nvmlDevice_t device, bool *garbage)
{
    int gpu = device ? number_of(device) : -1;
    *garbage = false;
    if (!opened)
        return UNINITIALIZED;
    if (device && gpu < 0)
        return INVALID;
    for (int i = 0; i < scenario.fault_count; i++) {
        struct fake_fault *fault = &scenario.faults[i];
        if (!applies(fault, call, gpu))
            continue;
        if (fault->action == FAKE_ERROR)
            return fault->code;
        if (fault->action == FAKE_HANG)
            for (;;)
                pause();
        if (fault->action == FAKE_CRASH)
            abort();
        if (fault->action == FAKE_DELAY)
            pass(fault->delay_ms * 1000);
        *garbage |= fault->action == FAKE_GARBAGE;
    }
    return OK;
}

static nvmlReturn_t text(char *out, unsigned size, const char *value)
{
    if (strlen(value) >= size)
        return TOO_SMALL;
    strcpy(out, value);
    return OK;
}

#ifndef FAKE_AS_REAL
/* By this the program knows that it may play with time. */
EXPORT int tareFakeDriver(void);
int tareFakeDriver(void)
{
    return 1;
}
#endif

/* False: it is no scale that the program takes either. */
static bool scale(void)
{
    const char *text = getenv("TARE_TIME_SCALE");
    double by = text && *text ? strtod(text, NULL) : 1;
    if (!(by >= 0.001 && by <= 1))
        return false;
    fake_scenario_scale(&scenario, by);
    return true;
}

/* A real one reads tables at its start that it frees again; what it keeps lies behind them. */
static void begin_largely(void)
{
    static void *kept;
    size_t count = (size_t)scenario.init_memory_kib;
    void **blocks = count ? calloc(count, sizeof *blocks) : NULL;
    if (!blocks)
        return;
    for (size_t i = 0; i < count; i++)
        if ((blocks[i] = malloc(1000)))
            memset(blocks[i], 1, 1000);
    free(kept);
    kept = malloc(1000);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
}

EXPORT nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInit_v2(void)
{
    char why[256];
    if (!opened && !fake_scenario_read(getenv("TARE_FAKE_NVML"), &scenario, why)) {
        fprintf(stderr, "fake libnvidia-ml: %s\n", why);
        return 9;
    }
    if (!opened && !scale())
        return 9;
    if (scenario.init_error)
        return scenario.init_error;
    begin_largely();
    opened++;
    bool garbage;
    return enter("nvmlInit", NULL, &garbage);
}

EXPORT nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlShutdown(void)
{
    if (!opened)
        return UNINITIALIZED;
    opened--;
    return OK;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
    static const struct {
        int result;
        const char *text;
    } texts[] = {{0, "The operation was successful"},
                 {1, "Uninitialized"},
                 {2, "Invalid Argument"},
                 {3, "Not Supported"},
                 {4, "Insufficient Permissions"},
                 {6, "Not Found"},
                 {7, "Insufficient Size"},
                 {9, "Driver Not Loaded"},
                 {10, "Timeout"},
                 {15, "GPU is lost"},
                 {18, "Driver/library version mismatch"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].result == result)
            return texts[i].text;
    return "Unknown Error";
}

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned size);
nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    ENTER("nvmlSystemGetDriverVersion", NULL);
    return text(out, size, scenario.gpus[0].driver);
}

EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned size);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
    ENTER("nvmlSystemGetNVMLVersion", NULL);
    return text(out, size, garbage ? "13\n\033[31m" : "13.580.159.04");
}

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *out);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *out)
{
    ENTER("nvmlDeviceGetCount", NULL);
    *out = (unsigned)scenario.gpu_count;
    return OK;
}

#ifndef FAKE_TOO_OLD
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
    ENTER("nvmlDeviceGetHandleByIndex", NULL);
    if (index >= (unsigned)scenario.gpu_count)
        return INVALID;
    *out = device_of((int)index);
    return OK;
}
#endif

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    ENTER("nvmlDeviceGetHandleByUUID", NULL);
    for (int i = 0; i < scenario.gpu_count; i++)
        if (strcmp(scenario.gpus[i].uuid, uuid) == 0) {
            *out = device_of(i);
            return OK;
        }
    return NOT_FOUND;
}

EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetIndex", device);
    *out = (unsigned)number_of(device);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetMinorNumber", device);
    *out = (unsigned)gpu->minor;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *out, unsigned size);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *out, unsigned size)
{
    ENTER("nvmlDeviceGetName", device);
    if (garbage)
        memset(out, 0xff, size); /* not even ended */
    return garbage ? OK : text(out, size, gpu->name);
}

EXPORT nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *out, unsigned size);
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *out, unsigned size)
{
    ENTER("nvmlDeviceGetBoardPartNumber", device);
    return text(out, size, "900-21010-0040-000");
}

EXPORT nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *out, unsigned size);
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *out, unsigned size)
{
    ENTER("nvmlDeviceGetVbiosVersion", device);
    return text(out, size, gpu->vbios);
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned size);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned size)
{
    ENTER("nvmlDeviceGetUUID", device);
    return text(out, size, gpu->uuid);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out)
{
    ENTER("nvmlDeviceGetPciInfo", device);
    *out = (nvmlPciInfo_t){.bus = 0xc1 + (unsigned)number_of(device)};
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "0000:%02X:00.0", out->bus & 0xff);
    snprintf(out->busId, sizeof out->busId, "00000000:%02X:00.0", out->bus & 0xff);
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetPersistenceMode", device);
    *out = (unsigned)gpu->persistence;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetVirtualizationMode", device);
    *out = (unsigned)gpu->virtualization;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceGetDisplayActive", device);
    *out = (unsigned)gpu->display;
    return OK;
}

#ifndef FAKE_OLDER
EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    ENTER("nvmlDeviceGetMigMode", device);
    if (gpu->part)
        return INVALID;
    *current = *pending = (unsigned)gpu->mig;
    return OK;
}

EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *out);
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *out)
{
    ENTER("nvmlDeviceIsMigDeviceHandle", device);
    *out = (unsigned)gpu->part;
    return OK;
}
#endif
