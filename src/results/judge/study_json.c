/* External format: the study's experiment.json, which its own scripts wrote. */
#include "results/judge/study_json.h"
#include "results/judge/contradictions.h"
#include "results/store/energy.h"

#include "base/json.h"
#include "base/mem.h"
#include "plan/config/settings.h"

#include <math.h>
#include <string.h>

void study_param_set(struct dataset_experiment *experiment, const char *name, struct value value)
{
    EACH (param, experiment->params, experiment->param_count)
        if (strcmp(param->name, name) == 0) {
            value_fini(&param->value);
            param->value = value;
            return;
        }
    MEM_ADD(experiment->params, experiment->param_count) =
        (struct dataset_param){mem_strdup(name), value};
}

/* Two files that say one thing differently: the cell is named. Text and numbers as people would
 * compare them. */
static void differ(struct dataset_experiment *experiment, const char *cell, const char *left,
                   const char *right, unsigned quantities)
{
    contradiction_add(experiment, quantities, cell, left, "summary.csv", right, "experiment.json");
}

static void compare_numbers(struct dataset_experiment *experiment, const char *prefix,
                            const char *name, double row, double json, unsigned quantities)
{
    if (!isfinite(row) || !isfinite(json) ||
        fabs(row - json) <= 1e-6 + 1e-4 * fmax(fabs(row), fabs(json)))
        return;
    char left[32], right[32];
    number_shortest(row, left);
    number_shortest(json, right);
    AUTO_FREE char *cell = mem_printf("%s%s", prefix, name);
    differ(experiment, cell, left, right, quantities);
}

struct dataset_metric *study_metric_set(struct dataset_experiment *experiment, const char *name,
                                        struct reading value)
{
    EACH (item, experiment->metrics, experiment->metric_count)
        if (strcmp(item->name, name) == 0) {
            if (!item->value.valid)
                item->value = value;
            return item;
        }
    struct dataset_metric *metric = &MEM_ADD(experiment->metrics, experiment->metric_count);
    *metric = (struct dataset_metric){.name = mem_strdup(name), .value = value};
    return metric;
}

static struct reading number_of(const json_t *object, const char *key)
{
    struct reading out = {0};
    const json_t *value = json_get(object, key);
    if (value && !json_is_boolean(value))
        out.valid = json_to_reading(value, &out.value) && isfinite(out.value);
    return out;
}

static void take_text(const json_t *object, const char *key, char **out)
{
    const char *text = json_get_text(object, key);
    if (text && !**out) {
        free(*out);
        *out = mem_strdup(text);
    }
}

static void take_params(struct dataset_experiment *experiment, const json_t *params)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(void *)params, name, value)
    {
        struct value read;
        double number;
        const struct reading row = dataset_param_number(experiment, name);
        if (row.valid && (json_is_number(value) || json_is_string(value))) {
            if (json_is_number(value) || json_to_reading(value, &number))
                compare_numbers(experiment, "hyperparam_", name, row.value,
                                json_is_number(value) ? json_number_value(value) : number, 0);
            else
                differ(experiment, name, "a number", json_string_value(value), 0);
        }
        if (dataset_param(experiment, name))
            continue;
        if (json_is_string(value) && json_to_reading(value, &number)) /* "inf": see value_to_json */
            study_param_set(experiment, name, value_float(number));
        else if (value_from_json(value, &read))
            study_param_set(experiment, name, read);
    }
}

static void take_metrics(struct dataset_experiment *experiment, const json_t *metrics)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(void *)metrics, name, value)
    {
        struct reading read = {0};
        read.valid = json_to_reading(value, &read.value); /* NaN and infinities too */
        const struct reading row = dataset_metric(experiment, name);
        if (row.valid && read.valid)
            compare_numbers(experiment, "perf_", name, row.value, read.value,
                            1u << QUANTITY_METRIC);
        study_metric_set(experiment, name, read);
    }
}

static void take_energy(struct dataset_experiment *experiment, const json_t *energy)
{
    for (size_t i = 0; i < RECORDED_COUNT; i++) {
        struct reading read = number_of(energy, energy_metric(i));
        if (!experiment->recorded[i].valid)
            experiment->recorded[i] = read;
        else if (read.valid)
            compare_numbers(experiment, "", energy_column(i), experiment->recorded[i].value,
                            read.value, 1u << QUANTITY_ENERGY);
    }
}

static void take_background(struct dataset_experiment *experiment, const json_t *background)
{
    const char *repo = json_get_text(background, "repository"),
               *model = json_get_text(background, "model");
    if (repo && !experiment->background)
        experiment->background = mem_printf("%s%s%s", repo, model ? " " : "", model ? model : "");
    if (!repo || !model || experiment->background_job)
        return;
    const json_t *params = json_get(background, "hyperparameters");
    experiment->background_job =
        json_pack("{s:s, s:s, s:o}", "repo", repo, "model", model, "hyperparameters",
                  json_is_object(params) ? json_deep_copy(params) : json_object());
}

