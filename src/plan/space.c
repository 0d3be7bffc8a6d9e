#include "plan/space.h"
#include "base/json_place.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_EXACT 9007199254740992.0 /* 2^53: doubles hold every whole number up to here */

static bool report_unknown_name(const struct space_source *source, const char *place,
                                const char *what, const char *given, const char *const *names,
                                size_t count)
{
    AUTO_FREE char *nearest = problem_nearest(given, names, count);
    return problems_error(source->problems, &source->settings->doc, place, "unknown %s '%s'%s",
                          what, given, nearest);
}

static bool find_repo(struct space *space, const struct space_source *source,
                      const struct job_settings *job)
{
    const struct registry *registry = source->registry;
    if (!job->repo || !*job->repo)
        return false;
    if ((space->repo = registry_find(registry, job->repo)))
        return true;
    AUTO_FREE char *place = json_path_key(job->json_path, "repo");
    if (source->study && registry_find(source->study, job->repo))
        return problems_error(
            source->problems, &source->settings->doc, place,
            "unknown repository '%s'; the registry of the study has it: --config %s", job->repo,
            source->study_path);
    AUTO_FREE const char **names = mem_array(registry->repo_count, sizeof *names);
    for (size_t i = 0; i < registry->repo_count; i++)
        names[i] = registry->repos[i].name;
    return report_unknown_name(source, place, "repository", job->repo, names, registry->repo_count);
}

static bool find_space_model(struct space *space, const struct space_source *source,
                             const struct job_settings *job)
{
    if (!job->model || !*job->model)
        return false;
    const struct strv *models = &space->repo->models;
    for (size_t i = 0; i < models->count && !space->model; i++)
        if (strcmp(models->items[i], job->model) == 0)
            space->model = models->items[i];
    if (space->model)
        return true;
    AUTO_FREE char *place = json_path_key(job->json_path, "model");
    AUTO_FREE char *what = mem_printf("model of '%s':", space->repo->name);
    return report_unknown_name(source, place, what, job->model, (const char *const *)models->items,
                               models->count);
}

/* "--lr", "lr": the option of a hyperparameter instead of its name; NULL: of none. */
static const char *name_of_flag(const struct space *space, const char *given)
{
    given += strspn(given, "-");
    EACH (param, space->params, space->param_count) {
        const char *flag = (*param)->flag;
        if (flag && *given && strcmp(flag + strspn(flag, "-"), given) == 0)
            return (*param)->name;
    }
    return NULL;
}

static char *nearest_param(const struct space *space, const char *given)
{
    AUTO_FREE const char **names = mem_array(space->param_count, sizeof *names);
    for (size_t i = 0; i < space->param_count; i++)
        names[i] = space->params[i]->name;
    const char *name = name_of_flag(space, given);
    return name ? mem_printf("; did you mean '%s'?", name)
                : problem_nearest(given, names, space->param_count);
}

/* As in the study, hyperparameters that a model lacks are left out, unless the command line names
 * them. Each name of a job is reported once. */
static void drop_unknown_param(const struct space *space, const struct space_source *source,
                               const char *place, const char *name, struct strv *dropped)
{
    if (strv_has(dropped, name))
        return;
    strv_add(dropped, name);
    AUTO_FREE char *nearest = nearest_param(space, name);
    const struct json_doc *doc = &source->settings->doc;
    bool error = source->strict || json_doc_overridden(doc, place);
    problems_add(source->problems, error ? SEVERITY_ERROR : SEVERITY_WARNING, doc, place,
                 "'%s' has no hyperparameter '%s'%s%s", space->repo->name, name,
                 error ? "" : ": it is left out", nearest);
}

/* The index of the parameter; param_count: not found. */
static size_t find_space_param(const struct space *space, const char *name)
{
    size_t i = 0;
    while (i < space->param_count && strcmp(space->params[i]->name, name) != 0)
        i++;
    return i;
}

