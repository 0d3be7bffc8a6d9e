#include "results/judge/criteria.h"
#include "results/judge/contradictions.h"
#include "results/judge/identical.h"
#include "results/judge/places.h"
#include "results/judge/rows.h"

#include "base/mem.h"
#include "plan/config/problem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What a criterion is measured on. */
struct scope {
    const struct dataset *dataset;
    const struct criteria *criteria;
    const char *model; /* of these experiments alone; NULL: of all */
};

/* which: what of it the row of the table asks for. */
typedef struct reading measure_fn(const struct scope *scope, unsigned which, char why[300]);

/* "mlp" is a model of any repository, "VulBERTa/mlp" that of one. */
static bool is_model(const struct dataset_experiment *experiment, const char *name)
{
    size_t length = strlen(experiment->repo);
    return strcmp(experiment->model, name) == 0 ||
           (strncmp(experiment->repo, name, length) == 0 && name[length] == '/' &&
            strcmp(experiment->model, name + length + 1) == 0);
}

/* The i-th experiment; NULL: the criterion is not about it. */
static const struct dataset_experiment *in_scope(const struct scope *scope, size_t i)
{
    const struct dataset_experiment *experiment = &scope->dataset->items[i];
    return !scope->model || is_model(experiment, scope->model) ? experiment : NULL;
}

static bool is_absent(const struct scope *scope)
{
    for (size_t i = 0; i < scope->dataset->count; i++)
        if (in_scope(scope, i))
            return false;
    return true;
}

static struct reading share_of(size_t part, size_t whole, char why[300])
{
    snprintf(why, 300, "%zu of %zu", part, whole);
    return whole ? (struct reading){(double)part / (double)whole, true} : (struct reading){0};
}

enum { CV_POWER, CV_ENERGY, CV_DURATION };

struct cv_context {
    const struct criteria *criteria;
    const struct dataset *dataset;
    unsigned which;
};

/* Among identical runs, or among all of a model. */
enum { CV_ALL = 1 << 4 };

static struct reading figure_of(const struct dataset_experiment *experiment, const void *context)
{
    const struct cv_context *cv = context;
    /* Contaminated figures are no measure of how well the machine repeats itself, nor are those of
     * failures. */
    if (!experiment->success || !audit_counts(cv->dataset, experiment, cv->criteria->rows))
        return (struct reading){0};
    return cv->which == CV_POWER    ? dataset_power(experiment)
           : cv->which == CV_ENERGY ? dataset_energy(experiment)
                                    : experiment->duration_s;
}

/* The greatest of all kinds. */
static struct reading worst_cv(const struct scope *scope, unsigned which, char why[300])
{
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    struct reading worst = {0};
    bool all = which & CV_ALL;
    const struct cv_context cv = {scope->criteria, scope->dataset, which & ~(unsigned)CV_ALL};
    size_t count = audit_group(scope->dataset, &order, &groups);
    snprintf(why, 300,
             all ? "no two runs are comparable"
                 : "no two comparable runs have identical hyperparameters");
    for (size_t g = 0; g < count; g++) {
        const struct dataset_experiment *first = in_scope(scope, order[groups[g]]);
        if (!first)
            continue;
        struct audit_spread spread = audit_spread_of(
            scope->dataset, order + groups[g], groups[g + 1] - groups[g], all, figure_of, &cv);
        if (!spread.cv.valid || (worst.valid && spread.cv.value <= worst.value))
            continue;
        worst = spread.cv;
        snprintf(why, 300, "%.3g %%, of %zu runs of %.80s %.80s%s", 100 * spread.cv.value,
                 spread.values, first->repo, first->model, first->parallel ? " parallel" : "");
    }
    return worst;
}

static size_t verdict_count(const struct scope *scope, enum verdict verdict, size_t *whole)
{
    size_t count = 0;
    *whole = 0;
    for (size_t i = 0; i < scope->dataset->count; i++) {
        const struct dataset_experiment *experiment = in_scope(scope, i);
        *whole += experiment != NULL;
        count += experiment && experiment->verdict == verdict;
    }
    return count;
}

static struct reading count_verdict(const struct scope *scope, unsigned verdict, char why[300])
{
    size_t whole, count = verdict_count(scope, (enum verdict)verdict, &whole);
    snprintf(why, 300, "%zu of %zu", count, whole);
    return (struct reading){(double)count, true};
}

