#include "machine/gpu/nvml_users.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, ROOM_MAX = 65536, TRIES = 4 };

/* How far back shares are looked for: a driver's period is 1/6 s to 1 s. */
static const unsigned long long SHARE_US = 2000000;

typedef int (*list_call)(nvml_device device, unsigned *count, void *out);

/* The list may grow between two calls. *items: as many bytes an entry as the largest layout needs,
 * whichever the library writes; the caller frees. */
static int list_fetch(struct gpu_sensor *sensor, list_call call, char **items, unsigned *count)
{
    unsigned room = FIRST_ROOM;
    int result = NVML_ERROR_INSUFFICIENT_SIZE;
    for (int i = 0; i < TRIES && result == NVML_ERROR_INSUFFICIENT_SIZE && room <= ROOM_MAX; i++) {
        *items = mem_resize(*items, room, sizeof(struct nvml_process_535));
        memset(*items, 0, room * sizeof(struct nvml_process_535));
        *count = room;
        result = call(sensor->device, count, *items);
        if (result == NVML_SUCCESS && *count > room)
            *count = room;
        if (result == NVML_ERROR_INSUFFICIENT_SIZE)
            room = *count > room ? *count + 16 : room * 2;
    }
    return result;
}

/* Whether every entry, taken as this long, names a process. */
static bool stride_fits(const char *items, unsigned count, size_t stride)
{
    for (unsigned i = 0; i < count; i++) {
        struct nvml_process_v1 entry;
        memcpy(&entry, items + i * stride, sizeof entry);
        if (entry.pid == 0 || entry.pid > INT_MAX)
            return false;
    }
    return true;
}

static struct gpu_user *user_of(struct gpu_user_list *list, unsigned pid)
{
    EACH (item, list->items, list->count)
        if (item->pid == (int32_t)pid)
            return item;
    list->items = mem_room(list->items, list->count, sizeof *list->items);
    struct gpu_user *user = &list->items[list->count++];
    *user = (struct gpu_user){.pid = (int32_t)pid};
    return user;
}

static void list_take(const char *items, unsigned count, size_t stride, bool compute,
                      struct gpu_user_list *out)
{
    for (unsigned i = 0; i < count; i++) {
        struct nvml_process_v1 entry;
        memcpy(&entry, items + i * stride, sizeof entry);
        if (entry.pid == 0 || entry.pid > INT_MAX)
            continue;
        struct gpu_user *user = user_of(out, entry.pid);
        user->compute |= compute;
        user->graphics |= !compute;
        /* The same process in both lists has the same memory in both. */
        if (entry.used_bytes != NVML_NOT_AVAILABLE && entry.used_bytes < UINT64_C(1) << 50)
            user->memory_bytes = (struct reading){.value = (double)entry.used_bytes, .valid = true};
    }
}

static bool read_process_list(struct gpu_sensor *sensor, bool compute, struct gpu_user_list *out,
                              struct err *err)
{
    const struct nvml *api = sensor->api;
    const char *function =
        compute ? "nvmlDeviceGetComputeRunningProcesses" : "nvmlDeviceGetGraphicsRunningProcesses";
    list_call newer = compute ? api->compute : api->graphics,
              older = compute ? api->compute_v1 : api->graphics_v1;
    AUTO_FREE char *items = NULL;
    unsigned count = 0;
    if (!newer && !older)
        return nvml_lacks(function, err);
    int result = list_fetch(sensor, newer ? newer : older, &items, &count);
    if (result != NVML_SUCCESS)
        return nvml_fail(api, result, function, err);
    size_t stride = newer ? sizeof(struct nvml_process_v2) : sizeof(struct nvml_process_v1);
    if (newer && !stride_fits(items, count, stride) &&
        stride_fits(items, count, sizeof(struct nvml_process_535)))
        stride = sizeof(struct nvml_process_535);
    list_take(items, count, stride, compute, out);
    return true;
}

/* Both lists; *any: at least one of them was told. */
static bool lists_read(struct gpu_sensor *sensor, struct gpu_user_list *out, bool *any,
                       struct err *err)
{
    struct err why = {0}, graphics = {0};
    bool compute = read_process_list(sensor, true, out, &why);
    *any = compute;
    if (compute || why.code != ENODEV)
        *any |= read_process_list(sensor, false, out, &graphics);
    if (!compute && err)
        *err = why;
    return compute;
}

bool nvml_all_users(struct gpu_sensor *sensor, struct gpu_user_list *out, struct err *err)
{
    bool any;
    *out = (struct gpu_user_list){0};
    return lists_read(sensor, out, &any, err);
}

/* The newest share of each process; a process that computed nothing lately has none in the list,
 * which means 0. */
static void shares_read(struct gpu_sensor *sensor, struct gpu_users *out)
{
    unsigned count = 0;
    unsigned long long since_us = (unsigned long long)(clock_realtime_ns() / 1000) - SHARE_US;
    if (!sensor->api->shares || out->count == 0)
        return;
    int result = sensor->api->shares(sensor->device, NULL, &count, since_us);
    if ((result != NVML_SUCCESS && result != NVML_ERROR_INSUFFICIENT_SIZE) || count == 0 ||
        count > ROOM_MAX)
        return;
    AUTO(cleanup_free) struct nvml_process_share *items = mem_array(count, sizeof *items);
    unsigned got = count;
    if (sensor->api->shares(sensor->device, items, &got, since_us) != NVML_SUCCESS || got > count)
        return;
    for (uint32_t i = 0; i < out->count; i++) {
        unsigned long long newest_us = 0;
        struct gpu_user *user = &out->users[i];
        user->sm_percent = (struct reading){.value = 0, .valid = true};
        for (unsigned k = 0; k < got; k++)
            if (items[k].pid == (unsigned)user->pid && items[k].time_us >= newest_us) {
                newest_us = items[k].time_us;
                user->sm_percent = (struct reading){.value = items[k].sm <= 100 ? items[k].sm : 0,
                                                    .valid = items[k].sm <= 100};
            }
    }
}

bool nvml_users(struct gpu_sensor *sensor, struct gpu_users *out, struct err *err)
{
    struct gpu_user_list all = {0};
    bool any;
    *out = (struct gpu_users){0};
    out->told = lists_read(sensor, &all, &any, err);
    out->count = all.count < GPU_USERS_MAX ? (uint32_t)all.count : GPU_USERS_MAX;
    out->left_out = (uint32_t)(all.count - out->count);
    if (out->count > 0)
        memcpy(out->users, all.items, out->count * sizeof *out->users);
    free(all.items);
    if (any)
        shares_read(sensor, out);
    return any;
}
