/* The curve of one step from samples of many. Unknown are the mean powers of narrow bins, and a few nuisances: each is a
 * column of one linear model with a Gaussian prior, whose posterior gives every figure and its variance. */
#include "measure/step_power.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MIN = 10, SAMPLES_MIN = 60, SAMPLES_MOST = 10000, BINS_MOST = 200, PRINTED_MOST = 2000, DRIFTS = 6 };
enum { BLOCKS_MIN = 8, BLOCKS_MOST = 40, SEARCH_SAMPLES = 1500 };
/* Operations, at most two seconds of them: they are spent in the loop that serves all slots, and a job may mark whatever it likes. */
#define BUDGET 1.5e10
#define UNKNOWNS_MOST (BINS_MOST + 2 * STEP_PHASES_MAX + DRIFTS + 1)

static const double BIN_S = 0.005, BIN_LEAST_S = 0.001, STEP_LONGEST_S = 10;
static const double RISE_S = 1e-3;         /* an instantaneous sample is a mean over this span */
static const double INSIDE = 0.98;         /* of a sample's weight must be in steps that count */
static const double REACH = 6;             /* time constants after which an exponential mean has forgotten */
static const double RESOLVED = 0.3;        /* of the prior's standard deviation may be left of a phase's mean */
static const double PRIOR_LEVEL = 0.5;     /* standard deviation of a phase's level, of the mean power */
static const double PRIOR_DRIFT = 0.1;     /* the same of each term of the drift, falling with its number */
static const double EVEN = 0.01;           /* of the level's variance over a step: a phase that is nearly even */
static const double DROP = 6;              /* of the likelihood's logarithm: times beyond are ruled out */
static const double FINEST = 1e-4;         /* of the mean power: no sensor's noise is less */
static const double EDGE_DOUBT_S = 5e-4;   /* half-width of an edge */
static const double RIVALS = 30;            /* of the same logarithm: two searches that end so near each other both count */
static const double FLICKER_S = 0.02;      /* power that varies from step to step does so over this */
static const double EDGE_STEP_S = 5e-4;    /* by which edges are varied */
static const double MARK_JITTER_S = 5e-4;  /* from step to step, at most */
static const double TIME_UNSURE = 0.03, DELAY_UNSURE_S = 0.0015; /* standard deviations of a calibration's times, at least */

/* A row: what one sample says of the unknowns. */
struct row {
    double of[UNKNOWNS_MOST];
    size_t first, last; /* of the bins that are not zero, last excluded */
    double y, weight, spread; /* spread: variance by jitter of marks and stamps */
};

/* Times, the variances that fit them, and how well they explain the samples. */
struct times {
    double early_s[STEP_PHASES_MAX + 1], length_s, rough, noise, best;
};

struct step_model {
    const struct step_fold *fold;
    const struct step_sensor *sensor;
    struct step_power *out;
    const struct power_sample *samples;
    size_t sample_count;
    int64_t origin_ns;
    double length_s, told_s, delay_s;       /* of the averaging: as learnt so far, and as stated */
    size_t stride;                          /* of the samples that are used */
    double early_s[STEP_PHASES_MAX + 1];    /* by so much later than its mark a phase begins */
    double phase_s[STEP_PHASES_MAX], bin_s; /* mean duration, by the marks; the longest bin */
    size_t first[STEP_PHASES_MAX + 1];      /* bin of each phase */
    size_t bins, unknowns;                  /* bins, then marks (one a phase), length, drifts */
    double mean_w, level_w, mark_sd_s, delay_sd_s, length_sd_s;
    double rough, noise;                    /* variances: of the curve a second, of a sample */
    struct times other;                     /* that explain them about as well; length_s 0: none do */
    double *spent;                          /* operations so far, about */
    double best;                            /* how well the best times explain the samples */
    double *normal, *right;                 /* A'WA, A'Wy */
    double yy, *mean, *inverse;             /* posterior */
    size_t rows;
    size_t blocks;
    double *scores;                         /* of each block: A'Wr */
};

/* ---- the sensor */

/* Integral of a boxcar's cumulative weight up to x, from its begin at -length. */
static double ramp_integral(double x, double length)
{
    if (x <= -length)
        return 0;
    return x < 0 ? (x + length) * (x + length) / (2 * length) : length / 2 + x;
}

/* Share of a sample that is of power drawn before x; x: seconds after its stamp. */
static double weight_before(const struct step_model *model, double x)
{
    double at = x + model->delay_s, blur = model->sensor->stamp_s;
    if (model->sensor->behaviour->averaging == WINDOW_EXPONENTIAL)
        return at < 0 ? exp(at / model->length_s) : 1;
    if (blur < 1e-6)
        return at <= -model->length_s ? 0 : at < 0 ? at / model->length_s + 1 : 1;
    return (ramp_integral(at + blur / 2, model->length_s) - ramp_integral(at - blur / 2, model->length_s)) / blur;
}

static double reach_s(const struct step_model *model)
{
    bool exponential = model->sensor->behaviour->averaging == WINDOW_EXPONENTIAL;
    return model->delay_s + model->sensor->stamp_s / 2 + model->length_s * (exponential ? REACH : 1);
}

