#include "report/memory_json.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "gpu_memory/allocator/recommend.h"
#include "report/memory_lines.h"

#include <inttypes.h>

enum { FRAMES_MOST = 1024, TEXT_MOST = 4096 }; /* of a stack, of a name in it */

static json_t *uint64_json(uint64_t bytes)
{
    return json_integer((json_int_t)bytes);
}

static void set_json(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

#define SUM(key, member) RECORD_AS(struct usage_sum, key, member)
static const struct record_field sum_fields[] = {SUM("segments", segments),
                                                 SUM("reserved_bytes", reserved),
                                                 SUM("allocated_bytes", allocated),
                                                 SUM("active_bytes", active),
                                                 SUM("requested_bytes", requested),
                                                 SUM("inactive_split_bytes", inactive_split),
                                                 SUM("inactive_whole_bytes", inactive_whole),
                                                 SUM("largest_free_bytes", largest_free),
                                                 {0}};

static void add_usage_sum_json(json_t *object, const struct usage_sum *sum)
{
    record_set(object, sum_fields, sum);
    set_json(object, "fragmentation", json_finite(usage_fragmentation(sum)));
}

static json_t *pools_json(const struct memory_report *report)
{
    json_t *pools = json_array();
    EACH (pool, report->layout.pools, report->layout.pool_count) {
        json_t *json = json_pack(
            "{s:s, s:[o, o], s:b, s:o}", "pool", pool->small ? "small" : "large", "pool_id",
            uint64_json(pool->pool_id[0]), uint64_json(pool->pool_id[1]), "expandable",
            pool->expandable, "stream", uint64_json(report->snapshot->streams[pool->stream]));
        add_usage_sum_json(json, &pool->sum);
        json_array_append_new(pools, json);
    }
    return pools;
}

static json_t *segments_json(const struct memory_report *report)
{
    json_t *segments = json_array();
    EACH (segment, report->snapshot->segments, report->snapshot->segment_count) {
        if (segment->device != report->device)
            continue;
        struct usage_sum sum = usage_of_segment(report->snapshot, segment);
        json_t *json = json_pack("{s:o, s:s, s:o}", "address", uint64_json(segment->addr), "pool",
                                 segment->small ? "small" : "large", "stream",
                                 uint64_json(report->snapshot->streams[segment->stream]));
        add_usage_sum_json(json, &sum);
        json_object_del(json, "segments");
        json_set_count(json, "blocks", sum.blocks);
        json_array_append_new(segments, json);
    }
    return segments;
}

static json_t *frame_json(const struct snapshot_frame *frame)
{
    AUTO_FREE char *function = mem_strndup(frame->function, TEXT_MOST),
                   *file = mem_strndup(frame->file, TEXT_MOST);
    return json_pack("{s:o, s:o, s:I}", "function", json_text_or_null(function), "file",
                     json_text_or_null(file), "line", (json_int_t)frame->line);
}

/* As the text and the page have it, with the library's function that was called there. */
static json_t *place_json(const struct place *place)
{
    if (!place->frame)
        return json_null();
    if (place->node) {
        AUTO_FREE char *node = mem_strndup(
            place->node, place->node_length < TEXT_MOST ? place->node_length : TEXT_MOST);
        return json_pack("{s:o, s:n, s:n, s:n}", "function", json_text_or_null(node), "file",
                         "line", "via");
    }
    json_t *json = frame_json(place->frame);
    set_json(json, "via", place->via ? frame_json(place->via) : json_null());
    return json;
}

/* Bounded: a small file may name one frame again and again. */
static json_t *stack_json(const struct snapshot *snapshot, uint32_t at)
{
    if (at == 0 || at >= snapshot->stack_count)
        return json_null();
    const struct snapshot_stack *stack = &snapshot->stacks[at];
    json_t *frames = json_array();
    for (size_t i = 0; i < stack->frame_count && i < FRAMES_MOST; i++)
        json_array_append_new(frames, frame_json(snapshot_frame(snapshot, at, i)));
    return frames;
}

static void add_stack(json_t *object, const struct memory_report *report, uint32_t stack)
{
    struct place place = place_of(report->snapshot, stack);
    set_json(object, "place", place_json(&place));
    set_json(object, "stack", stack_json(report->snapshot, stack));
}

#define ROW(key, member) RECORD_AS(struct owner_row, key, member)
static const struct record_field row_fields[] = {ROW("bytes", bytes),
                                                 ROW("count", count),
                                                 ROW("smallest_bytes", smallest_bytes),
                                                 ROW("largest_bytes", largest_bytes),
                                                 {0}};

static json_t *rows_json(const struct memory_report *report, const struct owner_row *rows,
                         size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && i < report->question->rows; i++) {
        const struct owner *owner = &report->owners.items[rows[i].owner];
        json_t *json = record_json(row_fields, &rows[i]);
        set_json(json, "kind", json_string(owner_kind_name((enum owner_kind)owner->kind)));
        set_json(json, "before_record", json_boolean(owner->early));
        set_json(json, "freed_there", json_boolean(owner->freed_there));
        struct place place = owner_place(report->snapshot, owner);
        set_json(json, "place", place_json(&place));
        set_json(json, "stack", stack_json(report->snapshot, rows[i].stack));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *kinds_json(const struct memory_report *report)
{
    json_t *kinds = json_object();
    for (size_t kind = 0; kind < OWNER_KINDS; kind++)
        set_json(kinds, owner_kind_name((enum owner_kind)kind),
                 json_pack("{s:o, s:o}", "bytes", uint64_json(report->peak_sums[kind].bytes),
                           "count", uint64_json(report->peak_sums[kind].count)));
    return kinds;
}

static uint64_t unnamed_bytes(const struct memory_report *report)
{
    uint64_t bytes = 0;
    EACH (row, report->at_peak, report->at_peak_count)
        bytes += memory_is_unnamed(&report->owners.items[row->owner]) ? row->bytes : 0;
    return bytes;
}

#define POINT(key, member) RECORD_AS(struct curve_point, key, member)
static const struct record_field point_fields[] = {POINT("event", event),
                                                   POINT("time_us", time_us),
                                                   POINT("allocated_bytes", allocated),
                                                   POINT("reserved_bytes", reserved),
                                                   {0}};

#define SPAN(key, member) RECORD_AS(struct growth_span, key, member)
static const struct record_field span_fields[] = {
    SPAN("first_event", first_event), SPAN("end_event", end_event), SPAN("low_bytes", low),
    SPAN("high_bytes", high),         SPAN("kept_bytes", kept),     {0}};

#define SUSPECT(key, member) RECORD_AS(struct growth_suspect, key, member)
static const struct record_field suspect_fields[] = {SUSPECT("bytes", bytes),
                                                     SUSPECT("count", count),
                                                     SUSPECT("spans", spans),
                                                     SUSPECT("from_size_bytes", size_low),
                                                     SUSPECT("to_size_bytes", size_high),
                                                     {0}};

static json_t *snapshot_growth_json(const struct memory_report *report)
{
    static const char *const sources[] = {NULL, "epochs", "profiler_steps", "steps"};
    const struct growth *growth = &report->growth;
    bool told = growth->source != GROWTH_NONE;
    json_t *suspects = json_array();
    for (size_t i = 0; i < growth->suspect_count && i < report->question->rows; i++) {
        const struct growth_suspect *suspect = &growth->suspects[i];
        json_t *one = record_json(suspect_fields, suspect);
        set_json(one, "last_event", json_integer(suspect->last_event));
        add_stack(one, report, suspect->stack);
        json_array_append_new(suspects, one);
    }
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o}", "spans_are", json_text_or_null(sources[growth->source]),
        "grows", told ? json_boolean(growth->grows) : json_null(), "bytes_per_span",
        told ? json_finite(growth->slope_bytes) : json_null(), "warm_up_spans",
        uint64_json(growth->warm_up), "spans",
        record_list_json(span_fields, growth->spans, growth->span_count, sizeof *growth->spans),
        "suspects", suspects);
}

