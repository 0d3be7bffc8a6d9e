/* window_knots: from the readings of a counter to knots: values with the stretch of time in which the counter came to
 * show them. A counter that goes backwards, jumps or stands still is cut there: each segment is a counter of its own.
 * Times in seconds. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_KNOTS_H
#define TARE_MEASURE_ENERGY_WINDOW_KNOTS_H

#include "measure/energy/window.h"

/* The update instant lies between lo_a and hi_b: its probability rises from lo_a to lo_b, is even up to hi_a, falls to
 * hi_b. */
struct knot {
    double lo_a, lo_b, hi_a, hi_b;
    double at;      /* mean of the instant */
    double value_j; /* since the segment's first knot */
    bool inferred;  /* located by its successor alone: its error is not another one */
    /* Filled by window_smooth.h: the offset of the counter from the trace's integral here. */
    double sampled_j2, gap_j2;      /* the shape's variances at the instant */
    double clock;                   /* both, in the right proportion */
    double observed_j, observed_var; /* from this knot alone */
    double power_w, traced_j;       /* of the shape, in the mean over the stretch */
    double offset_j, offset_var;     /* best estimate from all knots of the segment, and its variance */
    double offset_w, offset_traced_j; /* by how much offset_j falls for a second of delay, for a gain of 1 */
    double gain, gain_sd, followed_j; /* where the gain is followed: here, and the part of the counter's rise until here that it explains */
    double log_link;                /* sum of the links' logarithms: exp of a difference is what two knots share */
};

struct segment {
    size_t first, count;         /* knots; can be none in a segment that stands for "no counter" */
    double from;                 /* the segment reaches from here to the next one's from */
    double fault_from, fault_to; /* in which that was seen */
    size_t backwards_before, jumped_before, stood_before; /* faults of each kind up to and with this one */
    double energy_before_j;      /* of the index's running energy */
    double var_before;           /* of the whole segments before this one */
};

struct knots {
    struct knot *items;
    size_t count, capacity;
    struct segment *segments;
    size_t segment_count, segment_capacity;
};

void knots_fini(struct knots *knots);
/* Always gives at least one segment. */
void knots_read(struct knots *knots, const struct series *series, const struct window_sensor *sensor,
                int64_t origin_ns);
/* Mean and variance of the update instant. */
void knot_moments(const struct knot *knot, double *mean, double *variance);

#endif
