/* The model of a step, from what one sample is a mean of to the posterior. */
#include "measure/step_model.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const double INSIDE = 0.98; /* of a sample's weight must be in steps that count */
/* time constants after which an exponential mean has forgotten */
static const double REACH = 6;
/* the same of each term of the drift, falling with its number */
static const double PRIOR_DRIFT = 0.1;
/* of the level's variance over a step: a phase that is nearly even */
static const double EVEN = 0.01;
/* of the same logarithm: two searches that end so near each other both count */
static const double RIVALS = 30;
static const double EDGE_STEP_S = 5e-4;   /* by which edges are varied */
static const double MARK_JITTER_S = 5e-4; /* from step to step, at most */

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
        return at < 0 ? exp(at / model->at.length_s) : 1;
    if (blur < 1e-6)
        return at <= -model->at.length_s ? 0 : at < 0 ? at / model->at.length_s + 1 : 1;
    return (ramp_integral(at + blur / 2, model->at.length_s) -
            ramp_integral(at - blur / 2, model->at.length_s)) /
           blur;
}

double step_model_reach_s(const struct step_model *model)
{
    bool exponential = model->sensor->behaviour->averaging == WINDOW_EXPONENTIAL;
    return model->delay_s + model->sensor->stamp_s / 2 +
           model->at.length_s * (exponential ? REACH : 1);
}

/* ---- rows */

double step_model_edge_s(const struct step_model *model, size_t step, size_t phase)
{
    size_t width = model->fold->phase_count + 1;
    double at = ns_to_s(model->fold->edge_ns[step * width + phase] - model->origin_ns);
    return at + model->at.early_s[phase == model->fold->phase_count ? 0 : phase];
}

/* Weights of the bins in the mean by which a sample at t_s is taken; gives their sum. */
static double bin_weights(const struct step_model *model, double t_s, struct step_row *row)
{
    double from = t_s - step_model_reach_s(model),
           to = t_s - model->delay_s + model->sensor->stamp_s / 2, sum = 0;
    bool exponential = model->sensor->behaviour->averaging == WINDOW_EXPONENTIAL;
    memset(row->of, 0, model->bins * sizeof *row->of);
    row->first = model->bins;
    row->last = 0;
    size_t first_after = FIRST_PLACE(at, 0, model->fold->steps,
                                     step_model_edge_s(model, at, model->fold->phase_count) > from);
    double before = 0, known_s = NAN; /* where "before" is known of */
    for (size_t step = first_after; step < model->fold->steps; step++) {
        if (step_model_edge_s(model, step, 0) >= to)
            break;
        for (size_t k = 0; k < model->fold->phase_count; k++) {
            double begin = step_model_edge_s(model, step, k),
                   end = step_model_edge_s(model, step, k + 1);
            size_t count = model->first[k + 1] - model->first[k];
            if (end <= from || begin >= to || end <= begin)
                continue;
            *model->spent += 20 + 20 * (double)count;
            double width = (end - begin) / (double)count;
            size_t b = from > begin ? (size_t)((from - begin) / width) : 0;
            if (b > 0 || begin != known_s)
                before = weight_before(model, begin + width * (double)b - t_s);
            /* from bin to bin: one exp for all of them */
            double grows = exponential ? exp(width / model->at.length_s) : 0;
            for (; b < count && begin + width * (double)b < to; b++) {
                double x = begin + width * (double)(b + 1) - t_s;
                double after = exponential && x + model->delay_s < 0 ? before * grows
                                                                     : weight_before(model, x);
                size_t at = model->first[k] + b;
                row->of[at] += after - before;
                sum += after - before;
                before = after;
                if (at < row->first)
                    row->first = at;
                if (at + 1 > row->last)
                    row->last = at + 1;
            }
            known_s = end;
        }
    }
    for (size_t b = row->first; b < row->last && sum > 0; b++)
        row->of[b] /= sum;
    return sum;
}

static double predicted(const struct step_model *model, const struct step_row *row)
{
    double sum = 0;
    for (size_t b = row->first; b < row->last; b++)
        sum += row->of[b] * model->mean[b];
    return sum;
}

