/* tare's own runs: from a copy of run.db. */
#include "results/judge/own_facts.h"
#include "results/judge/read.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "results/store/facts.h"

#include <string.h>

static const struct reading none = {0};

static struct reading number_of(const json_t *block, const char *key)
{
    struct reading out = {0};
    out.valid = json_get_number(block, key, &out.value);
    return out;
}

static void take_gpu(struct dataset_experiment *experiment, const json_t *block)
{
    struct dataset_gpu *gpu = &experiment->gpu;
    if (!json_is_object(block))
        return;
    gpu->source = "meter";
    gpu->window_from = "meter";
    gpu->energy_j = number_of(block, "joules");
    gpu->half_width_j = number_of(block, "half_width_j");
    gpu->net_j = number_of(block, "net_of_bare_idle_j");
    gpu->net_half_width_j = number_of(block, "net_half_width_j");
    gpu->power_mean_w = number_of(block, "power_mean_w");
    gpu->power_min_w = number_of(block, "power_min_w");
    gpu->power_max_w = number_of(block, "power_max_w");
    gpu->power_cv_within = number_of(block, "power_cv_within");
    gpu->temperature_mean_c = number_of(block, "temperature_mean_c");
    gpu->temperature_max_c = number_of(block, "temperature_max_c");
    gpu->utilisation_mean_percent = number_of(block, "utilisation_mean_percent");
    gpu->utilisation_max_percent = number_of(block, "utilisation_max_percent");
    gpu->sm_clock_mean_mhz = number_of(block, "sm_clock_mean_mhz");
    gpu->sampled_share = number_of(block, "covered_share");
    gpu->longest_gap_s = number_of(block, "longest_gap_s");
    gpu->window_s = experiment->duration_s;
    if (!gpu->power_mean_w.valid && gpu->energy_j.valid && gpu->window_s.valid && gpu->window_s.value > 0)
        gpu->power_mean_w = (struct reading){gpu->energy_j.value / gpu->window_s.value, true};
}

static void take_energy(struct dataset_experiment *experiment, const json_t *energy)
{
    const json_t *package = json_get(energy, "cpu_package");
    const json_t *host = json_get(energy, "host");
    take_gpu(experiment, json_get(energy, "gpu"));
    experiment->user_s = number_of(host, "user_s");
    experiment->system_s = number_of(host, "system_s");
    experiment->memory_peak_bytes = number_of(host, "memory_peak_bytes");
    experiment->cpu_j = number_of(package, "joules");
    experiment->cpu_half_width_j = number_of(package, "half_width_j");
    experiment->dram_j = number_of(json_get(energy, "dram"), "joules");
    experiment->recorded[RECORDED_GPU_TOTAL] = experiment->gpu.energy_j;
    experiment->recorded[RECORDED_GPU_MEAN] = experiment->gpu.power_mean_w;
    experiment->recorded[RECORDED_GPU_MAX] = experiment->gpu.power_max_w;
    experiment->recorded[RECORDED_GPU_MIN] = experiment->gpu.power_min_w;
    experiment->recorded[RECORDED_CPU_PACKAGE] = experiment->cpu_j;
    experiment->recorded[RECORDED_CPU_RAM] = experiment->dram_j;
    experiment->recorded[RECORDED_TEMPERATURE_MEAN] = experiment->gpu.temperature_mean_c;
    experiment->recorded[RECORDED_TEMPERATURE_MAX] = experiment->gpu.temperature_max_c;
    experiment->recorded[RECORDED_UTILISATION_MEAN] = experiment->gpu.utilisation_mean_percent;
    experiment->recorded[RECORDED_UTILISATION_MAX] = experiment->gpu.utilisation_max_percent;
    if (experiment->cpu_j.valid && experiment->dram_j.valid)
        experiment->recorded[RECORDED_CPU_TOTAL] =
            (struct reading){experiment->cpu_j.value + experiment->dram_j.value, true};
}

static json_t *background_of(const struct plan_job *job)
{
    json_t *out = json_object(), *params = json_object();
    for (size_t i = 0; i < job->param_count; i++)
        json_object_set_new(params, job->params[i].name, value_to_json(&job->params[i].value));
    json_object_set_new(out, "repo", json_text_or_null(job->repo));
    json_object_set_new(out, "model", json_text_or_null(job->model));
    json_object_set_new(out, "hyperparameters", params);
    return out;
}

static void take_job(struct dataset_experiment *experiment, const struct plan_experiment *planned)
{
    const struct plan_job *job = &planned->foreground;
    experiment->repo = mem_strdup(job->repo);
    experiment->model = mem_strdup(job->model);
    experiment->parallel = planned->parallel;
    experiment->mode = mode_name(job->mode);
    if (planned->parallel) {
        experiment->background = mem_printf("%s %s", planned->background.repo, planned->background.model);
        experiment->background_job = background_of(&planned->background);
        experiment->start_after_s = planned->start_after_s;
    }
    for (size_t i = 0; i < job->param_count; i++)
        study_param_set(experiment, job->params[i].name, value_copy(&job->params[i].value));
}