/* ---- rows */

static double edge_s(const struct step_model *model, size_t step, size_t phase)
{
    size_t width = model->fold->phase_count + 1;
    double at = (double)(model->fold->edge_ns[step * width + phase] - model->origin_ns) / 1e9;
    return at + model->early_s[phase == model->fold->phase_count ? 0 : phase];
}

/* The first step that ends after a moment. */
static size_t step_after(const struct step_model *model, double at_s)
{
    size_t low = 0, high = model->fold->steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (edge_s(model, middle, model->fold->phase_count) <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Weights of the bins in the mean by which a sample at t_s is taken; gives their sum. */
static double bin_weights(const struct step_model *model, double t_s, struct row *row)
{
    double from = t_s - reach_s(model), to = t_s - model->delay_s + model->sensor->stamp_s / 2, sum = 0;
    bool exponential = model->sensor->behaviour->averaging == WINDOW_EXPONENTIAL;
    memset(row->of, 0, model->bins * sizeof *row->of);
    row->first = model->bins;
    row->last = 0;
    for (size_t step = step_after(model, from); step < model->fold->steps; step++) {
        if (edge_s(model, step, 0) >= to)
            break;
        for (size_t k = 0; k < model->fold->phase_count; k++) {
            double begin = edge_s(model, step, k), end = edge_s(model, step, k + 1);
            size_t count = model->first[k + 1] - model->first[k];
            if (end <= from || begin >= to || end <= begin)
                continue;
            *model->spent += 20 + 20 * (double)count;
            double width = (end - begin) / (double)count;
            size_t b = from > begin ? (size_t)((from - begin) / width) : 0;
            double before = weight_before(model, begin + width * (double)b - t_s);
            double grows = exponential ? exp(width / model->length_s) : 0; /* from bin to bin: one exp for all of them */
            for (; b < count && begin + width * (double)b < to; b++) {
                double x = begin + width * (double)(b + 1) - t_s;
                double after = exponential && x + model->delay_s < 0 ? before * grows : weight_before(model, x);
                size_t at = model->first[k] + b;
                row->of[at] += after - before;
                sum += after - before;
                before = after;
                if (at < row->first)
                    row->first = at;
                if (at + 1 > row->last)
                    row->last = at + 1;
            }
        }
    }
    for (size_t b = row->first; b < row->last && sum > 0; b++)
        row->of[b] /= sum;
    return sum;
}

static double predicted(const struct step_model *model, const struct row *row)
{
    double sum = 0;
    for (size_t b = row->first; b < row->last; b++)
        sum += row->of[b] * model->mean[b];
    return sum;
}

/* By how much a sample changes when one of the model's times does. */
static double slope(struct step_model *model, double t_s, double *time, double by, struct row *spare)
{
    double kept = *time;
    *time = kept + by;
    bin_weights(model, t_s, spare);
    double up = predicted(model, spare);
    *time = kept - by;
    bin_weights(model, t_s, spare);
    double down = predicted(model, spare);
    *time = kept;
    return (up - down) / (2 * by);
}

static double drift(const struct step_model *model, size_t i, int64_t t_ns)
{
    int64_t begin_ns = model->samples[0].t_ns, end_ns = model->samples[model->sample_count - 1].t_ns;
    return cos(3.14159265358979 * (double)(i + 1) * (double)(t_ns - begin_ns) / (double)(end_ns - begin_ns));
}

/* False: the sample is not of steps that count. times: with the columns of the times, else these are taken as they are. */
static bool make_row(struct step_model *model, size_t sample, bool times, struct row *row, struct row *spare)
{
    const struct power_sample *at = &model->samples[sample];
    double t_s = (double)(at->t_ns - model->origin_ns) / 1e9;
    size_t phases = model->fold->phase_count, n = model->bins;
    if (bin_weights(model, t_s, row) < INSIDE)
        return false;
    row->y = at->power_w - model->mean_w;
    row->spread = 0;
    memset(row->of + n, 0, (model->unknowns - n) * sizeof *row->of);
    if (times) {
        double late = 0, blur = model->sensor->stamp_s, jitter = fmin(model->mark_sd_s, MARK_JITTER_S);
        for (size_t k = 0; k < phases; k++) {
            double by = slope(model, t_s, &model->early_s[k], EDGE_STEP_S, spare);
            row->of[n + k] = by;
            row->y += by * model->early_s[k]; /* the column belongs to the difference from the time as it is now */
            row->spread += by * by * jitter * jitter;
            late += by;
        }
        double longer = slope(model, t_s, &model->length_s, fmax(model->length_s / 100, 1e-4), spare);
        row->of[n + phases] = longer;
        row->y += longer * (model->length_s - model->told_s);
        row->spread += late * late * blur * blur / 12;
    }
    for (size_t i = 0; i < DRIFTS; i++)
        row->of[n + phases + 1 + i] = drift(model, i, at->t_ns);
    row->weight = 1 / (1 + row->spread / model->noise);
    return true;
}

static void add_scaled(double *to, double by, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += by * from[i];
}

static void accumulate(struct step_model *model, const struct row *row)
{
    size_t n = model->unknowns, bins = model->bins, filled = row->last - row->first;
    *model->spent += (double)(filled + n - bins) * (double)(filled + n - bins) / 4;
    for (size_t i = row->first; i < n; i = i + 1 == row->last ? bins : i + 1) {
        double scaled = row->weight * row->of[i];
        if (scaled == 0)
            continue;
        model->right[i] += scaled * row->y;
        double *to = model->normal + i * n;
        add_scaled(to + row->first, scaled, row->of + row->first, i < bins ? i + 1 - row->first : filled);
        if (i >= bins)
            add_scaled(to + bins, scaled, row->of + bins, i + 1 - bins);
    }
    model->yy += row->weight * row->y * row->y;
    model->rows++;
}

static void build(struct step_model *model, bool times, struct row *row, struct row *spare)
{
    size_t n = model->unknowns;
    memset(model->normal, 0, n * n * sizeof *model->normal);
    memset(model->right, 0, n * sizeof *model->right);
    model->yy = 0;
    model->rows = 0;
    for (size_t i = 0; i < model->sample_count && *model->spent < BUDGET; i += model->stride)
        if (make_row(model, i, times, row, spare))
            accumulate(model, row);
}

/* ---- the prior and the posterior */

/* Adds the prior's precision to the lower triangle; gives the logarithm of its determinant. Within a phase the curve is a
 * random walk; from one phase to the next it may jump. */
static double add_prior(const struct step_model *model, double rough, double *to)
{
    size_t n = model->unknowns, phases = model->fold->phase_count;
    double log_determinant = 0;
    for (size_t k = 0; k < phases; k++) {
        size_t from = model->first[k], until = model->first[k + 1];
        double width = model->phase_s[k] / (double)(until - from);
        to[from * n + from] += 1 / (model->level_w * model->level_w);
        log_determinant -= 2 * log(model->level_w);
        for (size_t b = from + 1; b < until; b++) {
            double step = 1 / (rough * width);
            to[b * n + b] += step;
            to[(b - 1) * n + b - 1] += step;
            to[b * n + b - 1] -= step;
            log_determinant += log(step);
        }
    }
    /* A delay that is wrong moves all edges alike. */
    double own = model->mark_sd_s * model->mark_sd_s, common = model->delay_sd_s * model->delay_sd_s;
    for (size_t i = 0; i < phases; i++) {
        for (size_t j = 0; j <= i; j++)
            to[(model->bins + i) * n + model->bins + j] -= common / (own * (own + (double)phases * common));
        to[(model->bins + i) * (n + 1)] += 1 / own;
    }
    for (size_t i = model->bins + phases; i < n; i++) {
        size_t at = i - model->bins - phases;
        double sd = at == 0 ? model->length_sd_s : PRIOR_DRIFT * model->mean_w / (double)at;
        to[i * n + i] += 1 / (sd * sd);
    }
    return log_determinant;
}

/* In place: lower triangle to its Cholesky factor. Gives the logarithm of the determinant; NAN: not positive. */
static double factorise(double *of, size_t n)
{
    double log_determinant = 0;
    for (size_t i = 0; i < n; i++) {
        double *row = of + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = of + j * n;
            double sum = row[j];
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            if (j < i)
                row[j] = sum / other[j];
            else if (sum > 0)
                row[i] = sqrt(sum);
            else
                return NAN;
        }
        log_determinant += 2 * log(row[i]);
    }
    return log_determinant;
}

static void solve_forward(const double *factor, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= factor[i * n + k] * x[k];
        x[i] /= factor[i * n + i];
    }
}

