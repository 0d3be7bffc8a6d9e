#include "results/judge/own.h"
#include "results/judge/contradictions.h"
#include "results/judge/study_json.h"
#include "results/store/energy.h"
#include "results/store/results.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "machine/gpu/vendor.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MACHINE_MAX_BYTES = 16 << 20, MACHINES_MAX = 100000 };

/* What the folder knows of its machines: one machine.json for each session, the newest without a
 * number. */
static json_t *read_machines(const char *run_dir)
{
    struct err ignored;
    json_t *machines = json_array();
    AUTO_CLOSE int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int number = 0; dir >= 0 && number < MACHINES_MAX; number++) {
        AUTO_FREE char *name =
            number ? mem_printf("machine.%d.json", number) : mem_strdup("machine.json");
        AUTO_TEXT struct text text = {0};
        AUTO(json_doc_fini) struct json_doc doc = {0};
        if (!fs_read_at(dir, name, MACHINE_MAX_BYTES, &text, &ignored) ||
            !json_doc_parse(name, text_get(&text), text.length, &doc, &ignored))
            break;
        json_array_append(machines, doc.root);
    }
    return machines;
}

/* That of the session's host and boot: a session that changed nothing of them met the same
 * machine. */
static const json_t *machine_of(const struct facts_item *item, const json_t *machines)
{
    size_t i;
    json_t *machine;
    json_array_foreach(machines, i, machine)
    {
        if (json_says(machine, "host", item->host) && json_says(machine, "boot_id", item->boot_id))
            return machine;
    }
    return NULL;
}

/* 40 digits, or the 64 of SHA-256. */
static bool is_hash(const char *text)
{
    size_t length = text ? strspn(text, "0123456789abcdef") : 0;
    return (length == 40 || length == 64) && !text[length];
}

/* From which state of its repository an experiment ran: which session it ran in is not written
 * down, so all must say the same. */
