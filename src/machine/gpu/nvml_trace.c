#include "machine/gpu/nvml_trace.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const FUNCTION = "nvmlDeviceGetSamples";

enum { FIRST_ROOM = 512, ROOM_MAX = 16384, ANCHOR_TRIES = 8 };

static const int64_t ANCHOR_GOOD_NS = 20000;
/* a stamp may be this much ahead: it is rounded, clocks are slewed */
static const int64_t FUTURE_NS = 5 * NS_PER_MS;
static const int64_t PAST_NS = 600 * NS_PER_S; /* no driver keeps power samples that long */
/* how long a buffer may be, amply; measured: 2.4 s */
static const int64_t KEPT_NS = 10 * NS_PER_S;
/* the least by which a clock that was set is told from a slewed one */
static const int64_t SET_NS = 5 * NS_PER_MS;

struct anchor {
    int64_t monotonic_ns, offset_ns; /* offset: wall clock less CLOCK_MONOTONIC */
};

/* Both clocks at one instant: the pair with the least time between, of a few tries, as the process
 * may be interrupted. */
static struct anchor anchor_take(void)
{
    struct anchor best = {0};
    int64_t best_width = INT64_MAX;
    for (int i = 0; i < ANCHOR_TRIES && best_width > ANCHOR_GOOD_NS; i++) {
        int64_t before = clock_monotonic_ns();
        int64_t wall = clock_realtime_ns();
        int64_t after = clock_monotonic_ns();
        if (after - before < best_width) {
            best_width = after - before;
            best.monotonic_ns = before + best_width / 2;
            best.offset_ns = wall - best.monotonic_ns;
        }
    }
    return best;
}

/* Whether the wall clock was set between the two; slewing, at most 500 ppm, is not that. */
static bool was_set(struct anchor first, struct anchor second)
{
    int64_t slack = SET_NS + (second.monotonic_ns - first.monotonic_ns) / 1000;
    return llabs(second.offset_ns - first.offset_ns) > slack;
}

/* From now on what bears the old time is refused: it lies before now or, when the clock was set
 * back a little, before what the old clock showed. (Set back by more than the buffer is long, it
 * lies in the future as long as it is in the buffer.) */
static void clock_was_set(struct gpu_sensor *sensor, struct anchor old, struct anchor now)
{
    int64_t back = old.offset_ns - now.offset_ns;
    if (back < 0 || back > KEPT_NS)
        back = 0;
    sensor->not_before_ns = now.monotonic_ns + back;
    sensor->seen_us = 0;
}

/* All the driver has, into *items, which the caller frees. */
static int fetch(struct gpu_sensor *sensor, struct nvml_sample **items, unsigned *count,
                 unsigned *type)
{
    unsigned room = FIRST_ROOM;
    int result = NVML_ERROR_INSUFFICIENT_SIZE;
    for (int i = 0; i < 3 && result == NVML_ERROR_INSUFFICIENT_SIZE && room <= ROOM_MAX; i++) {
        *items = mem_resize(*items, room, sizeof **items);
        memset(*items, 0, room * sizeof **items);
        *count = room;
        result =
            sensor->api->samples(sensor->device, NVML_TOTAL_POWER_SAMPLES, 0, type, count, *items);
        if (result == NVML_SUCCESS && *count > room)
            *count = room;
        if (result == NVML_ERROR_INSUFFICIENT_SIZE)
            room = *count > room ? *count : room * 2;
    }
    return result;
}

static void keep_power_sample(struct gpu_trace *out, struct gpu_power_sample sample)
{
    if (out->count == GPU_TRACE_MAX) {
        memmove(out->samples, out->samples + 1, (GPU_TRACE_MAX - 1) * sizeof *out->samples);
        out->count--;
        out->left_out++;
    }
    out->samples[out->count++] = sample;
}

static void add_trace_sample(struct gpu_sensor *sensor, const struct nvml_sample *sample,
                             unsigned type, struct anchor anchor, struct gpu_trace *out)
{
    double mw;
    struct gpu_readings check = {0};
    if (sample->time_us <= sensor->seen_us && out->count == 0)
        return; /* given before */
    int64_t wall_ns = sample->time_us < INT64_MAX / 1000 ? (int64_t)sample->time_us * 1000 : 0;
    int64_t t_ns = wall_ns - anchor.offset_ns;
    bool in_order = out->count == 0 || t_ns > out->samples[out->count - 1].t_ns;
    if (wall_ns == 0 || t_ns <= 0 || t_ns < anchor.monotonic_ns - PAST_NS ||
        t_ns > anchor.monotonic_ns + FUTURE_NS || t_ns < sensor->not_before_ns || !in_order ||
        !nvml_number(type, &sample->value, &mw) ||
        !gpu_reading_set(&check, GPU_POWER_INSTANT_W, mw / 1000)) {
        out->refused++;
        return;
    }
    keep_power_sample(out, (struct gpu_power_sample){.t_ns = t_ns, .power_w = mw / 1000});
    sensor->seen_us = sample->time_us;
}

bool nvml_trace(struct gpu_sensor *sensor, struct gpu_trace *out, struct err *err)
{
    AUTO(cleanup_free) struct nvml_sample *items = NULL;
    unsigned count = 0, type = NVML_VALUE_UNSIGNED_INT;
    *out = (struct gpu_trace){0};
    if (!nvml_whole(sensor, err))
        return false;
    if (!sensor->api->samples)
        return nvml_lacks(FUNCTION, err);
    struct anchor before = anchor_take();
    int result = fetch(sensor, &items, &count, &type);
    struct anchor after = anchor_take();
    struct anchor last = {.monotonic_ns = sensor->offset_at_ns, .offset_ns = sensor->offset_ns};
    if (sensor->has_offset && was_set(last, before))
        clock_was_set(sensor, last, before);
    if (was_set(before, after))
        clock_was_set(sensor, before, after);
    sensor->has_offset = true;
    sensor->offset_ns = after.offset_ns;
    sensor->offset_at_ns = after.monotonic_ns;
    if (result == NVML_ERROR_NOT_FOUND)
        return true; /* nothing in the buffer yet */
    if (result != NVML_SUCCESS)
        return nvml_fail(sensor->api, result, FUNCTION, err);
    for (unsigned i = 0; i < count; i++)
        add_trace_sample(sensor, &items[i], type, after, out);
    return true;
}
