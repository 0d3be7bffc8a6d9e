#include "run/observers/gpu_memory.h"
#include "results/store/energy_record.h"
#include "run/lane.h"

#include "base/mem.h"

#include <string.h>

/* NVML reports multiples of MIB; SLACK_BYTES covers memory that the driver adds. */
static const double MIB = 1048576, SLACK_BYTES = 64.0 * 1048576;

bool gpu_memory_prepare(struct attempt *attempt, const struct run_request *request, struct err *err)
{
    const struct plan_job *job = attempt->plan;
    bool asked = job->track_gpu_memory == SWITCH_ON || gpu_limit_is_set(&job->gpu_limit);
    if (!asked && request->preload && job->track_gpu_memory == SWITCH_UNSAID) /* if possible */
        attempt->ledger = ledger_new(request->preload, &job->gpu_limit, &(struct err){0});
    if (!asked)
        return true;
    if (!request->preload)
        return err_set(err, "GPU memory cannot be followed: libtare-cuda.so was not found");
    attempt->ledger = ledger_new(request->preload, &job->gpu_limit, err);
    return attempt->ledger || err_wrap(err, "GPU memory cannot be followed");
}

json_t *gpu_memory_json(const struct attempt *attempt)
{
    struct ledger_sum sum = {0};
    if (!attempt->ledger)
        return NULL;
    ledger_read(attempt->ledger, &sum);
    bool asked = attempt->plan->track_gpu_memory != SWITCH_UNSAID;
    return asked || sum.attached > 0 ? ledger_json(attempt->ledger) : NULL;
}

static struct gpu_memory_reported find_most_reported(const struct attempt_use *use)
{
    struct gpu_memory_reported most = {0};
    EACH (gpu, use->gpus, use->gpu_count)
        if (gpu->of && strcmp(gpu->of, "job") == 0 && gpu->peak_bytes.value > most.bytes)
            most = (struct gpu_memory_reported){gpu->peak_bytes.value, gpu->total_bytes.value};
    return most;
}

/* NULL: held. The caller frees. */
static char *explain_not_held(const struct attempt *attempt, const struct ledger_sum *sum,
                              const struct gpu_memory_reported *reported)
{
    const struct gpu_limit *limit = &attempt->plan->gpu_limit;
    double limit_bytes =
        limit->share > 0 ? limit->share * reported->total_bytes : (double)limit->bytes;
    if (sum->attached == 0 && reported->bytes >= MIB)
        return mem_printf(
            "the job held %.0f MiB of a GPU and no process of it was followed: its program is "
            "linked statically, setuid, of another architecture, or drops LD_PRELOAD",
            reported->bytes / MIB);
    if (sum->unplaced > 0)
        return mem_printf("%llu processes too many allocated at the same time",
                          (unsigned long long)sum->unplaced);
    if (limit_bytes > 0 && reported->bytes > limit_bytes + SLACK_BYTES)
        return mem_printf("the driver told of %.0f MiB, the limit is %.0f MiB",
                          reported->bytes / MIB, limit_bytes / MIB);
    if (sum->over > 0)
        return mem_printf("by its own books the job was %.1f MiB beyond it: its CUDA contexts grew "
                          "when all else was allocated",
                          (double)sum->over / MIB);
    return NULL;
}

void gpu_memory_judge(struct lane *lane, const struct attempt *attempt,
                      const struct gpu_memory_reported *reported)
{
    struct ledger_sum sum;
    if (!attempt->ledger || !attempt->gate_open || attempt->plan->track_gpu_memory == SWITCH_UNSAID)
        return;
    ledger_read(attempt->ledger, &sum);
    AUTO_FREE char *why = explain_not_held(attempt, &sum, reported);
    bool limited = gpu_limit_is_set(&attempt->plan->gpu_limit);
    const char *kind = limited ? "gpu_limit_not_held" : "gpu_memory_not_followed";
    if (why && attempt->loop)
        lane_add_evidence(lane, kind, "the background's loop %lld: %s", (long long)attempt->loop,
                          why);
    else if (why)
        lane_add_evidence(lane, kind, "%s", why);
    if (limited && sum.context_assumed)
        lane_add_evidence(lane, "gpu_context_assumed",
                          "the driver does not list the job's processes by their own numbers: what "
                          "their CUDA contexts hold was assumed (512 MiB each)");
}

static json_t *judge_gpu_memory(struct lane *lane)
{
    AUTO(attempt_use_fini) struct attempt_use use;
    attempt_use_read(lane->ended, &use);
    struct gpu_memory_reported reported = find_most_reported(&use);
    gpu_memory_judge(lane, &lane->attempt, &reported);
    return gpu_memory_json(&lane->attempt);
}

const struct observer gpu_memory_observer = {.key = "gpu_memory", .end = judge_gpu_memory};
