#include "results/judge/own.h"
#include "results/judge/contradictions.h"
#include "results/judge/study_json.h"
#include "results/store/energy_record.h"
#include "results/store/machines.h"
#include "results/store/results.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* 40 digits, or the 64 of SHA-256. */
static bool is_hash(const char *text)
{
    size_t length = text ? strspn(text, "0123456789abcdef") : 0;
    return (length == 40 || length == 64) && !text[length];
}

/* From which state of its repository an experiment ran: which session it ran in is not written
 * down, so all must say the same. */
static void take_commit(struct dataset_experiment *experiment, const struct machines *machines)
{
    for (size_t i = 0; i < machines->count; i++) {
        const char *commit = NULL;
        bool changed = false;
        EACH (repository, machines->items[i].repositories, machines->items[i].repository_count)
            if (repository->name && strcmp(repository->name, experiment->repo) == 0) {
                commit = repository->commit;
                changed = repository->dirty;
            }
        if (!is_hash(commit) || (i > 0 && (strcmp(commit, experiment->commit) != 0 ||
                                           changed != experiment->commit_changed))) {
            free(steal_ptr(experiment->commit));
            return;
        }
        free(experiment->commit);
        experiment->commit = mem_strdup(commit);
        experiment->commit_changed = changed;
    }
}

/* "560.35.03" of "NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri ...". */
static char *version_in(const char *text)
{
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, " ");
        if (isdigit((unsigned char)*at) && memchr(at, '.', length))
            return mem_strndup(at, length);
        at += length;
        at += strspn(at, " ");
    }
    return NULL;
}

/* Runs of versions that did not record it with the energy have the model in machine.json alone. */
static const char *model_of(const struct energy_figures *board,
                            const struct machine_record *machine)
{
    const char *model = board->model;
    for (size_t i = 0; !model && board->uuid && machine && i < machine->gpu_count; i++)
        if (machine->gpus[i].uuid && strcmp(machine->gpus[i].uuid, board->uuid) == 0)
            model = machine->gpus[i].model;
    return model;
}

/* "1980/3201 MHz"; NULL: not all of it is known. */
static char *format_board_clocks(struct reading sm_mhz, struct reading memory_mhz)
{
    return sm_mhz.valid && memory_mhz.valid
               ? mem_printf("%.6g/%.6g MHz", sm_mhz.value, memory_mhz.value)
               : NULL;
}

static char *fact_of(const struct energy_figures *board, const struct machine_record *machine,
                     enum dataset_fact fact)
{
    switch (fact) {
    case FACT_GPU_MODEL:
        return mem_strdup(model_of(board, machine));
    case FACT_POWER_LIMIT:
        return board->power_limit_w.valid ? mem_printf("%.6g W", board->power_limit_w.value) : NULL;
    case FACT_CLOCKS_MAX:
        return format_board_clocks(board->sm_clock_max_mhz, board->memory_clock_max_mhz);
    case FACT_CLOCKS_SET:
        return format_board_clocks(board->sm_clock_application_mhz,
                                   board->memory_clock_application_mhz);
    case FACT_DRIVER:
        return board->driver ? mem_strdup(board->driver)
                             : version_in(machine ? machine->driver : NULL);
    default:
        return NULL;
    }
}

static bool is_board(const struct energy_figures *device)
{
    return device->scope && strcmp(device->scope, "GPU board") == 0;
}

/* Of several GPUs each value once; NULL: of one it is not known. */
static char *fact_of_all(const struct energy_record *energy, const struct machine_record *machine,
                         enum dataset_fact fact)
{
    AUTO_STRV struct strv values = {0};
    EACH (device, energy->devices, energy->device_count) {
        if (!is_board(device))
            continue;
        AUTO_FREE char *value = fact_of(device, machine, fact);
        if (!value)
            return NULL;
        strv_add_once(&values, value);
    }
    return values.count ? strv_join(&values, " and ") : NULL;
}

/* "gpu07 GPU 2 (GPU-73fe8c24)": where each task sees its GPU as the first, the UUID tells them
 * apart. */
static char *lane_of(const struct facts_item *item, const struct energy_record *energy)
{
    AUTO_STRV struct strv names = {0};
    EACH (device, energy->devices, energy->device_count)
        if (is_board(device))
            strv_add_owned(&names, mem_printf("%s (%.12s)", device->label ? device->label : "GPU",
                                              device->uuid ? device->uuid : "no UUID"));
    AUTO_FREE char *gpus = strv_join(&names, ", ");
    return names.count
               ? mem_printf("%s%s%s", item->host ? item->host : "", item->host ? " " : "", gpus)
               : NULL;
}

