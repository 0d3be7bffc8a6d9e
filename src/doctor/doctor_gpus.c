/* The GPUs, their locks, and who has them. */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "doctor/doctor.h"
#include "session/gpus.h"
#include "machine/gpu/vendor.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>

static const char gpu_section[] = "GPUs";

static json_t *gpu_json(const struct gpu_device *device, enum gpu_lock_answer answer, const struct gpu_holder *holder)
{
    json_t *json = json_object(), *by = json_null();
    json_object_set_new(json, "model", json_filled_or_null(device->model));
    json_object_set_new(json, "uuid", json_filled_or_null(device->uuid));
    json_object_set_new(json, "bus", json_filled_or_null(device->bus));
    json_object_set_new(json, "minor", device->minor < 0 ? json_null() : json_integer(device->minor));
    json_object_set_new(json, "excluded", json_boolean(device->excluded));
    json_object_set_new(json, "held",
                        answer == GPU_LOCKS_FAILED ? json_null() : json_boolean(answer == GPU_LOCKS_HELD));
    if (holder) {
        by = json_object();
        json_object_set_new(by, "pid", holder->pid ? json_integer(holder->pid) : json_null());
        json_object_set_new(by, "user", json_filled_or_null(holder->user));
        json_object_set_new(by, "host", json_filled_or_null(holder->host));
        json_object_set_new(by, "run", json_filled_or_null(holder->run));
        json_object_set_new(by, "since", holder->since_s ? json_integer(holder->since_s) : json_null());
    }
    json_object_set_new(json, "holder", by);
    return json;
}

static void add_gpu(const struct gpu_devices *devices, size_t place, const struct gpu_lock_folder *folder,
                    struct findings *out)
{
    const struct gpu_device *device = &devices->items[place];
    struct finding finding = {.section = gpu_section, .name = "gpu", .mark = FINDING_FACT};
    struct gpu_holder self;
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    AUTO_FREE char *name = gpus_name(devices, place);
    AUTO_FREE char *holder = NULL;
    gpu_holder_self(&self);
    enum gpu_lock_answer answer = folder->fd < 0 ? GPU_LOCKS_FAILED : gpu_lock_peek(folder, device, &conflict, &err);
    if (answer == GPU_LOCKS_HELD) {
        AUTO_FREE char *who = gpus_holder_text(&conflict, &self, clock_realtime_ns() / NS_PER_S);
        holder = mem_printf("held by %s", who);
    } else if (answer == GPU_LOCKS_TAKEN) {
        holder = mem_strdup("no run holds it");
    } else {
        holder = mem_strdup("who holds it cannot be seen");
        finding.reason = *err.text ? mem_strdup(err.text) : NULL;
    }
    finding.text = mem_printf("%s: %s", name, holder);
    finding.data = gpu_json(device, answer, answer == GPU_LOCKS_HELD && conflict.holder.pid ? &conflict.holder : NULL);
    findings_add(out, finding);
}

static char *locks_mend(void)
{
    if (strcmp(gpus_lock_path(), GPU_LOCK_FOLDER) != 0)
        return mem_strdup("unset TARE_LOCK_DIR   # or name another folder by it");
    return mem_strdup("sudo " TARE_NAME " doctor   # makes the folder, root's; an installed " TARE_NAME
                      " has it made at each start of the machine");
}

static void add_lock_folder(const struct gpu_lock_folder *folder, const struct err *err, struct findings *out)
{
    struct finding finding = {.section = gpu_section, .name = "locks", .mark = FINDING_YES};
    if (folder->fd < 0) {
        finding.mark = FINDING_WRONG;
        finding.text = mem_strdup("GPUs cannot be locked: two runs may use one at once");
        finding.reason = mem_strdup(err->text);
    } else if (folder->doubt) {
        finding.mark = FINDING_NO;
        finding.text = mem_printf("%s, in %s, but others could take them away: results are unverified",
                                  folder->shared ? "for all users" : "seen by your own runs only", folder->path);
        finding.reason = mem_strdup(folder->doubt);
    } else if (!folder->shared) {
        finding.mark = FINDING_NO;
        finding.text = mem_printf("seen by your own runs only, in %s", folder->path);
        finding.reason = mem_strdup(folder->reason);
    } else {
        finding.text = mem_printf("for all users, in %s", folder->path);
    }
    if (finding.mark != FINDING_YES)
        finding.mend = locks_mend();
    findings_add(out, finding);
}

static void add_gpus(const struct gpu_devices *devices, struct findings *out)
{
    struct err err = {0};
    struct gpu_lock_folder folder;
    if (!gpus_lock_folder(&folder, &err))
        folder = (struct gpu_lock_folder){.fd = -1};
    for (size_t i = 0; i < devices->count; i++)
        add_gpu(devices, i, &folder, out);
    add_lock_folder(&folder, &err, out);
    gpu_lock_folder_fini(&folder);
}

static void add_users(size_t users, struct findings *out)
{
    if (users > 0)
        findings_add(out,
                     (struct finding){.section = gpu_section,
                                      .name = "users",
                                      .mark = FINDING_FACT,
                                      .text = mem_printf("%zu process%s a GPU open: " TARE_NAME " clean lists them",
                                                         users, users == 1 ? " has" : "es have")});
}

void doctor_gpus(const struct doctor_machine *machine, size_t users, struct findings *out)
{
    struct err err = {0};
    struct gpu_devices devices;
    const char *loaded = NULL;
    if (!gpu_devices_read(machine->root, &devices, &err))
        findings_add(out, (struct finding){.section = gpu_section,
                                           .name = "devices",
                                           .mark = FINDING_WRONG,
                                           .text = mem_strdup("not every GPU can be seen"),
                                           .reason = mem_strdup(err.text)});
    for (size_t i = 0; gpu_vendors[i]; i++) {
        AUTO_FREE char *driver = gpu_vendors[i]->driver_version(machine->root);
        if (driver)
            findings_add(out, (struct finding){.section = gpu_section,
                                               .name = "driver",
                                               .mark = FINDING_FACT,
                                               .text = mem_printf("%s %s", gpu_vendors[i]->name, driver)});
        loaded = driver ? gpu_vendors[i]->name : loaded;
    }
    if (devices.count > 0)
        add_gpus(&devices, out);
    else if (!*err.text)
        findings_add(out, (struct finding){.section = gpu_section,
                                           .name = "devices",
                                           .mark = FINDING_FACT,
                                           .text = mem_strdup(loaded ? "the driver shows no GPU"
                                                                     : "none: the NVIDIA driver is not loaded")});
    gpu_devices_fini(&devices);
    add_users(users, out);
}
