#include "sharing/result.h"

#include "base/mem.h"
#include "base/record.h"

#include <string.h>

static const char *const outcomes[] = {"succeeded", "failed", NULL};

#define OUTCOME(of) RECORD_CHOICE(of, "outcome", outcome, outcomes, .first = RESULT_SUCCEEDED)

/* ---- The last attempt. */

#define COUNTED(member) RECORD(struct result_counted, member)
static const struct record_field counted_fields[] = {
    COUNTED(peak_bytes),    COUNTED(held_peak_bytes), COUNTED(sum_peak_bytes),
    COUNTED(context_bytes), COUNTED(curve),           {0}};

#define GPU(member) RECORD(struct result_gpu, member)
static const struct record_field curve_fields[] = {
    RECORD_AS(struct result_gpu, "peak_bytes", curve_peak_bytes), {0}};
static const struct record_field gpu_fields[] = {
    GPU(of),
    GPU(total_bytes),
    GPU(before_bytes),
    GPU(reserved_bytes),
    GPU(load_at_peak_percent),
    RECORD_GROUP("curve", curve_fields),
    GPU(curve),
    RECORD_STRUCT(struct result_gpu, "counted", counted, counted_fields),
    {0}};
static const struct record_field memory_fields[] = {
    RECORD_STRUCTS(struct result_attempt, "gpus", gpus, gpu_count, gpu_fields), {0}};

static const struct record_field remedy_fields[] = {
    RECORD(struct result_remedy, name), RECORD(struct result_remedy, what), {0}};
static const struct record_field oom_fields[] = {
    RECORD(struct result_oom, reasons),
    RECORD_STRUCTS(struct result_oom, "remedies", remedies, remedy_count, remedy_fields),
    {0}};

static bool read_oom(const json_t *json, void *oom, struct err *err)
{
    (void)err;
    record_get(oom_fields, json, oom);
    ((struct result_oom *)oom)->known = true;
    return true;
}

static const struct record_field attempt_fields[] = {
    RECORD_AS(struct result_attempt, "duration_seconds", seconds),
    RECORD(struct result_attempt, error),
    RECORD_GROUP("memory", memory_fields),
    RECORD_STRUCT(struct result_attempt, "oom", oom, NULL, .from = read_oom),
    {0}};

static bool read_last_attempt(const json_t *json, void *attempt, struct err *err)
{
    (void)err;
    record_get(attempt_fields, json_array_get(json, json_array_size(json) - 1), attempt);
    return true;
}

/* ---- What was in use before. */

struct preflight_gpu {
    struct reading memory_bytes;
};

struct preflight {
    const char *phase;
    struct preflight_gpu *devices;
    size_t count;
};

static const struct record_field preflight_gpu_fields[] = {
    RECORD(struct preflight_gpu, memory_bytes), {0}};
static const struct record_field preflight_fields[] = {
    RECORD(struct preflight, phase),
    RECORD_STRUCTS(struct preflight, "devices", devices, count, preflight_gpu_fields),
    {0}};

/* Of its first GPU, as the guard saw it last. */
static bool read_in_use(const json_t *json, void *in_use, struct err *err)
{
    (void)err;
    for (size_t i = json_array_size(json); i-- > 0;) {
        struct preflight seen = {0};
        record_get(preflight_fields, json_array_get(json, i), &seen);
        bool found = seen.phase && strcmp(seen.phase, "preflight") == 0;
        if (found && seen.count > 0)
            *(struct reading *)in_use = seen.devices[0].memory_bytes;
        record_free(preflight_fields, &seen);
        if (found)
            break;
    }
    return true;
}

/* ---- An experiment. */

#define EVIDENCE(member) RECORD(struct pairs_evidence, member)
const struct record_field pairs_evidence_fields[] = {
    EVIDENCE(kind), EVIDENCE(weight), EVIDENCE(text), {0}};

#define RESULT(key, member)              RECORD_AS(struct result, key, member)
#define RESULT_LIST(key, list, n, table) RECORD_STRUCTS(struct result, key, list, n, table)

static const struct record_field loop_fields[] = {OUTCOME(struct result_loop),
                                                  RECORD(struct result_loop, error),
                                                  RECORD(struct result_loop, start_s),
                                                  RECORD(struct result_loop, duration_s),
                                                  {0}};
static const struct record_field load_fields[] = {RESULT("alone_s", alone_s), {0}};
static const struct record_field background_fields[] = {
    RESULT("succeeded", succeeded),
    RESULT("failed", failed),
    RECORD_GROUP("load", load_fields),
    RESULT_LIST("loops", loops, loop_count, loop_fields),
    {0}};
