#include "plan/mutate/mutate.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/mutate/axis.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIGNIFICANT_DIGITS 6
/* a normal distribution that lies outside of its range must not hang the planner */
#define NORMAL_TRIES 1000

/* log-uniform over [low, high) */
static double log_uniform(double low, double high, struct rng *rng)
{
    return low * number_exp(rng_unit(rng) * number_log(high / low));
}

static double normal(const struct param *param, struct rng *rng)
{
    double mean = param->has_normal ? param->mean : param->low + (param->high - param->low) / 2;
    double deviation = param->has_normal ? param->deviation : (param->high - param->low) / 4;
    return mean + deviation * rng_normal(rng);
}

static int64_t draw_int(const struct param *param, struct rng *rng)
{
    int64_t low, high;
    axis_int_bounds(param, &low, &high);
    if (low >= high)
        return low;
    if (param->distribution == DISTRIBUTION_LOG_UNIFORM && low > 0) {
        double drawn = floor(log_uniform((double)low, (double)high + 1, rng));
        return drawn < (double)low ? low : drawn >= (double)high ? high : (int64_t)drawn;
    }
    for (int i = 0; param->distribution == DISTRIBUTION_NORMAL && i < NORMAL_TRIES; i++) {
        double drawn = floor(normal(param, rng) + 0.5);
        if (drawn >= (double)low && drawn <= (double)high)
            return (int64_t)drawn;
    }
    return low + (int64_t)rng_below(rng, (uint64_t)high - (uint64_t)low + 1);
}

/* The end of the range has the key that the rounded number would have. */
static struct value round_into_range(const struct param *param, double drawn)
{
    return value_float(
        fmin(fmax(number_round(drawn, SIGNIFICANT_DIGITS), param->low), param->high));
}

/* A float of the range, uniform whatever the distribution. */
static struct value sample_uniform_float(const struct param *param, struct rng *rng)
{
    return round_into_range(param, param->low + (param->high - param->low) * rng_unit(rng));
}

static struct value draw_float(const struct param *param, struct rng *rng)
{
    if (param->distribution == DISTRIBUTION_LOG_UNIFORM && param->low > 0)
        return round_into_range(param, log_uniform(param->low, param->high, rng));
    for (int i = 0; param->distribution == DISTRIBUTION_NORMAL && i < NORMAL_TRIES; i++) {
        double drawn = normal(param, rng);
        if (drawn >= param->low && drawn <= param->high)
            return round_into_range(param, drawn);
    }
    return sample_uniform_float(param, rng);
}

/* A number needs a range, a choice its choices. The caller frees the value with value_fini. */
static struct value sample_value(const struct param *param, struct rng *rng)
{
    if (param->type >= PARAM_CHOICE)
        return value_copy(&param->choices[rng_below(rng, param->choice_count)]);
    bool zero = param->zero_probability > 0 && rng_unit(rng) < param->zero_probability;
    if (param->type == PARAM_INT)
        return value_int(zero ? 0 : draw_int(param, rng));
    return zero ? value_float(0.0) : draw_float(param, rng);
}

#define SAMPLE_TRIES 100    /* by the distributions, before the space is looked at as a whole */
#define GRID_TRIES   10000  /* uniformly, in a space of which at most half is taken */
#define BETWEEN      "\x1f" /* stands between the parts of a key */

struct mutation {
    const struct param *const *params; /* borrowed */
    const bool *mutated;               /* borrowed */
    size_t count;
    char *context;
    struct axis *axes; /* of those mutated */
    char **defaults;   /* value_key of each default */
    uint64_t size;     /* how many combinations there are; UINT64_MAX: endless */
    /* The combination at hand. */
    struct value *values;
    char **keys;     /* value_key of each */
    struct text key; /* of all, made by at_hand_is_new */
    /* Once the space was searched: the numbers of the combinations that were new then, less those
     * drawn since. */
    bool searched;
    uint64_t *left;
    size_t left_count;
};

