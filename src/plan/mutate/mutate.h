/* mutate: draws new values for hyperparameters: never the default, never a combination seen before.
 * Pure. */
#ifndef TARE_PLAN_MUTATE_MUTATE_H
#define TARE_PLAN_MUTATE_MUTATE_H

#include "base/err.h"
#include "base/rng.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From PARAM_CHOICE on values come from a list: that of a bool is false and true, a text has none
 * and any will do. */
enum param_type { PARAM_INT, PARAM_FLOAT, PARAM_CHOICE, PARAM_BOOL, PARAM_TEXT };
enum distribution { DISTRIBUTION_UNIFORM, DISTRIBUTION_LOG_UNIFORM, DISTRIBUTION_NORMAL };

/* One hyperparameter of a model, as the registry describes it. Floats drawn are rounded to six
 * significant digits (within the range), so that a plan is the same on every machine. Integer
 * log_uniform: each integer n of the range has the probability of the interval [n, n+1) under
 * log-uniform over [low, high+1), which leaves no end biased. normal: mean and deviation default to
 * the middle and a quarter of the range, values outside are drawn again. */
struct param {
    char *name;
    char *flag; /* on the command line; may be NULL: then the value is handed over by env only */
    char *off_flag; /* PARAM_BOOL: for false, NULL: nothing is said then */
    enum param_type type;
    enum distribution distribution;
    bool has_range; /* int and float: low and high are set */
    double low, high;
    bool has_normal; /* mean and deviation were given */
    double mean, deviation;
    /* the share of draws that are exactly 0 (0.0), even outside the range */
    double zero_probability;
    struct value default_value; /* null: the flag is left out */
    struct value *choices;      /* PARAM_CHOICE, PARAM_BOOL */
    size_t choice_count;
};

void param_fini(struct param *param);

/* How many different values (by value_key) a draw of this parameter can give, its default not
 * counted; UINT64_MAX for "as good as endless" (a float with more than a million numbers of six
 * digits in its range). 0 without a range or choices. */
uint64_t param_size(const struct param *param);

/* Combinations that must not be drawn again: a set of keys. */
struct seen;
struct seen *seen_new(void);
void seen_free(struct seen *seen);
bool seen_add(struct seen *seen, const char *key); /* false: it was there */
bool seen_has(const struct seen *seen, const char *key);
size_t seen_count(const struct seen *seen);

/* The key that drawing makes, for history rows. The caller frees it. */
char *mutate_key(const char *context, const struct value *values, size_t count);

/* Draws from one space, of which only the params with mutated[i] are drawn, each differing from its
 * default. The others keep fixed[i] (may be NULL where all are drawn), which takes part in the key
 * at its place (and may be the default): so combinations of different mutated params are told
 * apart. context stands before the combination in its key
 * ("repo/model/mode"): the key is context and every value_key in the params' order. params and
 * mutated are borrowed for the mutation's life, fixed and context are copied. */
struct mutation;
struct mutation *mutation_new(const struct param *const *params, const bool *mutated, size_t count,
                              const struct value *fixed, const char *context);
void mutation_free(struct mutation *mutation);

/* values[0..count) get fresh copies of all values, drawn and fixed; the caller frees each with
 * value_fini. What was drawn is added to seen. False (err set, nothing drawn) when no combination
 * is left: err then says how many exist. Small spaces are searched to the end (exactly), so "none
 * left" is never a guess. Draws follow the distributions; when a hundred of them in a row were seen
 * before, what is left is drawn from uniformly. */
bool mutation_draw(struct mutation *mutation, struct seen *seen, struct rng *rng,
                   struct value *values, struct err *err);

#endif
