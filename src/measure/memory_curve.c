#include "measure/memory_curve.h"

#include "base/json.h"

#include <math.h>

static const double FIRST_STEP_S = 1;

/* After so long nobody looks at a curve any more: time that went wrong. */
static const double LONGEST_S = 1e9;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void halve(struct memory_curve *curve)
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
        halve(curve);
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
        json_array_append_new(points, curve->points[i] < 0 ? json_null() : json_integer((json_int_t)curve->points[i]));
    return json_pack("{s:I, s:o, s:o}", "peak_bytes", (json_int_t)curve->peak_bytes, "step_s",
                     json_finite(curve->step_s), "bytes", points);
}
