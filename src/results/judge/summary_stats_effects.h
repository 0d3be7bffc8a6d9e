/* summary_stats_effects: effects of hyperparameters: trends, differences between levels, and the
 * Pareto front. */
#ifndef TARE_RESULTS_JUDGE_SUMMARY_STATS_EFFECTS_H
#define TARE_RESULTS_JUDGE_SUMMARY_STATS_EFFECTS_H

#include "results/judge/summary_stats.h"

void summary_stats_add_front(const struct dataset *dataset, struct summary_stats_group *group);
void summary_stats_add_effects(const struct dataset *dataset, struct summary_stats_group *group,
                               uint64_t seed);

void summary_stats_add_interactions(const struct dataset *dataset,
                                    struct summary_stats_group *group);

#endif
