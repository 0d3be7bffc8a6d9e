#include "machine/gpu/nvml_query.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/gpu/sensor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GPUS_MAX = 1024 };

static void send_message(int out, const struct nvml_message *message)
{
    const char *bytes = (const char *)message;
    for (size_t sent = 0; sent < sizeof *message;) {
        ssize_t written = write(out, bytes + sent, sizeof *message - sent);
        if (written < 0 && errno != EINTR)
            _exit(1);
        sent += written > 0 ? (size_t)written : 0;
    }
}

static void send_users(const struct gpu_identity *who, const struct gpu_user_list *users, int out)
{
    for (size_t i = 0; i < users->count; i++) {
        const struct gpu_user *user = &users->items[i];
        struct nvml_message message = {.kind = NVML_MESSAGE_USE};
        struct nvml_use *use = &message.use;
        *use = (struct nvml_use){.pid = user->pid, .minor = who->minor, .has_bytes = user->memory_bytes.valid};
        use->bytes = use->has_bytes ? (uint64_t)user->memory_bytes.value : 0;
        memcpy(use->uuid, who->uuid, strnlen(who->uuid, sizeof use->uuid - 1));
        send_message(out, &message);
    }
}

/* False: this GPU does not tell. */
static bool ask_gpu(const struct gpu_backend *backend, struct gpu_driver *driver, uint32_t index, int out)
{
    char number[16];
    struct gpu_identity who;
    struct gpu_user_list users = {0};
    snprintf(number, sizeof number, "%" PRIu32, index);
    struct gpu_sensor *sensor = backend->sensor_open(driver, number, NULL);
    if (!sensor)
        return false;
    backend->identify(sensor, &who);
    bool told = backend->all_users(sensor, &users, NULL);
    send_users(&who, &users, out);
    free(users.items);
    backend->sensor_close(sensor);
    return told;
}

static bool ask_all(const struct gpu_backend *backend, const char *library, int out, uint64_t *silent, struct err *err)
{
    uint32_t count = 0;
    struct gpu_driver *driver = backend->open(library, err);
    if (!driver || !backend->count(driver, &count, err))
        return false;
    for (uint32_t i = 0; i < count && i < GPUS_MAX; i++)
        *silent += !ask_gpu(backend, driver, i, out);
    return true;
}

/* The process ends after this: the driver is not bid farewell, which may hang too. */
void nvml_query(const char *library, int out)
{
    struct err err = {0};
    struct nvml_message last = {.kind = NVML_MESSAGE_END};
    if (!ask_all(&nvml_backend, library, out, &last.failed, &err)) {
        last.kind = NVML_MESSAGE_FAILED;
        memcpy(last.reason, err.text, strnlen(err.text, sizeof last.reason - 1));
    }
    send_message(out, &last);
}
