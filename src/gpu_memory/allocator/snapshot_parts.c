/* Reads the texts, frames and stacks of a snapshot, each held once. */
#include "gpu_memory/allocator/snapshot_private.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 4096
#define STREAMS_MAX 4096

bool snapshot_count(struct reading_snapshot *reading, struct pickle_value element)
{
    reading->elements +=
        1 + (element.kind == PICKLE_DICT ? pickle_count(reading->pickle, element) : 0);
    return reading->elements <= reading->elements_max ||
           err_set(reading->err,
                   "the same lists are named over and over: no snapshot is written so");
}

static char *copy_pickle_text(struct pickle_value value)
{
    return mem_strndup(value.kind == PICKLE_TEXT ? value.text : "",
                       value.kind == PICKLE_TEXT ? value.length : 0);
}

static uint64_t mix_stack_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = length;
    for (; length >= sizeof hash; text += sizeof hash, length -= sizeof hash) {
        uint64_t word;
        memcpy(&word, text, sizeof word);
        hash = mix_stack_hash(hash, word);
    }
    for (; length > 0; text++, length--)
        hash = mix_stack_hash(hash, (unsigned char)*text);
    return hash;
}

/* Its place among the texts. What the pickle names again is at the same place in the file: its
 * bytes are read once. Of two texts with one hash the later is held as often as it is written. */
static uint32_t place_text(struct reading_snapshot *reading, const char *text, size_t length)
{
    struct snapshot *out = reading->out;
    uint32_t found;
    if (addr_map_get(&reading->text_at, (uintptr_t)text, &found))
        return found;
    uint64_t hash = hash_text(text, length);
    bool known = addr_map_get(&reading->text_of, hash, &found);
    if (!known || strlen(out->texts[found]) != strnlen(text, length) ||
        memcmp(out->texts[found], text, strlen(out->texts[found])) != 0) {
        found = (uint32_t)out->text_count;
        MEM_ADD(out->texts, out->text_count) = mem_strndup(text, length);
    }
    if (!known)
        addr_map_set(&reading->text_of, hash, found);
    addr_map_set(&reading->text_at, (uintptr_t)text, found);
    return found;
}

const char *snapshot_text(struct reading_snapshot *reading, struct pickle_value value)
{
    if (value.kind != PICKLE_TEXT || value.length == 0)
        return "";
    uint32_t place = place_text(reading, value.text, value.length);
    return reading->out->texts[place];
}

static bool same_frame(const struct snapshot_frame *one, const struct snapshot_frame *two)
{
    return one->function == two->function && one->file == two->file && one->line == two->line;
}

/* One frame is held once: by its dictionary, which many stacks share, then by what it says. */
static bool place_frame(struct reading_snapshot *reading, struct pickle_value dict, uint32_t *out)
{
    struct snapshot *snapshot = reading->out;
    uint64_t line = 0;
    if (dict.kind != PICKLE_DICT)
        return err_set(reading->err, "a frame is no dictionary");
    if (addr_map_get(&reading->frame_of_dict, dict.index, out))
        return true;
    if (!snapshot_count(reading, dict))
        return false;
    pickle_number(pickle_get(reading->pickle, dict, NAME_LINE), &line);
    struct snapshot_frame frame = {
        .function = snapshot_text(reading, pickle_get(reading->pickle, dict, NAME_NAME)),
        .file = snapshot_text(reading, pickle_get(reading->pickle, dict, NAME_FILENAME)),
        .line = (int64_t)line};
    uint64_t hash =
        mix_stack_hash(mix_stack_hash(line, (uintptr_t)frame.function), (uintptr_t)frame.file);
    bool known = addr_map_get(&reading->frame_of, hash, out);
    if (!known || !same_frame(&snapshot->frames[*out], &frame)) {
        *out = (uint32_t)snapshot->frame_count;
        MEM_ADD(snapshot->frames, snapshot->frame_count) = frame;
    }
    if (!known)
        addr_map_set(&reading->frame_of, hash, *out);
    addr_map_set(&reading->frame_of_dict, dict.index, *out);
    return true;
}

