#include "sharing/outcome.h"
#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/line.h"
#include "sharing/feasibility_json.h"
#include "sharing/written.h"

#include "base/mem.h"
#include "base/text.h"
#include "gpu_memory/oom/cause.h"
#include "measure/colocated.h"
#include "sharing/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BYTES_PER_MIB = 1048576;

static struct reading ratio(struct reading a, struct reading b)
{
    return a.valid && b.valid && b.value > 0 ? (struct reading){a.value / b.value, true}
                                             : (struct reading){0};
}

static bool says_oom(const char *text)
{
    return text && oom_line_framework(text, strlen(text)) != OOM_NONE;
}

/* Of the background's loops, those that came to their end. Gives what a failed one said of it, or
 * NULL. */
static const char *read_background_loops(const struct result *result, struct pairs_outcome *out)
{
    const char *error = NULL;
    double seconds = 0, count = 0;
    EACH (loop, result->loops, result->loop_count) {
        if (loop->outcome == RESULT_FAILED)
            error = loop->error;
        /* One that ran alone to its end says nothing of two beside each other. */
        bool beside = loop->start_s.valid && loop->duration_s.valid &&
                      loop->start_s.value + loop->duration_s.value > 0;
        if (beside && loop->outcome == RESULT_SUCCEEDED) {
            seconds += loop->duration_s.value;
            count++;
        }
    }
    out->loops = result->succeeded;
    if (count > 0)
        out->background_seconds = (struct reading){seconds / count, true};
    out->background_failed = result->failed > 0;
    return error;
}

/* More than so much of the energy may not be nobody's. */
static const double UNATTRIBUTED_MOST = 0.5;

/* The foreground's energy by foreground_marginal. Records of older versions have it whatever its
 * half-width. */
static void read_marginal(const struct result *result, struct pairs_attribution *out)
{
    struct reading joules = result->marginal_j, half_j = result->half_width_j;
    out->low_j = result->low_j;
    out->high_j = result->high_j;
    if (!out->low_j.valid && !out->high_j.valid && joules.valid && half_j.valid) {
        out->low_j = (struct reading){fmax(0, joules.value - half_j.value), true};
        out->high_j = (struct reading){fmax(0, joules.value + half_j.value), true};
    }
    if (!joules.valid || !half_j.valid || half_j.value > COLOCATED_SEPARABLE * joules.value)
        return;
    out->marginal_joules = joules;
    out->half_width_j = half_j;
}

/* What can be told of the foreground's part; false: it cannot be attributed. */
static bool attribute(const struct result *result, struct reading total,
                      struct pairs_attribution *out, struct reading *mine)
{
    struct reading fore = result->foreground_mj, back = result->background_mj,
                   nobody = result->unattributed_mj;
    struct reading all = {fore.value + back.value + nobody.value,
                          fore.valid && back.valid && nobody.valid};
    *out = (struct pairs_attribution){.unattributed_share = ratio(nobody, all)};
    read_marginal(result, out);
    *mine = (struct reading){0};
    bool divided = fore.valid && back.valid && fore.value + back.value > 0;
    bool shared = divided && out->unattributed_share.valid &&
                  out->unattributed_share.value <= UNATTRIBUTED_MOST;
    bool added = out->marginal_joules.valid;
    if (shared)
        *mine = (struct reading){total.value * fore.value / (fore.value + back.value), total.valid};
    else if (added)
        *mine = out->marginal_joules;
    out->possible = mine->valid && total.valid;
    out->by = shared || (divided && !added) ? "sm_share"
              : out->high_j.valid           ? "foreground_marginal"
                                            : NULL;
    return out->possible;
}

