/* What one training should have taken, by the others of its model in the same mode: time, GPU energy, CPU energy. */
#include "results/judge/judge_private.h"

#include "base/mem.h"
#include "results/judge/judge.h"
#include "stats/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two others at least; what a hyperparameter may do to a figure over its whole range before there are data, as a share. */
enum { LIKE_LEAST = 3 };
static const double noise_share[LIKE_FIGURES] = {LIMIT_NOISE, LIMIT_NOISE, LIMIT_NOISE}, noise_df = 4,
                    effect_free = 0.7, effect_little = 0.01;

static struct reading figure_of(const struct dataset_experiment *experiment, enum like_figure figure)
{
    return figure == LIKE_TIME         ? experiment->duration_s
           : figure == LIKE_GPU_ENERGY ? experiment->gpu.energy_j
                                       : experiment->cpu_j;
}

/* Of one kind: the same model in the same mode beside the same background, on one GPU as far as it is known. */
struct kind {
    const struct dataset *dataset;
    struct judge_state *states;
    const size_t *items;
    size_t count;
    double *x, *units, prior[STATS_FIT_COVARIATES]; /* what differs between them */
    size_t covariates;
    bool has_units;
    const char *incomplete; /* why they cannot be compared, or NULL */
};

static const struct dataset_experiment *member(const struct kind *kind, size_t i)
{
    return &kind->dataset->items[kind->items[i]];
}

/* What a step of a training computes hardly depends on these. */
static const char *const little[] = {"learning_rate", "lr", "weight_decay", "momentum", "dropout", NULL};

static double number_of(const struct value *value)
{
    return !value || value->kind == VALUE_NULL ? NAN
           : value->kind == VALUE_INT          ? (double)value->integer
           : value->kind == VALUE_FLOAT        ? value->real
           : value->kind == VALUE_BOOL         ? value->truth
                                               : NAN;
}

static bool same(const struct value *a, const struct value *b)
{
    if (!a || !b || (a->kind == VALUE_TEXT) != (b->kind == VALUE_TEXT))
        return a == b;
    if (a->kind == VALUE_TEXT)
        return strcmp(a->text, b->text) == 0;
    double left = number_of(a), right = number_of(b);
    return (isnan(left) && isnan(right)) || fabs(left - right) <= 1e-9 * fmax(fabs(left), fabs(right));
}

/* A column of the design, at most 1 in size: the logarithm where all are over 0, the value where they are numbers, else
 * whether it is that of the first. False: all are alike. */
static bool make_column(const struct kind *kind, const char *name, double *column)
{
    const struct value *first = dataset_param(member(kind, 0), name);
    bool differ = false, numbers = true, positive = true;
    for (size_t i = 0; i < kind->count; i++) {
        const struct value *value = dataset_param(member(kind, i), name);
        double number = number_of(value);
        differ |= !same(first, value);
        numbers &= isfinite(number);
        positive &= number > 0;
        column[i] = number;
    }
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; differ && i < kind->count; i++) {
        if (!numbers)
            column[i] = same(first, dataset_param(member(kind, i), name)) ? 0 : 1;
        else if (positive)
            column[i] = log(column[i]);
        low = fmin(low, column[i]);
        high = fmax(high, column[i]);
    }
    for (size_t i = 0; differ && i < kind->count; i++)
        column[i] = (2 * column[i] - low - high) / (high - low);
    return differ;
}

static void make_design(struct kind *kind)
{
    AUTO_STRV struct strv names = {0};
    AUTO_FREE double *column = mem_array(kind->count + 1, sizeof *column);
    kind->x = mem_array(kind->count * STATS_FIT_COVARIATES + 1, sizeof *kind->x);
    kind->units = mem_array(kind->count + 1, sizeof *kind->units);
    const struct dataset_experiment *last = NULL;
    for (size_t i = 0; i < kind->count; i++) {
        const struct dataset_experiment *of = member(kind, i);
        bool new_names = !last || last->param_count != of->param_count;
        for (size_t p = 0; p < of->param_count; p++)
            if (new_names || strcmp(last->params[p].name, of->params[p].name) != 0)
                strv_add_once(&names, of->params[p].name);
        last = of;
    }
    for (size_t n = 0; n < names.count && !kind->incomplete; n++) {
        const char *name = names.items[n];
        if (audit_is_seed(name) || !make_column(kind, name, column))
            continue;
        if (audit_is_epochs(name) && !kind->has_units) {
            for (size_t i = 0; i < kind->count; i++) {
                double units = number_of(dataset_param(member(kind, i), name));
                kind->units[i] = units;
                kind->incomplete = units > 0 && units < 1e6 ? kind->incomplete : "its number of epochs is not known";
            }
            kind->has_units = true;
            continue;
        }
        if (kind->covariates == STATS_FIT_COVARIATES) {
            kind->incomplete = "too many hyperparameters differ between trainings of this model";
            return;
        }
        kind->prior[kind->covariates] = audit_is_one_of(name, little) ? effect_little : effect_free;
        for (size_t i = 0; i < kind->count; i++)
            kind->x[i * STATS_FIT_COVARIATES + kind->covariates] = column[i];
        kind->covariates++;
    }
    /* Close up the rows. */
    for (size_t i = 0; i < kind->count; i++)
        memmove(kind->x + i * kind->covariates, kind->x + i * STATS_FIT_COVARIATES, kind->covariates * sizeof *kind->x);
}