/* Puts the frames of a list behind the others; they stay when their stack is a new one. */
static bool add_frames(struct reading_snapshot *reading, struct pickle_value list, size_t *count,
                       uint64_t *hash)
{
    struct snapshot *out = reading->out;
    struct pickle_walk walk = pickle_walk(reading->pickle, list);
    struct pickle_value dict;
    *count = 0;
    *hash = 0;
    while (pickle_next(&walk, &dict)) {
        size_t end = out->stack_frame_count + *count;
        uint32_t place;
        if (!snapshot_count(reading, (struct pickle_value){0}) ||
            !place_frame(reading, dict, &place))
            return false;
        out->stack_frames = mem_room(out->stack_frames, end, sizeof place);
        out->stack_frames[end] = place;
        *hash = mix_stack_hash(*hash, place);
        ++*count;
    }
    return true;
}

static bool same_stack(const struct snapshot *snapshot, uint32_t stack, size_t count)
{
    const uint32_t *frames = snapshot->stack_frames;
    return snapshot->stacks[stack].frame_count == count &&
           memcmp(frames + snapshot->stacks[stack].first_frame,
                  frames + snapshot->stack_frame_count, count * sizeof *frames) == 0;
}

static bool place_stack(struct reading_snapshot *reading, struct pickle_value list, uint32_t *out)
{
    struct snapshot *snapshot = reading->out;
    uint64_t hash;
    size_t count;
    if (!add_frames(reading, list, &count, &hash))
        return false;
    bool known = addr_map_get(&reading->stack_of, hash, out);
    if (known && same_stack(snapshot, *out, count))
        return true;
    *out = (uint32_t)snapshot->stack_count;
    MEM_ADD(snapshot->stacks, snapshot->stack_count) =
        (struct snapshot_stack){.first_frame = snapshot->stack_frame_count, .frame_count = count};
    snapshot->stack_frame_count += count;
    if (!known)
        addr_map_set(&reading->stack_of, hash, *out);
    return true;
}

bool snapshot_stack(struct reading_snapshot *reading, struct pickle_value list, uint32_t *out)
{
    *out = 0;
    if (list.kind != PICKLE_LIST || pickle_walk(reading->pickle, list).piece == 0)
        return true;
    uint32_t *note = pickle_note(reading->pickle, list);
    if (note ? (*out = *note) != 0 : addr_map_get(&reading->stack_of_list, list.index, out))
        return true;
    if (!place_stack(reading, list, out))
        return false;
    if (note)
        *note = *out;
    else
        addr_map_set(&reading->stack_of_list, list.index, *out);
    return true;
}

bool snapshot_stream(struct reading_snapshot *reading, uint64_t stream, uint16_t *out)
{
    struct snapshot *snapshot = reading->out;
    for (size_t i = 0; i < snapshot->stream_count; i++)
        if (snapshot->streams[i] == stream) {
            *out = (uint16_t)i;
            return true;
        }
    if (snapshot->stream_count >= STREAMS_MAX)
        return err_set(reading->err, "it names more than %d streams", STREAMS_MAX);
    snapshot->streams = mem_resize(snapshot->streams, snapshot->stream_count + 1, sizeof stream);
    snapshot->streams[snapshot->stream_count] = stream;
    *out = (uint16_t)snapshot->stream_count++;
    return true;
}

static bool read_dict_number(struct reading_snapshot *reading, struct pickle_value dict,
                             enum name key, uint64_t *out)
{
    return pickle_number(pickle_get(reading->pickle, dict, key), out) ||
           err_set(reading->err, "'%s' is not an integer, or absent", pickle_name_text(key));
}

static enum block_state parse_block_state(struct pickle_value state)
{
    switch (state.kind == PICKLE_TEXT ? state.name : NAME_UNKNOWN) {
    case NAME_ACTIVE_ALLOCATED:
        return BLOCK_ALLOCATED;
    case NAME_ACTIVE_PENDING:
    case NAME_ACTIVE_AWAITING:
        return BLOCK_PENDING;
    default:
        return BLOCK_INACTIVE;
    }
}

/* PyTorch 1.13 to 2.0 has the size and the stack of a block in a list, of which the first is the
 * last allocation. */
static struct pickle_value last_of_history(const struct pickle *pickle, struct pickle_value dict)
{
    struct pickle_value last = {0};
    struct pickle_walk walk = pickle_walk(pickle, pickle_get(pickle, dict, NAME_HISTORY));
    return pickle_next(&walk, &last) && last.kind == PICKLE_DICT ? last : (struct pickle_value){0};
}

