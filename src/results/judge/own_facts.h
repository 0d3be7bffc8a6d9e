/* own_facts: where an experiment of a run of ours ran, from its energies and the machine.json of its session. Private to audit/. */
#ifndef TARE_RESULTS_JUDGE_OWN_FACTS_H
#define TARE_RESULTS_JUDGE_OWN_FACTS_H

#include "results/judge/dataset.h"
#include "results/store/facts.h"

/* What the folder knows of its machines: one machine.json for each session, the newest without a number. */
struct own_machines {
    json_t **items;
    size_t count, capacity;
};
void own_machines_read(const char *run_dir, struct own_machines *out);
void own_machines_fini(struct own_machines *machines);

void own_facts_take(struct dataset_experiment *experiment, const struct facts_item *item, const json_t *energy,
                    const struct own_machines *machines);

#endif
