/* NVIDIA: what its driver's kernel module says in /proc, the profiles of its power sensors, and its
 * names. Its sensors are read through NVML (nvml*.c). */
#include "machine/gpu/vendor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { INFORMATION_MAX = 65536, MINOR_MAX = 255 };

static const char driver_file[] = "/proc/driver/nvidia/version";

/* The driver pads with tabs and blanks. */
static void trim_blanks(const char **start, const char **end)
{
    while (*start < *end && (**start == ' ' || **start == '\t'))
        (*start)++;
    while (*end > *start && ((*end)[-1] == ' ' || (*end)[-1] == '\t' || (*end)[-1] == '\r'))
        (*end)--;
}

static void copy_printable(char *out, size_t size, const char *start, const char *end)
{
    size_t length = (size_t)(end - start);
    if (length >= size)
        return;
    memcpy(out, start, length);
    out[length] = '\0';
    utf8_make_printable(out, "");
}

static int minor_of(const char *start, const char *end)
{
    int minor = 0;
    if (start == end)
        return -1;
    for (const char *at = start; at < end; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        minor = minor * 10 + (*at - '0');
        if (minor > MINOR_MAX)
            return -1;
    }
    return minor;
}

static bool equals_name(const char *start, const char *end, const char *name)
{
    size_t length = strlen(name);
    return (size_t)(end - start) == length && memcmp(start, name, length) == 0;
}

/* True: a field that only a GPU has. */
static bool parse_information_field(const char *line, const char *line_end, struct gpu_device *out)
{
    const char *name = line, *colon = memchr(line, ':', (size_t)(line_end - line));
    if (!colon)
        return false;
    const char *name_end = colon, *value = colon + 1, *end = line_end;
    trim_blanks(&name, &name_end);
    trim_blanks(&value, &end);
    if (equals_name(name, name_end, "Model"))
        copy_printable(out->model, sizeof out->model, value, end);
    else if (equals_name(name, name_end, "GPU UUID"))
        gpu_device_set_uuid(out, value, end);
    else if (equals_name(name, name_end, "Bus Location"))
        gpu_device_set_bus(out, value, end);
    else if (equals_name(name, name_end, "Device Minor"))
        out->minor = minor_of(value, end);
    else if (equals_name(name, name_end, "GPU Firmware"))
        copy_printable(out->firmware, sizeof out->firmware, value, end);
    else if (equals_name(name, name_end, "GPU Excluded"))
        out->excluded = equals_name(value, end, "Yes");
    else
        return false;
    return true;
}

bool nvidia_information_parse(const char *bytes, size_t count, struct gpu_device *out)
{
    bool found = false;
    *out = (struct gpu_device){.vendor = &gpu_vendor_nvidia, .minor = -1};
    for (const char *line = bytes, *end = bytes + count; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        found |= parse_information_field(line, line_end, out);
        line = line_end + 1;
    }
    return found;
}

static bool add_proc_device(int folder, const char *name, struct gpu_devices *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *path = mem_printf("%s/information", name);
    struct gpu_device device;
    if (!fs_read_kernel(folder, path, INFORMATION_MAX, &text, err))
        return false;
    if (!nvidia_information_parse(text_get(&text), text.length, &device))
        return err_set(err, "%s says nothing of a GPU", path);
    if (!*device.bus)
        gpu_device_set_bus(&device, name, name + strlen(name));
    gpu_devices_add(out, &device);
    return true;
}

static bool add_proc_devices(const char *root, struct gpu_devices *out, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/proc/driver/nvidia/gpus", root);
    bool good = true;
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT || err_sys(err, "open %s", path);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.' &&
            !add_proc_device(dirfd(folder), entry->d_name, out, good ? err : NULL)) {
            if (good)
                err_wrap(err, "%s", path);
            good = false;
        }
    closedir(folder);
    return good;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May ...": the first word of
 * digits and dots. */
static char *driver_version(const char *root)
{
    AUTO_FREE char *path = mem_printf("%s%s", root, driver_file);
    AUTO_TEXT struct text text = {0};
    if (!fs_read_kernel(AT_FDCWD, path, INFORMATION_MAX, &text, NULL))
        return NULL;
    const char *at = text_get(&text);
    const char *end = at + strcspn(at, "\n");
    while (at < end) {
        size_t length = strcspn(at, " \t\n");
        if (length > 2 && strspn(at, "0123456789.") >= length && memchr(at, '.', length))
            return mem_strndup(at, length);
        at += length;
        at += strspn(at, " \t");
    }
    return NULL;
}