/* Blocks are contiguous; older writers omit their addresses. */
static bool add_snapshot_block(struct reading_snapshot *reading, struct pickle_value dict,
                               uint64_t *addr)
{
    struct snapshot *out = reading->out;
    struct snapshot_block block = {.addr = *addr};
    uint64_t said;
    if (!snapshot_count(reading, dict) ||
        !read_dict_number(reading, dict, NAME_SIZE, &block.size_bytes))
        return false;
    if (pickle_number(pickle_get(reading->pickle, dict, NAME_ADDRESS), &said) && said != *addr)
        return err_set(reading->err, "its blocks do not lie one after the other");
    block.requested_bytes = block.size_bytes;
    struct pickle_value history = last_of_history(reading->pickle, dict);
    if (!pickle_number(pickle_get(reading->pickle, dict, NAME_REQUESTED_SIZE),
                       &block.requested_bytes))
        pickle_number(pickle_get(reading->pickle, history, NAME_REAL_SIZE), &block.requested_bytes);
    block.state = (uint8_t)parse_block_state(pickle_get(reading->pickle, dict, NAME_STATE));
    struct pickle_value frames = pickle_get(reading->pickle, dict, NAME_FRAMES);
    if (!snapshot_stack(
            reading,
            frames.kind == PICKLE_LIST ? frames : pickle_get(reading->pickle, history, NAME_FRAMES),
            &block.stack))
        return false;
    MEM_ADD(out->blocks, out->block_count) = block;
    if (__builtin_add_overflow(*addr, block.size_bytes, addr) || block.size_bytes == 0)
        return err_set(reading->err, "the size of a block is out of range");
    return true;
}

static bool read_blocks(struct reading_snapshot *reading, struct pickle_value list,
                        struct snapshot_segment *segment)
{
    struct pickle_walk walk = pickle_walk(reading->pickle, list);
    struct pickle_value block;
    uint64_t addr = segment->addr;
    segment->first_block = reading->out->block_count;
    if (list.kind != PICKLE_LIST)
        return err_set(reading->err, "it has no list of blocks");
    while (pickle_next(&walk, &block))
        if (!add_snapshot_block(reading, block, &addr))
            return err_wrap(reading->err, "block %zu",
                            reading->out->block_count - segment->first_block);
    segment->block_count = reading->out->block_count - segment->first_block;
    return addr - segment->addr == segment->size_bytes ||
           err_set(reading->err, "its blocks do not add up to its size");
}

static void read_pool_id(struct reading_snapshot *reading, struct pickle_value pair,
                         uint64_t out[2])
{
    struct pickle_walk walk = pickle_walk(reading->pickle, pair);
    struct pickle_value value;
    for (size_t i = 0; i < 2 && pickle_next(&walk, &value); i++)
        pickle_number(value, &out[i]);
}

static bool read_segment(struct reading_snapshot *reading, struct pickle_value dict,
                         struct snapshot_segment *out)
{
    uint64_t device = 0, stream, expandable = 0;
    if (dict.kind != PICKLE_DICT)
        return err_set(reading->err, "it is no dictionary");
    if (!snapshot_count(reading, dict) ||
        !read_dict_number(reading, dict, NAME_ADDRESS, &out->addr) ||
        !read_dict_number(reading, dict, NAME_TOTAL_SIZE, &out->size_bytes) ||
        !read_dict_number(reading, dict, NAME_STREAM, &stream) ||
        !snapshot_stream(reading, stream, &out->stream))
        return false;
    pickle_number(pickle_get(reading->pickle, dict, NAME_DEVICE), &device);
    if (device >= DEVICES_MAX)
        return err_set(reading->err, "its device is out of range");
    out->device = (uint16_t)device;
    struct pickle_value type = pickle_get(reading->pickle, dict, NAME_SEGMENT_TYPE);
    out->small = type.kind == PICKLE_TEXT && type.name == NAME_SMALL;
    pickle_number(pickle_get(reading->pickle, dict, NAME_IS_EXPANDABLE), &expandable);
    out->expandable = expandable != 0;
    read_pool_id(reading, pickle_get(reading->pickle, dict, NAME_SEGMENT_POOL_ID), out->pool_id);
    return snapshot_stack(reading, pickle_get(reading->pickle, dict, NAME_FRAMES), &out->stack) &&
           read_blocks(reading, pickle_get(reading->pickle, dict, NAME_BLOCKS), out);
}

