#include "measure/energy/window_smooth.h"
#include "measure/energy/window_learn.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

double smooth_lost(const struct knot *from, const struct knot *to, double scale)
{
    return scale * (to->sampled_j2 - from->sampled_j2) + (to->gap_j2 - from->gap_j2);
}

static void filter(struct knot *knots, size_t count, double scale, struct smooth_fit *fit)
{
    double product = 1;
    knots[0].offset_j = knots[0].observed_j;
    knots[0].offset_w = knots[0].power_w;
    knots[0].offset_traced_j = knots[0].traced_j;
    knots[0].offset_var = knots[0].observed_var;
    for (size_t i = 1; i < count; i++) {
        const struct knot *last = &knots[i - 1];
        double predicted_var = last->offset_var + smooth_lost(last, &knots[i], scale);
        double innovation_var = predicted_var + knots[i].observed_var,
               kalman_gain = predicted_var / innovation_var;
        double innovation = knots[i].observed_j - last->offset_j,
               traced = knots[i].traced_j - last->offset_traced_j;
        knots[i].offset_j = last->offset_j + kalman_gain * innovation;
        knots[i].offset_w = last->offset_w + kalman_gain * (knots[i].power_w - last->offset_w);
        knots[i].offset_traced_j = last->offset_traced_j + kalman_gain * traced;
        knots[i].offset_var = predicted_var * knots[i].observed_var / innovation_var;
        fit->innovation2 += innovation * innovation / innovation_var;
        fit->innovation_traced += innovation * traced / innovation_var;
        fit->traced2 += traced * traced / innovation_var;
        product *= innovation_var;
        if (i % 4 == 0) { /* a logarithm costs more than all the rest */
            fit->log_variances += log(product);
            product = 1;
        }
    }
    fit->log_variances += log(product);
}

struct smooth_fit smooth_filter(const struct knots *knots, double scale)
{
    struct smooth_fit fit = {0};
    EACH (segment, knots->segments, knots->segment_count)
        if (segment->count > 0)
            filter(knots->items + segment->first, segment->count, scale, &fit);
    return fit;
}

static void backward_pass(struct knot *knots, size_t count, double scale)
{
    EACH (item, knots, count)
        item->clock = scale * item->sampled_j2 + item->gap_j2;
    for (size_t i = count - 1; i-- > 0;) {
        double predicted_var = knots[i].offset_var + smooth_lost(&knots[i], &knots[i + 1], scale);
        double link = knots[i].offset_var / predicted_var;
        knots[i].offset_j += link * (knots[i + 1].offset_j - knots[i].offset_j);
        knots[i].offset_w += link * (knots[i + 1].offset_w - knots[i].offset_w);
        knots[i].offset_traced_j +=
            link * (knots[i + 1].offset_traced_j - knots[i].offset_traced_j);
        knots[i].offset_var += link * link * (knots[i + 1].offset_var - predicted_var);
        knots[i + 1].log_link = log(link);
    }
    knots[0].log_link = 0;
    for (size_t i = 1; i < count; i++)
        knots[i].log_link += knots[i - 1].log_link;
}

void smooth_back(struct knots *knots, double scale)
{
    EACH (segment, knots->segments, knots->segment_count)
        if (segment->count > 0)
            backward_pass(knots->items + segment->first, segment->count, scale);
}

double smooth_clock(const struct smooth *smooth, const struct shape_sum *sum)
{
    return smooth->scale * sum->var_j2 + sum->gap_j2;
}

struct smooth_place smooth_place(const struct knots *knots, const struct segment *segment,
                                 double clock)
{
    struct smooth_place place = {.a = segment->first, .b = segment->first, .clock = clock};
    if (segment->count == 0)
        return place;
    const struct knot *items = knots->items;
    size_t low =
        FIRST_PLACE(at, segment->first, segment->first + segment->count, items[at].clock > clock);
    if (low == segment->first || low == segment->first + segment->count) {
        place.side = low == segment->first ? -1 : 1;
        place.a = place.b = low == segment->first ? low : low - 1;
        place.offset_j = items[place.a].offset_j;
        place.offset_w = items[place.a].offset_w;
        place.offset_traced_j = items[place.a].offset_traced_j;
        place.own = fabs(clock - items[place.a].clock);
        return place;
    }
    place.a = low - 1;
    place.b = low;
    place.length = items[low].clock - items[low - 1].clock;
    place.share_b = (clock - items[low - 1].clock) / place.length;
    const struct knot *a = &items[low - 1], *b = &items[low];
    place.offset_j = a->offset_j + place.share_b * (b->offset_j - a->offset_j);
    place.offset_w = a->offset_w + place.share_b * (b->offset_w - a->offset_w);
    place.offset_traced_j =
        a->offset_traced_j + place.share_b * (b->offset_traced_j - a->offset_traced_j);
    place.own = place.share_b * (1 - place.share_b) * place.length;
    return place;
}

static double covariance(const struct knots *knots, const struct smooth_place *first,
                         const struct smooth_place *second)
{
    const struct knot *items = knots->items;
    size_t at[2][2] = {{first->a, first->b}, {second->a, second->b}};
    double share[2][2] = {{1 - first->share_b, first->share_b},
                          {1 - second->share_b, second->share_b}};
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            size_t low = at[0][i] < at[1][k] ? at[0][i] : at[1][k],
                   high = at[0][i] < at[1][k] ? at[1][k] : at[0][i];
            sum += share[0][i] * share[1][k] * exp(items[high].log_link - items[low].log_link) *
                   items[high].offset_var;
        }
    return sum;
}

