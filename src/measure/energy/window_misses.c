#include "measure/energy/window_misses.h"
#include "base/mem.h"
#include "measure/energy/window_beats.h"
#include "measure/energy/window_index.h"
#include "measure/energy/window_sampling.h"
#include "measure/energy/window_shape.h"

#include <math.h>

/* Prior odds that a counter adds up the readings that are shown, which see what they see without a
 * counter, to that it measures by itself; of the latter nearly all see nearly all of the time (98
 * to 101 ms of 100 were measured on H100 and H200), few a part (arXiv 2312.02741). */
static const double summed_prior = 0.7, counter_unseen = 0.02, counter_parts = 0.02;
/* Without a counter: half of the readings are means of all power; of those that rise over
 * several updates nearly all. What the others do not look at: an instant or a fifth of the time. */
static const double means = 0.5, rising_means = 0.95, rising = 2.5, reading_unseen = 0.9;
/* What the trapezoid misses between the readings of a sensor that sees all: this share of what
 * instants would miss. */
static const double between_means = 0.5;
/* Loads are in step with the sensor so often: any; those whose samples look most like it. */
static const double in_step_prior = 0.03, in_step_suspected = 0.2;
/* A beat goes to and fro a few times in a window. Instants show its two levels and little else,
 * and more of each than where a load begins; a mean of a part of the time goes slowly from one to
 * the other. Each sign is absent at the first figure, complete at the second. */
struct sign {
    double absent, complete;
};
static const struct sign beat_crossings = {14, 2}, level_crossings = {18, 8},
                         outer_share = {0.85, 0.95}, less_share = {0, 0.06}, drift = {1, 2};
static const double instant_unseen = 0.85;
/* Power around a window tells how it varies. What a few seconds show of a variance is wrong by
 * about half of it, and more where they have few updates. */
static const double around_s = 10, wider = 1.5, few = 6;

/* One of the sensors that it may be. */
struct miss {
    double weight, unseen, period_s;
    double deviation_j, hidden_j; /* of a load that is not in step; the most of one that is */
    double in_step;               /* how likely that is */
};

bool misses_summed(const struct window_index *index)
{
    return index->counted.count == 0 || (index->sensor.bounded && index->smooth.ratio < 1);
}

double misses_unseen(const struct window_index *index)
{
    bool instants = index->sensor.averaging == WINDOW_INSTANT && misses_summed(index);
    bool told = index->sensor.share_measured && index->counted.count > 0;
    return instants && !told ? 1 : index->sensor.unseen_share;
}

double misses_learn(const struct window_index *index)
{
    double period_s = shape_seconds(index->sensor.update_period_ns, 0);
    double odds = summed_prior *
                  sampling_summed_odds(&index->sampling, &index->shape, &index->knots, period_s);
    return odds / (1 + odds);
}

static size_t find_sensors(const struct window_index *index, struct miss *out)
{
    double period_s = shape_seconds(index->sensor.update_period_ns, 0),
           unseen = index->sensor.unseen_share;
    double shown_s = index->sampling.period_s, summed = index->summed;
    if (!index->sensor.share_unsure) {
        out[0] = (struct miss){
            1, misses_unseen(index), misses_summed(index) ? shown_s : period_s, 0, 0, 0};
        return 1;
    }
    double all = index->sensor.share_known                   ? 0
                 : index->sampling.span_s > rising * shown_s ? rising_means
                                                             : means;
    if (index->counted.count == 0) {
        out[0] = (struct miss){all, 0, shown_s, 0, 0, 0};
        out[1] = (struct miss){1 - all, reading_unseen, shown_s, 0, 0, 0};
        return 2;
    }
    out[0] = (struct miss){(1 - summed) * (1 - counter_parts), counter_unseen, period_s, 0, 0, 0};
    out[1] = (struct miss){summed * all, counter_unseen, shown_s, 0, 0, 0};
    out[2] = (struct miss){summed * (1 - all), unseen, shown_s, 0, 0, 0};
    out[3] = (struct miss){(1 - summed) * counter_parts, unseen, period_s, 0, 0, 0};
    return 4;
}

/* How power goes between its lower and its upper quarter. */
struct levels {
    size_t crossings;
    /* share of the samples that are in one of them, in the one that has fewer */
    double outer, less;
    double least_w, most_w;
};

