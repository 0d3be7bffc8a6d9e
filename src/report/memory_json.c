#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "report/memory.h"

#include <inttypes.h>

enum { FRAMES_MOST = 1024, TEXT_MOST = 4096 }; /* of a stack, of a name in it */

static json_t *bytes_json(uint64_t bytes)
{
    return json_integer((json_int_t)bytes);
}

static json_t *bounded_json(uint64_t cap_bytes)
{
    return cap_bytes == MODEL_NO_CAP ? json_null() : bytes_json(cap_bytes);
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

#define SUM(key, member) RECORD_AS(struct usage_sum, key, member)
static const struct record_field sum_fields[] = {
    SUM("segments", segments), SUM("reserved_bytes", reserved), SUM("allocated_bytes", allocated), SUM("active_bytes", active),
    SUM("requested_bytes", requested), SUM("inactive_split_bytes", inactive_split), SUM("inactive_whole_bytes", inactive_whole),
    SUM("largest_free_bytes", largest_free), {0}};

static void add_sum(json_t *object, const struct usage_sum *sum)
{
    record_set(object, sum_fields, sum);
    set(object, "fragmentation", json_finite(usage_fragmentation(sum)));
}

static json_t *pools_json(const struct memory_report *report)
{
    json_t *pools = json_array();
    for (size_t i = 0; i < report->layout.pool_count; i++) {
        const struct usage_pool *pool = &report->layout.pools[i];
        json_t *json = json_object(), *id = json_array();
        json_array_append_new(id, bytes_json(pool->pool_id[0]));
        json_array_append_new(id, bytes_json(pool->pool_id[1]));
        set(json, "pool", json_string(pool->small ? "small" : "large"));
        set(json, "pool_id", id);
        set(json, "expandable", json_boolean(pool->expandable));
        set(json, "stream", bytes_json(report->snapshot->streams[pool->stream]));
        add_sum(json, &pool->sum);
        json_array_append_new(pools, json);
    }
    return pools;
}

static json_t *segments_json(const struct memory_report *report)
{
    json_t *segments = json_array();
    for (size_t i = 0; i < report->snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &report->snapshot->segments[i];
        if (segment->device != report->device)
            continue;
        struct usage_sum sum = usage_of_segment(report->snapshot, segment);
        json_t *json = json_object();
        set(json, "address", bytes_json(segment->addr));
        set(json, "pool", json_string(segment->small ? "small" : "large"));
        set(json, "stream", bytes_json(report->snapshot->streams[segment->stream]));
        add_sum(json, &sum);
        json_object_del(json, "segments");
        set(json, "blocks", json_integer((json_int_t)sum.blocks));
        json_array_append_new(segments, json);
    }
    return segments;
}

static json_t *frame_json(const struct snapshot_frame *frame)
{
    json_t *json = json_object();
    AUTO_FREE char *function = mem_strndup(frame->function, TEXT_MOST), *file = mem_strndup(frame->file, TEXT_MOST);
    set(json, "function", json_text_or_null(function));
    set(json, "file", json_text_or_null(file));
    set(json, "line", json_integer(frame->line));
    return json;
}

/* The frame that the text and the page name, with the library's function that was called there. */
static json_t *place_json(const struct snapshot *snapshot, uint32_t stack)
{
    struct memory_place place = memory_place(snapshot, stack);
    if (!place.frame)
        return json_null();
    json_t *json = frame_json(place.frame);
    set(json, "via", place.via ? frame_json(place.via) : json_null());
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

static json_t *groups_json(const struct memory_report *report, const struct usage_group *groups, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && i < report->question->rows; i++) {
        json_t *json = json_object();
        set(json, "bytes", bytes_json(groups[i].bytes));
        set(json, "count", json_integer((json_int_t)groups[i].count));
        set(json, "each_bytes", bytes_json(groups[i].size_bytes));
        set(json, "place", place_json(report->snapshot, groups[i].stack));
        set(json, "stack", stack_json(report->snapshot, groups[i].stack));
        json_array_append_new(list, json);
    }
    return list;
}

#define POINT(key, member) RECORD_AS(struct curve_point, key, member)
static const struct record_field point_fields[] = {
    POINT("event", event), POINT("time_us", time_us), POINT("allocated_bytes", allocated), POINT("reserved_bytes", reserved), {0}};

#define SPAN(key, member) RECORD_AS(struct growth_span, key, member)
static const struct record_field span_fields[] = {
    SPAN("first_event", first_event), SPAN("end_event", end_event), SPAN("low_bytes", low), SPAN("high_bytes", high),
    SPAN("kept_bytes", kept), {0}};

static json_t *growth_json(const struct memory_report *report)
{
    static const char *const sources[] = {NULL, "epochs", "steps", "parts"};
    const struct growth *growth = &report->growth;
    json_t *json = json_object(), *suspects = json_array();
    set(json, "spans_are", json_text_or_null(sources[growth->source]));
    set(json, "grows", growth->span_count < 2 ? json_null() : json_boolean(growth->grows));
    set(json, "bytes_per_span", growth->span_count < 2 ? json_null() : json_finite(growth->slope_bytes));
    set(json, "warm_up_spans", json_integer((json_int_t)growth->warm_up));
    set(json, "spans", record_list_json(span_fields, growth->spans, growth->span_count, sizeof *growth->spans));
    for (size_t i = 0; i < growth->suspect_count && i < report->question->rows; i++) {
        const struct growth_suspect *suspect = &growth->suspects[i];
        json_t *one = json_object();
        set(one, "bytes", bytes_json(suspect->bytes));
        set(one, "count", json_integer((json_int_t)suspect->count));
        set(one, "spans", json_integer((json_int_t)suspect->spans));
        set(one, "from_size_bytes", bytes_json(suspect->size_low));
        set(one, "to_size_bytes", bytes_json(suspect->size_high));
        set(one, "last_event", json_integer(suspect->last_event));
        set(one, "place", place_json(report->snapshot, suspect->stack));
        set(one, "stack", stack_json(report->snapshot, suspect->stack));
        json_array_append_new(suspects, one);
    }
    set(json, "suspects", suspects);
    return json;
}

static json_t *check_json(const struct memory_report *report)
{
    const struct check *check = &report->check;
    json_t *json = json_object();
    set(json, "exact", json_boolean(check->exact));
    set(json, "complete", json_boolean(check->complete));
    set(json, "events", json_integer((json_int_t)check->events));
    set(json, "empty_cache_calls", json_integer((json_int_t)check->empty_cache_count));
    set(json, "differs_at_event", check->exact ? json_null() : json_integer((json_int_t)check->differs_at));
    set(json, "difference", json_filled_or_null(check->difference));
    set(json, "alloc_retries", check->exact ? bytes_json(check->stats.retries) : json_null());
    set(json, "ooms", check->exact ? bytes_json(check->stats.ooms) : json_null());
    return json;
}

static json_t *refusal_json(const struct memory_report *report, const struct replay *replay)
{
    if (replay->outcome == REPLAY_FITS)
        return json_null();
    json_t *json = json_object();
    set(json, "event", json_integer(replay->refusal.event));
    set(json, "requested_bytes", bytes_json(replay->refusal.size_bytes));
    set(json, "segment_bytes", bytes_json(replay->refusal.segment_bytes));
    set(json, "stream", bytes_json(report->snapshot->streams[replay->refusal.stream]));
    set(json, "survivable", json_boolean(replay->refusal.survivable));
    set(json, "place", place_json(report->snapshot, replay->refusal.stack));
    set(json, "stack", stack_json(report->snapshot, replay->refusal.stack));
    return json;
}

static void add_replay(json_t *json, const struct memory_report *report, const struct replay *replay)
{
    set(json, "outcome", json_string(replay_outcome_text(replay->outcome)));
    set(json, "peak_reserved_bytes", bytes_json(replay->stats.reserved.peak));
    set(json, "peak_reserved_low_bytes", bytes_json(replay->peak_low_bytes));
    set(json, "peak_reserved_high_bytes", bytes_json(replay->peak_high_bytes));
    set(json, "peak_allocated_bytes", bytes_json(replay->stats.allocated.peak));
    set(json, "alloc_retries", bytes_json(replay->stats.retries));
    set(json, "refusals", json_integer((json_int_t)replay->refusals));
    set(json, "refused", refusal_json(report, replay));
    set(json, "beyond_record", json_boolean(replay->beyond));
}

#define OOM(member) RECORD(struct usage_oom, member)
static const struct record_field oom_fields[] = {
    OOM(time_us), OOM(requested_bytes), OOM(segment_bytes), OOM(device_free_bytes), OOM(reserved_bytes), OOM(allocated_bytes), {0}};
static const struct record_field oom_limits[] = {OOM(limit_low_bytes), OOM(limit_high_bytes), {0}};

static json_t *ooms_json(const struct memory_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->oom_count && i < report->question->rows; i++) {
        const struct usage_oom *oom = &report->ooms[report->oom_count - 1 - i];
        json_t *json = json_object();
        set(json, "event", json_integer(oom->event));
        record_set(json, oom_fields, oom);
        set(json, "limit", json_string(oom->by_cap ? "cap" : "gpu"));
        record_set(json, oom_limits, oom);
        set(json, "place", place_json(report->snapshot, oom->stack));
        set(json, "stack", stack_json(report->snapshot, oom->stack));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *tries_json(const struct memory_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->try_count; i++) {
        const struct memory_try *try = &report->tries[i];
        AUTO_TEXT struct text conf = {0};
        json_t *json = json_object();
        conf_text(&try->settings, &conf);
        set(json, "setting", json_string(text_get(&conf)));
        set(json, "as_recorded", json_boolean(!try->conf));
        set(json, "cap_bytes", bounded_json(try->cap_bytes));
        set(json, "check_exact", json_boolean(report->check.exact));
        add_replay(json, report, &try->replay);
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *advice_json(const struct memory_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->recommendation.count; i++) {
        const struct advice *advice = &report->recommendation.advices[i];
        const struct gpu_size *gpu = gpu_size_for(advice->least_bytes);
        AUTO_TEXT struct text conf = {0};
        json_t *json = json_object();
        conf_text(&advice->settings, &conf);
        set(json, "setting", json_string(text_get(&conf)));
        set(json, "as_recorded", json_boolean(advice->recorded));
        set(json, "needs_bytes", bytes_json(advice->least_bytes));
        set(json, "within_bytes", bytes_json(advice->step_bytes));
        set(json, "alloc_retries", bytes_json(advice->retries));
        set(json, "unbounded_peak_reserved_bytes", bytes_json(advice->free_run.stats.reserved.peak));
        /* What is enough for a part of the training is no size to buy. */
        set(json, "beyond_record", json_boolean(report->oom_count > 0));
        set(json, "smallest_gpu_gb", gpu && report->oom_count == 0 ? json_integer(gpu->gib) : json_null());
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *peak_json(const struct memory_report *report)
{
    json_t *json = json_object();
    bool exact = report->check.exact;
    set(json, "event", json_integer(report->curve.peak_event));
    set(json, "allocated_bytes", bytes_json(exact ? report->check.stats.allocated.peak : report->curve.peak_allocated));
    set(json, "reserved_bytes", bytes_json(report->curve.peak_reserved));
    set(json, "alive", groups_json(report, report->at_peak, report->at_peak_count));
    return json;
}

json_t *memory_json(const struct memory_report *report)
{
    json_t *json = json_object(), *end = json_object();
    AUTO_TEXT struct text conf = {0};
    conf_text(&report->snapshot->settings, &conf);
    set(json, "file", json_text_or_null(report->question->path));
    set(json, "device", json_integer((json_int_t)report->device));
    set(json, "setting", json_string(text_get(&conf)));
    set(json, "conf", json_text_or_null(report->snapshot->conf));
    set(json, "events", json_integer((json_int_t)report->snapshot->devices[report->device].count));
    set(json, "self_check", report->has_trace ? check_json(report) : json_null());
    add_sum(end, &report->layout.total);
    set(end, "alive", groups_json(report, report->at_end, report->at_end_count));
    set(json, "end", end);
    set(json, "peak", report->has_trace ? peak_json(report) : json_null());
    set(json, "out_of_memory", report->has_trace ? ooms_json(report) : json_null());
    set(json, "pools", pools_json(report));
    set(json, "segments", segments_json(report));
    set(json, "curve", record_list_json(point_fields, report->curve.points, report->curve.count, sizeof *report->curve.points));
    set(json, "growth", report->has_trace ? growth_json(report) : json_null());
    set(json, "what_if", tries_json(report));
    set(json, "recommended", advice_json(report));
    return json;
}
