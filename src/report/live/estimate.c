#include "report/live/estimate.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "plan/expected.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The standard deviation, as a share, that is assumed of durations before they tell, and counts as
 * one of them: of the same model, which hyperparameters make faster or slower; of one whose
 * duration earlier runs tell; of another model. */
static const double SAME_MODEL = 0.4, FROM_HISTORY = 0.3, OTHER_MODEL = 0.6;

/* Of a pause that ends when the GPUs are cool, before one was seen. */
static const double ADAPTIVE_PAUSE = 0.3;

/* Four fifths of a normal distribution lie within so many standard deviations. */
static const double FOUR_FIFTHS = 1.28;

static bool same_training(const struct plan_experiment *a, const struct plan_experiment *b)
{
    return a->parallel == b->parallel && strcmp(a->foreground.repo, b->foreground.repo) == 0 &&
           strcmp(a->foreground.model, b->foreground.model) == 0;
}

static size_t find_or_add_group(struct estimate *estimate, const struct plan_experiment *experiment)
{
    for (size_t i = 0; i < estimate->group_count; i++)
        if (same_training(estimate->groups[i].like, experiment))
            return i;
    estimate->groups = mem_room(estimate->groups, estimate->group_count, sizeof *estimate->groups);
    estimate->groups[estimate->group_count] = (struct estimate_group){.like = experiment};
    return estimate->group_count++;
}

void estimate_init(struct estimate *estimate, const struct plan *plan)
{
    *estimate = (struct estimate){.plan = plan};
    estimate->done = mem_array(plan->count + 1, sizeof *estimate->done);
    estimate->group_of = mem_array(plan->count + 1, sizeof *estimate->group_of);
    for (size_t i = 0; i < plan->count; i++)
        estimate->group_of[i] = find_or_add_group(estimate, &plan->experiments[i]);
}

void estimate_fini(struct estimate *estimate)
{
    free(estimate->done);
    free(estimate->group_of);
    free(estimate->groups);
    *estimate = (struct estimate){0};
}

struct reading estimate_epochs(const struct plan_experiment *experiment)
{
    const struct plan_job *job = &experiment->foreground;
    EACH (param, job->params, job->param_count)
        if (audit_is_epochs(param->name))
            return expected_epochs(&param->value);
    return (struct reading){0};
}

static double work_of(const struct plan_experiment *experiment)
{
    struct reading epochs = estimate_epochs(experiment);
    return epochs.valid ? epochs.value : 1;
}

static void add_group_duration(struct estimate_group *group, double duration_s, double work)
{
    double rate = duration_s / work;
    group->sum_s += duration_s;
    group->sum_work += work;
    group->sum_rate += rate;
    group->sum_squares += rate * rate;
    group->ended++;
}

void estimate_done(struct estimate *estimate, size_t number, double duration_s)
{
    if (number < 1 || number > estimate->plan->count)
        return;
    estimate->done[number - 1] = true;
    if (duration_s >= 0)
        add_group_duration(&estimate->groups[estimate->group_of[number - 1]], duration_s,
                           work_of(&estimate->plan->experiments[number - 1]));
}

void estimate_pause(struct estimate *estimate, double planned_s, double took_s)
{
    estimate->pauses_planned_s += planned_s;
    estimate->pauses_took_s += took_s;
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
            sum += before->configuration == experiment->configuration
                       ? plan->timing.between_runs_s
                       : plan->timing.between_configurations_s;
        before = experiment;
    }
    return sum;
}

double estimate_adaptive_saves(const struct plan *plan)
{
    struct plan longer = *plan; /* by so much each pause is longer than the shortest adaptive one */
    longer.timing.between_runs_s =
        fmax(0, plan->timing.between_runs_s - plan->guard.cooldown.min_s);
    longer.timing.between_configurations_s =
        fmax(0, plan->timing.between_configurations_s - plan->guard.cooldown.min_s);
    return estimate_pauses(&longer, NULL);
}

static const struct estimate_running *find_running(const struct estimate_running *running,
                                                   size_t lanes, size_t number)
{
    EACH (item, running, lanes)
        if (item->number == number)
            return item;
    return NULL;
}

/* What one experiment takes, with the standard deviation of one, and of the mean itself. */
struct duration {
    double mean_s, deviation_s, of_mean_s;
};

static struct duration duration_of_group(const struct estimate_group *group, double work)
{
    double count = (double)group->ended, rate = group->sum_s / group->sum_work;
    double squares = group->sum_squares - group->sum_rate * group->sum_rate / count;
    double deviation =
        sqrt(((squares > 0 ? squares : 0) + SAME_MODEL * SAME_MODEL * rate * rate) / count) * work;
    return (struct duration){rate * work, deviation, deviation / sqrt(count)};
}