/* What the registry said of a metric's goal when the run was planned. */
static void take_goals(struct dataset_experiment *experiment, const struct plan_job *job)
{
    for (size_t i = 0; i < experiment->metric_count; i++)
        for (size_t m = 0; m < job->metric_count; m++)
            if (strcmp(job->metrics[m].name, experiment->metrics[i].name) == 0)
                experiment->metrics[i].goal = job->metrics[m].goal;
}

static void take_item(struct dataset_experiment *experiment, const struct result *result, const struct facts_item *item,
                      const json_t *energy)
{
    bool ended =
        result->state == STATE_DONE && (result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED);
    experiment->id = mem_strdup(result->id);
    experiment->has_success = experiment->judged = ended;
    experiment->success = result->outcome == OUTCOME_SUCCEEDED;
    experiment->unwatched = experiment->success && result->verdict == VERDICT_NONE;
    experiment->has_end = result->ended_realtime_ns > 0;
    experiment->end_local_ns = experiment->has_end ? result->ended_realtime_ns + result->utc_offset_s * NS_PER_S : 0;
    experiment->has_utc_offset = experiment->has_end && result->has_utc_offset;
    experiment->utc_offset_s = result->utc_offset_s;
    experiment->has_start = item->has_start;
    experiment->start_utc_ns = item->start_realtime_ns;
    experiment->duration_s = (struct reading){result->duration_s, item->has_duration};
    experiment->retries = result->retries;
    experiment->error = mem_strdup(result->error);
    for (size_t i = 0; i < result->metric_count; i++)
        study_metric_set(experiment, result->metrics[i].name,
                         (struct reading){result->metrics[i].value, result->metrics[i].valid});
    take_energy(experiment, energy);
    experiment->gpu.temperature_start_c = item->start.temperature_c;
    experiment->gpu.sm_clock_start_mhz = item->start.sm_clock_mhz;
    experiment->gpu.memory_clock_start_mhz = item->start.memory_clock_mhz;
    experiment->attempts = json_incref(item->all_attempts);
    experiment->epochs = json_incref(item->epochs);
    /* What spoke against an earlier attempt does not speak against the last one's figures. */
    for (size_t i = 0; i < item->evidence_count; i++)
        if (item->evidence[i].attempt == 0 || item->evidence[i].attempt == item->attempt)
            dataset_evidence(experiment, item->evidence[i].kind, none, none, "%s", item->evidence[i].text);
    for (size_t i = 0; i < result->check_count; i++)
        dataset_check(experiment, result->checks[i].check, result->checks[i].outcome, "%s",
                      result->checks[i].text ? result->checks[i].text : "");
}

/* More entries than this no plan has: a journal that says so is not believed. */
enum { MOST_ENTRIES = 1000000 };

/* Which run of its entry of the settings each experiment is: in blocks, that is the block's number. */
static void number_blocks(const struct plan *plan, struct dataset_experiment *experiments)
{
    size_t last = 0;
    for (size_t i = 0; i < plan->count; i++)
        last = plan->experiments[i].entry > last ? plan->experiments[i].entry : last;
    if (plan->order != ORDER_BLOCKS || last > MOST_ENTRIES)
        return;
    AUTO_FREE size_t *runs = mem_array(last + 1, sizeof *runs);
    for (size_t i = 0; i < plan->count; i++)
        experiments[i].block = ++runs[plan->experiments[i].entry];
}

bool read_own(struct dataset *dataset, size_t folder, struct err *err)
{
    struct facts facts;
    struct own_machines machines;
    if (!facts_read(dataset->folders[folder].path, &facts, err))
        return false;
    own_machines_read(dataset->folders[folder].path, &machines);
    for (size_t i = 0; i < facts.results.count; i++) {
        struct dataset_experiment *experiment = dataset_add(dataset);
        experiment->folder = folder;
        take_job(experiment, &facts.results.plan.experiments[i]);
        json_t *energy = facts.items[i].energy
                             ? json_load_bounded(facts.items[i].energy, strlen(facts.items[i].energy), 0, NULL)
                             : NULL;
        take_item(experiment, &facts.results.items[i], &facts.items[i], energy);
        take_goals(experiment, &facts.results.plan.experiments[i].foreground);
        own_facts_take(experiment, &facts.items[i], energy, &machines);
        json_decref(energy);
        dataset->folders[folder].folders++;
        dataset->folders[folder].summary_rows += experiment->judged;
        if (experiment->has_utc_offset && !dataset->folders[folder].has_zone) {
            dataset->folders[folder].has_zone = true;
            dataset->folders[folder].zone_s = experiment->utc_offset_s;
        }
    }
    if (facts.results.count == facts.results.plan.count && facts.results.count)
        number_blocks(&facts.results.plan, &dataset->items[dataset->count - facts.results.count]);
    own_machines_fini(&machines);
    facts_fini(&facts);
    return true;
}

void dataset_verify_records(struct dataset *dataset)
{
    for (size_t i = 0; i < dataset->folder_count; i++) {
        struct dataset_folder *folder = &dataset->folders[i];
        struct err why = {0};
        if (folder->layout != DATASET_TARE || folder->records)
            continue;
        folder->records = mem_alloc(sizeof *folder->records);
        if (!records_verify(folder->path, folder->records, &why))
            text_add(&folder->records->changed, why.text);
    }
}