static char *library_fix(const char *driver)
{
    return mem_printf("install libnvidia-ml.so.1 of driver %s (Debian: libnvidia-ml1; Ubuntu: "
                      "libnvidia-compute-%.*s; a "
                      "container: --gpus all)",
                      driver ? driver : "that is loaded", driver ? (int)strcspn(driver, ".") : 1,
                      driver ? driver : "*");
}

/* docs.nvidia.com/deploy/xid-errors */
static bool xid_is_of_program(unsigned number)
{
    /* Illegal addresses and instructions, a killed or crashed program, its video decoder, a misused
     * link. */
    static const unsigned of_programs[] = {13, 31, 43, 45, 68, 69, 137};
    EACH_OF (of_program, of_programs)
        if (*of_program == number)
            return true;
    return false;
}

#define MS(count) ((int64_t)(count)*NS_PER_MS)
/* Times in ms. */
#define TOLD(update, jitter, kind, length, share)                                          \
    {                                                                                      \
        .told = true, .update_ns = MS(update), .jitter_ns = MS(jitter), .averaging = kind, \
        .averaging_ns = MS(length), .looked_share = share                                  \
    }
/* Two H200 and four H100, driver 580: boxcars of 98 to 100 ms (missed: 0.02 / sqrt(3), root mean
 * square) end 5.8 to 8 +- 3 ms before they are shown; samples are 14 +- 9 ms late. */
#define COUNTER_OF_ALL                                                               \
    {                                                                                \
        .update_ns = MS(100), .jitter_ns = MS(2), .averaging = WINDOW_BOXCAR,        \
        .averaging_ns = MS(46), .lag_ns = MS(14), .lag_sd_ns = 9 / 1.96 * NS_PER_MS, \
        .counter_lag_ns = MS(7), .counter_lag_sd_ns = 1.6 * NS_PER_MS,               \
        .looked_share = 1 - 0.01155, .share_measured = true                          \
    }
/* The same of the readings; the counter may see all, or add these up: not published. */
#define READING_TOLD(update, jitter, length, share)                                    \
    {                                                                                  \
        .told = true, .update_ns = MS(update), .jitter_ns = MS(jitter),                \
        .averaging = WINDOW_BOXCAR, .averaging_ns = MS(length), .looked_share = share, \
        .share_unsure = true                                                           \
    }
#define PAPER "arXiv 2312.02741"
#define UNSTATED                                        \
    .accuracy = "unknown",                              \
    .gain = {.source = "the vendor states none; " PAPER \
                       " measured about 5 % on many boards, another share on each"}

static const struct sensor_behaviour a100 = TOLD(100, 2, WINDOW_BOXCAR, 25, 0.25);
static const struct sensor_behaviour gh200 = TOLD(100, 2, WINDOW_BOXCAR, 20, 0.2);

/* The first row that holds a model's name counts. Where the vendor states no accuracy for the
 * sensor, nobody does: the paper measured about 5 % for many boards, another share for each. */
