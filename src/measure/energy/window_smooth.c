#include "measure/energy/window_smooth.h"

#include "base/mem.h"

#include <math.h>

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
        double innovation_var = predicted_var + knots[i].observed_var, kalman_gain = predicted_var / innovation_var;
        double innovation = knots[i].observed_j - last->offset_j, traced = knots[i].traced_j - last->offset_traced_j;
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
    for (size_t s = 0; s < knots->segment_count; s++)
        if (knots->segments[s].count > 0)
            filter(knots->items + knots->segments[s].first, knots->segments[s].count, scale, &fit);
    return fit;
}

static void backward_pass(struct knot *knots, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++)
        knots[i].clock = scale * knots[i].sampled_j2 + knots[i].gap_j2;
    for (size_t i = count - 1; i-- > 0;) {
        double predicted_var = knots[i].offset_var + smooth_lost(&knots[i], &knots[i + 1], scale);
        double link = knots[i].offset_var / predicted_var;
        knots[i].offset_j += link * (knots[i + 1].offset_j - knots[i].offset_j);
        knots[i].offset_w += link * (knots[i + 1].offset_w - knots[i].offset_w);
        knots[i].offset_traced_j += link * (knots[i + 1].offset_traced_j - knots[i].offset_traced_j);
        knots[i].offset_var += link * link * (knots[i + 1].offset_var - predicted_var);
        knots[i + 1].log_link = log(link);
    }
    knots[0].log_link = 0;
    for (size_t i = 1; i < count; i++)
        knots[i].log_link += knots[i - 1].log_link;
}

void smooth_back(struct knots *knots, double scale)
{
    for (size_t s = 0; s < knots->segment_count; s++)
        if (knots->segments[s].count > 0)
            backward_pass(knots->items + knots->segments[s].first, knots->segments[s].count, scale);
}

double smooth_clock(const struct smooth *smooth, const struct shape_sum *sum)
{
    return smooth->scale * sum->var_j2 + sum->gap_j2;
}

struct smooth_place smooth_place(const struct knots *knots, const struct segment *segment, double clock)
{
    struct smooth_place place = {.a = segment->first, .b = segment->first, .clock = clock};
    if (segment->count == 0)
        return place;
    const struct knot *items = knots->items;
    size_t low = FIRST_PLACE(at, segment->first, segment->first + segment->count, items[at].clock > clock);
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
    place.offset_traced_j = a->offset_traced_j + place.share_b * (b->offset_traced_j - a->offset_traced_j);
    place.own = place.share_b * (1 - place.share_b) * place.length;
    return place;
}

static double covariance(const struct knots *knots, const struct smooth_place *first, const struct smooth_place *second)
{
    const struct knot *items = knots->items;
    size_t at[2][2] = {{first->a, first->b}, {second->a, second->b}};
    double share[2][2] = {{1 - first->share_b, first->share_b}, {1 - second->share_b, second->share_b}};
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            size_t low = at[0][i] < at[1][k] ? at[0][i] : at[1][k], high = at[0][i] < at[1][k] ? at[1][k] : at[0][i];
            sum += share[0][i] * share[1][k] * exp(items[high].log_link - items[low].log_link) * items[high].offset_var;
        }
    return sum;
}

/* What two moments between the same knots, or beyond the same end, have in common besides the knots. */
static double common(const struct smooth_place *first, const struct smooth_place *second)
{
    if (first->side != second->side || first->a != second->a)
        return 0;
    return first->side ? fmin(first->own, second->own) : first->share_b * (1 - second->share_b) * first->length;
}

double smooth_variance(const struct knots *knots, const struct segment *segment, const struct smooth_place *first,
                       const struct smooth_place *second)
{
    if (segment->count == 0)
        return fmax(second->clock - first->clock, 0);
    double all = covariance(knots, first, first) + first->own + covariance(knots, second, second) + second->own;
    return fmax(all - 2 * (covariance(knots, first, second) + common(first, second)), 0);
}
