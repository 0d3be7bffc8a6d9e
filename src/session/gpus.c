#include "session/gpus.h"
#include "base/fs_path.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/gpu/visible.h"
#include "session/command.h"
#include "session/run_input.h"
#include "tare_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *gpus_root(void)
{
    const char *root = getenv("TARE_SYSROOT");
    return root ? root : "";
}

const char *gpus_library(const struct gpu_vendor *vendor)
{
    const char *library = vendor->library_variable ? getenv(vendor->library_variable) : NULL;
    return library && *library ? library : NULL;
}

void gpus_fence(const struct strv *environment, struct gpu_devices *devices)
{
    for (size_t i = 0; strv_env_get(environment, "SLURM_JOB_ID") && i < devices->count; i++) {
        struct gpu_device *device = &devices->items[i];
        AUTO_FREE char *dev = mem_printf("%s/dev", gpus_root());
        AUTO_FREE char *path = gpu_vendor_device_path(device->vendor, dev, device->minor);
        if (device->minor >= 0 && access(path, R_OK | W_OK) != 0 && errno == EPERM)
            device->excluded = true;
    }
}

bool gpus_find(const struct gpu_devices *devices, const char *word, size_t length, size_t *place)
{
    size_t number = 0, found = 0;
    for (size_t i = 0; i < devices->count; i++) {
        const struct gpu_device *device = &devices->items[i];
        AUTO_FREE char *digits = mem_printf("%zu", number);
        if (device->excluded)
            continue;
        number++;
        bool by_number = strlen(digits) == length && strncmp(digits, word, length) == 0;
        /* The prefix alone would name any. */
        bool by_uuid = length > strlen(device->vendor->uuid_prefix) &&
                       strncmp(device->uuid, word, length) == 0;
        if (!by_number && !by_uuid)
            continue;
        *place = i;
        found++;
    }
    return found == 1;
}

const char *gpus_lock_path(void)
{
    const char *wanted = getenv("TARE_LOCK_DIR");
    return wanted && *wanted ? wanted : GPU_LOCK_FOLDER;
}

bool gpus_lock_folder(struct gpu_lock_folder *out, struct err *err)
{
    const char *path = gpus_lock_path();
    return gpu_lock_folder_open(
        path, strcmp(path, GPU_LOCK_FOLDER) == 0 ? getenv("XDG_RUNTIME_DIR") : NULL, out, err);
}

static void warn_of(const struct gpu_vendor *vendor, const char *value,
                    const struct gpu_visible *visible)
{
    const char *name = vendor->visible_variable;
    if (visible->twice)
        cli_warning("%s=%s names a GPU twice: %s shows none, and none is locked", name, value,
                    vendor->runtime);
    if (visible->ended_by)
        cli_warning("%s=%s: '%s' is no GPU of this machine; %s ends the list there", name, value,
                    visible->ended_by, vendor->runtime);
    if (visible->unsupported)
        cli_warning("%s=%s: slices of a GPU (%.*s) are neither locked nor measured", name, value,
                    (int)strcspn(vendor->part_prefix, "-"), vendor->part_prefix);
    if (visible->guessed_number)
        cli_warning("%s=%s counts unlike GPUs, the fastest first: the lock may be that of another "
                    "one; %s=%s makes it sure",
                    name, value, vendor->order_variable, vendor->order_by_bus);
}

