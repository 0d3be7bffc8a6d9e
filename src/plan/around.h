/* around: what is run before and after others each time, such as a preparation. */
#ifndef TARE_PLAN_AROUND_H
#define TARE_PLAN_AROUND_H

#include "plan/plan.h"

/* In no entry. */
#define PLAN_AROUND_NONE SIZE_MAX

/* before[e] and after[e] (entries of each) say of which entry an experiment is put before and behind each experiment of
 * entry e; PLAN_AROUND_NONE: of none. Such an entry has one experiment, which goes from where it was, and nothing around
 * it. Numbers and ids are given anew. False: there is no experiment of such an entry (err); plan is then as it was. */
bool plan_surround(struct plan *plan, const size_t *before, const size_t *after, size_t entries, struct err *err);

#endif
