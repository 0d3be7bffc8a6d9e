/* What spans the experiments of one entry besides draws: "hyperparameters" with the axes of a grid
 * or the points of a list, and "seeds". */
#ifndef TARE_PLAN_CONFIG_SETTINGS_SPACE_H
#define TARE_PLAN_CONFIG_SETTINGS_SPACE_H

#include "plan/config/settings_entry.h"

/* What spans its experiments: "hyperparameters" and "seeds". */

/* Of a job whose path and mode are read. */
void settings_read_hyperparameters(const struct source *source, const char *path,
                                   const json_t *object, struct job_settings *job);
void settings_hyperparameters_fini(struct job_settings *job);

/* "seeds" of an object; out keeps its zeros when it is not there or wrong. */
void settings_read_seeds(const struct source *source, const char *path, const json_t *object,
                         struct setting_seeds *out);
void settings_seeds_fini(struct setting_seeds *seeds);

#endif
