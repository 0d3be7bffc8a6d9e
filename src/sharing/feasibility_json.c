#include "sharing/feasibility.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"
#include "base/value.h"

static json_t *reading_json(struct reading reading)
{
    return reading.valid ? json_real(reading.value) : json_null();
}

static json_t *bytes_json(bool known, double bytes)
{
    return known ? json_integer((json_int_t)bytes) : json_null();
}

static json_t *shape_bytes(struct reading reading)
{
    return bytes_json(reading.valid, reading.value);
}

static json_t *model_json(const struct pairs_model *model)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", json_text_or_null(model->name));
    json_object_set_new(json, "repo", json_text_or_null(model->repo));
    json_object_set_new(json, "model", json_text_or_null(model->model));
    json_object_set(json, "hyperparameters", model->real_params);
    json_object_set_new(json, "gpu_memory_limit", pairs_limit_json(&model->gpu_limit));
    json_object_set_new(json, "one_epoch", json_boolean(model->has_epochs));
    json_object_set_new(json, "epochs", json_real(model->full_epochs));
    json_object_set_new(json, "ran", json_boolean(model->ran));
    json_object_set_new(json, "succeeded", json_boolean(model->succeeded));
    json_object_set_new(json, "cause", json_text_or_null(model->cause));
    json_object_set_new(json, "error", json_text_or_null(model->error));
    json_object_set_new(json, "proposal", json_text_or_null(model->proposal));
    json_object_set_new(json, "memory_source",
                        model->curve.any ? json_string(pairs_source_name(model->source)) : json_null());
    json_object_set_new(json, "peak_bytes", shape_bytes(model->shape.peak));
    json_object_set_new(json, "steady_bytes", shape_bytes(model->shape.steady));
    json_object_set_new(json, "startup_s", reading_json(model->shape.startup_s));
    json_object_set_new(json, "context_bytes", shape_bytes(model->context_bytes));
    json_object_set_new(json, "context_bytes_at_most", shape_bytes(model->shape.context));
    json_object_set_new(json, "margin_bytes", bytes_json(model->curve.any, model->margin_bytes));
    json_object_set_new(json, "sampled_peak_bytes", bytes_json(model->seen.peak_bytes > 0, model->seen.peak_bytes));
    json_object_set_new(json, "load_at_peak_percent", reading_json(model->seen.percent));
    json_object_set_new(json, "seconds", reading_json(model->seconds));
    json_object_set_new(json, "joules", reading_json(model->joules));
    json_object_set_new(json, "utilisation_percent", reading_json(model->utilisation_percent));
    json_object_set_new(json, "curve", memory_curve_json(&model->curve));
    return json;
}

static json_t *prediction_json(const struct pairs_prediction *prediction)
{
    if (!prediction->known)
        return json_null();
    json_t *json = json_object();
    json_object_set_new(json, "fits", json_boolean(prediction->fits));
    json_object_set_new(json, "class", json_string(pairs_risk_name(prediction->risk)));
    json_object_set_new(json, "tier", json_string(pairs_tier_name(prediction->tier)));
    json_object_set_new(json, "aligned_bytes", bytes_json(true, prediction->aligned_bytes));
    json_object_set_new(json, "safe_bytes", bytes_json(true, prediction->safe_bytes));
    json_object_set_new(json, "margin_bytes", bytes_json(true, prediction->margin_bytes));
    return json;
}

/* Its figures are kept, whether they say anything or not. */
static json_t *attribution_json(const struct pairs_attribution *attribution)
{
    if (!attribution->by)
        return json_null();
    json_t *json = json_object();
    json_object_set_new(json, "by", json_string(attribution->by));
    json_object_set_new(json, "possible", json_boolean(attribution->possible));
    json_object_set_new(json, "unattributed_share", reading_json(attribution->unattributed_share));
    json_object_set_new(json, "foreground_marginal_joules", reading_json(attribution->marginal_joules));
    json_object_set_new(json, "half_width_j", reading_json(attribution->half_width_j));
    return json;
}

