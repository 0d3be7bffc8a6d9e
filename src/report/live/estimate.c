#include "report/live/estimate.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool same_training(const struct plan_experiment *a, const struct plan_experiment *b)
{
    return a->parallel == b->parallel && strcmp(a->foreground.repo, b->foreground.repo) == 0 &&
           strcmp(a->foreground.model, b->foreground.model) == 0;
}

static size_t group_of(struct estimate *estimate, const struct plan_experiment *experiment)
{
    for (size_t i = 0; i < estimate->group_count; i++)
        if (same_training(estimate->groups[i].like, experiment))
            return i;
    estimate->groups =
        mem_room(estimate->groups, estimate->group_count, &estimate->group_capacity, sizeof *estimate->groups);
    estimate->groups[estimate->group_count] = (struct estimate_group){.like = experiment};
    return estimate->group_count++;
}

void estimate_init(struct estimate *estimate, const struct plan *plan)
{
    *estimate = (struct estimate){.plan = plan};
    estimate->done = mem_array(plan->count + 1, sizeof *estimate->done);
    estimate->group_of = mem_array(plan->count + 1, sizeof *estimate->group_of);
    for (size_t i = 0; i < plan->count; i++)
        estimate->group_of[i] = group_of(estimate, &plan->experiments[i]);
}

void estimate_fini(struct estimate *estimate)
{
    free(estimate->done);
    free(estimate->group_of);
    free(estimate->groups);
    *estimate = (struct estimate){0};
}

void estimate_done(struct estimate *estimate, size_t number, double duration_s)
{
    if (number < 1 || number > estimate->plan->count)
        return;
    estimate->done[number - 1] = true;
    if (duration_s < 0)
        return;
    struct estimate_group *group = &estimate->groups[estimate->group_of[number - 1]];
    group->sum_s += duration_s;
    group->ended++;
}

static bool mean_of_all(const struct estimate *estimate, double *out)
{
    double sum = 0;
    size_t ended = 0;
    for (size_t i = 0; i < estimate->group_count; i++) {
        sum += estimate->groups[i].sum_s;
        ended += estimate->groups[i].ended;
    }
    *out = ended ? sum / (double)ended : 0;
    return ended > 0;
}

double estimate_pauses(const struct plan *plan, const bool *done)
{
    double sum = 0;
    const struct plan_experiment *before = NULL;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_experiment *experiment = &plan->experiments[i];
        if (done && done[i])
            continue;
        if (before)
            sum += before->configuration == experiment->configuration ? plan->timing.between_runs_s
                                                      : plan->timing.between_configurations_s;
        before = experiment;
    }
    return sum;
}

static const struct estimate_running *find_running(const struct estimate_running *running, size_t lanes, size_t number)
{
    for (size_t i = 0; i < lanes; i++)
        if (running[i].number == number)
            return &running[i];
    return NULL;
}

bool estimate_left_of(const struct estimate *estimate, const struct estimate_running *running, size_t lanes,
                      double *out)
{
    double overall, longest_s = 0;
    if (!mean_of_all(estimate, &overall))
        return false;
    double sum = estimate_pauses(estimate->plan, estimate->done);
    for (size_t i = 0; i < estimate->plan->count; i++) {
        if (estimate->done[i])
            continue;
        const struct estimate_group *group = &estimate->groups[estimate->group_of[i]];
        const struct estimate_running *now = find_running(running, lanes, i + 1);
        double duration_s = group->ended ? group->sum_s / (double)group->ended : overall;
        if (now)
            duration_s = duration_s > now->elapsed_s ? duration_s - now->elapsed_s : 0;
        longest_s = duration_s > longest_s ? duration_s : longest_s;
        sum += duration_s;
    }
    sum /= (double)lanes;
    *out = sum > longest_s ? sum : longest_s;
    return true;
}

bool estimate_left(const struct estimate *estimate, size_t current, double elapsed_s, double *out)
{
    return estimate_left_of(estimate, &(struct estimate_running){current, elapsed_s}, 1, out);
}
