#include "mutate/mutate.h"

#include "base/mem.h"
#include "base/text.h"
#include "mutate/axis.h"
#include "mutate/sample.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_TRIES 100    /* by the distributions, before the space is looked at as a whole */
#define GRID_TRIES   10000  /* uniformly, in a space of which at most half is taken */
#define BETWEEN      "\x1f" /* stands between the parts of a key; no value holds it */

/* What one call of mutate_draw_some works on. */
struct draw {
    const struct param *const *params;
    const bool *mutated;
    size_t count;
    const char *context;
    struct seen *seen;
    struct rng *rng;
    struct value *values;
    struct axis *axes; /* of those mutated */
    char **defaults;   /* value_key of each default */
    struct text key;   /* of values, made by draw_is_new */
};

void param_fini(struct param *param)
{
    free(param->name);
    free(param->flag);
    value_fini(&param->default_value);
    for (size_t i = 0; i < param->choice_count; i++)
        value_fini(&param->choices[i]);
    free(param->choices);
    *param = (struct param){0};
}

static void add_key(struct text *key, const char *context, const struct value *values, size_t count)
{
    text_add(key, context);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *one = value_key(&values[i]);
        text_add(key, BETWEEN);
        text_add(key, one);
    }
}

char *mutate_key(const char *context, const struct value *values, size_t count)
{
    struct text key = {0};
    add_key(&key, context, values, count);
    return text_take(&key);
}

static void draw_init(struct draw *draw)
{
    draw->axes = mem_array(draw->count, sizeof *draw->axes);
    draw->defaults = mem_array(draw->count, sizeof *draw->defaults);
    for (size_t i = 0; i < draw->count; i++) {
        draw->defaults[i] = value_key(&draw->params[i]->default_value);
        if (draw->mutated[i])
            axis_init(&draw->axes[i], draw->params[i]);
    }
}

static void draw_fini(struct draw *draw)
{
    for (size_t i = 0; i < draw->count; i++) {
        axis_fini(&draw->axes[i]);
        free(draw->defaults[i]);
    }
    free(draw->axes);
    free(draw->defaults);
    text_fini(&draw->key);
}

/* How many combinations there are; UINT64_MAX: endless. */
static uint64_t draw_size(const struct draw *draw)
{
    uint64_t size = 1;
    bool endless = false;
    for (size_t i = 0; i < draw->count; i++) {
        if (!draw->mutated[i])
            continue;
        uint64_t one = draw->axes[i].size;
        if (one == 0)
            return 0;
        endless |= __builtin_mul_overflow(size, one, &size);
    }
    return endless ? UINT64_MAX : size;
}

static void replace(struct value *place, struct value value)
{
    value_fini(place);
    *place = value;
}

static bool is_default(const struct draw *draw, size_t i, const struct value *value)
{
    AUTO_FREE char *key = value_key(value);
    return strcmp(key, draw->defaults[i]) == 0;
}

/* Uniformly over the different values of parameter i, whatever its distribution. */
static struct value grid_value(const struct draw *draw, size_t i)
{
    const struct axis *axis = &draw->axes[i];
    if (!axis->endless)
        return axis_value(axis, rng_below(draw->rng, axis->size));
    struct value value;
    do
        value = sample_uniform_float(draw->params[i], draw->rng);
    while (is_default(draw, i, &value)); /* one of more than a million */
    return value;
}

/* By the distribution, the default left out. */
static struct value sampled_value(const struct draw *draw, size_t i)
{
    for (int try = 0; try < SAMPLE_TRIES; try++) {
        struct value value = sample_value(draw->params[i], draw->rng);
        if (!is_default(draw, i, &value))
            return value;
        value_fini(&value);
    }
    return grid_value(draw, i); /* nearly all of the distribution lies on the default */
}

static void draw_all(struct draw *draw, struct value (*one)(const struct draw *draw, size_t i))
{
    for (size_t i = 0; i < draw->count; i++)
        if (draw->mutated[i])
            replace(&draw->values[i], one(draw, i));
}

static bool draw_is_new(struct draw *draw)
{
    text_clear(&draw->key);
    add_key(&draw->key, draw->context, draw->values, draw->count);
    return !seen_has(draw->seen, text_get(&draw->key));
}

/* Sets the values to combination number index. */
static void draw_set(struct draw *draw, uint64_t index)
{
    for (size_t i = draw->count; i-- > 0;) {
        if (!draw->mutated[i])
            continue;
        replace(&draw->values[i], axis_value(&draw->axes[i], index % draw->axes[i].size));
        index /= draw->axes[i].size;
    }
}

/* Goes through the whole space; gives the number of new combinations, or stops at number wanted (from 0) of them and leaves
 * its values. */
static uint64_t draw_scan(struct draw *draw, uint64_t size, uint64_t wanted)
{
    uint64_t found = 0;
    for (uint64_t index = 0; index < size; index++) {
        draw_set(draw, index);
        if (draw_is_new(draw) && found++ == wanted)
            break;
    }
    return found;
}

static bool draw_new(struct draw *draw, uint64_t size, struct err *err)
{
    for (int try = 0; try < SAMPLE_TRIES; try++) {
        draw_all(draw, sampled_value);
        if (draw_is_new(draw))
            return true;
    }
    if (size / 2 <= seen_count(draw->seen)) {
        uint64_t left = draw_scan(draw, size, UINT64_MAX);
        if (left == 0)
            return err_set(err, "all %" PRIu64 " combinations that exist are taken", size);
        draw_scan(draw, size, rng_below(draw->rng, left));
        return true;
    }
    for (int try = 0; try < GRID_TRIES; try++) {
        draw_all(draw, grid_value);
        if (draw_is_new(draw))
            return true;
    }
    return err_set(err, "no new combination was found in %d draws", GRID_TRIES);
}

bool mutate_draw_some(const struct param *const *params, const bool *mutated, size_t count, const char *context,
                      struct seen *seen, struct rng *rng, struct value *values, struct err *err)
{
    struct value *drawn = mem_array(count, sizeof *drawn);
    for (size_t i = 0; i < count; i++)
        if (!mutated[i])
            drawn[i] = value_copy(&values[i]);
    struct draw draw = {params, mutated, count, context, seen, rng, drawn, NULL, NULL, {0}};
    draw_init(&draw);
    uint64_t size = draw_size(&draw);
    bool ok = size > 0 ? draw_new(&draw, size, err) : err_set(err, "0 combinations exist: only defaults");
    if (ok)
        seen_add(seen, text_get(&draw.key));
    for (size_t i = 0; i < count; i++) {
        if (ok && mutated[i])
            replace(&values[i], drawn[i]);
        else
            value_fini(&drawn[i]);
    }
    draw_fini(&draw);
    free(drawn);
    return ok;
}

bool mutate_draw(const struct param *const *params, size_t count, const char *context, struct seen *seen,
                 struct rng *rng, struct value *values, struct err *err)
{
    AUTO_FREE bool *mutated = mem_array(count, sizeof *mutated);
    for (size_t i = 0; i < count; i++) {
        mutated[i] = true;
        values[i] = (struct value){0};
    }
    return mutate_draw_some(params, mutated, count, context, seen, rng, values, err);
}
