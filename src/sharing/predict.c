
#include "sharing/feasibility.h"

#include <math.h>

static const char *const tier_names[] = {"ultra-low", "low", "medium", "high"};
static const char *const risk_names[] = {"stable", "usable", "high risk"};

static const double STUDY_GPU = 8, TIER_ENDS[] = {1.3, 2.7, 4.0}, USABLE = 0.94;

static const double LEAST_MARGIN = 16.0 * 1048576, MARGIN_SHARE = 0.01;

const char *pairs_tier_name(enum pairs_tier tier)
{
    return tier_names[tier];
}

const char *pairs_risk_name(enum pairs_risk risk)
{
    return risk_names[risk];
}

enum pairs_tier pairs_tier_of(double bytes, double total_bytes)
{
    size_t tier = TIER_ULTRA_LOW;
    while (tier < TIER_HIGH && bytes > TIER_ENDS[tier] / STUDY_GPU * total_bytes)
        tier++;
    return (enum pairs_tier)tier;
}

/* The highest within [from_s, to_s] of a curve that begins anew every period_s; what touches the span counts. */
static double highest_within(const struct memory_curve *curve, double from_s, double to_s, double period_s)
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

double pairs_aligned_peak(const struct memory_curve *foreground, const struct memory_curve *background,
                          const struct pairs_timing *timing)
{
    struct memory_curve fore = *foreground, back = *background;
    double slow = fmax(timing->slowdown_max, 1), peak = fmax(fore.peak_bytes, back.peak_bytes);
    double period_s = (double)back.count * back.step_s + fmax(timing->restart_s, 0);
    curve_fill(&fore);
    curve_fill(&back);
    for (size_t i = 0; i < fore.count && period_s > 0; i++) {
        double from_s = timing->lead_low_s + (double)i * fore.step_s / slow;
        double to_s = fmax(timing->lead_high_s, timing->lead_low_s) + (double)(i + 1) * fore.step_s * slow;
        peak = fmax(peak, fore.points[i] + highest_within(&back, from_s, to_s, period_s));
    }
    return peak;
}

/* Of its memory, what is not at risk. */
static double usable(const struct pairs_room *room)
{
    return fmin(USABLE * room->total_bytes, room->available_bytes);
}

void pairs_bound(const struct memory_curve *foreground, double foreground_margin, const struct memory_curve *background,
                 double background_margin, const struct pairs_room *room, struct pairs_prediction *out)
{
    *out = (struct pairs_prediction){.known = foreground->any && background->any && room->total_bytes > 0};
    if (!out->known)
        return;
    out->safe_bytes = out->aligned_bytes = foreground->peak_bytes + background->peak_bytes;
    out->margin_bytes = foreground_margin + background_margin;
    out->tier = pairs_tier_of(out->safe_bytes, room->total_bytes);
    out->fits = out->safe_bytes + out->margin_bytes <= room->available_bytes;
    out->risk = out->safe_bytes + out->margin_bytes <= usable(room) ? RISK_STABLE : RISK_HIGH;
}

void pairs_predict(const struct memory_curve *foreground, double foreground_margin,
                   const struct memory_curve *background, double background_margin, const struct pairs_timing *timing,
                   const struct pairs_room *room, struct pairs_prediction *out)
{
    pairs_bound(foreground, foreground_margin, background, background_margin, room, out);
    if (!out->known)
        return;
    out->aligned_bytes = pairs_aligned_peak(foreground, background, timing);
    out->fits = out->aligned_bytes + out->margin_bytes <= room->available_bytes;
    if (out->risk == RISK_HIGH && out->aligned_bytes + out->margin_bytes <= usable(room))
        out->risk = RISK_USABLE;
}

double pairs_margin(double peak_low, double peak_high, double ripple)
{
    if (!(peak_high > 0))
        return 0;
    return fmax(fmax(peak_high - peak_low, ripple), fmax(MARGIN_SHARE * peak_high, LEAST_MARGIN));
}
