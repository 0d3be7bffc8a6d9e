#include "cli/meters.h"

#include "base/mem.h"
#include "cli/gpus.h"

#include <stdlib.h>
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
    size_t number = 0;
    out->gpus = mem_array(devices->count + 1, sizeof *out->gpus);
    for (size_t i = 0; i < devices->count; i++) {
        const struct gpu_device *device = &devices->items[i];
        if (used[i] && !device->excluded)
            /* Without a UUID yet, by the driver's number: that counts those that are not excluded. */
            out->gpus[out->options.gpu_count++] = (struct gauge_gpu){
                *device->uuid ? mem_strdup(device->uuid) : mem_printf("%zu", number), mem_printf("GPU %zu", number)};
        number += !device->excluded;
    }
    out->options.gpus = out->gpus;
}

void meters_find(const struct strv *environment, const struct plan *plan, struct host_meter *host, struct meters *out)
{
    struct gpu_devices devices;
    const char *library = getenv("TARE_NVML");
    *out = (struct meters){.options = {.host = host, .library = library && *library ? library : NULL}};
    gpu_devices_read(gpus_root(), &devices, NULL); /* what could not be read was told when the locks were taken */
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    gpus_select_silently(&devices, environment, plan, used);
    add_gpus(&devices, used, out);
    gpu_devices_fini(&devices);
    if (host && host_meter_rapl(host)->count > 0)
        host_meter_prove(host, PROOF_S);
}

void meters_fini(struct meters *meters)
{
    for (size_t i = 0; i < meters->options.gpu_count; i++) {
        free(meters->gpus[i].device);
        free(meters->gpus[i].label);
    }
    free(meters->gpus);
    *meters = (struct meters){0};
}
