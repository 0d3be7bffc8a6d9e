#include "report/summary_stats_text.h"
#include "results/judge/rows.h"

#include "base/amount.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/value.h"
#include "report/audit_text.h"
#include "report/table.h"
#include "stats/interval.h"

#include <math.h>
#include <string.h>

static const double significant = 0.05;
/* WIDE: so many columns have room for the mean's interval too. */
enum {
    FEWEST_NAME = 16,
    OTHERS = 74,
    OTHERS_WIDE = 106,
    WIDE = 126,
    NOT_FINITE = 12,
    MOST_SETTING = 40
};

struct page {
    const struct dataset *dataset;
    const struct summary_stats_text_options *options;
    struct text *out;
};

/* For text_wrap, where 0 is not without limit. */
static size_t width_of(const struct page *page)
{
    return page->options->width ? page->options->width : SIZE_MAX;
}

static char *group_name(const struct summary_stats_group *group)
{
    const struct dataset_experiment *like = group->like;
    bool said = like->parallel || like->mode;
    bool more = group->hyperparameters && (like->parallel || !like->mode);
    if (!*like->repo && !*like->model && !said)
        return mem_strdup("all experiments");
    return mem_printf("%s %s%s%s%s%s%s", like->repo, like->model, said ? ", " : "",
                      said ? dataset_mode(like) : "", more ? ", " : "",
                      more ? group->hyperparameters : "", more ? " hyperparameters" : "");
}

char *summary_stats_text_number(double value, int count)
{
    char text[32];
    number_shortest(number_round(value, count), text);
    size_t length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, ".0") == 0)
        text[length - 2] = '\0';
    return mem_strdup(text);
}

char *summary_stats_text_p(double p)
{
    return p < 1e-15 ? mem_strdup("< 1e-15") : mem_printf("%.2g", p);
}

char *summary_stats_text_interval(double value, const struct stats_interval *interval)
{
    AUTO_FREE char *middle = summary_stats_text_number(value, 4);
    if (interval->method == STATS_NONE)
        return steal_ptr(middle);
    AUTO_FREE char *low = summary_stats_text_number(interval->low, 4);
    AUTO_FREE char *high = summary_stats_text_number(interval->high, 4);
    return mem_printf("%s (%s to %s)", middle, low, high);
}

static void add_group_heading(const struct page *page, const struct summary_stats_group *group)
{
    AUTO_FREE char *name = group_name(group);
    AUTO_FREE char *safe = audit_text_fit(name, page->options->width);
    text_addf(page->out, "%s%s%s%s\n", page->out->length ? "\n" : "",
              page->options->colour ? "\x1b[1m" : "", safe, page->options->colour ? "\x1b[0m" : "");
    text_addf(page->out, "%zu experiment%s: %zu counted", group->total,
              group->total == 1 ? "" : "s", group->count);
    if (group->failed)
        text_addf(page->out, ", %zu failed", group->failed);
    if (group->not_ended)
        text_addf(page->out, ", %zu not ended", group->not_ended);
    if (group->left_out)
        text_addf(page->out, ", %zu left out for their verdict", group->left_out);
    if (summary_stats_is_drawn(group) && group->settings < group->count)
        text_addf(page->out, "; %zu settings were drawn: the mean of each counts once",
                  group->settings);
    if (group->by_setting_count)
        text_addf(page->out, ", of %zu settings", group->by_setting_count);
    text_add_char(page->out, '\n');
    AUTO_FREE char *tally = audit_tally_text(&group->tally);
    AUTO_FREE char *counted = mem_printf("counted: %s", tally);
    if (group->count)
        text_wrap(page->out, counted, 0, width_of(page));
}

/* Figures of a group, or of one of its settings. */
struct part {
    const char *setting; /* NULL: of the group */
    const struct figure *figures;
    size_t count;
};

/* fresh */
static struct part *parts_of(const struct summary_stats_group *group, size_t *count)
{
    struct part *out = mem_array(group->by_setting_count + 1, sizeof *out);
    *count = group->by_setting_count ? group->by_setting_count : 1;
    out[0] = (struct part){NULL, group->figures, group->figure_count};
    for (size_t i = 0; i < group->by_setting_count; i++) {
        const struct figure_setting *setting = &group->by_setting[i];
        out[i] = (struct part){setting->name, setting->figures, setting->figure_count};
    }
    return out;
}

static const struct figure *figure_named(const struct part *part, const char *name)
{
    for (size_t i = 0; i < part->count; i++)
        if (strcmp(part->figures[i].name, name) == 0)
            return &part->figures[i];
    return NULL;
}