/* The idle draw and all else that nobody is known to have caused is divided as what is known. */
static void divide(const struct result *result, struct pairs_outcome *out)
{
    struct reading total = out->pair_joules, mine;
    if (!attribute(result, total, &out->attribution, &mine))
        return;
    out->joules = mine;
    struct reading loops = ratio(out->seconds, out->background_seconds);
    if (loops.valid && loops.value > 0)
        out->background_joules = (struct reading){(total.value - mine.value) / loops.value, true};
}

static void compare_with_alone(const struct pairs_model *fore, const struct pairs_model *back,
                               struct pairs_outcome *out)
{
    struct reading loops = ratio(out->seconds, out->background_seconds);
    out->slowdown = ratio(out->seconds, fore->seconds);
    out->background_slowdown = ratio(out->background_seconds, back->seconds);
    out->joules_ratio = ratio(out->joules, fore->joules);
    out->background_joules_ratio = ratio(out->background_joules, back->joules);
    if (loops.valid && fore->joules.valid && back->joules.valid)
        out->serial_joules =
            (struct reading){fore->joules.value + loops.value * back->joules.value, true};
}

/* The remedy that ends the other process is none: that is the other half of the pair. */
static char *memory_proposal(const struct feasibility *study, const struct pairs_pair *pair,
                             const struct result *result)
{
    const struct pairs_model *fore = &study->models[pair->foreground],
                             *back = &study->models[pair->background];
    const struct pairs_model *larger =
        back->curve.peak_bytes > fore->curve.peak_bytes ? back : fore;
    double room = study->room.available_bytes - larger->curve.peak_bytes - larger->margin_bytes;
    const char *segments = result_remedy(result, "expandable_segments");
    struct text text = {0};
    text_addf(&text,
              "a smaller batch of %s, with gradient accumulation for the same effective batch",
              larger->name);
    if (segments)
        text_addf(&text, ", or %s", segments);
    if (larger->curve.any && room > 0)
        text_addf(&text, ", or beside it a model of at most %.0f MiB", room / BYTES_PER_MIB);
    return text_take(&text);
}

/* Of the background's message one line is told: what was missing, if it says that. */
static char *reason_in(const char *error)
{
    static const struct oom_circumstances nothing_known = {0};
    struct oom_diagnosis diagnosis = {0};
    struct oom_list list = {0};
    char *reason = NULL;
    oom_parse(error, strlen(error), &list);
    if (list.count > 0) {
        oom_diagnose(&list.items[list.count - 1], &nothing_known, &diagnosis);
        if (diagnosis.missing.valid && diagnosis.reasons.count > 0)
            reason = mem_strdup(diagnosis.reasons.items[0]);
        oom_diagnosis_fini(&diagnosis);
    }
    oom_list_fini(&list);
    return reason;
}

static void explain_memory(const struct feasibility *study, const struct pairs_pair *pair,
                           const struct result *result, const char *error,
                           struct pairs_outcome *out)
{
    const char *told = result->reason;
    AUTO_FREE char *reason = told ? mem_strdup(told) : reason_in(error);
    const char *who =
        study->models[out->finished || !result->oom ? pair->background : pair->foreground].name;
    out->cause = mem_printf("out of memory in %s: %s", who, reason ? reason : error);
    out->proposal = memory_proposal(study, pair, result);
}

static void explain_failure(const struct feasibility *study, const struct pairs_pair *pair,
                            const struct result *result, const char *loop_error,
                            struct pairs_outcome *out)
{
    const char *error = result_error(result), *cause = result->cause ? result->cause : "";
    bool fore_oom = strcmp(cause, "out_of_memory") == 0;
    if (!out->finished && (fore_oom || says_oom(error)))
        out->out_of_memory = true;
    if (says_oom(loop_error)) {
        out->out_of_memory = true;
        if (out->finished || !fore_oom)
            error = loop_error;
    }
    if (out->out_of_memory) {
        explain_memory(study, pair, result, error, out);
    } else if (!out->finished) {
        out->cause = mem_strdup(error);
        out->proposal = mem_strdup(
            strcmp(cause, "timeout") == 0
                ? "more time: \"timeout\" of the settings"
                : "its log says more; alone it ran, so run the pair once more by itself");
    } else if (out->background_failed) {
        out->cause = mem_printf("the background failed: %s",
                                loop_error ? loop_error : "it is not known why");
        out->proposal = mem_strdup(
            "its log in background_logs says more; or exchange foreground and background");
    }
}