static void solve_back(const double *factor, size_t n, double *x)
{
    for (size_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        for (size_t k = 0; k < i; k++)
            x[k] -= factor[i * n + k] * x[i];
    }
}

/* The marginal likelihood's logarithm; the factor of the posterior's precision goes to work. */
static double evidence_of(const struct step_model *model, double rough, double noise, double *work)
{
    size_t n = model->unknowns;
    double half[UNKNOWNS_MOST], fit = 0;
    *model->spent += (double)n * (double)n * (double)n / 3;
    for (size_t i = 0; i < n; i++) {
        half[i] = model->right[i] / noise;
        for (size_t j = 0; j <= i; j++)
            work[i * n + j] = model->normal[i * n + j] / noise;
    }
    double prior = add_prior(model, rough, work), posterior = factorise(work, n);
    if (!isfinite(posterior))
        return -INFINITY;
    solve_forward(work, n, half);
    for (size_t i = 0; i < n; i++)
        fit += half[i] * half[i];
    return -0.5 * ((double)model->rows * log(noise) + posterior - prior + model->yy / noise - fit);
}

/* How rough the curve is and how noisy a sample: where they explain the samples best. Gives how well. */
static double learn_variances(struct step_model *model, double factor, double least, bool curve, double *work)
{
    double best = evidence_of(model, model->rough, model->noise, work);
    for (; factor >= least; factor = sqrt(factor)) {
        for (bool better = true; better;) {
            better = false;
            for (int move = curve ? 0 : 2; move < 4; move++) {
                double by = move % 2 ? factor : 1 / factor;
                double rough = model->rough * (move < 2 ? by : 1), noise = model->noise * (move < 2 ? 1 : by);
                double least_noise = FINEST * FINEST * model->mean_w * model->mean_w;
                bool sane = noise >= least_noise && rough >= least_noise / model->out->step_s;
                double found = sane ? evidence_of(model, rough, noise, work) : -INFINITY;
                if (found > best + 0.05) {
                    best = found;
                    model->rough = rough;
                    model->noise = noise;
                    better = true;
                }
            }
        }
    }
    return best;
}