/* The keys of an object: jansson's hash table. */
struct seen {
    json_t *keys;
};

struct seen *seen_new(void)
{
    struct seen *seen = mem_alloc(sizeof *seen);
    seen->keys = json_object();
    return seen;
}

void seen_free(struct seen *seen)
{
    if (!seen)
        return;
    json_decref(seen->keys);
    free(seen);
}

bool seen_add(struct seen *seen, const char *key)
{
    bool is_new = !seen_has(seen, key);
    if (is_new)
        json_object_set_new_nocheck(seen->keys, key, json_true());
    return is_new;
}

bool seen_has(const struct seen *seen, const char *key)
{
    return json_object_get(seen->keys, key) != NULL;
}

size_t seen_count(const struct seen *seen)
{
    return json_object_size(seen->keys);
}

void param_fini(struct param *param)
{
    free(param->name);
    free(param->flag);
    free(param->off_flag);
    value_fini(&param->default_value);
    EACH (choice, param->choices, param->choice_count)
        value_fini(choice);
    free(param->choices);
    *param = (struct param){0};
}

char *mutate_key(const char *context, const struct value *values, size_t count)
{
    struct text key = {0};
    text_add(&key, context);
    EACH (item, values, count) {
        AUTO_FREE char *one = value_key(item);
        text_add(&key, BETWEEN);
        text_add(&key, one);
    }
    return text_take(&key);
}

static uint64_t count_combinations(const struct mutation *mutation)
{
    uint64_t size = 1;
    bool endless = false;
    for (size_t i = 0; i < mutation->count; i++) {
        if (!mutation->mutated[i])
            continue;
        uint64_t one = mutation->axes[i].size;
        if (one == 0)
            return 0;
        endless |= __builtin_mul_overflow(size, one, &size);
    }
    return endless ? UINT64_MAX : size;
}

struct mutation *mutation_new(const struct param *const *params, const bool *mutated, size_t count,
                              const struct value *fixed, const char *context)
{
    struct mutation *mutation = mem_alloc(sizeof *mutation);
    *mutation = (struct mutation){
        .params = params,
        .mutated = mutated,
        .count = count,
        .context = mem_strdup(context),
        .axes = mem_array(count, sizeof *mutation->axes),
        .defaults = mem_array(count, sizeof *mutation->defaults),
        .values = mem_array(count, sizeof *mutation->values),
        .keys = mem_array(count, sizeof *mutation->keys),
    };
    for (size_t i = 0; i < count; i++) {
        mutation->defaults[i] = value_key(&params[i]->default_value);
        if (mutated[i]) {
            axis_init(&mutation->axes[i], params[i]);
        } else {
            mutation->values[i] = value_copy(&fixed[i]);
            mutation->keys[i] = value_key(&fixed[i]);
        }
    }
    mutation->size = count_combinations(mutation);
    return mutation;
}

void mutation_free(struct mutation *mutation)
{
    if (!mutation)
        return;
    for (size_t i = 0; i < mutation->count; i++) {
        axis_fini(&mutation->axes[i]);
        free(mutation->defaults[i]);
        value_fini(&mutation->values[i]);
        free(mutation->keys[i]);
    }
    free(mutation->axes);
    free(mutation->defaults);
    free(mutation->values);
    free(mutation->keys);
    free(mutation->context);
    free(mutation->left);
    text_fini(&mutation->key);
    free(mutation);
}

/* Takes the value. False: it is the default. */
static bool set_mutated_value(struct mutation *mutation, size_t i, struct value value)
{
    value_fini(&mutation->values[i]);
    free(mutation->keys[i]);
    mutation->values[i] = value;
    mutation->keys[i] = value_key(&value);
    return strcmp(mutation->keys[i], mutation->defaults[i]) != 0;
}

/* Uniformly over the different values of parameter i, whatever its distribution. */
static void set_from_grid(struct mutation *mutation, size_t i, struct rng *rng)
{
    const struct axis *axis = &mutation->axes[i];
    if (!axis->endless) {
        set_mutated_value(mutation, i, axis_value(axis, rng_below(rng, axis->size)));
        return;
    }
    while (!set_mutated_value(mutation, i, sample_uniform_float(mutation->params[i], rng)))
        ; /* the default is one of more than a million */
}

