/* Any bytes read as a memory snapshot: refused with a place, or read into structs that hold
 * together. */
#include "fuzz.h"
#include "gpu_memory/allocator/usage.h"

static void check_segments(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[i];
        uint64_t addr = segment->addr;
        check(segment->device < snapshot->device_count && segment->stream < snapshot->stream_count);
        check(segment->first_block + segment->block_count <= snapshot->block_count);
        for (size_t b = 0; b < segment->block_count; b++) {
            const struct snapshot_block *block = &snapshot->blocks[segment->first_block + b];
            check(block->addr == addr && block->size_bytes > 0 &&
                  block->stack < snapshot->stack_count);
            addr += block->size_bytes;
        }
        check(addr - segment->addr == segment->size_bytes);
    }
}

static void check_events(const struct snapshot *snapshot)
{
    for (size_t d = 0; d < snapshot->device_count; d++)
        for (size_t i = 0; i < snapshot->devices[d].count; i++) {
            const struct snapshot_event *event = &snapshot->devices[d].events[i];
            check(event->stream < snapshot->stream_count && event->stack < snapshot->stack_count);
        }
    for (size_t i = 0; i < snapshot->stack_count; i++)
        check(snapshot->stacks[i].first_frame + snapshot->stacks[i].frame_count <=
              snapshot->stack_frame_count);
    for (size_t i = 0; i < snapshot->stack_frame_count; i++)
        check(snapshot->stack_frames[i] < snapshot->frame_count);
    for (size_t i = 1; i < snapshot->stream_count; i++)
        check(snapshot->streams[i - 1] < snapshot->streams[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot snapshot;
    struct err err = {0};
    if (!snapshot_read(data, size, &snapshot, &err)) {
        check(err.text[0] != '\0');
        return 0;
    }
    check(snapshot.read_memory_bytes <= size * 16 + (1 << 20));
    check_segments(&snapshot);
    check_events(&snapshot);
    for (size_t d = 0; d < snapshot.device_count; d++) {
        struct usage_layout layout;
        usage_layout(&snapshot, d, &layout);
        usage_layout_fini(&layout);
    }
    snapshot_fini(&snapshot);
    return 0;
}
