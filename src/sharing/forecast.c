#include "sharing/forecast.h"

#include "base/mem.h"
#include "base/record.h"
#include "plan/expected.h"
#include "plan/space.h"
#include "sharing/feasibility.h"
#include "sharing/result.h"

#include <math.h>
#include <string.h>

struct sum {
    size_t count, known;
    double known_s;
};

static void add_to_sum(struct sum *sum, size_t count, struct reading one)
{
    sum->count += count;
    sum->known += one.valid ? count : 0;
    sum->known_s += one.valid ? (double)count * one.value : 0;
}

/* By this study, or by the one that its runs are known from. */
static struct reading measured_seconds(const struct pairs_model *model)
{
    struct sum runs = {0};
    if (model->seconds.valid)
        return model->seconds;
    for (size_t i = 0; i < json_array_size(model->known); i++) {
        AUTO(result_fini) struct result result;
        result_read(json_array_get(model->known, i), &result);
        add_to_sum(&runs, 1, result.seconds);
    }
    return (struct reading){runs.known ? runs.known_s / (double)runs.known : 0, runs.known > 0};
}

/* Earlier runs know seconds of an epoch where the hyperparameter has the name that history_read
 * looks for. */
static struct reading earlier_seconds(const struct pairs_model *model, bool parallel,
                                      const struct expected *earlier)
{
    AUTO_FREE char *context = space_context(model->repo, model->model, parallel);
    bool epochs = model->epochs_name && strcmp(model->epochs_name, "epochs") == 0;
    return expected_of(earlier, context, (struct reading){1, epochs});
}

static struct reading alone_seconds(const struct pairs_model *model, const struct expected *earlier)
{
    struct reading measured = measured_seconds(model);
    return measured.valid ? measured : earlier_seconds(model, false, earlier);
}

/* model: the foreground; expected_s: by the settings, 0: not said. */
static struct reading pair_seconds(const struct feasibility *study, const struct pairs_model *model,
                                   double expected_s, const struct expected *earlier)
{
    struct reading fore = measured_seconds(model);
    if (!fore.valid && expected_s > 0)
        return (struct reading){expected_s, true};
    if (!fore.valid)
        fore = earlier_seconds(model, true, earlier);
    if (!fore.valid)
        fore = earlier_seconds(model, false, earlier);
    fore.value += fore.valid ? study->timing.lead_low_s + study->hold_s : 0;
    return fore;
}

/* The longer one is in front, as feasibility_pair_all has it. */
static void add_all_pairs(const struct feasibility *study, const struct expected *earlier,
                          struct sum *pairs)
{
    for (size_t i = 0; i < study->model_count; i++)
        for (size_t j = i + 1; j < study->model_count; j++) {
            const struct reading a = pair_seconds(study, &study->models[i], 0, earlier);
            const struct reading b = pair_seconds(study, &study->models[j], 0, earlier);
            add_to_sum(pairs, 1, a.valid && (!b.valid || a.value > b.value) ? a : b);
        }
}

static struct forecast_part part_of(const struct sum *sum, double pause_s)
{
    double mean_s = sum->known ? sum->known_s / (double)sum->known : 0;
    double pauses_s = sum->count > 1 ? (double)(sum->count - 1) * pause_s : 0;
    return (struct forecast_part){
        sum->count,
        sum->known,
        {(double)sum->count * mean_s + pauses_s, sum->known > 0 || sum->count == 0}};
}

void forecast_make(const struct feasibility *study, const struct forecast_options *options,
                   struct forecast *out)
{
    struct sum alone = {0}, pairs = {0};
    EACH (model, study->models, study->model_count) {
        size_t known = json_array_size(model->known), repeats = (size_t)options->repeats;
        add_to_sum(&alone, repeats > known ? repeats - known : 0,
                   alone_seconds(model, options->earlier));
    }
    if (options->all_pairs)
        add_all_pairs(study, options->earlier, &pairs);
    for (size_t i = 0; i < study->pair_count && !options->all_pairs; i++) {
        const struct pairs_pair *pair = &study->pairs[i];
        const struct pairs_model *fore = &study->models[pair->foreground],
                                 *back = &study->models[pair->background];
        if ((!fore->ran || fore->succeeded) && (!back->ran || back->succeeded))
            add_to_sum(&pairs, 1, pair_seconds(study, fore, pair->expected_s, options->earlier));
    }
    *out = (struct forecast){
        part_of(&alone, options->pause_s), part_of(&pairs, options->pause_s), {0, false}};
    out->seconds = (struct reading){out->alone.seconds.value + out->pairs.seconds.value,
                                    out->alone.seconds.valid && out->pairs.seconds.valid};
}

static const struct record_field part_fields[] = {RECORD(struct forecast_part, count),
                                                  RECORD(struct forecast_part, known),
                                                  RECORD(struct forecast_part, seconds),
                                                  {0}};

static const struct record_field forecast_fields[] = {
    RECORD_STRUCT(struct forecast, "alone", alone, part_fields),
    RECORD_STRUCT(struct forecast, "pairs", pairs, part_fields),
    RECORD(struct forecast, seconds),
    {0}};

json_t *forecast_json(const struct forecast *forecast)
{
    return record_json(forecast_fields, forecast);
}

void forecast_from_json(const json_t *json, struct forecast *out)
{
    *out = (struct forecast){0};
    record_get(forecast_fields, json, out);
}
