/* summary_stats_json: statistics of a dataset as JSON and CSV. */
#ifndef TARE_RESULTS_JUDGE_SUMMARY_STATS_JSON_H
#define TARE_RESULTS_JUDGE_SUMMARY_STATS_JSON_H

#include "results/judge/summary_stats.h"

/* A new reference; docs/reference/judging.md says what is in it. */
json_t *summary_stats_json(const struct dataset *dataset, const struct summary_stats *figures,
                           const struct summary_stats_options *options);

json_t *summary_stats_stat_json(const struct figure *figure);

/* Each group that has effects, with the names of its experiments. */
json_t *summary_stats_effects_json(const struct dataset *dataset,
                                   const struct summary_stats *figures);

json_t *summary_stats_spellings_json(const struct dataset *dataset);

/* One row for each quantity of each group. */
void summary_stats_csv(const struct summary_stats *figures, struct text *out);

#endif
