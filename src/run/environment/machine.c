#include "run/environment/machine.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "measure/energy_meters.h"
#include "run/environment/cpu_sets.h"
#include "run/environment/fingerprint.h"
#include "run/environment/git.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#define KERNEL_FILE_MAX (4 << 20)

/* The value of the first line "key ...: value". */
static void line_value(const char *text, const char *key, struct text *out)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *end = line + strcspn(line, "\n");
        const char *value = memchr(line, ':', (size_t)(end - line));
        if (!value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        text_add_bytes(out, value, value < end ? (size_t)(end - value) : 0);
        return;
    }
}

static json_t *value_or_null(const char *text, const char *key)
{
    AUTO_TEXT struct text value = {0};
    line_value(text, key, &value);
    json_t *json = value.length > 0 ? json_string(text_get(&value)) : NULL;
    return json ? json : json_null();
}

static json_t *cpu_json(void)
{
    AUTO_TEXT struct text info = {0};
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    fs_read_kernel(AT_FDCWD, "/proc/cpuinfo", KERNEL_FILE_MAX, &info, NULL);
    json_t *model = value_or_null(text_get(&info), "model name");
    /* arm64 reports no name. */
    if (json_is_null(model))
        model = value_or_null(text_get(&info), "CPU part");
    return json_pack("{s:o, s:o}", "model", model, "count",
                     count > 0 ? json_integer(count) : json_null());
}

static json_t *total_memory_json(void)
{
    AUTO_TEXT struct text info = {0};
    AUTO_TEXT struct text total = {0};
    unsigned long long kib;
    fs_read_kernel(AT_FDCWD, "/proc/meminfo", KERNEL_FILE_MAX, &info, NULL);
    line_value(text_get(&info), "MemTotal", &total);
    if (sscanf(text_get(&total), "%llu kB", &kib) != 1)
        return json_null();
    return json_integer((json_int_t)kib * 1024);
}

static json_t *gpu_devices_json(void)
{
    struct gpu_devices devices;
    json_t *json = json_array();
    gpu_devices_read("", &devices, NULL);
    EACH (item, devices.items, devices.count) {
        json_t *gpu =
            json_pack("{s:o, s:o, s:o, s:o}", "bus", json_filled_or_null(item->bus), "model",
                      json_filled_or_null(item->model), "uuid", json_filled_or_null(item->uuid),
                      "firmware", json_filled_or_null(item->firmware));
        json_array_append_new(json, gpu);
    }
    gpu_devices_fini(&devices);
    return json;
}

/* "none" without calibrations. */
static json_t *calibrations_json(const struct energy_meters_options *energy_meters)
{
    json_t *json = json_array();
    for (size_t i = 0; energy_meters && i < energy_meters->calibration_count; i++)
        json_array_append_new(json, calibration_json(&energy_meters->calibrations[i]));
    if (json_array_size(json) > 0)
        return json;
    json_decref(json);
    return json_string("none");
}

static json_t *driver_json(const struct gpu_vendor *vendor)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *version = vendor->driver_file ? NULL : vendor->driver_version("");
    if (!vendor->driver_file)
        return json_text_or_null(version);
    if (!fs_read_kernel(AT_FDCWD, vendor->driver_file, KERNEL_FILE_MAX, &text, NULL))
        return json_null();
    return value_or_null(text_get(&text), vendor->driver_line);
}

static json_t *containment_json(const struct containment *containment)
{
    AUTO_FREE char *layers = containment_describe(containment);
    return json_pack(
        "{s:o*, s:b, s:o*, s:o*}", "layers", json_string(layers), "kernel_backed",
        containment_kernel_backed(containment), "no_pidns",
        containment->pidns_reason ? json_string(containment->pidns_reason) : json_null(),
        "no_cgroup",
        containment->cgroup_reason ? json_string(containment->cgroup_reason) : json_null());
}

/* ---- Repositories. */

struct gathering {
    const struct containment *containment;
    const struct strv *environment;
    struct strv seen;
    json_t *found;
};

/* null: unknown. Ignores submodules' files: these have configurations of their own. */
static json_t *dirty_json(struct git *git, const char *path)
{
    static const char *const ask_status[] = {"status", "--porcelain", "--untracked-files=no",
                                             "--ignore-submodules=dirty", NULL};
    AUTO_TEXT struct text status = {0};
    if (!git_disable_filters(git, path) || !git_ask(git, path, ask_status, &status))
        return json_null();
    return json_boolean(status.length > 0);
}