/* Of the times, their prior's logarithm. */
static double times_prior(const struct step_model *model)
{
    size_t phases = model->fold->phase_count;
    double own = model->mark_sd_s * model->mark_sd_s, common = model->delay_sd_s * model->delay_sd_s;
    double sum = 0, squares = 0, longer = (model->length_s - model->told_s) / model->length_sd_s;
    for (size_t k = 0; k < phases; k++) {
        sum += model->early_s[k];
        squares += model->early_s[k] * model->early_s[k];
    }
    return -0.5 * (longer * longer + squares / own - sum * sum * common / (own * (own + (double)phases * common)));
}

/* How well the times as they are explain the samples, with the variances that then fit best. */
static double times_fit(struct step_model *model, bool curve, struct row *rows, double *work)
{
    for (size_t k = 0; k < model->fold->phase_count; k++) {
        double next = k + 1 < model->fold->phase_count ? model->early_s[k + 1] : model->early_s[0];
        if (model->phase_s[k] + next - model->early_s[k] < 0.2 * model->phase_s[k])
            return -INFINITY;
    }
    if (model->length_s <= 0)
        return -INFINITY;
    build(model, false, rows, rows + 1);
    return model->rows < SAMPLES_MIN / 2 ? -INFINITY : learn_variances(model, 4, 1.9, curve, work) + times_prior(model);
}

/* Of the times: the edges of some phases, or (first = phases) the length, about the middle of what is averaged. */
static void shift_times(struct step_model *model, size_t first, size_t count, double by)
{
    size_t phases = model->fold->phase_count;
    bool length = first == phases;
    for (size_t k = length ? 0 : first; k < (length ? phases : first + count); k++)
        model->early_s[k] += length ? -by / 2 : by;
    if (length)
        model->length_s += by;
}

/* One way or the other, where that is better. */
static bool try_move(struct step_model *model, size_t first, size_t count, double by, bool curve, struct row *rows, double *work)
{
    for (int way = 0; way < 2; way++, by = -by) {
        double rough = model->rough, noise = model->noise;
        shift_times(model, first, count, by);
        double found = times_fit(model, curve, rows, work);
        if (found > model->best + 0.01) {
            model->best = found;
            return true;
        }
        shift_times(model, first, count, -by);
        model->rough = rough;
        model->noise = noise;
    }
    return false;
}

static void search(struct step_model *model, double from, double to, bool curve, struct row *rows, double *work)
{
    size_t phases = model->fold->phase_count;
    bool apart = model->mark_sd_s > 1e-4;
    model->best = times_fit(model, curve, rows, work);
    for (double by = from; by > to; by /= 2)
        for (int tries = 0; tries < 4 && *model->spent < BUDGET; tries++) {
            bool better = try_move(model, 0, phases, by, curve, rows, work);
            for (size_t k = 0; k < phases && apart && *model->spent < BUDGET; k++)
                better |= try_move(model, k, 1, by, curve, rows, work);
            if (by < 2 * model->length_sd_s)
                better |= try_move(model, phases, 1, by, curve, rows, work);
            if (!better)
                break;
        }
}

static struct times times_of(const struct step_model *model)
{
    struct times times = {.length_s = model->length_s, .rough = model->rough, .noise = model->noise, .best = model->best};
    memcpy(times.early_s, model->early_s, sizeof times.early_s);
    return times;
}

static void set_times(struct step_model *model, const struct times *times)
{
    memcpy(model->early_s, times->early_s, sizeof times->early_s);
    model->length_s = times->length_s;
    model->rough = times->rough;
    model->noise = times->noise;
    model->best = times->best;
}

/* Where the phases begin and how long the average is. A curve that may bend as it likes hides a jump in the wrong place,
 * so at first phases are taken as nearly even; from what that finds, and from what is stated, the search goes on with
 * the curve as it is, and the better of the two counts. */