static struct levels find_levels(const struct shape *shape, double from, double to)
{
    struct shape_range range = shape_extremes(shape, from, to);
    struct levels out = {.least_w = range.power_min_w, .most_w = range.power_max_w};
    double low_w = 0.75 * out.least_w + 0.25 * out.most_w,
           high_w = 0.25 * out.least_w + 0.75 * out.most_w;
    size_t first, end, sides[3] = {0};
    int last = 0;
    shape_samples(shape, from, to, &first, &end);
    for (size_t i = first; i < end; i++) {
        int level = shape->at[i].power_w < low_w ? -1 : shape->at[i].power_w > high_w;
        out.crossings += level * last < 0;
        sides[level + 1]++;
        last = level != 0 ? level : last;
    }
    double count = fmax((double)(end - first), 1);
    out.outer = (double)(sides[0] + sides[2]) / count;
    out.less = fmin((double)sides[0], (double)sides[2]) / count;
    return out;
}

/* Step marks show where the updates fall in the steps: evenly, and nothing is hidden. */
static double hidden_share(const struct window_index *index, double from, double to, double unseen)
{
    if (index->step_count == 0)
        return unseen;
    struct sample_phases phases =
        sample_phases_of(&index->shape, shape_seconds(index->sensor.update_period_ns, 0),
                         index->steps, index->step_count, from, to);
    double marked = phases.count > 0 ? phases.part_s / (to - from) : 0;
    return (1 - marked) * unseen + marked * fmin(unseen, phases.uneven);
}

/* How likely it is that the energy is off by more than half_j. */
static double outside(const struct miss *sensors, size_t count, double half_j)
{
    double sum = 0;
    EACH (sensor, sensors, count) {
        double in_step = fmax(1 - half_j / (sensor->hidden_j + sensor->deviation_j), 0);
        sum += sensor->weight *
               ((1 - sensor->in_step) * erfc(half_j / (sensor->deviation_j * sqrt(2))) +
                sensor->in_step * in_step);
    }
    return sum;
}

static double sign_of(const struct sign *sign, double value)
{
    double share = (value - sign->absent) / (sign->complete - sign->absent);
    return fmin(fmax(share, 0), 1);
}

/* How likely the load is in step. The evidence, from 0 to 1, moves the logarithm of the odds
 * evenly, so that a small change of the samples changes the half-width by little. */
static double in_step_probability(double evidence)
{
    double least = log(in_step_prior / (1 - in_step_prior)),
           most = log(in_step_suspected / (1 - in_step_suspected));
    return 1 / (1 + exp(-(least + evidence * (most - least))));
}

double misses_half_width(const struct window_index *index, const struct index_moment *from,
                         const struct index_moment *to, double rest_j, double between_j)
{
    struct miss sensors[4];
    size_t count = find_sensors(index, sensors);
    double length_s = to->t - from->t, mean_w = (to->sum.energy_j - from->sum.energy_j) / length_s;
    double first = fmax(from->t - around_s, 0), last = to->t + around_s, least_j = 0, most_j = 0;
    /* The window and what is around it show how power varies. */
    struct sampling_sums own = sampling_sums(&index->sampling, &index->shape, from->t, to->t);
    struct sampling_sums around = sampling_sums(&index->sampling, &index->shape, first, last);
    double part = length_s / (last - first),
           more = wider + few * index->sampling.period_s / (last - first);
    struct levels levels = find_levels(&index->shape, from->t, to->t);
    double crossings = (double)levels.crossings;
    double drifts = sign_of(&beat_crossings, crossings) * sign_of(&drift, own.drift);
    double jumps = sign_of(&level_crossings, crossings) * sign_of(&less_share, levels.less) *
                   sign_of(&outer_share, levels.outer);
    for (size_t i = 0; i < count; i++) {
        struct miss *sensor = &sensors[i];
        double missed_j = 0, hidden = 0;
        if (sensor->unseen > 0) {
            double variance = fmax(sampling_variance(&own, sensor->period_s),
                                   sampling_variance(&around, sensor->period_s) * part);
            missed_j = sensor->unseen * sqrt(variance * more);
            hidden = hidden_share(index, from->t, to->t, sensor->unseen);
        }
        missed_j = index->counted.count > 0 ? hypot(missed_j, between_j)
                                            : fmax(missed_j, between_means * between_j);
        sensor->deviation_j = fmax(hypot(rest_j, missed_j), 1e-9);
        sensor->hidden_j =
            hidden * length_s * fmax(levels.most_w - mean_w, mean_w - levels.least_w);
        if (sensor->hidden_j > 0)
            sensor->in_step = in_step_probability(sensor->unseen > instant_unseen ? jumps : drifts);
        most_j = fmax(most_j, 3 * sensor->deviation_j + sensor->hidden_j);
    }
    for (int turn = 0; turn < 30; turn++) { /* to 1e-9 of the most */
        double half_j = (least_j + most_j) / 2;
        if (outside(sensors, count, half_j) > 1 - STATS_CONFIDENCE)
            least_j = half_j;
        else
            most_j = half_j;
    }
    return most_j;
}