/* Of all that ended. */
static bool duration_of_all(const struct estimate_group *groups, size_t count, struct duration *out)
{
    double sum = 0;
    size_t ended = 0;
    EACH (group, groups, count) {
        sum += group->sum_s;
        ended += group->ended;
    }
    if (ended == 0)
        return false;
    double mean_s = sum / (double)ended;
    *out = (struct duration){mean_s, OTHER_MODEL * mean_s, OTHER_MODEL * mean_s};
    return true;
}

/* Where nothing of its kind has ended, one that runs tells by its marks or bar. The caller frees
 * them. */
static struct estimate_group *groups_with_running(const struct estimate *estimate,
                                                  const struct estimate_running *running,
                                                  size_t lanes)
{
    struct estimate_group *groups = mem_array(estimate->group_count + 1, sizeof *groups);
    memcpy(groups, estimate->groups, estimate->group_count * sizeof *groups);
    EACH (item, running, lanes) {
        if (item->number < 1 || item->number > estimate->plan->count || !item->left_s.valid)
            continue;
        size_t place = estimate->group_of[item->number - 1];
        if (estimate->groups[place].ended == 0)
            add_group_duration(&groups[place], item->elapsed_s + item->left_s.value,
                               work_of(&estimate->plan->experiments[item->number - 1]));
    }
    return groups;
}

/* What is left of one that has had now (NULL: it has not begun). */
static struct duration left_of_one(struct duration whole, const struct estimate_running *now)
{
    struct duration left = whole;
    if (now && now->left_s.valid) {
        double deviation_s = now->left_s.value * (0.1 + 0.3 * (1 - now->share));
        return (struct duration){now->left_s.value, deviation_s, 0};
    }
    if (now && now->elapsed_s > whole.mean_s) /* nobody knows */
        return (struct duration){0, whole.deviation_s + now->elapsed_s - whole.mean_s, 0};
    left.mean_s -= now ? now->elapsed_s : 0;
    return left;
}

/* The pauses that are still to come, and the standard deviation of their sum. */
static double pauses_left(const struct estimate *estimate, double *deviation_s)
{
    double planned_s = estimate_pauses(estimate->plan, estimate->done);
    bool seen = estimate->pauses_planned_s > 0,
         adaptive = estimate->plan->guard.cooldown.mode == COOLDOWN_ADAPTIVE;
    *deviation_s = !seen && adaptive ? ADAPTIVE_PAUSE * planned_s : 0;
    return seen ? planned_s * estimate->pauses_took_s / estimate->pauses_planned_s : planned_s;
}

bool estimate_left(const struct estimate *estimate, const struct estimate_running *running,
                   size_t lanes, struct estimate_left *out)
{
    AUTO_FREE struct estimate_group *groups = groups_with_running(estimate, running, lanes);
    AUTO_FREE double *of_mean = mem_array(estimate->group_count + 1, sizeof *of_mean);
    struct duration all = {0}, longest = {0};
    bool any = duration_of_all(groups, estimate->group_count, &all);
    double deviation_s, sum = pauses_left(estimate, &deviation_s),
                        variance = deviation_s * deviation_s;
    EACH (item, running, lanes)
        sum += item->pause_s;
    for (size_t i = 0; i < estimate->plan->count; i++) {
        const struct plan_experiment *experiment = &estimate->plan->experiments[i];
        const struct estimate_group *group = &groups[estimate->group_of[i]];
        double expected_s = experiment->expected_s.value;
        if (estimate->done[i])
            continue;
        if (!group->ended && !experiment->expected_s.valid && !any)
            return false;
        struct duration whole = group->ended ? duration_of_group(group, work_of(experiment))
                                : experiment->expected_s.valid
                                    ? (struct duration){expected_s, FROM_HISTORY * expected_s,
                                                        FROM_HISTORY * expected_s}
                                    : all;
        struct duration left = left_of_one(whole, find_running(running, lanes, i + 1));
        of_mean[estimate->group_of[i]] += left.of_mean_s;
        variance += left.deviation_s * left.deviation_s;
        sum += left.mean_s;
        longest = left.mean_s > longest.mean_s ? left : longest;
    }
    EACH (entry, of_mean, estimate->group_count)
        variance += *entry * *entry;
    out->expected_s = sum / (double)lanes;
    deviation_s = sqrt(variance) / (double)lanes;
    if (longest.mean_s > out->expected_s) {
        out->expected_s = longest.mean_s;
        deviation_s = longest.deviation_s > deviation_s ? longest.deviation_s : deviation_s;
    }
    out->low_s = fmax(0, out->expected_s - FOUR_FIFTHS * deviation_s);
    out->high_s = out->expected_s + FOUR_FIFTHS * deviation_s;
    return true;
}
