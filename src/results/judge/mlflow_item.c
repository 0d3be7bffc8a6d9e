/* An MLflow file store: a folder for each run, in it one for each experiment, in it a file for each
 * parameter, metric and tag. What MLflow calls an experiment is a run here, and what it calls a run
 * is an experiment. The layout is that of mlflow/store/tracking/file_store.py, names and lengths
 * those of mlflow/utils/validation.py (MLflow 1.0 to 3). */
#include "results/judge/mlflow_item.h"
#include "base/json_print.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tare_build.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX_BYTES = 6000, RUN_ID_DIGITS = 32, NAME_MAX_BYTES = 120 };

/* RunStatus of MLflow's service.proto, and SourceType's LOCAL. */
enum { STATUS_FINISHED = 3, STATUS_FAILED = 4, STATUS_KILLED = 5, SOURCE_LOCAL = 4 };

/* Letters that MLflow takes as such (Python's \w) and people name metrics with. */
static bool is_letter(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } letters[] = {{0xc0, 0xd6},     {0xd8, 0xf6},    {0xf8, 0x24f},    {0x391, 0x3a1},
                   {0x3a3, 0x3f5},   {0x400, 0x481},  {0x3041, 0x3096}, {0x30a1, 0x30fa},
                   {0x4e00, 0x9fff}, {0xac00, 0xd7a3}};
    EACH_OF (letter, letters)
        if (code >= letter->from && code <= letter->to)
            return true;
    return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
}

char *mlflow_name(const char *name)
{
    AUTO_TEXT struct text out = {0};
    size_t length = strlen(name), used = 0;
    bool changed = length == 0;
    char hash[DIGEST_HEX + 1];
    while (used < length) {
        struct utf8_step step = utf8_step(name + used, length - used);
        bool last = used + step.length == length;
        bool kept = is_letter(step.code) || step.code == '_' || step.code == '-' ||
                    (step.code == '.' && used > 0) || (step.code == ' ' && used > 0 && !last);
        if (out.length + step.length > NAME_MAX_BYTES) {
            changed = true;
            break;
        }
        if (kept)
            text_add_bytes(&out, name + used, step.length);
        else
            text_add_char(&out, '_');
        changed |= !kept;
        used += step.length;
    }
    if (changed) {
        struct digest digest = digest_of(name, length);
        digest_print(&digest, hash);
        text_addf(&out, "-%.8s", hash);
    }
    return text_take(&out);
}

struct ids {
    char experiment[24]; /* 18 digits, as MLflow makes them */
    char run[RUN_ID_DIGITS + 1];
};

static struct ids find_ids(const struct mlflow_item *item)
{
    struct ids ids;
    char hex[DIGEST_HEX + 1], first[16] = "";
    AUTO_FREE char *both = mem_printf("%s/%s", item->run->key, item->id);
    struct digest digest = digest_of(both, strlen(both));
    digest_print(&digest, hex);
    memcpy(ids.run, hex, RUN_ID_DIGITS);
    ids.run[RUN_ID_DIGITS] = '\0';
    memcpy(first, item->run->key, 15);
    uint64_t number =
        UINT64_C(100000000000000000) + strtoull(first, NULL, 16) % UINT64_C(900000000000000000);
    snprintf(ids.experiment, sizeof ids.experiment, "%" PRIu64, number);
    return ids;
}

/* A string of JSON is one of YAML, where its characters can be shown. */
static void add_text(struct text *out, const char *key, const char *value)
{
    AUTO_FREE char *line = utf8_line(value);
    json_t *json = json_string(line);
    text_addf(out, "%s: ", key);
    json_print(json, out);
    text_add_char(out, '\n');
    json_decref(json);
}

static void add_number(struct text *out, const char *key, int64_t number)
{
    text_addf(out, "%s: %lld\n", key, (long long)number);
}

static bool put(int dir, const char *name, const struct text *text, struct err *err)
{
    return fs_write_unsynced(dir, name, text_get(text), text->length, err);
}

