#include "stats/fit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

enum { MOST = STATS_FIT_COVARIATES + 2, ROUNDS = 12, SHORTER = 12 };

/* Of a start-up and of a unit's length nothing is known beforehand but their order of magnitude. */
static const double level_prior = 3, huber = 1.5;

/* The state of a fit: parameters (ln a, ln b, effects), and the inverse of their precision. */
struct fit {
    const struct stats_fit_input *in;
    size_t size;
    double start[MOST], at[MOST], prior[MOST];
    double covariance[MOST][MOST]; /* in units of the noise's variance */
    double *residual, *weight;
    double noise; /* variance */
    double df;
};

static void derive(const struct fit *fit, size_t i, double *value, double slope[MOST])
{
    const struct stats_fit_input *in = fit->in;
    double a = in->units ? exp(fit->at[0]) : 0,
           b = exp(fit->at[1]) * (in->units ? in->units[i] : 1);
    *value = log(a + b);
    slope[0] = a / (a + b);
    slope[1] = b / (a + b);
    for (size_t k = 0; k < in->covariates; k++) {
        slope[k + 2] = in->x[i * in->covariates + k];
        *value += fit->at[k + 2] * slope[k + 2];
    }
}

/* Gauss and Jordan; the matrix is positive definite. */
static void invert(double m[MOST][MOST], size_t n, double out[MOST][MOST])
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            out[i][k] = i == k;
    for (size_t p = 0; p < n; p++) {
        double pivot = m[p][p];
        for (size_t k = 0; k < n; k++) {
            m[p][k] /= pivot;
            out[p][k] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = i == p ? 0 : m[i][p];
            for (size_t k = 0; k < n && factor != 0; k++) {
                m[i][k] -= factor * m[p][k];
                out[i][k] -= factor * out[p][k];
            }
        }
    }
}

/* What a step must lessen: squared residuals by their weights, and how far parameters are from
 * where they were put. */
static double cost(const struct fit *fit)
{
    double sum = 0, value, slope[MOST];
    for (size_t k = 0; k < fit->size; k++)
        sum += fit->noise * pow((fit->at[k] - fit->start[k]) / fit->prior[k], 2);
    for (size_t i = 0; i < fit->in->count; i++) {
        derive(fit, i, &value, slope);
        sum += fit->weight[i] * pow(log(fit->in->y[i]) - value, 2);
    }
    return sum;
}

/* One weighted Gauss-Newton step, shortened until it decreases the objective. */
static void gauss_newton_step(struct fit *fit)
{
    double precision[MOST][MOST] = {0}, right[MOST] = {0}, value, slope[MOST];
    for (size_t k = 0; k < fit->size; k++) {
        precision[k][k] = fit->noise / (fit->prior[k] * fit->prior[k]);
        right[k] = precision[k][k] * (fit->start[k] - fit->at[k]);
    }
    for (size_t i = 0; i < fit->in->count; i++) {
        if (fit->weight[i] <= 0)
            continue;
        derive(fit, i, &value, slope);
        for (size_t k = 0; k < fit->size; k++) {
            right[k] += fit->weight[i] * slope[k] * (log(fit->in->y[i]) - value);
            for (size_t l = 0; l < fit->size; l++)
                precision[k][l] += fit->weight[i] * slope[k] * slope[l];
        }
    }
    invert(precision, fit->size, fit->covariance);
    double from[MOST], move[MOST] = {0}, before = cost(fit), length = 1;
    for (size_t k = 0; k < fit->size; k++) {
        from[k] = fit->at[k];
        for (size_t l = 0; l < fit->size; l++)
            move[k] += fit->covariance[k][l] * right[l];
    }
    for (int tries = 0; tries < SHORTER; tries++, length /= 2) {
        for (size_t k = 0; k < fit->size; k++)
            fit->at[k] = from[k] + length * move[k];
        double after = cost(fit);
        if (isfinite(after) && after <= before)
            return;
    }
    memcpy(fit->at, from, sizeof from);
}

