#include "stats/effect.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <float.h>
#include <math.h>

enum { COLUMNS = STATS_EFFECT_COVARIATES + 1 };
/* A column that is left with less than this share of its length by those before it says nothing
 * new. */
static const double singular = 1e-7, saturated = 1e-9, no_difference = 1e-12;

/* The model without its strata: columns (the side last) less their means in each stratum, made
 * orthonormal (QR by modified Gram-Schmidt, each twice). */
struct model {
    const struct stats_effect_input *in;
    double unit; /* of y: what is compared with no_difference is about 1 */
    size_t columns;
    double *q;    /* count rows of columns */
    double *y;    /* less its stratum's mean */
    double *size; /* of each stratum */
    double r[COLUMNS][COLUMNS];
    double along[COLUMNS]; /* q'y */
    bool dropped[COLUMNS];
};

static double *q_at(const struct model *model, size_t row, size_t column)
{
    return &model->q[row * model->columns + column];
}

/* The effect on the scale of y. */
static double effect_on_scale(const struct model *model, double effect)
{
    return model->in->plain ? effect * model->unit : exp(effect);
}

static double unit_of(const struct stats_effect_input *in)
{
    double most = 0;
    for (size_t i = 0; in->plain && i < in->count; i++)
        most = fmax(most, fabs(in->y[i]));
    return most > 0 ? most : 1;
}

static void center_in_strata(const struct model *model, double *values, size_t stride)
{
    const struct stats_effect_input *in = model->in;
    AUTO_FREE double *sum = mem_array(in->strata + 1, sizeof *sum);
    for (size_t i = 0; i < in->count; i++)
        sum[in->stratum[i]] += values[i * stride];
    for (size_t i = 0; i < in->count; i++)
        values[i * stride] -= sum[in->stratum[i]] / model->size[in->stratum[i]];
}

static double dot(const struct model *model, size_t a, size_t b)
{
    double sum = 0;
    for (size_t i = 0; i < model->in->count; i++)
        sum += *q_at(model, i, a) * *q_at(model, i, b);
    return sum;
}

static void orthogonalize(struct model *model, size_t column)
{
    double length = sqrt(dot(model, column, column));
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < column; k++) {
            double share = model->dropped[k] ? 0 : dot(model, k, column);
            model->r[k][column] += share;
            for (size_t i = 0; i < model->in->count && share != 0; i++)
                *q_at(model, i, column) -= share * *q_at(model, i, k);
        }
    double rest = sqrt(dot(model, column, column));
    model->dropped[column] = !(rest > singular * length) || !(length > 0);
    model->r[column][column] = rest;
    for (size_t i = 0; i < model->in->count; i++)
        *q_at(model, i, column) = model->dropped[column] ? 0 : *q_at(model, i, column) / rest;
}

static void fit_effect_model(struct model *model)
{
    const struct stats_effect_input *in = model->in;
    EACH (item, in->stratum, in->count)
        model->size[*item]++;
    for (size_t i = 0; i < in->count; i++) {
        model->y[i] = in->y[i] / model->unit;
        for (size_t k = 0; k < in->covariates; k++)
            *q_at(model, i, k) = in->x[i * in->covariates + k];
        *q_at(model, i, in->covariates) = in->column ? in->column[i] : in->is_b[i];
    }
    center_in_strata(model, model->y, 1);
    for (size_t k = 0; k < model->columns; k++) {
        center_in_strata(model, &model->q[k], model->columns);
        orthogonalize(model, k);
        for (size_t i = 0; i < in->count; i++)
            model->along[k] += *q_at(model, i, k) * model->y[i];
    }
}

/* Back substitution. */
static void solve_coefficients(const struct model *model, double *beta)
{
    for (size_t k = model->columns; k-- > 0;) {
        double rest = model->along[k];
        for (size_t j = k + 1; j < model->columns; j++)
            rest -= model->r[k][j] * beta[j];
        beta[k] = model->dropped[k] ? 0 : rest / model->r[k][k];
    }
}

/* The traces that the degrees of freedom are made of: of M·A and of (M·A)², with M = I - P - Q,
 * where P holds the means of the strata, Q = q·q' and A the weights of the squared residuals. */
