#include "plan/config/registry_oom.h"
#include "plan/config/registry_rules.h"
#include "plan/plan_json.h"
#include "plan/planner.h"

#include "base/mem.h"
#include "base/pattern/pattern.h"
#include "plan/job.h"

#include <stdlib.h>
#include <string.h>

static bool is_same_list(const struct strv *a, const struct strv *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* Frees the fields that several jobs may share. */
static void free_shared(struct plan_job *job)
{
    free(job->repo);
    free(job->model);
    free(job->cwd);
    strv_fini(&job->path_prepend);
    EACH (metric, job->metrics, job->metric_count) {
        free(metric->name);
        free(metric->pattern);
    }
    free(job->metrics);
    registry_marks_fini(job->marks, job->mark_count);
    registry_oom_steps_fini(job->oom_steps, job->oom_step_count);
    strv_fini(&job->success);
    strv_fini(&job->errors);
}

void plan_job_fini(struct plan_job *job)
{
    struct plan_shared *shared = job->shared;
    EACH (param, job->params, job->param_count) {
        if (!shared) {
            free(param->name);
            free(param->flag);
        }
        value_fini(&param->value);
    }
    free(job->params);
    strv_fini(&job->argv);
    if (!shared || job->env.items != shared->env.items)
        strv_fini(&job->env);
    if (!shared || --shared->users == 0) {
        free_shared(job);
        if (shared) {
            strv_fini(&shared->texts);
            strv_fini(&shared->env);
            free(shared);
        }
    }
    *job = (struct plan_job){0};
}

/* Takes text; returns the equal text of the list, to which it is added if it is new. */
static char *intern_text(struct strv *texts, char *text)
{
    for (size_t i = 0; text && i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0) {
            free(text);
            return texts->items[i];
        }
    if (text)
        strv_add_owned(texts, text);
    return text;
}

/* Names and flags of hyperparameters. */
static void keep_texts(struct plan_job *job)
{
    for (size_t i = 0; i < job->param_count; i++) {
        job->params[i].name = intern_text(&job->shared->texts, job->params[i].name);
        job->params[i].flag = intern_text(&job->shared->texts, job->params[i].flag);
    }
}

void plan_job_share(struct plan_job *job, struct plan_job *like)
{
    if (!like->shared) {
        like->shared = mem_alloc(sizeof *like->shared);
        *like->shared = (struct plan_shared){.users = 1, .env = like->env};
        keep_texts(like);
    }
    struct plan_job own = *job;
    free_shared(&own);
    *job = *like;
    job->shared->users++;
    job->params = own.params;
    job->param_count = own.param_count;
    job->argv = own.argv;
    job->placeholders = own.placeholders;
    keep_texts(job);
    if (is_same_list(&own.env, &like->shared->env)) {
        strv_fini(&own.env);
        job->env = like->shared->env;
    } else {
        job->env = own.env;
    }
    strv_pack(&job->argv);
}

void plan_experiment_fini(struct plan_experiment *experiment)
{
    free(experiment->id);
    plan_job_fini(&experiment->foreground);
    if (experiment->background)
        plan_job_fini(experiment->background);
    free(experiment->background);
    free(experiment->governor);
    *experiment = (struct plan_experiment){0};
}

struct plan_param *plan_job_param(const struct plan_job *job, const char *name)
{
    EACH (param, job->params, job->param_count)
        if (strcmp(param->name, name) == 0)
            return param;
    return NULL;
}

void plan_each_job(const struct plan *plan, plan_job_fn *each, void *context)
{
    EACH (experiment, plan->experiments, plan->count) {
        each(context, &experiment->foreground);
        if (experiment->parallel)
            each(context, experiment->background);
    }
}

bool plan_metric_is_guess(const struct plan_job *job, const struct registry_metric *metric)
{
    return job->rules.metrics == METRICS_OPTIONAL &&
           strncmp(metric->pattern, PATTERN_NAMED, strlen(PATTERN_NAMED)) == 0;
}

void plan_fini(struct plan *plan)
{
    free(plan->name);
    free(plan->pool.gpus);
    EACH (experiment, plan->experiments, plan->count)
        plan_experiment_fini(experiment);
    free(plan->experiments);
    *plan = (struct plan){0};
}

/* The plan while it grows. */
struct growing {
    const struct plan *plan; /* as it was */
    struct plan_experiment *items;
    size_t count;
    struct err *err;
};

static const struct plan_experiment *find_entry_experiment(const struct plan *plan, size_t entry)
{
    EACH (experiment, plan->experiments, plan->count)
        if (experiment->entry == entry)
            return experiment;
    return NULL;
}

/* Each has a list of its own, so the copy goes the way on which run.db keeps it. */
static bool add_copy(struct growing *growing, const struct plan_experiment *experiment)
{
    struct plan_experiment *out = &growing->items[growing->count];
    json_t *json = plan_experiment_to_json(experiment);
    bool ok = plan_experiment_from_json(json, out, growing->err);
    json_decref(json);
    if (!ok)
        return false;
    out->number = ++growing->count;
    free(out->id);
    out->id =
        plan_experiment_id(out->foreground.repo, out->foreground.model, out->number, out->parallel);
    return true;
}

static bool add_of_entry(struct growing *growing, size_t entry)
{
    if (entry == PLAN_AROUND_NONE)
        return true;
    const struct plan_experiment *experiment = find_entry_experiment(growing->plan, entry);
    return experiment ? add_copy(growing, experiment)
                      : err_set(growing->err, "entry %zu of the plan has no experiment", entry);
}

static bool is_around(const size_t *before, const size_t *after, size_t entries, size_t entry)
{
    for (size_t e = 0; e < entries; e++)
        if (before[e] == entry || after[e] == entry)
            return true;
    return false;
}

bool plan_surround(struct plan *plan, const size_t *before, const size_t *after, size_t entries,
                   struct err *err)
{
    struct growing growing = {.plan = plan,
                              .items = mem_array(3 * plan->count + 1, sizeof *plan->experiments),
                              .err = err};
    bool ok = true;
    for (size_t i = 0; ok && i < plan->count; i++) {
        size_t entry = plan->experiments[i].entry;
        if (is_around(before, after, entries, entry))
            continue;
        ok = add_of_entry(&growing, entry < entries ? before[entry] : PLAN_AROUND_NONE) &&
             add_copy(&growing, &plan->experiments[i]) &&
             add_of_entry(&growing, entry < entries ? after[entry] : PLAN_AROUND_NONE);
    }
    struct plan_experiment *gone = ok ? plan->experiments : growing.items;
    size_t count = ok ? plan->count : growing.count;
    if (ok) {
        plan->experiments = growing.items;
        plan->count = growing.count;
    }
    EACH (item, gone, count)
        plan_experiment_fini(item);
    free(gone);
    return ok;
}