/* file:///..., with what a URI does not take written as %XX. */
static char *artifacts_of(int dir, const struct ids *ids, bool run)
{
    AUTO_FREE char *link = mem_printf("/proc/self/fd/%d", dir), *path = realpath(link, NULL);
    AUTO_TEXT struct text out = {0};
    text_add(&out, "file://");
    for (const char *at = path ? path : "/"; *at; at++) {
        bool plain = (*at >= '0' && *at <= '9') || ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z') ||
                     strchr("/-._~", *at);
        if (plain)
            text_add_char(&out, *at);
        else
            text_addf(&out, "%%%02X", (unsigned)(unsigned char)*at);
    }
    text_addf(&out, "/%s", ids->experiment);
    if (run)
        text_addf(&out, "/%s/artifacts", ids->run);
    return text_take(&out);
}

static bool write_experiment_meta(int dir, int folder, const struct mlflow_item *item,
                                  const struct ids *ids, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *artifacts = artifacts_of(dir, ids, false);
    add_text(&text, "artifact_location", artifacts);
    add_number(&text, "creation_time", item->run->first_ns / NS_PER_MS);
    add_text(&text, "experiment_id", ids->experiment);
    add_number(&text, "last_update_time", item->run->last_ns / NS_PER_MS);
    text_add(&text, "lifecycle_stage: active\n");
    add_text(&text, "name", item->run->name);
    return put(folder, "meta.yaml", &text, err);
}

static int status_of(const struct mlflow_item *item)
{
    const struct dataset_experiment *experiment = item->experiment;
    bool own = item->dataset->folders[experiment->folder].layout == DATASET_TARE;
    if (experiment->has_success)
        return experiment->success ? STATUS_FINISHED : STATUS_FAILED;
    return own ? STATUS_KILLED : STATUS_FINISHED; /* the study does not always say */
}

static bool write_run_meta(int dir, int folder, const struct mlflow_item *item,
                           const struct ids *ids, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *artifacts = artifacts_of(dir, ids, true);
    add_text(&text, "artifact_uri", artifacts);
    add_number(&text, "end_time", item->end_ns / NS_PER_MS);
    text_add(&text, "entry_point_name: ''\n");
    add_text(&text, "experiment_id", ids->experiment);
    text_add(&text, "lifecycle_stage: active\n");
    add_text(&text, "run_id", ids->run);
    add_text(&text, "run_name", item->id);
    add_text(&text, "run_uuid", ids->run);
    text_add(&text, "source_name: ''\n");
    add_number(&text, "source_type", SOURCE_LOCAL);
    text_add(&text, "source_version: ''\n");
    add_number(&text, "start_time", item->start_ns / NS_PER_MS);
    add_number(&text, "status", status_of(item));
    text_add(&text, "tags: []\nuser_id: " TARE_NAME "\n");
    return put(folder, "meta.yaml", &text, err);
}

static bool put_value(int dir, const char *name, const char *value, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *line = utf8_line(value), *file = mlflow_name(name);
    text_add_bytes(&text, line, utf8_cut(line, strlen(line), VALUE_MAX_BYTES));
    return put(dir, file, &text, err);
}

static bool write_params(int run, const struct dataset_experiment *experiment, struct err *err)
{
    AUTO_CLOSE int dir = fs_make_dir_at(run, "params", 0777, err);
    for (size_t i = 0; dir >= 0 && i < experiment->param_count; i++) {
        AUTO_FREE char *value = value_format(&experiment->params[i].value);
        if (!put_value(dir, experiment->params[i].name, value, err))
            return false;
    }
    return dir >= 0;
}

/* "TIMESTAMP VALUE STEP", a line for each value. */
static void add_value(struct text *out, int64_t step, int64_t time_ns, double value)
{
    char number[32];
    number_shortest(value, number);
    text_addf(out, "%lld %s %lld\n", (long long)(time_ns / NS_PER_MS), number, (long long)step);
}

/* The values of a metric in order: those of its curve, or the last one alone, as step 0. */
static void add_curve(const struct mlflow_item *item, size_t metric, struct text *out)
{
    struct reading last = item->experiment->metrics[metric].value;
    EACH (point, item->points, item->point_count)
        if (point->metric == metric)
            add_value(out, point->step, point->time_ns, point->value);
    if (out->length == 0 && last.valid)
        add_value(out, 0, item->end_ns, last.value);
}

