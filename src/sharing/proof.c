#include "sharing/proof.h"
#include "sharing/outcome.h"
#include "sharing/overlap.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "sharing/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pairs_result_name(enum pairs_result result)
{
    static const char *const names[] = {"not run", "failed", "not proven", "proven"};
    return names[result];
}

/* When the loop that then ran had begun. */
static struct reading loop_start(const struct result *result, double t_s)
{
    struct reading found = {0};
    EACH (loop, result->loops, result->loop_count)
        if (loop->start_s.valid && loop->start_s.value <= t_s)
            found = loop->start_s;
    return found;
}

static void measure_overlap(const struct feasibility *study, const struct pairs_pair *pair,
                            const struct result *result, struct overlap *overlap,
                            struct pairs_outcome *out)
{
    const struct overlap_alone alone[] = {[FOREGROUND] = study->models[pair->foreground].seen,
                                          [BACKGROUND] = study->models[pair->background].seen};
    size_t count;
    AUTO_FREE struct overlap_look *looks = overlap_looks_from_json(result->looks, &count);
    overlap_measure(looks, count, alone, overlap);
    out->seen = count > 0;
    out->startup_s[FOREGROUND] = overlap->first_s[FOREGROUND];
    struct reading first_s = overlap->first_s[BACKGROUND];
    struct reading start_s =
        first_s.valid ? loop_start(result, first_s.value) : (struct reading){0};
    out->startup_s[BACKGROUND] = (struct reading){first_s.value - start_s.value, start_s.valid};
}

void proof_take(const struct feasibility *study, const struct pairs_pair *pair,
                struct result *result, struct pairs_outcome *out)
{
    struct overlap overlap;
    measure_overlap(study, pair, result, &overlap, out);
    out->verdict = result->verdict != VERDICTS ? result->verdict
                   : out->finished             ? VERDICT_UNVERIFIED
                                               : VERDICT_NONE;
    out->best_clean = verdict_is_clean_success(out->verdict, out->finished);
    out->clean = out->best_clean;
    out->best_overlap_s = overlap.seconds;
    if (out->best_clean) {
        out->overlap_s = overlap.seconds;
        out->at_peaks = overlap.at_peaks;
        out->together_bytes = overlap.together_bytes;
    }
    out->measured_s = result->alone_s + out->seconds.value;
    MEM_ADD(out->runs, out->experiments) =
        (struct pairs_run){.experiment = mem_strdup(result->experiment),
                           .verdict = out->verdict,
                           .evidence = steal_ptr(result->evidence),
                           .evidence_count = result->evidence_count,
                           .seconds = out->seconds,
                           .lead_s = result->alone_s,
                           .overlap_s = {overlap.seconds, out->seen},
                           .at_peaks = overlap.at_peaks,
                           .together_bytes = overlap.together_bytes};
    result->evidence_count = 0;
}

/* A pair that failed once has failed; total, which worked, has no cause yet. */
static void add_failure(struct pairs_outcome *total, struct pairs_outcome *one)
{
    if (pairs_worked(one) || !pairs_worked(total))
        return;
    total->started = one->started;
    total->finished = one->finished;
    total->out_of_memory = one->out_of_memory;
    total->background_failed = one->background_failed;
    total->cause = steal_ptr(one->cause);
    total->proposal = steal_ptr(one->proposal);
}

static void keep_better_figures(struct pairs_outcome *total, const struct pairs_outcome *one)
{
    bool better = one->best_clean != total->best_clean
                      ? one->best_clean
                      : one->best_overlap_s > total->best_overlap_s;
    if (!one->finished || !better)
        return;
    total->seconds = one->seconds;
    total->background_seconds = one->background_seconds;
    total->slowdown = one->slowdown;
    total->background_slowdown = one->background_slowdown;
    total->joules = one->joules;
    total->background_joules = one->background_joules;
    total->joules_ratio = one->joules_ratio;
    total->background_joules_ratio = one->background_joules_ratio;
    total->pair_joules = one->pair_joules;
    total->serial_joules = one->serial_joules;
    total->attribution = one->attribution;
    total->best_clean = one->best_clean;
    total->best_overlap_s = one->best_overlap_s;
}

