#include "sharing/feasibility_json.h"
#include "base/mem.h"
#include "sharing/alone.h"
#include "sharing/limits.h"
#include "sharing/outcome.h"
#include "sharing/predict.h"
#include "sharing/proof.h"
#include "sharing/result.h"
#include "sharing/written.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"
#include "base/value.h"

#include <math.h>

#define MODEL(key, member, ...)  RECORD_AS(struct pairs_model, key, member, __VA_ARGS__)
#define MODEL_BYTES(key, member) RECORD_BYTES(struct pairs_model, key, member)
static json_t *curve_json(const void *curve)
{
    return memory_curve_json(curve);
}

static bool read_curve(const json_t *json, void *curve, struct err *err)
{
    (void)err;
    return curve_from_json(json, curve);
}

#define NOT_NEGATIVE .high = HUGE_VAL
const struct record_field pairs_model_fields[] = {
    MODEL("name", name),
    MODEL("repo", repo),
    MODEL("model", model),
    MODEL("hyperparameters", real_params),
    MODEL("gpu_memory_limit", limit_text),
    MODEL("one_epoch", has_epochs),
    MODEL("epochs", full_epochs, .low = 1, NOT_NEGATIVE),
    MODEL("ran", ran),
    MODEL("succeeded", succeeded),
    MODEL("cause", cause),
    MODEL("error", error),
    MODEL("proposal", proposal),
    RECORD_ENUM_IF(struct pairs_model, curve.any, "memory_source", source, pairs_source_name,
                   .values = SOURCE_DEVICE + 1),
    MODEL_BYTES("peak_bytes", shape.peak),
    MODEL_BYTES("steady_bytes", shape.steady),
    MODEL("startup_s", shape.startup_s),
    MODEL_BYTES("context_bytes", context_bytes),
    MODEL_BYTES("context_bytes_at_most", shape.context),
    RECORD_BYTES_IF(struct pairs_model, curve.any, "margin_bytes", margin_bytes, NOT_NEGATIVE),
    RECORD_BYTES_IF(struct pairs_model, seen.peak_bytes, "sampled_peak_bytes", seen.peak_bytes),
    MODEL("load_at_peak_percent", seen.percent),
    MODEL("seconds", seconds, NOT_NEGATIVE),
    MODEL("joules", joules, NOT_NEGATIVE),
    MODEL("utilisation_percent", utilisation_percent, NOT_NEGATIVE),
    RECORD_STRUCT(struct pairs_model, "curve", curve, NULL, .to = curve_json, .from = read_curve),
    {0}};

static const struct record_field prediction_fields[] = {
    RECORD(struct pairs_prediction, fits),
    RECORD_ENUM(struct pairs_prediction, "class", risk, pairs_risk_name),
    RECORD_ENUM(struct pairs_prediction, "tier", tier, pairs_tier_name),
    RECORD_ENUM(struct pairs_prediction, "class_by_size", size_risk, pairs_risk_name),
    RECORD_ENUM(struct pairs_prediction, "tier_by_size", size_tier, pairs_tier_name),
    RECORD_BYTES(struct pairs_prediction, "aligned_bytes", aligned_bytes),
    RECORD_BYTES(struct pairs_prediction, "safe_bytes", safe_bytes),
    RECORD_BYTES(struct pairs_prediction, "margin_bytes", margin_bytes),
    {0},
};

/* Its figures are kept, whether they say anything or not. */
static const struct record_field attribution_fields[] = {
    RECORD(struct pairs_attribution, by),
    RECORD(struct pairs_attribution, possible),
    RECORD(struct pairs_attribution, unattributed_share),
    RECORD_AS(struct pairs_attribution, "foreground_marginal_joules", marginal_joules),
    RECORD(struct pairs_attribution, half_width_j),
    RECORD_AS(struct pairs_attribution, "foreground_low_j", low_j),
    RECORD_AS(struct pairs_attribution, "foreground_high_j", high_j),
    {0}};

#define RUN(key, member) RECORD_AS(struct pairs_run, key, member)
static const struct record_field run_fields[] = {
    RUN("experiment", experiment),
    RECORD_ENUM_IF(struct pairs_run, verdict, "verdict", verdict, verdict_name),
    RECORD_STRUCTS(struct pairs_run, "evidence", evidence, evidence_count, pairs_evidence_fields),
    RUN("seconds", seconds),
    RUN("background_alone_s", lead_s),
    RUN("overlap_s", overlap_s),
    RUN("looks_at_peaks", at_peaks),
    RECORD_BYTES(struct pairs_run, "together_bytes", together_bytes),
    {0}};

