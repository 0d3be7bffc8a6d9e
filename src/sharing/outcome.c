#include "sharing/outcome.h"
#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/line.h"
#include "sharing/alone.h"

#include "base/json.h"
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
static const char *read_background_loops(const json_t *background, struct pairs_outcome *out)
{
    const json_t *loops = json_get(background, "loops");
    const char *error = NULL;
    double seconds = 0, count = 0;
    json_int_t number = 0;
    for (size_t i = 0; i < json_array_size(loops); i++) {
        const json_t *loop = json_array_get(loops, i);
        struct reading duration = json_get_reading(loop, "duration_s"),
                       start = json_get_reading(loop, "start_s");
        if (json_says(loop, "outcome", "failed"))
            error = json_get_text(loop, "error");
        /* One that ran alone to its end says nothing of two beside each other. */
        bool beside = start.valid && duration.valid && start.value + duration.value > 0;
        if (beside && json_says(loop, "outcome", "succeeded")) {
            seconds += duration.value;
            count++;
        }
    }
    out->loops = json_get_int(background, "succeeded", &number) ? number : 0;
    if (count > 0)
        out->background_seconds = (struct reading){seconds / count, true};
    out->background_failed = json_get_int(background, "failed", &number) && number > 0;
    return error;
}

/* More than so much of the energy may not be nobody's. */
static const double UNATTRIBUTED_MOST = 0.5;

/* The foreground's energy by foreground_marginal. Records of older versions have it whatever its
 * half-width. */
static void read_marginal(const json_t *marginal, struct pairs_attribution *out)
{
    const json_t *interval = json_get(marginal, "interval_j");
    struct reading joules = json_get_reading(marginal, "joules"),
                   half_j = json_get_reading(marginal, "half_width_j");
    if (json_array_size(interval) == 2) {
        const json_t *low = json_array_get(interval, 0), *high = json_array_get(interval, 1);
        out->low_j = (struct reading){json_number_value(low), json_is_number(low)};
        out->high_j = (struct reading){json_number_value(high), json_is_number(high)};
    } else if (joules.valid && half_j.valid) {
        out->low_j = (struct reading){fmax(0, joules.value - half_j.value), true};
        out->high_j = (struct reading){fmax(0, joules.value + half_j.value), true};
    }
    if (!joules.valid || !half_j.valid || half_j.value > COLOCATED_SEPARABLE * joules.value)
        return;
    out->marginal_joules = joules;
    out->half_width_j = half_j;
}