static double freedom(const struct model *model, const double *weight, const double *leverage)
{
    const struct stats_effect_input *in = model->in;
    size_t columns = model->columns;
    AUTO_FREE double *sums = mem_array((in->strata + 1) * (columns + 1), sizeof *sums);
    double cross[COLUMNS][COLUMNS] = {{0}};
    double first = 0, second = 0;
    for (size_t i = 0; i < in->count; i++) {
        double *sum = &sums[in->stratum[i] * (columns + 1)];
        first += weight[i] * (1 - leverage[i]);
        second += weight[i] * weight[i] * (1 - 2 * leverage[i]);
        sum[columns] += weight[i];
        for (size_t k = 0; k < columns; k++) {
            sum[k] += weight[i] * *q_at(model, i, k);
            for (size_t j = 0; j < columns; j++)
                cross[k][j] += weight[i] * *q_at(model, i, k) * *q_at(model, i, j);
        }
    }
    for (size_t s = 0; s < in->strata; s++) {
        const double *sum = &sums[s * (columns + 1)];
        if (!(model->size[s] > 0))
            continue;
        second += sum[columns] * sum[columns] / (model->size[s] * model->size[s]);
        EACH (item, sum, columns)
            second += 2 * *item * *item / model->size[s];
    }
    EACH (entry, cross, columns)
        for (size_t j = 0; j < columns; j++)
            second += (*entry)[j] * (*entry)[j];
    return second > 0 ? first * first / second : 0;
}

static double residual_freedom(const struct model *model)
{
    double df = (double)model->in->count;
    EACH (item, model->size, model->in->strata)
        df -= *item > 0;
    EACH (entry, model->dropped, model->columns)
        df -= !*entry;
    return df;
}

static void set_error(const struct model *model, struct stats_effect *out)
{
    const struct stats_effect_input *in = model->in;
    size_t side = in->covariates;
    AUTO_FREE double *weight = mem_array(in->count + 1, sizeof *weight);
    AUTO_FREE double *leverage = mem_array(in->count + 1, sizeof *leverage);
    double variance = 0, squares = 0, df = residual_freedom(model);
    bool known = df > 0.5;
    for (size_t i = 0; i < in->count; i++) {
        double residual = model->y[i], own = *q_at(model, i, side) / model->r[side][side];
        leverage[i] = 1 / model->size[in->stratum[i]];
        for (size_t k = 0; k < model->columns; k++) {
            leverage[i] += *q_at(model, i, k) * *q_at(model, i, k);
            residual -= *q_at(model, i, k) * model->along[k];
        }
        bool determined = 1 - leverage[i] < saturated;
        /* One that determines a parameter alone says nothing of its noise. */
        known &= !determined || fabs(own) * model->r[side][side] < saturated;
        weight[i] = determined ? 0 : own * own / (1 - leverage[i]);
        variance += weight[i] * residual * residual;
        squares += residual * residual;
    }
    out->df = freedom(model, weight, leverage);
    if (!known || !(out->df > 0.5))
        return;
    out->constant = sqrt(variance) < no_difference;
    if (out->constant)
        return;
    out->has_error = true;
    out->sigma = sqrt(squares / df);
    out->error = sqrt(variance);
    double half = special_t_quantile(0.5 + STATS_CONFIDENCE / 2, out->df) * out->error;
    out->interval = (struct stats_interval){effect_on_scale(model, out->log_ratio - half),
                                            effect_on_scale(model, out->log_ratio + half), STATS_T};
    out->p = fmax(2 * special_t_cdf(-fabs(out->log_ratio / out->error), out->df), DBL_MIN);
}

/* One stratum's experiments of one side. */
struct cell {
    double count, sum;
};

