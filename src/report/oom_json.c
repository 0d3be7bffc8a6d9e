#include "base/json.h"
#include "report/oom.h"
#include "gpu_memory/oom/cause.h"

static json_t *log_json(const struct oom_log *log)
{
    json_t *json = json_object(), *messages = json_array();
    const struct oom_circumstances known = {
        .expandable = log->expandable, .growth = log->has_growth ? &log->growth : NULL, .batch_size = log->batch_size};
    for (size_t i = 0; i < log->list.count; i++) {
        struct oom_diagnosis diagnosis;
        oom_diagnose(&log->list.items[i], &known, &diagnosis);
        json_array_append_new(messages, oom_message_json(&log->list.items[i], &diagnosis));
        oom_diagnosis_fini(&diagnosis);
    }
    json_object_set_new(json, "log", json_text_or_null(log->name));
    json_object_set_new(json, "lines", json_integer((json_int_t)log->lines));
    json_object_set_new(json, "found", json_integer((json_int_t)log->list.found));
    json_object_set_new(json, "left_out", json_integer((json_int_t)log->list.left_out));
    json_object_set_new(json, "messages", messages);
    return json;
}

json_t *oom_json(const struct oom_logs *logs)
{
    json_t *json = json_object(), *list = json_array();
    for (size_t i = 0; i < logs->count; i++)
        json_array_append_new(list, log_json(&logs->items[i]));
    json_object_set_new(json, "found", json_integer((json_int_t)oom_logs_found(logs)));
    json_object_set_new(json, "logs", list);
    return json;
}
