#include "report/feasibility_text.h"
#include "sharing/alone.h"
#include "sharing/limits.h"
#include "sharing/proof.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/audit_text.h"
#include "report/columns.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

static const char *const green = "\x1b[32m", *const yellow = "\x1b[33m", *const red = "\x1b[31m";

/* Columns that a narrow window goes without, the least important first; names become shorter
 * before. */
enum { DROPS = 4, NAME_NARROW = 14, NAME_WIDE = 40, SCHEDULE_NAME = 18 };

struct view {
    const struct feasibility *study;
    const struct feasibility_text_options *options;
    size_t drop; /* so many are left out */
    size_t name; /* columns of a name at most */
};

static char *known_size(bool known, double bytes)
{
    return amounts_size((struct reading){bytes, known});
}

/* Renders with fewer columns and shorter names until the table fits. */
static void render_to_width(struct view *view,
                            void (*render)(const struct view *view, struct text *out),
                            struct text *out)
{
    size_t steps = view->options->width ? DROPS + 3 : 1;
    for (size_t i = 0; i < steps; i++) {
        AUTO_TEXT struct text text = {0};
        view->name = i == 0 ? NAME_WIDE : i == 1 ? (NAME_WIDE + NAME_NARROW) / 2 : NAME_NARROW;
        view->drop = i < 2 ? 0 : i - 2;
        render(view, &text);
        if (table_widest(text_get(&text)) <= view->options->width || i + 1 == steps) {
            text_add(out, text_get(&text));
            return;
        }
    }
}

static char *model_name_text(const struct view *view, size_t model)
{
    return audit_text_fit(view->study->models[model].name, view->name);
}

static char *context_text(const struct pairs_model *model)
{
    if (model->context_bytes.valid)
        return amounts_size(model->context_bytes);
    AUTO_FREE char *most = amounts_size(model->shape.context);
    return model->shape.context.valid ? mem_printf("≤ %s", most) : mem_strdup("-");
}

/* What the column says, as far as it does. */
static void add_sources(const struct feasibility *study, struct text *out)
{
    static const char *const meanings[] = {
        [SOURCE_COUNTED] =
            "counted: in the program, to the byte, and what its CUDA context has beyond that",
        [SOURCE_JOB] = "job: what the driver told of its processes about once a second",
        [SOURCE_DEVICE] =
            "device: what was in use on the GPU, less what was before, about once a second",
    };
    for (size_t source = 0; source < sizeof meanings / sizeof *meanings; source++) {
        size_t count = 0;
        EACH (model, study->models, study->model_count)
            count += model->curve.any && model->source == source;
        if (count > 0)
            text_addf(out, "%s\n", meanings[source]);
    }
}

static void render_models(const struct view *view, struct text *out)
{
    struct table *table =
        table_of(view->options->colour, "MODEL ALONE", ">PEAK", ">STEADY",
                 view->drop < 1 ? ">START-UP" : NULL, view->drop < 2 ? ">CONTEXT" : NULL, ">MARGIN",
                 "KNOWN BY", ">EPOCH", view->drop < 3 ? ">ENERGY" : NULL, "");
    for (size_t i = 0; i < view->study->model_count; i++) {
        const struct pairs_model *model = &view->study->models[i];
        table_row(table, model_name_text(view, i), amounts_size(model->shape.peak),
                  amounts_size(model->shape.steady), amounts_duration(model->shape.startup_s),
                  context_text(model), known_size(model->curve.any, model->margin_bytes),
                  mem_strdup(model->curve.any ? pairs_source_name(model->source) : "-"),
                  amounts_duration(model->seconds), amounts_joules(model->joules),
                  mem_strdup(!model->ran        ? "not run"
                             : model->succeeded ? ""
                                                : "failed"));
        table_tint(table, 9, red);
    }
    table_end(table, out);
}