static void take_commit(struct dataset_experiment *experiment, const json_t *machines)
{
    for (size_t i = 0; i < json_array_size(machines); i++) {
        size_t k;
        json_t *repository;
        const char *commit = NULL;
        bool changed = false;
        json_array_foreach(json_object_get(json_array_get(machines, i), "repositories"), k,
                           repository)
        {
            if (!json_says(repository, "name", experiment->repo))
                continue;
            commit = json_get_text(repository, "commit");
            changed = json_is_true(json_object_get(repository, "dirty"));
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
static const char *model_of(const json_t *board, const json_t *machine)
{
    const char *model = json_get_text(board, "model"), *uuid = json_get_text(board, "uuid");
    size_t i;
    json_t *gpu;
    json_array_foreach(json_object_get(machine, "gpus"), i,
                       gpu) if (!model && json_says(gpu, "uuid", uuid)) model =
        json_get_text(gpu, "model");
    return model;
}

/* "700 W"; "1980/3201 MHz"; NULL: not all of it is known. */
static char *numbers_of(const json_t *board, const char *first, const char *second,
                        const char *unit)
{
    double a, b;
    if (!json_get_number(board, first, &a) || (second && !json_get_number(board, second, &b)))
        return NULL;
    return second ? mem_printf("%.6g/%.6g %s", a, b, unit) : mem_printf("%.6g %s", a, unit);
}

static char *fact_of(const json_t *board, const json_t *machine, enum dataset_fact fact)
{
    switch (fact) {
    case FACT_GPU_MODEL:
        return mem_strdup(model_of(board, machine));
    case FACT_POWER_LIMIT:
        return numbers_of(board, "power_limit_w", NULL, "W");
    case FACT_CLOCKS_MAX:
        return numbers_of(board, "sm_clock_max_mhz", "memory_clock_max_mhz", "MHz");
    case FACT_CLOCKS_SET:
        return numbers_of(board, "sm_clock_application_mhz", "memory_clock_application_mhz", "MHz");
    case FACT_DRIVER:
        return json_get_text(board, "driver") ? mem_strdup(json_get_text(board, "driver"))
                                              : version_in(gpu_vendor_driver_in(machine));
    default:
        return NULL;
    }
}

/* Of several GPUs each value once; NULL: of one it is not known. */
static char *fact_of_all(const json_t *boards, const json_t *machine, enum dataset_fact fact)
{
    AUTO_STRV struct strv values = {0};
    size_t i;
    json_t *board;
    json_array_foreach(boards, i, board)
    {
        AUTO_FREE char *value = fact_of(board, machine, fact);
        if (!value)
            return NULL;
        strv_add_once(&values, value);
    }
    return values.count ? strv_join(&values, " and ") : NULL;
}

/* "gpu07 GPU 2 (GPU-73fe8c24)": where each task sees its GPU as the first, the UUID tells them
 * apart. */
static char *lane_of(const struct facts_item *item, const json_t *boards)
{
    AUTO_STRV struct strv names = {0};
    size_t i;
    json_t *board;
    json_array_foreach(boards, i, board)
    {
        const char *label = json_get_text(board, "device"), *uuid = json_get_text(board, "uuid");
        strv_add_owned(&names,
                       mem_printf("%s (%.12s)", label ? label : "GPU", uuid ? uuid : "no UUID"));
    }
    AUTO_FREE char *gpus = strv_join(&names, ", ");
    return names.count
               ? mem_printf("%s%s%s", item->host ? item->host : "", item->host ? " " : "", gpus)
               : NULL;
}

/* All of them or none: of one without an energy or a UUID nobody can say how much it counts. */
static void take_measured(struct dataset_experiment *experiment, const json_t *boards)
{
    size_t i, count = json_array_size(boards);
    json_t *board;
    json_array_foreach(boards, i, board)
    {
        double energy_j;
        if (!json_get_text(board, "uuid") || !json_get_number(board, "joules", &energy_j) ||
            !(energy_j >= 0) || !isfinite(energy_j))
            return;
    }
    experiment->boards = mem_array(count + 1, sizeof *experiment->boards);
    json_array_foreach(boards, i, board)
    {
        struct dataset_board *out = &experiment->boards[experiment->board_count++];
        out->uuid = mem_strdup(json_get_text(board, "uuid"));
        json_get_number(board, "joules", &out->energy_j);
        out->half_width_j.valid =
            json_get_number(board, "half_width_j", &out->half_width_j.value) &&
            isfinite(out->half_width_j.value) && out->half_width_j.value >= 0;
        if (!json_get_number(board, "gain_bound", &out->gain_bound) || !(out->gain_bound > 0) ||
            !isfinite(out->gain_bound))
            out->gain_bound = 0;
    }
}

static void own_facts_take(struct dataset_experiment *experiment, const struct facts_item *item,
                           const json_t *energy, const json_t *machines)
{
    const json_t *machine = machine_of(item, machines);
    json_t *boards = json_array(), *device; /* of the attempt whose figures these are */
    size_t i;
    json_array_foreach(json_object_get(energy, "devices"), i, device)
    {
        if (json_says(device, "scope", "GPU board"))
            json_array_append(boards, device);
    }
    take_measured(experiment, boards);
    experiment->facts[FACT_NODE] = mem_strdup(item->host);
    experiment->facts[FACT_LANE] = lane_of(item, boards);
    for (enum dataset_fact fact = FACT_GPU_MODEL; fact < DATASET_FACTS; fact++)
        experiment->facts[fact] = fact_of_all(boards, machine, fact);
    experiment->facts[FACT_CPU] = mem_strdup(json_get_text(json_get(machine, "cpu"), "model"));
    experiment->facts[FACT_KERNEL] = mem_strdup(json_get_text(machine, "kernel"));
    json_decref(boards);
}

#define GPU(key, member)                          \
    {                                             \
        key, offsetof(struct dataset_gpu, member) \
    }
#define SAME(member) GPU(#member, member)
static const struct {
    const char *key; /* in the energy's "gpu" */
    size_t at;
} figures[] = {GPU("joules", energy_j), SAME(half_width_j),    GPU("net_of_bare_idle_j", net_j),
               SAME(net_half_width_j),  SAME(power_mean_w),    SAME(power_min_w),
               SAME(power_max_w),       SAME(power_cv_within), GPU("covered_share", sampled_share),
               SAME(longest_gap_s)};

static void take_gpu(struct dataset_experiment *experiment, const json_t *block)
{
    struct dataset_gpu *gpu = &experiment->gpu;
    if (!json_is_object(block))
        return;
    gpu->source = "meter";
    gpu->window_from = "meter";
    EACH_OF (figure, figures)
        *(struct reading *)(void *)((char *)gpu + figure->at) =
            json_get_reading(block, figure->key);
    for (size_t i = 0; i < GPU_FIGURE_COUNT; i++)
        gpu->figures[i] = json_get_reading(block, gpu_figures[i].key);
    gpu->window_s = experiment->duration_s;
    if (!gpu->power_mean_w.valid && gpu->energy_j.valid && gpu->window_s.valid &&
        gpu->window_s.value > 0)
        gpu->power_mean_w = (struct reading){gpu->energy_j.value / gpu->window_s.value, true};
}

static void take_energy(struct dataset_experiment *experiment, const json_t *energy)
{
    const json_t *package = json_get(energy, "cpu_package");
    const json_t *host = json_get(energy, "host");
    take_gpu(experiment, json_get(energy, "gpu"));
    experiment->user_s = json_get_reading(host, "user_s");
    experiment->system_s = json_get_reading(host, "system_s");
    experiment->memory_peak_bytes = json_get_reading(host, "memory_peak_bytes");
    experiment->cpu_j = json_get_reading(package, "joules");
    experiment->cpu_half_width_j = json_get_reading(package, "half_width_j");
    experiment->dram_j = json_get_reading(json_get(energy, "dram"), "joules");
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
                      const json_t *energy)
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
    struct facts facts;
    if (!facts_read(dataset->folders[folder].path, &facts, err))
        return false;
    json_t *machines = read_machines(dataset->folders[folder].path);
    for (size_t i = 0; i < facts.results.count; i++) {
        struct dataset_experiment *experiment = dataset_add(dataset);
        experiment->folder = folder;
        take_job(experiment, &facts.results.plan.experiments[i]);
        json_t *energy =
            facts.items[i].energy
                ? json_load_bounded(facts.items[i].energy, strlen(facts.items[i].energy), 0, NULL)
                : NULL;
        take_item(experiment, &facts.results.plan.experiments[i].foreground,
                  &facts.results.items[i], &facts.items[i], energy);
        take_commit(experiment, machines);
        own_facts_take(experiment, &facts.items[i], energy, machines);
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
    contradictions_of_run(dataset, folder, &facts);
    json_decref(machines);
    facts_fini(&facts);
    return true;
}
