#include "results/judge/judge_design.h"
#include "results/judge/identical.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* How much a hyperparameter may change a figure over its whole range before there are data: a
 * share. More work than this is a mistake. */
static const double effect_free = 0.7, effect_little = 0.01, work_most = 1e12;

enum { WORK_MOST = JUDGE_DESIGNS - 3, WORK_NONE = -1, WORK_ALL = -2, WORK_OUT = -3 };

/* What a step of a training computes hardly depends on these. */
static const char *const little[] = {"learning_rate", "lr",      "weight_decay",
                                     "momentum",      "dropout", NULL};

/* Time and energy may be linear in these. */
static const char *const work[] = {
    "kfold",      "k_fold",    "folds",        "num_folds",    "n_folds",
    "max_iter",   "n_iter",    "iterations",   "iters",        "num_iterations",
    "steps",      "max_steps", "num_steps",    "n_estimators", "num_train_epochs",
    "train_size", "data_size", "dataset_size", "num_samples",  "n_samples",
    NULL};

/* The trainings and the names of what differs between them. */
struct differences {
    const struct dataset *dataset;
    const size_t *items;
    size_t count;
    struct strv names;
    const char *works[WORK_MOST]; /* the first are epochs, if they differ; borrowed from names */
    size_t work_count;
    bool has_epochs;
};

static double number_of(const struct value *value)
{
    return !value || value->kind == VALUE_NULL ? NAN
           : value->kind == VALUE_INT          ? (double)value->integer
           : value->kind == VALUE_FLOAT        ? value->real
           : value->kind == VALUE_BOOL         ? value->truth
                                               : NAN;
}

static bool is_blank(const struct value *value)
{
    return !value || value->kind == VALUE_NULL;
}

static bool same(const struct value *a, const struct value *b)
{
    if (is_blank(a) || is_blank(b) || (a->kind == VALUE_TEXT) != (b->kind == VALUE_TEXT))
        return is_blank(a) && is_blank(b);
    if (a->kind == VALUE_TEXT)
        return strcmp(a->text, b->text) == 0;
    double left = number_of(a), right = number_of(b);
    return (isnan(left) && isnan(right)) ||
           fabs(left - right) <= 1e-9 * fmax(fabs(left), fabs(right));
}

static const struct value *setting_of(const struct differences *of, size_t i, const char *name)
{
    return dataset_setting(&of->dataset->items[of->items[i]], name);
}

static bool differs(const struct differences *of, const char *name)
{
    for (size_t i = 1; i < of->count; i++)
        if (!same(setting_of(of, 0, name), setting_of(of, i, name)))
            return true;
    return false;
}

static void add_names(struct strv *out, const struct dataset_param *params, size_t count)
{
    EACH (param, params, count)
        if (!audit_is_seed(param->name))
            strv_add_once(out, param->name);
}

static void find_differences(struct differences *of)
{
    AUTO_STRV struct strv names = {0};
    const struct dataset_experiment *last = NULL;
    for (size_t i = 0; i < of->count; i++) {
        const struct dataset_experiment *experiment = &of->dataset->items[of->items[i]];
        bool known = last && last->param_count == experiment->param_count &&
                     last->default_count == experiment->default_count;
        for (size_t p = 0; known && p < experiment->param_count; p++)
            known = strcmp(last->params[p].name, experiment->params[p].name) == 0;
        if (!known) {
            add_names(&names, experiment->params, experiment->param_count);
            add_names(&names, experiment->defaults, experiment->default_count);
        }
        last = experiment;
    }
    EACH (name, names.items, names.count)
        if (differs(of, *name))
            strv_add(&of->names, *name);
    for (int epochs = 1; epochs >= 0; epochs--)
        EACH (name, of->names.items, of->names.count)
            if ((epochs ? audit_is_epochs(*name) : audit_is_one_of(*name, work)) &&
                of->work_count < WORK_MOST) {
                of->works[of->work_count++] = *name;
                of->has_epochs |= epochs;
            }
}

