/* space: what one job of an entry may become: the model it names, its fixed values, the points of
 * its grid or list, its seeds, and what of it is drawn anew. */
#ifndef TARE_PLAN_SPACE_H
#define TARE_PLAN_SPACE_H

#include "plan/plan.h"

/* Mode grid: the values of one hyperparameter; mode list: those that one point gives. */
struct space_values {
    size_t *at; /* mode list: the param of each value; of an axis the one param of all */
    struct value *values;
    size_t count;
};

struct space {
    const struct repo *repo; /* borrowed from the registry, as the model and the params */
    const char *model;
    enum mode mode;
    /* all of the model's hyperparameters, in the registry's order */
    size_t param_count;
    const struct param **params;
    struct value *values;       /* defaults, and the entry's own values over them */
    bool *mutated;              /* drawn, or different from point to point */
    struct space_values *parts; /* mode grid: the axes; mode list: the points */
    size_t part_count;
    const struct setting_seeds *seeds; /* borrowed; NULL: none */
    size_t seed_at;                    /* the param that takes them */
};

struct space_source {
    const struct settings *settings;
    const struct registry *registry;
    bool strict;
    struct problems *problems;
    const struct registry *study; /* names the file of an unknown repository; NULL: none */
    const char *study_path;       /* as a word of a command */
};

/* Resolves the names and checks the values. False when the job cannot be planned; the problem was
 * added (or, for an empty name, was told when the settings were read). seeds: their json_path NULL
 * where there are none; borrowed. */
bool space_init(struct space *space, const struct space_source *source,
                const struct job_settings *job, const struct setting_seeds *seeds);
void space_fini(struct space *space);

/* How many points there are, seeds not counted: 1 in the modes that have none; UINT64_MAX: that
 * many or more. */
uint64_t space_size(const struct space *space);

/* Sets space->values to point number index: of a grid the last axis changes fastest. */
void space_set_point(struct space *space, uint64_t index);

/* How many seeds each point has; 1: none, or one. */
size_t space_seed_count(const struct space *space);

/* Sets the seed in values to the one of this number; without seeds they stay as they are. */
void space_set_seed(const struct space *space, size_t index, struct value *values);

/* What stands before the values in a combination's key: experiments with the same one must not
 * repeat each other. The caller frees it. */
char *space_context(const char *repo, const char *model, bool parallel);

#endif