/* By how much a sample changes when one of the model's times does. */
static double slope(struct step_model *model, double t_s, double *time, double by)
{
    double kept = *time;
    *time = kept + by;
    bin_weights(model, t_s, model->spare);
    double up = predicted(model, model->spare);
    *time = kept - by;
    bin_weights(model, t_s, model->spare);
    double down = predicted(model, model->spare);
    *time = kept;
    return (up - down) / (2 * by);
}

static double drift(const struct step_model *model, size_t i, int64_t t_ns)
{
    int64_t begin_ns = model->samples[0].t_ns,
            end_ns = model->samples[model->sample_count - 1].t_ns;
    return cos(3.14159265358979 * (double)(i + 1) * (double)(t_ns - begin_ns) /
               (double)(end_ns - begin_ns));
}

/* False: the sample is outside the steps that count. times: with the columns of the times, which
 * else are fixed. */
static bool make_design_row(struct step_model *model, size_t sample, bool times)
{
    struct step_row *row = model->row;
    const struct power_sample *at = &model->samples[sample];
    double t_s = ns_to_s(at->t_ns - model->origin_ns);
    size_t phases = model->fold->phase_count, n = model->bins;
    if (bin_weights(model, t_s, row) < INSIDE)
        return false;
    row->y = at->power_w - model->mean_w;
    row->spread = 0;
    memset(row->of + n, 0, (model->unknowns - n) * sizeof *row->of);
    if (times) {
        double late = 0, blur = model->sensor->stamp_s,
               jitter = fmin(model->mark_sd_s, MARK_JITTER_S);
        for (size_t k = 0; k < phases; k++) {
            double by = slope(model, t_s, &model->at.early_s[k], EDGE_STEP_S);
            row->of[n + k] = by;
            /* the column belongs to the difference from the time as it is now */
            row->y += by * model->at.early_s[k];
            row->spread += by * by * jitter * jitter;
            late += by;
        }
        double longer =
            slope(model, t_s, &model->at.length_s, fmax(model->at.length_s / 100, 1e-4));
        row->of[n + phases] = longer;
        row->y += longer * (model->at.length_s - model->told_s);
        row->spread += late * late * blur * blur / 12;
    }
    for (size_t i = 0; i < STEP_DRIFTS; i++)
        row->of[n + phases + 1 + i] = drift(model, i, at->t_ns);
    row->weight = 1 / (1 + row->spread / model->at.noise);
    return true;
}

static void add_scaled(double *to, double by, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += by * from[i];
}

static void accumulate(struct step_model *model)
{
    const struct step_row *row = model->row;
    size_t n = model->unknowns, bins = model->bins, filled = row->last - row->first;
    *model->spent += (double)(filled + n - bins) * (double)(filled + n - bins) / 4;
    for (size_t i = row->first; i < n; i = i + 1 == row->last ? bins : i + 1) {
        double scaled = row->weight * row->of[i];
        if (scaled == 0)
            continue;
        model->right[i] += scaled * row->y;
        double *to = model->normal + i * n;
        add_scaled(to + row->first, scaled, row->of + row->first,
                   i < bins ? i + 1 - row->first : filled);
        if (i >= bins)
            add_scaled(to + bins, scaled, row->of + bins, i + 1 - bins);
    }
    model->yy += row->weight * row->y * row->y;
    model->rows++;
}

void step_model_build(struct step_model *model, bool times)
{
    size_t n = model->unknowns;
    memset(model->normal, 0, n * n * sizeof *model->normal);
    memset(model->right, 0, n * sizeof *model->right);
    model->yy = 0;
    model->rows = 0;
    for (size_t i = 0; i < model->sample_count && *model->spent < STEP_BUDGET; i += model->stride)
        if (make_design_row(model, i, times))
            accumulate(model);
}

/* ---- the prior and the posterior */

