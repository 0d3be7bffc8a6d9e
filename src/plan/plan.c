#include "plan/plan.h"

#include "plan/job.h"

#include <stdlib.h>

void plan_job_fini(struct plan_job *job)
{
    free(job->repo);
    free(job->model);
    for (size_t i = 0; i < job->param_count; i++) {
        free(job->params[i].name);
        free(job->params[i].flag);
        value_fini(&job->params[i].value);
    }
    free(job->params);
    free(job->cwd);
    strv_fini(&job->argv);
    strv_fini(&job->env);
    strv_fini(&job->path_prepend);
    for (size_t i = 0; i < job->metric_count; i++) {
        free(job->metrics[i].name);
        free(job->metrics[i].pattern);
    }
    free(job->metrics);
    registry_marks_fini(job->marks, job->mark_count);
    registry_oom_steps_fini(job->oom_steps, job->oom_step_count);
    strv_fini(&job->success);
    strv_fini(&job->errors);
    *job = (struct plan_job){0};
}

void plan_experiment_fini(struct plan_experiment *experiment)
{
    free(experiment->id);
    plan_job_fini(&experiment->foreground);
    plan_job_fini(&experiment->background);
    free(experiment->governor);
    *experiment = (struct plan_experiment){0};
}

void plan_fini(struct plan *plan)
{
    free(plan->name);
    free(plan->pool.gpus);
    for (size_t i = 0; i < plan->count; i++)
        plan_experiment_fini(&plan->experiments[i]);
    free(plan->experiments);
    *plan = (struct plan){0};
}
