/* A second vendor of GPUs, for tests: all of it is this file and its row in the list below.
 * tests/fake/README.md says how a machine with its GPUs is played; tests/cli/vendor.bats runs the
 * whole program with it (tests/fake/tare-played). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/gpu/vendor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 65536 };

static const char gpus_file[] = "/proc/driver/played/gpus",
                  version_file[] = "/proc/driver/played/version";

/* Its own bits, in its own order. */
static const struct {
    uint64_t own;
    enum gpu_clock_reason reason;
} throttling[] = {
    {0x1, GPU_CLOCK_HW_THERMAL}, /* "PROCHOT" */
    {0x2, GPU_CLOCK_POWER_CAP},  /* "PPT" */
    {0x4, GPU_CLOCK_POWER_BRAKE} /* "TDC" */
};

struct gpu_driver {
    char *scenario;
};
struct gpu_sensor {
    const struct gpu_driver *driver;
    struct gpu_device device;
    uint32_t index;
};

extern const struct gpu_vendor gpu_vendor_played;

static bool lacks(struct err *err, int code, const char *what)
{
    err_set(err, "%s", what);
    if (err)
        err->code = code;
    return false;
}

/* The number behind a word at the beginning of a line of the scenario, which may change at any
 * time. */
static double scenario_number(const struct gpu_driver *driver, const char *word, double otherwise)
{
    AUTO_TEXT struct text text = {0};
    if (!driver->scenario || !fs_read_kernel(AT_FDCWD, driver->scenario, FILE_MAX, &text, NULL))
        return otherwise;
    size_t length = strlen(word);
    for (const char *line = text_get(&text); line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, word, length) == 0 && line[length] == ' ')
            return strtod(line + length, NULL);
    return otherwise;
}

/* Lines "BUS MINOR UUID MODEL"; UUID - is not known yet. */
static bool add_devices(const char *root, struct gpu_devices *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *path = mem_printf("%s%s", root, gpus_file);
    struct err why = {0};
    if (!fs_read_kernel(AT_FDCWD, path, FILE_MAX, &text, &why)) {
        if (why.code != ENOENT && err)
            *err = why;
        return why.code == ENOENT;
    }
    for (const char *line = text_get(&text); *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        struct gpu_device device = {.vendor = &gpu_vendor_played};
        char bus[GPU_BUS_SIZE], uuid[GPU_UUID_SIZE];
        if (sscanf(line, "%31s %d %63s %127[^\n]", bus, &device.minor, uuid, device.model) != 4)
            return err_set(err, "%s: a line is no GPU", path);
        gpu_device_set_bus(&device, bus, bus + strlen(bus));
        gpu_device_set_uuid(&device, uuid, uuid + strlen(uuid));
        gpu_devices_add(out, &device);
    }
    return true;
}

static char *driver_version(const char *root)
{
    char version[32];
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *path = mem_printf("%s%s", root, version_file);
    if (!fs_read_kernel(AT_FDCWD, path, FILE_MAX, &text, NULL) ||
        sscanf(text_get(&text), "Played driver: %31s", version) != 1)
        return NULL;
    return mem_strdup(version);
}

static char *library_fix(const char *version)
{
    return mem_printf("write a scenario for driver %s", version ? version : "that is loaded");
}

static bool fault_is_of_program(unsigned number)
{
    return number == 7;
}

static enum gpu_library library_kind(const char *library)
{
    (void)library;
    return GPU_LIBRARY_FAKE;
}

static const char *root_of_machine(void)
{
    const char *root = getenv("TARE_SYSROOT");
    return root ? root : "";
}

static struct gpu_driver *driver_open(const char *library, struct err *err)
{
    AUTO_FREE char *version = driver_version(root_of_machine());
    if (!version) {
        err_set(err, "no driver is loaded");
        return NULL;
    }
    struct gpu_driver *driver = mem_alloc(sizeof *driver);
    driver->scenario = mem_strdup(library ? library : getenv("TARE_PLAYED"));
    return driver;
}

static void driver_close(struct gpu_driver *driver)
{
    free(driver->scenario);
    free(driver);
}

static bool driver_count(struct gpu_driver *driver, uint32_t *out, struct err *err)
{
    struct gpu_devices devices = {0};
    (void)driver;
    bool good = add_devices(root_of_machine(), &devices, err);
    *out = (uint32_t)devices.count;
    gpu_devices_fini(&devices);
    return good;
}

static struct gpu_sensor *sensor_open(struct gpu_driver *driver, const char *device,
                                      struct err *err)
{
    struct gpu_devices devices = {0};
    struct gpu_sensor *sensor = NULL;
    add_devices(root_of_machine(), &devices, NULL);
    for (uint32_t i = 0; !sensor && i < devices.count; i++) {
        AUTO_FREE char *number = mem_printf("%" PRIu32, i);
        if (strcmp(device, number) != 0 && strcmp(device, devices.items[i].uuid) != 0)
            continue;
        sensor = mem_alloc(sizeof *sensor);
        *sensor = (struct gpu_sensor){.driver = driver, .device = devices.items[i], .index = i};
    }
    gpu_devices_fini(&devices);
    if (!sensor)
        lacks(err, ENODEV, "no such GPU");
    return sensor;
}

static void sensor_close(struct gpu_sensor *sensor)
{
    free(sensor);
}

