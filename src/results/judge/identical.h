/* identical: experiments whose hyperparameters are the same. */
#ifndef TARE_RESULTS_JUDGE_IDENTICAL_H
#define TARE_RESULTS_JUDGE_IDENTICAL_H

#include "results/judge/judge.h"

/* The indices of the experiments, those of one kind together: groups[i] is where the i-th group
 * begins in order, groups[count] behind the last. The caller frees both. Within a group they stand
 * in the dataset's order. */
size_t audit_group(const struct dataset *dataset, size_t **order, size_t **groups);

/* The same of any count things, those of one key together, in the order of the keys, which are
 * taken. */
size_t audit_group_by(char **keys, size_t count, size_t **order, size_t **groups);

/* Of these experiments (indices), those for which the figure is known. mixed: all as one set,
 * whatever their hyperparameters. */
struct audit_spread audit_spread_of(const struct dataset *dataset, const size_t *items,
                                    size_t count, bool mixed, audit_figure *figure,
                                    const void *context);

/* Hyperparameters whose names differ by case alone become one, called as most experiments call it,
 * unless an experiment has both: dataset.spellings says so. */
void audit_join_names(struct dataset *dataset);

/* Whether a hyperparameter by its name, in any case, is a seed: runs that differ by it alone are
 * repeats. */
bool audit_is_seed(const char *name);

/* Whether it is one of some words, in any case; NULL behind the last. */
bool audit_is_one_of(const char *name, const char *const *words);

/* Whether it counts epochs. */
bool audit_is_epochs(const char *name);

/* Numbers these experiments (indices) by their settings: hyperparameters but for the seed, and
 * part[i] (NULL: all in one). setting: count, from 0 in the order of the experiments. Returns how
 * many settings there are. */
size_t audit_settings(const struct dataset *dataset, const size_t *items, const size_t *part,
                      size_t count, size_t *setting);

/* Whether these experiments differ in a hyperparameter. */
bool audit_param_differs(const struct dataset *dataset, const size_t *items, size_t count,
                         const char *name);

/* The same text for the same hyperparameters, seeds with them or not, and for no others; fresh. */
char *audit_params_key(const struct dataset_experiment *experiment, bool seeds);

#endif