static json_t *check_json(const struct check *check)
{
    bool exact = check->exact;
    return json_pack("{s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "exact", exact, "complete",
                     check->complete, "events", uint64_json(check->events), "empty_cache_calls",
                     uint64_json(check->empty_cache_count), "differs_at_event",
                     exact ? json_null() : uint64_json(check->differs_at), "difference",
                     json_filled_or_null(check->difference), "alloc_retries",
                     exact ? uint64_json(check->stats.retries) : json_null(), "ooms",
                     exact ? uint64_json(check->stats.ooms) : json_null());
}

static json_t *refusal_json(const struct memory_report *report, const struct replay *replay)
{
    const struct replay_refusal *refusal = &replay->refusal;
    if (replay->outcome == REPLAY_FITS)
        return json_null();
    json_t *json = json_pack("{s:o, s:o, s:o, s:o, s:b}", "event", uint64_json(refusal->event),
                             "requested_bytes", uint64_json(refusal->size_bytes), "segment_bytes",
                             uint64_json(refusal->segment_bytes), "stream",
                             uint64_json(report->snapshot->streams[refusal->stream]), "survivable",
                             refusal->survivable);
    add_stack(json, report, refusal->stack);
    return json;
}

#define REPLAY(key, member) RECORD_AS(struct replay, key, member)
static const struct record_field replay_fields[] = {
    RECORD_ENUM(struct replay, "outcome", outcome, replay_outcome_text),
    REPLAY("peak_reserved_bytes", stats.reserved.peak),
    REPLAY("peak_reserved_low_bytes", peak_low_bytes),
    REPLAY("peak_reserved_high_bytes", peak_high_bytes),
    REPLAY("peak_allocated_bytes", stats.allocated.peak),
    REPLAY("alloc_retries", stats.retries),
    REPLAY("refusals", refusals),
    {0}};

