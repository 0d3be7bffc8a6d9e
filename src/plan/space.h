/* space: what one job of an entry may become: the model it names, its fixed values and what of it is drawn anew. */
#ifndef TARE_PLAN_SPACE_H
#define TARE_PLAN_SPACE_H

#include "plan/plan.h"

struct space {
    const struct repo *repo;         /* borrowed from the registry, as the model and the params */
    const char *model;
    enum mode mode;
    size_t param_count;              /* all of the model's hyperparameters, in the registry's order */
    const struct param **params;
    struct value *values;            /* defaults, and the entry's own values over them */
    bool *mutated;
};

struct space_source {
    const struct settings *settings;
    const struct registry *registry;
    bool strict;
    struct problems *problems;
};

/* Resolves the names and checks the values. False when the job cannot be planned; the problem was added (or, for an
 * empty name, was told when the settings were read). */
bool space_init(struct space *space, const struct space_source *source, const struct job_settings *job);
void space_fini(struct space *space);

/* What stands before the values in a combination's key: experiments with the same one must not repeat each other. The
 * caller frees it. */
char *space_context(const char *repo, const char *model, bool parallel);

#endif
