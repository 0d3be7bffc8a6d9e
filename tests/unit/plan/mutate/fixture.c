#include "fixture.h"

#include "base/mem.h"

#include <string.h>

bool mutate_draw(const struct param *const *params, size_t count, const char *context,
                 struct seen *seen, struct rng *rng, struct value *values, struct err *err)
{
    AUTO_FREE bool *mutated = mem_array(count, sizeof *mutated);
    memset(mutated, true, count);
    struct mutation *mutation = mutation_new(params, mutated, count, NULL, context);
    bool ok = mutation_draw(mutation, seen, rng, values, err);
    mutation_free(mutation);
    return ok;
}
