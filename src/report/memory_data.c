#include "report/memory_data.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/memory_lines.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEPT_MAX = 40000, /* allocations, where not all are; those of the peak come on top */
    STACK_FRAMES_MAX = 200000,
    STACK_DEPTH_MAX = 60,
    NAME_MAX_BYTES = 160,
    MARKS_MAX = 400,
    MERGED_POINTS = 1000
};

static json_t *base64_json(const void *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *at = bytes;
    size_t length = (count + 2) / 3 * 4, done = 0;
    char *text = mem_alloc(length + 1);
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t three = (uint32_t)at[i] << 16 | (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
                         (left > 2 ? at[i + 2] : 0);
        text[done++] = digits[three >> 18];
        text[done++] = digits[three >> 12 & 63];
        text[done++] = left > 1 ? digits[three >> 6 & 63] : '=';
        text[done++] = left > 2 ? digits[three & 63] : '=';
    }
    json_t *json = json_stringn(text, done);
    free(text);
    return json;
}

struct page_data {
    const struct memory_report *report;
    const struct program *program;
    const struct snapshot_event *events;
    size_t event_count;
    bool *kept;        /* by allocation */
    double *addresses; /* by allocation; 0: not known */
    uint32_t *stacks;  /* by stack of the snapshot: 1 + its place on the page; 0: not there */
    uint32_t *frames;  /* by frame of the snapshot, in the same way */
    json_t *stack_list, *frame_list;
    size_t stack_count, frame_count, frame_uses;
};

static bool is_alive_at(const struct allocation *allocation, uint32_t event)
{
    return (allocation->born == UINT32_MAX || allocation->born <= event) &&
           allocation->died > event;
}

/* How much of the picture an allocation is. */
struct weighed {
    double weight;
    uint32_t allocation;
};

static int compare_weights(const void *a, const void *b)
{
    const struct weighed *one = a, *two = b;
    return ORDER(two->weight, one->weight);
}

static void choose_kept(struct page_data *data)
{
    const struct program *program = data->program;
    size_t count = program->allocation_count, kept = count < KEPT_MAX ? count : KEPT_MAX;
    if (data->event_count <= MEMORY_DATA_EVENTS) {
        for (size_t i = 0; i < count; i++)
            data->kept[i] = true;
        return;
    }
    struct weighed *order = mem_array(count, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        const struct allocation *one = &program->allocations[i];
        double from = one->born == UINT32_MAX ? 0 : one->born;
        double to = one->died == UINT32_MAX ? (double)data->event_count : one->died;
        order[i] = (struct weighed){(double)one->size * (to - from), (uint32_t)i};
        data->kept[i] = is_alive_at(one, data->report->curve.peak_event);
    }
    if (count > 0)
        qsort(order, count, sizeof *order, compare_weights);
    for (size_t i = 0; i < kept; i++)
        data->kept[order[i].allocation] = true;
    free(order);
}

/* What was there before the record lies in the pieces of its segments. */
static void find_addresses(struct page_data *data)
{
    const struct program *program = data->program;
    EACH (segment, program->early, program->early_count) {
        uint64_t addr = segment->addr;
        for (size_t p = 0; p < segment->piece_count; p++) {
            const struct early_piece *piece = &program->pieces[segment->first_piece + p];
            if (piece->allocation != UINT32_MAX)
                data->addresses[piece->allocation] = (double)addr;
            addr += piece->piece.size;
        }
    }
    for (size_t i = 0; i < program->allocation_count; i++)
        if (program->allocations[i].born != UINT32_MAX)
            data->addresses[i] = (double)data->events[program->allocations[i].born].addr;
}

static void add_frame(struct page_data *data, json_t *list, uint32_t frame)
{
    const struct snapshot_frame *shown = &data->report->snapshot->frames[frame];
    if (data->frames[frame] == 0) {
        AUTO_FREE char *function = mem_strndup(shown->function, NAME_MAX_BYTES),
                       *file = mem_strndup(place_package_path(shown->file), NAME_MAX_BYTES);
        json_array_append_new(data->frame_list,
                              json_pack("[o, o, I]", json_text_or_null(function),
                                        json_text_or_null(file), (json_int_t)shown->line));
        data->frames[frame] = (uint32_t)++data->frame_count;
    }
    json_array_append_new(list, json_integer((json_int_t)data->frames[frame] - 1));
    data->frame_uses++;
}