static char *interval_cell(struct reading value, const struct stats_interval *interval)
{
    return value.valid ? summary_stats_text_interval(value.value, interval) : NULL;
}

static char *plain(struct reading value)
{
    return value.valid ? summary_stats_text_number(value.value, 4) : NULL;
}

/* What of the figures the columns depend on. */
struct columns {
    bool diverged, hall, by_setting, wide;
    size_t name_width;
};

static struct columns choose_stats_columns(const struct page *page, const struct part *parts,
                                           size_t count)
{
    size_t width = page->options->width;
    struct columns out = {.by_setting = parts[0].setting != NULL,
                          .wide = width == 0 || width >= WIDE};
    EACH (part, parts, count)
        EACH (figure, part->figures, part->count) {
            out.diverged |= figure->not_finite > 0;
            out.hall |= figure->mean_interval.method == STATS_HALL;
        }
    size_t others =
        (size_t)(out.wide ? OTHERS_WIDE : OTHERS) + (out.diverged ? (size_t)NOT_FINITE : 0);
    out.name_width = width == 0 ? 0 : width > others + FEWEST_NAME ? width - others : FEWEST_NAME;
    return out;
}

/* A line for each quantity, or for each setting of each quantity. */
static void figure_table(const struct page *page, const struct summary_stats_group *group)
{
    size_t count;
    AUTO_FREE struct part *parts = parts_of(group, &count);
    const struct columns columns = choose_stats_columns(page, parts, count);
    struct table *table =
        table_of(page->options->colour, "quantity", columns.by_setting ? "setting" : NULL, ">n",
                 columns.diverged ? ">not finite" : NULL,
                 columns.hall ? ">mean (95 %, Student's t or Hall's)" : ">mean (95 %, Student's t)",
                 ">sd", ">min", ">max", columns.wide ? ">median (95 %, from n = 6)" : NULL);
    EACH (quantity, group->figures, group->figure_count)
        for (size_t i = 0, shown = 0; i < count; i++) {
            const struct figure *figure = figure_named(&parts[i], quantity->name);
            if (!figure)
                continue;
            table_row(table,
                      shown++ ? mem_strdup("") : audit_text_fit(figure->name, columns.name_width),
                      audit_text_fit(parts[i].setting ? parts[i].setting : "", MOST_SETTING),
                      mem_printf("%zu", figure->n),
                      figure->not_finite ? mem_printf("%zu", figure->not_finite) : NULL,
                      interval_cell(figure->mean, &figure->mean_interval), plain(figure->deviation),
                      plain(figure->lowest), plain(figure->highest),
                      interval_cell(figure->median, &figure->median_interval));
        }
    table_end(table, page->out);
}

/* "duration_s" or "duration_s at lr=0.1". */
static void add_figure_name(struct strv *names, const struct part *part,
                            const struct figure *figure)
{
    AUTO_FREE char *name = audit_text_fit(figure->name, 30);
    AUTO_FREE char *setting = part->setting ? audit_text_fit(part->setting, MOST_SETTING) : NULL;
    strv_add_owned(names,
                   mem_printf("%s%s%s", name, setting ? " at " : "", setting ? setting : ""));
}

/* Each reason once, with the quantities that have no interval of the mean for it. */
static void add_missing_intervals(const struct page *page, const struct summary_stats_group *group)
{
    AUTO_STRV struct strv reasons = {0};
    AUTO_STRV struct strv skewed = {0};
    size_t count;
    AUTO_FREE struct part *parts = parts_of(group, &count);
    EACH (part, parts, count)
        EACH (figure, part->figures, part->count) {
            if (figure->mean_why)
                strv_add_once(&reasons, figure->mean_why);
            if (figure->skewed)
                add_figure_name(&skewed, part, figure);
        }
    EACH (reason, reasons.items, reasons.count) {
        AUTO_STRV struct strv names = {0};
        bool all = true;
        EACH (part, parts, count)
            EACH (figure, part->figures, part->count) {
                bool has = figure->mean_why && strcmp(figure->mean_why, *reason) == 0;
                all &= has;
                if (has)
                    add_figure_name(&names, part, figure);
            }
        AUTO_FREE char *list =
            all || group->by_setting_count ? mem_strdup("") : strv_join(&names, ", ");
        text_addf(page->out, "no interval of %s%s: %s\n",
                  all     ? "any mean"
                  : *list ? "the mean of "
                          : "some means",
                  list, *reason);
    }
    AUTO_FREE char *list = strv_join(&skewed, ", ");
    if (skewed.count)
        text_addf(page->out,
                  "visibly skewed, so the median describes it better (D'Agostino's test): %s\n",
                  list);
}

