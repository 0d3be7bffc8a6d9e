#include "sharing/predict.h"
#include "base/mem.h"

#include "base/record.h"
#include "stats/describe.h"

#include <math.h>

static const double LEAST_MARGIN = 16.0 * 1048576, MARGIN_SHARE = 0.01;

/* The highest within [from_s, to_s] of a curve that begins anew every period_s; what touches the
 * span counts. */
static double highest_within(const struct memory_curve *curve, double from_s, double to_s,
                             double period_s)
{
    double most = 0;
    if (to_s - from_s >= period_s)
        return curve->peak_bytes;
    double shift = floor(from_s / period_s) * period_s;
    for (int turn = 0; turn < 2; turn++) {
        double from = from_s - shift - turn * period_s, to = to_s - shift - turn * period_s;
        for (size_t i = 0; i < curve->count; i++)
            if ((double)i * curve->step_s <= to && (double)(i + 1) * curve->step_s >= from)
                most = fmax(most, curve->points[i]);
    }
    return most;
}

double pairs_aligned_peak(const struct memory_curve *foreground,
                          const struct memory_curve *background, const struct pairs_timing *timing)
{
    struct memory_curve fore = *foreground, back = *background;
    double slow = fmax(timing->slowdown_max, 1), peak = fmax(fore.peak_bytes, back.peak_bytes);
    double period_s = (double)back.count * back.step_s + fmax(timing->restart_s, 0);
    curve_fill(&fore);
    curve_fill(&back);
    for (size_t i = 0; i < fore.count && period_s > 0; i++) {
        double from_s = timing->lead_low_s + (double)i * fore.step_s / slow;
        double to_s =
            fmax(timing->lead_high_s, timing->lead_low_s) + (double)(i + 1) * fore.step_s * slow;
        peak = fmax(peak, fore.points[i] + highest_within(&back, from_s, to_s, period_s));
    }
    return peak;
}

/* The part of its memory that is not at risk. */
static double usable_room_bytes(const struct pairs_room *room)
{
    return fmin(limits_usable_share * room->total_bytes, room->available_bytes);
}

void pairs_bound(const struct memory_curve *foreground, double foreground_margin,
                 const struct memory_curve *background, double background_margin,
                 const struct pairs_room *room, struct pairs_prediction *out)
{
    *out = (struct pairs_prediction){.known = foreground->any && background->any &&
                                              room->total_bytes > 0};
    if (!out->known)
        return;
    out->safe_bytes = out->aligned_bytes = foreground->peak_bytes + background->peak_bytes;
    out->margin_bytes = foreground_margin + background_margin;
    out->tier = pairs_tier_of(out->safe_bytes, room->total_bytes);
    out->size_tier = limits_tier_of(out->safe_bytes);
    out->size_risk = limits_risk_of(out->safe_bytes);
    out->fits = out->safe_bytes + out->margin_bytes <= room->available_bytes;
    out->risk =
        out->safe_bytes + out->margin_bytes <= usable_room_bytes(room) ? RISK_STABLE : RISK_HIGH;
}

void pairs_predict(const struct memory_curve *foreground, double foreground_margin,
                   const struct memory_curve *background, double background_margin,
                   const struct pairs_timing *timing, const struct pairs_room *room,
                   struct pairs_prediction *out)
{
    pairs_bound(foreground, foreground_margin, background, background_margin, room, out);
    if (!out->known)
        return;
    out->aligned_bytes = pairs_aligned_peak(foreground, background, timing);
    out->fits = out->aligned_bytes + out->margin_bytes <= room->available_bytes;
    if (out->risk == RISK_HIGH && out->aligned_bytes + out->margin_bytes <= usable_room_bytes(room))
        out->risk = RISK_USABLE;
}

double pairs_margin(double peak_low, double peak_high, double ripple)
{
    if (!(peak_high > 0))
        return 0;
    return fmax(fmax(peak_high - peak_low, ripple), fmax(MARGIN_SHARE * peak_high, LEAST_MARGIN));
}

/* Where the start-up ends. */
static const double STARTED = 0.9;

#define LONGEST_STEP_S 1e8
#define MOST_BYTES     1e15

struct written_curve {
    double step_s, peak_bytes;
    const json_t *bytes;
};