#define OOM(member) RECORD(struct usage_oom, member)
static const struct record_field oom_fields[] = {OOM(time_us),
                                                 OOM(requested_bytes),
                                                 OOM(segment_bytes),
                                                 OOM(device_free_bytes),
                                                 OOM(reserved_bytes),
                                                 OOM(allocated_bytes),
                                                 {0}};
static const struct record_field oom_limits[] = {OOM(limit_low_bytes), OOM(limit_high_bytes), {0}};

static json_t *ooms_json(const struct memory_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->oom_count && i < report->question->rows; i++) {
        const struct usage_oom *oom = &report->ooms[report->oom_count - 1 - i];
        json_t *json = json_object();
        set_json(json, "event", json_integer(oom->event));
        record_set(json, oom_fields, oom);
        set_json(json, "limit", json_string(oom->by_cap ? "cap" : "gpu"));
        record_set(json, oom_limits, oom);
        add_stack(json, report, oom->stack);
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *setting_json(const struct alloc_settings *settings)
{
    AUTO_TEXT struct text conf = {0};
    conf_text(settings, &conf);
    return json_string(text_get(&conf));
}

static json_t *tries_json(const struct memory_report *report)
{
    json_t *list = json_array();
    EACH (try, report->tries, report->try_count) {
        json_t *json =
            json_pack("{s:o, s:b, s:o, s:b}", "setting", setting_json(&try->settings),
                      "as_recorded", !try->conf, "cap_bytes",
                      try->cap_bytes == MODEL_NO_CAP ? json_null() : uint64_json(try->cap_bytes),
                      "check_exact", report->check.exact);
        record_set(json, replay_fields, &try->replay);
        set_json(json, "refused", refusal_json(report, &try->replay));
        set_json(json, "beyond_record", json_boolean(try->replay.beyond));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *advice_json(const struct memory_report *report)
{
    /* what is enough for a part of the training is no size to buy */
    bool beyond = memory_is_open_ended(report);
    json_t *list = json_array();
    EACH (advice, report->recommendation.advices, report->recommendation.count) {
        const struct gpu_size *gpu = gpu_size_for(advice->least_bytes);
        json_array_append_new(
            list,
            json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:b, s:o}", "setting",
                      setting_json(&advice->settings), "as_recorded", advice->recorded,
                      "needs_bytes", uint64_json(advice->least_bytes), "within_bytes",
                      uint64_json(advice->step_bytes), "alloc_retries",
                      uint64_json(advice->retries), "unbounded_peak_reserved_bytes",
                      uint64_json(advice->free_run.stats.reserved.peak), "beyond_record", beyond,
                      "smallest_gpu_gb", gpu && !beyond ? json_integer(gpu->gib) : json_null()));
    }
    return list;
}

static json_t *peak_json(const struct memory_report *report)
{
    const struct curve *curve = &report->curve;
    uint64_t allocated =
        report->check.exact ? report->check.stats.allocated.peak : curve->peak_allocated;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "event", uint64_json(curve->peak_event),
                     "allocated_bytes", uint64_json(allocated), "reserved_bytes",
                     uint64_json(curve->peak_reserved), "kinds", kinds_json(report),
                     "unnamed_bytes", uint64_json(unnamed_bytes(report)), "alive",
                     rows_json(report, report->at_peak, report->at_peak_count));
}

json_t *memory_json(const struct memory_report *report)
{
    bool trace = report->has_trace;
    json_t *end = json_object();
    add_usage_sum_json(end, &report->layout.total);
    set_json(end, "alive", rows_json(report, report->at_end, report->at_end_count));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "file", json_text_or_null(report->question->path), "device",
                     uint64_json(report->device), "setting",
                     setting_json(&report->snapshot->settings), "conf",
                     json_text_or_null(report->snapshot->conf), "events",
                     uint64_json(report->snapshot->devices[report->device].count), "self_check",
                     trace ? check_json(&report->check) : json_null(), "end", end, "peak",
                     trace ? peak_json(report) : json_null(), "out_of_memory",
                     trace ? ooms_json(report) : json_null(), "pools", pools_json(report),
                     "segments", segments_json(report), "curve",
                     record_list_json(point_fields, report->curve.points, report->curve.count,
                                      sizeof *report->curve.points),
                     "growth", trace ? snapshot_growth_json(report) : json_null(), "what_if",
                     tries_json(report), "recommended", advice_json(report));
}
