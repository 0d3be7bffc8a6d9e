#include "results/judge/judge_like.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "results/judge/judge_design.h"
#include "stats/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two others at least. */
enum { LIKE_LEAST = 3, NOISE_DF = 4 };
static const double misfit_most = 0.2, misfit_better = 0.5;
static const struct stats_noise usual_noise = {LIMIT_NOISE * LIMIT_NOISE * NOISE_DF, NOISE_DF};

static struct reading figure_of(const struct dataset_experiment *experiment,
                                enum like_figure figure)
{
    return figure == LIKE_TIME         ? experiment->duration_s
           : figure == LIKE_GPU_ENERGY ? experiment->gpu.energy_j
           : figure == LIKE_CPU_ENERGY ? experiment->cpu_j
                                       : experiment->gpu.power_max_w;
}

/* Of one kind: the same model in the same mode beside the same background, on one GPU as far as it
 * is known. */
struct kind {
    const struct dataset *dataset;
    struct judge_state *states;
    const size_t *items;
    size_t count;
    struct judge_design designs[JUDGE_DESIGNS];
    size_t design_count;
    size_t *setting;        /* of each, a number */
    const char *incomplete; /* why they cannot be compared, or NULL */
    const judge_noise *noise;
};

static const struct dataset_experiment *member(const struct kind *kind, size_t i)
{
    return &kind->dataset->items[kind->items[i]];
}

static bool is_measure(const struct kind *kind, size_t i)
{
    const struct judge_state *state = &kind->states[kind->items[i]];
    return !state->busy && !state->doubted && member(kind, i)->success;
}

/* Those of the kind that have the figure, as a fit wants them. */
struct sample {
    struct stats_fit_input in;
    double *y, *x, *units;
    bool *use;
    size_t *of; /* members */
};

static void take_sample(const struct kind *kind, const struct judge_design *design,
                        enum like_figure figure, struct sample *out)
{
    size_t room = kind->count + 1, n = 0, used = 0;
    *out = (struct sample){.y = mem_array(room, sizeof(double)),
                           .x = mem_array(room * (design->covariates + 1), sizeof(double)),
                           .units = mem_array(room, sizeof(double)),
                           .use = mem_array(room, sizeof(bool)),
                           .of = mem_array(room, sizeof(size_t))};
    for (size_t i = 0; i < kind->count; i++) {
        struct reading y = figure_of(member(kind, i), figure);
        if (!y.valid || !(y.value > 0) || !isfinite(y.value))
            continue;
        out->y[n] = y.value;
        out->units[n] = design->units ? design->units[i] : 1;
        memcpy(out->x + n * design->covariates, design->x + i * design->covariates,
               design->covariates * sizeof *out->x);
        out->use[n] = is_measure(kind, i);
        used += out->use[n];
        out->of[n++] = i;
    }
    out->in = (struct stats_fit_input){.count = used >= LIKE_LEAST - 1 ? n : 0,
                                       .y = out->y,
                                       .units = design->units ? out->units : NULL,
                                       .x = out->x,
                                       .covariates = design->covariates,
                                       .prior = design->prior,
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
    size_t setting, index;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    int order = ORDER(left->setting, right->setting);
    return order ? order : ORDER(left->index, right->index);
}

/* Against those with the very same hyperparameters: a model that does not fit accuses no
 * training. */
static void compare_same(const struct kind *kind, const struct sample *sample,
                         enum like_figure figure)
{
    size_t count = sample->in.count;
    AUTO_FREE struct row *rows = mem_array(count + 1, sizeof *rows);
    AUTO_FREE double *logs = mem_array(count + 1, sizeof *logs);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row){kind->setting[sample->of[i]], i};
    if (count > 1)
        qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t from = 0, to; from < count; from = to) {
        size_t n = 0;
        for (to = from; to < count && rows[to].setting == rows[from].setting; to++)
            if (sample->use[rows[to].index])
                logs[n++] = log(sample->y[rows[to].index]);
        double median = n ? stats_median(logs, n).value : 0;
        for (size_t i = from; n && i < to; i++) {
            struct judge_figure *like =
                &kind->states[kind->items[sample->of[rows[i].index]]].like[figure];
            like->same = n - sample->use[rows[i].index];
            like->off = log(sample->y[rows[i].index]) - median;
        }
    }
}

/* How far the trainings are from their predictions; each counts up to a fifth. */
static double misfit(const struct sample *sample, const struct stats_prediction *out)
{
    double sum = 0;
    for (size_t i = 0; i < sample->in.count; i++)
        if (sample->use[i]) {
            double excess = fmin(fabs(out[i].excess), misfit_most);
            sum += excess * excess;
        }
    return sum;
}