/* Adds the uncertainty of the mean energies due to the meters; power has the same. */
static void add_mean_uncertainty(const struct page *page, const struct summary_stats_group *group)
{
    EACH (figure, group->figures, group->figure_count) {
        const struct measurement *measurement = &figure->measurement;
        bool energy =
            strcmp(figure->name, "gpu_energy_j") == 0 || strcmp(figure->name, "cpu_energy_j") == 0;
        if (!energy || !measurement->valid)
            continue;
        struct reading half_width = {measurement->half_width.value * fabs(figure->mean.value),
                                     figure->mean.valid};
        AUTO_FREE char *mean = amount_format_with(figure->mean, half_width, "J");
        if (measurement->u_gain.valid)
            text_addf(page->out,
                      "%s, mean: %s (95 %%); the sensors' gain (u %.2g %%) comes on top\n",
                      figure->name, mean, 100 * measurement->u_gain.value);
        else
            text_addf(page->out,
                      "%s, mean: %s (95 %%); the sensors' gain is unknown and comes on top\n",
                      figure->name, mean);
    }
}

static void add_power_spread(const struct page *page, const struct summary_stats_group *group)
{
    const struct audit_spread *spread = &group->power_cv_between;
    if (spread->cv.valid) {
        text_addf(page->out, "power_cv_between %.3g %%", 100 * spread->cv.value);
        if (group->power_cv_interval.method != STATS_NONE) {
            AUTO_FREE char *low = summary_stats_text_number(100 * group->power_cv_interval.low, 2);
            AUTO_FREE char *high =
                summary_stats_text_number(100 * group->power_cv_interval.high, 2);
            text_addf(page->out, " (%s to %s %%)", low, high);
        }
        text_addf(page->out, ", of %zu %s", spread->values,
                  group->mixed ? "runs, mixed: their hyperparameters differ" : "identical runs");
        if (spread->sets > 1)
            text_addf(page->out, " in %zu sets", spread->sets);
        text_add_char(page->out, '\n');
    }
    if (group->power_cv.cv.valid)
        text_addf(page->out, "power_cv %.3g %%, of all %zu runs of the model\n",
                  100 * group->power_cv.cv.value, group->power_cv.values);
    if (group->power_cv_within.valid)
        text_addf(page->out, "power_cv_within %.3g %%\n", 100 * group->power_cv_within.value);
    if (group->repeats)
        text_addf(page->out, "for the mean energy within ± %.3g %%: %zu repeats\n",
                  100 * page->options->precision, group->repeats);
}

/* A line for each level: "   16 to 32  n 4  17200 (17100 to 17400)". */
static void add_effect_levels(const struct page *page, const struct figure_effect *effect)
{
    EACH (level, effect->levels, effect->level_count) {
        AUTO_FREE char *from = summary_stats_text_number(level->from, 4);
        AUTO_FREE char *to = summary_stats_text_number(level->to, 4);
        AUTO_FREE char *range =
            level->to > level->from ? mem_printf("%s to %s", from, to) : mem_strdup(from);
        AUTO_FREE char *median = summary_stats_text_interval(level->median, &level->interval);
        text_addf(page->out, "  %22s  n %-3zu  %s\n", range, level->n, median);
    }
}

static void add_effects_text(const struct page *page, const struct summary_stats_group *group)
{
    bool colour = page->options->colour, any = false;
    EACH (effect, group->effects, group->effect_count) {
        if (effect->p_adjusted >= significant)
            continue;
        AUTO_FREE char *param = audit_text_fit(effect->param, 30);
        AUTO_FREE char *target = audit_text_fit(effect->target, 30);
        const struct stats_trend *trend = &effect->trend;
        bool line = trend->test == STATS_TREND_STUDENT;
        double strength = line ? trend->r : trend->rank.rho;
        text_addf(page->out, "%s%s%s %s %s: %s %.2f", colour ? "\x1b[1m" : "", param,
                  colour ? "\x1b[0m" : "", strength > 0 ? "raises" : "lowers", target,
                  line ? "r" : "rho", strength);
        if (!line && trend->rank.interval.method != STATS_NONE)
            text_addf(page->out, " (%.2f to %.2f)", trend->rank.interval.low,
                      trend->rank.interval.high);
        AUTO_FREE char *p = summary_stats_text_p(effect->p_adjusted);
        text_addf(page->out, ", p %s corrected (%s)\n", p,
                  line ? "Student's t of r, as for 5 to 7 points" : "permutations of the ranks");
        add_effect_levels(page, effect);
        any = true;
    }
    if (group->effect_count && !any)
        text_addf(page->out, "no significant effect of a hyperparameter (%zu tried)\n",
                  group->effect_count);
}