void proof_add(struct pairs_outcome *total, struct pairs_outcome *one)
{
    if (!total->ran) {
        *total = *one;
        return;
    }
    add_failure(total, one);
    keep_better_figures(total, one);
    total->clean += one->clean;
    total->loops += one->loops;
    total->metrics = one->metrics > total->metrics ? one->metrics : total->metrics;
    total->verdict = one->verdict > total->verdict ? one->verdict : total->verdict;
    total->overlap_s += one->overlap_s;
    total->at_peaks += one->at_peaks;
    total->together_bytes = fmax(total->together_bytes, one->together_bytes);
    total->seen = total->seen || one->seen;
    total->measured_s += one->measured_s;
    if (one->peak_bytes.valid && !(total->peak_bytes.value > one->peak_bytes.value))
        total->peak_bytes = one->peak_bytes;
    for (int side = 0; side < OVERLAP_SIDES; side++)
        if (one->startup_s[side].valid)
            total->startup_s[side] = one->startup_s[side];
    EACH (run, one->runs, one->experiments)
        MEM_ADD(total->runs, total->experiments) = *run;
    one->experiments = 0;
    pairs_outcome_fini(one);
}

/* New: with no experiment. */
static struct pairs_kind *find_evidence_kind(struct pairs_outcome *out,
                                             const struct pairs_evidence *evidence)
{
    EACH (kind, out->kinds, out->kind_count)
        if (strcmp(kind->kind, evidence->kind) == 0)
            return kind;
    struct pairs_kind *kind = &MEM_ADD(out->kinds, out->kind_count);
    *kind = (struct pairs_kind){.kind = evidence->kind,
                                .text = evidence->text ? evidence->text : "",
                                .weight = evidence_weight(evidence->kind)};
    return kind;
}

static void count_evidence_kinds(struct pairs_outcome *out)
{
    free(out->kinds);
    out->kinds = NULL;
    out->kind_count = 0;
    EACH (run, out->runs, out->experiments)
        EACH (evidence, run->evidence, run->evidence_count) {
            if (!evidence->kind || evidence_weight(evidence->kind) == EVIDENCE_RECORDED)
                continue;
            struct pairs_kind *kind = find_evidence_kind(out, evidence);
            kind->experiments += kind->last != run;
            kind->last = run;
        }
}

char *pairs_kinds_text(const struct pairs_outcome *outcome, const char *between)
{
    AUTO_TEXT struct text text = {0};
    EACH (kind, outcome->kinds, outcome->kind_count)
        text_addf(&text, "%s%s", text.length ? between : "", kind->kind);
    return text_take(&text);
}

struct reading pairs_peaks_alone(const struct feasibility *study, const struct pairs_pair *pair)
{
    const struct overlap_alone *fore = &study->models[pair->foreground].seen;
    const struct overlap_alone *back = &study->models[pair->background].seen;
    bool known = fore->peak_bytes > 0 && back->peak_bytes > 0;
    return (struct reading){known ? fore->peak_bytes + back->peak_bytes : 0, known};
}

static const char *plural_suffix(size_t count)
{
    return count == 1 ? "" : "s";
}