/* What the blanks and the numbers of a hyperparameter are. */
struct column {
    bool blanks, numbers, positive; /* some are blank; all others are numbers; and over 0 */
    double low, high;               /* of the numbers, or of their logarithms if positive */
};

static struct column describe(const struct differences *of, const char *name)
{
    struct column out = {false, true, true, INFINITY, -INFINITY};
    for (size_t i = 0; i < of->count; i++) {
        const struct value *value = setting_of(of, i, name);
        double number = number_of(value);
        out.blanks |= is_blank(value);
        out.numbers &= is_blank(value) || isfinite(number);
        out.positive &= is_blank(value) || number > 0;
    }
    for (size_t i = 0; out.numbers && i < of->count; i++) {
        double number = number_of(setting_of(of, i, name));
        number = out.positive ? log(number) : number;
        if (isfinite(number)) {
            out.low = fmin(out.low, number);
            out.high = fmax(out.high, number);
        }
    }
    return out;
}

/* Values at most 1 in size. False: there is no room for it. */
static bool add_covariate(struct judge_design *design, const char *name, double **column)
{
    if (design->covariates == STATS_FIT_COVARIATES)
        return false;
    design->prior[design->covariates] = audit_is_one_of(name, little) ? effect_little : effect_free;
    *column = design->x + design->covariates++;
    return true;
}

/* Which have it, or the value of the first. */
static bool add_level(const struct differences *of, struct judge_design *design, const char *name,
                      bool blanks)
{
    double *column;
    const struct value *first = setting_of(of, 0, name);
    if (!add_covariate(design, name, &column))
        return false;
    for (size_t i = 0; i < of->count; i++) {
        const struct value *value = setting_of(of, i, name);
        bool like = blanks ? is_blank(value) : same(first, value);
        column[i * STATS_FIT_COVARIATES] = like ? -1 : 1;
    }
    return true;
}

/* A number as a power, or as it is where not all are over 0; what is blank has a level of its own,
 * as its number is not known. */
static bool add_number(const struct differences *of, struct judge_design *design, const char *name,
                       const struct column *how)
{
    double *column;
    if (how->blanks && !add_level(of, design, name, true))
        return false;
    /* Of what has little effect a level is enough. */
    if ((how->blanks && audit_is_one_of(name, little)) || !(how->high > how->low))
        return true;
    if (!add_covariate(design, name, &column))
        return how->blanks;
    for (size_t i = 0; i < of->count; i++) {
        double number = number_of(setting_of(of, i, name));
        number = how->positive ? log(number) : number;
        column[i * STATS_FIT_COVARIATES] =
            isfinite(number) ? (2 * number - how->low - how->high) / (how->high - how->low) : 0;
    }
    return true;
}

static bool add_column(const struct differences *of, struct judge_design *design, const char *name)
{
    struct column how = describe(of, name);
    return how.numbers ? add_number(of, design, name, &how) : add_level(of, design, name, false);
}

/* False: it is not a number of units. */
static bool multiply_units(const struct differences *of, struct judge_design *design,
                           const char *name)
{
    struct column how = describe(of, name);
    if (!how.numbers || !how.positive || !isfinite(how.low) || how.high > log(work_most))
        return false;
    if (!design->units) {
        design->units = mem_array(of->count + 1, sizeof *design->units);
        for (size_t i = 0; i < of->count; i++)
            design->units[i] = 1;
    }
    for (size_t i = 0; i < of->count; i++) {
        const struct value *value = setting_of(of, i, name);
        design->units[i] *= is_blank(value) ? exp((how.low + how.high) / 2) : number_of(value);
    }
    return !how.blanks || add_level(of, design, name, true);
}

