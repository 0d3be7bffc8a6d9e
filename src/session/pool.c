/* Decides which GPUs a run uses, and which variables show them to a training. */
#include "session/gpus.h"

#include "base/mem.h"
#include "base/text.h"
#include "machine/gpu/visible.h"

#include <stdlib.h>
#include <string.h>

/* By these, too, a training chooses its GPUs itself: of AMD, which is not among the vendors. */
static const char *const reserved[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", NULL};

struct dealing {
    struct gpu_devices devices;
    bool *used;   /* for each device */
    size_t count; /* of those */
    bool seen;    /* what is used is just what the environment shows */
};

static const char *reserved_of(const struct plan_job *job)
{
    for (size_t i = 0; gpu_vendors[i]; i++)
        if (strv_env_get(&job->env, gpu_vendors[i]->visible_variable))
            return gpu_vendors[i]->visible_variable;
    for (size_t i = 0; reserved[i]; i++)
        if (strv_env_get(&job->env, reserved[i]))
            return reserved[i];
    return NULL;
}

/* The first variable by which some training is told its GPUs, or NULL. */
static const char *reserved_in(const struct plan *plan)
{
    EACH (experiment, plan->experiments, plan->count) {
        const char *name = reserved_of(&experiment->foreground);
        if (!name && experiment->parallel)
            name = reserved_of(experiment->background);
        if (name)
            return name;
    }
    return NULL;
}

/* Slurm may tell of the allocation without hiding the other GPUs. */
static const char *allowed_value(const struct gpu_vendor *vendor, const struct strv *environment,
                                 const char **order)
{
    const char *value = strv_env_get(environment, vendor->visible_variable);
    *order = vendor->order_variable ? strv_env_get(environment, vendor->order_variable) : NULL;
    if (value || !strv_env_get(environment, "SLURM_JOB_ID"))
        return value;
    *order = vendor->order_by_bus;
    value = strv_env_get(environment, "SLURM_STEP_GPUS");
    return value ? value : strv_env_get(environment, "SLURM_JOB_GPUS");
}

/* False: the environment shows what nobody here can deal out. */
static bool find_allowed(struct dealing *dealing, const struct strv *environment)
{
    bool clear = true;
    /* what cannot be read is told when the locks are taken */
    gpu_devices_read(gpus_root(), &dealing->devices, NULL);
    gpus_fence(environment, &dealing->devices);
    dealing->used = mem_array(dealing->devices.count + 1, sizeof *dealing->used);
    dealing->seen = true;
    for (size_t v = 0; gpu_vendors[v]; v++) {
        struct gpu_visible visible;
        const char *order, *value = allowed_value(gpu_vendors[v], environment, &order);
        gpu_visible_find(gpu_vendors[v], &dealing->devices, value, order, &visible);
        EACH (item, visible.items, visible.count)
            dealing->used[*item] = true;
        dealing->count += visible.count;
        dealing->seen &=
            !value || strv_env_get(environment, gpu_vendors[v]->visible_variable) != NULL;
        clear &= !visible.unsupported;
        gpu_visible_fini(&visible);
    }
    return clear;
}

/* The GPUs of a list that are also allowed. */
static bool choose_allowed_gpus(struct dealing *dealing, const char *list, struct err *err)
{
    size_t count = dealing->devices.count;
    AUTO_FREE bool *chosen = mem_array(count + 1, sizeof *chosen);
    bool none = strcmp(list, "none") == 0;
    if (strcmp(list, "all") == 0)
        return true;
    for (const char *word = none ? NULL : list; word;
         word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ","), place = 0;
        if (!gpus_find(&dealing->devices, word, length, &place))
            return err_set(
                err,
                "'%.*s' is no GPU of this machine, which has %zu (by number from 0, or by UUID)",
                (int)length, word, count);
        if (!dealing->used[place])
            return err_set(err,
                           "GPU %.*s is not among those that this run may use: %s, or the Slurm "
                           "allocation, allows %zu",
                           (int)length, word,
                           dealing->devices.items[place].vendor->visible_variable, dealing->count);
        chosen[place] = true;
    }
    dealing->seen = false;
    dealing->count = 0;
    for (size_t i = 0; i < count; i++)
        dealing->count += dealing->used[i] = chosen[i];
    return true;
}

/* How a program is shown these of the used GPUs, and no others: by UUID, which no order of counting
 * changes. */
static char *visible_text(const struct dealing *dealing, const struct gpu_vendor *vendor,
                          size_t first, size_t count)
{
    AUTO(text_fini) struct text uuids = {0}, numbers = {0};
    size_t place = 0;
    bool all_known = true;
    for (size_t i = 0; i < dealing->devices.count; i++) {
        const struct gpu_device *device = &dealing->devices.items[i];
        if (dealing->used[i] && device->vendor == vendor && place >= first &&
            place < first + count) {
            text_addf(&uuids, "%s%s", uuids.length ? "," : "", device->uuid);
            text_addf(&numbers, "%s%zu", numbers.length ? "," : "",
                      gpu_devices_number(&dealing->devices, vendor, i));
            all_known = all_known && *device->uuid;
        }
        place += dealing->used[i];
    }
    return mem_strdup(text_get(all_known ? &uuids : &numbers));
}

