/* comparison_json: a comparison for programs. */
#ifndef TARE_RESULTS_JUDGE_COMPARISON_JSON_H
#define TARE_RESULTS_JUDGE_COMPARISON_JSON_H

#include "results/judge/comparison.h"

json_t *comparison_json(const struct comparison *comparison);

#endif