/* For a pair that ran without a failure. */
static char *explain_not_proven(const struct feasibility *study, const struct pairs_pair *pair)
{
    const double mib = 1048576;
    const struct pairs_model *fore = &study->models[pair->foreground],
                             *back = &study->models[pair->background];
    const struct pairs_outcome *out = &pair->outcome;
    struct reading peaks = pairs_peaks_alone(study, pair);
    char took[32];
    clock_format_duration(out->measured_s, took);
    if (!peaks.valid)
        return mem_printf("how much GPU memory %s has alone was not seen",
                          fore->seen.peak_bytes > 0 ? back->name : fore->name);
    if (out->clean == 0) {
        AUTO_FREE char *kinds = pairs_kinds_text(out, ", ");
        return mem_printf("no experiment of %zu was clean, the worst is %s%s%s", out->experiments,
                          verdict_name(out->verdict), *kinds ? ": " : "", kinds);
    }
    if (!out->seen)
        return mem_strdup("which of the two had how much of the GPU was not seen");
    if (out->overlap_s <= 0 && !out->startup_s[FOREGROUND].valid)
        return mem_printf("%s was never seen training beside %s", fore->name, back->name);
    if (out->overlap_s <= 0 && !out->startup_s[BACKGROUND].valid)
        return mem_printf("%s was never seen training beside %s", back->name, fore->name);
    if (out->overlap_s <= 0)
        return mem_printf(
            "they were never seen training at the same time, in %zu experiment%s of %s in all",
            out->clean, plural_suffix(out->clean), took);
    if (out->at_peaks == 0)
        return mem_printf(
            "they trained at the same time for %.1f s, but were never both at their peaks: at most "
            "%.0f MiB together, and their peaks alone are %.0f MiB",
            out->overlap_s, out->together_bytes / mib, peaks.value / mib);
    return mem_printf(
        "they trained at the same time for %.1f s, less than the %g s that are asked for, in %zu "
        "experiment%s of %s in all",
        out->overlap_s, study->overlap_s, out->clean, plural_suffix(out->clean), took);
}

void proof_judge(const struct feasibility *study, struct pairs_pair *pair)
{
    struct pairs_outcome *out = &pair->outcome;
    free(out->why);
    out->why = NULL;
    out->standalone_peaks = pairs_peaks_alone(study, pair);
    count_evidence_kinds(out);
    bool proven = out->overlap_s >= study->overlap_s && out->overlap_s > 0 && out->at_peaks > 0;
    out->result = !out->ran            ? PAIRS_NOT_RUN
                  : !pairs_worked(out) ? PAIRS_FAILED
                  : proven             ? PAIRS_PROVEN
                                       : PAIRS_NOT_PROVEN;
    if (out->result == PAIRS_PROVEN)
        out->verdict = VERDICT_CLEAN;
    if (out->result == PAIRS_NOT_PROVEN)
        out->why = explain_not_proven(study, pair);
}

struct pairs_counts feasibility_counts(const struct feasibility *study)
{
    struct pairs_counts counts = {0};
    EACH (pair, study->pairs, study->pair_count) {
        counts.of[pair->outcome.result]++;
        counts.recommended += pairs_is_recommended(pair);
    }
    return counts;
}

/* Of one start of the background to the next. */
static double period_s(const struct feasibility *study, const struct pairs_pair *pair)
{
    const struct reading beside = pair->outcome.background_seconds;
    const struct reading alone = study->models[pair->background].seconds;
    return (beside.valid ? beside.value : alone.value) + study->timing.restart_s;
}

static struct reading startup_s(const struct pairs_model *model, struct reading beside)
{
    return beside.valid ? beside : model->shape.startup_s;
}

bool proof_start_after(const struct feasibility *study, const struct pairs_pair *pair, double *out)
{
    const struct pairs_model *fore = &study->models[pair->foreground],
                             *back = &study->models[pair->background];
    struct reading first = startup_s(fore, pair->outcome.startup_s[FOREGROUND]);
    struct reading second = startup_s(back, pair->outcome.startup_s[BACKGROUND]);
    if (!first.valid || !second.valid || !back->seconds.valid)
        return false;
    const double startup[] = {[FOREGROUND] = first.value, [BACKGROUND] = second.value};
    *out = round(1000 * overlap_start_after(startup, period_s(study, pair))) / 1000;
    return true;
}

/* A loop of the background must train for so much of its time to be waited for until its load
 * holds. */
static const double MOSTLY = 0.6;