/* All of them or none: of one without an energy or a UUID nobody can say how much it counts. */
static void take_measured(struct dataset_experiment *experiment, const struct energy_record *energy)
{
    EACH (device, energy->devices, energy->device_count)
        if (is_board(device) &&
            (!device->uuid || !device->energy_j.valid || device->energy_j.value < 0))
            return;
    experiment->boards = mem_array(energy->device_count + 1, sizeof *experiment->boards);
    EACH (device, energy->devices, energy->device_count) {
        const struct energy_figures *board = device;
        if (!is_board(board))
            continue;
        struct reading half_width = board->half_width_j;
        half_width.valid &= half_width.value >= 0;
        experiment->boards[experiment->board_count++] = (struct dataset_board){
            .uuid = mem_strdup(board->uuid),
            .energy_j = board->energy_j.value,
            .half_width_j = half_width,
            .gain_bound = fmax(board->gain_bound.value, 0),
        };
    }
}

static void own_facts_take(struct dataset_experiment *experiment, const struct facts_item *item,
                           const struct energy_record *energy, const struct machines *machines)
{
    const struct machine_record *machine = machines_find(machines, item->host, item->boot_id);
    take_measured(experiment, energy);
    experiment->facts[FACT_NODE] = mem_strdup(item->host);
    experiment->facts[FACT_LANE] = lane_of(item, energy);
    for (enum dataset_fact fact = FACT_GPU_MODEL; fact < DATASET_FACTS; fact++)
        experiment->facts[fact] = fact_of_all(energy, machine, fact);
    experiment->facts[FACT_CPU] = mem_strdup(machine ? machine->cpu_model : NULL);
    experiment->facts[FACT_KERNEL] = mem_strdup(machine ? machine->kernel : NULL);
}

static void take_gpu(struct dataset_experiment *experiment, const struct energy_figures *figures)
{
    struct dataset_gpu *gpu = &experiment->gpu;
    gpu->source = "meter";
    gpu->window_from = "meter";
    gpu->energy_j = figures->energy_j;
    gpu->half_width_j = figures->half_width_j;
    gpu->net_j = figures->net_j;
    gpu->net_half_width_j = figures->net_half_width_j;
    gpu->power_mean_w = figures->power_mean_w;
    gpu->power_min_w = figures->power_min_w;
    gpu->power_max_w = figures->power_max_w;
    gpu->power_cv_within = figures->power_cv_within;
    gpu->sampled_share = figures->covered_share;
    gpu->longest_gap_s = figures->longest_gap_s;
    memcpy(gpu->figures, figures->figures, sizeof gpu->figures);
    gpu->window_s = experiment->duration_s;
    if (!gpu->power_mean_w.valid && gpu->energy_j.valid && gpu->window_s.valid &&
        gpu->window_s.value > 0)
        gpu->power_mean_w = (struct reading){gpu->energy_j.value / gpu->window_s.value, true};
}

static void take_energy(struct dataset_experiment *experiment, const struct energy_record *energy)
{
    if (energy->has_gpu)
        take_gpu(experiment, &energy->gpu);
    experiment->user_s = energy->user_s;
    experiment->system_s = energy->system_s;
    experiment->memory_peak_bytes = energy->memory_peak_bytes;
    experiment->cpu_j = energy->cpu_package.energy_j;
    experiment->cpu_half_width_j = energy->cpu_package.half_width_j;
    experiment->dram_j = energy->dram.energy_j;
    for (size_t i = 0; i < RECORDED_COUNT; i++)
        experiment->recorded[i] = energy_figure(energy, i);
    experiment->recorded[RECORDED_GPU_MEAN] = experiment->gpu.power_mean_w;
}

static json_t *background_of(const struct plan_job *job)
{
    json_t *params = json_object();
    EACH (param, job->params, job->param_count)
        json_object_set_new(params, param->name, value_to_json(&param->value));
    return json_pack("{s:o, s:o, s:o}", "repo", json_text_or_null(job->repo), "model",
                     json_text_or_null(job->model), "hyperparameters", params);
}

static void take_job(struct dataset_experiment *experiment, const struct plan_experiment *planned)
{
    const struct plan_job *job = &planned->foreground;
    experiment->repo = mem_strdup(job->repo);
    experiment->model = mem_strdup(job->model);
    experiment->parallel = planned->parallel;
    experiment->mode = mode_name(job->mode);
    if (planned->parallel) {
        experiment->background =
            mem_printf("%s %s", planned->background->repo, planned->background->model);
        experiment->background_job = background_of(planned->background);
        experiment->start_after_s = planned->start_after_s;
    }
    EACH (param, job->params, job->param_count)
        study_param_set(experiment, param->name, value_copy(&param->value));
}