static const char *real_text(const struct pairs_outcome *real)
{
    return !real->ran                ? "not run"
           : real->out_of_memory     ? "out of memory"
           : !real->started          ? "did not start"
           : !real->finished         ? "failed"
           : real->background_failed ? "background failed"
                                     : pairs_result_name(real->result);
}

static const char *real_colour(const struct pairs_outcome *real)
{
    static const char *const colours[] = {[PAIRS_NOT_RUN] = NULL,
                                          [PAIRS_FAILED] = "\x1b[31m",
                                          [PAIRS_NOT_PROVEN] = "\x1b[33m",
                                          [PAIRS_PROVEN] = "\x1b[32m"};
    return colours[real->result];
}

/* Of foreground and background, against each alone. */
static char *ratios_text(struct reading fore, struct reading back)
{
    if (!fore.valid)
        return mem_strdup("-");
    return back.valid ? mem_printf("%.2f / %.2f", fore.value, back.value)
                      : mem_printf("%.2f / -", fore.value);
}

/* Against one after the other. */
static char *saving_text(const struct pairs_outcome *real)
{
    if (!real->pair_joules.valid || !real->serial_joules.valid || !(real->serial_joules.value > 0))
        return mem_strdup("-");
    return mem_printf("%+.0f %%", 100 * (real->pair_joules.value / real->serial_joules.value - 1));
}

static void add_pair_row(const struct view *view, struct table *table,
                         const struct pairs_pair *pair)
{
    const struct pairs_prediction *told = &pair->prediction;
    const struct pairs_outcome *real = &pair->outcome;
    static const char *const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
    table_row(
        table, model_name_text(view, pair->foreground), model_name_text(view, pair->background),
        mem_strdup(told->known ? pairs_tier_name(told->tier) : "-"),
        known_size(told->known, told->aligned_bytes), known_size(told->known, told->safe_bytes),
        mem_strdup(told->known ? pairs_risk_name(told->risk) : "-"),
        mem_strdup(told->known ? pairs_risk_name(told->size_risk) : "-"),
        mem_strdup(!told->known ? "not known"
                   : told->fits ? "fits"
                                : "does not"),
        mem_strdup(real_text(real)),
        mem_strdup(real->verdict == VERDICT_NONE ? "-" : verdict_name(real->verdict)),
        amounts_duration((struct reading){real->overlap_s, real->seen}),
        real->ran ? mem_printf("%zu", real->loops) : mem_strdup("-"),
        amounts_size(real->peak_bytes), ratios_text(real->slowdown, real->background_slowdown),
        ratios_text(real->joules_ratio, real->background_joules_ratio), saving_text(real));
    table_tint(table, 5, told->known ? colours[told->risk] : NULL);
    table_tint(table, 6, told->known ? colours[told->size_risk] : NULL);
    table_tint(table, 8, real_colour(real));
    table_tint(table, 9,
               real->verdict == VERDICT_NONE    ? NULL
               : real->verdict == VERDICT_CLEAN ? green
                                                : yellow);
}

static void render_pairs(const struct view *view, struct text *out)
{
    bool some = view->drop < 4, more = view->drop < 3, most = view->drop < 2, all = view->drop < 1;
    struct table *table =
        table_of(view->options->colour, "FOREGROUND", "BACKGROUND", all ? "TIER" : NULL,
                 ">TOGETHER", some ? ">BOUND" : NULL, "CLASS", more ? "BY MB" : NULL, "PREDICTED",
                 "REAL", more ? "VERDICT" : NULL, some ? ">OVERLAP" : NULL, all ? ">LOOPS" : NULL,
                 some ? ">PEAK" : NULL, more ? ">SLOWER" : NULL, all ? ">JOULES" : NULL,
                 most ? ">ENERGY" : NULL);
    EACH (pair, view->study->pairs, view->study->pair_count)
        add_pair_row(view, table, pair);
    table_end(table, out);
}