static const struct record_field kind_fields[] = {
    RECORD(struct pairs_kind, kind),
    RECORD_ENUM(struct pairs_kind, "weight", weight, evidence_weight_name),
    RECORD(struct pairs_kind, text),
    RECORD(struct pairs_kind, experiments),
    {0}};

#define OUTCOME(key, member, ...)    RECORD_AS(struct pairs_outcome, key, member, __VA_ARGS__)
#define OUTCOME_BYTES(key, member)   RECORD_BYTES(struct pairs_outcome, key, member)
#define OUTCOME_LIST(key, list, ...) RECORD_STRUCTS(struct pairs_outcome, key, list, __VA_ARGS__)
const struct record_field pairs_outcome_fields[] = {
    RECORD_ENUM_IF(struct pairs_outcome, verdict, "verdict", verdict, verdict_name),
    OUTCOME_LIST("evidence", kinds, kind_count, kind_fields, .unread = true),
    OUTCOME_LIST("experiments", runs, experiments, run_fields, .unread = true),
    OUTCOME("clean_experiments", clean),
    RECORD_IF(struct pairs_outcome, seen, "overlap_s", overlap_s),
    OUTCOME("looks_at_peaks", at_peaks),
    RECORD_BYTES_IF(struct pairs_outcome, together_bytes, "together_bytes", together_bytes),
    OUTCOME_BYTES("peaks_alone_bytes", standalone_peaks),
    OUTCOME("measured_s", measured_s),
    OUTCOME("started", started),
    OUTCOME("finished", finished),
    OUTCOME("out_of_memory", out_of_memory),
    OUTCOME("background_failed", background_failed),
    OUTCOME("background_loops", loops),
    OUTCOME("metrics", metrics),
    OUTCOME_BYTES("peak_bytes", peak_bytes),
    OUTCOME("foreground_seconds", seconds),
    OUTCOME("background_seconds", background_seconds),
    OUTCOME("foreground_slowdown", slowdown, NOT_NEGATIVE),
    OUTCOME("background_slowdown", background_slowdown, NOT_NEGATIVE),
    RECORD_STRUCT_IF(struct pairs_outcome, attribution.by, "attribution", attribution,
                     attribution_fields, .unread = true),
    OUTCOME("foreground_joules_estimate", joules),
    OUTCOME("background_joules_estimate", background_joules),
    OUTCOME("foreground_joules_ratio", joules_ratio),
    OUTCOME("background_joules_ratio", background_joules_ratio),
    OUTCOME("pair_joules", pair_joules),
    OUTCOME("one_after_the_other_joules", serial_joules),
    OUTCOME("cause", cause),
    OUTCOME("proposal", proposal),
    {0}};

const struct record_field pairs_pair_fields[] = {
    RECORD_STRUCT_IF(struct pairs_pair, prediction.known, "predicted", prediction,
                     prediction_fields, .unread = true),
    RECORD_ENUM(struct pairs_pair, "outcome", outcome.result, pairs_result_name,
                .values = PAIRS_PROVEN + 1),
    RECORD_AS(struct pairs_pair, "why", outcome.why),
    RECORD_STRUCT_IF(struct pairs_pair, outcome.ran, "real", outcome, pairs_outcome_fields),
    {0}};

static json_t *pair_json(const struct feasibility *study, const struct pairs_pair *pair)
{
    json_t *json = json_object();
    json_set_text(json, "foreground", study->models[pair->foreground].name);
    json_set_text(json, "background", study->models[pair->background].name);
    record_set(json, pairs_pair_fields, pair);
    json_object_set_new(json, "recommended", json_boolean(pairs_is_recommended(pair)));
    return json;
}

#define CRITERION struct pairs_criterion
static const struct record_field criterion_fields[] = {RECORD_AS(CRITERION, "criterion", what),
                                                       RECORD_IF(CRITERION, known, "met", met),
                                                       RECORD_CHARS(CRITERION, "detail", detail),
                                                       {0}};