/* Residuals, the noise that they and what is known beforehand let expect, and the weights of the
 * next round. */
static void weigh(struct fit *fit, struct stats_noise known)
{
    double value, slope[MOST], sum = 0, squares = 0;
    for (size_t i = 0; i < fit->in->count; i++) {
        derive(fit, i, &value, slope);
        fit->residual[i] = log(fit->in->y[i]) - value;
        double far = fabs(fit->residual[i]) / sqrt(fit->noise);
        fit->weight[i] = fit->in->use[i] ? fmin(1, huber / fmax(far, 1e-9)) : 0;
        /* Huber's second proposal: what is far counts as far as the limit only. */
        double clipped = fmin(far, huber) * sqrt(fit->noise);
        squares += fit->in->use[i] ? clipped * clipped / 0.778 : 0;
        sum += fit->in->use[i];
    }
    fit->df = fmax(0, sum - 1);
    fit->noise = (known.squares + squares * fit->df / fmax(1, sum)) / (known.df + fit->df);
}

static void begin_fit(struct fit *fit, const struct stats_fit_input *in, struct stats_noise known)
{
    AUTO_FREE double *rates = mem_array(in->count + 1, sizeof *rates);
    size_t n = 0;
    *fit = (struct fit){.in = in, .size = in->covariates + 2, .noise = known.squares / known.df};
    fit->residual = mem_array(in->count + 1, sizeof *fit->residual);
    fit->weight = mem_array(in->count + 1, sizeof *fit->weight);
    double least = INFINITY;
    for (size_t i = 0; i < in->count; i++) {
        fit->weight[i] = in->use[i];
        if (in->use[i]) {
            rates[n++] = in->y[i] / (in->units ? in->units[i] : 1);
            least = fmin(least, in->y[i]);
        }
    }
    double rate = n ? stats_median(rates, n).value : 1;
    fit->start[0] = fit->at[0] = log(n ? least / 2 : 1);
    fit->start[1] = fit->at[1] = log(in->units ? rate / 2 : rate);
    for (size_t k = 0; k < fit->size; k++)
        fit->prior[k] = k < 2 ? level_prior : in->prior[k - 2];
    if (!in->units)
        fit->prior[0] = 1e-3; /* there is none */
    for (int round = 0; round < ROUNDS && n; round++) {
        gauss_newton_step(fit);
        weigh(fit, known);
    }
}

static void end_fit(struct fit *fit)
{
    free(fit->residual);
    free(fit->weight);
}

void stats_fit_predict(const struct stats_fit_input *in, struct stats_noise noise,
                       struct stats_prediction *out)
{
    struct fit fit;
    double value, slope[MOST], all = 0, used = 0;
    begin_fit(&fit, in, noise);
    for (size_t i = 0; i < in->count; i++) {
        all += fit.weight[i];
        used += in->use[i];
    }
    for (size_t i = 0; i < in->count; i++) {
        derive(&fit, i, &value, slope);
        double lever = 0;
        for (size_t k = 0; k < fit.size; k++)
            for (size_t l = 0; l < fit.size; l++)
                lever += slope[k] * fit.covariance[k][l] * slope[l];
        /* The prediction without itself, of a linear fit with these weights: r / (1 - wh), variance
         * h / (1 - wh). */
        double own = fmin(0.999, fit.weight[i] * lever);
        out[i].excess = fit.residual[i] / (1 - own);
        out[i].sigma = sqrt(fit.noise * (1 + lever / (1 - own)));
        out[i].noise = sqrt(fit.noise);
        out[i].others = all - fit.weight[i];
        out[i].agreeing = out[i].others / fmax(1, used - in->use[i]);
        out[i].valid = out[i].others >= 1.9 && isfinite(out[i].excess) && isfinite(out[i].sigma);
    }
    end_fit(&fit);
}