static bool put_figures(int dir, const struct mlflow_item *item, struct err *err)
{
    const struct dataset_experiment *experiment = item->experiment;
    const struct dataset_gpu *gpu = &experiment->gpu;
    const struct {
        const char *name;
        struct reading value;
    } figures[] = {{"duration_s", experiment->duration_s},
                   {"retries", {(double)experiment->retries, true}},
                   {"gpu_energy_j", dataset_energy(experiment)},
                   {"gpu_energy_half_width_j", gpu->half_width_j},
                   {"gpu_energy_net_j", gpu->net_j},
                   {"gpu_energy_net_half_width_j", gpu->net_half_width_j},
                   {"gpu_power_mean_w", dataset_power(experiment)},
                   {"gpu_power_max_w", gpu->power_max_w},
                   {"gpu_temperature_mean_c", gpu->temperature_mean_c},
                   {"gpu_temperature_max_c", gpu->temperature_max_c},
                   {"gpu_utilisation_mean_percent", gpu->utilisation_mean_percent},
                   {"cpu_energy_j", experiment->cpu_j},
                   {"dram_energy_j", experiment->dram_j}};
    EACH_OF (figure, figures) {
        AUTO_TEXT struct text text = {0};
        AUTO_FREE char *name = mem_printf(TARE_NAME ".%s", figure->name);
        add_value(&text, 0, item->end_ns, figure->value.value);
        if (figure->value.valid && !put(dir, name, &text, err))
            return false;
    }
    return true;
}

static bool write_metrics(int run, const struct mlflow_item *item, struct err *err)
{
    const struct dataset_experiment *experiment = item->experiment;
    AUTO_CLOSE int dir = fs_make_dir_at(run, "metrics", 0777, err);
    for (size_t i = 0; dir >= 0 && i < experiment->metric_count; i++) {
        AUTO_TEXT struct text text = {0};
        AUTO_FREE char *name = mlflow_name(experiment->metrics[i].name);
        add_curve(item, i, &text);
        if (text.length && !put(dir, name, &text, err))
            return false; /* MLflow takes a file without a line for a damaged one */
    }
    return dir >= 0 && put_figures(dir, item, err);
}

static bool write_tags(int run, const struct mlflow_item *item, struct err *err)
{
    const struct dataset_experiment *experiment = item->experiment;
    AUTO_STRV struct strv kinds = {0};
    EACH (entry, experiment->evidence, experiment->evidence_count)
        strv_add_once(&kinds, entry->kind);
    AUTO_FREE char *evidence = strv_join(&kinds, " ");
    AUTO_FREE char *checks = checks_compact(experiment->checks, experiment->check_count);
    const struct {
        const char *name, *value;
    } tags[] = {
        {"mlflow.runName", item->id},
        {"mlflow.source.name", TARE_NAME},
        {"mlflow.source.type", "LOCAL"},
        {TARE_NAME ".experiment_id", experiment->id},
        {TARE_NAME ".repository", experiment->repo},
        {TARE_NAME ".model", experiment->model},
        {TARE_NAME ".mode", dataset_mode(experiment)},
        {TARE_NAME ".verdict", verdict_name(experiment->verdict)},
        {TARE_NAME ".verdict_time", verdict_name(experiment->verdicts.of[QUANTITY_TIME])},
        {TARE_NAME ".verdict_energy", verdict_name(experiment->verdicts.of[QUANTITY_ENERGY])},
        {TARE_NAME ".verdict_metric", verdict_name(experiment->verdicts.of[QUANTITY_METRIC])},
        {TARE_NAME ".evidence", evidence},
        {TARE_NAME ".checks", checks},
        {TARE_NAME ".error", experiment->error},
    };
    AUTO_CLOSE int dir = fs_make_dir_at(run, "tags", 0777, err);
    for (size_t i = 0; dir >= 0 && i < sizeof tags / sizeof *tags; i++)
        if (tags[i].value && *tags[i].value && !put_value(dir, tags[i].name, tags[i].value, err))
            return false;
    return dir >= 0;
}

bool mlflow_item_write(int dir, const struct mlflow_item *item, struct err *err)
{
    struct ids ids = find_ids(item);
    AUTO_CLOSE int experiment = fs_make_dir_at(dir, ids.experiment, 0777, err);
    AUTO_CLOSE int run = experiment < 0 ? -1 : fs_make_dir_at(experiment, ids.run, 0777, err);
    AUTO_CLOSE int artifacts = run < 0 ? -1 : fs_make_dir_at(run, "artifacts", 0777, err);
    return artifacts >= 0 && write_experiment_meta(dir, experiment, item, &ids, err) &&
           write_run_meta(dir, run, item, &ids, err) && write_params(run, item->experiment, err) &&
           write_metrics(run, item, err) && write_tags(run, item, err);
}
