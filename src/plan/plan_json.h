/* plan_json: a plan as run.db keeps it: its head, its experiments, and the budget as each session
 * records it too. What older plans do not have may be missing. */
#ifndef TARE_PLAN_PLAN_JSON_H
#define TARE_PLAN_PLAN_JSON_H

#include "plan/plan.h"

/* What run.db and plan.json keep of an experiment, and back. Its id, which names a folder, is one
 * that tare itself could have given. */
json_t *plan_experiment_to_json(const struct plan_experiment *experiment);
bool plan_experiment_from_json(const json_t *json, struct plan_experiment *out, struct err *err);

/* Lets two experiments, read from json and of_like, share their jobs' texts and lists, where they
 * differ in hyperparameters and argv alone. Each fork of the runner pays for the plan's memory. */
void plan_experiment_share(struct plan_experiment *experiment, const json_t *json,
                           struct plan_experiment *like, const json_t *of_like);

/* The same for all that is not an experiment: name, seed, timing, limits, order. */
json_t *plan_head_to_json(const struct plan *plan);
bool plan_head_from_json(const json_t *json, struct plan *out, struct err *err);

/* Of those that are set; NULL: none is. Back: what is missing is none. */
bool run_budget_is_set(const struct run_budget *budget);
json_t *run_budget_to_json(const struct run_budget *budget);
void run_budget_from_json(const json_t *json, struct run_budget *out);

#endif
