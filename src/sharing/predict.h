/* predict: predicts the peak memory of two trainings on one GPU from their single curves. */
#ifndef TARE_SHARING_PREDICT_H
#define TARE_SHARING_PREDICT_H

#include "sharing/feasibility.h"
#include "sharing/result.h"

/* What memory_curve_json wrote. False: null, or no such thing. */
bool curve_from_json(const json_t *json, struct memory_curve *out);

void curve_shape(const struct memory_curve *curve, struct curve_shape *out);

/* Puts what the run counted (memory.gpus[].counted) over what the driver told: as high as either at
 * any time, and its peak as high as counted. False: it was not counted to the byte, the curve
 * stays. */
bool curve_count(const struct result_gpu *gpu, struct memory_curve *curve);

/* Each point is so much higher, as far as the peak. */
void curve_raise(struct memory_curve *curve, double bytes);

/* Each point that was not read becomes the larger of its neighbours that were, so that nothing is
 * missed. */
void curve_fill(struct memory_curve *curve);

/* The highest sum of both at any moment that this timing allows; never above the sum of the
 * peaks. */
double pairs_aligned_peak(const struct memory_curve *foreground,
                          const struct memory_curve *background, const struct pairs_timing *timing);

/* By the safe bound alone, which needs no course of time: risk is RISK_STABLE or RISK_HIGH,
 * aligned_bytes is the bound. */
void pairs_bound(const struct memory_curve *foreground, double foreground_margin,
                 const struct memory_curve *background, double background_margin,
                 const struct pairs_room *room, struct pairs_prediction *out);

/* Margins: of each alone (pairs_margin). */
void pairs_predict(const struct memory_curve *foreground, double foreground_margin,
                   const struct memory_curve *background, double background_margin,
                   const struct pairs_timing *timing, const struct pairs_room *room,
                   struct pairs_prediction *out);

/* What the peak of one training may be off: how far the peaks of its runs lie apart, or what comes
 * and goes between two looks, whichever is more, and no less than a hundredth of the peak and 16
 * MiB. 0 for one that has no memory. */
double pairs_margin(double peak_low, double peak_high, double ripple);

#endif