static json_t *criteria_json(const struct pairs_criterion *criteria, size_t count)
{
    return record_list_json(criterion_fields, criteria, count, sizeof *criteria);
}

static const struct record_field success_fields[] = {RECORD(struct limits_success, pairs),
                                                     RECORD(struct limits_success, ran),
                                                     RECORD(struct limits_success, worked),
                                                     {0}};

static json_t *success_json(const struct limits_success *success)
{
    json_t *json = record_json(success_fields, success);
    json_object_set_new(json, "rate", json_reading_or_null(limits_rate(success)));
    return json;
}

/* A row for each tier; one more, without a name, where the memory of pairs is not known. */
static json_t *tiers_json(const struct feasibility *study)
{
    struct limits_account account;
    json_t *list = json_array();
    limits_count(study, &account);
    for (size_t i = 0; i < TIER_COUNT + (account.by_size[TIER_COUNT].pairs > 0); i++) {
        static const struct limits_tier none = {
            .up_to_bytes = INFINITY, .up_to_share = INFINITY, .expected = NAN};
        const struct limits_tier *tier = i < TIER_COUNT ? &limits_tiers[i] : &none;
        bool ends = isfinite(tier->up_to_bytes);
        json_array_append_new(
            list,
            json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o}", "tier", tier->name, "up_to_bytes",
                      ends ? json_integer((json_int_t)tier->up_to_bytes) : json_null(),
                      "up_to_share", json_finite(tier->up_to_share), "expected_rate",
                      json_finite(tier->expected), "by_size", success_json(&account.by_size[i]),
                      "by_share", success_json(&account.by_share[i])));
    }
    return list;
}

#define COUNT(key, member) RECORD_AS(struct pairs_counts, key, member)
static const struct record_field count_fields[] = {
    COUNT("not_run", of[PAIRS_NOT_RUN]),       COUNT("failed", of[PAIRS_FAILED]),
    COUNT("not_proven", of[PAIRS_NOT_PROVEN]), COUNT("proven", of[PAIRS_PROVEN]),
    COUNT("recommended", recommended),         {0}};

#define ROOM_BYTES(key, member) RECORD_BYTES_IF(struct pairs_room, total_bytes, key, member)
static const struct record_field room_fields[] = {
    ROOM_BYTES("total_bytes", total_bytes), ROOM_BYTES("available_bytes", available_bytes), {0}};

json_t *feasibility_json(const struct feasibility *study)
{
    json_t *pairs = json_array();
    const struct pairs_counts counts = feasibility_counts(study);
    struct pairs_criterion criteria[PAIRS_CRITERIA], limits[LIMITS_CRITERIA];
    feasibility_criteria(study, criteria);
    limits_criteria(study, limits);
    EACH (pair, study->pairs, study->pair_count)
        json_array_append_new(pairs, pair_json(study, pair));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "gpu",
                     record_json(room_fields, &study->room), "overlap_asked_s",
                     json_finite(study->overlap_s), "estimate", forecast_json(&study->forecast),
                     "counts", record_json(count_fields, &counts), "tiers", tiers_json(study),
                     "models",
                     record_list_json(pairs_model_fields, study->models, study->model_count,
                                      sizeof *study->models),
                     "pairs", pairs, "criteria", criteria_json(criteria, PAIRS_CRITERIA),
                     "study_criteria", criteria_json(limits, LIMITS_CRITERIA));
}

static void add_text_cell(struct text *out, const char *text)
{
    text_add_char(out, ',');
    csv_add_cell(out, text ? text : "");
}

static void add_truth(struct text *out, bool known, bool truth)
{
    add_text_cell(out, !known ? "" : truth ? "True" : "False");
}

static void add_number_cell(struct text *out, struct reading reading)
{
    char text[32] = "";
    if (reading.valid)
        number_shortest(number_round(reading.value, 9), text);
    add_text_cell(out, text);
}

static struct reading bytes_in_mib(bool known, double bytes)
{
    return (struct reading){bytes / 1048576, known};
}

