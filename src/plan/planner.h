/* planner: a plan while it is made. Private to plan/. */
#ifndef TARE_PLAN_PLANNER_H
#define TARE_PLAN_PLANNER_H

#include "plan/expected.h"
#include "plan/plan.h"
#include "plan/space.h"

/* One entry while it is planned. */
struct track {
    const struct entry_settings *entry;
    bool good;                    /* its names and values are known */
    size_t configuration;         /* of its first experiment */
    struct plan_experiment *made; /* one of the plan, with which others share; NULL: none yet */
    struct space foreground;
    struct space background;
};

/* One experiment before it has its place. */
struct draft {
    size_t track;
    size_t configuration;
    struct value *values; /* of the foreground's params; owned */
    struct reading expected_s;
    double weight_s; /* what it is placed by */
    size_t place;    /* in the file's order */
};

struct planner {
    const struct settings *settings;
    const struct registry *registry;
    const struct plan_options *options;
    struct problems *problems;
    uint64_t seed;
    enum plan_order order;
    struct track *tracks;     /* one for each entry */
    struct command *commands; /* one for each repository */
    bool *has_command;
    struct seen *seen;
    struct expected expected; /* order longest-first: from earlier runs */
    struct draft *drafts;
    size_t draft_count;
};

/* Makes the plan; every problem is added (names, spaces too small: an error when nothing of an
 * entry can be drawn, else a warning that says how many exist). False when there is an error. The
 * order, the ids and every value depend on the files, the options and the seed only. No pause of
 * out is PAUSE_UNSAID, and its cooldown is fixed or adaptive. Without a seed in either, a fresh one
 * is taken and recorded in out. After an error out is empty, but where each of them is of something
 * that this machine lacks (problems->missing). */
bool plan_make(const struct settings *settings, const struct registry *registry,
               const struct plan_options *options, struct plan *out, struct problems *problems);

/* <repo>_<model>_<number>[_parallel], fit for a folder's name (no longer than one may be). The
 * caller frees it. */
char *plan_experiment_id(const char *repo, const char *model, size_t number, bool parallel);

#endif
