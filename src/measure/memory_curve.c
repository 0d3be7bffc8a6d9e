#include "measure/memory_curve.h"
#include "gpu_memory/preload/ledger_gpu.h"

#include "base/json.h"

#include <math.h>

static const double FIRST_STEP_S = 1;

/* After so long nobody looks at a curve any more: time that went wrong. */
static const double LONGEST_S = 1e9;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void halve_curve(struct memory_curve *curve)
{
    size_t count = (curve->count + 1) / 2;
    for (size_t i = 0; i < count; i++) {
        double second = 2 * i + 1 < curve->count ? curve->points[2 * i + 1] : -1;
        curve->points[i] = larger(curve->points[2 * i], second);
    }
    curve->count = count;
    curve->step_s *= 2;
}

void memory_curve_add(struct memory_curve *curve, double t_s, double bytes)
{
    if (!(t_s >= 0) || t_s > LONGEST_S || !(bytes >= 0) || !isfinite(bytes))
        return;
    if (!curve->any)
        *curve = (struct memory_curve){.step_s = FIRST_STEP_S, .any = true};
    while (t_s / curve->step_s >= MEMORY_CURVE_POINTS)
        halve_curve(curve);
    size_t at = (size_t)(t_s / curve->step_s);
    while (curve->count <= at)
        curve->points[curve->count++] = -1;
    curve->points[at] = larger(curve->points[at], bytes);
    curve->peak_bytes = larger(curve->peak_bytes, bytes);
}

json_t *memory_curve_json(const struct memory_curve *curve)
{
    if (!curve->any)
        return json_null();
    json_t *points = json_array();
    for (size_t i = 0; i < curve->count; i++)
        json_array_append_new(points, curve->points[i] < 0
                                          ? json_null()
                                          : json_integer((json_int_t)curve->points[i]));
    return json_pack("{s:I, s:o, s:o}", "peak_bytes", (json_int_t)curve->peak_bytes, "step_s",
                     json_finite(curve->step_s), "bytes", points);
}

/* A job writes its books itself: no GPU has more. */
static const uint64_t MOST_BYTES = UINT64_C(1) << 50;

void counted_begin(struct counted *counted)
{
    *counted = (struct counted){.context_bytes = -1};
}

static bool is_same_ledger_gpu(const struct ledger_gpu *a, const struct ledger_gpu *b)
{
    return a->held == b->held && a->peak == b->peak && a->sum_peak == b->sum_peak &&
           a->processes == b->processes;
}

void counted_look(struct counted *counted, const struct ledger *ledger, const char *uuid,
                  int64_t now_ns, double now_s)
{
    struct ledger_gpu now;
    double before_s = counted->last_s;
    counted->last_s = now_s;
    if (!ledger_look(ledger, uuid, &now) || now.held > MOST_BYTES || now.sum_peak > MOST_BYTES)
        return;
    if (!counted->any || !is_same_ledger_gpu(&counted->last, &now))
        counted->since_ns = now_ns;
    memory_curve_add(&counted->curve, now_s, (double)now.held);
    /* It was reached at some time since the last look. */
    if (now.sum_peak > counted->last.sum_peak) {
        memory_curve_add(&counted->curve, now_s, (double)now.sum_peak);
        memory_curve_add(&counted->curve, before_s, (double)now.sum_peak);
    }
    counted->any = true;
    counted->last = now;
}

void counted_compare(struct counted *counted, int64_t t_ns, double bytes)
{
    double context = bytes - (double)counted->last.held;
    /* All looks from before the driver was asked until now saw the same. */
    if (counted->any && counted->since_ns < t_ns && context > counted->context_bytes)
        counted->context_bytes = context > 0 ? context : counted->context_bytes;
}

json_t *bytes_json(bool known, double bytes)
{
    return known ? json_integer((json_int_t)bytes) : json_null();
}

json_t *memory_counted_json(const struct counted *counted)
{
    if (!counted->any)
        return json_null();
    bool known = counted->context_bytes >= 0;
    double held = (double)counted->last.peak, peak = held + counted->context_bytes;
    /* How many contexts were alive together when several held most, nobody tells. */
    return json_pack(
        "{s:I, s:o, s:I, s:I, s:o, s:o}", "processes", (json_int_t)counted->last.processes,
        "peak_bytes", bytes_json(known && counted->last.processes == 1, peak), "held_peak_bytes",
        (json_int_t)held, "sum_peak_bytes", (json_int_t)counted->last.sum_peak, "context_bytes",
        bytes_json(known, counted->context_bytes), "curve", memory_curve_json(&counted->curve));
}