static json_t *repository_json(const struct gathering *gathering, const struct plan_job *job)
{
    static const char *const ask_commit[] = {"rev-parse", "--verify", "HEAD", NULL};
    AUTO(git_fini) struct git git;
    AUTO_TEXT struct text commit = {0};
    git_init(gathering->containment, gathering->environment, &git);
    bool known = git_has_repository(job->cwd) && git_ask(&git, job->cwd, ask_commit, &commit);
    size_t length = strcspn(text_get(&commit), "\n");
    return json_pack("{s:o*, s:o*, s:o*, s:o}", "name", json_string(job->repo), "path",
                     json_string(job->cwd), "commit",
                     known && length ? json_stringn(text_get(&commit), length) : json_null(),
                     "dirty", known ? dirty_json(&git, job->cwd) : json_null());
}

static void add_repository(void *context, const struct plan_job *job)
{
    struct gathering *gathering = context;
    if (!job->cwd || strv_has(&gathering->seen, job->cwd))
        return;
    strv_add(&gathering->seen, job->cwd);
    json_array_append_new(gathering->found, repository_json(gathering, job));
}

/* [{name, path, commit, dirty}] in the plan's order; commit and dirty are null if git does not
 * answer. */
static json_t *repositories_json(const struct plan *plan, const struct containment *containment,
                                 const struct strv *environment)
{
    struct gathering gathering = {
        .containment = containment, .environment = environment, .found = json_array()};
    plan_each_job(plan, add_repository, &gathering);
    strv_fini(&gathering.seen);
    return gathering.found;
}

json_t *machine_software_json(const struct plan *plan, const struct containment *containment,
                              const struct strv *environment)
{
    json_t *json = json_object();
    for (size_t i = 0; gpu_vendors[i]; i++)
        json_object_set_new(json, gpu_vendors[i]->driver_key, driver_json(gpu_vendors[i]));
    json_object_set_new(json, "interpreters",
                        fingerprint_interpreters_json(plan, containment, environment));
    json_object_set_new(json, "code", fingerprint_code_json(plan, environment));
    return json;
}

static json_t *machine_json(const struct plan *plan, const struct containment *containment,
                            const struct machine_facts *facts)
{
    struct utsname host = {0};
    char time[40], boot_id[40];
    struct clock_zone zone;
    AUTO_STRV struct strv environment = {0};
    for (char **entry = environ; entry && *entry; entry++)
        strv_add(&environment, *entry);
    uname(&host);
    clock_format_iso(clock_realtime_ns(), time);
    clock_zone_here(clock_realtime_ns(), &zone);
    json_t *json = json_pack("{s:s, s:o, s:s, s:o*, s:o*, s:s, s:s, s:o, s:o}", "time", time,
                             "zone", json_from_zone(&zone), "version", TARE_VERSION, "host",
                             json_string(host.nodename), "boot_id",
                             boot_id_read(boot_id, NULL) ? json_string(boot_id) : json_null(),
                             "kernel", host.release, "architecture", host.machine, "cpu",
                             cpu_json(), "memory_bytes", total_memory_json());
    json_object_update(json, (json_t *)facts->software);
    json_object_set_new(json, "session",
                        facts->session > 0 ? json_integer(facts->session) : json_null());
    json_object_set_new(json, "gpus", gpu_devices_json());
    json_object_set_new(json, "calibrations", calibrations_json(facts->energy_meters));
    json_object_set_new(json, "containment", containment_json(containment));
    json_object_set_new(json, "cpu_sets", facts->sets ? cpu_sets_json(facts->sets) : json_null());
    json_object_set_new(json, "repositories", repositories_json(plan, containment, &environment));
    return json;
}

/* Renames the previous session's file to the first free number. */
static bool keep_earlier(int dir, struct err *err)
{
    char name[40];
    for (int number = 1; number < 1000000; number++) {
        snprintf(name, sizeof name, "machine.%d.json", number);
        if (renameat2(dir, "machine.json", dir, name, RENAME_NOREPLACE) == 0 || errno == ENOENT)
            return true;
        if (errno != EEXIST)
            return err_sys(err, "rename machine.json to %s", name);
    }
    return err_set(err, "machine.json: no number is free");
}

bool machine_write(int dir, const struct plan *plan, const struct containment *containment,
                   const struct machine_facts *facts, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    if (!keep_earlier(dir, err))
        return false;
    json_t *json = machine_json(plan, containment, facts);
    json_print_pretty(json, &text);
    json_decref(json);
    return fs_write_atomic(dir, "machine.json", text_get(&text), text.length, err);
}
