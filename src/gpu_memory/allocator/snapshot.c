#include "gpu_memory/allocator/snapshot.h"

#include "base/mem.h"
#include "gpu_memory/allocator/snapshot_private.h"
#include "gpu_memory/allocator/unpack.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nearly always at the same place as in the pickle, which the streams were copied from. */
static bool place_stream(struct reading_snapshot *reading, const struct pickle_event *event,
                         uint16_t *out)
{
    size_t count;
    const uint64_t *streams = pickle_streams(reading->pickle, &count);
    uint64_t stream =
        event->set & PICKLE_SET_STREAM && event->stream < count ? streams[event->stream] : 0;
    *out = event->stream;
    if (*out < reading->out->stream_count && reading->out->streams[*out] == stream)
        return true;
    return snapshot_stream(reading, stream, out);
}

static bool read_event(struct reading_snapshot *reading, struct pickle_value dict,
                       struct snapshot_event *out)
{
    struct pickle_event event;
    if (!snapshot_count(reading, dict) ||
        !pickle_event(reading->pickle, dict, &event, reading->err))
        return false;
    *out = (struct snapshot_event){.addr = event.addr,
                                   .size_bytes = event.size,
                                   .time_us = event.time_us,
                                   .action = event.action};
    if (!place_stream(reading, &event, &out->stream))
        return false;
    const uint8_t needed = PICKLE_SET_ADDR | PICKLE_SET_SIZE;
    if (event.action < NAME_ALLOC || event.action > NAME_SNAPSHOT)
        out->action = NAME_UNKNOWN;
    else if (event.action != NAME_SNAPSHOT && (event.set & needed) != needed)
        return err_set(reading->err, "it has no address or no size");
    if (event.frames == 0)
        return true;
    struct pickle_value frames = {.kind = PICKLE_LIST, .index = event.frames - 1};
    return snapshot_stack(reading, frames, &out->stack);
}

static bool read_trace(struct reading_snapshot *reading, struct pickle_value list,
                       struct snapshot_device *out)
{
    struct pickle_walk walk = pickle_walk(reading->pickle, list);
    struct pickle_value event;
    size_t count = pickle_count(reading->pickle, list);
    if (count > reading->elements_max - reading->elements)
        return err_set(reading->err,
                       "the same lists are named over and over: no snapshot is written so");
    out->events = mem_array(count, sizeof *out->events);
    while (pickle_next(&walk, &event)) {
        if (!read_event(reading, event, &out->events[out->count]))
            return err_wrap(reading->err, "event %zu", out->count);
        out->count++;
    }
    return true;
}

static bool read_traces(struct reading_snapshot *reading, struct pickle_value list)
{
    struct snapshot *out = reading->out;
    struct pickle_walk walk = pickle_walk(reading->pickle, list);
    struct pickle_value trace;
    while (pickle_next(&walk, &trace)) {
        if (!snapshot_count(reading, trace))
            return false;
        out->devices = mem_resize(out->devices, out->device_count + 1, sizeof *out->devices);
        out->devices[out->device_count++] = (struct snapshot_device){0};
        if (!read_trace(reading, trace, &out->devices[out->device_count - 1]))
            return err_wrap(reading->err, "device_traces: device %zu", out->device_count - 1);
    }
    return true;
}

static int compare_uint64(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return ORDER(one, two);
}

/* The allocator searches its streams in the order of their numbers: so do we, by their places. */
static void sort_streams(struct snapshot *snapshot)
{
    size_t count = snapshot->stream_count;
    uint64_t *sorted = mem_array(count, sizeof *sorted);
    uint16_t *place = mem_array(count, sizeof *place);
    if (count > 0)
        memcpy(sorted, snapshot->streams, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_uint64);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *found =
            bsearch(&snapshot->streams[i], sorted, count, sizeof *sorted, compare_uint64);
        place[i] = (uint16_t)(found - sorted);
    }
    EACH (segment, snapshot->segments, snapshot->segment_count)
        segment->stream = place[segment->stream];
    for (size_t d = 0; count > 1 && d < snapshot->device_count; d++)
        EACH (event, snapshot->devices[d].events, snapshot->devices[d].count)
            event->stream = place[event->stream];
    free(snapshot->streams);
    free(place);
    snapshot->streams = sorted;
}

static void copy_streams(struct reading_snapshot *reading)
{
    size_t count;
    const uint64_t *streams = pickle_streams(reading->pickle, &count);
    reading->out->streams = mem_array(count, sizeof *streams);
    if (count > 0)
        memcpy(reading->out->streams, streams, count * sizeof *streams);
    reading->out->stream_count = count;
}

/* A segment may name a device that recorded no trace. */
static void add_untraced_devices(struct snapshot *out)
{
    size_t most = out->segment_count ? out->segments[out->segment_count - 1].device + (size_t)1 : 0;
    if (most <= out->device_count)
        return;
    out->devices = mem_resize(out->devices, most, sizeof *out->devices);
    memset(out->devices + out->device_count, 0, (most - out->device_count) * sizeof *out->devices);
    out->device_count = most;
}