static const struct record_field share_fields[] = {RESULT("foreground_mj", foreground_mj),
                                                   RESULT("background_mj", background_mj),
                                                   RESULT("unattributed_mj", unattributed_mj),
                                                   {0}};
static const struct record_field marginal_fields[] = {
    RESULT("joules", marginal_j),
    RESULT("half_width_j", half_width_j),
    RECORD_NUMBERS(struct result, "interval_j", interval_j, interval_count),
    {0}};
static const struct record_field parallel_fields[] = {
    RECORD_GROUP("background", background_fields),
    RESULT("looks", looks),
    RECORD_GROUP("sm_share", share_fields),
    RECORD_GROUP("foreground_marginal", marginal_fields),
    {0}};
static const struct record_field gpu_energy_fields[] = {
    RESULT("joules", joules),
    RESULT("memory_peak_bytes", peak_bytes),
    RESULT("utilisation_mean_percent", utilisation_percent),
    {0}};
static const struct record_field energy_fields[] = {RECORD_GROUP("gpu", gpu_energy_fields), {0}};
static const struct record_field failure_fields[] = {RESULT("cause", cause), {0}};
static const struct record_field foreground_fields[] = {RESULT("performance_metrics", metrics),
                                                        {0}};
static const struct record_field tare_fields[] = {
    OUTCOME(struct result),
    RECORD_ENUM(struct result, "verdict", verdict, verdict_name, .values = VERDICTS),
    RECORD_GROUP("failure", failure_fields),
    RESULT_LIST("evidence", evidence, evidence_count, pairs_evidence_fields),
    RECORD_STRUCT(struct result, "attempts", last, NULL, .from = read_last_attempt),
    RECORD_STRUCT(struct result, "guard", in_use_bytes, NULL, .from = read_in_use),
    RECORD_GROUP("energy", energy_fields),
    RECORD_GROUP("parallel", parallel_fields),
    {0}};
static const struct record_field result_fields[] = {RESULT("experiment_id", experiment),
                                                    RECORD_GROUP("foreground", foreground_fields),
                                                    RECORD_GROUP("tare", tare_fields),
                                                    {0}};

void result_read(const json_t *experiment, struct result *out)
{
    *out = (struct result){.verdict = VERDICTS};
    record_get(result_fields, experiment, out);
}

void result_fini(struct result *result)
{
    record_free(result_fields, result);
    record_free(attempt_fields, &result->last);
    record_free(oom_fields, &result->last.oom);
}

const char *result_error(const struct result *result)
{
    return result->last.error ? result->last.error : "it is not known why";
}

const char *result_oom_reason(const struct result_oom *oom)
{
    return oom->reasons.count ? oom->reasons.items[0] : NULL;
}

const char *result_remedy(const struct result_oom *oom, const char *name)
{
    EACH (remedy, oom->remedies, oom->remedy_count)
        if (remedy->name && strcmp(remedy->name, name) == 0)
            return remedy->what;
    return NULL;
}

/* ---- What is kept of a run alone: the same keys, unread. */

struct kept_attempt {
    const json_t *number, *started, *duration_seconds, *error, *memory, *oom;
};

struct kept {
    const json_t *outcome, *failure, *gpu;
    struct kept_attempt *attempts;
    size_t count;
};

#define MAY_MISS        .presence = RECORD_MAY_MISS
#define ATTEMPT(member) RECORD(struct kept_attempt, member, MAY_MISS)
#define KEPT(member)    RECORD(struct kept, member, MAY_MISS)

static const struct record_field kept_attempt_fields[] = {ATTEMPT(number),
                                                          ATTEMPT(started),
                                                          ATTEMPT(duration_seconds),
                                                          ATTEMPT(error),
                                                          ATTEMPT(memory),
                                                          ATTEMPT(oom),
                                                          {0}};
static const struct record_field kept_energy_fields[] = {KEPT(gpu), {0}};
static const struct record_field kept_tare_fields[] = {
    KEPT(outcome),
    KEPT(failure),
    RECORD_GROUP("energy", kept_energy_fields),
    RECORD_STRUCTS(struct kept, "attempts", attempts, count, kept_attempt_fields),
    {0}};
static const struct record_field kept_fields[] = {RECORD_GROUP("tare", kept_tare_fields), {0}};

json_t *result_alone(const json_t *experiment)
{
    struct kept kept = {0};
    record_get(kept_fields, experiment, &kept);
    if (kept.count > 1) {
        kept.attempts[0] = kept.attempts[kept.count - 1];
        kept.count = 1;
    }
    json_t *json = record_json(kept_fields, &kept);
    record_free(kept_fields, &kept);
    return json;
}
