#include "report/feasibility_text.h"

#include "base/mem.h"
#include "report/html.h"
#include "report/table.h"

#include <math.h>

#define CURVE_WIDTH  160.0
#define CURVE_HEIGHT 28.0

static const double BYTES_PER_MIB = 1048576;

static const char style[] =
    ".good{background:var(--clean-soft)}.bad{background:var(--contaminated-soft)}.odd{background:var(--suspect-soft)}"
    ".open{background:repeating-linear-gradient(-45deg,var(--line) 0 2px,transparent 2px 8px)}"
    "polyline{fill:none;stroke:var(--power);stroke-width:1.5}";

static char *number(int decimals, struct reading reading)
{
    return reading.valid ? mem_printf("%.*f", decimals, reading.value) : mem_strdup("–");
}

static char *mib(struct reading bytes)
{
    return number(0, (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid});
}

static char *known_mib(bool known, double bytes)
{
    return mib((struct reading){bytes, known});
}

/* Markup; all against the same height, so that they can be compared. */
static char *curve_figure(const struct memory_curve *curve, double most)
{
    struct text out = {0};
    text_addf(&out, "<svg width=%g height=%g role=img aria-label=\"memory over time\"><polyline points=\"", CURVE_WIDTH,
              CURVE_HEIGHT);
    for (size_t i = 0; i < curve->count && most > 0; i++)
        if (curve->points[i] >= 0)
            text_addf(&out, "%.1f,%.1f ", CURVE_WIDTH * (double)i / fmax((double)curve->count - 1, 1),
                      1 + (CURVE_HEIGHT - 2) * (1 - curve->points[i] / most));
    text_add(&out, "\"/></svg>");
    return text_take(&out);
}

static char *context_mib(const struct pairs_model *model)
{
    if (model->context_bytes.valid || !model->shape.context.valid)
        return mib(model->context_bytes);
    AUTO_FREE char *most = mib(model->shape.context);
    return mem_printf("≤ %s", most);
}

static void add_models(const struct feasibility *study, struct text *out)
{
    double most = 0;
    for (size_t i = 0; i < study->model_count; i++)
        most = fmax(most, study->models[i].curve.peak_bytes);
    struct table *table = table_of(false, "model", "memory", ">peak, MiB", ">steady, MiB", ">start-up, s",
                                   ">context, MiB", ">margin, MiB", "known by", ">epoch, s", ">joules", "");
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *model = &study->models[i];
        bool any = model->curve.any;
        table_row(table, mem_strdup(model->name), curve_figure(&model->curve, most), mib(model->shape.peak),
                  mib(model->shape.steady), number(0, model->shape.startup_s), context_mib(model),
                  known_mib(any, model->margin_bytes), mem_strdup(any ? pairs_source_name(model->source) : "–"),
                  number(1, model->seconds), number(0, model->joules),
                  mem_strdup(!model->ran        ? "not run"
                             : model->succeeded ? ""
                                                : "failed"));
        table_markup(table, 1);
        table_tint(table, 10, model->succeeded ? NULL : "bad");
    }
    html_heading(out, "Each model alone");
    table_end_page(table, out);
    html_line(
        out, "hint",
        "Known by: counted in the program, to the byte; or what the driver told of the job's processes, or of the "
        "device, about once a second.");
}

static const char *told(const struct pairs_pair *pair)
{
    return !pair->prediction.known ? "?" : pair->prediction.fits ? "fits" : "does not fit";
}

/* Where it was not as predicted, it is neither good nor bad; what is not proven is open. */
static const char *kind(const struct pairs_pair *pair)
{
    bool fits = pair->prediction.fits, worked = pair->outcome.result == PAIRS_PROVEN;
    if (pair->outcome.result == PAIRS_NOT_PROVEN)
        return "open";
    if (!pair->outcome.ran)
        return !pair->prediction.known ? NULL : fits ? "good" : "bad";
    return pair->prediction.known && fits != worked ? "odd" : worked ? "good" : "bad";
}

static void add_matrix(const struct feasibility *study, struct text *out)
{
    struct table *table = table_new(false);
    table_add_column(table, "foreground \\ background", false);
    for (size_t i = 0; i < study->model_count; i++)
        table_add_column(table, study->models[i].name, false);
    for (size_t i = 0; i < study->model_count; i++) {
        table_add_row(table);
        table_add_cell(table, study->models[i].name, NULL);
        for (size_t j = 0; j < study->model_count; j++) {
            const struct pairs_pair *pair = feasibility_pair(study, i, j);
            AUTO_FREE char *both =
                pair ? mem_printf("%s<br>%s", told(pair), feasibility_real_text(&pair->outcome)) : NULL;
            table_add_cell(table, both, pair ? kind(pair) : NULL);
            table_markup(table, j + 1);
        }
    }
    html_heading(out, "Predicted and real");
    table_end_page(table, out);
    html_line(out, "hint",
              "Above: predicted; below: what was. Yellow: not as predicted. Hatched: not proven, so nothing is known.");
}

static struct reading percent(struct reading pair, struct reading serial)
{
    bool valid = pair.valid && serial.valid && serial.value > 0;
    return (struct reading){valid ? 100 * (pair.value / serial.value - 1) : 0, valid};
}