static void add_interactions_text(const struct page *page, const struct summary_stats_group *group)
{
    bool any = false;
    EACH (found, group->interactions, group->interaction_count) {
        if (found->p_adjusted >= significant)
            continue;
        AUTO_FREE char *first = audit_text_fit(found->params[0], 30);
        AUTO_FREE char *second = audit_text_fit(found->params[1], 30);
        AUTO_FREE char *target = audit_text_fit(found->target, 30);
        AUTO_FREE char *slope = summary_stats_text_interval(found->slope, &found->interval);
        text_addf(
            page->out,
            "the effect of %s on %s depends on %s: slope of the product %s, p %.2g corrected\n",
            first, target, second, slope, found->p_adjusted);
        any = true;
    }
    if (group->interaction_count && !any)
        text_addf(page->out,
                  "no interaction of two hyperparameters can be told from chance (%zu tried)\n",
                  group->interaction_count);
    if (group->interactions_why)
        text_addf(page->out, "no interactions%s: %s\n",
                  group->interaction_count ? " of some quantities" : "", group->interactions_why);
}

/* A front of a metric whose goal nobody said would be a guess. */
static void add_unknown_goals(const struct page *page, const struct summary_stats_group *group)
{
    size_t count = 0;
    EACH (figure, group->figures, group->figure_count) {
        if (!figure->is_metric || figure->goal != GOAL_UNKNOWN)
            continue;
        AUTO_FREE char *name = audit_text_fit(figure->name, 30);
        text_addf(page->out, "%s%s",
                  count++ ? ", "
                          : "no Pareto front: whether more or less is better is not known of ",
                  name);
    }
    if (count)
        text_add(page->out, " (\"goal\" in the registry says it)\n");
}

static void add_front_text(const struct page *page, const struct summary_stats_group *group)
{
    if (!group->quality)
        add_unknown_goals(page, group);
    if (group->front_count < 2)
        return;
    AUTO_FREE char *quality = audit_text_fit(group->quality, 30);
    text_addf(page->out, "Pareto front of %s against energy:\n", quality);
    EACH (item, group->front, group->front_count) {
        const struct dataset_experiment *experiment = &page->dataset->items[*item];
        AUTO_FREE char *id = audit_text_fit(
            experiment->id, page->options->width > 34 ? page->options->width - 34 : 0);
        AUTO_FREE char *energy = summary_stats_text_number(dataset_energy(experiment).value, 4);
        AUTO_FREE char *score =
            summary_stats_text_number(dataset_metric(experiment, group->quality).value, 6);
        text_addf(page->out, "  %12s J  %12s  %s\n", energy, score, id);
    }
}

void summary_stats_text_spellings(const struct dataset *dataset, struct text *out)
{
    EACH (spelling, dataset->spellings, dataset->spelling_count) {
        AUTO_FREE char *name = audit_text_fit(spelling->name, 30);
        AUTO_FREE char *other = audit_text_fit(spelling->other, 30);
        if (spelling->apart)
            text_addf(out, "hyperparameters %s and %s are two: an experiment has both\n", name,
                      other);
        else
            text_addf(
                out,
                "hyperparameters %s and %s are taken for one: their names differ by case alone\n",
                name, other);
    }
}

static void add_left_out_note(const struct page *page, const struct summary_stats *figures)
{
    size_t left_out = 0;
    EACH (group, figures->groups, figures->count)
        left_out += group->left_out;
    if (left_out == 0 || page->options->rows != AUDIT_ROWS_CONSISTENT)
        return;
    text_add_char(page->out, '\n');
    text_wrap(page->out,
              "Left out are experiments that are neither clean nor consistent; --only usable "
              "counts all that are not contaminated.",
              0, width_of(page));
}

void summary_stats_text(const struct dataset *dataset, const struct summary_stats *figures,
                        const struct summary_stats_text_options *options, struct text *out)
{
    struct page page = {dataset, options, out};
    summary_stats_text_spellings(dataset, out);
    EACH (group, figures->groups, figures->count) {
        add_group_heading(&page, group);
        if (group->count == 0)
            continue;
        figure_table(&page, group);
        add_missing_intervals(&page, group);
        add_mean_uncertainty(&page, group);
        add_power_spread(&page, group);
        add_effects_text(&page, group);
        add_interactions_text(&page, group);
        add_front_text(&page, group);
    }
    add_left_out_note(&page, figures);
}