/* Those of the kind that have the figure, as a fit wants them. */
struct sample {
    struct stats_fit_input in;
    double *y, *x, *units;
    bool *use;
    size_t *of; /* members */
};

static void take_sample(const struct kind *kind, enum like_figure figure, struct sample *out)
{
    size_t room = kind->count + 1, n = 0, used = 0;
    *out = (struct sample){.y = mem_array(room, sizeof(double)),
                           .x = mem_array(room * (kind->covariates + 1), sizeof(double)),
                           .units = mem_array(room, sizeof(double)),
                           .use = mem_array(room, sizeof(bool)),
                           .of = mem_array(room, sizeof(size_t))};
    for (size_t i = 0; i < kind->count; i++) {
        const struct judge_state *state = &kind->states[kind->items[i]];
        struct reading y = figure_of(member(kind, i), figure);
        if (!y.valid || !(y.value > 0) || !isfinite(y.value))
            continue;
        out->y[n] = y.value;
        out->units[n] = kind->units[i];
        memcpy(out->x + n * kind->covariates, kind->x + i * kind->covariates, kind->covariates * sizeof *out->x);
        out->use[n] = !state->busy && !state->doubted && member(kind, i)->success;
        used += out->use[n];
        out->of[n++] = i;
    }
    out->in = (struct stats_fit_input){.count = used >= LIKE_LEAST - 1 ? n : 0,
                                       .y = out->y,
                                       .units = kind->has_units ? out->units : NULL,
                                       .x = out->x,
                                       .covariates = kind->covariates,
                                       .prior = kind->prior,
                                       .use = out->use};
}

static void sample_fini(struct sample *sample)
{
    free(sample->y);
    free(sample->x);
    free(sample->units);
    free(sample->use);
    free(sample->of);
}

struct row {
    const struct sample *sample;
    size_t index;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    const struct stats_fit_input *in = &left->sample->in;
    int order = memcmp(in->x + left->index * in->covariates, in->x + right->index * in->covariates,
                       in->covariates * sizeof *in->x);
    if (!order && in->units)
        order = memcmp(in->units + left->index, in->units + right->index, sizeof *in->units);
    return order;
}

/* Against those with the very same hyperparameters: a model that does not fit accuses nobody. */
static void compare_same(const struct kind *kind, const struct sample *sample, enum like_figure figure)
{
    size_t count = sample->in.count;
    AUTO_FREE struct row *rows = mem_array(count + 1, sizeof *rows);
    AUTO_FREE double *logs = mem_array(count + 1, sizeof *logs);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row){sample, i};
    if (count > 1)
        qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t from = 0, to; from < count; from = to) {
        size_t n = 0;
        for (to = from; to < count && compare_rows(&rows[from], &rows[to]) == 0; to++)
            if (sample->use[rows[to].index])
                logs[n++] = log(sample->y[rows[to].index]);
        double median = n ? stats_median(logs, n).value : 0;
        for (size_t i = from; n && i < to; i++) {
            struct judge_figure *like = &kind->states[kind->items[sample->of[rows[i].index]]].like[figure];
            like->same = n - sample->use[rows[i].index];
            like->off = log(sample->y[rows[i].index]) - median;
        }
    }
}