static void identify(struct gpu_sensor *sensor, struct gpu_identity *out)
{
    AUTO_FREE char *version = driver_version(root_of_machine());
    *out = (struct gpu_identity){
        .index = sensor->index, .minor = sensor->device.minor, .mig = GPU_MIG_OFF};
    snprintf(out->name, sizeof out->name, "%.90s", sensor->device.model);
    snprintf(out->uuid, sizeof out->uuid, "%s", sensor->device.uuid);
    snprintf(out->pci, sizeof out->pci, "%s", sensor->device.bus);
    snprintf(out->driver, sizeof out->driver, "%.30s", version ? version : "");
}

/* Counted from the machine's start, at the scenario's power; current at every read. */
static bool counter(struct gpu_sensor *sensor, uint64_t *energy_mj, struct err *err)
{
    (void)err;
    *energy_mj = (uint64_t)(scenario_number(sensor->driver, "power_w", 100) *
                            (double)clock_monotonic_ns() / 1e6);
    return true;
}

static bool no_trace(struct gpu_sensor *sensor, struct gpu_trace *out, struct err *err)
{
    (void)sensor;
    *out = (struct gpu_trace){0};
    return lacks(err, ENOTSUP, "it keeps no samples");
}

static bool all_users(struct gpu_sensor *sensor, struct gpu_user_list *out, struct err *err)
{
    double pid = scenario_number(sensor->driver, "user", 0);
    (void)err;
    *out = (struct gpu_user_list){0};
    if (pid <= 0)
        return true;
    out->items = mem_room(out->items, 0, sizeof *out->items);
    out->items[out->count++] =
        (struct gpu_user){.pid = (int32_t)pid,
                          .compute = true,
                          .memory_bytes = {scenario_number(sensor->driver, "user_bytes", 0), true}};
    return true;
}

static bool users(struct gpu_sensor *sensor, struct gpu_users *out, struct err *err)
{
    struct gpu_user_list list;
    *out = (struct gpu_users){.told = all_users(sensor, &list, err)};
    for (; out->count < list.count; out->count++)
        out->users[out->count] = list.items[out->count];
    free(list.items);
    return true;
}

static const char *group_name(size_t group)
{
    (void)group;
    return "all";
}

static bool group_read(struct gpu_sensor *sensor, size_t group, struct gpu_readings *out,
                       struct err *err)
{
    const struct gpu_driver *driver = sensor->driver;
    uint64_t own = (uint64_t)scenario_number(driver, "throttle", 0), reasons = 0;
    (void)group;
    (void)err;
    for (size_t i = 0; i < sizeof throttling / sizeof *throttling; i++)
        if (own & throttling[i].own)
            reasons |= throttling[i].reason;
    gpu_reading_set(out, GPU_POWER_INSTANT_W, scenario_number(driver, "power_w", 100));
    gpu_reading_set(out, GPU_POWER_LIMIT_W, 400);
    gpu_reading_set(out, GPU_TEMPERATURE_C, 40);
    gpu_reading_set(out, GPU_SM_CLOCK_MHZ, 1000);
    gpu_reading_set(out, GPU_UTILISATION_PERCENT, 0);
    gpu_reading_set(out, GPU_MEMORY_TOTAL_BYTES, 8e9);
    gpu_reading_set(out, GPU_MEMORY_USED_BYTES, scenario_number(driver, "user_bytes", 0));
    gpu_reading_set(out, GPU_MEMORY_RESERVED_BYTES, 0);
    gpu_reading_set(out, GPU_CLOCK_REASONS, (double)reasons);
    gpu_reading_set(out, GPU_ECC_UNCORRECTED, 0);
    gpu_reading_set(out, GPU_XID_COUNT, scenario_number(driver, "faults", 0));
    gpu_reading_set(out, GPU_XID_LAST, scenario_number(driver, "fault", 0));
    return true;
}

static const struct gpu_backend backend = {
    .name = "played",
    .library_kind = library_kind,
    .open = driver_open,
    .close = driver_close,
    .count = driver_count,
    .sensor_open = sensor_open,
    .sensor_close = sensor_close,
    .identify = identify,
    .counter = counter,
    .trace = no_trace,
    .users = users,
    .all_users = all_users,
    .group_count = 1,
    .group_name = group_name,
    .group_read = group_read,
};

static const struct sensor_profile profiles[] = {
    {
        .label = "P1 (played)",
        .models = {"P1"},
        .behaviour = {.told = true,
                      .update_ns = 10 * NS_PER_MS,
                      .averaging = WINDOW_INSTANT,
                      .looked_share = 1,
                      .counter_current = true},
        .accuracy = "3 %",
        .gain = {.bound = 0.03, .source = "the played vendor's manual"},
        .source = "tests/fake/played_vendor.c",
    },
};

const struct gpu_vendor gpu_vendor_played = {
    .name = "Played",
    .id = "played",
    .backend = &backend,
    .library_variable = "TARE_PLAYED",
    .counter_source = "played-counter",
    .power_source = "played-power",
    .profiles = profiles,
    .profile_count = sizeof profiles / sizeof *profiles,
    .runtime = "its runtime",
    .visible_variable = "PLAYED_VISIBLE",
    .uuid_prefix = "PLAY-",
    .add_devices = add_devices,
    .driver_version = driver_version,
    .driver_file = version_file,
    .driver_line = "Played driver",
    .driver_key = "played_driver",
    .device_name = "played",
    .control_device = "playedctl",
    .fault_name = "fault",
    .fault_is_of_program = fault_is_of_program,
    .library_fix = library_fix,
};

/* In place of src/machine/gpu/vendors.c. */
const struct gpu_vendor *const gpu_vendors[] = {&gpu_vendor_nvidia, &gpu_vendor_played, NULL};