static void set_heterogeneity(const struct model *model, const double *beta,
                              struct stats_effect *out)
{
    const struct stats_effect_input *in = model->in;
    AUTO_FREE struct cell *cells = mem_array(2 * in->strata + 1, sizeof *cells);
    AUTO_FREE double *rest = mem_array(in->count + 1, sizeof *rest);
    double within = 0, df = 0, weights = 0, mean = 0;
    for (size_t i = 0; i < in->count; i++) {
        struct cell *cell = &cells[2 * in->stratum[i] + in->is_b[i]];
        rest[i] = in->y[i] / model->unit;
        for (size_t k = 0; k < in->covariates; k++) {
            rest[i] -= beta[k] * in->x[i * in->covariates + k];
        }
        cell->count++;
        cell->sum += rest[i];
        df++;
    }
    for (size_t i = 0; i < in->count; i++) {
        const struct cell *cell = &cells[2 * in->stratum[i] + in->is_b[i]];
        double away = rest[i] - cell->sum / cell->count;
        within += away * away;
    }
    EACH (item, model->dropped, in->covariates)
        df -= !*item;
    for (size_t s = 0; s < in->strata; s++) {
        const struct cell *a = &cells[2 * s], *b = &cells[2 * s + 1];
        df -= (a->count > 0) + (b->count > 0);
        if (!(a->count > 0) || !(b->count > 0))
            continue;
        double weight = a->count * b->count / (a->count + b->count),
               apart = b->sum / b->count - a->sum / a->count;
        out->lowest = out->strata == 0 || effect_on_scale(model, apart) < out->lowest
                          ? effect_on_scale(model, apart)
                          : out->lowest;
        out->highest = out->strata == 0 || effect_on_scale(model, apart) > out->highest
                           ? effect_on_scale(model, apart)
                           : out->highest;
        out->strata++;
        weights += weight;
        mean += weight * apart;
    }
    if (out->strata < 2 || df < 0.5 || !(within > no_difference * no_difference))
        return;
    mean /= weights;
    for (size_t s = 0; s < in->strata; s++) {
        const struct cell *a = &cells[2 * s], *b = &cells[2 * s + 1];
        if (!(a->count > 0) || !(b->count > 0))
            continue;
        double apart = b->sum / b->count - a->sum / a->count - mean;
        out->q += a->count * b->count / (a->count + b->count) * apart * apart / (within / df);
    }
    out->has_heterogeneity = true;
    out->q_df = (double)(out->strata - 1);
    /* The upper tail is the lower one of 1 / F. */
    out->q_p = out->q > 0 ? special_f_cdf(out->q_df / out->q, df, out->q_df) : 1;
    out->i2 = out->q > out->q_df ? (out->q - out->q_df) / out->q : 0;
}

void stats_effect(const struct stats_effect_input *in, struct stats_effect *out)
{
    struct model model = {.in = in, .unit = unit_of(in), .columns = in->covariates + 1};
    double beta[COLUMNS] = {0};
    *out = (struct stats_effect){0};
    AUTO_FREE double *q = mem_array((in->count + 1) * model.columns, sizeof *q);
    AUTO_FREE double *y = mem_array(in->count + 1, sizeof *y);
    AUTO_FREE double *size = mem_array(in->strata + 1, sizeof *size);
    model.q = q;
    model.y = y;
    model.size = size;
    if (in->count == 0 || in->covariates > STATS_EFFECT_COVARIATES)
        return;
    fit_effect_model(&model);
    solve_coefficients(&model, beta);
    for (size_t k = 0; k < in->covariates; k++) {
        out->slopes[k] = beta[k] * model.unit;
        out->dropped[k] = model.dropped[k];
    }
    if (!in->column)
        set_heterogeneity(&model, beta, out);
    out->valid = !model.dropped[in->covariates] && (in->column || out->strata > 0);
    if (!out->valid)
        return;
    out->log_ratio = fabs(beta[in->covariates]) < no_difference ? 0 : beta[in->covariates];
    out->ratio = effect_on_scale(&model, out->log_ratio);
    set_error(&model, out);
    out->log_ratio *= model.unit;
    out->error *= model.unit;
    out->sigma *= model.unit;
}

double stats_effect_detectable(const struct stats_effect *effect, double alpha, double power)
{
    return (special_t_quantile(1 - alpha / 2, effect->df) + special_t_quantile(power, effect->df)) *
           effect->error;
}

struct power {
    double sigma, log_ratio, alpha, power;
};

static bool is_powerful(size_t n, const void *context)
{
    const struct power *wanted = context;
    double df = 2 * (double)n - 2;
    return (special_t_quantile(1 - wanted->alpha / 2, df) + special_t_quantile(wanted->power, df)) *
               wanted->sigma * sqrt(2 / (double)n) <=
           fabs(wanted->log_ratio);
}

size_t stats_effect_sample_size(double sigma, double log_ratio, double alpha, double power)
{
    struct power wanted = {sigma, log_ratio, alpha, power};
    if (!isfinite(sigma) || !(sigma >= 0) || !isfinite(log_ratio) || log_ratio == 0)
        return 0;
    return stats_least(is_powerful, &wanted);
}
