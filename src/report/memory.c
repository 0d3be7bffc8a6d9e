#include "report/memory.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool add_try(struct memory_report *report, const char *conf, uint64_t cap_bytes, struct err *err)
{
    struct memory_try try = {.conf = conf, .settings = report->snapshot->settings, .cap_bytes = cap_bytes};
    if (conf && !conf_parse(conf, &try.settings, err))
        return err_wrap(err, "--what-if");
    replay_predict(report->snapshot, report->device, &report->program, &try.settings, cap_bytes, 0, &try.replay);
    report->tries = mem_resize(report->tries, report->try_count + 1, sizeof try);
    report->tries[report->try_count++] = try;
    return true;
}

/* The record's own setting stands beside the others, so that they can be compared. */
static bool try_settings(struct memory_report *report, struct err *err)
{
    const struct memory_question *question = report->question;
    size_t count = question->confs ? question->confs->count : 0;
    if (count == 0 && question->cap_bytes == MODEL_NO_CAP)
        return true;
    if (!add_try(report, NULL, question->cap_bytes, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!add_try(report, question->confs->items[i], question->cap_bytes, err))
            return false;
    return true;
}

static bool look_at_trace(struct memory_report *report, struct err *err)
{
    const struct snapshot *snapshot = report->snapshot;
    const struct memory_question *question = report->question;
    size_t device = report->device;
    if (!program_build(snapshot, device, &report->program, err))
        return false;
    usage_curve(snapshot, device, &report->program, &report->curve);
    usage_growth(snapshot, device, &report->program, &report->growth);
    report->ooms = usage_ooms(snapshot, device, &report->program, &report->oom_count);
    report->at_peak = usage_alive(&report->program, report->curve.peak_event, &report->at_peak_count);
    report->at_end = usage_alive(&report->program, UINT32_MAX - 1, &report->at_end_count);
    check_run(snapshot, device, &report->program, question->recorded_cap_bytes, 0, &report->check);
    program_add_empty_caches(&report->program, report->check.empty_caches, report->check.empty_cache_count);
    if (!try_settings(report, err))
        return false;
    if (question->recommend)
        recommend_run(snapshot, device, &report->program, 0, &report->recommendation);
    return true;
}

bool memory_look(const struct memory_question *question, const struct snapshot *snapshot, size_t device,
                 struct memory_report *out, struct err *err)
{
    *out = (struct memory_report){.question = question, .snapshot = snapshot, .device = device};
    usage_layout(snapshot, device, &out->layout);
    out->has_trace = snapshot->devices[device].count > 0;
    bool asks =
        (question->confs && question->confs->count > 0) || question->cap_bytes != MODEL_NO_CAP || question->recommend;
    if (asks && !out->has_trace)
        return err_set(err,
                       "%s: there is no trace of GPU %zu in it, and nothing can be replayed: call "
                       "torch.cuda.memory._record_memory_history() at the start of the training",
                       question->path, device);
    return !out->has_trace || look_at_trace(out, err);
}

void memory_report_fini(struct memory_report *report)
{
    program_fini(&report->program);
    check_fini(&report->check);
    usage_layout_fini(&report->layout);
    usage_growth_fini(&report->growth);
    recommend_fini(&report->recommendation);
    free(report->ooms);
    free(report->at_peak);
    free(report->at_end);
    free(report->tries);
}