static const struct record_field curve_fields[] = {
    RECORD(struct written_curve, step_s, .high = LONGEST_STEP_S),
    RECORD(struct written_curve, peak_bytes, .high = MOST_BYTES),
    RECORD(struct written_curve, bytes),
    {0}};

bool curve_from_json(const json_t *json, struct memory_curve *out)
{
    struct written_curve written = {.peak_bytes = -1};
    record_get(curve_fields, json, &written);
    size_t count = json_array_size(written.bytes);
    *out = (struct memory_curve){0};
    if (!(written.step_s > 0) || written.peak_bytes < 0 || count == 0 ||
        count > MEMORY_CURVE_POINTS)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *point = json_array_get(written.bytes, i);
        double bytes = json_is_number(point) ? json_number_value(point) : -1;
        out->points[i] = bytes >= 0 && bytes <= written.peak_bytes ? bytes : -1;
    }
    out->step_s = written.step_s;
    out->peak_bytes = written.peak_bytes;
    out->count = count;
    out->any = true;
    return true;
}

/* The points that were measured, in order; times: their times. */
static size_t read_curve_points(const struct memory_curve *curve, double *bytes, double *times)
{
    size_t count = 0;
    for (size_t i = 0; i < curve->count; i++) {
        if (curve->points[i] < 0)
            continue;
        times[count] = (double)i * curve->step_s;
        bytes[count++] = curve->points[i];
    }
    return count;
}

static struct reading ripple_of(const double *bytes, size_t count)
{
    double steps[MEMORY_CURVE_POINTS];
    for (size_t i = 1; i < count; i++)
        steps[i - 1] = fabs(bytes[i] - bytes[i - 1]);
    return count < 2 ? (struct reading){0, count == 1} : stats_median(steps, count - 1);
}

void curve_shape(const struct memory_curve *curve, struct curve_shape *out)
{
    double bytes[MEMORY_CURVE_POINTS], times[MEMORY_CURVE_POINTS];
    *out = (struct curve_shape){0};
    size_t count = curve->any ? read_curve_points(curve, bytes, times) : 0;
    if (count == 0)
        return;
    out->peak = (struct reading){curve->peak_bytes, true};
    double level = STARTED * stats_median(bytes + count / 2, count - count / 2).value;
    while (count > 1 && bytes[count - 1] < level)
        count--; /* memory that is given back as the training ends is no ripple */
    size_t first = 0;
    while (first + 1 < count && bytes[first] < level)
        first++;
    out->startup_s = (struct reading){times[first], true};
    out->steady = stats_median(bytes + first, count - first);
    out->ripple = ripple_of(bytes + first, count - first);
    for (size_t i = 0; i < count && !out->context.valid && bytes[i] < out->steady.value; i++)
        out->context = (struct reading){bytes[i], bytes[i] > 0};
}

static void lay_over(const struct memory_curve *from, double more, struct memory_curve *onto)
{
    for (size_t i = 0; i < from->count; i++)
        if (from->points[i] >= 0)
            memory_curve_add(onto, ((double)i + 0.5) * from->step_s, from->points[i] + more);
}

bool curve_count(const struct result_gpu *gpu, struct memory_curve *curve)
{
    struct memory_curve held, sum = {0};
    double peak = gpu->counted_peak_bytes.value, context = gpu->context_bytes.value;
    if (!gpu->counted_peak_bytes.valid || !gpu->context_bytes.valid || peak > MOST_BYTES ||
        context < 0 || context > peak || !curve_from_json(gpu->counted_curve, &held))
        return false;
    lay_over(curve, 0, &sum);
    lay_over(&held, context, &sum);
    sum.peak_bytes = fmax(peak, sum.peak_bytes);
    *curve = sum;
    return true;
}

void curve_raise(struct memory_curve *curve, double bytes)
{
    EACH (point, curve->points, curve->count)
        if (*point >= 0)
            *point = fmin(*point + bytes, curve->peak_bytes);
}

void curve_fill(struct memory_curve *curve)
{
    double before = -1;
    for (size_t i = 0; i < curve->count; i++) {
        if (curve->points[i] >= 0) {
            before = curve->points[i];
            continue;
        }
        size_t next = i;
        while (next < curve->count && curve->points[next] < 0)
            next++;
        double after = next < curve->count ? curve->points[next] : -1;
        double bytes = fmax(fmax(before, after), 0);
        for (; i < next; i++)
            curve->points[i] = bytes;
        i--;
    }
}
