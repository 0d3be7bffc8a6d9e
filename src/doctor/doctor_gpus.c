#include "doctor/doctor_gpus.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "doctor/doctor_text.h"
#include "machine/gpu/vendor.h"
#include "session/gpus.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>

static const char gpu_section[] = "GPUs";

static json_t *gpu_lock_json(const struct gpu_device *device, enum gpu_lock_answer answer,
                             const struct gpu_holder *holder)
{
    json_t *by = json_null();
    if (holder)
        by = json_pack("{s:o, s:o, s:o, s:o, s:o}", "pid",
                       holder->pid ? json_integer(holder->pid) : json_null(), "user",
                       json_filled_or_null(holder->user), "host", json_filled_or_null(holder->host),
                       "run", json_filled_or_null(holder->run), "since",
                       holder->since_s ? json_integer(holder->since_s) : json_null());
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "model", json_filled_or_null(device->model), "uuid",
        json_filled_or_null(device->uuid), "bus", json_filled_or_null(device->bus), "minor",
        device->minor < 0 ? json_null() : json_integer(device->minor), "excluded", device->excluded,
        "held", answer == GPU_LOCKS_FAILED ? json_null() : json_boolean(answer == GPU_LOCKS_HELD),
        "holder", by);
}

static void add_gpu_lock_finding(const struct gpu_devices *devices, size_t place,
                                 const struct gpu_lock_folder *folder, struct findings *out)
{
    const struct gpu_device *device = &devices->items[place];
    struct finding finding = {.section = gpu_section, .name = "gpu", .mark = FINDING_FACT};
    struct gpu_holder self;
    struct gpu_lock_conflict conflict;
    struct err err = {0};
    AUTO_FREE char *name = gpus_name(devices, place);
    AUTO_FREE char *holder = NULL;
    gpu_holder_self(&self);
    enum gpu_lock_answer answer =
        folder->fd < 0 ? GPU_LOCKS_FAILED : gpu_lock_peek(folder, device, &conflict, &err);
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
    finding.data = gpu_lock_json(
        device, answer, answer == GPU_LOCKS_HELD && conflict.holder.pid ? &conflict.holder : NULL);
    findings_add(out, finding);
}

static char *suggest_locks_fix(void)
{
    if (strcmp(gpus_lock_path(), GPU_LOCK_FOLDER) != 0)
        return mem_strdup("unset TARE_LOCK_DIR   # or name another folder by it");
    return mem_strdup("sudo " TARE_NAME
                      " doctor   # makes the folder, root's; an installed " TARE_NAME
                      " has it made at each start of the machine");
}

static void add_lock_folder(const struct gpu_lock_folder *folder, const struct err *err,
                            struct findings *out)
{
    struct finding finding = {.section = gpu_section, .name = "locks"};
    if (folder->fd < 0)
        finding_set(&finding, FINDING_WRONG, err->text, NULL,
                    "GPUs cannot be locked: two runs may use one at once");
    else if (folder->doubt)
        finding_set(&finding, FINDING_NO, folder->doubt, NULL,
                    "%s, in %s, but others could take them away: results are unverified",
                    folder->shared ? "for all users" : "seen by your own runs only", folder->path);
    else if (!folder->shared)
        finding_set(&finding, FINDING_NO, folder->reason, NULL, "seen by your own runs only, in %s",
                    folder->path);
    else
        finding_set(&finding, FINDING_YES, NULL, NULL, "for all users, in %s", folder->path);
    if (finding.mark != FINDING_YES)
        finding.mend = suggest_locks_fix();
    findings_add(out, finding);
}

static void add_gpu_lock_findings(const struct gpu_devices *devices, struct findings *out)
{
    struct err err = {0};
    AUTO(gpu_lock_folder_fini) struct gpu_lock_folder folder = {0};
    if (!gpus_lock_folder(&folder, &err))
        folder = (struct gpu_lock_folder){.fd = -1};
    for (size_t i = 0; i < devices->count; i++)
        add_gpu_lock_finding(devices, i, &folder, out);
    add_lock_folder(&folder, &err, out);
}

void doctor_gpus(const struct doctor_machine *machine, size_t users, struct findings *out)
{
    struct err err = {0};
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    AUTO_FREE char *vendors = gpu_vendor_names();
    bool loaded = false;
    if (!gpu_devices_read(machine->root, &devices, &err))
        findings_say(out, gpu_section, "devices", FINDING_WRONG, err.text, NULL,
                     "not every GPU can be seen");
    for (size_t i = 0; gpu_vendors[i]; i++) {
        AUTO_FREE char *driver = gpu_vendors[i]->driver_version(machine->root);
        if (driver)
            findings_say(out, gpu_section, "driver", FINDING_FACT, NULL, NULL, "%s %s",
                         gpu_vendors[i]->name, driver);
        loaded = loaded || driver;
    }
    if (devices.count > 0)
        add_gpu_lock_findings(&devices, out);
    else if (!*err.text && loaded)
        findings_say(out, gpu_section, "devices", FINDING_FACT, NULL, NULL,
                     "the driver shows no GPU");
    else if (!*err.text)
        findings_say(out, gpu_section, "devices", FINDING_FACT, NULL, NULL,
                     "none: the %s driver is not loaded", vendors);
    if (users > 0)
        findings_say(out, gpu_section, "users", FINDING_FACT, NULL, NULL,
                     "%zu process%s a GPU open: " TARE_NAME " clean lists them", users,
                     users == 1 ? " has" : "es have");
}
