/* simulate: a device whose energy is known in closed form at every moment, and a meter that reads
 * it as the real one does. */
#ifndef TARE_TEST_METER_SIMULATE_H
#define TARE_TEST_METER_SIMULATE_H

#include "base/rng.h"
#include "machine/sensors/series.h"

enum load_kind { LOAD_STEADY, LOAD_PERIODIC, LOAD_RAMPS, LOAD_RANDOM, LOAD_KINDS };

/* Power is linear between points; two points at one time are a step. */
struct load_point {
    double t_s, power_w, energy_j; /* energy since the first point */
};

struct load {
    struct load_point *points;
    size_t count;
};

/* A training between two stretches of idling (77 W): start_s and end_s are the training's. */
void load_make(struct load *load, enum load_kind kind, double start_s, double end_s,
               double length_s, struct rng *rng);
void load_fini(struct load *load);
double load_energy(const struct load *load, double t_s);
double load_mean(const struct load *load, double from_s, double to_s);

struct simulation {
    double period_s, jitter_s;   /* of the counter's updates */
    double call_s, call_worst_s; /* what reading it takes */
    double every_s, dither_s;    /* readings in between: every_s, give or take dither_s */
    /* the trace differs from the counter by a share, another in every series */
    double gain_sd;
    /* from one sample of the trace to the next; sample_max_s 0: no trace */
    double sample_min_s, sample_max_s;
    double span_s; /* of which each is the mean */
};

extern const struct simulation simulation_nvml;

/* Reads the load from 0 to its end; densely after each of the edges (ascending) until the counter
 * changes, 250 ms at most. */
void simulate(const struct simulation *simulation, const struct load *load, const double *edges,
              size_t edge_count, struct rng *rng, struct series *out);

int64_t simulated_ns(double t_s); /* the monotonic time of a moment */

#endif