static void find_times(struct step_model *model, struct row *rows, double *work)
{
    double fine = model->bin_s / 70;
    struct times stated = times_of(model), begun;
    model->stride = model->sample_count / SEARCH_SAMPLES + 1;
    search(model, model->bin_s / 4, fine, true, rows, work);
    times_fit(model, true, rows, work);
    model->best = learn_variances(model, 2, 1.05, true, work) + times_prior(model);
    begun = times_of(model);
    set_times(model, &stated);
    model->rough = EVEN * model->level_w * model->level_w / model->out->step_s;
    search(model, fmax(hypot(model->mark_sd_s, model->delay_sd_s), model->length_sd_s), 2 * fine, false, rows, work);
    model->rough = stated.rough;
    search(model, model->bin_s / 4, fine, true, rows, work);
    times_fit(model, true, rows, work);
    model->best = learn_variances(model, 2, 1.05, true, work) + times_prior(model);
    model->other = begun;
    if (model->best < begun.best) {
        model->other = times_of(model);
        set_times(model, &begun);
    }
    if (model->best - model->other.best > RIVALS)
        model->other.length_s = 0;
    model->stride = 1;
}

static bool solve(struct step_model *model, double *work)
{
    size_t n = model->unknowns;
    if (!isfinite(evidence_of(model, model->rough, model->noise, work)))
        return false;
    for (size_t i = 0; i < n; i++)
        model->mean[i] = model->right[i] / model->noise;
    solve_forward(work, n, model->mean);
    solve_back(work, n, model->mean);
    return true;
}

/* Residuals of a stretch of time err together, so their sum counts, not their number. */
static void score(struct step_model *model, struct row *row, struct row *spare)
{
    size_t n = model->unknowns;
    memset(model->scores, 0, model->blocks * n * sizeof *model->scores);
    for (size_t i = 0; i < model->sample_count && *model->spent < BUDGET; i++) {
        if (!make_row(model, i, true, row, spare))
            continue;
        double *to = model->scores + i * model->blocks / model->sample_count * n;
        double residual = row->y - predicted(model, row);
        for (size_t k = model->bins; k < n; k++)
            residual -= row->of[k] * model->mean[k];
        for (size_t k = row->first; k < n; k = k + 1 == row->last ? model->bins : k + 1)
            to[k] += row->weight * residual * row->of[k] / model->noise;
    }
}

/* Of a functional c: the larger of what the model and the scatter between blocks say. */
static double variance_of(const struct step_model *model, const double *factor, const double *c)
{
    size_t n = model->unknowns;
    double z[UNKNOWNS_MOST], posterior = 0, scatter = 0;
    memcpy(z, c, n * sizeof *z); /* covariance times c */
    solve_forward(factor, n, z);
    solve_back(factor, n, z);
    for (size_t i = 0; i < n; i++)
        posterior += c[i] * z[i];
    for (size_t block = 0; block < model->blocks; block++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += z[i] * model->scores[block * n + i];
        scatter += sum * sum;
    }
    scatter *= (double)model->blocks / (double)(model->blocks - 1);
    return fmax(posterior, scatter);
}

/* ---- what comes out */

/* Share of each bin in the mean power from begin_s to end_s of a step, over those that last so long. */
static double span_weights(const struct step_model *model, double begin_s, double end_s, double *c)
{
    double sum = 0;
    size_t steps = model->fold->steps, stride = steps / 400 + 1;
    memset(c, 0, model->unknowns * sizeof *c);
    *model->spent += 10 * (double)(steps / stride) * (double)model->fold->phase_count;
    for (size_t step = 0; step < steps && *model->spent < BUDGET; step += stride) {
        double origin = edge_s(model, step, 0);
        if (edge_s(model, step, model->fold->phase_count) - origin < end_s - 1e-6)
            continue;
        for (size_t k = 0; k < model->fold->phase_count; k++) {
            double from = edge_s(model, step, k) - origin, to = edge_s(model, step, k + 1) - origin;
            size_t count = model->first[k + 1] - model->first[k];
            if (to <= begin_s || from >= end_s || to <= from)
                continue;
            double width = (to - from) / (double)count;
            for (size_t b = begin_s > from ? (size_t)((begin_s - from) / width) : 0; b < count; b++) {
                double left = fmax(from + width * (double)b, begin_s), right = fmin(from + width * (double)(b + 1), end_s);
                if (left >= end_s)
                    break;
                if (right > left) {
                    c[model->first[k] + b] += right - left;
                    sum += right - left;
                }
            }
        }
    }
    for (size_t b = 0; b < model->bins && sum > 0; b++)
        c[b] /= sum;
    return sum;
}

static double span_power(const struct step_model *model, double begin_s, double end_s, double *c)
{
    double power = 0;
    span_weights(model, begin_s, end_s, c);
    for (size_t b = 0; b < model->bins; b++)
        power += c[b] * model->mean[b];
    return model->mean_w + power;
}

/* Energy of a phase, and mean power of a printed bin, for the times as they are. */
static double phase_energy(const struct step_model *model, size_t k)
{
    size_t from = model->first[k], until = model->first[k + 1], next = k + 1 == model->fold->phase_count ? 0 : k + 1;
    double power = 0;
    for (size_t b = from; b < until; b++)
        power += model->mean[b] / (double)(until - from);
    return (model->mean_w + power) * (model->phase_s[k] + model->early_s[next] - model->early_s[k]);
}