static json_t *outcome_json(const struct feasibility *study, const struct pairs_pair *pair)
{
    const struct pairs_outcome *outcome = &pair->outcome;
    if (!outcome->ran)
        return json_null();
    json_t *json = json_object();
    json_object_set_new(json, "verdict",
                        outcome->verdict == VERDICT_NONE ? json_null() : json_string(verdict_name(outcome->verdict)));
    json_object_set_new(json, "evidence", pairs_evidence(outcome));
    json_object_set(json, "experiments", outcome->runs);
    json_object_set_new(json, "clean_experiments", json_integer((json_int_t)outcome->clean));
    json_object_set_new(json, "overlap_s", outcome->seen ? json_real(outcome->overlap_s) : json_null());
    json_object_set_new(json, "looks_at_peaks", json_integer((json_int_t)outcome->at_peaks));
    json_object_set_new(json, "together_bytes", bytes_json(outcome->together_bytes > 0, outcome->together_bytes));
    json_object_set_new(json, "peaks_alone_bytes", shape_bytes(pairs_peaks_alone(study, pair)));
    json_object_set_new(json, "measured_s", json_real(outcome->measured_s));
    json_object_set_new(json, "started", json_boolean(outcome->started));
    json_object_set_new(json, "finished", json_boolean(outcome->finished));
    json_object_set_new(json, "out_of_memory", json_boolean(outcome->out_of_memory));
    json_object_set_new(json, "background_failed", json_boolean(outcome->background_failed));
    json_object_set_new(json, "background_loops", json_integer(outcome->loops));
    json_object_set_new(json, "peak_bytes", shape_bytes(outcome->peak_bytes));
    json_object_set_new(json, "foreground_seconds", reading_json(outcome->seconds));
    json_object_set_new(json, "background_seconds", reading_json(outcome->background_seconds));
    json_object_set_new(json, "foreground_slowdown", reading_json(outcome->slowdown));
    json_object_set_new(json, "background_slowdown", reading_json(outcome->background_slowdown));
    json_object_set_new(json, "attribution", attribution_json(&outcome->attribution));
    json_object_set_new(json, "foreground_joules_estimate", reading_json(outcome->joules));
    json_object_set_new(json, "background_joules_estimate", reading_json(outcome->background_joules));
    json_object_set_new(json, "foreground_joules_ratio", reading_json(outcome->joules_ratio));
    json_object_set_new(json, "background_joules_ratio", reading_json(outcome->background_joules_ratio));
    json_object_set_new(json, "pair_joules", reading_json(outcome->pair_joules));
    json_object_set_new(json, "one_after_the_other_joules", reading_json(outcome->serial_joules));
    json_object_set_new(json, "cause", json_text_or_null(outcome->cause));
    json_object_set_new(json, "proposal", json_text_or_null(outcome->proposal));
    return json;
}

static json_t *pair_json(const struct feasibility *study, const struct pairs_pair *pair)
{
    json_t *json = json_object();
    json_object_set_new(json, "foreground", json_text_or_null(study->models[pair->foreground].name));
    json_object_set_new(json, "background", json_text_or_null(study->models[pair->background].name));
    json_object_set_new(json, "predicted", prediction_json(&pair->prediction));
    json_object_set_new(json, "outcome", json_string(pairs_result_name(pair->outcome.result)));
    json_object_set_new(json, "why", json_text_or_null(pair->outcome.why));
    json_object_set_new(json, "real", outcome_json(study, pair));
    json_object_set_new(json, "recommended", json_boolean(pairs_is_recommended(pair)));
    return json;
}

