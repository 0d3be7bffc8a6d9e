#include "gpu_memory/oom/diagnosis_json.h"

#include "base/json.h"

static json_t *size_json(struct oom_size size)
{
    if (!size.valid)
        return json_null();
    json_t *json = json_object();
    json_object_set_new(json, "bytes", json_integer((json_int_t)size.bytes));
    json_object_set_new(json, "low", json_integer((json_int_t)size.low));
    json_object_set_new(json, "high", json_integer((json_int_t)size.high));
    return json;
}

static json_t *processes_json(const struct oom *message)
{
    json_t *list = json_array();
    for (size_t i = 0; i < message->process_count; i++) {
        json_t *json = json_object();
        json_object_set_new(json, "pid", json_integer(message->processes[i].pid));
        json_object_set_new(json, "memory", size_json(message->processes[i].memory));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *worked_out_json(const struct oom_diagnosis *diagnosis)
{
    json_t *json = json_object();
    json_object_set_new(json, "reserved", size_json(diagnosis->reserved));
    json_object_set_new(json, "reserved_unallocated", size_json(diagnosis->unallocated));
    json_object_set_new(json, "this_process", size_json(diagnosis->own));
    json_object_set_new(json, "outside_framework", size_json(diagnosis->outside));
    json_object_set_new(json, "other_processes", size_json(diagnosis->others));
    json_object_set_new(json, "unlisted", size_json(diagnosis->unlisted));
    json_object_set_new(json, "room", size_json(diagnosis->room));
    json_object_set_new(json, "missing", size_json(diagnosis->missing));
    return json;
}

static json_t *remedies_json(const struct oom_diagnosis *diagnosis)
{
    json_t *list = json_array();
    for (size_t i = 0; i < diagnosis->remedy_count; i++) {
        const struct oom_remedy *remedy = &diagnosis->remedies[i];
        json_t *json = json_object();
        json_object_set_new(json, "name", json_string(remedy->name));
        json_object_set_new(json, "what", json_string(remedy->what));
        json_object_set_new(json, "effect", json_string(remedy->effect));
        json_object_set_new(json, "cost", json_string(remedy->cost));
        json_array_append_new(list, json);
    }
    return list;
}

json_t *oom_message_json(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    json_t *json = json_object(), *says = json_object(), *reasons = json_array();
    for (int i = 0; i < OOM_FIGURES; i++)
        json_object_set_new(says, oom_figure_name((enum oom_figure)i), size_json(message->of[i]));
    for (size_t i = 0; i < diagnosis->reasons.count; i++)
        json_array_append_new(reasons, json_string(diagnosis->reasons.items[i]));
    json_object_set_new(json, "framework", json_string(oom_framework_name(message->framework)));
    json_object_set_new(json, "line", json_integer((json_int_t)message->line));
    json_object_set_new(json, "last_line", json_integer((json_int_t)message->last_line));
    json_object_set_new(json, "repeats", json_integer((json_int_t)message->repeats));
    json_object_set_new(json, "source", json_filled_or_null(message->source));
    json_object_set_new(json, "gpu", message->gpu < 0 ? json_null() : json_integer(message->gpu));
    json_object_set_new(json, "shape", json_filled_or_null(message->shape));
    json_object_set_new(json, "text", json_filled_or_null(message->text));
    json_object_set_new(json, "says", says);
    json_object_set_new(json, "processes", processes_json(message));
    json_object_set_new(json, "processes_left_out", json_integer((json_int_t)message->processes_left_out));
    json_object_set_new(json, "worked_out", worked_out_json(diagnosis));
    json_object_set_new(json, "own_pid", diagnosis->own_pid < 0 ? json_null() : json_integer(diagnosis->own_pid));
    json_object_set_new(json, "cause", json_string(oom_cause_name(diagnosis->cause)));
    json_object_set_new(json, "sure", json_boolean(diagnosis->sure));
    json_object_set_new(json, "expandable_segments_would_fit", json_boolean(diagnosis->expandable_fits));
    json_object_set_new(json, "reasons", reasons);
    json_object_set_new(json, "remedies", remedies_json(diagnosis));
    return json;
}
