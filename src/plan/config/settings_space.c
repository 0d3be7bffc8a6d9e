#include "plan/config/settings_space.h"
#include "base/json_place.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_SEEDS = 1000000, MOST_SEEDS_LISTED = 10000 };

static bool read_scalar(const struct source *source, const char *path, const char *name,
                        const json_t *json, const char *hint, struct value *out)
{
    if (value_from_json(json, out))
        return true;
    AUTO_FREE char *shown = field_shown(json);
    return field_error(source, path,
                       "'%s': expected a number, a string, true, false or null, not %s%s", name,
                       shown, hint);
}

static bool read_axis(const struct source *source, const char *path, const json_t *list,
                      struct setting_param *param)
{
    size_t count = json_array_size(list);
    if (count == 0)
        return field_error(source, path, "'%s': an axis with no value", param->name);
    bool good = true;
    param->axis = mem_array(count, sizeof *param->axis);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *item = json_path_index(path, i);
        struct value value = {0};
        if (read_scalar(source, item, param->name, json_array_get(list, i), "", &value))
            param->axis[param->axis_count++] = value;
        else
            good = false;
    }
    return good;
}

static const char *axis_hint(const json_t *json, enum mode mode)
{
    if (json_array_size(json) == 0)
        return "";
    return mode == MODE_LIST ? "; each point has one value of it"
                             : "; several values are an axis of \"mode\": \"grid\"";
}

static bool read_space_param(const struct source *source, const char *path, const json_t *json,
                             enum mode mode, struct setting_param *param)
{
    if (mode != MODE_GRID || !json_is_array(json))
        return read_scalar(source, path, param->name, json, axis_hint(json, mode), &param->value);
    if (!read_axis(source, path, json, param))
        return false;
    param->value = value_copy(&param->axis[0]);
    return true;
}

static void param_free(struct setting_param *param)
{
    free(param->name);
    value_fini(&param->value);
    EACH (axi, param->axis, param->axis_count)
        value_fini(axi);
    free(param->axis);
}

static void read_params(const struct source *source, const char *path, const json_t *values,
                        enum mode mode, struct setting_param **params, size_t *count)
{
    *params = mem_array(json_object_size(values), sizeof **params);
    fields_check_repeats(source, path, values);
    const char *name;
    json_t *json;
    json_object_foreach((json_t *)values, name, json)
    {
        AUTO_FREE char *item = json_path_key(path, name);
        struct setting_param param = {.name = mem_strdup(name)};
        if (read_space_param(source, item, json, mode, &param))
            (*params)[(*count)++] = param;
        else
            param_free(&param);
    }
}

static void read_list_points(const struct source *source, const char *path, const json_t *list,
                             struct job_settings *job)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0) {
        AUTO_FREE char *shown = list ? field_shown(list) : mem_strdup("nothing");
        field_error(
            source, list ? path : job->json_path,
            "'hyperparameters': mode \"list\" needs a list of objects, each a point, not %s",
            shown);
        return;
    }
    job->points = mem_array(count, sizeof *job->points);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *place = json_path_index(path, i);
        const json_t *json = json_array_get(list, i);
        if (!json_is_object(json)) {
            field_refuse(source, place, "hyperparameters", "an object (a point)", json);
            continue;
        }
        struct setting_point *point = &job->points[job->point_count++];
        read_params(source, place, json, MODE_LIST, &point->params, &point->param_count);
        point->json_path = steal_ptr(place);
    }
    if (job->point_count == 0)
        return;
    job->params = job->points[0].params;
    job->param_count = job->points[0].param_count;
}

void settings_read_hyperparameters(const struct source *source, const char *path,
                                   const json_t *object, struct job_settings *job)
{
    const json_t *values = json_get(object, "hyperparameters");
    AUTO_FREE char *place = json_path_key(path, "hyperparameters");
    if (job->mode == MODE_LIST) {
        read_list_points(source, place, values, job);
    } else if (json_is_array(values)) {
        AUTO_FREE char *shown = field_shown(values);
        field_error(source, place,
                    "'hyperparameters': expected an object, not %s; a list of points is for "
                    "\"mode\": \"list\"",
                    shown);
    } else {
        AUTO_FREE char *same = NULL;
        if (field_object(source, path, object, "hyperparameters", &same))
            read_params(source, place, values, job->mode, &job->params, &job->param_count);
    }
}

static void params_free(struct setting_param *params, size_t count)
{
    EACH (param, params, count)
        param_free(param);
    free(params);
}

void settings_hyperparameters_fini(struct job_settings *job)
{
    if (job->point_count == 0)
        params_free(job->params, job->param_count);
    EACH (point, job->points, job->point_count) {
        free(point->json_path);
        params_free(point->params, point->param_count);
    }
    free(job->points);
}

static bool add_seed(const struct source *source, const char *path, const json_t *json,
                     struct setting_seeds *out)
{
    if (!json_is_integer(json))
        return field_refuse(source, path, "seeds", "an integer", json);
    for (size_t i = 0; i < out->count; i++) {
        if (out->items[i] != json_integer_value(json))
            continue;
        problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                     "'seeds': duplicate value %lld is left out", (long long)out->items[i]);
        return true;
    }
    out->items[out->count++] = json_integer_value(json);
    return true;
}

void settings_read_seeds(const struct source *source, const char *path, const json_t *object,
                         struct setting_seeds *out)
{
    const json_t *json = json_get(object, "seeds");
    if (!json)
        return;
    AUTO_FREE char *place = json_path_key(path, "seeds");
    size_t listed = json_array_size(json);
    bool counted = json_is_integer(json) && json_integer_value(json) >= 1 &&
                   json_integer_value(json) <= MOST_SEEDS;
    if (!counted && (listed == 0 || listed > MOST_SEEDS_LISTED)) {
        AUTO_FREE char *shown = field_shown(json);
        field_error(
            source, place,
            "'seeds': expected an integer from 1 to %d, or a list of at most %d integers, not %s",
            MOST_SEEDS, MOST_SEEDS_LISTED, shown);
        return;
    }
    struct setting_seeds seeds = {0};
    bool good = true;
    if (counted)
        seeds.count = (size_t)json_integer_value(json);
    else
        seeds.items = mem_array(listed, sizeof *seeds.items);
    for (size_t i = 0; i < listed; i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        good = add_seed(source, item, json_array_get(json, i), &seeds) && good;
    }
    if (!good) {
        settings_seeds_fini(&seeds);
        return;
    }
    seeds.json_path = steal_ptr(place);
    *out = seeds;
}

void settings_seeds_fini(struct setting_seeds *seeds)
{
    free(seeds->json_path);
    free(seeds->items);
    *seeds = (struct setting_seeds){0};
}
