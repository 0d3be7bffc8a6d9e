/* What there is at one moment, and the same for programs. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/value.h"
#include "doctor/clean.h"
#include "session/commits.h"
#include "session/run_resources.h"

#include <unistd.h>

const struct census_roots clean_roots = {"/proc", "/dev"};

/* On a machine whose GPUs sleep while nobody uses them, the driver first wakes all of them. */
static const double DRIVER_S = 10;

/* The library is asked only where the driver has its device. */
static void ask_driver(const struct clean *clean, struct clean_view *view)
{
    const struct gpu_vendor *vendor = NULL;
    while ((vendor = gpu_vendor_loaded(clean->roots.dev, vendor))) {
        bool told = gpu_memory_users_read(vendor, NULL, DRIVER_S, &view->memory, &view->memory_err);
        view->has_memory = told && (view->has_memory || !view->has_driver);
        view->has_driver = true;
    }
}

bool clean_look(const struct clean *clean, struct clean_view *out, struct err *err)
{
    *out = (struct clean_view){0};
    ask_driver(clean, out);
    if (!leftovers_find_holding(clean->state, &clean->roots, out->has_memory ? &out->memory : NULL, &out->leftovers,
                                err)) {
        gpu_memory_users_fini(&out->memory);
        return false;
    }
    clean_caller_claims(clean->caller, out);
    if (clean->state)
        out->governor = governing_leftover_text(state_folder(clean->state));
    if (clean->state)
        worktrees_left(state_folder(clean->state), &out->worktrees);
    return true;
}

void clean_view_fini(struct clean_view *view)
{
    leftovers_fini(&view->leftovers);
    gpu_memory_users_fini(&view->memory);
    free(view->governor);
    strv_fini(&view->worktrees);
}

static json_t *seconds_json(double seconds)
{
    return seconds < 0 ? json_null() : json_finite(number_round(seconds, 6));
}

static json_t *list_json(const struct strv *list)
{
    json_t *json = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(json, json_string(list->items[i]));
    return json;
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
        json_array_append_new(gpus, json_pack("{s:o, s:o, s:o}", "uuid", json_filled_or_null(use->uuid), "device",
                                              json_filled_or_null(device), "memory_bytes",
                                              use->has_bytes ? json_integer((json_int_t)use->bytes) : json_null()));
    }
    return gpus;
}

/* What each list of processes begins with. A command may be no UTF-8: then it is not told. */
static json_t *who_json(const struct census_process *process)
{
    AUTO_FREE char *user = clean_user_name(process->uid);
    return json_pack("{s:i, s:I, s:I, s:o*, s:o*}", "pid", (int)process->stat.pid, "start_time",
                     (json_int_t)process->stat.start_time, "uid", (json_int_t)process->uid, "user", json_string(user),
                     "command", json_string(process->command));
}

/* Of ours by whom it was left, of others whether a live run has it. */
static json_t *process_json(const struct clean_view *view, const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    const struct census_process *parent = census_find(&view->leftovers.census, process->stat.ppid);
    bool known = leftover->kind == LEFTOVER_OF_DEAD_RUN;
    json_t *json = who_json(process);
    json_object_update_new(
        json, json_pack("{s:o, s:i, s:o*, s:b, s:o, s:o, s:o}", "age_s", seconds_json(process->age_s), "parent",
                        (int)process->stat.ppid, "parent_command", json_string(parent ? parent->stat.comm : ""),
                        "orphan", process->orphan, "devices", list_json(&process->devices), "memory_bytes",
                        leftover->has_memory ? json_integer((json_int_t)leftover->memory_bytes) : json_null(), "gpus",
                        gpus_json(view, leftover)));
    json_object_update_new(
        json, !leftover_is_ours(leftover)
                  ? json_pack("{s:b}", "live_run", leftover->kind == LEFTOVER_LIVE_GPU)
                  : json_pack("{s:o, s:o, s:o, s:o}", "tag", json_filled_or_null(process->tag), "left_by",
                              known ? json_string(leftover->run == STATE_EXEC ? "exec" : "run") : json_null(),
                              "run_dir", json_filled_or_null(leftover->run_dir), "run_age_s",
                              known ? seconds_json(leftover->run_age_s) : json_null()));
    return json;
}

static json_t *tagged_json(const struct leftover_foreign *foreign)
{
    json_t *json = who_json(foreign->process);
    json_object_set_new(json, "tag", json_filled_or_null(foreign->process->tag));
    json_object_set_new(json, "belongs_to", json_string(foreign->owner));
    return json;
}

/* Numbers of the driver that are no process of ours to see. */
static json_t *unseen_json(const struct leftovers *leftovers)
{
    return json_pack("{s:I, s:I, s:o*}", "count", (json_int_t)leftovers->unseen, "memory_bytes",
                     (json_int_t)leftovers->unseen_bytes, "driver_pids",
                     json_string(text_get(&leftovers->unseen_pids)));
}

void clean_json(const struct clean_view *view, struct text *out)
{
    const struct leftovers *leftovers = &view->leftovers;
    json_t *ours = json_array(), *others = json_array(), *tagged = json_array();
    for (size_t i = 0; i < leftovers->count; i++)
        json_array_append_new(leftover_is_ours(&leftovers->items[i]) ? ours : others,
                              process_json(view, &leftovers->items[i]));
    for (size_t i = 0; i < leftovers->foreign_count; i++)
        json_array_append_new(tagged, tagged_json(&leftovers->foreign[i]));
    json_print_taken(json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:I}", "leftovers", ours,
                               "tagged_left_alone", tagged, "gpu_processes", others, "gpu_processes_unseen",
                               view->has_memory ? unseen_json(leftovers) : json_null(), "gpu_memory_known",
                               view->has_memory, "gpu_memory_error", json_filled_or_null(view->memory_err.text),
                               "governor_left", json_text_or_null(view->governor), "worktrees_left",
                               list_json(&view->worktrees), "files_left_alone", list_json(&leftovers->kept),
                               "not_looked_into", (json_int_t)leftovers->census.closed),
                     out);
}
