/* figures_json: what stats and compare print for programs. */
#ifndef TARE_RESULTS_JUDGE_FIGURES_JSON_H
#define TARE_RESULTS_JUDGE_FIGURES_JSON_H

#include "results/judge/figures.h"
#include "base/text.h"

#include <jansson.h>

/* A new reference; docs/stats.md says what is in it. */
json_t *figures_json(const struct dataset *dataset, const struct figures *figures,
                     const struct figures_options *options);
json_t *figures_figure_json(const struct figure *figure);
json_t *figures_interval_json(const struct stats_interval *interval);
/* Each group that has effects, with the names of its experiments. */
json_t *figures_effects_json(const struct dataset *dataset, const struct figures *figures);
json_t *figures_spellings_json(const struct dataset *dataset);

/* One row for each quantity of each group. */
void figures_csv(const struct figures *figures, struct text *out);

#endif
