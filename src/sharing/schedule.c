#include "sharing/schedule.h"
#include "sharing/choose.h"
#include "sharing/feasibility_json.h"
#include "sharing/outcome.h"
#include "sharing/predict.h"
#include "sharing/proof.h"
#include "sharing/written.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/config/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LONGEST_S = 1e8, S_PER_H = 3600;

double schedule_seconds(const struct pairs_model *model)
{
    double seconds = model->seconds.valid
                         ? model->seconds.value * (model->has_epochs ? model->full_epochs : 1)
                         : 0;
    return seconds > LONGEST_S ? LONGEST_S : seconds;
}

/* A study, and what became of a beside b at [a * model_count + b]; NULL: they did not run so. */
struct tried {
    const struct feasibility *study;
    const struct pairs_outcome **outcomes;
};

static void index_outcomes(struct tried *tried)
{
    const struct feasibility *study = tried->study;
    tried->outcomes =
        mem_array(study->model_count * study->model_count + 1, sizeof(struct pairs_outcome *));
    EACH (pair, study->pairs, study->pair_count) {
        if (pair->outcome.ran)
            tried->outcomes[pair->foreground * study->model_count + pair->background] =
                &pair->outcome;
    }
}

static const struct pairs_outcome *outcome_of(const struct tried *tried, size_t a, size_t b)
{
    return tried->outcomes[a * tried->study->model_count + b];
}

static double assume(const struct pairs_model *a, const struct pairs_model *b, double assumed)
{
    struct reading x = a->utilisation_percent, y = b->utilisation_percent;
    if (!x.valid || !y.valid)
        return assumed;
    return fmax(1, (x.value + y.value) / 100);
}

/* Slowdowns of a and of b. True: measured. */
static bool slowdowns(const struct tried *tried, size_t a, size_t b, double assumed, double out[2])
{
    const struct pairs_outcome *forward = outcome_of(tried, a, b),
                               *backward = outcome_of(tried, b, a);
    struct reading own[2] = {{0}}, other[2] = {{0}};
    if (forward) {
        own[0] = forward->slowdown;
        own[1] = forward->background_slowdown;
    }
    if (backward) {
        other[0] = backward->background_slowdown;
        other[1] = backward->slowdown;
    }
    bool measured = true;
    for (size_t i = 0; i < 2; i++) {
        struct reading known = own[i].valid ? own[i] : other[i];
        measured &= known.valid;
        out[i] = known.valid ? fmax(known.value, 0.01)
                             : assume(&tried->study->models[a], &tried->study->models[b], assumed);
    }
    return measured;
}

static bool is_safe_pair(const struct tried *tried, size_t a, size_t b,
                         const struct pairs_prediction *prediction)
{
    const struct pairs_outcome *forward = outcome_of(tried, a, b),
                               *backward = outcome_of(tried, b, a);
    return prediction->known && prediction->risk == RISK_STABLE &&
           (!forward || pairs_worked(forward)) && (!backward || pairs_worked(backward));
}

/* One way or the other. */
static bool is_proven(const struct tried *tried, size_t a, size_t b)
{
    const struct pairs_outcome *forward = outcome_of(tried, a, b),
                               *backward = outcome_of(tried, b, a);
    return (forward && forward->result == PAIRS_PROVEN) ||
           (backward && backward->result == PAIRS_PROVEN);
}

/* False: these two are not to run together, or nothing is gained by it. That they are proven is
 * asked elsewhere. */
static bool pair_step(const struct tried *tried, size_t a, size_t b, double assumed,
                      struct schedule_step *out)
{
    const struct feasibility *study = tried->study;
    const struct pairs_model *x = &study->models[a], *y = &study->models[b];
    double slow[2], alone_s = schedule_seconds(x) + schedule_seconds(y);
    *out = (struct schedule_step){.foreground = a, .background = b};
    pairs_bound(&x->curve, x->margin_bytes, &y->curve, y->margin_bytes, &study->room,
                &out->prediction);
    if (!is_safe_pair(tried, a, b, &out->prediction))
        return false;
    out->measured = slowdowns(tried, a, b, assumed, slow);
    double first_s = schedule_seconds(x) * slow[0], second_s = schedule_seconds(y) * slow[1];
    out->seconds = fmax(first_s, second_s);
    out->saved_s = alone_s - out->seconds;
    out->slowdown = slow[0];
    out->background_slowdown = slow[1];
    if (second_s > first_s) {
        out->foreground = b;
        out->background = a;
        out->slowdown = slow[1];
        out->background_slowdown = slow[0];
    }
    return out->saved_s > 0;
}

static int by_length(const void *a, const void *b)
{
    const struct schedule_step *left = a, *right = b;
    bool x = left->foreground != left->background, y = right->foreground != right->background;
    if (x != y)
        return x ? -1 : 1;
    if (left->seconds != right->seconds)
        return left->seconds > right->seconds ? -1 : 1;
    return ORDER(left->foreground, right->foreground);
}