static size_t printed(const struct step_model *model)
{
    return (size_t)ceil(model->out->step_s / BIN_S - 1e-6);
}

static double bin_power(const struct step_model *model, size_t bin, double *c)
{
    double width = model->out->step_s / (double)printed(model);
    return span_power(model, width * (double)bin, width * (double)(bin + 1), c);
}

/* By how much the figures change when times are moved as far as the samples allow: first each phase's energy, then each
 * bin's power. To the squares in add. */
static void add_profile(struct step_model *model, size_t first, size_t count, double most, struct row *rows, double *work,
                        const double *figures, double *add)
{
    size_t phases = model->fold->phase_count, bins = printed(model);
    struct times kept = times_of(model);
    double *worst = mem_array(phases + bins, sizeof *worst), c[UNKNOWNS_MOST];
    for (int way = -1; way <= 1 && *model->spent < BUDGET; way += 2) {
        double allowed = 0;
        for (double by = model->bin_s / 32; by <= most && *model->spent < BUDGET; by *= 2) {
            set_times(model, &kept);
            shift_times(model, first, count, way * by);
            if (times_fit(model, true, rows, work) < kept.best - DROP)
                break;
            allowed = by;
        }
        if (allowed == 0)
            allowed = model->bin_s / 64;
        set_times(model, &kept);
        shift_times(model, first, count, way * allowed);
        if (!isfinite(times_fit(model, true, rows, work)) || !solve(model, work))
            continue;
        for (size_t k = 0; k < phases; k++)
            worst[k] = fmax(worst[k], fabs(phase_energy(model, k) - figures[k]));
        for (size_t i = 0; i < bins; i++)
            worst[phases + i] = fmax(worst[phases + i], fabs(bin_power(model, i, c) - figures[phases + i]));
    }
    for (size_t i = 0; i < phases + bins; i++)
        add[i] += worst[i] * worst[i];
    set_times(model, &kept);
    free(worst);
}

/* Power that rises slowly looks like a delay that is longer than stated. Both explanations remain, so what the stated
 * times give lies within the half-width, and so does an edge that is a little off, and what the other search found. */
static void add_stated(struct step_model *model, struct row *rows, double *work, const double *figures, double *add)
{
    size_t phases = model->fold->phase_count, bins = printed(model);
    struct times kept = times_of(model);
    double c[UNKNOWNS_MOST];
    for (size_t k = 0; k < phases; k++) {
        size_t last = k == 0 ? model->bins - 1 : model->first[k] - 1, before = k == 0 ? phases - 1 : k - 1;
        double jump = (EDGE_DOUBT_S + model->sensor->stamp_s / 4) * (model->mean[model->first[k]] - model->mean[last]);
        add[k] += jump * jump;
        add[before] += jump * jump;
    }
    struct times rivals[] = {{.length_s = model->told_s, .rough = kept.rough, .noise = kept.noise}, model->other};
    for (size_t r = 0; r < sizeof rivals / sizeof *rivals && rivals[r].length_s > 0; r++) {
        set_times(model, &rivals[r]);
        if (!isfinite(times_fit(model, true, rows, work)) || !solve(model, work))
            continue;
        for (size_t k = 0; k < phases; k++)
            add[k] += pow(phase_energy(model, k) - figures[k], 2);
        for (size_t i = 0; i < bins; i++)
            add[phases + i] += pow(bin_power(model, i, c) - figures[phases + i], 2);
    }
    set_times(model, &kept);
}

/* Half-widths, squared, by what is not certain of the times. */
static double *profile(struct step_model *model, struct row *rows, double *work)
{
    size_t phases = model->fold->phase_count, bins = printed(model);
    double *add = mem_array(phases + bins, sizeof *add), *figures = mem_array(phases + bins, sizeof *figures);
    double c[UNKNOWNS_MOST];
    model->stride = model->sample_count / SEARCH_SAMPLES + 1;
    model->best = times_fit(model, true, rows, work);
    if (isfinite(model->best) && solve(model, work)) {
        for (size_t k = 0; k < phases; k++)
            figures[k] = phase_energy(model, k);
        for (size_t i = 0; i < bins; i++)
            figures[phases + i] = bin_power(model, i, c);
        for (size_t k = 0; k < phases; k++)
            add_profile(model, k, 1, 2.5 * model->mark_sd_s, rows, work, figures, add);
        add_profile(model, 0, phases, 2.5 * hypot(model->delay_sd_s, model->mark_sd_s), rows, work, figures, add);
        add_profile(model, phases, 1, 2.5 * model->length_sd_s, rows, work, figures, add);
        add_stated(model, rows, work, figures, add);
    }
    model->stride = 1;
    free(figures);
    return add;
}

static double half_width(const struct step_model *model, const double *factor, const double *c, double value, double add)
{
    double gain = model->sensor->gain_bound * value / sqrt(3);
    double k = special_t_quantile(0.975, (double)(model->blocks - 1));
    return sqrt(k * k * (variance_of(model, factor, c) + gain * gain) + add);
}