static bool fit_int(const struct value *given, struct value *out)
{
    bool whole = given->kind == VALUE_FLOAT && floor(given->real) == given->real &&
                 fabs(given->real) <= LARGEST_EXACT;
    if (given->kind != VALUE_INT && !whole)
        return false;
    *out = value_int(whole ? (int64_t)given->real : given->integer);
    return true;
}

static bool fit_float(const struct value *given, struct value *out)
{
    if (given->kind != VALUE_INT && given->kind != VALUE_FLOAT)
        return false;
    *out = value_float(given->kind == VALUE_INT ? (double)given->integer : given->real);
    return true;
}

/* The choice itself, in the registry's spelling (16 given for 16.0). */
static bool fit_choice(const struct param *param, const struct value *given, struct value *out)
{
    AUTO_FREE char *key = value_key(given);
    for (size_t i = 0; i <= param->choice_count; i++) {
        const struct value *choice =
            i < param->choice_count ? &param->choices[i] : &param->default_value;
        AUTO_FREE char *other = value_key(choice);
        bool same_kind = (given->kind == VALUE_TEXT) == (choice->kind == VALUE_TEXT);
        if (same_kind && strcmp(key, other) == 0) {
            *out = value_copy(choice);
            return true;
        }
    }
    return false;
}

static char *describe_value(const struct value *value)
{
    AUTO_FREE char *written = value_format(value);
    return value->kind == VALUE_TEXT ? mem_printf("the string '%s'", written)
                                     : mem_strdup(value->kind == VALUE_NULL ? "null" : written);
}

/* As out of range numbers, a value outside of the choices is the person's own affair, unless it is
 * of a kind that none of them has. */
static bool accept_foreign_choice(const struct space_source *source, const char *place,
                                  const struct param *param, const struct value *given)
{
    bool known_kind = false;
    AUTO_STRV struct strv names = {0};
    EACH (choice, param->choices, param->choice_count) {
        known_kind |= choice->kind == given->kind;
        strv_add_owned(&names, value_format(choice));
    }
    AUTO_FREE char *shown = describe_value(given);
    AUTO_FREE char *written = value_format(given);
    AUTO_FREE char *nearest =
        problem_nearest(written, (const char *const *)names.items, names.count);
    problems_add(source->problems, known_kind ? SEVERITY_WARNING : SEVERITY_ERROR,
                 &source->settings->doc, place, "'%s': %s is none of the choices%s", param->name,
                 shown, nearest);
    return known_kind;
}

static bool fit_value(const struct space_source *source, const char *place,
                      const struct param *param, const struct value *given, struct value *out)
{
    bool left_out = given->kind == VALUE_NULL && param->default_value.kind == VALUE_NULL;
    if (left_out || (param->type == PARAM_TEXT && given->kind == VALUE_TEXT)) {
        *out = value_copy(given);
        return true;
    }
    if (param->type == PARAM_CHOICE || param->type == PARAM_BOOL) {
        if (fit_choice(param, given, out))
            return true;
        if (!accept_foreign_choice(source, place, param, given))
            return false;
        *out = value_copy(given);
        return true;
    }
    bool is_int = param->type == PARAM_INT;
    if (is_int ? fit_int(given, out) : param->type == PARAM_FLOAT && fit_float(given, out))
        return true;
    AUTO_FREE char *shown = describe_value(given);
    return problems_error(source->problems, &source->settings->doc, place,
                          "'%s': expected %s, not %s", param->name,
                          is_int                      ? "an integer"
                          : param->type == PARAM_TEXT ? "a string"
                                                      : "a number",
                          shown);
}

/* Where values that a job gives go to. */
struct given {
    const struct job_settings *job;
    struct strv dropped; /* names that the model does not have, each told once */
    bool *named;         /* of each param: the job gives it */
};

/* The values of one param: a single one, or those of an axis. Duplicates of an axis are left
 * out. */
