#include "session/pool.h"

#include "base/mem.h"
#include "base/text.h"
#include "session/gpus.h"
#include "machine/gpu/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char visible_variable[] = "CUDA_VISIBLE_DEVICES", order_variable[] = "CUDA_DEVICE_ORDER";

/* By any of these a training chooses its GPUs itself. */
static const char *const reserved[] = {visible_variable, "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", NULL};

struct dealing {
    struct gpu_devices devices;
    bool *used;   /* for each device */
    size_t count; /* of those */
    bool seen;    /* what is used is just what the environment shows */
};

static const char *reserved_of(const struct plan_job *job)
{
    for (size_t i = 0; reserved[i]; i++)
        if (strv_env_get(&job->env, reserved[i]))
            return reserved[i];
    return NULL;
}

/* The first variable by which some training is told its GPUs, or NULL. */
static const char *reserved_in(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const char *name = reserved_of(&plan->experiments[i].foreground);
        if (!name && plan->experiments[i].parallel)
            name = reserved_of(&plan->experiments[i].background);
        if (name)
            return name;
    }
    return NULL;
}

/* Slurm may tell of the allocation without hiding the other GPUs. */
static const char *allowed_value(const struct strv *environment, const char **order)
{
    const char *value = strv_env_get(environment, visible_variable);
    *order = strv_env_get(environment, order_variable);
    if (value || !strv_env_get(environment, "SLURM_JOB_ID"))
        return value;
    *order = "PCI_BUS_ID";
    value = strv_env_get(environment, "SLURM_STEP_GPUS");
    return value ? value : strv_env_get(environment, "SLURM_JOB_GPUS");
}

/* False: the environment shows what nobody here can deal out. */
static bool find_allowed(struct dealing *dealing, const struct strv *environment)
{
    const char *order, *value = allowed_value(environment, &order);
    struct gpu_visible visible;
    gpu_devices_read(gpus_root(), &dealing->devices, NULL); /* what cannot be read is told when the locks are taken */
    gpus_fence(environment, &dealing->devices);
    dealing->used = mem_array(dealing->devices.count + 1, sizeof *dealing->used);
    gpu_visible_find(&dealing->devices, value, order, &visible);
    for (size_t i = 0; i < visible.count; i++)
        dealing->used[visible.items[i]] = true;
    dealing->count = visible.count;
    dealing->seen = !value || strv_env_get(environment, visible_variable) != NULL;
    bool clear = !visible.unsupported;
    gpu_visible_fini(&visible);
    return clear;
}

/* The devices of a list, of those that are allowed. */
static bool choose(struct dealing *dealing, const char *list, struct err *err)
{
    size_t count = dealing->devices.count;
    AUTO_FREE bool *chosen = mem_array(count + 1, sizeof *chosen);
    bool none = strcmp(list, "none") == 0;
    if (strcmp(list, "all") == 0)
        return true;
    for (const char *word = none ? NULL : list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ","), place = 0;
        if (!gpus_find(&dealing->devices, word, length, &place))
            return err_set(err, "'%.*s' is no GPU of this machine, which has %zu (by number from 0, or by UUID)",
                           (int)length, word, count);
        if (!dealing->used[place])
            return err_set(err,
                           "GPU %.*s is not among those that this run may use: CUDA_VISIBLE_DEVICES, or the Slurm "
                           "allocation, allows %zu",
                           (int)length, word, dealing->count);
        chosen[place] = true;
    }
    dealing->seen = false;
    dealing->count = 0;
    for (size_t i = 0; i < count; i++)
        dealing->count += dealing->used[i] = chosen[i];
    return true;
}

/* How a program is shown these of the used GPUs, and no others: by UUID, which no order of counting changes. */
static char *visible_text(const struct dealing *dealing, size_t first, size_t count)
{
    struct text uuids = {0}, numbers = {0};
    size_t number = 0, place = 0;
    bool all_known = true;
    for (size_t i = 0; i < dealing->devices.count; i++) {
        const struct gpu_device *device = &dealing->devices.items[i];
        if (dealing->used[i] && place >= first && place < first + count) {
            text_addf(&uuids, "%s%s", uuids.length ? "," : "", device->uuid);
            text_addf(&numbers, "%s%zu", numbers.length ? "," : "", number);
            all_known = all_known && *device->uuid;
        }
        place += dealing->used[i];
        number += !device->excluded;
    }
    char *text = mem_strdup(text_get(all_known ? &uuids : &numbers));
    text_fini(&uuids);
    text_fini(&numbers);
    return text;
}

static void show(const struct dealing *dealing, size_t first, size_t count, struct strv *environment)
{
    AUTO_FREE char *text = visible_text(dealing, first, count);
    strv_env_set(environment, visible_variable, text);
    strv_env_set(environment, order_variable, "PCI_BUS_ID");
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

static bool deal(struct dealing *dealing, const struct plan *plan, struct strv *environment, struct pool *out,
                 struct err *err)
{
    size_t each = plan->pool.per_experiment > 0 ? (size_t)plan->pool.per_experiment : dealing->count;
    if (each > dealing->count && each > 1)
        return err_set(err, "'gpus_per_experiment' is %zu, and this run may use %zu GPU%s", each, dealing->count,
                       dealing->count == 1 ? "" : "s");
    out->lane_count = each > 0 && dealing->count > 0 ? dealing->count / each : 1;
    out->lanes = mem_array(out->lane_count, sizeof *out->lanes);
    size_t taken = dealing->count > 0 ? out->lane_count * each : 0;
    if (taken < dealing->count || !dealing->seen)
        show(dealing, 0, taken, environment);
    for (size_t i = 0; i < out->lane_count; i++) {
        out->lanes[i].gpu_first = i * each;
        out->lanes[i].gpu_count = dealing->count > 0 ? each : 0;
        if (out->lane_count > 1)
            show(dealing, i * each, each, &out->lanes[i].environment);
    }
    for (size_t i = 0; i < out->lane_count; i++)
        add_buses(dealing, out->lanes[i].gpu_first, out->lanes[i].gpu_count, &out->lanes[i].buses);
    if (plan->pool.cpu_sets == CPU_SETS_NEAR)
        deal_cpus(out);
    return true;
}

bool pool_make(const char *gpus, const struct plan *plan, struct strv *environment, struct pool *out, struct err *err)
{
    struct dealing dealing = {0};
    const char *list = gpus ? gpus : plan->pool.gpus, *own = reserved_in(plan);
    *out = (struct pool){0};
    if (own && (list || plan->pool.per_experiment > 1))
        return err_set(err,
                       "the settings or the registry give %s to a training, which then does not see the GPU that it "
                       "gets: take it out, or do without '%s'",
                       own,
                       gpus   ? "--gpus"
                       : list ? "gpus"
                              : "gpus_per_experiment");
    if (own)
        return true;
    bool clear = find_allowed(&dealing, environment);
    bool ok = !clear || ((!list || choose(&dealing, list, err)) && deal(&dealing, plan, environment, out, err));
    gpu_devices_fini(&dealing.devices);
    free(dealing.used);
    return ok;
}

void pool_fini(struct pool *pool)
{
    for (size_t i = 0; i < pool->lane_count; i++) {
        strv_fini(&pool->lanes[i].environment);
        strv_fini(&pool->lanes[i].buses);
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
    return mem_printf("%zu GPUs, %zu experiments at a time on %zu GPU%s each%s%s", pool->lane_count * each,
                      pool->lane_count, each, each == 1 ? "" : "s", cpus ? "; " : "", cpus ? cpus : "");
}