/* By the distribution, the default left out. */
static void set_from_sample(struct mutation *mutation, size_t i, struct rng *rng)
{
    for (int try = 0; try < SAMPLE_TRIES; try++)
        if (set_mutated_value(mutation, i, sample_value(mutation->params[i], rng)))
            return;
    set_from_grid(mutation, i, rng); /* nearly all of the distribution lies on the default */
}

/* Sets the values to combination number index. */
static void set_combination(struct mutation *mutation, uint64_t index)
{
    for (size_t i = mutation->count; i-- > 0;) {
        if (!mutation->mutated[i])
            continue;
        const struct axis *axis = &mutation->axes[i];
        set_mutated_value(mutation, i, axis_value(axis, index % axis->size));
        index /= axis->size;
    }
}

static bool at_hand_is_new(struct mutation *mutation, const struct seen *seen)
{
    text_clear(&mutation->key);
    text_add(&mutation->key, mutation->context);
    for (size_t i = 0; i < mutation->count; i++) {
        text_add(&mutation->key, BETWEEN);
        text_add(&mutation->key, mutation->keys[i]);
    }
    return !seen_has(seen, text_get(&mutation->key));
}

static bool try_often(struct mutation *mutation, const struct seen *seen, struct rng *rng,
                      int tries, void (*set)(struct mutation *mutation, size_t i, struct rng *rng))
{
    for (int try = 0; try < tries; try++) {
        for (size_t i = 0; i < mutation->count; i++)
            if (mutation->mutated[i])
                set(mutation, i, rng);
        if (at_hand_is_new(mutation, seen))
            return true;
    }
    return false;
}

static void search_all(struct mutation *mutation, const struct seen *seen)
{
    mutation->searched = true;
    for (uint64_t index = 0; index < mutation->size; index++) {
        set_combination(mutation, index);
        if (!at_hand_is_new(mutation, seen))
            continue;
        mutation->left = mem_room(mutation->left, mutation->left_count, sizeof *mutation->left);
        mutation->left[mutation->left_count++] = index;
    }
}

static bool draw_from_left(struct mutation *mutation, const struct seen *seen, struct rng *rng)
{
    while (mutation->left_count) {
        size_t place = (size_t)rng_below(rng, mutation->left_count);
        set_combination(mutation, mutation->left[place]);
        mutation->left[place] = mutation->left[--mutation->left_count];
        if (at_hand_is_new(mutation, seen)) /* another mutation may have drawn it meanwhile */
            return true;
    }
    return false;
}

static bool find_new(struct mutation *mutation, const struct seen *seen, struct rng *rng,
                     struct err *err)
{
    if (mutation->size == 0)
        return err_set(err, "0 combinations exist: only defaults");
    if (!mutation->searched && try_often(mutation, seen, rng, SAMPLE_TRIES, set_from_sample))
        return true;
    /* More than half of a larger space is new, so searching it would only cost time. */
    if (!mutation->searched && mutation->size / 2 > seen_count(seen))
        return try_often(mutation, seen, rng, GRID_TRIES, set_from_grid) ||
               err_set(err, "no new combination was found in %d draws", GRID_TRIES);
    if (!mutation->searched)
        search_all(mutation, seen);
    return draw_from_left(mutation, seen, rng) ||
           err_set(err, "all %" PRIu64 " combinations that exist are taken", mutation->size);
}

bool mutation_draw(struct mutation *mutation, struct seen *seen, struct rng *rng,
                   struct value *values, struct err *err)
{
    if (!find_new(mutation, seen, rng, err))
        return false;
    seen_add(seen, text_get(&mutation->key));
    for (size_t i = 0; i < mutation->count; i++)
        values[i] = value_copy(&mutation->values[i]);
    return true;
}
