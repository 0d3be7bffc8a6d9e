/* Snapshots, mostly mutated valid ones, replayed: by the record, and under other settings and caps.
 * The first two bytes choose the setting and the cap; the rest is the file. What is no pickle is
 * taken as events, four bytes each, so that the order of events is tried as freely as their bytes.
 * Whatever the trace says, the model's figures hold together. */
#include "fuzz.h"
#include "gpu_memory/allocator/check.h"
#include "gpu_memory/allocator/usage.h"

#define EVENTS_MAX 4000 /* longer ones only cost time */

static const char *const confs[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:32",
    "roundup_power2_divisions:8",
    "garbage_collection_threshold:0.6",
    "expandable_segments:True,roundup_power2_divisions:[64:2,256:4,>:8]",
    "max_split_size_mb:64,garbage_collection_threshold:0.5"};

static void check_stats(const struct model_stats *stats)
{
    check(stats->allocated.now <= stats->active.now && stats->active.now <= stats->reserved.now);
    check(stats->allocated.peak <= stats->active.peak &&
          stats->active.peak <= stats->reserved.peak);
    check(stats->inactive_split.now <= stats->reserved.now);
}

static void try_one(const struct snapshot *snapshot, size_t device, const struct program *program,
                    uint8_t which, uint8_t cap)
{
    struct alloc_settings settings;
    struct replay replay;
    check(conf_parse(confs[which % (sizeof confs / sizeof *confs)], &settings, NULL));
    uint64_t cap_bytes = cap == 255 ? MODEL_NO_CAP : program->peak_reserved_bytes / 64 * cap;
    replay_predict(snapshot, device, program, &settings, cap_bytes, 0, &replay);
    check_stats(&replay.stats);
    check(replay.peak_low_bytes <= replay.stats.reserved.peak &&
          replay.stats.reserved.peak <= replay.peak_high_bytes);
    check((replay.outcome == REPLAY_FITS) == (replay.refusals == 0) ||
          replay.outcome == REPLAY_SURVIVES || replay.outcome == REPLAY_UNCERTAIN);
}

static void replay_device(const struct snapshot *snapshot, size_t device, uint8_t which,
                          uint8_t cap)
{
    struct program program;
    struct check result;
    struct growth growth;
    struct curve curve;
    struct owners owners;
    struct owner_sum sums[OWNER_KINDS + 1];
    size_t rows;
    if (snapshot->devices[device].count > EVENTS_MAX ||
        !program_build(snapshot, device, &program, NULL))
        return;
    usage_curve(snapshot, device, &program, &curve);
    owners_find(snapshot, device, &program, &owners);
    usage_growth(snapshot, device, &program, &owners, &growth);
    struct owner_row *alive = owners_alive(&owners, &program, curve.peak_event, &rows);
    owners_sum(&owners, alive, rows, sums);
    check(sums[OWNER_KINDS].count <= program.allocation_count);
    free(alive);
    usage_growth_fini(&growth);
    owners_fini(&owners);
    uint64_t recorded = cap % 2 ? MODEL_NO_CAP : program.peak_reserved_bytes;
    check_run(snapshot, device, &program, recorded, 0, &result);
    check(result.exact == (result.difference[0] == '\0'));
    if (result.exact)
        check_stats(&result.stats);
    program_add_empty_caches(&program, result.empty_caches, result.empty_cache_count);
    try_one(snapshot, device, &program, which, cap);
    check_fini(&result);
    program_fini(&program);
}

/* Few addresses and sizes, so that they meet often. */
static struct snapshot_event event_of(const uint8_t *four, size_t place)
{
    static const uint64_t sizes[] = {
        1,       512,      4096,     700 << 10, 1 << 20,  3 << 20,   9 << 20, 12 << 20,
        2 << 20, 20 << 20, 30 << 20, 64 << 20,  90 << 20, 512 << 20, 1 << 30, UINT64_MAX - 600};
    return (struct snapshot_event){
        .action = (uint8_t)(NAME_ALLOC + four[0] % 9),
        .stream = four[0] >> 7,
        .addr = UINT64_C(0x7f0000000000) + four[1] * (UINT64_C(1) << 20) +
                (four[2] & 7) * UINT64_C(512),
        .size_bytes = sizes[four[3] % 16] + (four[2] >> 4) * UINT64_C(512),
        .time_us = (int64_t)place};
}

static void replay_events(const uint8_t *data, size_t size, uint8_t which, uint8_t cap)
{
    struct snapshot_device device = {.count = size / 4};
    uint64_t streams[2] = {0, 7};
    char epoch[] = "epoch";
    struct snapshot_mark marks[] = {{.name = epoch, .time_us = 1, .start = true},
                                    {.name = epoch, .time_us = 20, .start = true},
                                    {.name = epoch, .time_us = 40, .start = true},
                                    {.name = epoch, .time_us = 60, .start = true}};
    struct snapshot_stack stack = {0};
    struct snapshot snapshot = {.devices = &device,
                                .device_count = 1,
                                .streams = streams,
                                .stream_count = 2,
                                .marks = marks,
                                .mark_count = 4,
                                .stacks = &stack,
                                .stack_count = 1};
    if (!conf_parse(confs[which / 16 % (sizeof confs / sizeof *confs)], &snapshot.settings, NULL))
        abort();
    device.events = calloc(device.count + 1, sizeof *device.events);
    for (size_t i = 0; device.events && i < device.count; i++)
        device.events[i] = event_of(data + 4 * i, i);
    replay_device(&snapshot, 0, which, cap);
    free(device.events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot snapshot;
    if (size < 3)
        return 0;
    if (data[2] != 0x80) {
        replay_events(data + 3, size - 3, data[0], data[1]);
        return 0;
    }
    if (!snapshot_read(data + 2, size - 2, &snapshot, NULL))
        return 0;
    for (size_t d = 0; d < snapshot.device_count && d < 4; d++)
        replay_device(&snapshot, d, data[0], data[1]);
    snapshot_fini(&snapshot);
    return 0;
}
