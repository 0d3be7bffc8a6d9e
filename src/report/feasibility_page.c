#include "report/feasibility_text.h"

#include "base/mem.h"
#include "report/html.h"

#include <math.h>

#define CURVE_WIDTH  160.0
#define CURVE_HEIGHT 28.0

static const double BYTES_PER_MIB = 1048576;

static const char style[] = ".m td{text-align:center;border:1px solid var(--line)}"
                            ".good{background:var(--good)}.bad{background:var(--bad)}.odd{background:var(--odd)}"
                            ".open{background:repeating-linear-gradient(-45deg,var(--line) 0 2px,transparent 2px 8px)}"
                            ".headline{font-size:1.1em;margin:.6em 0}"
                            "polyline{fill:none;stroke:var(--used);stroke-width:1.5}";

static void add_number(struct text *out, int decimals, struct reading reading)
{
    AUTO_FREE char *text = reading.valid ? mem_printf("%.*f", decimals, reading.value) : mem_strdup("–");
    html_cell(out, "", text);
}

static struct reading mib(struct reading bytes)
{
    return (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid};
}

static struct reading known_mib(bool known, double bytes)
{
    return (struct reading){bytes / BYTES_PER_MIB, known};
}

/* All against the same height, so that they can be compared. */
static void add_curve(const struct memory_curve *curve, double most, struct text *out)
{
    text_addf(out,
              "<td><svg width=\"%g\" height=\"%g\" role=\"img\" aria-label=\"memory over time\"><polyline points=\"",
              CURVE_WIDTH, CURVE_HEIGHT);
    for (size_t i = 0; i < curve->count && most > 0; i++)
        if (curve->points[i] >= 0)
            text_addf(out, "%.1f,%.1f ", CURVE_WIDTH * (double)i / fmax((double)curve->count - 1, 1),
                      1 + (CURVE_HEIGHT - 2) * (1 - curve->points[i] / most));
    text_add(out, "\"/></svg></td>");
}

static void add_context(struct text *out, const struct pairs_model *model)
{
    bool exact = model->context_bytes.valid;
    struct reading context = mib(exact ? model->context_bytes : model->shape.context);
    AUTO_FREE char *text = context.valid ? mem_printf("%s%.0f", exact ? "" : "≤ ", context.value) : mem_strdup("–");
    html_cell(out, "", text);
}

static void add_models(const struct feasibility *study, struct text *out)
{
    double most = 0;
    for (size_t i = 0; i < study->model_count; i++)
        most = fmax(most, study->models[i].curve.peak_bytes);
    text_add(out,
             "<h2>Each model alone</h2>\n<div class=scroll><table><tr><th class=l>model<th>memory<th>peak, MiB<th>"
             "steady, MiB<th>start-up, s<th>context, MiB<th>margin, MiB<th>known by<th>epoch, s<th>joules<th></tr>\n");
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *model = &study->models[i];
        text_add(out, "<tr>");
        html_cell(out, "l", model->name);
        add_curve(&model->curve, most, out);
        add_number(out, 0, mib(model->shape.peak));
        add_number(out, 0, mib(model->shape.steady));
        add_number(out, 0, model->shape.startup_s);
        add_context(out, model);
        add_number(out, 0, known_mib(model->curve.any, model->margin_bytes));
        html_cell(out, "", model->curve.any ? pairs_source_name(model->source) : "–");
        add_number(out, 1, model->seconds);
        add_number(out, 0, model->joules);
        html_cell(out, model->succeeded ? "" : "bad", !model->ran ? "not run" : model->succeeded ? "" : "failed");
        text_add(out, "</tr>\n");
    }
    text_add(out,
             "</table></div>\n<p class=dim>Known by: counted in the program, to the byte; or what the driver told of "
             "the job's processes, or of the device, about once a second.</p>\n");
}

static const char *told(const struct pairs_pair *pair)
{
    return !pair->prediction.known ? "?" : pair->prediction.fits ? "fits" : "does not fit";
}

static const char *real(const struct pairs_outcome *outcome)
{
    return !outcome->ran                ? "not run"
           : outcome->out_of_memory     ? "out of memory"
           : !outcome->started          ? "did not start"
           : !outcome->finished         ? "failed"
           : outcome->background_failed ? "background failed"
                                        : pairs_result_name(outcome->result);
}

/* Where it was not as predicted, it is neither good nor bad; what is not proven is open. */
static const char *kind(const struct pairs_pair *pair)
{
    bool fits = pair->prediction.fits, worked = pair->outcome.result == PAIRS_PROVEN;
    if (pair->outcome.result == PAIRS_NOT_PROVEN)
        return "open";
    if (!pair->outcome.ran)
        return !pair->prediction.known ? "" : fits ? "good" : "bad";
    return pair->prediction.known && fits != worked ? "odd" : worked ? "good" : "bad";
}