static struct reading verdict_share(const struct scope *scope, unsigned verdict, char why[300])
{
    size_t whole, count = verdict_count(scope, (enum verdict)verdict, &whole);
    return share_of(count, whole, why);
}

static struct reading success_rate(const struct scope *scope, unsigned which, char why[300])
{
    (void)which;
    size_t known = 0, succeeded = 0;
    for (size_t i = 0; i < scope->dataset->count; i++) {
        const struct dataset_experiment *experiment = in_scope(scope, i);
        known += experiment && experiment->has_success;
        succeeded += experiment && experiment->has_success && experiment->success;
    }
    return share_of(succeeded, known, why);
}

static struct reading sampled_share(const struct scope *scope, unsigned which, char why[300])
{
    (void)which;
    struct reading least = {0};
    snprintf(why, 300, "nothing was sampled");
    for (size_t i = 0; i < scope->dataset->count; i++) {
        const struct dataset_experiment *experiment = in_scope(scope, i);
        struct reading share = experiment ? experiment->gpu.sampled_share : (struct reading){0};
        if (!share.valid || (least.valid && share.value >= least.value))
            continue;
        least = share;
        snprintf(why, 300, "%.3g %%, of %.200s", 100 * share.value, experiment->id);
    }
    return least;
}

/* Of GPUs and nodes, those that make figures not comparable. */
static struct reading differences(const struct scope *scope, unsigned which, char why[300])
{
    (void)which;
    struct places places;
    size_t count = 0, length = 0;
    places_find(scope->dataset, &places);
    snprintf(why, 300, "alike, as far as it is known");
    EACH (item, places.items, places.count) {
        if (places_weight(item->fact) <= EVIDENCE_RECORDED)
            continue;
        const char *name = places_fact_name(item->fact);
        if (length + strlen(name) + 3 < 300)
            length += (size_t)snprintf(why + length, 300 - length, "%s%s", count ? ", " : "", name);
        count++;
    }
    places_fini(&places);
    return (struct reading){(double)count, true};
}

/* stats leaves them out before. */
static struct reading contradictions(const struct scope *scope, unsigned which, char why[300])
{
    (void)which;
    size_t count = scope->dataset->left_out;
    EACH (item, scope->dataset->items, scope->dataset->count)
        count += audit_contradicts(item);
    snprintf(why, 300, "%zu of %zu", count, scope->dataset->count + scope->dataset->left_out);
    return (struct reading){(double)count, true};
}

/* Of the experiments that have ended and need the check, those that passed it. One that was not
 * made is not passed. */
static struct reading passed_share(const struct scope *scope, unsigned check, char why[300])
{
    size_t outcomes[CHECK_OUTCOMES] = {0};
    const char *not_needed = NULL;
    for (size_t i = 0; i < scope->dataset->count; i++) {
        const struct dataset_experiment *experiment = in_scope(scope, i);
        if (!experiment || !experiment->judged)
            continue;
        struct check_result result = {.outcome = CHECK_NOT_MADE};
        EACH (item, experiment->checks, experiment->check_count)
            if (item->check == (enum check)check)
                result = *item;
        outcomes[result.outcome]++;
        if (result.outcome == CHECK_NOT_NEEDED)
            not_needed = result.text;
    }
    size_t made = outcomes[CHECK_PASSED] + outcomes[CHECK_FAILED],
           unmade = outcomes[CHECK_NOT_MADE];
    struct reading share = share_of(outcomes[CHECK_PASSED], made + unmade, why);
    size_t length = strlen(why);
    if (unmade)
        snprintf(why + length, 300 - length, "; the check was not made in %zu", unmade);
    else if (!made && not_needed)
        snprintf(why, 300, "the check was not needed: %.200s", not_needed);
    return made ? share : (struct reading){0};
}

