/* predict: predicts the peak memory of two trainings on one GPU from their single curves. */
#ifndef TARE_SHARING_PREDICT_H
#define TARE_SHARING_PREDICT_H

#include "sharing/feasibility.h"
#include "sharing/result.h"

/* What memory_curve_json wrote. False: null, or no such thing. */
bool curve_from_json(const json_t *json, struct memory_curve *out);

void curve_shape(const struct memory_curve *curve, struct curve_shape *out);

/* Raises the curve to what the run counted. False: it was not counted to the byte. */
bool curve_count(const struct result_gpu *gpu, struct memory_curve *curve);

/* Each point is so much higher, as far as the peak. */
void curve_raise(struct memory_curve *curve, double bytes);

/* Points that were not read become the larger neighbour. */
void curve_fill(struct memory_curve *curve);

/* The highest sum of both at any moment that this timing allows; never above the sum of the
 * peaks. */
double pairs_aligned_peak(const struct memory_curve *foreground,
                          const struct memory_curve *background, const struct pairs_timing *timing);

/* By the safe bound alone: RISK_STABLE or RISK_HIGH; aligned_bytes is the bound. */
void pairs_bound(const struct memory_curve *foreground, double foreground_margin,
                 const struct memory_curve *background, double background_margin,
                 const struct pairs_room *room, struct pairs_prediction *out);

/* Margins: of each alone (pairs_margin). */
void pairs_predict(const struct memory_curve *foreground, double foreground_margin,
                   const struct memory_curve *background, double background_margin,
                   const struct pairs_timing *timing, const struct pairs_room *room,
                   struct pairs_prediction *out);

/* The largest of: the distance between the peaks of its runs, the ripple, a hundredth of the peak,
 * 16 MiB. 0 without memory. */
double pairs_margin(double peak_low, double peak_high, double ripple);

#endif
