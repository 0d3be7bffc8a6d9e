#include "session/calibrating.h"
#include "measure/calibration/calibration_width.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/gpu/vendor.h"
#include "session/gpus.h"
#include "tare_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SITE_FILE "/etc/" TARE_NAME "/calibrate"

enum { WORD_MAX = 64, TURN_POLL_MS = 100 };

/* False: the file does not exist; "": it cannot be read. */
static bool read_first_word(const char *path, char out[WORD_MAX])
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    *out = '\0';
    if (!fs_read_at(AT_FDCWD, path, WORD_MAX - 1, &text, &err))
        return err.code != ENOENT && err.code != ENOTDIR;
    snprintf(out, WORD_MAX, "%.*s", (int)strcspn(text_get(&text), " \t\n"), text_get(&text));
    return true;
}

bool calibrating_is_allowed(int mode, const struct strv *environment, struct err *err)
{
    char word[WORD_MAX];
    AUTO_FREE char *path = mem_printf("%s" SITE_FILE, gpus_root());
    const char *said = strv_env_get(environment, "TARE_CALIBRATE");
    if (read_first_word(path, word) && strcmp(word, "auto") != 0)
        return err_set(err, "%s forbids it", path);
    if (said && *said && strcmp(said, "auto") != 0)
        return err_set(err, "TARE_CALIBRATE=%s forbids it", said);
    if (mode == CALIBRATE_NEVER)
        return err_set(err, "the settings forbid it");
    if (mode != CALIBRATE_SLURM && strv_env_get(environment, "SLURM_JOB_ID"))
        return err_set(
            err, "this is a job of Slurm (\"calibrate\": \"slurm\" in the settings allows it)");
    return true;
}

/* Batteries of mice and such have the scope Device.
 * (Documentation/ABI/testing/sysfs-class-power) */
static bool has_battery(void)
{
    AUTO_FREE char *folder = mem_printf("%s/sys/class/power_supply", gpus_root());
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        char type[WORD_MAX], scope[WORD_MAX];
        AUTO_FREE char *type_path = mem_printf("%s/%s/type", folder, entry->d_name);
        AUTO_FREE char *scope_path = mem_printf("%s/%s/scope", folder, entry->d_name);
        found = *entry->d_name != '.' && read_first_word(type_path, type) &&
                strcmp(type, "Battery") == 0 &&
                !(read_first_word(scope_path, scope) && strcmp(scope, "Device") == 0);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* NVIDIA's Multi-Process Service: its control daemon has a pipe there, and takes every CUDA
 * program's work. */
static bool has_mps(void)
{
    struct stat status;
    const char *named = getenv("CUDA_MPS_PIPE_DIRECTORY");
    AUTO_FREE char *path = named && *named ? mem_printf("%s/control", named)
                                           : mem_printf("%s/tmp/nvidia-mps/control", gpus_root());
    return stat(path, &status) == 0;
}

bool calibrating_suits_machine(struct err *err)
{
    if (has_battery())
        return err_set(err, "this machine has a battery");
    return !has_mps() || err_set(err, "the Multi-Process Service (MPS) shares its GPUs");
}

#define KNOWN(middle, half)                                    \
    {                                                          \
        .known = true, .value = (middle), .half_width = (half) \
    }

/* As calibrations of H100 and H200 have them (docs/measurements.md). */
static const struct calibration typical = {
    .sensors = {[CALIBRATION_SAMPLES] = {.update_period_s = KNOWN(0.02, 0.0002),
                                         .jitter_s = KNOWN(0.0034, 0.0005),
                                         .lag_s = KNOWN(0.014, 0.007),
                                         .updates = 1000},
                [CALIBRATION_COUNTER] = {.update_period_s = KNOWN(0.1, 0.0001),
                                         .jitter_s = KNOWN(0.001, 0.0005),
                                         .averaging = AVERAGING_BOXCAR,
                                         .averaging_s = KNOWN(0.099, 0.0014),
                                         .delay_s = KNOWN(0.006, 0.003),
                                         .looked_share = KNOWN(0.987, 0.014),
                                         .updates = 300}}};

static bool is_device_uncalibrated(const struct energy_meters_figures *device)
{
    const struct gpu_vendor *vendor =
        device->uuid ? gpu_vendor_by_uuid(device->uuid, strlen(device->uuid)) : NULL;
    const struct window_energy *window = &device->window;
    return device->scope == ENERGY_GPU && device->profile && !device->calibration &&
           !device->contradiction && vendor && vendor->cuda && window->energy_j.valid &&
           window->half_width_j.valid && window->energy_j.value > 0;
}

char *calibrating_hint(const struct energy_meters_result *result)
{
    EACH (device, result->devices, result->device_count) {
        const struct window_energy *window = &device->window;
        if (!is_device_uncalibrated(device))
            continue;
        double share = window->half_width_j.value / window->energy_j.value;
        double seconds = ns_to_s(window->end_ns - window->start_ns);
        struct reading then = calibration_half_width_share(&typical, device->profile, seconds);
        if (then.valid && share > 2 * then.value)
            return mem_printf("%s: its energy has ± %.2g %%; after '" TARE_NAME
                              " calibrate' (a minute of load) it would have about "
                              "± %.2g %%, if its sensor is like an H100's",
                              device->name, 100 * share, 100 * then.value);
    }
    return NULL;
}

/* Reading is enough for a lock. O_EXCL: the kernel refuses O_CREAT on another user's file in a
 * folder like /tmp (fs.protected_regular). */
static int open_turn(int folder)
{
    static const char name[] = "calibration.lock";
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(folder, name, flags);
    if (fd < 0 && errno == ENOENT)
        fd = openat(folder, name, flags | O_CREAT | O_EXCL, 0644);
    return fd < 0 && errno == EEXIST ? openat(folder, name, flags) : fd;
}

int calibrating_turn(double wait_s, struct err *err)
{
    struct gpu_lock_folder folder;
    int64_t end_ns = clock_monotonic_ns() + (int64_t)(wait_s * 1e9);
    if (!gpus_lock_folder(&folder, err))
        return -1;
    int fd = open_turn(folder.fd);
    if (fd < 0)
        err_sys(err, "%s/calibration.lock", folder.path);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (clock_monotonic_ns() > end_ns) {
            err_set(err, "the calibration of another GPU has not ended within %.0f s", wait_s);
            cleanup_close(&fd);
            fd = -1;
        } else {
            poll(NULL, 0, TURN_POLL_MS);
        }
    }
    gpu_lock_folder_fini(&folder);
    return fd;
}