static const struct {
    const char *name;
    measure_fn *measure;
    unsigned which;
    bool of_all; /* of all experiments only, not of a model */
} measures[] = {
    {"power_cv_between", worst_cv, CV_POWER, false},
    {"power_cv", worst_cv, CV_POWER | CV_ALL, false},
    {"energy_cv_between", worst_cv, CV_ENERGY, false},
    {"duration_cv_between", worst_cv, CV_DURATION, false},
    {"clean", count_verdict, VERDICT_CLEAN, false},
    {"unverified", count_verdict, VERDICT_UNVERIFIED, false},
    {"suspect", count_verdict, VERDICT_SUSPECT, false},
    {"contaminated", count_verdict, VERDICT_CONTAMINATED, false},
    {"clean_share", verdict_share, VERDICT_CLEAN, false},
    {"success_rate", success_rate, 0, false},
    {"sampled_share", sampled_share, 0, false},
    {"differences", differences, 0, true},
    {"contradictions", contradictions, 0, true},
};
enum { MEASURES = sizeof measures / sizeof *measures };

/* A row of the table, or behind them a check. */
static bool parse_name(const char *name, size_t *out, struct err *err)
{
    enum check check = check_parse(name);
    *out = check == CHECK_NONE ? 0 : MEASURES + (size_t)check;
    while (check == CHECK_NONE && *out < MEASURES && strcmp(measures[*out].name, name) != 0)
        ++*out;
    if (check != CHECK_NONE || *out < MEASURES)
        return true;
    AUTO_TEXT struct text known = {0};
    EACH (measure, measures, MEASURES)
        text_addf(&known, "%s, ", measure->name);
    return err_set(err, "--expect knows no '%s' (it knows %sand each check, as memory_back)", name,
                   text_get(&known));
}

static bool parse_limit(const char *text, double *out)
{
    AUTO_FREE char *copy = mem_strdup(text);
    size_t length = strlen(copy);
    bool percent = length > 0 && copy[length - 1] == '%';
    if (percent)
        copy[length - 1] = '\0';
    if (!number_parse(copy, out))
        return false;
    if (percent)
        *out /= 100;
    return true;
}

/* The model in brackets at *rest, which is moved behind them. */
static bool parse_model(const char **rest, struct criterion *out, struct err *err)
{
    size_t length = strcspn(*rest + 1, "]");
    if (length == 0 || (*rest)[1 + length] == '\0')
        return err_set(err, "'%s': write the model as [MODEL] or [REPOSITORY/MODEL]", out->text);
    out->model = mem_strndup(*rest + 1, length);
    *rest += length + 2;
    if (out->what < MEASURES && measures[out->what].of_all)
        return err_set(err, "'%s': %s is of all experiments, not of a model", out->text,
                       measures[out->what].name);
    return true;
}

static bool parse_item(struct criterion *out, struct err *err)
{
    AUTO_FREE char *name = mem_strndup(out->text, strcspn(out->text, "<>=["));
    const char *rest = out->text + strlen(name);
    if (*rest && !parse_name(name, &out->what, err))
        return false;
    if (*rest == '[' && !parse_model(&rest, out, err))
        return false;
    if (!*rest || !strchr("<>=", *rest))
        return err_set(err, "'%s' is not a criterion: write it as power_cv_between<5%%", out->text);
    bool equal = rest[0] != '=' && rest[1] == '=';
    out->how = rest[0] == '='   ? CRITERION_EQUAL
               : rest[0] == '<' ? (equal ? CRITERION_AT_MOST : CRITERION_LESS)
                                : (equal ? CRITERION_AT_LEAST : CRITERION_MORE);
    return parse_limit(rest + 1 + equal, &out->limit) ||
           err_set(err, "'%s' is neither a number nor a percentage", rest + 1 + equal);
}

/* Up to the next comma that is not in brackets. */
static size_t item_length(const char *text)
{
    size_t length = strcspn(text, ",[");
    while (text[length] == '[') {
        length += strcspn(text + length, "]");
        length += strcspn(text + length, ",[");
    }
    return length;
}

bool criteria_parse(const char *text, struct criteria *out, struct err *err)
{
    *out = (struct criteria){0};
    for (const char *rest = text; *rest; rest += *rest == ',') {
        size_t length = item_length(rest);
        AUTO_FREE char *part = mem_strndup(rest, length);
        rest += length;
        const char *from = part + strspn(part, " ");
        size_t kept = strlen(from);
        while (kept && from[kept - 1] == ' ')
            kept--;
        if (length == 0)
            continue;
        struct criterion *item = &MEM_ADD(out->items, out->count);
        *item = (struct criterion){.text = mem_strndup(from, kept)};
        if (!parse_item(item, err))
            return false;
    }
    return out->count > 0 || err_set(err, "--expect was given no criterion");
}