/* Before the attempt, as the guard saw it last. */
static struct reading in_use_bytes(const struct result *result)
{
    struct reading bytes = {0};
    EACH (check, result->checks, result->check_count)
        if (check->phase && strcmp(check->phase, "preflight") == 0)
            bytes = check->memory_bytes;
    return bytes;
}

static void read_pair_experiment(const struct feasibility *study, const struct pairs_pair *pair,
                                 struct result *result, struct pairs_outcome *out)
{
    *out = (struct pairs_outcome){.ran = true, .finished = result->outcome == RESULT_SUCCEEDED};
    out->seconds = result->seconds;
    out->started = out->seconds.valid;
    out->metrics = json_object_size(result->metrics);
    const char *loop_error = read_background_loops(result, out);
    explain_failure(study, pair, result, loop_error, out);
    /* What lay on the GPU before is none of theirs. */
    struct reading before = in_use_bytes(result);
    out->peak_bytes = result->peak_bytes;
    if (out->peak_bytes.valid)
        out->peak_bytes.value =
            fmax(out->peak_bytes.value - (before.valid ? before.value : study->before_bytes), 0);
    proof_take(study, pair, result, out);
    if (!out->finished)
        return;
    out->pair_joules = result->joules;
    divide(result, out);
    compare_with_alone(&study->models[pair->foreground], &study->models[pair->background], out);
}

static void add_pair_experiment(const struct feasibility *study, struct pairs_pair *pair,
                                const json_t *experiment)
{
    struct pairs_outcome one;
    AUTO(result_fini) struct result result;
    result_read(experiment, &result);
    if (result.outcome == RESULT_OTHER)
        return;
    read_pair_experiment(study, pair, &result, &one);
    proof_add(&pair->outcome, &one);
}

void feasibility_take_pairs(struct feasibility *study, const json_t *results,
                            const json_t *settings)
{
    size_t count;
    AUTO_FREE struct written_run *runs = written_runs(results, settings, &count);
    EACH (pair, study->pairs, study->pair_count) {
        struct pairs_outcome *out = &pair->outcome;
        double before_s = out->overlap_s;
        size_t ran = out->experiments, before = out->at_peaks;
        EACH (run, runs, count) {
            struct written_entry entry;
            written_entry_read(run->entry, &entry);
            if (written_is_of(entry.foreground, &study->models[pair->foreground]) &&
                written_is_of(entry.background, &study->models[pair->background]))
                add_pair_experiment(study, pair, run->experiment);
        }
        if (out->experiments > ran)
            out->without_gain =
                out->overlap_s > before_s || out->at_peaks > before ? 0 : out->without_gain + 1;
        proof_judge(study, pair);
    }
}

bool pairs_will_run(const struct feasibility *study, const struct pairs_pair *pair)
{
    return study->models[pair->foreground].succeeded && study->models[pair->background].succeeded;
}

bool pairs_worked(const struct pairs_outcome *outcome)
{
    return outcome->ran && outcome->finished && !outcome->out_of_memory &&
           !outcome->background_failed;
}

bool pairs_is_recommended(const struct pairs_pair *pair)
{
    const struct pairs_prediction *prediction = &pair->prediction;
    return prediction->known && prediction->risk != RISK_HIGH &&
           pair->outcome.result == PAIRS_PROVEN;
}

void pairs_outcome_fini(struct pairs_outcome *outcome)
{
    free(outcome->why);
    record_free(pairs_outcome_fields, outcome);
    *outcome = (struct pairs_outcome){0};
}
