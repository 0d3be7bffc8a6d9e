/* A plan of small experiments for the tests of ui/. */
#ifndef TESTS_UI_PLAN_FIXTURE_H
#define TESTS_UI_PLAN_FIXTURE_H

#include "plan/plan.h"

/* Borrowed strings; nothing to free. Pauses: 10 s between runs, 60 s between configurations. */
#define FIXTURE_EXPERIMENT(place, of_entry, name, repository, of_model, retries)                   \
    {                                                                                              \
        .id = (char[]){name}, .number = (place), .entry = (of_entry), .configuration = (of_entry), \
        .foreground = {.repo = (char[]){repository},                                               \
                       .model = (char[]){of_model},                                                \
                       .rules = {.metrics = METRICS_ANY}},                                         \
        .max_retries = (retries)                                                                   \
    }

static struct plan fixture_plan(struct plan_experiment *experiments, size_t count)
{
    return (struct plan){
        .experiments = experiments,
        .count = count,
        .timing = {.between_runs_s = 10, .between_configurations_s = 60, .before_retry_s = 5}};
}

#endif