void criteria_fini(struct criteria *criteria)
{
    EACH (item, criteria->items, criteria->count) {
        free(item->text);
        free(item->model);
    }
    free(criteria->items);
    *criteria = (struct criteria){0};
}

/* One slip of the keys apart: a letter too many, too few or another, or two that changed places.
 * Another number is another model. */
static bool is_slip(const char *a, const char *b)
{
    size_t left = strlen(a), right = strlen(b);
    for (; left && right && *a == *b; a++, b++, left--, right--)
        ;
    for (; left && right && a[left - 1] == b[right - 1]; left--, right--)
        ;
    if (left == 1 && right == 1)
        return !(isdigit((unsigned char)*a) && isdigit((unsigned char)*b));
    return (left <= 1 && right <= 1) || (left == 2 && right == 2 && a[0] == b[1] && a[1] == b[0]) ||
           strcasecmp(a, b) == 0;
}

/* The model that was meant by a name that no experiment has; NULL: none. */
static const char *meant_model(const char *name, const struct strv *models)
{
    const char *slash = strrchr(name, '/');
    EACH (item, models->items, models->count)
        if (is_slip(slash ? slash + 1 : name, *item))
            return *item;
    return NULL;
}

/* The model is one of the dataset, and of one repository; or it is none that was meant
 * otherwise. */
static bool match_model(const struct criterion *item, const struct dataset *dataset,
                        struct err *err)
{
    AUTO_STRV struct strv repos = {0}, models = {0};
    EACH (experiment, dataset->items, dataset->count) {
        strv_add_once(&models, experiment->model);
        if (is_model(experiment, item->model))
            strv_add_once(&repos, experiment->repo);
    }
    if (repos.count == 1)
        return true;
    if (repos.count > 1)
        return err_set(err, "--expect: '%s' is a model of %s and %s: write [%s/%s]", item->model,
                       repos.items[0], repos.items[1], repos.items[0], item->model);
    AUTO_FREE char *known = strv_join(&models, ", ");
    const char *meant = meant_model(item->model, &models);
    size_t length = strlen(item->model);
    if (!meant && item->model[length - 1] != '/')
        return true;
    return err_set(err, "--expect: no experiment is of the model '%s' (there are %s)%s%s%s",
                   item->model, known, meant ? "; did you mean '" : "", meant ? meant : "",
                   meant ? "'?" : "");
}

bool criteria_match(const struct criteria *criteria, const struct dataset *dataset, struct err *err)
{
    EACH (item, criteria->items, criteria->count)
        if (item->model && !match_model(item, dataset, err))
            return false;
    return true;
}

void criterion_check(const struct criteria *criteria, size_t index, const struct dataset *judged,
                     struct criterion_result *out)
{
    const struct criterion *item = &criteria->items[index];
    const struct scope scope = {judged, criteria, item->model};
    out->why[0] = '\0';
    if (item->model && is_absent(&scope)) {
        *out = (struct criterion_result){0};
        AUTO_STRV struct strv models = {0};
        EACH (entry, judged->items, judged->count)
            strv_add_once(&models, entry->model);
        AUTO_FREE char *known = strv_join(&models, ", ");
        snprintf(out->why, sizeof out->why,
                 "no experiment is of the model '%.80s' (there are %.160s)", item->model, known);
        return;
    }
    out->value = item->what < MEASURES
                     ? measures[item->what].measure(&scope, measures[item->what].which, out->why)
                     : passed_share(&scope, (unsigned)item->what - MEASURES, out->why);
    double value = out->value.value;
    static const double slack = 1e-12;
    bool held[] = {
        [CRITERION_LESS] =
            value<item->limit, [CRITERION_AT_MOST] = value <= item->limit, [CRITERION_MORE] = value>
                item->limit,
        [CRITERION_AT_LEAST] = value >= item->limit,
        [CRITERION_EQUAL] = fabs(value - item->limit) <= slack * fabs(item->limit)};
    out->held = out->value.valid && held[item->how];
}
