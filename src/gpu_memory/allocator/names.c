#include "gpu_memory/allocator/names.h"

#include <string.h>

static const char *const texts[NAME_COUNT] = {
    [NAME_UNKNOWN] = "",
    [NAME_ACTION] = "action",
    [NAME_ADDR] = "addr",
    [NAME_SIZE] = "size",
    [NAME_STREAM] = "stream",
    [NAME_TIME_US] = "time_us",
    [NAME_FRAMES] = "frames",
    [NAME_DEVICE_FREE] = "device_free",
    [NAME_DEVICE] = "device",
    [NAME_ADDRESS] = "address",
    [NAME_TOTAL_SIZE] = "total_size",
    [NAME_REQUESTED_SIZE] = "requested_size",
    [NAME_SEGMENT_TYPE] = "segment_type",
    [NAME_SEGMENT_POOL_ID] = "segment_pool_id",
    [NAME_IS_EXPANDABLE] = "is_expandable",
    [NAME_BLOCKS] = "blocks",
    [NAME_STATE] = "state",
    [NAME_FILENAME] = "filename",
    [NAME_NAME] = "name",
    [NAME_LINE] = "line",
    [NAME_STAGE] = "stage",
    [NAME_SEGMENTS] = "segments",
    [NAME_DEVICE_TRACES] = "device_traces",
    [NAME_ALLOCATOR_SETTINGS] = "allocator_settings",
    [NAME_EXTERNAL_ANNOTATIONS] = "external_annotations",
    [NAME_CONF] = "PYTORCH_CUDA_ALLOC_CONF",
    [NAME_MAX_SPLIT_SIZE] = "max_split_size",
    [NAME_GC_THRESHOLD] = "garbage_collection_threshold",
    [NAME_EXPANDABLE_SEGMENTS] = "expandable_segments",
    [NAME_ROUNDUP_DIVISIONS] = "roundup_power2_divisions",
    [NAME_ALLOC] = "alloc",
    [NAME_FREE_REQUESTED] = "free_requested",
    [NAME_FREE_COMPLETED] = "free_completed",
    [NAME_SEGMENT_ALLOC] = "segment_alloc",
    [NAME_SEGMENT_FREE] = "segment_free",
    [NAME_SEGMENT_MAP] = "segment_map",
    [NAME_SEGMENT_UNMAP] = "segment_unmap",
    [NAME_OOM] = "oom",
    [NAME_SNAPSHOT] = "snapshot",
    [NAME_SMALL] = "small",
    [NAME_LARGE] = "large",
    [NAME_INACTIVE] = "inactive",
    [NAME_ACTIVE_ALLOCATED] = "active_allocated",
    [NAME_ACTIVE_PENDING] = "active_pending_free",
    [NAME_ACTIVE_AWAITING] = "active_awaiting_free",
    [NAME_START] = "START",
};

static size_t slot(const char *text, size_t length)
{
    return (length * 7 + (unsigned char)text[0] + (size_t)(unsigned char)text[length - 1] * 3) % 128;
}

void names_init(struct names *names)
{
    memset(names, 0, sizeof *names);
    for (unsigned name = 1; name < NAME_COUNT; name++) {
        uint8_t *first = &names->first[slot(texts[name], strlen(texts[name]))];
        names->next[name] = *first;
        *first = (uint8_t)name;
    }
}

enum name names_find(const struct names *names, const char *text, size_t length)
{
    if (length == 0)
        return NAME_UNKNOWN;
    unsigned name = names->first[slot(text, length)];
    while (name && (strlen(texts[name]) != length || memcmp(texts[name], text, length) != 0))
        name = names->next[name];
    return name;
}

const char *name_text(enum name name)
{
    return texts[name];
}