static const struct pairs_pair *pair_of(const struct feasibility *study, size_t foreground, size_t background)
{
    for (size_t i = 0; i < study->pair_count; i++)
        if (study->pairs[i].foreground == foreground && study->pairs[i].background == background)
            return &study->pairs[i];
    return NULL;
}

static void add_matrix(const struct feasibility *study, struct text *out)
{
    text_add(out,
             "<h2>Predicted and real</h2>\n<div class=scroll><table class=m><tr><th class=l>foreground \\ background");
    for (size_t i = 0; i < study->model_count; i++) {
        text_add(out, "<th>");
        html_text(out, study->models[i].name);
    }
    text_add(out, "</tr>\n");
    for (size_t i = 0; i < study->model_count; i++) {
        text_add(out, "<tr><th class=l>");
        html_text(out, study->models[i].name);
        for (size_t j = 0; j < study->model_count; j++) {
            const struct pairs_pair *pair = pair_of(study, i, j);
            text_addf(out, "<td class=\"%s\">", pair ? kind(pair) : "");
            if (pair)
                text_addf(out, "%s<br>%s", told(pair), real(&pair->outcome));
            text_add(out, "</td>");
        }
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n<p class=dim>Above: predicted; below: what was. "
                  "Yellow: not as predicted. Hatched: not proven, so nothing is known.</p>\n");
}

static struct reading percent(struct reading pair, struct reading serial)
{
    bool valid = pair.valid && serial.valid && serial.value > 0;
    return (struct reading){valid ? 100 * (pair.value / serial.value - 1) : 0, valid};
}

static void add_pairs(const struct feasibility *study, struct text *out)
{
    text_add(out,
             "<h2>Pairs</h2>\n<div class=scroll><table><tr><th class=l>foreground<th class=l>background<th>tier<th>"
             "together, MiB<th>bound, MiB<th>class<th>predicted<th>real<th>verdict<th>overlap, s<th>peak in it, MiB"
             "<th>experiments<th>background's loops<th>peak, "
             "MiB<th>slower<th>background slower"
             "<th>joules<th>background's joules<th>energy, %</tr>\n");
    for (size_t i = 0; i < study->pair_count; i++) {
        const struct pairs_pair *pair = &study->pairs[i];
        const struct pairs_prediction *prediction = &pair->prediction;
        const struct pairs_outcome *outcome = &pair->outcome;
        text_add(out, "<tr>");
        html_cell(out, "l", study->models[pair->foreground].name);
        html_cell(out, "l", study->models[pair->background].name);
        html_cell(out, "", prediction->known ? pairs_tier_name(prediction->tier) : "–");
        add_number(out, 0, known_mib(prediction->known, prediction->aligned_bytes));
        add_number(out, 0, known_mib(prediction->known, prediction->safe_bytes));
        html_cell(out, "", prediction->known ? pairs_risk_name(prediction->risk) : "–");
        html_cell(out, "", told(pair));
        html_cell(out, kind(pair), real(outcome));
        html_cell(out, outcome->verdict > VERDICT_CLEAN ? "odd" : "",
                  outcome->verdict == VERDICT_NONE ? "–" : verdict_name(outcome->verdict));
        add_number(out, 1, (struct reading){outcome->overlap_s, outcome->seen});
        add_number(out, 0, known_mib(outcome->together_bytes > 0, outcome->together_bytes));
        add_number(out, 0, (struct reading){(double)outcome->experiments, outcome->ran});
        add_number(out, 0, (struct reading){(double)outcome->loops, outcome->ran});
        add_number(out, 0, mib(outcome->peak_bytes));
        add_number(out, 2, outcome->slowdown);
        add_number(out, 2, outcome->background_slowdown);
        add_number(out, 2, outcome->joules_ratio);
        add_number(out, 2, outcome->background_joules_ratio);
        add_number(out, 0, percent(outcome->pair_joules, outcome->serial_joules));
        text_add(out, "</tr>\n");
    }
    text_addf(
        out,
        "</table></div>\n<p class=dim>Overlap: both were seen training at the same time, in clean experiments. A pair "
        "is proven when that was %g s and both were at their peaks at once. Peak in it: the most that both had then. "
        "Peak: of both on the GPU, about once a second.</p>\n",
        study->overlap_s);
}

static void add_pair_item(const struct feasibility *study, const struct pairs_pair *pair, const char *title, bool *any,
                          struct text *out)
{
    if (!*any)
        text_addf(out, "<h2>%s</h2>\n<ul>", title);
    *any = true;
    text_add(out, "<li>");
    html_text(out, study->models[pair->foreground].name);
    text_add(out, " beside ");
    html_text(out, study->models[pair->background].name);
    text_add(out, ": ");
}