static const struct pairs_pair *find_pair(const struct feasibility *study, size_t foreground,
                                          size_t background)
{
    EACH (pair, study->pairs, study->pair_count)
        if (pair->foreground == foreground && pair->background == background)
            return pair;
    return NULL;
}

static void pair_signs(const struct pairs_pair *pair, char out[3])
{
    static const char signs[] = {
        [PAIRS_FAILED] = '-', [PAIRS_NOT_PROVEN] = '?', [PAIRS_PROVEN] = '+'};
    memset(out, 0, 3);
    if (!pair)
        return;
    out[0] = !pair->prediction.known ? '?' : pair->prediction.fits ? '+' : '-';
    out[1] = pair->outcome.ran ? signs[pair->outcome.result] : '\0';
}

static const char *pair_colour(const struct pairs_pair *pair)
{
    if (!pair || !pair->prediction.known)
        return NULL;
    if (pair->outcome.result == PAIRS_NOT_PROVEN)
        return NULL;
    bool worked = pair->outcome.ran ? pair->outcome.result == PAIRS_PROVEN : pair->prediction.fits;
    return pair->outcome.ran && worked != pair->prediction.fits ? yellow : worked ? green : red;
}

/* As many columns at once as the window takes. */
static void add_matrix(const struct view *view, struct text *out)
{
    const struct feasibility *study = view->study;
    size_t room = view->options->width > 40 ? (view->options->width - 30) / 4 : 12;
    room = view->options->width ? room : study->model_count;
    for (size_t from = 0; from < study->model_count; from += room) {
        size_t to = from + room < study->model_count ? from + room : study->model_count;
        struct table *table = table_new(view->options->colour);
        table_add_column(table, "", true);
        table_add_column(table, "FOREGROUND \\ BACKGROUND", false);
        for (size_t j = from; j < to; j++) {
            AUTO_FREE char *title = mem_printf("%zu", j + 1);
            table_add_column(table, title, false);
        }
        for (size_t i = 0; i < study->model_count; i++) {
            table_add_row(table);
            AUTO_FREE char *number = mem_printf("%zu", i + 1),
                           *name = audit_text_fit(study->models[i].name, 22);
            table_add_cell(table, number, NULL);
            table_add_cell(table, name, NULL);
            for (size_t j = from; j < to; j++) {
                const struct pairs_pair *pair = find_pair(study, i, j);
                char signs[3];
                pair_signs(pair, signs);
                table_add_cell(table, signs, pair_colour(pair));
            }
        }
        table_end(table, out);
    }
    text_add(out, "first sign: predicted to fit (+) or not (-), ?: not known\n"
                  "second sign: proven (+), not proven (?), failed (-)\n");
}

/* Single models and pairs that stand out, in lists with a title each. */
struct findings {
    const struct feasibility *study;
    struct text *out;
    const char *title; /* of the last list; NULL: none yet */
};

static void add_titled_finding(struct findings *findings, const char *title, const char *text,
                               const char *proposal)
{
    AUTO_FREE char *safe = utf8_line(text);
    if (findings->title != title)
        text_addf(findings->out, "\n%s\n", title);
    findings->title = title;
    text_addf(findings->out, "%s\n", safe);
    if (proposal)
        text_addf(findings->out, "  try: %s\n", proposal);
}

static void add_pair_finding(struct findings *findings, const char *title,
                             const struct pairs_pair *pair, const char *text, const char *proposal)
{
    const struct pairs_model *models = findings->study->models;
    AUTO_FREE char *line = mem_printf("%s beside %s: %s", models[pair->foreground].name,
                                      models[pair->background].name, text);
    add_titled_finding(findings, title, line, proposal);
}

/* Nothing failed, and yet nothing is known. */
static void find_unproven(struct findings *findings, const struct pairs_pair *pair)
{
    if (pair->outcome.why)
        add_pair_finding(findings, "Not proven, so not recommended", pair, pair->outcome.why, NULL);
}