static bool fit_axis(const struct space_source *source, const char *place,
                     const struct param *param, const struct setting_param *set,
                     struct space_values *out)
{
    bool ok = true;
    struct seen *seen = seen_new();
    out->values = mem_array(set->axis_count, sizeof *out->values);
    for (size_t i = 0; i < set->axis_count; i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        struct value value = {0};
        if (!fit_value(source, item, param, &set->axis[i], &value)) {
            ok = false;
            continue;
        }
        AUTO_FREE char *written = value_format(&value);
        if (seen_add(seen, written)) {
            out->values[out->count++] = value;
            continue;
        }
        problems_add(source->problems, SEVERITY_WARNING, &source->settings->doc, item,
                     "'%s': duplicate value %s is left out", set->name, written);
        value_fini(&value);
    }
    seen_free(seen);
    return ok;
}

/* params: the job's, or those of one point (point is then not NULL and takes them). */
static bool set_values(struct space *space, const struct space_source *source, const char *all,
                       const struct setting_param *params, size_t count, struct space_values *point,
                       struct given *given)
{
    bool ok = true;
    EACH (set, params, count) {
        AUTO_FREE char *place = json_path_key(all, set->name);
        size_t at = find_space_param(space, set->name);
        struct value value = {0};
        if (at == space->param_count) {
            drop_unknown_param(space, source, place, set->name, &given->dropped);
            continue;
        }
        given->named[at] = true;
        if (set->axis) {
            struct space_values *axis = &space->parts[space->part_count++];
            axis->at = mem_array(1, sizeof *axis->at);
            axis->at[0] = at;
            space->mutated[at] = true;
            ok = fit_axis(source, place, space->params[at], set, axis) && ok;
        } else if (!fit_value(source, place, space->params[at], &set->value, &value)) {
            ok = false;
        } else if (point) {
            point->at[point->count] = at;
            point->values[point->count++] = value;
            space->mutated[at] = true;
        } else {
            value_fini(&space->values[at]);
            space->values[at] = value;
        }
    }
    return ok;
}

static void part_free(struct space_values *part)
{
    EACH (value, part->values, part->count)
        value_fini(value);
    free(part->values);
    free(part->at);
    *part = (struct space_values){0};
}

static char *exact_key(const struct space *space)
{
    struct text key = {0};
    EACH (value, space->values, space->param_count) {
        AUTO_FREE char *written = value_format(value);
        text_addf(&key, "%d %s\x1f", value->kind, written);
    }
    return text_take(&key);
}

static bool set_points(struct space *space, const struct space_source *source, struct given *given)
{
    bool ok = true;
    struct seen *seen = seen_new();
    for (size_t i = 0; i < given->job->point_count; i++) {
        const struct setting_point *from = &given->job->points[i];
        struct space_values *point = &space->parts[space->part_count++];
        point->at = mem_array(from->param_count, sizeof *point->at);
        point->values = mem_array(from->param_count, sizeof *point->values);
        ok = set_values(space, source, from->json_path, from->params, from->param_count, point,
                        given) &&
             ok;
        space_set_point(space, space->part_count - 1);
        AUTO_FREE char *key = exact_key(space);
        if (seen_add(seen, key))
            continue;
        problems_add(source->problems, SEVERITY_WARNING, &source->settings->doc, from->json_path,
                     "duplicate point is left out; 'runs_per_config' or 'seeds' repeat each point");
        part_free(point);
        space->part_count--;
    }
    seen_free(seen);
    return ok;
}