/* Adds the prior's precision to the lower triangle; gives the logarithm of its determinant. Within
 * a phase the curve is a random walk; from one phase to the next it may jump. */
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
    double own = model->mark_sd_s * model->mark_sd_s,
           common = model->delay_sd_s * model->delay_sd_s;
    for (size_t i = 0; i < phases; i++) {
        for (size_t j = 0; j <= i; j++)
            to[(model->bins + i) * n + model->bins + j] -=
                common / (own * (own + (double)phases * common));
        to[(model->bins + i) * (n + 1)] += 1 / own;
    }
    for (size_t i = model->bins + phases; i < n; i++) {
        size_t at = i - model->bins - phases;
        double sd = at == 0 ? model->length_sd_s : PRIOR_DRIFT * model->mean_w / (double)at;
        to[i * n + i] += 1 / (sd * sd);
    }
    return log_determinant;
}

/* In place: lower triangle to its Cholesky factor. Gives the logarithm of the determinant; NAN: not
 * positive. */
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

/* The marginal likelihood's logarithm; the factor of the posterior's precision goes to the model's
 * work. */
static double evidence_of(const struct step_model *model, double rough, double noise)
{
    double *work = model->work;
    size_t n = model->unknowns;
    double half[STEP_UNKNOWNS_MOST], fit = 0;
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
    EACH (item, half, n)
        fit += *item * *item;
    return -0.5 * ((double)model->rows * log(noise) + posterior - prior + model->yy / noise - fit);
}

/* How rough the curve is and how noisy a sample: where they explain the samples best. Gives how
 * well. */
