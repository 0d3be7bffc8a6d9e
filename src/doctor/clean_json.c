#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"
#include "doctor/clean.h"

static json_t *seconds_json(double seconds)
{
    return seconds < 0 ? json_null() : json_finite(number_round(seconds, 6));
}

/* One entry for each GPU on which the driver names the process. */
static json_t *gpus_json(const struct clean_view *view, const struct leftover *leftover)
{
    json_t *gpus = json_array();
    const struct census_process *process = leftover->process;
    if (process->looked_into && process->devices.count == 0)
        return gpus;
    for (size_t i = 0; i < view->memory.count; i++) {
        const struct gpu_memory_use *use = &view->memory.items[i];
        if (use->pid != process->stat.pid)
            continue;
        AUTO_FREE char *device = use->minor >= 0 ? gpu_vendor_device_path(use->vendor, "/dev", use->minor) : NULL;
        json_t *gpu = json_object();
        json_object_set_new(gpu, "uuid", json_filled_or_null(use->uuid));
        json_object_set_new(gpu, "device", json_filled_or_null(device));
        json_object_set_new(gpu, "memory_bytes", use->has_bytes ? json_integer((json_int_t)use->bytes) : json_null());
        json_array_append_new(gpus, gpu);
    }
    return gpus;
}

static json_t *process_json(const struct clean_view *view, const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    const struct census_process *parent = census_find(&view->leftovers.census, process->stat.ppid);
    AUTO_FREE char *user = clean_user_name(process->uid);
    json_t *json = json_object(), *devices = json_array();
    for (size_t i = 0; i < process->devices.count; i++)
        json_array_append_new(devices, json_string(process->devices.items[i]));
    json_object_set_new(json, "pid", json_integer(process->stat.pid));
    json_object_set_new(json, "start_time", json_integer((json_int_t)process->stat.start_time));
    json_object_set_new(json, "uid", json_integer(process->uid));
    json_object_set_new(json, "user", json_string(user));
    json_object_set_new(json, "command", json_string(process->command));
    json_object_set_new(json, "age_s", seconds_json(process->age_s));
    json_object_set_new(json, "parent", json_integer(process->stat.ppid));
    json_object_set_new(json, "parent_command", json_string(parent ? parent->stat.comm : ""));
    json_object_set_new(json, "orphan", json_boolean(process->orphan));
    json_object_set_new(json, "devices", devices);
    json_object_set_new(json, "memory_bytes",
                        leftover->has_memory ? json_integer((json_int_t)leftover->memory_bytes) : json_null());
    json_object_set_new(json, "gpus", gpus_json(view, leftover));
    return json;
}

static json_t *ours_json(const struct clean_view *view, const struct leftover *leftover)
{
    json_t *json = process_json(view, leftover);
    bool known = leftover->kind == LEFTOVER_OF_DEAD_RUN;
    json_object_set_new(json, "tag", json_filled_or_null(leftover->process->tag));
    json_object_set_new(json, "left_by",
                        known ? json_string(leftover->run == STATE_EXEC ? "exec" : "run") : json_null());
    json_object_set_new(json, "run_dir", json_filled_or_null(leftover->run_dir));
    json_object_set_new(json, "run_age_s", known ? seconds_json(leftover->run_age_s) : json_null());
    return json;
}

static json_t *other_json(const struct clean_view *view, const struct leftover *leftover)
{
    json_t *json = process_json(view, leftover);
    json_object_set_new(json, "live_run", json_boolean(leftover->kind == LEFTOVER_LIVE_GPU));
    return json;
}

static json_t *tagged_json(const struct leftover_foreign *foreign)
{
    AUTO_FREE char *user = clean_user_name(foreign->process->uid);
    json_t *json = json_object();
    json_object_set_new(json, "pid", json_integer(foreign->process->stat.pid));
    json_object_set_new(json, "start_time", json_integer((json_int_t)foreign->process->stat.start_time));
    json_object_set_new(json, "uid", json_integer(foreign->process->uid));
    json_object_set_new(json, "user", json_string(user));
    json_object_set_new(json, "command", json_string(foreign->process->command));
    json_object_set_new(json, "tag", json_filled_or_null(foreign->process->tag));
    json_object_set_new(json, "belongs_to", json_string(foreign->owner));
    return json;
}

/* Numbers of the driver that are no process of ours to see. */
static json_t *unseen_json(const struct leftovers *leftovers)
{
    json_t *json = json_object();
    json_object_set_new(json, "count", json_integer((json_int_t)leftovers->unseen));
    json_object_set_new(json, "memory_bytes", json_integer((json_int_t)leftovers->unseen_bytes));
    json_object_set_new(json, "driver_pids", json_string(text_get(&leftovers->unseen_pids)));
    return json;
}

void clean_json(const struct clean_view *view, struct text *out)
{
    const struct leftovers *leftovers = &view->leftovers;
    json_t *json = json_object(), *ours = json_array(), *others = json_array(), *kept = json_array(),
           *tagged = json_array(), *worktrees = json_array();
    for (size_t i = 0; i < view->worktrees.count; i++)
        json_array_append_new(worktrees, json_string(view->worktrees.items[i]));
    for (size_t i = 0; i < leftovers->count; i++) {
        const struct leftover *leftover = &leftovers->items[i];
        if (leftover_is_ours(leftover))
            json_array_append_new(ours, ours_json(view, leftover));
        else
            json_array_append_new(others, other_json(view, leftover));
    }
    for (size_t i = 0; i < leftovers->foreign_count; i++)
        json_array_append_new(tagged, tagged_json(&leftovers->foreign[i]));
    for (size_t i = 0; i < leftovers->kept.count; i++)
        json_array_append_new(kept, json_string(leftovers->kept.items[i]));
    json_object_set_new(json, "leftovers", ours);
    json_object_set_new(json, "tagged_left_alone", tagged);
    json_object_set_new(json, "gpu_processes", others);
    json_object_set_new(json, "gpu_processes_unseen", view->has_memory ? unseen_json(leftovers) : json_null());
    json_object_set_new(json, "gpu_memory_known", json_boolean(view->has_memory));
    json_object_set_new(json, "gpu_memory_error", json_filled_or_null(view->memory_err.text));
    json_object_set_new(json, "governor_left", json_text_or_null(view->governor));
    json_object_set_new(json, "worktrees_left", worktrees);
    json_object_set_new(json, "files_left_alone", kept);
    json_object_set_new(json, "not_looked_into", json_integer((json_int_t)leftovers->census.closed));
    json_print_pretty(json, out);
    json_decref(json);
}