static void add_proof(const struct pairs_outcome *real, struct text *out)
{
    struct reading peaks = real->standalone_peaks;
    add_text_cell(out, pairs_result_name(real->result));
    add_text_cell(out, real->why);
    add_text_cell(out,
                  real->ran && real->verdict != VERDICT_NONE ? verdict_name(real->verdict) : "");
    AUTO_FREE char *kinds = pairs_kinds_text(real, " ");
    add_text_cell(out, kinds);
    add_number_cell(out, (struct reading){(double)real->experiments, real->ran});
    add_number_cell(out, (struct reading){(double)real->clean, real->ran});
    add_number_cell(out, (struct reading){real->overlap_s, real->seen});
    add_number_cell(out, (struct reading){(double)real->at_peaks, real->seen});
    add_number_cell(out, bytes_in_mib(real->together_bytes > 0, real->together_bytes));
    add_number_cell(out, bytes_in_mib(peaks.valid, peaks.value));
}

static void add_pair_csv_row(const struct feasibility *study, const struct pairs_pair *pair,
                             struct text *out)
{
    const struct pairs_model *fore = &study->models[pair->foreground],
                             *back = &study->models[pair->background];
    const struct pairs_prediction *told = &pair->prediction;
    const struct pairs_outcome *real = &pair->outcome;
    bool known = told->known;
    csv_add_cell(out, fore->name);
    add_text_cell(out, back->name);
    add_number_cell(out, bytes_in_mib(fore->shape.peak.valid, fore->shape.peak.value));
    add_number_cell(out, bytes_in_mib(back->shape.peak.valid, back->shape.peak.value));
    add_text_cell(out, fore->curve.any ? pairs_source_name(fore->source) : "");
    add_text_cell(out, back->curve.any ? pairs_source_name(back->source) : "");
    add_number_cell(out, bytes_in_mib(known, told->aligned_bytes));
    add_number_cell(out, bytes_in_mib(known, told->safe_bytes));
    add_number_cell(out, bytes_in_mib(known, told->margin_bytes));
    add_number_cell(out, bytes_in_mib(study->room.total_bytes > 0, study->room.available_bytes));
    add_text_cell(out, known ? pairs_tier_name(told->tier) : "");
    add_text_cell(out, known ? pairs_risk_name(told->risk) : "");
    add_text_cell(out, known ? pairs_tier_name(told->size_tier) : "");
    add_text_cell(out, known ? pairs_risk_name(told->size_risk) : "");
    add_truth(out, known, told->fits);
    add_proof(real, out);
    add_truth(out, real->ran, real->started);
    add_truth(out, real->ran, real->finished);
    add_number_cell(out, (struct reading){(double)real->loops, real->ran});
    add_number_cell(out, (struct reading){(double)real->metrics, real->ran});
    add_truth(out, real->ran, real->out_of_memory);
    add_number_cell(out, bytes_in_mib(real->peak_bytes.valid, real->peak_bytes.value));
    add_number_cell(out, real->seconds);
    add_number_cell(out, real->slowdown);
    add_number_cell(out, real->background_slowdown);
    add_text_cell(out, !real->attribution.by        ? ""
                       : real->attribution.possible ? real->attribution.by
                                                    : "cannot be attributed");
    add_number_cell(out, real->joules);
    add_number_cell(out, real->background_joules);
    add_number_cell(out, real->joules_ratio);
    add_number_cell(out, real->background_joules_ratio);
    add_number_cell(out, real->pair_joules);
    add_number_cell(out, real->serial_joules);
    add_text_cell(out, real->cause);
    add_text_cell(out, real->proposal);
    add_truth(out, true, pairs_is_recommended(pair));
    text_add_char(out, '\n');
}

void feasibility_csv(const struct feasibility *study, struct text *out)
{
    text_add(
        out,
        "foreground,background,foreground_peak_mib,background_peak_mib,foreground_memory_source,"
        "background_memory_source,aligned_mib,safe_mib,margin_mib,"
        "available_mib,tier,class,tier_by_size,class_by_size,predicted_to_fit,outcome,why,verdict,"
        "evidence,experiments,"
        "clean_experiments,"
        "overlap_s,looks_at_peaks,together_mib,peaks_alone_mib,started,foreground_finished,"
        "background_loops,metrics,"
        "out_of_memory,peak_mib,foreground_seconds,foreground_slowdown,background_slowdown,"
        "attribution,foreground_joules_estimate,background_joules_estimate,foreground_joules_ratio,"
        "background_"
        "joules_ratio,"
        "pair_joules,one_after_the_other_joules,cause,"
        "proposal,recommended\n");
    EACH (pair, study->pairs, study->pair_count)
        add_pair_csv_row(study, pair, out);
}