bool proof_is_aligned(const struct feasibility *study, const struct pairs_pair *pair)
{
    const struct pairs_model *back = &study->models[pair->background];
    double unused;
    if (!proof_start_after(study, pair, &unused))
        return false;
    double trains_s = back->seconds.value - back->shape.startup_s.value;
    return pair->outcome.ran || trains_s < study->hold_s + 1 ||
           trains_s < MOSTLY * period_s(study, pair);
}

/* More rounds without any gain than this, and more of them would not help. */
enum { WITHOUT_GAIN = 2, AGAIN_MOST = 20 };

int proof_again(const struct feasibility *study, const struct pairs_pair *pair)
{
    const struct pairs_outcome *out = &pair->outcome;
    if (out->result != PAIRS_NOT_PROVEN || !pairs_peaks_alone(study, pair).valid || !out->seen ||
        out->without_gain >= WITHOUT_GAIN || out->verdict == VERDICT_UNVERIFIED ||
        !(out->measured_s > 0))
        return 0;
    double each_s = out->measured_s / (double)out->experiments,
           left = floor((study->pair_s - out->measured_s) / each_s);
    double gain_s = out->clean ? out->overlap_s / (double)out->clean : 0;
    double count = gain_s > 0 ? ceil((study->overlap_s - out->overlap_s) / gain_s) : 1;
    count = fmin(fmin(fmax(count, 1), left), AGAIN_MOST);
    return count >= 1 ? (int)count : 0;
}

/* What a study must show for its predictions to be believed. */

static void set_criterion(struct pairs_criterion *out, const char *what, size_t met, size_t of,
                          const char *things)
{
    *out = (struct pairs_criterion){.what = what, .known = of > 0, .met = met == of};
    snprintf(out->detail, sizeof out->detail, "%zu of %zu %s", met, of, things);
}

static void count_models(const struct feasibility *study, struct pairs_criterion *out)
{
    size_t met = 0, ran = 0;
    EACH (model, study->models, study->model_count) {
        ran += model->ran;
        met += model->succeeded;
    }
    set_criterion(out, "every model runs alone to its end", met, ran, "models");
}

struct counts {
    size_t ran, predicted; /* predicted: to fit */
    size_t started, finished, kept, proven, wrong_fit, wrong_miss, missed;
};

/* Of pairs that were predicted to fit: whether they started, finished, and kept their
 * background. */
static void count_pair(const struct pairs_pair *pair, struct counts *counts)
{
    const struct pairs_outcome *outcome = &pair->outcome;
    bool proven = outcome->result == PAIRS_PROVEN;
    if (!outcome->ran || !pair->prediction.known)
        return;
    counts->ran++;
    if (!pair->prediction.fits) {
        counts->missed++;
        counts->wrong_miss += proven;
        return;
    }
    counts->predicted++;
    counts->started += outcome->started;
    counts->finished += outcome->finished;
    counts->kept += !outcome->background_failed;
    counts->proven += proven;
    counts->wrong_fit += outcome->out_of_memory;
}

void feasibility_criteria(const struct feasibility *study,
                          struct pairs_criterion out[PAIRS_CRITERIA])
{
    struct counts counts = {0};
    EACH (pair, study->pairs, study->pair_count)
        count_pair(pair, &counts);
    const char *pairs = "pairs predicted to fit";
    count_models(study, &out[0]);
    set_criterion(&out[1], "every pair predicted to fit starts", counts.started, counts.predicted,
                  pairs);
    set_criterion(&out[2], "its foreground finishes its epoch", counts.finished, counts.predicted,
                  pairs);
    set_criterion(&out[3], "its background goes on beside it", counts.kept, counts.predicted,
                  pairs);
    set_criterion(&out[4], "none of them runs out of memory", counts.predicted - counts.wrong_fit,
                  counts.predicted, pairs);
    set_criterion(&out[5], "at most one pair predicted not to fit does",
                  counts.missed - counts.wrong_miss, counts.missed,
                  "pairs predicted not to fit did not");
    out[5].met = counts.wrong_miss <= 1;
    set_criterion(&out[6], "every pair predicted to fit is proven", counts.proven, counts.predicted,
                  pairs);
}
