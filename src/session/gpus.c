#include "session/gpus.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "session/command.h"
#include "machine/gpu/visible.h"

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

void gpus_fence(const struct strv *environment, struct gpu_devices *devices)
{
    for (size_t i = 0; strv_env_get(environment, "SLURM_JOB_ID") && i < devices->count; i++) {
        struct gpu_device *device = &devices->items[i];
        AUTO_FREE char *path = mem_printf("%s/dev/nvidia%d", gpus_root(), device->minor);
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
        /* "GPU-" alone would name any. */
        bool by_uuid = length > strlen("GPU-") && strncmp(device->uuid, word, length) == 0;
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
    return gpu_lock_folder_open(path, strcmp(path, GPU_LOCK_FOLDER) == 0 ? getenv("XDG_RUNTIME_DIR") : NULL, out, err);
}

static void warn_of(const char *value, const struct gpu_visible *visible)
{
    if (visible->twice)
        cli_warning("CUDA_VISIBLE_DEVICES=%s names a GPU twice: CUDA shows none, and none is locked", value);
    if (visible->ended_by)
        cli_warning("CUDA_VISIBLE_DEVICES=%s: '%s' is no GPU of this machine; CUDA ends the list there", value,
                    visible->ended_by);
    if (visible->unsupported)
        cli_warning("CUDA_VISIBLE_DEVICES=%s: slices of a GPU (MIG) are not locked", value);
    if (visible->guessed_number)
        cli_warning("CUDA_VISIBLE_DEVICES=%s counts unlike GPUs, the fastest first: the lock may be that of another "
                    "one; CUDA_DEVICE_ORDER=PCI_BUS_ID makes it sure",
                    value);
}

static void select_for(const struct gpu_devices *devices, const char *value, const char *order, bool warn, bool *used)
{
    struct gpu_visible visible;
    gpu_visible_find(devices, value, order, &visible);
    for (size_t i = 0; i < visible.count; i++)
        used[visible.items[i]] = true;
    if (value && warn)
        warn_of(value, &visible);
    gpu_visible_fini(&visible);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *job_variable(const struct plan_job *job, const struct strv *environment, const char *name)
{
    const char *own = job ? strv_env_get(&job->env, name) : NULL;
    return own ? own : strv_env_get(environment, name);
}

/* Every experiment's foreground at the even places, at the odd ones its background, where it has one. */
static const struct plan_job *planned_job(const struct plan *plan, size_t place)
{
    const struct plan_experiment *experiment = &plan->experiments[place / 2];
    return place % 2 == 1 && experiment->parallel ? &experiment->background : &experiment->foreground;
}

bool gpus_are_chosen(const struct strv *environment, const struct plan *plan)
{
    if (strv_env_get(environment, "CUDA_VISIBLE_DEVICES"))
        return true;
    for (size_t i = 0; plan && i < 2 * plan->count; i++)
        if (!strv_env_get(&planned_job(plan, i)->env, "CUDA_VISIBLE_DEVICES"))
            return false;
    return plan != NULL;
}

static size_t select_all(const struct gpu_devices *devices, const struct strv *environment, const struct plan *plan,
                         bool warn, bool *used)
{
    const char *value_before = NULL, *order_before = NULL;
    size_t count = 0, jobs = plan ? 2 * plan->count : 1;
    for (size_t i = 0; i < jobs; i++) {
        const struct plan_job *job = plan ? planned_job(plan, i) : NULL;
        const char *value = job_variable(job, environment, "CUDA_VISIBLE_DEVICES");
        const char *order = job_variable(job, environment, "CUDA_DEVICE_ORDER");
        /* Usually all experiments have the same, and one warning is enough. */
        if (i == 0 || !same(value, value_before) || !same(order, order_before))
            select_for(devices, value, order, warn, used);
        value_before = value;
        order_before = order;
    }
    for (size_t i = 0; i < devices->count; i++)
        count += used[i];
    return count;
}

size_t gpus_select(const struct gpu_devices *devices, const struct strv *environment, const struct plan *plan,
                   bool *used)
{
    return select_all(devices, environment, plan, true, used);
}

size_t gpus_select_silently(const struct gpu_devices *devices, const struct strv *environment, const struct plan *plan,
                            bool *used)
{
    return select_all(devices, environment, plan, false, used);
}

char *gpus_name(const struct gpu_devices *devices, size_t place)
{
    const struct gpu_device *device = &devices->items[place];
    const char *model = *device->model ? device->model : "unknown model";
    size_t number = 0;
    if (device->excluded)
        return mem_printf("excluded GPU (%s, %s)", model, gpu_lock_label(device));
    for (size_t i = 0; i < place; i++)
        number += !devices->items[i].excluded;
    return mem_printf("GPU %zu (%s, %s)", number, model, gpu_lock_label(device));
}

static void add_since(struct text *text, int64_t since_s, int64_t now_s)
{
    char stamp[40], age[32];
    struct tm local;
    time_t since = (time_t)since_s;
    if (since_s == 0 || !localtime_r(&since, &local) || strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local) == 0)
        return;
    text_addf(text, " since %s", stamp);
    if (now_s < since_s)
        return;
    clock_format_duration((double)(now_s - since_s), age);
    text_addf(text, " (%s)", age);
}

char *gpus_holder_text(const struct gpu_lock_conflict *conflict, const struct gpu_holder *self, int64_t now_s)
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