/* A seed that is given twice would be one of both only. */
static bool set_seeds(struct space *space, const struct space_source *source,
                      const struct setting_seeds *seeds, const struct given *given)
{
    if (!seeds || !seeds->json_path)
        return true;
    const struct param *param = repo_seed(space->repo);
    const struct json_doc *doc = &source->settings->doc;
    if (!param || param->type != PARAM_INT) {
        AUTO_FREE char *why =
            param ? mem_printf("the hyperparameter '%s' is not of type int", param->name)
                  : mem_strdup("no hyperparameter is named seed, random_seed or manual_seed");
        return problems_error(source->problems, doc, seeds->json_path,
                              "'seeds': '%s' has no seed: %s", space->repo->name, why);
    }
    space->seeds = seeds;
    space->seed_at = (size_t)(param - space->repo->params);
    if (given->named[space->seed_at])
        problems_error(source->problems, doc, seeds->json_path,
                       "'seeds' and 'hyperparameters' both set '%s': keep one of them",
                       param->name);
    return !given->named[space->seed_at];
}

/* Where name i of the mutate list stands in the settings: the list has two spellings and may be one
 * text. */
static char *mutate_place(const struct space_source *source, const struct job_settings *job,
                          size_t i)
{
    static const char *const keys[] = {"mutate", "mutate_params"};
    EACH (key, keys, 2) {
        AUTO_FREE char *list = json_path_key(job->json_path, *key);
        AUTO_FREE char *item = json_path_index(list, i);
        if (json_doc_place(&source->settings->doc, item, false).line)
            return steal_ptr(item);
        if (json_doc_place(&source->settings->doc, list, false).line)
            return steal_ptr(list);
    }
    return mem_strdup(job->json_path);
}

/* A value that is fixed and drawn anew at once is most likely a slip. */
static void set_mutated(struct space *space, const struct space_source *source, const char *place,
                        size_t at, const bool *given)
{
    space->mutated[at] = true;
    if (given[at])
        problems_add(source->problems, SEVERITY_WARNING, &source->settings->doc, place,
                     "'%s' is given under 'hyperparameters' and mutated: it is mutated",
                     space->params[at]->name);
}

#define NO_OTHER_VALUE "'%s' cannot be mutated: the registry gives no other value than its default"

static bool mutate_all(struct space *space, const struct space_source *source, const char *place,
                       const bool *given)
{
    bool any = false;
    for (size_t at = 0; at < space->param_count; at++) {
        if (space->seeds && at == space->seed_at)
            continue;
        if (param_size(space->params[at]) == 0) {
            problems_add(source->problems, SEVERITY_WARNING, &source->settings->doc, place,
                         NO_OTHER_VALUE, space->params[at]->name);
            continue;
        }
        set_mutated(space, source, place, at, given);
        any = true;
    }
    if (!any)
        problems_error(source->problems, &source->settings->doc, place,
                       "'%s' has no hyperparameter that can be mutated", space->repo->name);
    return any;
}

static bool mutate_listed(struct space *space, const struct space_source *source,
                          const struct job_settings *job, struct strv *dropped, const bool *given)
{
    bool any = false;
    for (size_t i = 0; i < job->mutate.count; i++) {
        const char *name = job->mutate.items[i];
        AUTO_FREE char *place = mutate_place(source, job, i);
        size_t at = find_space_param(space, name);
        if (at == space->param_count) {
            drop_unknown_param(space, source, place, name, dropped);
        } else if (space->seeds && at == space->seed_at) {
            return problems_error(source->problems, &source->settings->doc, place,
                                  "'%s' is set by 'seeds', so it cannot be mutated", name);
        } else if (param_size(space->params[at]) == 0) {
            return problems_error(source->problems, &source->settings->doc, place, NO_OTHER_VALUE,
                                  name);
        } else {
            set_mutated(space, source, place, at, given);
            any = true;
        }
    }
    if (!any) {
        AUTO_FREE char *place = mutate_place(source, job, 0);
        problems_error(source->problems, &source->settings->doc, place,
                       "nothing is left to mutate: '%s' has none of the hyperparameters named",
                       space->repo->name);
    }
    return any;
}

static bool set_mutations(struct space *space, const struct space_source *source,
                          const struct job_settings *job, struct strv *dropped, const bool *given)
{
    if (job->mode != MODE_MUTATION)
        return true;
    if (job->mutate.count && !strv_has(&job->mutate, "all"))
        return mutate_listed(space, source, job, dropped, given);
    AUTO_FREE char *place = mutate_place(source, job, 0);
    return mutate_all(space, source, place, given);
}

