/* predict: whether two trainings fit on one GPU together, from the curve of each alone. Pure. */
#ifndef TARE_SHARING_PREDICT_H
#define TARE_SHARING_PREDICT_H

#include "measure/memory_curve.h"

#include <stdbool.h>
#include <stddef.h>

/* Of what both need together, as the study draws them: of its 8 GB, up to 1.3, 2.7, 4.0 and above. */
enum pairs_tier { TIER_ULTRA_LOW, TIER_LOW, TIER_MEDIUM, TIER_HIGH };

/* stable: the safe bound stays below 94 % of the GPU; usable: the peak in the course of time does; high risk:
 * neither. */
enum pairs_risk { RISK_STABLE, RISK_USABLE, RISK_HIGH };

const char *pairs_tier_name(enum pairs_tier tier); /* "ultra-low" */
const char *pairs_risk_name(enum pairs_risk risk); /* "high risk" */

/* bytes: of both; total: of the GPU, above 0. */
enum pairs_tier pairs_tier_of(double bytes, double total_bytes);

/* How the two lie against each other in time: the background is started first and runs alone for lead_low_s to
 * lead_high_s; when it has ended it begins anew after restart_s; beside each other each goes at most slowdown_max times
 * slower than alone. */
struct pairs_timing {
    double lead_low_s, lead_high_s, restart_s;
    double slowdown_max;
};

/* The highest sum of both at any moment that this timing allows; never above the sum of the peaks. */
double pairs_aligned_peak(const struct memory_curve *foreground, const struct memory_curve *background,
                          const struct pairs_timing *timing);

struct pairs_room {
    double total_bytes;     /* of the GPU */
    double available_bytes; /* of these, what the empty GPU leaves */
};

struct pairs_prediction {
    bool known; /* both were measured; else nothing else counts */
    double safe_bytes;    /* the sum of the peaks, each with its CUDA context */
    double aligned_bytes; /* pairs_aligned_peak */
    double margin_bytes;  /* both margins */
    enum pairs_tier tier;
    enum pairs_risk risk;
    bool fits; /* aligned_bytes and the margin are available */
};

/* By the safe bound alone, which needs no course of time: risk is RISK_STABLE or RISK_HIGH, aligned_bytes is the
 * bound. */
void pairs_bound(const struct memory_curve *foreground, double foreground_margin, const struct memory_curve *background,
                 double background_margin, const struct pairs_room *room, struct pairs_prediction *out);

/* Margins: of each alone (pairs_margin). */
void pairs_predict(const struct memory_curve *foreground, double foreground_margin,
                   const struct memory_curve *background, double background_margin, const struct pairs_timing *timing,
                   const struct pairs_room *room, struct pairs_prediction *out);

/* What the peak of one training may be off: how far the peaks of its runs lie apart, or what comes and goes between two
 * looks, whichever is more, and no less than a hundredth of the peak and 16 MiB. 0 for one that has no memory. */
double pairs_margin(double peak_low, double peak_high, double ripple);

#endif