double step_model_learn_variances(struct step_model *model, double factor, double least, bool curve)
{
    double best = evidence_of(model, model->at.rough, model->at.noise);
    for (; factor >= least; factor = sqrt(factor)) {
        for (bool better = true; better;) {
            better = false;
            for (int move = curve ? 0 : 2; move < 4; move++) {
                double by = move % 2 ? factor : 1 / factor;
                double rough = model->at.rough * (move < 2 ? by : 1),
                       noise = model->at.noise * (move < 2 ? 1 : by);
                double least_noise = STEP_FINEST * STEP_FINEST * model->mean_w * model->mean_w;
                bool sane = noise >= least_noise && rough >= least_noise / model->out->step_s;
                double found = sane ? evidence_of(model, rough, noise) : -INFINITY;
                if (found > best + 0.05) {
                    best = found;
                    model->at.rough = rough;
                    model->at.noise = noise;
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
    double own = model->mark_sd_s * model->mark_sd_s,
           common = model->delay_sd_s * model->delay_sd_s;
    double sum = 0, squares = 0, longer = (model->at.length_s - model->told_s) / model->length_sd_s;
    EACH (early_, model->at.early_s, phases) {
        sum += *early_;
        squares += *early_ * *early_;
    }
    return -0.5 * (longer * longer + squares / own -
                   sum * sum * common / (own * (own + (double)phases * common)));
}

/* How well the times as they are explain the samples, with the variances that then fit best. */
double step_model_times_fit(struct step_model *model, bool curve)
{
    for (size_t k = 0; k < model->fold->phase_count; k++) {
        double next =
            k + 1 < model->fold->phase_count ? model->at.early_s[k + 1] : model->at.early_s[0];
        if (model->phase_s[k] + next - model->at.early_s[k] < 0.2 * model->phase_s[k])
            return -INFINITY;
    }
    if (model->at.length_s <= 0)
        return -INFINITY;
    step_model_build(model, false);
    return model->rows < STEP_SAMPLES_MIN / 2
               ? -INFINITY
               : step_model_learn_variances(model, 4, 1.9, curve) + times_prior(model);
}

/* Of the times: the edges of some phases, or (first = phases) the length, about the middle of what
 * is averaged. */
void step_model_shift_times(struct step_model *model, size_t first, size_t count, double by)
{
    size_t phases = model->fold->phase_count;
    bool length = first == phases;
    for (size_t k = length ? 0 : first; k < (length ? phases : first + count); k++)
        model->at.early_s[k] += length ? -by / 2 : by;
    if (length)
        model->at.length_s += by;
}

/* One way or the other, where that is better. */
static bool try_move(struct step_model *model, size_t first, size_t count, double by, bool curve)
{
    for (int way = 0; way < 2; way++, by = -by) {
        double rough = model->at.rough, noise = model->at.noise;
        step_model_shift_times(model, first, count, by);
        double found = step_model_times_fit(model, curve);
        if (found > model->at.best + 0.01) {
            model->at.best = found;
            return true;
        }
        step_model_shift_times(model, first, count, -by);
        model->at.rough = rough;
        model->at.noise = noise;
    }
    return false;
}

static void search_times(struct step_model *model, double from, double to, bool curve)
{
    size_t phases = model->fold->phase_count;
    bool apart = model->mark_sd_s > 1e-4;
    model->at.best = step_model_times_fit(model, curve);
    for (double by = from; by > to; by /= 2)
        for (int tries = 0; tries < 4 && *model->spent < STEP_BUDGET; tries++) {
            bool better = try_move(model, 0, phases, by, curve);
            for (size_t k = 0; k < phases && apart && *model->spent < STEP_BUDGET; k++)
                better |= try_move(model, k, 1, by, curve);
            if (by < 2 * model->length_sd_s)
                better |= try_move(model, phases, 1, by, curve);
            if (!better)
                break;
        }
}

/* Where the phases begin and how long the average is. A curve that may bend as it likes hides a
 * jump in the wrong place, so at first phases are taken as nearly even; from what that finds, and
 * from what is stated, the search goes on with the curve as it is, and the better of the two
 * counts. */
void step_model_find_times(struct step_model *model)
{
    double fine = model->bin_s / 70;
    struct step_times stated = model->at, begun;
    model->stride = model->sample_count / STEP_SEARCH_SAMPLES + 1;
    search_times(model, model->bin_s / 4, fine, true);
    step_model_times_fit(model, true);
    model->at.best = step_model_learn_variances(model, 2, 1.05, true) + times_prior(model);
    begun = model->at;
    model->at = stated;
    model->at.rough = EVEN * model->level_w * model->level_w / model->out->step_s;
    search_times(model, fmax(hypot(model->mark_sd_s, model->delay_sd_s), model->length_sd_s),
                 2 * fine, false);
    model->at.rough = stated.rough;
    search_times(model, model->bin_s / 4, fine, true);
    step_model_times_fit(model, true);
    model->at.best = step_model_learn_variances(model, 2, 1.05, true) + times_prior(model);
    model->other = begun;
    if (model->at.best < begun.best) {
        model->other = model->at;
        model->at = begun;
    }
    if (model->at.best - model->other.best > RIVALS)
        model->other.length_s = 0;
    model->stride = 1;
}

bool step_model_solve(struct step_model *model)
{
    size_t n = model->unknowns;
    if (!isfinite(evidence_of(model, model->at.rough, model->at.noise)))
        return false;
    for (size_t i = 0; i < n; i++)
        model->mean[i] = model->right[i] / model->at.noise;
    solve_forward(model->work, n, model->mean);
    solve_back(model->work, n, model->mean);
    return true;
}

/* Residuals of a stretch of time err together, so their sum counts, not their number. */
void step_model_score(struct step_model *model)
{
    const struct step_row *row = model->row;
    size_t n = model->unknowns;
    memset(model->scores, 0, model->blocks * n * sizeof *model->scores);
    for (size_t i = 0; i < model->sample_count && *model->spent < STEP_BUDGET; i++) {
        if (!make_design_row(model, i, true))
            continue;
        double *to = model->scores + i * model->blocks / model->sample_count * n;
        double residual = row->y - predicted(model, row);
        for (size_t k = model->bins; k < n; k++)
            residual -= row->of[k] * model->mean[k];
        for (size_t k = row->first; k < n; k = k + 1 == row->last ? model->bins : k + 1)
            to[k] += row->weight * residual * row->of[k] / model->at.noise;
    }
}

/* Of a functional c: the larger of what the model and the scatter between blocks say. */
double step_model_variance(const struct step_model *model, const double *c)
{
    size_t n = model->unknowns;
    double z[STEP_UNKNOWNS_MOST], posterior = 0, scatter = 0;
    memcpy(z, c, n * sizeof *z); /* covariance times c */
    solve_forward(model->work, n, z);
    solve_back(model->work, n, z);
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