static void add_schedule_step(struct schedule *schedule, struct schedule_step step)
{
    schedule->steps[schedule->count++] = step;
    schedule->seconds += step.seconds;
    if (step.foreground == step.background)
        return;
    schedule->pairs++;
    schedule->measured += step.measured;
}

static void add_unproven(struct schedule *schedule, const struct schedule_step *step)
{
    schedule->unproven_count++;
    if (schedule->unproven_shown < SCHEDULE_UNPROVEN)
        schedule->unproven[schedule->unproven_shown++] = *step;
}

static int compare_seconds(const void *a, const void *b, void *context)
{
    const struct pairs_model *models = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    double left = schedule_seconds(&models[x]), right = schedule_seconds(&models[y]);
    return left != right ? (left > right ? -1 : 1) : ORDER(x, y);
}

/* The model whose pair with `first` saves most time; count if there is none. saved_s has count rows
 * and count columns; 0: not a pair. */
static size_t find_partner(const double *saved_s, size_t count, size_t first)
{
    size_t best = count;
    double most_s = 0;
    for (size_t i = 0; i < count; i++)
        if (saved_s[first * count + i] > most_s) {
            most_s = saved_s[first * count + i];
            best = i;
        }
    return best;
}

/* Takes model i out of all further pairs. */
static void clear_pairs(double *saved_s, size_t count, size_t i)
{
    for (size_t k = 0; k < count; k++)
        saved_s[i * count + k] = saved_s[k * count + i] = 0;
}

/* Greedy: the longest model that is left gets the partner that saves most. chosen: the models that
 * take part, longest first. */
static void pair_models(const struct tried *tried, const size_t *chosen, size_t count,
                        double assumed, struct schedule *out)
{
    AUTO_FREE double *saved_s = mem_array(count * count + 1, sizeof *saved_s);
    AUTO_FREE bool *used = mem_array(count + 1, sizeof *used);
    struct schedule_step step;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            if (!pair_step(tried, chosen[i], chosen[j], assumed, &step))
                continue;
            if (is_proven(tried, chosen[i], chosen[j]))
                saved_s[i * count + j] = saved_s[j * count + i] = step.saved_s;
            else
                add_unproven(out, &step);
        }
    for (size_t i = 0; i < count; i++) {
        double seconds = schedule_seconds(&tried->study->models[chosen[i]]);
        size_t partner = find_partner(saved_s, count, i);
        out->alone_seconds += seconds;
        if (used[i])
            continue;
        if (partner < count && pair_step(tried, chosen[i], chosen[partner], assumed, &step)) {
            add_schedule_step(out, step);
            used[partner] = true;
            clear_pairs(saved_s, count, partner);
        } else {
            add_schedule_step(out, (struct schedule_step){.foreground = chosen[i],
                                                          .background = chosen[i],
                                                          .seconds = seconds});
        }
        clear_pairs(saved_s, count, i);
    }
}

void schedule_make(const struct feasibility *study, const bool *use, double gpu_bytes,
                   double assumed, struct schedule *out)
{
    struct feasibility on_gpu = *study;
    AUTO_FREE size_t *chosen = mem_array(study->model_count + 1, sizeof *chosen);
    size_t count = 0;
    on_gpu.room = (struct pairs_room){gpu_bytes, gpu_bytes};
    for (size_t i = 0; i < study->model_count && count < SCHEDULE_MODELS_MAX; i++)
        if (use[i])
            chosen[count++] = i;
    *out = (struct schedule){.steps = mem_array(count + 1, sizeof *out->steps)};
    struct tried tried = {.study = &on_gpu};
    index_outcomes(&tried);
    qsort_r(chosen, count, sizeof *chosen, compare_seconds, study->models);
    pair_models(&tried, chosen, count, assumed, out);
    free(tried.outcomes);
    qsort(out->steps, out->count, sizeof *out->steps, by_length);
}

void schedule_fini(struct schedule *schedule)
{
    free(schedule->steps);
    *schedule = (struct schedule){0};
}

json_t *schedule_settings(const struct feasibility *study, const struct schedule *schedule)
{
    json_t *entries = json_array();
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "%.3g h instead of %.3g h one after the other", schedule->seconds / S_PER_H,
              schedule->alone_seconds / S_PER_H);
    text_addf(&text, "; slowdown measured for %zu of %zu pairs, assumed for the others",
              schedule->measured, schedule->pairs);
    EACH (step, schedule->steps, schedule->count) {
        const struct pairs_model *back = &study->models[step->background];
        json_array_append_new(
            entries, pairs_entry(&study->models[step->foreground],
                                 step->foreground == step->background ? NULL : back, true));
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "experiment_name", "pairs", "description",
                     text_get(&text), "mode", "mixed", "runs_per_config", 1, "experiments",
                     entries);
}