static void show_gpus_to_jobs(const struct dealing *dealing, size_t first, size_t count,
                              struct strv *environment)
{
    for (size_t i = 0; gpu_vendors[i]; i++) {
        const struct gpu_vendor *vendor = gpu_vendors[i];
        if (dealing->devices.count > 0 && !gpu_devices_have(&dealing->devices, vendor))
            continue;
        AUTO_FREE char *text = visible_text(dealing, vendor, first, count);
        strv_env_set(environment, vendor->visible_variable, text);
        if (vendor->order_variable)
            strv_env_set(environment, vendor->order_variable, vendor->order_by_bus);
    }
}

/* The PCI addresses of these of the used GPUs. */
static void add_buses(const struct dealing *dealing, size_t first, size_t count, struct strv *out)
{
    size_t place = 0;
    for (size_t i = 0; i < dealing->devices.count; i++) {
        if (dealing->used[i] && place >= first && place < first + count)
            strv_add(out, dealing->devices.items[i].bus);
        place += dealing->used[i];
    }
}

static void deal_cpus(struct pool *out)
{
    struct cpus allowed;
    AUTO_FREE struct strv *buses = mem_array(out->lane_count, sizeof *buses);
    for (size_t i = 0; i < out->lane_count; i++)
        buses[i] = out->lanes[i].buses;
    cpus_allowed(&allowed); /* the kernel always says; if not, there is none, which is told */
    cpu_sets_make(gpus_root(), buses, out->lane_count, &allowed, &out->cpu_sets);
    for (size_t i = 0; i < out->lane_count; i++)
        out->lanes[i].cpus = out->cpu_sets.lanes ? &out->cpu_sets.lanes[i] : NULL;
}

static bool deal_gpus_to_lanes(struct dealing *dealing, const struct plan *plan,
                               struct strv *environment, struct pool *out, struct err *err)
{
    size_t each =
        plan->pool.per_experiment > 0 ? (size_t)plan->pool.per_experiment : dealing->count;
    if (each > dealing->count && each > 1)
        return err_set(err, "'gpus_per_experiment' is %zu, and this run may use %zu GPU%s", each,
                       dealing->count, dealing->count == 1 ? "" : "s");
    out->lane_count = each > 0 && dealing->count > 0 ? dealing->count / each : 1;
    out->lanes = mem_array(out->lane_count, sizeof *out->lanes);
    size_t taken = dealing->count > 0 ? out->lane_count * each : 0;
    if (taken < dealing->count || !dealing->seen)
        show_gpus_to_jobs(dealing, 0, taken, environment);
    for (size_t i = 0; i < out->lane_count; i++) {
        out->lanes[i].gpu_first = i * each;
        out->lanes[i].gpu_count = dealing->count > 0 ? each : 0;
        if (out->lane_count > 1)
            show_gpus_to_jobs(dealing, i * each, each, &out->lanes[i].environment);
    }
    EACH (lane, out->lanes, out->lane_count)
        add_buses(dealing, lane->gpu_first, lane->gpu_count, &lane->buses);
    if (plan->pool.cpu_sets == CPU_SETS_NEAR)
        deal_cpus(out);
    return true;
}

bool pool_make(const char *gpus, const struct plan *plan, struct strv *environment,
               struct pool *out, struct err *err)
{
    struct dealing dealing = {0};
    const char *list = gpus ? gpus : plan->pool.gpus, *own = reserved_in(plan);
    *out = (struct pool){0};
    if (own && (list || plan->pool.per_experiment > 1))
        return err_set(err,
                       "the settings or the registry give %s to a training, which then does not "
                       "see the GPU that it "
                       "gets: take it out, or do without '%s'",
                       own,
                       gpus   ? "--gpus"
                       : list ? "gpus"
                              : "gpus_per_experiment");
    if (own)
        return true;
    bool clear = find_allowed(&dealing, environment);
    bool ok = !clear || ((!list || choose_allowed_gpus(&dealing, list, err)) &&
                         deal_gpus_to_lanes(&dealing, plan, environment, out, err));
    gpu_devices_fini(&dealing.devices);
    free(dealing.used);
    return ok;
}

void pool_fini(struct pool *pool)
{
    EACH (lane, pool->lanes, pool->lane_count) {
        strv_fini(&lane->environment);
        strv_fini(&lane->buses);
    }
    free(pool->lanes);
    cpu_sets_fini(&pool->cpu_sets);
    *pool = (struct pool){0};
}

char *pool_text(const struct pool *pool)
{
    if (pool->lane_count < 2)
        return NULL;
    size_t each = pool->lanes[0].gpu_count;
    AUTO_FREE char *cpus = cpu_sets_text(&pool->cpu_sets);
    return mem_printf("%zu GPUs, %zu experiments at a time on %zu GPU%s each%s%s",
                      pool->lane_count * each, pool->lane_count, each, each == 1 ? "" : "s",
                      cpus ? "; " : "", cpus ? cpus : "");
}