/* Its place on the page; -1: no stack, or the page has enough of them. */
static int32_t place_page_stack(struct page_data *data, uint32_t stack)
{
    const struct snapshot *snapshot = data->report->snapshot;
    if (stack == 0)
        return -1;
    if (data->stacks[stack] > 0 || data->frame_uses > STACK_FRAMES_MAX)
        return (int32_t)data->stacks[stack] - 1;
    json_t *list = json_array();
    const struct snapshot_stack *frames = &snapshot->stacks[stack];
    for (size_t i = 0; i < frames->frame_count && json_array_size(list) < STACK_DEPTH_MAX; i++)
        if (!place_is_machinery(snapshot_frame(snapshot, stack, i)))
            add_frame(data, list, snapshot->stack_frames[frames->first_frame + i]);
    json_array_append_new(data->stack_list, list);
    data->stacks[stack] = (uint32_t)++data->stack_count;
    return (int32_t)data->stacks[stack] - 1;
}

/* The stacks of the peak first: where there are too many, those of others are left out. */
static void place_peak_stacks(struct page_data *data)
{
    EACH (allocation, data->program->allocations, data->program->allocation_count)
        if (is_alive_at(allocation, data->report->curve.peak_event))
            place_page_stack(data, allocation->stack);
}

static void add_allocations(struct page_data *data, json_t *out)
{
    const struct program *program = data->program;
    size_t count = 0, rows = program->allocation_count;
    int32_t *born = mem_array(rows, sizeof *born), *died = mem_array(rows, sizeof *died),
            *owner = mem_array(rows, sizeof *owner), *stack = mem_array(rows, sizeof *stack);
    double *size = mem_array(rows, sizeof *size), *addr = mem_array(rows, sizeof *addr);
    for (size_t i = 0; i < rows; i++) {
        const struct allocation *one = &program->allocations[i];
        if (!data->kept[i])
            continue;
        born[count] = one->born == UINT32_MAX ? -1 : (int32_t)one->born;
        died[count] = one->died == UINT32_MAX ? (int32_t)data->event_count : (int32_t)one->died;
        size[count] = (double)one->size;
        addr[count] = data->addresses[i];
        owner[count] = (int32_t)data->report->owners.of[i];
        stack[count++] = place_page_stack(data, one->stack);
    }
    const struct {
        const char *key;
        void *values;
        size_t width;
    } columns[] = {{"born", born, 4},   {"died", died, 4}, {"owner", owner, 4},
                   {"stack", stack, 4}, {"size", size, 8}, {"addr", addr, 8}};
    EACH_OF (column, columns) {
        json_object_set_new(out, column->key, base64_json(column->values, count * column->width));
        free(column->values);
    }
}

static json_t *owners_json(const struct memory_report *report)
{
    json_t *list = json_array();
    EACH (owner, report->owners.items, report->owners.count) {
        AUTO_FREE char *where = memory_owner_text(report->snapshot, owner, 0);
        json_array_append_new(list,
                              json_pack("[i, o]", (int)owner->kind, json_text_or_null(where)));
    }
    return list;
}

/* [event, 1 (appears) or -1, address, bytes], of those that were there before the record: event
 * -1. */
static json_t *segment_changes_json(const struct page_data *data)
{
    json_t *list = json_array();
    EACH (segment, data->program->early, data->program->early_count) {
        uint64_t bytes = 0;
        for (size_t p = 0; p < segment->piece_count; p++)
            bytes += data->program->pieces[segment->first_piece + p].piece.size;
        json_array_append_new(
            list, json_pack("[i, i, f, f]", -1, 1, (double)segment->addr, (double)bytes));
    }
    for (size_t i = 0; i < data->event_count; i++) {
        const struct snapshot_event *event = &data->events[i];
        bool appears = event->action == NAME_SEGMENT_ALLOC || event->action == NAME_SEGMENT_MAP;
        if (appears || event->action == NAME_SEGMENT_FREE || event->action == NAME_SEGMENT_UNMAP)
            json_array_append_new(list, json_pack("[I, i, f, f]", (json_int_t)i, appears ? 1 : -1,
                                                  (double)event->addr, (double)event->size_bytes));
    }
    return list;
}