static bool read_snapshot_root(struct reading_snapshot *reading)
{
    const struct pickle *pickle = reading->pickle;
    struct pickle_value root = pickle_root(pickle);
    /* torch.cuda.memory_snapshot() gives the segments alone. */
    struct pickle_value segments =
        root.kind == PICKLE_LIST ? root : pickle_get(pickle, root, NAME_SEGMENTS);
    struct pickle_value traces = pickle_get(pickle, root, NAME_DEVICE_TRACES);
    struct snapshot *out = reading->out;
    if (segments.kind != PICKLE_LIST ||
        (traces.kind != PICKLE_LIST && traces.kind != PICKLE_ABSENT))
        return err_set(
            reading->err,
            "it is a pickle, but of no memory snapshot (a dictionary with 'segments' and "
            "'device_traces', or a list of segments): torch.cuda.memory._dump_snapshot() writes "
            "one");
    out->settings = conf_default();
    MEM_ADD(out->stacks, out->stack_count) = (struct snapshot_stack){0};
    copy_streams(reading);
    if (!read_traces(reading, traces) || !snapshot_read_segments(reading, segments) ||
        !snapshot_read_settings(reading, pickle_get(pickle, root, NAME_ALLOCATOR_SETTINGS)) ||
        !snapshot_read_marks(reading, pickle_get(pickle, root, NAME_EXTERNAL_ANNOTATIONS)))
        return false;
    add_untraced_devices(out);
    sort_streams(out);
    return true;
}

/* Words repeat in a snapshot: packed, real ones are a thirtieth. */
#define UNPACKED_PER_BYTE ((size_t)300)
#define UNPACKED_LEAST    ((size_t)1 << 26)

/* Frees the pickle; NULL: err is set. */
static bool read_pickle(struct pickle *pickle, size_t count, struct snapshot *out, struct err *err)
{
    *out = (struct snapshot){0};
    struct reading_snapshot reading = {
        .pickle = pickle, .out = out, .elements_max = count, .err = err};
    if (!pickle)
        return false;
    bool good = read_snapshot_root(&reading);
    out->read_memory_bytes = pickle_memory(reading.pickle);
    struct addr_map *maps[] = {&reading.stack_of_list, &reading.frame_of_dict, &reading.text_at,
                               &reading.stack_of,      &reading.frame_of,      &reading.text_of};
    EACH_OF (map, maps) {
        out->read_memory_bytes += (*map)->capacity * sizeof *(*map)->entries;
        addr_map_fini(*map);
    }
    pickle_free(reading.pickle);
    if (!good)
        snapshot_fini(out);
    return good;
}

bool snapshot_read(const void *bytes, size_t count, struct snapshot *out, struct err *err)
{
    return read_pickle(pickle_read(bytes, count, err), count, out, err);
}

/* Keeps in memory what cannot be mapped as it is: a pipe, a compressed file. */
static bool load_bytes(int fd, const char *path, bool as_it_is, struct snapshot *out,
                       struct err *err)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return err_sys(err, "%s", path);
    if (!S_ISREG(stat.st_mode))
        return err_set(err, "%s: it is no regular file", path);
    if (stat.st_size == 0)
        return err_set(err, "%s: byte 0: the file is empty", path);
    size_t count = (size_t)stat.st_size;
    void *bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return err_sys(err, "%s: cannot be mapped", path);
    madvise(bytes, count, MADV_SEQUENTIAL);
    const struct unpack_format *format = unpack_find(bytes, count);
    if (as_it_is || !format || !format->program) {
        bool good = as_it_is ? snapshot_read(bytes, count, out, err)
                             : read_pickle(pickle_read_mapped(bytes, count, err), count, out, err);
        munmap(bytes, count);
        return good || err_wrap(err, "%s", path);
    }
    munmap(bytes, count);
    size_t limit = count > (SIZE_MAX - UNPACKED_LEAST) / UNPACKED_PER_BYTE
                       ? SIZE_MAX
                       : count * UNPACKED_PER_BYTE + UNPACKED_LEAST;
    AUTO_CLOSE int kept = unpack_file(format, fd, limit, err);
    return kept < 0 ? err_wrap(err, "%s", path) : load_bytes(kept, path, true, out, err);
}

bool snapshot_load(const char *path, struct snapshot *out, struct err *err)
{
    *out = (struct snapshot){0};
    struct stat stat;
    if (strcmp(path, "-") != 0) {
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return fd < 0 ? err_sys(err, "%s", path) : load_bytes(fd, path, false, out, err);
    }
    static const char name[] = "standard input";
    if (fstat(STDIN_FILENO, &stat) == 0 && S_ISREG(stat.st_mode) &&
        lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
        return load_bytes(STDIN_FILENO, name, false, out, err);
    AUTO_CLOSE int kept = unpack_keep(STDIN_FILENO, SIZE_MAX, err);
    return kept < 0 ? err_wrap(err, "%s", name) : load_bytes(kept, name, false, out, err);
}

bool snapshot_load_at(int folder, const char *name, struct snapshot *out, struct err *err)
{
    *out = (struct snapshot){0};
    AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? err_sys(err, "%s", name) : load_bytes(fd, name, true, out, err);
}

void snapshot_fini(struct snapshot *snapshot)
{
    EACH (device, snapshot->devices, snapshot->device_count)
        free(device->events);
    EACH (text, snapshot->texts, snapshot->text_count)
        free(*text);
    free(snapshot->texts);
    free(snapshot->stack_frames);
    free(snapshot->devices);
    free(snapshot->segments);
    free(snapshot->blocks);
    free(snapshot->stacks);
    free(snapshot->frames);
    free(snapshot->marks);
    free(snapshot->streams);
    free(snapshot->conf);
    *snapshot = (struct snapshot){0};
}
