/* A gain that changes: samples that beat with the load are off by a share that lasts as long as that load does, and outweigh a counter that is
 * read about once a second. The offset and the gain are the two states of a Kalman filter and its smoother (Rauch, Tung and Striebel, AIAA
 * Journal 3, 1965), the gain a random walk in time. Its rate is the likeliest of a few; none where the constant gain explains the knots as well. */
#include "base/mem.h"
#include "measure/energy/window_smooth.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_KNOTS = 8 };

/* Of a gain of 1, in a second. */
static const double rates[] = {0.003, 0.01, 0.03};
/* Twice the logarithm by which the knots must be likelier: about three deviations, and what choosing among the rates gives by chance. */
static const double likelier = 12;

/* Mean of offset and gain, and their covariances. */
struct state {
    double offset_j, gain, oo, og, gg;
};

struct pass {
    double scale, rate, gain_sd;
    struct state *predicted, *filtered; /* of each knot; may be NULL: not kept */
    double log_variances, innovation2;
};

static struct state predict(const struct state *x, const struct knot *from, const struct knot *to,
                            const struct pass *pass)
{
    double energy_j = to->traced_j - from->traced_j, length_s = fmax(to->at - from->at, 0);
    return (struct state){
        .offset_j = x->offset_j + x->gain * energy_j,
        .gain = x->gain,
        .oo = x->oo + 2 * energy_j * x->og + energy_j * energy_j * x->gg + smooth_lost(from, to, pass->scale),
        .og = x->og + energy_j * x->gg,
        .gg = x->gg + pass->rate * pass->rate * length_s,
    };
}

static void filter(const struct knot *knots, size_t count, struct pass *pass)
{
    struct state x = {knots[0].observed_j, 0, knots[0].observed_var, 0, pass->gain_sd * pass->gain_sd};
    if (pass->filtered)
        pass->filtered[0] = x;
    for (size_t i = 1; i < count; i++) {
        struct state p = predict(&x, &knots[i - 1], &knots[i], pass);
        double variance = p.oo + knots[i].observed_var, innovation = knots[i].observed_j - p.offset_j;
        double to_offset = p.oo / variance, to_gain = p.og / variance;
        x = (struct state){p.offset_j + to_offset * innovation, p.gain + to_gain * innovation, p.oo * (1 - to_offset),
                           p.og * (1 - to_offset), p.gg - to_gain * p.og};
        pass->log_variances += log(variance);
        pass->innovation2 += innovation * innovation / variance;
        if (pass->filtered) {
            pass->predicted[i] = p;
            pass->filtered[i] = x;
        }
    }
}

/* x, of the knot before, is what is known from all knots: out of that and what was filtered and predicted. */
static struct state smoothed(const struct state *x, const struct state *after, const struct state *p, double energy_j)
{
    double determinant = p->oo * p->gg - p->og * p->og;
    double oo = x->oo + energy_j * x->og, og = x->og, go = x->og + energy_j * x->gg, gg = x->gg;
    double a = (oo * p->gg - og * p->og) / determinant, b = (og * p->oo - oo * p->og) / determinant;
    double c = (go * p->gg - gg * p->og) / determinant, d = (gg * p->oo - go * p->og) / determinant;
    double offset_j = after->offset_j - p->offset_j, gain = after->gain - p->gain;
    double e = after->oo - p->oo, f = after->og - p->og, h = after->gg - p->gg;
    return (struct state){x->offset_j + a * offset_j + b * gain, x->gain + c * offset_j + d * gain,
                          x->oo + a * a * e + 2 * a * b * f + b * b * h,
                          x->og + a * c * e + (a * d + b * c) * f + b * d * h,
                          x->gg + c * c * e + 2 * c * d * f + d * d * h};
}

/* The gain of each knot of a segment from all of them, and by how much it makes the trace's integral rise until there. */
static void follow(struct knot *knots, size_t count, struct pass *pass)
{
    pass->predicted = mem_array(count, sizeof *pass->predicted);
    pass->filtered = mem_array(count, sizeof *pass->filtered);
    filter(knots, count, pass);
    struct state x = pass->filtered[count - 1];
    for (size_t i = count; i-- > 0;) {
        if (i + 1 < count)
            x = smoothed(&pass->filtered[i], &x, &pass->predicted[i + 1], knots[i + 1].traced_j - knots[i].traced_j);
        knots[i].gain = x.gain;
        knots[i].gain_sd = sqrt(fmax(x.gg, 0));
    }
    free(pass->predicted);
    free(pass->filtered);
    double followed_j = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            followed_j += 0.5 * (knots[i].gain + knots[i - 1].gain) * (knots[i].traced_j - knots[i - 1].traced_j);
        knots[i].followed_j = followed_j;
        knots[i].observed_j -= followed_j;
    }
}

static double deviance(const struct knots *knots, double gain_sd, double rate, double *scale)
{
    struct pass pass = {.scale = 1, .rate = rate, .gain_sd = gain_sd};
    double innovations = 0;
    for (size_t s = 0; s < knots->segment_count; s++) {
        const struct segment *segment = &knots->segments[s];
        if (segment->count == 0)
            continue;
        filter(knots->items + segment->first, segment->count, &pass);
        innovations += (double)segment->count - 1;
    }
    *scale = smooth_scale(pass.innovation2, innovations);
    return pass.log_variances + innovations * log(*scale) + pass.innovation2 / *scale;
}

bool smooth_follow_gain(struct knots *knots, double gain_sd)
{
    double scale, best_scale = 1, least = deviance(knots, gain_sd, 0, &scale) - likelier, best_rate = 0;
    for (size_t i = 0; knots->count >= LEAST_KNOTS && i < sizeof rates / sizeof *rates; i++) {
        double tried = deviance(knots, gain_sd, rates[i], &scale);
        if (tried < least) {
            least = tried;
            best_rate = rates[i];
            best_scale = scale;
        }
    }
    for (size_t s = 0; best_rate > 0 && s < knots->segment_count; s++) {
        struct pass pass = {.scale = best_scale, .rate = best_rate, .gain_sd = gain_sd};
        if (knots->segments[s].count > 0)
            follow(knots->items + knots->segments[s].first, knots->segments[s].count, &pass);
    }
    return best_rate > 0;
}