/* job: what the registry said of a metric's goal when the run was planned. */
static void take_item(struct dataset_experiment *experiment, const struct plan_job *job,
                      const struct result *result, const struct facts_item *item,
                      const struct energy_record *energy)
{
    bool ended = result->state == STATE_DONE &&
                 (result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED);
    experiment->id = mem_strdup(result->id);
    experiment->has_success = experiment->judged = ended;
    experiment->success = result->outcome == OUTCOME_SUCCEEDED;
    experiment->unwatched = experiment->success && result->verdict == VERDICT_NONE;
    experiment->has_end = result->ended_realtime_ns > 0;
    experiment->end_local_ns =
        experiment->has_end ? result->ended_realtime_ns + result->utc_offset_s * NS_PER_S : 0;
    experiment->has_utc_offset = experiment->has_end && result->has_utc_offset;
    experiment->utc_offset_s = result->utc_offset_s;
    experiment->attempt = item->attempt;
    experiment->has_start = item->has_start;
    experiment->start_utc_ns = item->start_realtime_ns;
    experiment->duration_s = (struct reading){result->duration_s, item->has_duration};
    experiment->retries = result->retries;
    experiment->error = mem_strdup(result->error);
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct result_metric *own = &result->metrics[i];
        struct dataset_metric *metric =
            study_metric_set(experiment, own->name, (struct reading){own->value, own->valid});
        metric->best = own->best;
        metric->goal = job->metrics[i].goal;
    }
    take_energy(experiment, energy);
    experiment->gpu.temperature_start_c = item->start.temperature_c;
    experiment->gpu.sm_clock_start_mhz = item->start.sm_clock_mhz;
    experiment->gpu.memory_clock_start_mhz = item->start.memory_clock_mhz;
    experiment->attempts = json_incref(item->all_attempts);
    experiment->epochs = json_incref(item->epochs);
    /* What spoke against an earlier attempt does not speak against the last one's figures. */
    EACH (entry, item->evidence, item->evidence_count)
        if (entry->attempt == 0 || entry->attempt == item->attempt)
            dataset_evidence(experiment, entry->kind, "%s", entry->text);
    EACH (row, result->checks, result->check_count)
        dataset_check(experiment, row->check, row->outcome, "%s", row->text ? row->text : "");
}

/* More configurations than this no plan has: a journal that says so is not believed. */
enum { MOST_CONFIGURATIONS = 2000000 };

/* Which run of its configuration each experiment is: in blocks, that is the block's number. */
static void number_blocks(const struct plan *plan, struct dataset_experiment *experiments)
{
    size_t last = 0;
    EACH (experiment, plan->experiments, plan->count)
        last = experiment->configuration > last ? experiment->configuration : last;
    if (plan->order != ORDER_BLOCKS || last > MOST_CONFIGURATIONS)
        return;
    AUTO_FREE size_t *runs = mem_array(last + 1, sizeof *runs);
    for (size_t i = 0; i < plan->count; i++)
        experiments[i].block = ++runs[plan->experiments[i].configuration];
}

bool read_own(struct dataset *dataset, size_t folder, struct err *err)
{
    static const struct energy_record nothing = {0};
    const char *path = dataset->folders[folder].path;
    struct facts facts;
    if (!facts_read(path, &facts, err))
        return false;
    AUTO(machines_fini) struct machines machines;
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    machines_read(dir, &machines);
    for (size_t i = 0; i < facts.results.count; i++) {
        struct dataset_experiment *experiment = dataset_add(dataset);
        const struct plan_experiment *planned = &facts.results.plan.experiments[i];
        const struct facts_item *item = &facts.items[i];
        const struct energy_record *energy = item->energy ? item->energy : &nothing;
        experiment->folder = folder;
        take_job(experiment, planned);
        take_item(experiment, &planned->foreground, &facts.results.items[i], item, energy);
        take_commit(experiment, &machines);
        own_facts_take(experiment, item, energy, &machines);
        dataset->folders[folder].folders++;
        dataset->folders[folder].summary_rows += experiment->judged;
        if (experiment->has_utc_offset && !dataset->folders[folder].has_zone) {
            dataset->folders[folder].has_zone = true;
            dataset->folders[folder].zone_s = experiment->utc_offset_s;
        }
    }
    if (facts.results.count == facts.results.plan.count && facts.results.count)
        number_blocks(&facts.results.plan, &dataset->items[dataset->count - facts.results.count]);
    contradictions_of_run(dataset, folder, &facts);
    facts_fini(&facts);
    return true;
}
