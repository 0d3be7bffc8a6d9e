#include "sharing/schedule.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

static const double MS_PER_S = 1000, LONGEST_S = 1e8, S_PER_H = 3600;

double schedule_seconds(const struct pairs_model *model)
{
    double seconds = model->seconds.valid ? model->seconds.value * (model->has_epochs ? model->full_epochs : 1) : 0;
    return seconds > LONGEST_S ? LONGEST_S : seconds;
}

/* A study, and what became of a beside b at [a * model_count + b]; NULL: they did not run so. */
struct tried {
    const struct feasibility *study;
    const struct pairs_outcome **outcomes;
};

static void look_up(struct tried *tried)
{
    const struct feasibility *study = tried->study;
    tried->outcomes = mem_array(study->model_count * study->model_count + 1, sizeof(struct pairs_outcome *));
    for (size_t i = 0; i < study->pair_count; i++) {
        const struct pairs_pair *pair = &study->pairs[i];
        if (pair->outcome.ran)
            tried->outcomes[pair->foreground * study->model_count + pair->background] = &pair->outcome;
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
    const struct pairs_outcome *forward = outcome_of(tried, a, b), *backward = outcome_of(tried, b, a);
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
        out[i] =
            known.valid ? fmax(known.value, 0.01) : assume(&tried->study->models[a], &tried->study->models[b], assumed);
    }
    return measured;
}

static bool is_safe(const struct tried *tried, size_t a, size_t b, const struct pairs_prediction *prediction)
{
    const struct pairs_outcome *forward = outcome_of(tried, a, b), *backward = outcome_of(tried, b, a);
    return prediction->known && prediction->risk == RISK_STABLE && (!forward || pairs_worked(forward)) &&
           (!backward || pairs_worked(backward));
}

/* One way or the other. */
static bool is_proven(const struct tried *tried, size_t a, size_t b)
{
    const struct pairs_outcome *forward = outcome_of(tried, a, b), *backward = outcome_of(tried, b, a);
    return (forward && forward->result == PAIRS_PROVEN) || (backward && backward->result == PAIRS_PROVEN);
}

/* False: these two are not to run together, or nothing is gained by it. That they are proven is asked elsewhere. */
static bool pair_step(const struct tried *tried, size_t a, size_t b, double assumed, struct schedule_step *out)
{
    const struct feasibility *study = tried->study;
    const struct pairs_model *x = &study->models[a], *y = &study->models[b];
    double slow[2], alone_s = schedule_seconds(x) + schedule_seconds(y);
    *out = (struct schedule_step){.foreground = a, .background = b};
    pairs_bound(&x->curve, x->margin_bytes, &y->curve, y->margin_bytes, &study->room, &out->prediction);
    if (!is_safe(tried, a, b, &out->prediction))
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
    return left->foreground < right->foreground ? -1 : left->foreground > right->foreground;
}

static void add_step(struct schedule *schedule, struct schedule_step step)
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

/* chosen: the models that take part. */
static void match(const struct tried *tried, const size_t *chosen, size_t count, double assumed, struct schedule *out)
{
    AUTO_FREE int64_t *weights = mem_array(count * count + 1, sizeof *weights);
    AUTO_FREE size_t *mates = mem_array(count + 1, sizeof *mates);
    struct schedule_step step;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            if (!pair_step(tried, chosen[i], chosen[j], assumed, &step))
                continue;
            if (is_proven(tried, chosen[i], chosen[j]))
                weights[i * count + j] = weights[j * count + i] = (int64_t)llround(step.saved_s * MS_PER_S);
            else
                add_unproven(out, &step);
        }
    matching_heaviest(weights, count, mates);
    for (size_t i = 0; i < count; i++) {
        double seconds = schedule_seconds(&tried->study->models[chosen[i]]);
        out->alone_seconds += seconds;
        if (mates[i] == i)
            add_step(out, (struct schedule_step){.foreground = chosen[i], .background = chosen[i], .seconds = seconds});
        else if (mates[i] > i && pair_step(tried, chosen[i], chosen[mates[i]], assumed, &step))
            add_step(out, step);
    }
}

void schedule_make(const struct feasibility *study, const bool *use, double gpu_bytes, double assumed,
                   struct schedule *out)
{
    struct feasibility on_gpu = *study;
    AUTO_FREE size_t *chosen = mem_array(study->model_count + 1, sizeof *chosen);
    size_t count = 0;
    on_gpu.room = (struct pairs_room){gpu_bytes, gpu_bytes};
    for (size_t i = 0; i < study->model_count && count < MATCHING_POINTS_MAX; i++)
        if (use[i])
            chosen[count++] = i;
    *out = (struct schedule){.steps = mem_array(count + 1, sizeof *out->steps)};
    struct tried tried = {.study = &on_gpu};
    look_up(&tried);
    match(&tried, chosen, count, assumed, out);
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
    text_addf(&text, "; slowdown measured for %zu of %zu pairs, assumed for the others", schedule->measured,
              schedule->pairs);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct schedule_step *step = &schedule->steps[i];
        const struct pairs_model *back = &study->models[step->background];
        json_array_append_new(entries, pairs_entry(&study->models[step->foreground],
                                                   step->foreground == step->background ? NULL : back, true));
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "experiment_name", "pairs", "description", text_get(&text), "mode",
                     "mixed", "runs_per_config", 1, "experiments", entries);
}