static bool fill_space(struct space *space, const struct space_source *source,
                       const struct job_settings *job, const struct setting_seeds *seeds)
{
    bool list = job->mode == MODE_LIST;
    AUTO_FREE bool *named = mem_array(space->param_count, sizeof *named);
    struct given given = {.job = job, .named = named};
    AUTO_FREE char *all = json_path_key(job->json_path, "hyperparameters");
    space->parts =
        mem_array((list ? job->point_count : job->param_count) + 1, sizeof *space->parts);
    bool ok = list ? set_points(space, source, &given)
                   : set_values(space, source, all, job->params, job->param_count, NULL, &given);
    ok = set_seeds(space, source, seeds, &given) && ok;
    ok = set_mutations(space, source, job, &given.dropped, named) && ok;
    strv_fini(&given.dropped);
    return ok;
}

bool space_init(struct space *space, const struct space_source *source,
                const struct job_settings *job, const struct setting_seeds *seeds)
{
    *space = (struct space){.mode = job->mode};
    if (!find_repo(space, source, job))
        return false;
    /* Of a repository with a mistake, only the names are sure. */
    bool broken = space->repo->broken;
    if ((broken && space->repo->models.count == 0) || !find_space_model(space, source, job) ||
        broken)
        return false;
    space->param_count = space->repo->param_count;
    space->params = mem_array(space->param_count, sizeof *space->params);
    space->values = mem_array(space->param_count, sizeof *space->values);
    space->mutated = mem_array(space->param_count, sizeof *space->mutated);
    for (size_t i = 0; i < space->param_count; i++) {
        space->params[i] = &space->repo->params[i];
        space->values[i] = value_copy(&space->params[i]->default_value);
    }
    return fill_space(space, source, job, seeds);
}

uint64_t space_size(const struct space *space)
{
    uint64_t size = 1;
    if (space->mode == MODE_LIST)
        return space->part_count;
    EACH (part, space->parts, space->part_count)
        if (__builtin_mul_overflow(size, part->count, &size))
            return UINT64_MAX;
    return size;
}

static void set_space_value(struct space *space, size_t at, const struct value *value)
{
    value_fini(&space->values[at]);
    space->values[at] = value_copy(value);
}

void space_set_point(struct space *space, uint64_t index)
{
    if (space->mode == MODE_LIST) {
        for (size_t at = 0; at < space->param_count; at++)
            set_space_value(space, at, &space->params[at]->default_value);
        const struct space_values *point = &space->parts[index];
        for (size_t i = 0; i < point->count; i++)
            set_space_value(space, point->at[i], &point->values[i]);
        return;
    }
    for (size_t i = space->part_count; i-- > 0; index /= space->parts[i].count)
        set_space_value(space, space->parts[i].at[0],
                        &space->parts[i].values[index % space->parts[i].count]);
}

size_t space_seed_count(const struct space *space)
{
    return space->seeds ? space->seeds->count : 1;
}

void space_set_seed(const struct space *space, size_t index, struct value *values)
{
    if (!space->seeds)
        return;
    value_fini(&values[space->seed_at]);
    values[space->seed_at] =
        value_int(space->seeds->items ? space->seeds->items[index] : (int64_t)index + 1);
}

void space_fini(struct space *space)
{
    for (size_t i = 0; space->values && i < space->param_count; i++)
        value_fini(&space->values[i]);
    free(space->params);
    free(space->values);
    free(space->mutated);
    EACH (part, space->parts, space->part_count)
        part_free(part);
    free(space->parts);
    *space = (struct space){0};
}

char *space_context(const char *repo, const char *model, bool parallel)
{
    return mem_printf("%s\x1f%s\x1f%s", repo, model, parallel ? "parallel" : "nonparallel");
}
