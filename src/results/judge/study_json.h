/* study_json: experiment.json as the study writes it: parallel ones nest what was measured under
 * "foreground". */
#ifndef TARE_RESULTS_JUDGE_STUDY_JSON_H
#define TARE_RESULTS_JUDGE_STUDY_JSON_H

#include "results/judge/read.h"

/* experiment.json of the study, or of tare, into what the row did not say; text: its bytes. False:
 * damaged (err). */
bool study_json_take(struct dataset_experiment *experiment, const char *text, size_t length,
                     struct err *err);

/* Adds or replaces. */
/* takes value */
void study_param_set(struct dataset_experiment *experiment, const char *name, struct value value);
struct dataset_metric *study_metric_set(struct dataset_experiment *experiment, const char *name,
                                        struct reading value);

#endif