/* What can be told of the foreground's part; false: it cannot be attributed. */
static bool attribute(const json_t *parallel, struct reading total, struct pairs_attribution *out,
                      struct reading *mine)
{
    const json_t *share = json_get(parallel, "sm_share"),
                 *marginal = json_get(parallel, "foreground_marginal");
    struct reading fore = json_get_reading(share, "foreground_mj"),
                   back = json_get_reading(share, "background_mj");
    struct reading nobody = json_get_reading(share, "unattributed_mj");
    struct reading all = {fore.value + back.value + nobody.value,
                          fore.valid && back.valid && nobody.valid};
    *out = (struct pairs_attribution){.unattributed_share = ratio(nobody, all)};
    read_marginal(marginal, out);
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
static void divide(const json_t *parallel, struct pairs_outcome *out)
{
    struct reading total = out->pair_joules, mine;
    if (!attribute(parallel, total, &out->attribution, &mine))
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
                             const json_t *oom)
{
    const struct pairs_model *fore = &study->models[pair->foreground],
                             *back = &study->models[pair->background];
    const struct pairs_model *larger =
        back->curve.peak_bytes > fore->curve.peak_bytes ? back : fore;
    double room = study->room.available_bytes - larger->curve.peak_bytes - larger->margin_bytes;
    const char *segments = result_remedy(oom, "expandable_segments");
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
                           const json_t *experiment, const char *error, struct pairs_outcome *out)
{
    const json_t *oom = json_get(result_attempt(experiment), "oom");
    const char *told = result_oom_reason(oom);
    AUTO_FREE char *reason = told ? mem_strdup(told) : reason_in(error);
    const char *who =
        study->models[out->finished || !oom ? pair->background : pair->foreground].name;
    out->cause = mem_printf("out of memory in %s: %s", who, reason ? reason : error);
    out->proposal = memory_proposal(study, pair, oom);
}

static void explain_failure(const struct feasibility *study, const struct pairs_pair *pair,
                            const json_t *experiment, const char *loop_error,
                            struct pairs_outcome *out)
{
    const json_t *failure = json_get(json_get(experiment, "tare"), "failure");
    AUTO_FREE char *error = result_error(experiment);
    bool fore_oom = json_says(failure, "cause", "out_of_memory");
    if (!out->finished && (fore_oom || says_oom(error)))
        out->out_of_memory = true;
    if (says_oom(loop_error)) {
        out->out_of_memory = true;
        if (out->finished || !fore_oom) {
            free(error);
            error = mem_strdup(loop_error);
        }
    }
    if (out->out_of_memory) {
        explain_memory(study, pair, experiment, error, out);
    } else if (!out->finished) {
        out->cause = mem_strdup(error);
        out->proposal = mem_strdup(
            json_says(failure, "cause", "timeout")
                ? "more time: \"timeout\" of the settings"
                : "its log says more; alone it ran, so run the pair once more by itself");
    } else if (out->background_failed) {
        out->cause = mem_printf("the background failed: %s",
                                loop_error ? loop_error : "it is not known why");
        out->proposal = mem_strdup(
            "its log in background_logs says more; or exchange foreground and background");
    }
}

/* In use before the attempt, as the guard saw it. */
static struct reading in_use_before(const json_t *experiment)
{
    const json_t *guard = json_get(json_get(experiment, "tare"), "guard");
    struct reading before = {0};
    for (size_t i = 0; i < json_array_size(guard); i++) {
        const json_t *look = json_array_get(guard, i);
        if (json_says(look, "phase", "preflight"))
            before = json_get_reading(json_array_get(json_get(look, "devices"), 0), "memory_bytes");
    }
    return before;
}

static void read_pair_experiment(const struct feasibility *study, const struct pairs_pair *pair,
                                 const json_t *experiment, struct pairs_outcome *out)
{
    const json_t *attempt = result_attempt(experiment), *parallel = result_parallel(experiment);
    *out = (struct pairs_outcome){.ran = true, .finished = result_succeeded(experiment)};
    out->seconds = json_get_reading(attempt, "duration_seconds");
    out->started = out->seconds.valid;
    out->metrics =
        json_object_size(json_get(json_get(experiment, "foreground"), "performance_metrics"));
    const char *loop_error = read_background_loops(json_get(parallel, "background"), out);
    explain_failure(study, pair, experiment, loop_error, out);
    /* What lay on the GPU before is none of theirs. */
    struct reading before = in_use_before(experiment);
    out->peak_bytes = json_get_reading(result_gpu_energy(experiment), "memory_peak_bytes");
    if (out->peak_bytes.valid)
        out->peak_bytes.value =
            fmax(out->peak_bytes.value - (before.valid ? before.value : study->before_bytes), 0);
    proof_take(study, pair, experiment, out);
    if (!out->finished)
        return;
    out->pair_joules = json_get_reading(result_gpu_energy(experiment), "joules");
    divide(parallel, out);
    compare_with_alone(&study->models[pair->foreground], &study->models[pair->background], out);
}

void feasibility_take_pairs(struct feasibility *study, const json_t *results,
                            const json_t *settings)
{
    const json_t *experiments = json_get(results, "experiments"),
                 *entries = json_get(settings, "experiments");
    for (size_t i = 0; i < study->pair_count; i++) {
        struct pairs_pair *pair = &study->pairs[i];
        const struct pairs_model *fore = &study->models[pair->foreground],
                                 *back = &study->models[pair->background];
        struct pairs_outcome *out = &pair->outcome, one;
        double before_s = out->overlap_s;
        size_t at = 0, ran = out->experiments, before = out->at_peaks;
        for (size_t k = 0; k < json_array_size(entries); k++) {
            const json_t *entry = json_array_get(entries, k);
            json_int_t count = 0;
            bool own = known_is_of(json_get(entry, "foreground"), fore) &&
                       known_is_of(json_get(entry, "background"), back);
            json_get_int(entry, "runs_per_config", &count);
            for (json_int_t n = 0; n < count && at < json_array_size(experiments); n++, at++) {
                const json_t *experiment = json_array_get(experiments, at);
                if (!own || !result_ended(experiment))
                    continue;
                read_pair_experiment(study, pair, experiment, &one);
                proof_add(out, &one);
            }
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
    free(outcome->cause);
    free(outcome->proposal);
    free(outcome->why);
    json_decref(outcome->runs);
    *outcome = (struct pairs_outcome){0};
}
