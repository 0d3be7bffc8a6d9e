#include "results/judge/judge.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* which: what of it the row of the table asks for. */
typedef struct reading measure_fn(const struct dataset *dataset, unsigned which, char why[300]);

enum { CV_POWER, CV_ENERGY, CV_DURATION };

static struct reading figure_of(const struct dataset_experiment *experiment, const void *which)
{
    unsigned figure = *(const unsigned *)which;
    /* Contaminated figures are no measure of how well the machine repeats itself, nor are those of failures. */
    if (!experiment->success || !audit_counts(experiment, false, false))
        return (struct reading){0};
    return figure == CV_POWER    ? dataset_power(experiment)
           : figure == CV_ENERGY ? dataset_energy(experiment)
                                 : experiment->duration_s;
}

/* The greatest of all kinds. */
static struct reading worst_cv(const struct dataset *dataset, unsigned which, char why[300])
{
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    struct reading worst = {0};
    size_t count = audit_group(dataset, &order, &groups);
    snprintf(why, 300, "no two comparable runs have identical hyperparameters");
    for (size_t g = 0; g < count; g++) {
        struct audit_spread spread =
            audit_spread_of(dataset, order + groups[g], groups[g + 1] - groups[g], false, figure_of, &which);
        if (!spread.cv.valid || (worst.valid && spread.cv.value <= worst.value))
            continue;
        const struct dataset_experiment *first = &dataset->items[order[groups[g]]];
        worst = spread.cv;
        snprintf(why, 300, "%.3g %%, of %zu runs of %.80s %.80s%s", 100 * spread.cv.value, spread.values, first->repo,
                 first->model, first->parallel ? " parallel" : "");
    }
    return worst;
}

static struct reading count_verdict(const struct dataset *dataset, unsigned verdict, char why[300])
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++)
        count += dataset->items[i].verdict == (enum verdict)verdict;
    snprintf(why, 300, "%zu of %zu", count, dataset->count);
    return (struct reading){(double)count, true};
}

static struct reading clean_share(const struct dataset *dataset, unsigned which, char why[300])
{
    struct reading count = count_verdict(dataset, which, why);
    return dataset->count ? (struct reading){count.value / (double)dataset->count, true} : (struct reading){0};
}

static struct reading success_rate(const struct dataset *dataset, unsigned which, char why[300])
{
    (void)which;
    size_t known = 0, succeeded = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        known += dataset->items[i].has_success;
        succeeded += dataset->items[i].has_success && dataset->items[i].success;
    }
    snprintf(why, 300, "%zu of %zu", succeeded, known);
    return known ? (struct reading){(double)succeeded / (double)known, true} : (struct reading){0};
}

static struct reading sampled_share(const struct dataset *dataset, unsigned which, char why[300])
{
    (void)which;
    struct reading least = {0};
    snprintf(why, 300, "nothing was sampled");
    for (size_t i = 0; i < dataset->count; i++) {
        struct reading share = dataset->items[i].gpu.sampled_share;
        if (!share.valid || (least.valid && share.value >= least.value))
            continue;
        least = share;
        snprintf(why, 300, "%.3g %%, of %.200s", 100 * share.value, dataset->items[i].id);
    }
    return least;
}

/* Of GPUs and nodes, those that make figures not comparable. */
static struct reading differences(const struct dataset *dataset, unsigned which, char why[300])
{
    (void)which;
    struct places places;
    size_t count = 0, length = 0;
    places_find(dataset, &places);
    snprintf(why, 300, "alike, as far as it is known");
    for (size_t i = 0; i < places.count; i++) {
        if (places_weight(places.items[i].fact) <= EVIDENCE_RECORDED)
            continue;
        const char *name = places_fact_name(places.items[i].fact);
        if (length + strlen(name) + 3 < 300)
            length += (size_t)snprintf(why + length, 300 - length, "%s%s", count ? ", " : "", name);
        count++;
    }
    places_fini(&places);
    return (struct reading){(double)count, true};
}

static const struct {
    const char *name;
    measure_fn *measure;
    unsigned which;
} measures[] = {
    {"power_cv_between", worst_cv, CV_POWER},
    {"energy_cv_between", worst_cv, CV_ENERGY},
    {"duration_cv_between", worst_cv, CV_DURATION},
    {"clean", count_verdict, VERDICT_CLEAN},
    {"unverified", count_verdict, VERDICT_UNVERIFIED},
    {"suspect", count_verdict, VERDICT_SUSPECT},
    {"contaminated", count_verdict, VERDICT_CONTAMINATED},
    {"clean_share", clean_share, VERDICT_CLEAN},
    {"success_rate", success_rate, 0},
    {"sampled_share", sampled_share, 0},
    {"differences", differences, 0},
};

static bool parse_name(const char *text, size_t length, size_t *out, struct err *err)
{
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (strlen(measures[i].name) == length && memcmp(measures[i].name, text, length) == 0) {
            *out = i;
            return true;
        }
    AUTO_TEXT struct text known = {0};
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        text_addf(&known, "%s%s", i ? ", " : "", measures[i].name);
    return err_set(err, "--expect knows no '%.*s' (it knows %s)", (int)length, text, text_get(&known));
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

static bool parse_item(const char *text, struct criterion *out, struct err *err)
{
    size_t name = strcspn(text, "<>=");
    const char *rest = text + name;
    if (!*rest)
        return err_set(err, "'%s' is no criterion: write it as power_cv_between<5%%", text);
    bool equal = rest[0] != '=' && rest[1] == '=';
    out->how = rest[0] == '='   ? CRITERION_EQUAL
               : rest[0] == '<' ? (equal ? CRITERION_AT_MOST : CRITERION_LESS)
                                : (equal ? CRITERION_AT_LEAST : CRITERION_MORE);
    if (!parse_name(text, name, &out->what, err))
        return false;
    if (!parse_limit(rest + 1 + equal, &out->limit))
        return err_set(err, "'%s' is neither a number nor a percentage", rest + 1 + equal);
    return true;
}

bool criteria_parse(const char *text, struct criteria *out, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = NULL;
    *out = (struct criteria){0};
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        while (*part == ' ')
            part++;
        size_t length = strlen(part);
        while (length && part[length - 1] == ' ')
            part[--length] = '\0';
        struct criterion item = {.text = mem_strdup(part)};
        out->items = mem_resize(out->items, out->count + 1, sizeof *out->items);
        out->items[out->count++] = item;
        if (!parse_item(part, &out->items[out->count - 1], err))
            return false;
    }
    return out->count > 0 || err_set(err, "--expect was given no criterion");
}

void criteria_fini(struct criteria *criteria)
{
    for (size_t i = 0; i < criteria->count; i++)
        free(criteria->items[i].text);
    free(criteria->items);
    *criteria = (struct criteria){0};
}

void criterion_check(const struct criterion *item, const struct dataset *judged, struct criterion_result *out)
{
    out->why[0] = '\0';
    out->value = measures[item->what].measure(judged, measures[item->what].which, out->why);
    double value = out->value.value;
    static const double slack = 1e-12;
    bool held[] = {
        [CRITERION_LESS] =
            value<item->limit, [CRITERION_AT_MOST] = value <= item->limit, [CRITERION_MORE] = value> item->limit,
        [CRITERION_AT_LEAST] = value >= item->limit,
        [CRITERION_EQUAL] = fabs(value - item->limit) <= slack * fabs(item->limit)};
    out->held = out->value.valid && held[item->how];
}
