/* Runs made by hand, for the tests of metrics. */
#ifndef TARE_TESTS_METRICS_FIXTURE_H
#define TARE_TESTS_METRICS_FIXTURE_H

#include "base/clock.h"
#include "base/mem.h"
#include "results/store/live.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Under way, read just now, all experiments planned: of repository "repo" and in turn of model_0,
 * model_1, … */
static inline struct live_run *fixture_run(const char *name, size_t experiments, size_t models)
{
    struct live_run *run = mem_alloc(sizeof *run);
    run->name = mem_strdup(name);
    run->dir = mem_printf("results/%s", name);
    run->plan.count = experiments;
    run->plan.experiments = mem_array(experiments + 1, sizeof *run->plan.experiments);
    run->experiments = mem_array(experiments + 1, sizeof *run->experiments);
    run->live_ns = clock_realtime_ns();
    run->session = 1;
    for (size_t i = 0; i < experiments; i++) {
        struct plan_experiment *plan = &run->plan.experiments[i];
        plan->number = i + 1;
        plan->foreground.repo = mem_strdup("repo");
        plan->foreground.model = mem_printf("model_%zu", i % models);
        plan->id = mem_printf("repo_model_%zu_%zu", i % models, i + 1);
        run->experiments[i].plan = plan;
    }
    return run;
}

/* It ended after one attempt, which used so much. */
static inline void fixture_end(struct live_run *run, size_t place, enum outcome outcome,
                               double gpu_j)
{
    struct live_experiment *experiment = &run->experiments[place];
    experiment->state = STATE_DONE;
    experiment->outcome = outcome;
    experiment->verdict = outcome == OUTCOME_SUCCEEDED ? VERDICT_CLEAN : VERDICT_NONE;
    experiment->attempts = 1;
    experiment->used = (struct result_used){.gpu_j = gpu_j, .gpu_attempts = 1};
}

/* The next slot, with all readings but that of the temperature: experiment from 1. */
static inline struct live_slot *fixture_slot(struct live_run *run, size_t number, size_t experiment)
{
    size_t capacity = LIVE_SLOTS_MAX;
    if (!run->slots)
        run->slots = mem_array(capacity, sizeof *run->slots);
    struct live_slot *slot = &run->slots[run->slot_count++];
    slot->number = number;
    slot->gpus = json_pack("[s]", "GPU-1");
    slot->experiment = experiment;
    memcpy(slot->phase, "running", sizeof "running");
    slot->power_w = (struct reading){250.5, true};
    slot->utilisation_percent = (struct reading){50, true};
    slot->memory_bytes = (struct reading){1073741824, true};
    slot->memory_total_bytes = (struct reading){85899345920, true};
    return slot;
}

/* Another text of the run's own. */
static inline void fixture_put(char **at, const char *text)
{
    free(*at);
    *at = mem_strdup(text);
}

static inline void fixture_free(struct live_run *run)
{
    for (size_t i = 0; i < run->slot_count; i++)
        json_decref(run->slots[i].gpus);
    live_run_close(run);
    free(run);
}

#endif