static void select_for(const struct gpu_vendor *vendor, const struct gpu_devices *devices,
                       const char *value, const char *order, bool warn, bool *used)
{
    AUTO(gpu_visible_fini) struct gpu_visible visible = {0};
    gpu_visible_find(vendor, devices, value, order, &visible);
    EACH (item, visible.items, visible.count)
        used[*item] = true;
    if (value && warn)
        warn_of(vendor, value, &visible);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* name: NULL: there is no such variable. */
static const char *job_variable(const struct plan_job *job, const struct strv *environment,
                                const char *name)
{
    const char *own = job && name ? strv_env_get(&job->env, name) : NULL;
    return own || !name ? own : strv_env_get(environment, name);
}

/* Every experiment's foreground at the even places, at the odd ones its background, where it has
 * one. */
static const struct plan_job *planned_job(const struct plan *plan, size_t place)
{
    const struct plan_experiment *experiment = &plan->experiments[place / 2];
    return place % 2 == 1 && experiment->parallel ? experiment->background
                                                  : &experiment->foreground;
}

static bool is_set_for_all(const char *name, const struct strv *environment,
                           const struct plan *plan)
{
    if (strv_env_get(environment, name))
        return true;
    for (size_t i = 0; plan && i < 2 * plan->count; i++)
        if (!strv_env_get(&planned_job(plan, i)->env, name))
            return false;
    return plan != NULL;
}

const char *gpus_unchosen(const struct gpu_devices *devices, const struct strv *environment,
                          const struct plan *plan)
{
    for (size_t i = 0; gpu_vendors[i]; i++)
        if (gpu_devices_have(devices, gpu_vendors[i]) &&
            !is_set_for_all(gpu_vendors[i]->visible_variable, environment, plan))
            return gpu_vendors[i]->visible_variable;
    return NULL;
}

static void select_of(const struct gpu_vendor *vendor, const struct gpu_devices *devices,
                      const struct strv *environment, const struct plan *plan, bool warn,
                      bool *used)
{
    const char *value_before = NULL, *order_before = NULL;
    size_t jobs = plan ? 2 * plan->count : 1;
    for (size_t i = 0; i < jobs; i++) {
        const struct plan_job *job = plan ? planned_job(plan, i) : NULL;
        const char *value = job_variable(job, environment, vendor->visible_variable);
        const char *order = job_variable(job, environment, vendor->order_variable);
        /* Usually all experiments have the same, and one warning is enough. */
        if (i == 0 || !is_same_text(value, value_before) || !is_same_text(order, order_before))
            select_for(vendor, devices, value, order, warn, used);
        value_before = value;
        order_before = order;
    }
}

size_t gpus_select(const struct gpu_devices *devices, const struct strv *environment,
                   const struct plan *plan, bool warn, bool *used)
{
    size_t count = 0;
    for (size_t i = 0; gpu_vendors[i]; i++)
        if (gpu_devices_have(devices, gpu_vendors[i]))
            select_of(gpu_vendors[i], devices, environment, plan, warn, used);
    EACH (item, used, devices->count)
        count += *item;
    return count;
}

bool gpus_are_for_jobs(const char *asked, const struct strv *added)
{
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    AUTO_STRV struct strv environment = {0};
    if (asked && strcmp(asked, "none") == 0)
        return false;
    strv_add_all(&environment, added); /* before the rest: the first of a name is taken */
    for (char **at = environ; at && *at; at++)
        strv_add(&environment, *at);
    gpu_devices_read(gpus_root(), &devices, NULL);
    gpus_fence(&environment, &devices);
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    return gpus_select(&devices, &environment, NULL, false, used) > 0;
}

char *gpus_name(const struct gpu_devices *devices, size_t place)
{
    const struct gpu_device *device = &devices->items[place];
    const char *model = *device->model ? device->model : "unknown model";
    if (device->excluded)
        return mem_printf("excluded GPU (%s, %s)", model, gpu_lock_label(device));
    return mem_printf("GPU %zu (%s, %s)", gpu_devices_number(devices, NULL, place), model,
                      gpu_lock_label(device));
}

bool gpus_run_cuda(const struct strv *environment, const struct plan *plan, struct err *err)
{
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    bool good = true;
    gpu_devices_read(gpus_root(), &devices, NULL);
    gpus_fence(environment, &devices);
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    gpus_select(&devices, environment, plan, false, used);
    for (size_t i = 0; good && i < devices.count; i++)
        if (used[i] && !devices.items[i].vendor->cuda) {
            AUTO_FREE char *name = gpus_name(&devices, i);
            good = err_set(
                err,
                "%s is of %s: GPU memory is followed and limited for programs that use CUDA only",
                name, devices.items[i].vendor->name);
        }
    return good;
}

static void add_since(struct text *text, int64_t since_s, int64_t now_s)
{
    char stamp[40], age[32];
    struct tm local;
    time_t since = (time_t)since_s;
    if (since_s == 0 || !localtime_r(&since, &local) ||
        strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local) == 0)
        return;
    text_addf(text, " since %s", stamp);
    if (now_s < since_s)
        return;
    clock_format_duration((double)(now_s - since_s), age);
    text_addf(text, " (%s)", age);
}

char *gpus_holder_text(const struct gpu_lock_conflict *conflict, const struct gpu_holder *self,
                       int64_t now_s)
{
    const struct gpu_holder *holder = &conflict->holder;
    struct text text = {0};
    if (holder->pid == 0)
        return mem_strdup("a process that cannot be seen from here and has not said who it is");
    text_addf(&text, "process %d", (int)holder->pid);
    if (*holder->host && strcmp(holder->host, self->host) != 0)
        text_addf(&text, " on %s", holder->host);
    else if (holder->pid_namespace && holder->pid_namespace != self->pid_namespace)
        text_add(&text, " of another container");
    if (*holder->user)
        text_addf(&text, " of user %s", holder->user);
    if (!conflict->has_holder)
        text_addf(&text, " (%s)", *conflict->command ? conflict->command : "it has ended");
    add_since(&text, holder->since_s, now_s);
    if (*holder->run)
        text_addf(&text, ", run %s", holder->run);
    return text_take(&text);
}

#define FILE_NAME "libtare-cuda.so"

/* Of an installation, moved or not; of a build folder. */
static const char *const beside[] = {FILE_NAME, (TARE_LIB_FROM_BIN "/" FILE_NAME),
                                     ("../lib/" TARE_NAME "/" FILE_NAME),
                                     ("../gpu_memory/preload/" FILE_NAME)};

static char *readable_real_path(const char *path)
{
    return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

char *gpus_preload_library(struct err *err)
{
    const char *named = getenv("TARE_CUDA_LIBRARY");
    if (named && *named) {
        char *out = readable_real_path(named);
        if (!out)
            err_set(err, "TARE_CUDA_LIBRARY: %s is not there", named);
        return out;
    }
    AUTO_FREE char *self = program_file();
    AUTO_FREE char *folder = self ? fs_dirname(self) : NULL;
    for (size_t i = 0; folder && i < sizeof beside / sizeof *beside; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", folder, beside[i]);
        char *out = readable_real_path(path);
        if (out)
            return out;
    }
    char *out = readable_real_path(TARE_LIB_DIR "/" FILE_NAME);
    if (!out)
        err_set(err, FILE_NAME " is neither in %s nor beside this program", TARE_LIB_DIR);
    return out;
}
