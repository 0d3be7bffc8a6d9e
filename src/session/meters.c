#include "session/meters.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "session/gpus.h"
#include "machine/sensors/time_scale.h"
#include "machine/state/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every counter is to move within that, or it counts nothing; it takes some 20 ms where all do. */
static const double PROOF_S = 0.2;

struct host_meter *meters_open_host(void)
{
    /* Root looks at the machine itself, not where a user says that one is. */
    bool root_for_another = geteuid() == 0 && getenv("SUDO_UID");
    return host_meter_new(&(struct rapl_places){.sysroot = root_for_another ? NULL : gpus_root()});
}

static void add_gpus(const struct gpu_devices *devices, const bool *used, struct meters *out)
{
    out->gpus = mem_array(devices->count + 1, sizeof *out->gpus);
    for (size_t i = 0; i < devices->count; i++) {
        const struct gpu_device *device = &devices->items[i];
        if (!used[i] || device->excluded)
            continue;
        out->gpus[out->options.gpu_count++] = (struct energy_meters_gpu){
            /* Without a UUID yet, by the driver's number. */
            .device = *device->uuid ? mem_strdup(device->uuid)
                                    : mem_printf("%zu", gpu_devices_number(devices, device->vendor, i)),
            .label = mem_printf("GPU %zu", gpu_devices_number(devices, NULL, i)),
            .vendor = device->vendor,
            .library = gpus_library(device->vendor),
        };
    }
    out->options.gpus = out->gpus;
}

static void take_calibration(void *data, const struct calibration *calibration, const struct err *why)
{
    struct meters *meters = data;
    (void)why; /* calibrate --show tells it */
    if (!calibration)
        return;
    AUTO_FREE char *stale = calibration_stale(calibration, NULL, clock_realtime_ns() / NS_PER_S);
    if (stale)
        return;
    size_t count = meters->options.calibration_count++;
    meters->calibrations = mem_resize(meters->calibrations, count + 1, sizeof *meters->calibrations);
    meters->calibrations[count] = *calibration;
    meters->options.calibrations = meters->calibrations;
}

static void take_host(struct host_meter *host, struct meters *out)
{
    out->options.host = host;
    if (host && host_meter_rapl(host)->count > 0)
        host_meter_prove(host, PROOF_S);
}

static int open_own(int above, const char *name)
{
    struct stat st;
    AUTO_CLOSE int dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ours = dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
    return ours ? steal_fd(&dir) : -1;
}

/* From where state.h keeps what a user's runs tell each other; nothing is made. */
static void read_known(struct meters *out)
{
    AUTO_STRV struct strv paths = {0};
    struct err ignored;
    if (!state_paths(&paths, &ignored))
        return;
    for (size_t i = 0; i < paths.count; i++) {
        AUTO_CLOSE int top = open_own(AT_FDCWD, paths.items[i]);
        AUTO_CLOSE int dir = top >= 0 ? open_own(top, "runs") : -1;
        if (dir >= 0) {
            sensor_gains_read(dir, out->gains);
            calibration_each(dir, take_calibration, out);
        }
    }
}

static void begin(struct meters *out)
{
    *out = (struct meters){.gains = mem_alloc(sizeof *out->gains)};
    read_known(out);
    out->options.gains = out->gains;
}

static bool choose(const struct gpu_devices *devices, const char *list, bool *used, struct err *err)
{
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ","), place = 0;
        if (!gpus_find(devices, word, length, &place))
            return err_set(err, "'%.*s' is no GPU of this machine, which has %zu (by number from 0, or by UUID)",
                           (int)length, word, devices->count);
        used[place] = true;
    }
    return true;
}

bool meters_choose(const char *list, struct host_meter *host, struct meters *out, struct err *err)
{
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    begin(out);
    if (!gpu_devices_read(gpus_root(), &devices, err))
        return false;
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    bool all = strcmp(list, "all") == 0;
    for (size_t i = 0; i < devices.count; i++)
        used[i] = all;
    if (!all && !choose(&devices, list, used, err))
        return false;
    add_gpus(&devices, used, out);
    take_host(host, out);
    return true;
}

void meters_find(const struct strv *environment, const struct plan *plan, struct host_meter *host, struct meters *out)
{
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    begin(out);
    gpu_devices_read(gpus_root(), &devices, NULL); /* what could not be read was told when the locks were taken */
    gpus_fence(environment, &devices);
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    gpus_select(&devices, environment, plan, false, used);
    add_gpus(&devices, used, out);
    take_host(host, out);
}

bool meters_scale(struct meters *meters, struct err *err)
{
    struct energy_meters_options *options = &meters->options;
    if (!time_scale_read(getenv(TIME_SCALE_VARIABLE), &options->time_scale, err))
        return false;
    for (size_t i = 0; i < options->gpu_count; i++)
        if (!time_scale_permitted(options->time_scale, meters->gpus[i].vendor->backend, meters->gpus[i].library, err))
            return false;
    return true;
}

void meters_fini(struct meters *meters)
{
    for (size_t i = 0; i < meters->options.gpu_count; i++) {
        free(meters->gpus[i].device);
        free(meters->gpus[i].label);
    }
    free(meters->gpus);
    free(meters->calibrations);
    if (meters->gains)
        sensor_gains_fini(meters->gains);
    free(meters->gains);
    *meters = (struct meters){0};
}