static void add_pair(struct table *table, const struct feasibility *study, const struct pairs_pair *pair)
{
    const struct pairs_prediction *prediction = &pair->prediction;
    const struct pairs_outcome *outcome = &pair->outcome;
    table_row(
        table, mem_strdup(study->models[pair->foreground].name), mem_strdup(study->models[pair->background].name),
        mem_strdup(prediction->known ? pairs_tier_name(prediction->tier) : "–"),
        known_mib(prediction->known, prediction->aligned_bytes), known_mib(prediction->known, prediction->safe_bytes),
        mem_strdup(prediction->known ? pairs_risk_name(prediction->risk) : "–"),
        mem_strdup(prediction->known ? pairs_risk_name(prediction->size_risk) : "–"), mem_strdup(told(pair)),
        mem_strdup(feasibility_real_text(outcome)),
        mem_strdup(outcome->verdict == VERDICT_NONE ? "–" : verdict_name(outcome->verdict)),
        number(1, (struct reading){outcome->overlap_s, outcome->seen}),
        known_mib(outcome->together_bytes > 0, outcome->together_bytes),
        number(0, (struct reading){(double)outcome->experiments, outcome->ran}),
        number(0, (struct reading){(double)outcome->loops, outcome->ran}), mib(outcome->peak_bytes),
        number(2, outcome->slowdown), number(2, outcome->background_slowdown), number(2, outcome->joules_ratio),
        number(2, outcome->background_joules_ratio), number(0, percent(outcome->pair_joules, outcome->serial_joules)));
    table_tint(table, 8, kind(pair));
    table_tint(table, 9, outcome->verdict > VERDICT_CLEAN ? "odd" : NULL);
}

static void add_pairs(const struct feasibility *study, struct text *out)
{
    struct table *table = table_of(false, "foreground", "background", "tier", ">together, MiB", ">bound, MiB", "class",
                                   "class by MB", "predicted", "real", "verdict", ">overlap, s", ">peak in it, MiB",
                                   ">experiments", ">background's loops", ">peak, MiB", ">slower", ">background slower",
                                   ">joules", ">background's joules", ">energy, %");
    for (size_t i = 0; i < study->pair_count; i++)
        add_pair(table, study, &study->pairs[i]);
    html_heading(out, "Pairs");
    table_end_page(table, out);
    AUTO_FREE char *words = mem_printf("Overlap: both were seen training at the same time, in clean experiments. A "
                                       "pair is proven when that was %g s and "
                                       "both were at their peaks at once. Peak in it: the most that both had then. "
                                       "Peak: of both on the GPU, about once a "
                                       "second.",
                                       study->overlap_s);
    html_line(out, "hint", words);
}

struct list {
    struct text *out;
    const char *title; /* of the list that is begun; NULL: none */
};

static void add_finding(const char *title, const char *text, const char *proposal, void *context)
{
    struct list *list = context;
    if (list->title != title) {
        text_add(list->out, list->title ? "</ul>\n" : "");
        html_heading(list->out, title);
        text_add(list->out, "<ul>");
    }
    list->title = title;
    text_add(list->out, "<li>");
    html_text(list->out, text);
    text_add(list->out, proposal ? "<br>Try: " : "");
    html_text(list->out, proposal ? proposal : "");
    text_add(list->out, "</li>\n");
}

static void add_criteria(const char *title, const struct pairs_criterion *criteria, size_t count, struct text *out)
{
    struct table *table = table_of(false, "", "", "");
    for (size_t i = 0; i < count; i++) {
        bool known = criteria[i].known, met = criteria[i].met;
        table_row(table, mem_strdup(criteria[i].what),
                  mem_strdup(!known ? "not known"
                             : met  ? "met"
                                    : "not met"),
                  mem_strdup(criteria[i].detail));
        table_tint(table, 1, !known ? NULL : met ? "good" : "bad");
    }
    html_heading(out, title);
    table_end_page(table, out);
}

static void add_all_criteria(const struct feasibility *study, struct text *out)
{
    struct pairs_criterion criteria[PAIRS_CRITERIA], limits[LIMITS_CRITERIA];
    feasibility_criteria(study, criteria);
    limits_criteria(study, limits);
    add_criteria("Criteria", criteria, PAIRS_CRITERIA, out);
    html_heading(out, "Success by memory");
    table_end_page(feasibility_tiers(study, false, "bad"), out);
    add_criteria("The study's criteria", limits, LIMITS_CRITERIA, out);
}

void feasibility_page(const struct feasibility *study, struct text *out)
{
    const struct html_page page = {.title = "Which trainings fit on one GPU together", .style = style};
    struct list list = {.out = out};
    AUTO_FREE char *room =
        study->room.total_bytes > 0
            ? mem_printf("GPU: %.0f MiB, of which %.0f MiB are free for trainings",
                         study->room.total_bytes / BYTES_PER_MIB, study->room.available_bytes / BYTES_PER_MIB)
            : mem_strdup("No GPU memory was measured, so nothing can be predicted");
    html_begin(out, &page);
    html_line(out, "hint", room);
    if (study->pair_count > 0) {
        AUTO_FREE char *counts = feasibility_counts_text(study);
        html_line(out, "sentence", counts);
        add_matrix(study, out);
    }
    add_models(study, out);
    if (study->pair_count > 0)
        add_pairs(study, out);
    feasibility_findings(study, add_finding, &list);
    text_add(out, list.title ? "</ul>\n" : "");
    add_all_criteria(study, out);
    html_end(out, &page);
}