static void tell_bins(struct step_model *model, const double *factor, const double *add)
{
    struct step_power *out = model->out;
    size_t phases = model->fold->phase_count;
    double c[UNKNOWNS_MOST], moved[UNKNOWNS_MOST];
    size_t count = (size_t)ceil(out->step_s / BIN_S - 1e-6);
    out->bins = mem_array(count + 1, sizeof *out->bins);
    out->bin_count = count;
    for (size_t i = 0; i < count; i++) {
        double begin_s = out->step_s * (double)i / (double)count, end_s = out->step_s * (double)(i + 1) / (double)count;
        double power = span_power(model, begin_s, end_s, c), by = fmax(0.5 * model->mark_sd_s, 1e-5);
        for (size_t k = 0; k < phases; k++) { /* where the phases begin is not certain */
            model->early_s[k] += by;
            c[model->bins + k] = (span_power(model, begin_s, end_s, moved) - power) / by;
            model->early_s[k] -= by;
        }
        out->bins[i] = (struct step_bin){begin_s, end_s, power, half_width(model, factor, c, power, add[i] + 4 * model->noise / (double)out->steps)};
    }
}

static void tell_phases(struct step_model *model, const double *factor, const double *add)
{
    struct step_power *out = model->out;
    size_t phases = model->fold->phase_count, resolved = 0;
    double c[UNKNOWNS_MOST], begin_s = 0;
    out->phase_count = phases;
    for (size_t k = 0; k < phases; k++) {
        size_t from = model->first[k], until = model->first[k + 1], next = k + 1 == phases ? 0 : k + 1;
        double power = model->mean_w, variance, seconds = model->phase_s[k] + model->early_s[next] - model->early_s[k];
        memset(c, 0, model->unknowns * sizeof *c);
        for (size_t b = from; b < until; b++) {
            c[b] = 1 / (double)(until - from);
            power += c[b] * model->mean[b];
        }
        variance = variance_of(model, factor, c);
        for (size_t b = from; b < until; b++)
            c[b] *= seconds;
        if (next != k) {
            c[model->bins + k] -= power;
            c[model->bins + next] += power;
        }
        double cells = fmax(seconds / FLICKER_S, 1), phase_s2 = 4 * model->noise / (double)out->steps / cells * seconds * seconds;
        struct step_phase *phase = &out->phases[k];
        *phase = (struct step_phase){.name = model->fold->names[k], .begin_s = begin_s, .end_s = begin_s + model->phase_s[k]};
        begin_s = phase->end_s;
        if (sqrt(variance) > RESOLVED * model->level_w)
            continue;
        resolved++;
        phase->energy_j = (struct reading){power * seconds, true};
        phase->half_width_j = (struct reading){half_width(model, factor, c, power * seconds, add[k] + phase_s2), true};
    }
    if (resolved == 0)
        snprintf(out->reason, sizeof out->reason,
                 "the samples do not tell the phases apart: they are means over too long, or fall on the same moments of every step");
}

static void refuse(struct step_power *out, const char *reason)
{
    snprintf(out->reason, sizeof out->reason, "%s", reason);
}

/* The samples that steps can have entered, at most the last so many. */
static void choose_samples(struct step_model *model, const struct series *series)
{
    const struct step_fold *fold = model->fold;
    size_t width = fold->phase_count + 1, first = 0, last = series->power_count;
    int64_t begin_ns = fold->edge_ns[0], end_ns = fold->edge_ns[fold->steps * width - 1];
    while (first < last && series->power[first].t_ns < begin_ns)
        first++;
    while (last > first && series->power[last - 1].t_ns > end_ns + (int64_t)(1e9 * reach_s(model)))
        last--;
    if (last - first > SAMPLES_MOST)
        first = last - SAMPLES_MOST;
    model->samples = series->power + first;
    model->sample_count = last - first;
}