/* Whether it probably changes nothing: the blanks are then the value that all others have. */
static bool is_slight(const struct differences *of, const char *name)
{
    const struct value *given = NULL;
    for (size_t i = 0; i < of->count && !audit_is_one_of(name, little); i++) {
        const struct value *value = setting_of(of, i, name);
        if (is_blank(value))
            continue;
        if (given && !same(given, value))
            return false;
        given = value;
    }
    return true;
}

/* which: of the works, or one of the enum. WORK_OUT leaves them out. False: it is none. */
static bool make_design(const struct differences *of, int which, bool simple,
                        struct judge_design *out)
{
    *out =
        (struct judge_design){.x = mem_array(of->count * STATS_FIT_COVARIATES + 1, sizeof *out->x)};
    EACH (name, of->names.items, of->names.count) {
        bool is_unit = false, is_work = false;
        for (int w = 0; w < (int)of->work_count; w++) {
            is_work |= of->works[w] == *name;
            is_unit |= (w == which || which == WORK_ALL) && of->works[w] == *name;
        }
        if ((simple && is_slight(of, *name)) || (is_work && which == WORK_OUT))
            continue;
        if (is_unit && !multiply_units(of, out, *name)) {
            out->incomplete = "its number of epochs is not known";
            return false;
        }
        if (!is_unit && !add_column(of, out, *name)) {
            out->incomplete = "too many hyperparameters differ between trainings of this model";
            return false;
        }
    }
    for (size_t i = 0; i < of->count; i++) /* close up the rows */
        memmove(out->x + i * out->covariates, out->x + i * STATS_FIT_COVARIATES,
                out->covariates * sizeof *out->x);
    return true;
}

size_t judge_designs_make(const struct dataset *dataset, const size_t *items, size_t count,
                          bool simple, struct judge_design out[JUDGE_DESIGNS])
{
    struct differences of = {.dataset = dataset, .items = items, .count = count};
    find_differences(&of);
    int first = of.has_epochs ? 0 : WORK_NONE;
    bool slight = false;
    EACH (name, of.names.items, of.names.count)
        slight |= is_slight(&of, *name);
    size_t made = simple && slight && make_design(&of, first, true, &out[0]);
    if (simple && slight && !made)
        judge_design_fini(&out[0]);
    bool good = make_design(&of, first, false, &out[made++]);
    for (int w = of.has_epochs; good && w < (int)of.work_count; w++)
        if (make_design(&of, w, false, &out[made]))
            made++;
        else
            judge_design_fini(&out[made]);
    if (good && of.work_count > 1) {
        if (make_design(&of, WORK_ALL, false, &out[made]))
            made++;
        else
            judge_design_fini(&out[made]);
    }
    strv_fini(&of.names);
    return made;
}

void judge_design_make_power(const struct dataset *dataset, const size_t *items, size_t count,
                             struct judge_design *out)
{
    struct differences of = {.dataset = dataset, .items = items, .count = count};
    find_differences(&of);
    make_design(&of, WORK_OUT, true, out);
    strv_fini(&of.names);
}

void judge_design_fini(struct judge_design *design)
{
    free(design->x);
    free(design->units);
    *design = (struct judge_design){0};
}

void judge_design_settings(const struct dataset *dataset, const size_t *items, size_t count,
                           size_t *setting)
{
    struct differences of = {.dataset = dataset, .items = items, .count = count};
    find_differences(&of);
    AUTO_FREE char **keys = mem_array(count + 1, sizeof *keys);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    for (size_t i = 0; i < count; i++) {
        struct text key = {0};
        EACH (name, of.names.items, of.names.count) {
            const struct value *value = setting_of(&of, i, *name);
            AUTO_FREE char *own = is_blank(value) ? mem_strdup("") : value_key(value);
            text_addf(&key, "%zu:%s", strlen(own), own);
        }
        keys[i] = text_take(&key);
    }
    size_t found = audit_group_by(keys, count, &order, &groups);
    for (size_t g = 0; g < found; g++)
        for (size_t i = groups[g]; i < groups[g + 1]; i++)
            setting[order[i]] = g;
    strv_fini(&of.names);
}