static json_t *page_marks_json(const struct page_data *data)
{
    const struct snapshot *snapshot = data->report->snapshot;
    json_t *list = json_array();
    size_t at = 0;
    EACH (mark, snapshot->marks, snapshot->mark_count) {
        if (!mark->start || mark->device != data->report->device ||
            json_array_size(list) >= MARKS_MAX)
            continue;
        while (at < data->event_count && data->events[at].time_us < mark->time_us)
            at++;
        AUTO_FREE char *name = mem_strndup(mark->name, NAME_MAX_BYTES);
        json_array_append_new(list, json_pack("[I, o]", (json_int_t)at, json_text_or_null(name)));
    }
    EACH (oom, data->report->ooms, data->report->oom_count)
        json_array_append_new(list, json_pack("[I, s]", (json_int_t)oom->event, "out of memory"));
    return list;
}

static void add_merged(const struct page_data *data, json_t *out)
{
    const struct program *program = data->program;
    const struct owners *owners = &data->report->owners;
    struct owner_sum *sums = mem_array(owners->count, sizeof *sums);
    double *change = mem_array(data->event_count + 1, sizeof *change), alive = 0;
    double curve[MERGED_POINTS] = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < program->allocation_count; i++) {
        const struct allocation *one = &program->allocations[i];
        if (data->kept[i])
            continue;
        sums[owners->of[i]].bytes += one->size;
        sums[owners->of[i]].count++;
        change[one->born == UINT32_MAX ? 0 : one->born] += (double)one->size;
        if (one->died != UINT32_MAX)
            change[one->died] -= (double)one->size;
    }
    for (size_t i = 0; i < data->event_count; i++) {
        size_t point = (size_t)((double)i * MERGED_POINTS / (double)data->event_count);
        alive += change[i];
        curve[point] = alive > curve[point] ? alive : curve[point];
    }
    for (size_t i = 0; i < owners->count; i++)
        if (sums[i].count > 0)
            json_array_append_new(list,
                                  json_pack("[I, I, I]", (json_int_t)i, (json_int_t)sums[i].count,
                                            (json_int_t)sums[i].bytes));
    json_object_set_new(out, "merged_curve",
                        json_array_size(list) > 0 ? base64_json(curve, sizeof curve) : json_null());
    json_object_set_new(out, "merged", list);
    free(sums);
    free(change);
}

json_t *memory_data_json(const struct memory_report *report)
{
    const struct snapshot *snapshot = report->snapshot;
    const struct snapshot_device *trace = &snapshot->devices[report->device];
    size_t count = report->program.allocation_count;
    struct page_data data = {.report = report,
                             .program = &report->program,
                             .events = trace->events,
                             .event_count = trace->count,
                             .kept = mem_array(count, sizeof *data.kept),
                             .addresses = mem_array(count, sizeof *data.addresses),
                             .stacks = mem_array(snapshot->stack_count, sizeof *data.stacks),
                             .frames = mem_array(snapshot->frame_count, sizeof *data.frames),
                             .stack_list = json_array(),
                             .frame_list = json_array()};
    json_t *kinds = json_array(), *out = json_object();
    for (size_t kind = 0; kind < OWNER_KINDS; kind++)
        json_array_append_new(kinds, json_string(owner_kind_text((enum owner_kind)kind)));
    choose_kept(&data);
    find_addresses(&data);
    place_peak_stacks(&data);
    add_allocations(&data, out);
    add_merged(&data, out);
    json_object_set_new(out, "events", json_integer((json_int_t)trace->count));
    json_object_set_new(out, "peak", json_integer(report->curve.peak_event));
    json_object_set_new(out, "kinds", kinds);
    json_object_set_new(out, "owners", owners_json(report));
    json_object_set_new(out, "segments", segment_changes_json(&data));
    json_object_set_new(out, "marks", page_marks_json(&data));
    json_object_set_new(out, "stacks", data.stack_list);
    json_object_set_new(out, "frames", data.frame_list);
    free(data.kept);
    free(data.addresses);
    free(data.stacks);
    free(data.frames);
    return out;
}