static bool prepare(struct step_model *model, const struct series *series)
{
    const struct step_fold *fold = model->fold;
    const struct sensor_behaviour *behaviour = model->sensor->behaviour;
    struct step_power *out = model->out;
    size_t width = fold->phase_count + 1;
    if (fold->steps < STEPS_MIN) {
        snprintf(out->reason, sizeof out->reason, "%zu steps of the same phases were marked: at least %d are needed",
                 fold->steps, STEPS_MIN);
        return false;
    }
    if (!model->sensor->calibrated || !behaviour->told) {
        refuse(out, "over which time the sensor averages is not known: `tare calibrate` finds out");
        return false;
    }
    if (fold->median_s > STEP_LONGEST_S) {
        refuse(out, "steps are longer than 10 s");
        return false;
    }
    model->origin_ns = fold->edge_ns[0];
    model->stride = 1;
    model->length_s = fmax((double)behaviour->averaging_ns / 1e9, RISE_S);
    if (behaviour->averaging == WINDOW_INSTANT)
        model->length_s = RISE_S;
    model->told_s = model->length_s;
    model->delay_s = (double)behaviour->delay_ns / 1e9;
    model->mark_sd_s = fmax(model->sensor->mark_s * 0.6, 2e-5);
    model->length_sd_s = fmax(fmax(behaviour->averaging_sd_ns / 1e9, TIME_UNSURE * model->length_s), 2e-5);
    model->delay_sd_s = fmax(behaviour->delay_sd_ns / 1e9, hypot(TIME_UNSURE * model->delay_s, DELAY_UNSURE_S));
    for (size_t k = 0; k < fold->phase_count; k++) {
        for (size_t i = 0; i < fold->steps; i++)
            model->phase_s[k] += (double)(fold->edge_ns[i * width + k + 1] - fold->edge_ns[i * width + k]) / 1e9;
        model->phase_s[k] /= (double)fold->steps;
    }
    double step_s = 0;
    for (size_t k = 0; k < fold->phase_count; k++)
        step_s += model->phase_s[k];
    double room = BINS_MOST - (double)fold->phase_count;
    double bin_s = model->bin_s = fmax(fmin(fmax(step_s / 60, BIN_LEAST_S), BIN_S), step_s / room);
    for (size_t k = 0; k < fold->phase_count; k++)
        model->first[k + 1] = model->first[k] + (size_t)fmax(ceil(model->phase_s[k] / bin_s - 1e-6), 1);
    model->bins = model->first[fold->phase_count];
    model->unknowns = model->bins + fold->phase_count + 2 + DRIFTS;
    choose_samples(model, series);
    if (model->sample_count < SAMPLES_MIN) {
        snprintf(out->reason, sizeof out->reason, "%zu samples of power were read within the steps: at least %d are needed",
                 model->sample_count, SAMPLES_MIN);
        return false;
    }
    return true;
}

static void start_values(struct step_model *model)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < model->sample_count; i++)
        sum += model->samples[i].power_w;
    model->mean_w = sum / (double)model->sample_count;
    for (size_t i = 0; i < model->sample_count; i++)
        squares += pow(model->samples[i].power_w - model->mean_w, 2);
    double variance = squares / (double)model->sample_count;
    model->level_w = fmax(PRIOR_LEVEL * model->mean_w, sqrt(variance)) + 1e-3;
    double least = pow(4 * FINEST * model->mean_w, 2) + 1e-9;
    model->noise = fmax(variance / 4, least);
    model->rough = fmax(variance, least) / (model->out->step_s / 4);
}

static void estimate(struct step_model *model)
{
    struct row *rows = mem_array(2, sizeof *rows);
    size_t n = model->unknowns;
    double *work = mem_array(n * n, sizeof *work);
    double reach = fmax(reach_s(model), model->out->step_s);
    double span_s = (double)(model->samples[model->sample_count - 1].t_ns - model->samples[0].t_ns) / 1e9;
    model->blocks = (size_t)fmin(span_s / (2 * reach), BLOCKS_MOST);
    model->normal = mem_array(n * n, sizeof *model->normal);
    model->right = mem_array(n, sizeof *model->right);
    model->mean = mem_array(n, sizeof *model->mean);
    model->scores = mem_array((model->blocks + 1) * n, sizeof *model->scores);
    start_values(model);
    double *add = NULL;
    build(model, false, rows, rows + 1);
    bool good = model->rows >= SAMPLES_MIN;
    if (good) {
        learn_variances(model, 8, 1.3, true, work);
        find_times(model, rows, work);
        build(model, false, rows, rows + 1);
        learn_variances(model, 4, 1.3, true, work);
        add = profile(model, rows, work);
        build(model, false, rows, rows + 1);
        learn_variances(model, 4, 1.3, true, work);
        good = solve(model, work);
    }
    for (int pass = 0; pass < 2 && good; pass++) {
        build(model, true, rows, rows + 1);
        learn_variances(model, 4, 1.3, true, work);
        good = solve(model, work);
    }
    model->out->samples = model->rows;
    if (!good) {
        refuse(model->out, "too few samples lie within steps that count");
    } else if (model->blocks < BLOCKS_MIN) {
        refuse(model->out, "the steps do not last long enough to see how much they vary");
    } else {
        score(model, rows, rows + 1);
        tell_phases(model, work, add);
        if (!model->out->reason[0])
            tell_bins(model, work, add + model->fold->phase_count);
    }
    if (*model->spent >= BUDGET)
        refuse(model->out, "so many phases, steps and samples take too long to be distinguished");
    free(add);
    free(model->normal);
    free(model->right);
    free(model->mean);
    free(model->scores);
    free(work);
    free(rows);
}

void step_power_estimate(const struct step_fold *fold, const struct series *series, const struct step_sensor *sensor,
                         struct step_power *out)
{
    struct step_model *model = mem_alloc(sizeof *model);
    *out = (struct step_power){.steps = fold->steps, .left_out = fold->left_out, .step_s = fold->median_s};
    double spent = 0;
    *model = (struct step_model){.fold = fold, .sensor = sensor, .out = out, .spent = &spent};
    if (prepare(model, series))
        estimate(model);
    free(model);
}

void step_power_fini(struct step_power *power)
{
    free(power->bins);
    power->bins = NULL;
    power->bin_count = 0;
}
