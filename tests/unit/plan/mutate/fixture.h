#ifndef TARE_TEST_MUTATE_FIXTURE_H
#define TARE_TEST_MUTATE_FIXTURE_H

#include "plan/mutate/mutate.h"

/* One draw of all params from a space of its own. */
bool mutate_draw(const struct param *const *params, size_t count, const char *context,
                 struct seen *seen, struct rng *rng, struct value *values, struct err *err);

#endif