static void compare_duration(struct dataset_experiment *experiment, struct reading written)
{
    if (!written.valid)
        return;
    if (!experiment->duration_s.valid)
        experiment->duration_s = written;
    else if (fabs(experiment->duration_s.value - written.value) >
             0.001 + 1e-6 * fabs(written.value)) {
        experiment->contradicts = true;
        dataset_evidence(experiment, "duration_differs",
                         "summary.csv says that it took %.6g s, experiment.json %.6g s",
                         experiment->duration_s.value, written.value);
    }
}

static void take_outcome(struct dataset_experiment *experiment, const json_t *job)
{
    json_int_t retries;
    const json_t *success = json_get(job, "training_success");
    if (!experiment->has_success && success && json_is_boolean(success)) {
        experiment->has_success = true;
        experiment->success = json_is_true(success);
    } else if (success && json_is_boolean(success) &&
               json_is_true(success) != experiment->success) {
        differ(experiment, "training_success", experiment->success ? "true" : "false",
               json_is_true(success) ? "true" : "false", 0);
    }
    if (json_get_int(job, "retries", &retries) && retries > experiment->retries)
        experiment->retries = retries;
    const char *error = json_get_text(job, "error_message");
    if (error && experiment->has_success && !experiment->success && !experiment->error)
        experiment->error = mem_strdup(error);
}

static void take_all(struct dataset_experiment *experiment, const json_t *root)
{
    const json_t *foreground = json_get(root, "foreground");
    const json_t *job = json_is_object(foreground) ? foreground : root;
    const char *mode = json_get_text(root, "mode"), *time = json_get_text(root, "timestamp");
    experiment->parallel |= (mode && strcmp(mode, "parallel") == 0) || job != root;
    if (time && !experiment->has_end)
        experiment->has_end = dataset_parse_time(time, &experiment->end_local_ns);
    take_text(job, "repository", &experiment->repo);
    take_text(job, "model", &experiment->model);
    take_params(experiment, json_get(job, "hyperparameters"));
    take_metrics(experiment, json_get(job, "performance_metrics"));
    take_energy(experiment, json_get(job, "energy_metrics"));
    compare_duration(experiment, number_of(job, "duration_seconds"));
    take_outcome(experiment, job);
    take_background(experiment, json_get(root, "background"));
    /* tare's own file without its run.db: what was drawn is named in it. */
    const json_t *own = json_get(root, "tare"), *mutated = json_get(own, "mutated");
    experiment->recorded_finer = json_is_object(own);
    if (json_is_array(mutated) && !experiment->mode)
        experiment->mode = mode_name(json_array_size(mutated) ? MODE_MUTATION : MODE_DEFAULT);
}

/* Python's json takes the last of keys that are repeated, and so does jansson where they are not
 * rejected. */
enum { AS_PYTHON = 0 };

/* Python writes NaN and Infinity, which are no JSON: they become the texts that stand for them in
 * ours. */
static json_t *parse_pythons(const char *text, size_t length)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    static const char *const texts[] = {"\"-inf\"", "\"inf\"", "\"nan\""};
    AUTO_TEXT struct text out = {0};
    bool quoted = false, replaced = false;
    for (size_t i = 0; i < length;) {
        size_t taken = 0, which = 0;
        for (size_t k = 0; !quoted && !taken && k < sizeof words / sizeof *words; k++)
            if (length - i >= strlen(words[k]) && memcmp(text + i, words[k], strlen(words[k])) == 0)
                taken = strlen(words[which = k]);
        if (taken) {
            text_add(&out, texts[which]);
            replaced = true;
        } else {
            taken = quoted && text[i] == '\\' && i + 1 < length ? 2 : 1;
            if (text[i] == '"')
                quoted = !quoted;
            text_add_bytes(&out, text + i, taken);
        }
        i += taken;
    }
    return replaced ? json_load_bounded(text_get(&out), out.length, AS_PYTHON, NULL) : NULL;
}

bool study_json_take(struct dataset_experiment *experiment, const char *text, size_t length,
                     struct err *err)
{
    json_error_t error;
    json_t *root = json_load_bounded(text, length, AS_PYTHON, &error);
    if (!root)
        root = parse_pythons(text, length);
    bool ok = json_is_object(root);
    if (ok)
        take_all(experiment, root);
    else
        err_set(err, "%s", root ? "it is no object" : error.text);
    json_decref(root);
    return ok;
}