static json_t *criteria_json(const struct feasibility *study)
{
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    json_t *list = json_array();
    feasibility_criteria(study, criteria);
    for (size_t i = 0; i < PAIRS_CRITERIA; i++) {
        json_t *json = json_object();
        json_object_set_new(json, "criterion", json_string(criteria[i].what));
        json_object_set_new(json, "met", criteria[i].known ? json_boolean(criteria[i].met) : json_null());
        json_object_set_new(json, "detail", json_string(criteria[i].detail));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *counts_json(const struct feasibility *study)
{
    static const char *const keys[] = {"not_run", "failed", "not_proven", "proven"};
    struct pairs_counts counts = feasibility_counts(study);
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set_new(json, keys[i], json_integer((json_int_t)counts.of[i]));
    json_object_set_new(json, "recommended", json_integer((json_int_t)counts.recommended));
    return json;
}

json_t *feasibility_json(const struct feasibility *study)
{
    json_t *json = json_object(), *models = json_array(), *pairs = json_array(), *gpu = json_object();
    for (size_t i = 0; i < study->model_count; i++)
        json_array_append_new(models, model_json(&study->models[i]));
    for (size_t i = 0; i < study->pair_count; i++)
        json_array_append_new(pairs, pair_json(study, &study->pairs[i]));
    bool known = study->room.total_bytes > 0;
    json_object_set_new(gpu, "total_bytes", bytes_json(known, study->room.total_bytes));
    json_object_set_new(gpu, "available_bytes", bytes_json(known, study->room.available_bytes));
    json_object_set_new(json, "gpu", gpu);
    json_object_set_new(json, "overlap_asked_s", json_real(study->overlap_s));
    json_object_set_new(json, "counts", counts_json(study));
    json_object_set_new(json, "models", models);
    json_object_set_new(json, "pairs", pairs);
    json_object_set_new(json, "criteria", criteria_json(study));
    return json;
}

static void add_text(struct text *out, const char *text)
{
    text_add_char(out, ',');
    csv_add_cell(out, text ? text : "");
}

static void add_truth(struct text *out, bool known, bool truth)
{
    add_text(out, !known ? "" : truth ? "True" : "False");
}

static void add_number(struct text *out, struct reading reading)
{
    char text[32] = "";
    if (reading.valid)
        number_shortest(number_round(reading.value, 9), text);
    add_text(out, text);
}

static struct reading mib(bool known, double bytes)
{
    return (struct reading){bytes / 1048576, known};
}

/* "background_stalled host_pressure" */
static void add_kinds(struct text *out, const struct pairs_outcome *outcome)
{
    AUTO_TEXT struct text kinds = {0};
    json_t *evidence = pairs_evidence(outcome);
    for (size_t i = 0; i < json_array_size(evidence); i++)
        text_addf(&kinds, "%s%s", i ? " " : "", json_get_text(json_array_get(evidence, i), "kind"));
    json_decref(evidence);
    add_text(out, text_get(&kinds));
}

static void add_proof(const struct feasibility *study, const struct pairs_pair *pair, struct text *out)
{
    const struct pairs_outcome *real = &pair->outcome;
    struct reading peaks = pairs_peaks_alone(study, pair);
    add_text(out, pairs_result_name(real->result));
    add_text(out, real->why);
    add_text(out, real->ran && real->verdict != VERDICT_NONE ? verdict_name(real->verdict) : "");
    add_kinds(out, real);
    add_number(out, (struct reading){(double)real->experiments, real->ran});
    add_number(out, (struct reading){(double)real->clean, real->ran});
    add_number(out, (struct reading){real->overlap_s, real->seen});
    add_number(out, (struct reading){(double)real->at_peaks, real->seen});
    add_number(out, mib(real->together_bytes > 0, real->together_bytes));
    add_number(out, mib(peaks.valid, peaks.value));
}

static void add_row(const struct feasibility *study, const struct pairs_pair *pair, struct text *out)
{
    const struct pairs_model *fore = &study->models[pair->foreground], *back = &study->models[pair->background];
    const struct pairs_prediction *told = &pair->prediction;
    const struct pairs_outcome *real = &pair->outcome;
    bool known = told->known;
    csv_add_cell(out, fore->name);
    add_text(out, back->name);
    add_number(out, mib(fore->shape.peak.valid, fore->shape.peak.value));
    add_number(out, mib(back->shape.peak.valid, back->shape.peak.value));
    add_text(out, fore->curve.any ? pairs_source_name(fore->source) : "");
    add_text(out, back->curve.any ? pairs_source_name(back->source) : "");
    add_number(out, mib(known, told->aligned_bytes));
    add_number(out, mib(known, told->safe_bytes));
    add_number(out, mib(known, told->margin_bytes));
    add_number(out, mib(study->room.total_bytes > 0, study->room.available_bytes));
    add_text(out, known ? pairs_tier_name(told->tier) : "");
    add_text(out, known ? pairs_risk_name(told->risk) : "");
    add_truth(out, known, told->fits);
    add_proof(study, pair, out);
    add_truth(out, real->ran, real->started);
    add_truth(out, real->ran, real->finished);
    add_number(out, (struct reading){(double)real->loops, real->ran});
    add_truth(out, real->ran, real->out_of_memory);
    add_number(out, mib(real->peak_bytes.valid, real->peak_bytes.value));
    add_number(out, real->seconds);
    add_number(out, real->slowdown);
    add_number(out, real->background_slowdown);
    add_text(out, !real->attribution.by        ? ""
                  : real->attribution.possible ? real->attribution.by
                                               : "cannot be attributed");
    add_number(out, real->joules);
    add_number(out, real->background_joules);
    add_number(out, real->joules_ratio);
    add_number(out, real->background_joules_ratio);
    add_number(out, real->pair_joules);
    add_number(out, real->serial_joules);
    add_text(out, real->cause);
    add_text(out, real->proposal);
    add_truth(out, true, pairs_is_recommended(pair));
    text_add_char(out, '\n');
}

void feasibility_csv(const struct feasibility *study, struct text *out)
{
    text_add(out,
             "foreground,background,foreground_peak_mib,background_peak_mib,foreground_memory_source,"
             "background_memory_source,aligned_mib,safe_mib,margin_mib,"
             "available_mib,tier,class,predicted_to_fit,outcome,why,verdict,evidence,experiments,clean_experiments,"
             "overlap_s,looks_at_peaks,together_mib,peaks_alone_mib,started,foreground_finished,background_loops,"
             "out_of_memory,peak_mib,foreground_seconds,foreground_slowdown,background_slowdown,"
             "attribution,foreground_joules_estimate,background_joules_estimate,foreground_joules_ratio,background_"
             "joules_ratio,"
             "pair_joules,one_after_the_other_joules,cause,"
             "proposal,recommended\n");
    for (size_t i = 0; i < study->pair_count; i++)
        add_row(study, &study->pairs[i], out);
}
