/* A message and why it came, as JSON. */
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/line.h"
#include "gpu_memory/oom/message.h"

static const struct record_field size_fields[] = {RECORD(struct oom_size, bytes),
                                                  RECORD(struct oom_size, low),
                                                  RECORD(struct oom_size, high),
                                                  {0}};

#define SIZE(of, key, member)   RECORD_STRUCT_IF(of, member.valid, key, member, size_fields)
#define WORKED_OUT(key, member) SIZE(struct oom_diagnosis, key, member)
static const struct record_field worked_out_fields[] = {
    WORKED_OUT("reserved", reserved),
    WORKED_OUT("reserved_unallocated", unallocated),
    WORKED_OUT("this_process", own),
    WORKED_OUT("outside_framework", outside),
    WORKED_OUT("other_processes", others),
    WORKED_OUT("unlisted", unlisted),
    WORKED_OUT("room", room),
    WORKED_OUT("missing", missing),
    {0}};

static const struct record_field process_fields[] = {
    RECORD(struct oom_process, pid), SIZE(struct oom_process, "memory", memory), {0}};

#define REMEDY(member) RECORD(struct oom_remedy, member)
static const struct record_field remedy_fields[] = {
    REMEDY(name), REMEDY(what), REMEDY(effect), REMEDY(cost), {0}};

static const struct record_field line_fields[] = {
    RECORD_ENUM(struct oom, "framework", framework, oom_framework_name),
    RECORD(struct oom, line),
    RECORD(struct oom, last_line),
    RECORD(struct oom, repeats),
    {0}};

static const struct record_field printed_fields[] = {
    RECORD(struct printed_memory, epochs),
    RECORD(struct printed_memory, first_epoch),
    RECORD(struct printed_memory, last_epoch),
    RECORD_ENUM(struct printed_memory, "trend", trend, printed_trend_name),
    RECORD(struct printed_memory, of_peaks),
    RECORD_BYTES(struct printed_memory, "allocated_first_bytes", allocated_first),
    RECORD_BYTES(struct printed_memory, "allocated_last_bytes", allocated_last),
    RECORD_BYTES_IF(struct printed_memory, reserved_first, "reserved_first_bytes", reserved_first),
    RECORD_BYTES_IF(struct printed_memory, reserved_last, "reserved_last_bytes", reserved_last),
    {0}};

static const char *memory_kind_name(enum oom_kind kind)
{
    static const char *const names[] = {"gpu", "host", "onchip"};
    return names[kind];
}

static json_t *traceback_place_json(const struct oom_place *place)
{
    if (!place->file[0])
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "file", json_text_or_null(place->file), "line",
                     place->line < 0 ? json_null() : json_integer(place->line), "function",
                     json_filled_or_null(place->function));
}

json_t *oom_message_json(const struct oom *message, const struct oom_diagnosis *diagnosis)
{
    json_t *json = record_json(line_fields, message), *says = json_object(),
           *reasons = json_array();
    for (int i = 0; i < OOM_FIGURES; i++)
        json_object_set_new(says, oom_figure_name((enum oom_figure)i),
                            message->of[i].valid ? record_json(size_fields, &message->of[i])
                                                 : json_null());
    EACH (item, diagnosis->reasons.items, diagnosis->reasons.count)
        json_array_append_new(reasons, json_string(*item));
    json_t *processes = record_list_json(process_fields, message->processes, message->process_count,
                                         sizeof *message->processes);
    json_t *remedies = record_list_json(remedy_fields, diagnosis->remedies, diagnosis->remedy_count,
                                        sizeof *diagnosis->remedies);
    json_object_update_new(
        json,
        json_pack(
            "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:b, s:o, s:o, s:s, s:b, s:b, s:b, "
            "s:o, s:o, "
            "s:o}",
            "kind", memory_kind_name(diagnosis->kind), "place",
            traceback_place_json(&message->place), "source", json_filled_or_null(message->source),
            "gpu", message->gpu < 0 ? json_null() : json_integer(message->gpu), "shape",
            json_filled_or_null(message->shape), "text", json_filled_or_null(message->text), "says",
            says, "processes", processes, "processes_left_out",
            (json_int_t)message->processes_left_out, "worked_out",
            record_json(worked_out_fields, diagnosis), "went_on", message->went_on, "went_on_batch",
            message->went_on && message->went_on_batch > 0 ? json_integer(message->went_on_batch)
                                                           : json_null(),
            "own_pid", diagnosis->own_pid < 0 ? json_null() : json_integer(diagnosis->own_pid),
            "cause", oom_cause_name(diagnosis->cause), "sure", diagnosis->sure, "growth_possible",
            diagnosis->may_grow, "expandable_segments_would_fit",
            diagnosis->expandable_fits && !diagnosis->expandable_on, "printed",
            message->printed.epochs > 0 ? record_json(printed_fields, &message->printed)
                                        : json_null(),
            "reasons", reasons, "remedies", remedies));
    return json;
}