static void predict(const struct kind *kind, enum like_figure figure)
{
    struct sample sample;
    take_sample(kind, figure, &sample);
    AUTO_FREE struct stats_prediction *out = mem_array(sample.in.count + 1, sizeof *out);
    if (sample.in.count)
        stats_fit_predict(&sample.in,
                          (struct stats_noise){noise_share[figure] * noise_share[figure] * noise_df, noise_df}, out);
    for (size_t i = 0; i < sample.in.count; i++) {
        struct judge_figure *like = &kind->states[kind->items[sample.of[i]]].like[figure];
        like->prediction = out[i];
        like->df = noise_df + fmax(0, out[i].others - 1);
    }
    compare_same(kind, &sample, figure);
    sample_fini(&sample);
}

static void say_why(const struct kind *kind)
{
    EACH (item, kind->items, kind->count)
        for (int f = 0; f < LIKE_FIGURES; f++) {
            struct judge_figure *figure = &kind->states[*item].like[f];
            if (!figure->prediction.valid)
                snprintf(figure->why, sizeof figure->why, "%s",
                         kind->states[*item].lacking ? "files of it are not there"
                         : kind->incomplete          ? kind->incomplete
                                            : "fewer than two others of its kind are undisturbed and can be compared");
        }
}

/* What ran one after another may have had the same thing beside it. */
static void find_rows(const struct kind *kind)
{
    const struct judge_state *first = &kind->states[kind->items[0]], *last = first;
    EACH (item, kind->items, kind->count) {
        const struct judge_state *state = &kind->states[*item];
        first = state->rank < first->rank ? state : first;
        last = state->rank > last->rank ? state : last;
    }
    size_t before = first->next[0], behind = last->next[1];
    bool in_a_row = last->rank - first->rank + 1 <= kind->count;
    EACH (entry, kind->items, kind->count) {
        struct judge_state *state = &kind->states[*entry];
        state->in_a_row = in_a_row;
        state->ends[0] = before;
        state->ends[1] = behind;
    }
}

/* The key of a kind; background jobs count with their hyperparameters. */
static char *key_of(const struct dataset_experiment *experiment, bool with_background)
{
    const char *lane = experiment->facts[FACT_GPU_MODEL], *limit = experiment->facts[FACT_POWER_LIMIT];
    AUTO_FREE char *background = with_background && experiment->background_job
                                     ? json_dumps(experiment->background_job, JSON_SORT_KEYS | JSON_COMPACT)
                                     : NULL;
    return mem_printf("%s\n%s\n%d\n%zu\n%s\n%s\n%s", experiment->repo, experiment->model, experiment->parallel,
                      lane ? 0 : experiment->folder + 1, lane ? lane : "", limit ? limit : "",
                      background ? background : "");
}

/* One that lacks files, or whose background nobody knows, may be what would speak against another: as long as it is not
 * known, nothing of its model is compared. */
static char *incomplete_of(const size_t *items, size_t count, const struct dataset *dataset,
                           const struct judge_state *states)
{
    EACH (item, items, count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        if (experiment->success && states[*item].lacking)
            return mem_printf("files of %.60s, of the same model, are not there", experiment->id);
        if (experiment->success && experiment->parallel && !experiment->background_job)
            return mem_printf("which background ran beside %.60s, of the same model, is not known", experiment->id);
    }
    return NULL;
}

static void compare_kind(struct kind *kind)
{
    make_design(kind);
    for (int f = 0; !kind->incomplete && f < LIKE_FIGURES; f++)
        predict(kind, (enum like_figure)f);
    say_why(kind);
    find_rows(kind);
    free(kind->x);
    free(kind->units);
}

void judge_like(const struct dataset *dataset, struct judge_state *states)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys),
                   **models = mem_array(dataset->count + 1, sizeof *models);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    for (size_t i = 0; i < dataset->count; i++) {
        models[i] = key_of(&dataset->items[i], false);
        keys[i] = key_of(&dataset->items[i], true);
    }
    size_t count = audit_group_by(keys, dataset->count, &order, &groups);
    for (size_t g = 0, end; g < count; g = end) { /* the kinds of a model */
        for (end = g + 1; end < count && strcmp(models[order[groups[end]]], models[order[groups[g]]]) == 0;)
            end++;
        AUTO_FREE char *incomplete = incomplete_of(order + groups[g], groups[end] - groups[g], dataset, states);
        for (size_t k = g; k < end; k++)
            compare_kind(&(struct kind){.dataset = dataset,
                                        .states = states,
                                        .items = order + groups[k],
                                        .count = groups[k + 1] - groups[k],
                                        .incomplete = incomplete});
    }
    EACH (model, models, dataset->count)
        free(*model);
}