static void add_unproven(const struct feasibility *study, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < study->pair_count; i++)
        if (study->pairs[i].outcome.why) {
            add_pair_item(study, &study->pairs[i], "Not proven, so not recommended", &any, out);
            html_text(out, study->pairs[i].outcome.why);
            text_add_char(out, '\n');
        }
    text_add(out, any ? "</ul>\n" : "");
}

static void add_evidence(const struct feasibility *study, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < study->pair_count; i++) {
        const struct pairs_pair *pair = &study->pairs[i];
        json_t *evidence = pairs_evidence(&pair->outcome);
        for (size_t k = 0; k < json_array_size(evidence); k++) {
            const json_t *item = json_array_get(evidence, k);
            const char *text = json_string_value(json_object_get(item, "text"));
            add_pair_item(study, pair, "Evidence against experiments of pairs", &any, out);
            text_addf(out, "%s, ", json_string_value(json_object_get(item, "weight")));
            html_text(out, json_string_value(json_object_get(item, "kind")));
            text_addf(out, ", in %lld of %zu experiments: ", json_integer_value(json_object_get(item, "experiments")),
                      pair->outcome.experiments);
            html_text(out, text ? text : "");
            text_add_char(out, '\n');
        }
        json_decref(evidence);
    }
    text_add(out, any ? "</ul>\n" : "");
}

static void add_attribution(const struct feasibility *study, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < study->pair_count; i++) {
        AUTO_FREE char *why = feasibility_attribution_text(&study->pairs[i].outcome.attribution);
        if (!why)
            continue;
        add_pair_item(study, &study->pairs[i], "Energy that cannot be attributed", &any, out);
        html_text(out, why);
        text_add_char(out, '\n');
    }
    text_add(out, any ? "</ul>\n" : "");
}

static void add_failure(const char *first, const char *second, const char *cause, const char *proposal, bool *any,
                        struct text *out)
{
    text_add(out, *any ? "<li>" : "<h2>What failed</h2>\n<ul><li>");
    *any = true;
    html_text(out, first);
    text_add(out, second ? " beside " : " alone");
    html_text(out, second ? second : "");
    text_add(out, ": ");
    html_text(out, cause);
    text_add(out, "<br>Try: ");
    html_text(out, proposal ? proposal : "");
    text_add_char(out, '\n');
}

static void add_failures(const struct feasibility *study, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < study->model_count; i++)
        if (study->models[i].ran && !study->models[i].succeeded)
            add_failure(study->models[i].name, NULL, study->models[i].error, study->models[i].proposal, &any, out);
    for (size_t i = 0; i < study->pair_count; i++) {
        const struct pairs_pair *pair = &study->pairs[i];
        if (pair->outcome.cause)
            add_failure(study->models[pair->foreground].name, study->models[pair->background].name, pair->outcome.cause,
                        pair->outcome.proposal, &any, out);
    }
    text_add(out, any ? "</ul>\n" : "");
}

static void add_criteria(const struct feasibility *study, struct text *out)
{
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(study, criteria);
    text_add(out, "<h2>Criteria</h2>\n<table>\n");
    for (size_t i = 0; i < PAIRS_CRITERIA; i++) {
        const struct pairs_criterion *criterion = &criteria[i];
        text_add(out, "<tr>");
        html_cell(out, "l", criterion->what);
        html_cell(out,
                  !criterion->known ? ""
                  : criterion->met  ? "good"
                                    : "bad",
                  !criterion->known ? "not known"
                  : criterion->met  ? "met"
                                    : "not met");
        html_cell(out, "l", criterion->detail);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table>\n");
}

void feasibility_page(const struct feasibility *study, struct text *out)
{
    html_begin(out, "Which trainings fit together", style);
    text_add(out, "<h1>Which trainings fit on one GPU together</h1>\n");
    if (study->room.total_bytes > 0)
        text_addf(out, "<p class=dim>GPU: %.0f MiB, of which %.0f MiB are free for trainings</p>\n",
                  study->room.total_bytes / BYTES_PER_MIB, study->room.available_bytes / BYTES_PER_MIB);
    else
        text_add(out, "<p class=dim>No GPU memory was measured, so nothing can be predicted</p>\n");
    if (study->pair_count > 0) {
        AUTO_FREE char *counts = feasibility_counts_text(study);
        text_addf(out, "<p class=headline>%s</p>\n", counts);
        add_matrix(study, out);
    }
    add_models(study, out);
    if (study->pair_count > 0)
        add_pairs(study, out);
    add_unproven(study, out);
    add_evidence(study, out);
    add_attribution(study, out);
    add_failures(study, out);
    add_criteria(study, out);
    html_end(out);
}