/* The first design, or one that fits better by far. */
static void predict(const struct kind *kind, enum like_figure figure,
                    const struct judge_design *designs, size_t design_count)
{
    double best = INFINITY;
    struct stats_noise noise =
        kind->noise ? kind->noise[member(kind, 0)->folder][figure] : usual_noise;
    for (size_t d = 0; d < design_count; d++) {
        struct sample sample;
        take_sample(kind, &designs[d], figure, &sample);
        AUTO_FREE struct stats_prediction *out = mem_array(sample.in.count + 1, sizeof *out);
        if (sample.in.count)
            stats_fit_predict(&sample.in, noise, out);
        double own = misfit(&sample, out);
        if (d == 0 || own < misfit_better * best) {
            best = own;
            for (size_t i = 0; i < sample.in.count; i++) {
                struct judge_figure *like = &kind->states[kind->items[sample.of[i]]].like[figure];
                like->prediction = out[i];
                like->df = NOISE_DF + fmax(0, out[i].others - 1);
                like->varied = designs[d].covariates + (designs[d].units != NULL);
            }
        }
        for (size_t i = 0; d == 0 && i < sample.in.count; i++)
            kind->states[kind->items[sample.of[i]]].like[figure].plain = out[i].excess;
        if (d == 0)
            compare_same(kind, &sample, figure);
        sample_fini(&sample);
    }
}

/* Disturbances mostly add, so one far below the others may be the only undisturbed one. */
static void find_below(const struct kind *kind, enum like_figure figure)
{
    size_t below = 0;
    for (size_t i = 0; i < kind->count; i++) {
        const struct stats_prediction *p = &kind->states[kind->items[i]].like[figure].prediction;
        below += p->valid && is_measure(kind, i) &&
                 p->excess < -fmax(LIMIT_BELOW, LIMIT_BELOW_DEVIATIONS * p->sigma);
    }
    EACH (item, kind->items, kind->count)
        kind->states[*item].like[figure].below = below > 0;
}

static void say_why(const struct kind *kind)
{
    EACH (item, kind->items, kind->count)
        for (int f = 0; f < LIKE_FIGURES; f++) {
            struct judge_figure *figure = &kind->states[*item].like[f];
            if (!figure->prediction.valid)
                snprintf(
                    figure->why, sizeof figure->why, "%s",
                    kind->states[*item].lacking ? "files of it are not there"
                    : kind->incomplete
                        ? kind->incomplete
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
    const char *lane = experiment->facts[FACT_GPU_MODEL],
               *limit = experiment->facts[FACT_POWER_LIMIT];
    AUTO_FREE char *background =
        with_background && experiment->background_job
            ? json_dumps(experiment->background_job, JSON_SORT_KEYS | JSON_COMPACT)
            : NULL;
    return mem_printf("%s\n%s\n%d\n%zu\n%s\n%s\n%s", experiment->repo, experiment->model,
                      experiment->parallel, lane ? 0 : experiment->folder + 1, lane ? lane : "",
                      limit ? limit : "", background ? background : "");
}

/* One that lacks files, or whose background nobody knows, may be what would speak against another:
 * as long as it is not known, nothing of its model is compared. */
static char *incomplete_of(const size_t *items, size_t count, const struct dataset *dataset,
                           const struct judge_state *states, bool with_lacking)
{
    EACH (item, items, count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        if (experiment->success && states[*item].lacking && with_lacking)
            return mem_printf("files of %.60s, of the same model, are not there", experiment->id);
        if (experiment->success && experiment->parallel && !experiment->background_job)
            return mem_printf("which background ran beside %.60s, of the same model, is not known",
                              experiment->id);
    }
    return NULL;
}

static void compare_kind(struct kind *kind)
{
    AUTO_FREE size_t *setting = mem_array(kind->count + 1, sizeof *setting);
    kind->setting = setting;
    kind->design_count = judge_designs_make(kind->dataset, kind->items, kind->count,
                                            kind->noise != NULL, kind->designs);
    judge_design_settings(kind->dataset, kind->items, kind->count, setting);
    if (!kind->incomplete)
        kind->incomplete = kind->designs[0].incomplete;
    for (int f = 0; !kind->incomplete && f < LIKE_MAIN; f++) {
        predict(kind, (enum like_figure)f, kind->designs, kind->design_count);
        find_below(kind, (enum like_figure)f);
    }
    if (!kind->incomplete && kind->noise) {
        struct judge_design power;
        judge_design_make_power(kind->dataset, kind->items, kind->count, &power);
        if (!power.incomplete)
            predict(kind, LIKE_POWER_MAX, &power, 1);
        judge_design_fini(&power);
    }
    say_why(kind);
    find_rows(kind);
    for (size_t d = 0; d < kind->design_count; d++)
        judge_design_fini(&kind->designs[d]);
}

void judge_like(const struct dataset *dataset, struct judge_state *states, const judge_noise *noise)
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
        for (end = g + 1;
             end < count && strcmp(models[order[groups[end]]], models[order[groups[g]]]) == 0;)
            end++;
        AUTO_FREE char *incomplete =
            incomplete_of(order + groups[g], groups[end] - groups[g], dataset, states, !noise);
        for (size_t k = g; k < end; k++)
            compare_kind(&(struct kind){.dataset = dataset,
                                        .states = states,
                                        .items = order + groups[k],
                                        .count = groups[k + 1] - groups[k],
                                        .incomplete = incomplete,
                                        .noise = noise});
    }
    EACH (model, models, dataset->count)
        free(*model);
}