/* Whatever it came to. */
static void find_evidence(struct findings *findings, const struct pairs_pair *pair)
{
    EACH (kind, pair->outcome.kinds, pair->outcome.kind_count) {
        AUTO_FREE char *text =
            mem_printf("%s, %s, in %zu of %zu experiments: %s", evidence_weight_name(kind->weight),
                       kind->kind, kind->experiments, pair->outcome.experiments, kind->text);
        add_pair_finding(findings, "Evidence against experiments of pairs", pair, text, NULL);
    }
}

/* Why the energy cannot be divided between the two, in figures; NULL: it can be, or was not
 * measured. */
static char *attribution_text(const struct pairs_attribution *attribution)
{
    struct reading nobody = attribution->unattributed_share;
    AUTO_TEXT struct text text = {0};
    if (!attribution->by || attribution->possible)
        return NULL;
    if (attribution->low_j.valid && attribution->high_j.valid)
        text_addf(&text, "not separable: %.0f to %.0f J for the foreground",
                  attribution->low_j.value, attribution->high_j.value);
    if (nobody.valid)
        text_addf(&text, "%s%.0f %% of the energy is nobody's", text.length ? ", and " : "",
                  100 * nobody.value);
    if (text.length == 0)
        text_add(&text, "too little was measured");
    return text_take(&text);
}

static void find_attribution(struct findings *findings, const struct pairs_pair *pair)
{
    AUTO_FREE char *why = attribution_text(&pair->outcome.attribution);
    if (why)
        add_pair_finding(findings, "Energy that cannot be attributed", pair, why, NULL);
}

static const char *const failed_title = "What failed";

static void find_failure(struct findings *findings, const struct pairs_pair *pair)
{
    if (pair->outcome.cause)
        add_pair_finding(findings, failed_title, pair, pair->outcome.cause, pair->outcome.proposal);
}

static void find_failed_models(struct findings *findings)
{
    for (size_t i = 0; i < findings->study->model_count; i++) {
        const struct pairs_model *model = &findings->study->models[i];
        if (!model->ran || model->succeeded)
            continue;
        AUTO_FREE char *text = mem_printf("%s alone: %s", model->name, model->error);
        add_titled_finding(findings, failed_title, text, model->proposal);
    }
}

static void add_findings(const struct feasibility *study, struct text *out)
{
    static void (*const kinds[])(struct findings *, const struct pairs_pair *) = {
        find_unproven, find_evidence, find_attribution, find_failure};
    struct findings findings = {.study = study, .out = out};
    EACH_OF (kind, kinds) {
        if (*kind == find_failure)
            find_failed_models(&findings);
        EACH (pair, study->pairs, study->pair_count)
            (*kind)(&findings, pair);
    }
}

static void add_criteria(const struct pairs_criterion *criteria, size_t count, bool colour,
                         struct text *out)
{
    EACH (item, criteria, count) {
        const char *word = !item->known ? "-" : item->met ? "met" : "not met";
        const char *tint = !item->known ? "" : item->met ? green : red;
        text_addf(out, "  %s%-7s%s  %s (%s)\n", colour ? tint : "", word,
                  colour && *tint ? "\x1b[0m" : "", item->what, item->detail);
    }
}

static void add_study_limits(const struct view *view, struct text *out)
{
    bool colour = view->options->colour;
    struct pairs_criterion criteria[LIMITS_CRITERIA];
    limits_criteria(view->study, criteria);
    text_add(out, "\nSuccess by memory: the bounds in MB as the study's limits are, and as shares "
                  "of this GPU\n");
    table_end(feasibility_tiers(view->study, colour), out);
    text_add(out, "\nThe study's criteria\n");
    add_criteria(criteria, LIMITS_CRITERIA, colour, out);
}