/* feasibility.json, as feasibility_json wrote it or anybody else. */

enum { PAIRS_MAX = SCHEDULE_MODELS_MAX * SCHEDULE_MODELS_MAX };

static bool read_model(const json_t *json, struct pairs_model *out, struct err *err)
{
    *out = (struct pairs_model){.full_epochs = 1};
    record_get(pairs_model_fields, json, out);
    out->shape = (struct curve_shape){0};
    curve_shape(&out->curve, &out->shape);
    out->params = json_object();
    if (!out->name || !out->repo || !out->model || !json_is_object(out->real_params))
        return err_set(err, "a model without name, repo, model or hyperparameters");
    AUTO_FREE char *limit = steal_ptr(out->limit_text);
    if (limit && !gpu_limit_parse(limit, &out->gpu_limit, err))
        return err_wrap(err, "%s", out->name);
    out->limit_text = written_limit_text(&out->gpu_limit);
    return true;
}

/* What an earlier study has of the same model no longer counts. Gives the new one's place. */
static size_t add_or_replace_model(struct feasibility *study, const struct pairs_model *model)
{
    EACH (old, study->models, study->model_count) {
        if (strcmp(old->repo, model->repo) == 0 && strcmp(old->model, model->model) == 0 &&
            json_equal(old->real_params, model->real_params) &&
            pairs_same_limit(&old->gpu_limit, &model->gpu_limit))
            old->succeeded = false;
    }
    MEM_ADD(study->models, study->model_count) = *model;
    return study->model_count - 1;
}

/* hint: where the last one was found; pairs are written in order, so the next one is there or soon
 * after. */
static bool find_measured_model(const struct feasibility *study, const size_t *places, size_t count,
                                const char *name, size_t *hint, size_t *out)
{
    for (size_t i = 0; name && i < count; i++) {
        size_t at = (*hint + i) % count;
        if (strcmp(study->models[places[at]].name, name) == 0) {
            *out = places[at];
            *hint = at;
            return true;
        }
    }
    return false;
}

/* What reading the pairs of one file goes on with. */
struct reader {
    const size_t *places;
    size_t count, hints[OVERLAP_SIDES];
};

/* A pair that did not run has no real. */
struct written_pair {
    const char *side[OVERLAP_SIDES];
    const json_t *real;
};

#define PAIR(key, member) RECORD_AS(struct written_pair, key, member)
static const struct record_field written_pair_fields[] = {PAIR("foreground", side[FOREGROUND]),
                                                          PAIR("background", side[BACKGROUND]),
                                                          PAIR("real", real),
                                                          {0}};

static bool read_pair(struct feasibility *study, struct reader *reader, const json_t *json,
                      struct err *err)
{
    struct written_pair written = {0};
    struct pairs_pair pair = {0};
    record_get(written_pair_fields, json, &written);
    if (!find_measured_model(study, reader->places, reader->count, written.side[FOREGROUND],
                             &reader->hints[FOREGROUND], &pair.foreground) ||
        !find_measured_model(study, reader->places, reader->count, written.side[BACKGROUND],
                             &reader->hints[BACKGROUND], &pair.background))
        return err_set(err, "a pair of models that are not in the list");
    if (!written.real)
        return true;
    record_get(pairs_pair_fields, json, &pair);
    pair.outcome.ran = true;
    if (pair.outcome.result != PAIRS_PROVEN)
        pair.outcome.result = PAIRS_NOT_PROVEN;
    /* Models of each file have places of their own, so no pair of an earlier one is this. */
    MEM_ADD(study->pairs, study->pair_count) = pair;
    return true;
}

struct written_study {
    const json_t *models, *pairs;
};

static const struct record_field written_study_fields[] = {
    RECORD(struct written_study, models), RECORD(struct written_study, pairs), {0}};

bool schedule_read(struct feasibility *study, const json_t *json, struct err *err)
{
    struct written_study written = {0};
    record_get(written_study_fields, json, &written);
    size_t count = json_array_size(written.models);
    if (!json_is_array(written.models) || !json_is_array(written.pairs) ||
        count > SCHEDULE_MODELS_MAX || json_array_size(written.pairs) > PAIRS_MAX)
        return err_set(err, "this is no feasibility.json");
    AUTO_FREE size_t *places = mem_array(count + 1, sizeof *places);
    for (size_t i = 0; i < count; i++) {
        struct pairs_model model;
        if (!read_model(json_array_get(written.models, i), &model, err)) {
            pairs_model_fini(&model);
            return false;
        }
        places[i] = add_or_replace_model(study, &model);
    }
    struct reader reader = {.places = places, .count = count};
    for (size_t i = 0; i < json_array_size(written.pairs); i++)
        if (!read_pair(study, &reader, json_array_get(written.pairs, i), err))
            return false;
    return true;
}