static int by_place(const void *a, const void *b)
{
    const struct snapshot_segment *one = a, *two = b;
    if (one->device != two->device)
        return one->device < two->device ? -1 : 1;
    return ORDER(one->addr, two->addr);
}

bool snapshot_read_segments(struct reading_snapshot *reading, struct pickle_value list)
{
    struct snapshot *out = reading->out;
    struct pickle_walk walk = pickle_walk(reading->pickle, list);
    struct pickle_value segment;
    while (pickle_next(&walk, &segment)) {
        out->segments = mem_room(out->segments, out->segment_count, sizeof *out->segments);
        out->segments[out->segment_count] = (struct snapshot_segment){0};
        if (!read_segment(reading, segment, &out->segments[out->segment_count]))
            return err_wrap(reading->err, "segment %zu", out->segment_count);
        out->segment_count++;
    }
    if (out->segment_count > 1)
        qsort(out->segments, out->segment_count, sizeof *out->segments, by_place);
    return true;
}

static void read_divisions(struct reading_snapshot *reading, struct pickle_value dict,
                           struct alloc_settings *out)
{
    struct pickle_walk walk = pickle_walk(reading->pickle, dict);
    struct pickle_value key, value;
    uint64_t divisions;
    while (dict.kind == PICKLE_DICT && pickle_next(&walk, &key) && pickle_next(&walk, &value)) {
        char text[16] = "";
        if (key.kind != PICKLE_TEXT || key.length >= sizeof text ||
            !pickle_number(value, &divisions))
            continue;
        memcpy(text, key.text, key.length);
        unsigned long mib = strtoul(text, NULL, 10);
        if (mib > 0 && (mib & (mib - 1)) == 0 && mib < 1UL << CONF_CLASSES && divisions <= 1 << 20)
            out->divisions[__builtin_ctzl(mib)] = (uint32_t)divisions;
    }
}

bool snapshot_read_settings(struct reading_snapshot *reading, struct pickle_value dict)
{
    struct snapshot *out = reading->out;
    struct alloc_settings *settings = &out->settings;
    struct pickle_value value = pickle_get(reading->pickle, dict, NAME_CONF);
    uint64_t number;
    if (value.kind == PICKLE_TEXT)
        out->conf = copy_pickle_text(value);
    value = pickle_get(reading->pickle, dict, NAME_MAX_SPLIT_SIZE);
    if (pickle_number(value, &number) && !(value.kind == PICKLE_INT && value.number < 0))
        settings->max_split_bytes = number;
    value = pickle_get(reading->pickle, dict, NAME_GC_THRESHOLD);
    if (value.kind == PICKLE_FLOAT && value.real > 0 && value.real < 1)
        settings->gc_threshold = value.real;
    if (pickle_number(pickle_get(reading->pickle, dict, NAME_EXPANDABLE_SEGMENTS), &number))
        settings->expandable = number != 0;
    read_divisions(reading, pickle_get(reading->pickle, dict, NAME_ROUNDUP_DIVISIONS), settings);
    return true;
}

static int compare_mark_times(const void *a, const void *b)
{
    const struct snapshot_mark *one = a, *two = b;
    return ORDER(one->time_us, two->time_us);
}

/* Annotations are no ground to refuse a file: what is not understood is passed over. */
bool snapshot_read_marks(struct reading_snapshot *reading, struct pickle_value list)
{
    struct snapshot *out = reading->out;
    struct pickle_walk walk = pickle_walk(reading->pickle, list);
    struct pickle_value dict;
    while (pickle_next(&walk, &dict)) {
        uint64_t time_us, device = 0;
        if (!snapshot_count(reading, dict))
            return false;
        struct pickle_value stage = pickle_get(reading->pickle, dict, NAME_STAGE);
        if (!pickle_number(pickle_get(reading->pickle, dict, NAME_TIME_US), &time_us))
            continue;
        pickle_number(pickle_get(reading->pickle, dict, NAME_DEVICE), &device);
        MEM_ADD(out->marks, out->mark_count) = (struct snapshot_mark){
            .name = snapshot_text(reading, pickle_get(reading->pickle, dict, NAME_NAME)),
            .time_us = (int64_t)time_us,
            .device = (uint16_t)device,
            .start = stage.kind == PICKLE_TEXT && stage.name == NAME_START};
    }
    if (out->mark_count > 1)
        qsort(out->marks, out->mark_count, sizeof *out->marks, compare_mark_times);
    return true;
}