static const struct sensor_profile profiles[] = {
    {
        .label = "H200 (measured)",
        .models = {"H200"},
        .counter_least = 0.98,
        .counter_most = 1,
        .behaviour = COUNTER_OF_ALL,
        UNSTATED,
        .source = "measured with driver 580: update and jitter; the counter adds 98 to 100 of each "
                  "100 ms and is 7 ms late; samples every 15 to 20 ms are 14 ms late",
    },
    {
        .label = "H100 (measured)",
        .models = {"H100", "H800"},
        .counter_least = 0.98,
        .counter_most = 1,
        .reading = &a100,
        .behaviour = COUNTER_OF_ALL,
        UNSTATED,
        .source = "four H100 with driver 580: the counter adds 98 to 100 of each 100 ms and is 7 "
                  "ms late; that the power reading sees 25 of 100 ms (" PAPER ") says nothing of "
                  "the counter; H800 (the same chip) by analogy",
    },
    {
        .label = "GH200 (" PAPER ")",
        .models = {"GH200"},
        .reading = &gh200,
        .behaviour = READING_TOLD(100, 2, 20, 0.2),
        UNSTATED,
        .source = PAPER ": 20 ms of each 100 ms",
    },
    {
        .label = "A100 (" PAPER ")",
        .models = {"A100", "A800", "A30"},
        .reading = &a100,
        .behaviour = READING_TOLD(100, 2, 25, 0.25),
        UNSTATED,
        .source =
            PAPER ": 25 ms of each 100 ms; A30 (GA100 too) and A800 (the same chip) by analogy",
    },
    {
        .label = "Turing (" PAPER ")",
        .models = {"T4", "RTX 20", "GTX 16", "Quadro RTX", "TITAN RTX", "T1000", "T600", "T400"},
        .behaviour = TOLD(100, 2, WINDOW_BOXCAR, 100, 1),
        UNSTATED,
        .source = PAPER ": 100 ms of each 100 ms",
    },
    {
        .label = "Ampere GA10x, Ada (" PAPER ", NVML)",
        .models = {"RTX 30", "RTX 40", "RTX A", "A10", "A16", "A40", "L4", "L40"},
        .behaviour = {.update_ns = MS(100),
                      .jitter_ns = MS(2),
                      .averaging = WINDOW_BOXCAR,
                      .averaging_ns = MS(1000),
                      .looked_share = 1},
        UNSTATED,
        .source = PAPER ": 100 ms of each 100 ms (RTX 3090); NVML: power usage is a mean of 1 s; "
                        "which of the two the "
                        "samples are is not documented",
    },
    {
        .label = "Pascal, Volta (" PAPER ")",
        .models = {"V100", "P100", "P40", "P4", "GTX 10", "TITAN V", "TITAN Xp", "Quadro P"},
        .behaviour = TOLD(20, 1, WINDOW_BOXCAR, 10, 0.5),
        UNSTATED,
        .source = PAPER ": 10 ms of each 20 ms",
    },
    {
        .label = "Maxwell (" PAPER ")",
        .models = {"M40", "M60", "M4", "M10", "GTX 9", "Quadro M", "TITAN X"},
        .behaviour = TOLD(20, 1, WINDOW_EXPONENTIAL, 100, 1),
        UNSTATED,
        .source =
            PAPER ": updated every 20 ms, rises in about 200 ms (two time constants are taken)",
    },
    {
        .label = "Kepler (" PAPER ", NVML)",
        .models = {"K20", "K40", "K80", "K10", "GTX 7", "Quadro K", "TITAN Black"},
        .behaviour = TOLD(20, 1, WINDOW_EXPONENTIAL, 100, 1),
        .accuracy = "5 %",
        .gain = {.bound = 0.05,
                 .source =
                     "NVML's manual, nvmlDeviceGetPowerUsage: within 5 % on Fermi and Kepler"},
        .source = PAPER ": updated every 20 ms, rises in about 200 ms (two time constants are "
                        "taken); NVML: within 5 %",
    },
};

const struct gpu_vendor gpu_vendor_nvidia = {
    .name = "NVIDIA",
    .id = "nvidia",
    .backend = &nvml_backend,
    .library_variable = "TARE_NVML",
    .counter_source = "nvml-counter",
    .power_source = "nvml-power",
    .profiles = profiles,
    .profile_count = sizeof profiles / sizeof *profiles,
    .runtime = "CUDA",
    .visible_variable = "CUDA_VISIBLE_DEVICES",
    .order_variable = "CUDA_DEVICE_ORDER",
    .order_by_bus = "PCI_BUS_ID",
    .uuid_prefix = "GPU-",
    .part_prefix = "MIG-",
    .add_devices = add_proc_devices,
    .driver_version = driver_version,
    .driver_file = driver_file,
    .driver_line = "NVRM version",
    .driver_key = "nvidia_driver",
    .device_name = "nvidia",
    .control_device = "nvidiactl",
    .fault_name = "Xid",
    .fault_is_of_program = xid_is_of_program,
    .library_fix = library_fix,
    .fixes =
        {[GPU_FIX_BUSY] =
             "nvidia-smi, also outside the container, shows what; wait for it, or end it",
         [GPU_FIX_HELD] =
             "look outside the container; else sudo nvidia-smi --gpu-reset, or restart the machine",
         [GPU_FIX_SLOWED] = "look after its cooling and its power supply: nvidia-smi -q -d "
                            "PERFORMANCE,TEMPERATURE",
         [GPU_FIX_ERRORS] =
             "nvidia-smi -q -d ECC,ROW_REMAPPER   # then: sudo nvidia-smi --gpu-reset",
         [GPU_FIX_PERSISTENCE] = "sudo nvidia-smi -pm 1   # or start nvidia-persistenced",
         [GPU_FIX_PARTS] = "sudo nvidia-smi -mig 0   # ends the division; nothing may use the GPU",
         [GPU_FIX_SILENT] = "nvidia-smi tells whether it hangs as well; then: reset the GPU, or "
                            "start the machine anew",
         [GPU_FIX_UNTOLD] =
             "nvidia-smi tells whether the driver answers at all; section Sensors says more"},
    .cuda = true,
};
