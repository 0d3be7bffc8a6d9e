#include "sharing/result.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"

#include <string.h>

static const char *const outcomes[] = {"succeeded", "failed", NULL};

#define OUTCOME(of, key) RECORD_CHOICE(of, key, outcome, outcomes, .first = RESULT_SUCCEEDED)

#define GPU(key, member) RECORD_AS(struct result_gpu, key, member)
static const struct record_field gpu_fields[] = {GPU("of", of),
                                                 GPU("total_bytes", total_bytes),
                                                 GPU("before_bytes", before_bytes),
                                                 GPU("reserved_bytes", reserved_bytes),
                                                 GPU("load_at_peak_percent", load_at_peak_percent),
                                                 GPU("curve", curve),
                                                 GPU("curve.peak_bytes", curve_peak_bytes),
                                                 GPU("counted.peak_bytes", counted_peak_bytes),
                                                 GPU("counted.held_peak_bytes", held_peak_bytes),
                                                 GPU("counted.sum_peak_bytes", sum_peak_bytes),
                                                 GPU("counted.context_bytes", context_bytes),
                                                 GPU("counted.curve", counted_curve),
                                                 {0}};

static const struct record_field remedy_fields[] = {
    RECORD(struct result_remedy, name), RECORD(struct result_remedy, what), {0}};

static const struct record_field check_fields[] = {
    RECORD(struct result_check, phase),
    RECORD_AS(struct result_check, "devices.0.memory_bytes", memory_bytes),
    {0}};

static const struct record_field loop_fields[] = {OUTCOME(struct result_loop, "outcome"),
                                                  RECORD(struct result_loop, error),
                                                  RECORD(struct result_loop, start_s),
                                                  RECORD(struct result_loop, duration_s),
                                                  {0}};

#define EVIDENCE(member) RECORD(struct pairs_evidence, member)
const struct record_field pairs_evidence_fields[] = {
    EVIDENCE(kind), EVIDENCE(weight), EVIDENCE(text), {0}};

#define RESULT(key, member)           RECORD_AS(struct result, key, member)
#define RESULT_LIST(key, member, ...) RECORD_STRUCTS(struct result, key, member, __VA_ARGS__)
#define TARE(key, member)             RESULT("tare." key, member)
#define GPUS(key, member)             TARE("energy.gpu." key, member)
#define LAST(key, member)             TARE("attempts.-1." key, member)
#define PARALLEL(key, member)         TARE("parallel." key, member)
static const struct record_field result_fields[] = {
    RESULT("experiment_id", experiment),
    RESULT("foreground.performance_metrics", metrics),
    OUTCOME(struct result, "tare.outcome"),
    RECORD_ENUM(struct result, "tare.verdict", verdict, verdict_name, .values = VERDICTS),
    RESULT_LIST("tare.evidence", evidence, evidence_count, pairs_evidence_fields),
    RESULT_LIST("tare.guard", checks, check_count, check_fields),
    TARE("failure.cause", cause),
    GPUS("joules", joules),
    GPUS("memory_peak_bytes", peak_bytes),
    GPUS("utilisation_mean_percent", utilisation_percent),
    LAST("duration_seconds", seconds),
    LAST("error", error),
    RESULT_LIST("tare.attempts.-1.memory.gpus", gpus, gpu_count, gpu_fields),
    LAST("oom", oom),
    LAST("oom.reasons.0", reason),
    RESULT_LIST("tare.attempts.-1.oom.remedies", remedies, remedy_count, remedy_fields),
    RESULT_LIST("tare.parallel.background.loops", loops, loop_count, loop_fields),
    PARALLEL("background.succeeded", succeeded),
    PARALLEL("background.failed", failed),
    PARALLEL("background.load.alone_s", alone_s),
    PARALLEL("looks", looks),
    PARALLEL("sm_share.foreground_mj", foreground_mj),
    PARALLEL("sm_share.background_mj", background_mj),
    PARALLEL("sm_share.unattributed_mj", unattributed_mj),
    PARALLEL("foreground_marginal.joules", marginal_j),
    PARALLEL("foreground_marginal.half_width_j", half_width_j),
    PARALLEL("foreground_marginal.interval_j.0", low_j),
    PARALLEL("foreground_marginal.interval_j.1", high_j),
    {0}};

void result_read(const json_t *experiment, struct result *out)
{
    *out = (struct result){.verdict = VERDICTS};
    record_get(result_fields, experiment, out);
}

void result_fini(struct result *result)
{
    record_free(result_fields, result);
}

const char *result_error(const struct result *result)
{
    return result->error ? result->error : "it is not known why";
}

const char *result_remedy(const struct result *result, const char *name)
{
    EACH (remedy, result->remedies, result->remedy_count)
        if (remedy->name && strcmp(remedy->name, name) == 0)
            return remedy->what;
    return NULL;
}

struct kept_run {
    const json_t *outcome, *failure, *gpu, *attempt;
};

#define KEPT(key, member) RECORD_AS(struct kept_run, "tare." key, member)
static const struct record_field kept_fields[] = {KEPT("outcome", outcome),
                                                  KEPT("failure", failure),
                                                  KEPT("energy.gpu", gpu),
                                                  KEPT("attempts.-1", attempt),
                                                  {0}};

json_t *result_alone(const json_t *experiment)
{
    static const char *const keys[] = {"number", "started", "duration_seconds",
                                       "error",  "memory",  "oom"};
    struct kept_run kept = {0};
    record_get(kept_fields, experiment, &kept);
    json_t *attempts = json_array(), *attempt = json_object();
    EACH_OF (key, keys)
        if (json_get(kept.attempt, *key))
            json_object_set(attempt, *key, json_object_get(kept.attempt, *key));
    if (kept.attempt)
        json_array_append(attempts, attempt);
    json_decref(attempt);
    return json_pack("{s:{s:O*, s:O*, s:{s:O*}, s:o}}", "tare", "outcome", kept.outcome, "failure",
                     kept.failure, "energy", "gpu", kept.gpu, "attempts", attempts);
}
