#include "gpu_memory/oom/diagnosis_json.h"

#include "base/json.h"
#include "base/record.h"

static const struct record_field size_fields[] = {
    RECORD(struct oom_size, bytes), RECORD(struct oom_size, low), RECORD(struct oom_size, high), {0}};

#define SIZE(of, key, member) RECORD_STRUCT_IF(of, member.valid, key, member, size_fields)
#define WORKED_OUT(key, member) SIZE(struct oom_diagnosis, key, member)
static const struct record_field worked_out_fields[] = {
    WORKED_OUT("reserved", reserved), WORKED_OUT("reserved_unallocated", unallocated), WORKED_OUT("this_process", own),
    WORKED_OUT("outside_framework", outside), WORKED_OUT("other_processes", others), WORKED_OUT("unlisted", unlisted),
    WORKED_OUT("room", room), WORKED_OUT("missing", missing), {0}};

static const struct record_field process_fields[] = {
    RECORD(struct oom_process, pid), SIZE(struct oom_process, "memory", memory), {0}};

#define REMEDY(member) RECORD(struct oom_remedy, member)
static const struct record_field remedy_fields[] = {REMEDY(name), REMEDY(what), REMEDY(effect), REMEDY(cost), {0}};

static const struct record_field line_fields[] = {
    RECORD(struct oom, line), RECORD(struct oom, last_line), RECORD(struct oom, repeats), {0}};

json_t *oom_message_json(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    json_t *json = json_object(), *says = json_object(), *reasons = json_array();
    for (int i = 0; i < OOM_FIGURES; i++)
        json_object_set_new(says, oom_figure_name((enum oom_figure)i), message->of[i].valid ? record_json(size_fields, &message->of[i]) : json_null());
    for (size_t i = 0; i < diagnosis->reasons.count; i++)
        json_array_append_new(reasons, json_string(diagnosis->reasons.items[i]));
    json_object_set_new(json, "framework", json_string(oom_framework_name(message->framework)));
    record_set(json, line_fields, message);
    json_object_set_new(json, "source", json_filled_or_null(message->source));
    json_object_set_new(json, "gpu", message->gpu < 0 ? json_null() : json_integer(message->gpu));
    json_object_set_new(json, "shape", json_filled_or_null(message->shape));
    json_object_set_new(json, "text", json_filled_or_null(message->text));
    json_object_set_new(json, "says", says);
    json_object_set_new(json, "processes",
                        record_list_json(process_fields, message->processes, message->process_count, sizeof *message->processes));
    json_object_set_new(json, "processes_left_out", json_integer((json_int_t)message->processes_left_out));
    json_object_set_new(json, "worked_out", record_json(worked_out_fields, diagnosis));
    json_object_set_new(json, "own_pid", diagnosis->own_pid < 0 ? json_null() : json_integer(diagnosis->own_pid));
    json_object_set_new(json, "cause", json_string(oom_cause_name(diagnosis->cause)));
    json_object_set_new(json, "sure", json_boolean(diagnosis->sure));
    json_object_set_new(json, "expandable_segments_would_fit", json_boolean(diagnosis->expandable_fits));
    json_object_set_new(json, "reasons", reasons);
    json_object_set_new(json, "remedies",
                        record_list_json(remedy_fields, diagnosis->remedies, diagnosis->remedy_count, sizeof *diagnosis->remedies));
    return json;
}