/* What two moments between the same knots, or beyond the same end, have in common besides the
 * knots. */
static double common(const struct smooth_place *first, const struct smooth_place *second)
{
    if (first->side != second->side || first->a != second->a)
        return 0;
    return first->side ? fmin(first->own, second->own)
                       : first->share_b * (1 - second->share_b) * first->length;
}

double smooth_variance(const struct knots *knots, const struct segment *segment,
                       const struct smooth_place *first, const struct smooth_place *second)
{
    if (segment->count == 0)
        return fmax(second->clock - first->clock, 0);
    double all = covariance(knots, first, first) + first->own + covariance(knots, second, second) +
                 second->own;
    return fmax(all - 2 * (covariance(knots, first, second) + common(first, second)), 0);
}

/* ---- A gain that changes: samples that beat with the load are off by a share that lasts as long
 * as that load does, and outweigh a counter that is read about once a second. The offset and the
 * gain are the two states of a Kalman filter and its smoother (Rauch, Tung and Striebel, AIAA
 * Journal 3, 1965), the gain a random walk in time. Its rate is the likeliest of a few; none where
 * the constant gain explains the knots as well. */

enum { LEAST_KNOTS = 8 };

/* Of a gain of 1, in a second. */
static const double rates[] = {0.003, 0.01, 0.03};
/* Twice the logarithm by which the knots must be likelier: about three deviations, and what
 * choosing among the rates gives by chance. */
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

static struct state predict_state(const struct state *x, const struct knot *from,
                                  const struct knot *to, const struct pass *pass)
{
    double energy_j = to->traced_j - from->traced_j, length_s = fmax(to->at - from->at, 0);
    return (struct state){
        .offset_j = x->offset_j + x->gain * energy_j,
        .gain = x->gain,
        .oo = x->oo + 2 * energy_j * x->og + energy_j * energy_j * x->gg +
              smooth_lost(from, to, pass->scale),
        .og = x->og + energy_j * x->gg,
        .gg = x->gg + pass->rate * pass->rate * length_s,
    };
}

static void filter_gain(const struct knot *knots, size_t count, struct pass *pass)
{
    struct state x = {knots[0].observed_j, 0, knots[0].observed_var, 0,
                      pass->gain_sd * pass->gain_sd};
    if (pass->filtered)
        pass->filtered[0] = x;
    for (size_t i = 1; i < count; i++) {
        struct state p = predict_state(&x, &knots[i - 1], &knots[i], pass);
        double variance = p.oo + knots[i].observed_var,
               innovation = knots[i].observed_j - p.offset_j;
        double to_offset = p.oo / variance, to_gain = p.og / variance;
        x = (struct state){p.offset_j + to_offset * innovation, p.gain + to_gain * innovation,
                           p.oo * (1 - to_offset), p.og * (1 - to_offset), p.gg - to_gain * p.og};
        pass->log_variances += log(variance);
        pass->innovation2 += innovation * innovation / variance;
        if (pass->filtered) {
            pass->predicted[i] = p;
            pass->filtered[i] = x;
        }
    }
}

/* x, of the knot before, is what is known from all knots: out of that and what was filtered and
 * predicted. */
static struct state smoothed(const struct state *x, const struct state *after,
                             const struct state *p, double energy_j)
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

/* Smooths the gain at each knot of a segment, and splits the observed energy into what the gain
 * adds up to there and the rest. */
static void smooth_segment(struct knot *knots, size_t count, struct pass *pass)
{
    pass->predicted = mem_array(count, sizeof *pass->predicted);
    pass->filtered = mem_array(count, sizeof *pass->filtered);
    filter_gain(knots, count, pass);
    struct state x = pass->filtered[count - 1];
    for (size_t i = count; i-- > 0;) {
        if (i + 1 < count)
            x = smoothed(&pass->filtered[i], &x, &pass->predicted[i + 1],
                         knots[i + 1].traced_j - knots[i].traced_j);
        knots[i].gain = x.gain;
        knots[i].gain_sd = sqrt(fmax(x.gg, 0));
    }
    free(pass->predicted);
    free(pass->filtered);
    double followed_j = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            followed_j += 0.5 * (knots[i].gain + knots[i - 1].gain) *
                          (knots[i].traced_j - knots[i - 1].traced_j);
        knots[i].followed_j = followed_j;
        knots[i].observed_j -= followed_j;
    }
}

static double deviance(const struct knots *knots, double gain_sd, double rate, double *scale)
{
    struct pass pass = {.scale = 1, .rate = rate, .gain_sd = gain_sd};
    double innovations = 0;
    EACH (segment, knots->segments, knots->segment_count) {
        if (segment->count == 0)
            continue;
        filter_gain(knots->items + segment->first, segment->count, &pass);
        innovations += (double)segment->count - 1;
    }
    *scale = smooth_scale(pass.innovation2, innovations);
    return pass.log_variances + innovations * log(*scale) + pass.innovation2 / *scale;
}

bool smooth_follow_gain(struct knots *knots, double gain_sd)
{
    double scale, best_scale = 1, least = deviance(knots, gain_sd, 0, &scale) - likelier,
                  best_rate = 0;
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
            smooth_segment(knots->items + knots->segments[s].first, knots->segments[s].count,
                           &pass);
    }
    return best_rate > 0;
}