static void add_gpu_room(const struct view *view, struct text *out)
{
    const struct feasibility *study = view->study;
    bool known = study->room.total_bytes > 0;
    AUTO_FREE char *total = amounts_size((struct reading){study->room.total_bytes, known});
    AUTO_FREE char *free_text = amounts_size((struct reading){study->room.available_bytes, known});
    if (known)
        text_addf(out, "GPU: %s, of which %s are free for trainings\n\n", total, free_text);
    else
        text_add(out, "No GPU memory was measured, so nothing can be predicted\n\n");
}

void feasibility_text(const struct feasibility *study,
                      const struct feasibility_text_options *options, struct text *out)
{
    struct view view = {.study = study, .options = options};
    add_gpu_room(&view, out);
    struct pairs_counts counts = feasibility_counts(study);
    if (study->pair_count > 0)
        text_addf(
            out, "Pairs: %zu proven, %zu not proven, %zu failed, %zu not run; recommended: %zu\n\n",
            counts.of[PAIRS_PROVEN], counts.of[PAIRS_NOT_PROVEN], counts.of[PAIRS_FAILED],
            counts.of[PAIRS_NOT_RUN], counts.recommended);
    render_to_width(&view, render_models, out);
    add_sources(study, out);
    if (study->pair_count == 0)
        return;
    text_add_char(out, '\n');
    render_to_width(&view, render_pairs, out);
    AUTO_FREE char *risks = limits_risks_text();
    text_addf(out, "class: by the share of this GPU\nby MB: of the bound, %s\n", risks);
    text_add(out, "overlap: for how long both were seen training at the same time\n");
    text_addf(out, "proven: it was %g s in clean experiments, and at both peaks\n",
              study->overlap_s);
    text_add(out, "the peak of a pair: of both on the GPU, about once a second\n\n");
    add_matrix(&view, out);
    add_findings(study, out);
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(study, criteria);
    text_add(out, "\nCriteria\n");
    add_criteria(criteria, PAIRS_CRITERIA, options->colour, out);
    add_study_limits(&view, out);
}

void schedule_text(const struct feasibility *study, const struct schedule *schedule,
                   const struct feasibility_text_options *options, struct text *out)
{
    struct table *table = table_of(options->colour, "FOREGROUND", "BACKGROUND", ">TIME", ">SAVED",
                                   ">PEAKS", "SLOWDOWN");
    char all[32], alone[32], saved[32];
    EACH (step, schedule->steps, schedule->count) {
        bool pair = step->foreground != step->background;
        table_row(
            table, audit_text_fit(study->models[step->foreground].name, SCHEDULE_NAME),
            audit_text_fit(pair ? study->models[step->background].name : "alone", SCHEDULE_NAME),
            amounts_duration((struct reading){step->seconds, true}),
            amounts_duration((struct reading){step->saved_s, pair}),
            amounts_size((struct reading){step->prediction.safe_bytes, pair}),
            pair ? mem_printf("%.2f, %s", step->slowdown, step->measured ? "measured" : "assumed")
                 : mem_strdup("-"));
    }
    table_end(table, out);
    clock_format_duration(schedule->seconds, all);
    clock_format_duration(schedule->alone_seconds, alone);
    clock_format_duration(schedule->alone_seconds - schedule->seconds, saved);
    text_addf(
        out, "%s in all, %s one after the other: saves %s; %zu pair%s, slowdown measured for %zu\n",
        all, alone, saved, schedule->pairs, schedule->pairs == 1 ? "" : "s", schedule->measured);
    EACH (item, schedule->unproven, schedule->unproven_shown)
        text_addf(out, "cannot be recommended: not proven: %s and %s\n",
                  study->models[item->foreground].name, study->models[item->background].name);
    if (schedule->unproven_count > schedule->unproven_shown)
        text_addf(out, "cannot be recommended: not proven: %zu more pairs\n",
                  schedule->unproven_count - schedule->unproven_shown);
}
