#include "report/audit_text.h"
#include "results/judge/account.h"
#include "results/judge/audit_tables.h"
#include "results/judge/contradictions.h"
#include "results/judge/judge_agreement.h"
#include "results/judge/places.h"
#include "results/judge/split.h"

#include "base/amount.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "report/columns.h"
#include "report/summary_stats_text.h"
#include "report/table.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const char *const colours[] = {"", "\x1b[32m", "\x1b[33m", "\x1b[33m", "\x1b[31m"};
static const char *const bold = "\x1b[1m", *const plain = "\x1b[0m";

enum { REASONS_SHOWN = 2, INDENT = 4, NARROW_NAME = 20, KIND_WIDTH = 24 };

struct page {
    const struct dataset *dataset;
    const struct account *account;
    const struct audit_text_options *options;
    struct text *out;
};

/* A pointer past this many columns, at a character boundary. */
static const char *skip_columns(const char *s, size_t columns)
{
    AUTO_TEXT struct text head = {0};
    utf8_fit(s, columns, &head);
    return s + head.length;
}

char *audit_text_fit(const char *text, size_t columns)
{
    AUTO_FREE char *safe = utf8_line(text);
    size_t all = utf8_columns(safe);
    if (columns == 0 || all <= columns)
        return steal_ptr(safe);
    /* What tells ids apart stands at their end. */
    size_t head = columns / 3, tail = columns - head - 1;
    return mem_printf("%.*s…%s", (int)(skip_columns(safe, head) - safe), safe,
                      skip_columns(safe, all - tail));
}

static void add_audit_heading(const struct page *page, const char *title)
{
    bool colour = page->options->colour;
    text_addf(page->out, "\n%s%s%s\n", colour ? bold : "", title, colour ? plain : "");
}

/* Words over as many lines as it takes, each after indent blanks. */
static void wrap(const struct page *page, const char *words, size_t indent)
{
    AUTO_FREE char *safe = utf8_line(words);
    text_wrap(page->out, safe + strspn(safe, " "), indent,
              page->options->width ? page->options->width : SIZE_MAX);
}

static char *format_count(size_t count)
{
    return mem_printf("%zu", count);
}

static char *format_share(struct reading share)
{
    return share.valid ? mem_printf("%.1f %%", 100 * share.value) : NULL;
}

/* The remaining rows are only counted. */
static size_t shown_row_count(const struct page *page, size_t count)
{
    return page->options->all || count <= AUDIT_TEXT_ROWS ? count : AUDIT_TEXT_ROWS;
}

static void add_more_line(const struct page *page, const char *indent, size_t count)
{
    if (count > shown_row_count(page, count))
        text_addf(page->out, "%s... and %zu more (--all shows them)\n", indent,
                  count - shown_row_count(page, count));
}

/* Columns of a name beside others that take so many; 0: as many as it takes. */
static size_t name_columns(const struct page *page, size_t others)
{
    size_t width = page->options->width;
    return width == 0 ? 0 : width > others + NARROW_NAME ? width - others : NARROW_NAME;
}

enum { FIRST_VERDICT = 4 };

static void add_account_row(struct table *table, const struct account_row *row, size_t name_columns)
{
    table_row(table, audit_text_fit(*row->name ? row->name : "(none)", name_columns),
              format_count(row->total), format_count(row->succeeded),
              format_share(account_success_rate(row)), format_count(row->verdicts[VERDICT_CLEAN]),
              format_count(row->verdicts[VERDICT_UNVERIFIED]),
              format_count(row->verdicts[VERDICT_SUSPECT]),
              format_count(row->verdicts[VERDICT_CONTAMINATED]),
              amount_format((struct reading){row->energy_j, row->with_energy > 0}, "J"));
    for (size_t i = VERDICT_CLEAN; i < VERDICTS; i++)
        table_tint(table, FIRST_VERDICT + i - VERDICT_CLEAN, row->verdicts[i] ? colours[i] : NULL);
}

/* What the other columns of such a table take. */
enum { ACCOUNT_COLUMNS = 62, UNVERIFIED_COLUMNS = 12 };

/* Leaves a column out where everything could be checked; the headline always has all four
 * counts. */
static void account_table(const struct page *page, const char *first,
                          const struct account_row *rows, size_t count)
{
    bool unverified = page->account->all.verdicts[VERDICT_UNVERIFIED] > 0;
    size_t name = name_columns(page, ACCOUNT_COLUMNS + (unverified ? UNVERIFIED_COLUMNS : 0));
    struct table *table =
        table_of(page->options->colour, first, ">total", ">ok", ">ok rate", ">clean",
                 unverified ? ">unverified" : NULL, ">suspect", ">contam.", ">energy");
    for (size_t i = 0; i < shown_row_count(page, count); i++)
        add_account_row(table, &rows[i], name);
    table_end(table, page->out);
    add_more_line(page, "", count);
}

/* Whether the whole folder lacks what the check needs: reported once, not for each row. */
static bool is_lacking_in_folder(const struct check_result *result)
{
    return result->outcome == CHECK_NOT_MADE && (strcmp(result->text, DATASET_TABLE_LACKS) == 0 ||
                                                 strcmp(result->text, DATASET_NO_PROCESSES) == 0);
}

static void add_lacking_checks(const struct page *page, size_t folder)
{
    AUTO_TEXT struct text line = {0};
    const struct dataset_experiment *first = NULL;
    if (page->dataset->folders[folder].layout != DATASET_TABLE)
        return;
    for (size_t i = 0; !first && i < page->dataset->count; i++)
        first = page->dataset->items[i].folder == folder ? &page->dataset->items[i] : NULL;
    for (size_t i = 0; first && i < first->check_count; i++)
        if (is_lacking_in_folder(&first->checks[i]))
            text_addf(&line, "%s%s",
                      line.length ? ", " : "its rows are unverified, as it does not record: ",
                      check_kind(first->checks[i].check)->name);
    if (line.length)
        wrap(page, text_get(&line), 2);
}

static void add_audit_folders(const struct page *page)
{
    static const char *const layouts[DATASET_LAYOUTS] = {
        [DATASET_STUDY] = "the study's layout",
        [DATASET_TARE] = "a run of this program",
        [DATASET_CODECARBON] = "CodeCarbon's emissions.csv",
        [DATASET_TABLE] = "a table of another program",
    };
    for (size_t i = 0; i < page->dataset->folder_count; i++) {
        const struct dataset_folder *folder = &page->dataset->folders[i];
        AUTO_FREE char *zone = dataset_zone_text(page->dataset, i);
        AUTO_FREE char *line =
            mem_printf("%s (%s; %s)", folder->path, layouts[folder->layout], zone);
        wrap(page, line, 0);
        add_lacking_checks(page, i);
    }
}

/* First of all: figures that two files state differently are of no use, whatever the verdict. */
static void add_audit_contradictions(const struct page *page)
{
    size_t count = 0;
    EACH (item, page->dataset->items, page->dataset->count)
        count += audit_contradicts(item);
    if (count == 0)
        return;
    text_addf(page->out, "%zu row%s with figures that differ from those in the folder:\n", count,
              count == 1 ? "" : "s");
    size_t shown = 0;
    for (size_t i = 0; i < page->dataset->count && shown < shown_row_count(page, count); i++) {
        const struct dataset_experiment *experiment = &page->dataset->items[i];
        if (!audit_contradicts(experiment))
            continue;
        shown++;
        EACH (evidence, experiment->evidence, experiment->evidence_count) {
            if (strcmp(evidence->kind, "values_differ") != 0 &&
                strcmp(evidence->kind, "duration_differs") != 0)
                continue;
            AUTO_FREE char *line = mem_printf("%s: %s", experiment->id, evidence->text);
            wrap(page, line, 2);
        }
    }
    add_more_line(page, "  ", count);
    text_add_char(page->out, '\n');
}

static void add_audit_verdicts(const struct page *page)
{
    const struct account_row *all = &page->account->all;
    bool colour = page->options->colour;
    text_addf(page->out, "%zu experiment%s: ", all->total, all->total == 1 ? "" : "s");
    for (int i = VERDICT_CLEAN; i < VERDICTS; i++)
        text_addf(page->out, "%s%zu %s%s%s", colour && all->verdicts[i] ? colours[i] : "",
                  all->verdicts[i], verdict_name((enum verdict)i),
                  colour && all->verdicts[i] ? plain : "", i < VERDICT_CONTAMINATED ? ", " : "");
    size_t failed = 0;
    EACH (experiment, page->dataset->items, page->dataset->count)
        failed += experiment->verdict == VERDICT_NONE && experiment->judged && !experiment->success;
    if (failed)
        text_addf(page->out, ", %zu failed, not judged", failed);
    if (all->verdicts[VERDICT_NONE] > failed)
        text_addf(page->out, ", %zu without a verdict", all->verdicts[VERDICT_NONE] - failed);
    text_add(page->out,
             "\nA verdict is about the measurement; only successful trainings can be clean.\n");
}

/* Checks that were not made, each with the number of unverified experiments that lack it. */
static void add_unmade_reasons(const struct page *page)
{
    size_t unverified = page->account->all.verdicts[VERDICT_UNVERIFIED], lack[CHECKS] = {0},
           shown = 0;
    AUTO_TEXT struct text line = {0};
    if (unverified == 0)
        return;
    EACH (experiment, page->dataset->items, page->dataset->count)
        EACH (result, experiment->checks, experiment->check_count)
            lack[result->check] +=
                experiment->verdict == VERDICT_UNVERIFIED && result->outcome == CHECK_NOT_MADE;
    text_addf(&line, "%zu of %zu cannot be verified", unverified, page->account->all.total);
    for (;; shown++) {
        size_t most = 0;
        for (size_t i = 1; i < CHECKS; i++)
            most = lack[i] > lack[most] ? i : most;
        if (lack[most] == 0)
            break;
        text_addf(&line, "%s%s (%zu)",
                  shown ? ", " : "; not known: ", check_kind((enum check)most)->subject,
                  lack[most]);
        lack[most] = 0;
    }
    text_add(&line, ". To get clean results next time: run it with 'tare run'.");
    wrap(page, text_get(&line), 0);
}

/* Verdicts need lists of processes; this does not. */
static void add_consistent_counts(const struct page *page)
{
    size_t clean = 0, other = 0, contradicted = 0, unknown[AGREEMENT_REASONS] = {0};
    EACH (experiment, page->dataset->items, page->dataset->count) {
        bool consistent = experiment->row_agreement == AGREEMENT_CONSISTENT;
        clean += consistent && experiment->verdict == VERDICT_CLEAN;
        other += consistent && experiment->verdict != VERDICT_CLEAN;
        contradicted += experiment->row_agreement == AGREEMENT_CONTRADICTED;
        unknown[experiment->row_reason]++;
    }
    AUTO_TEXT struct text line = {0};
    text_add(&line, "Compared with similar experiments, ");
    if (clean)
        text_addf(&line, "%zu clean ones and ", clean);
    text_addf(&line, "%zu%s are consistent (other programs were not recorded), %zu contradicted",
              other, clean ? " others" : "", contradicted);
    for (size_t shown = 0;; shown++) {
        size_t most = AGREEMENT_FAILED;
        for (size_t i = most; i < AGREEMENT_REASONS; i++)
            most = unknown[i] > unknown[most] ? i : most;
        if (unknown[most] == 0)
            break;
        text_addf(&line, "%s%s (%zu)",
                  shown ? ", " : "; unknown: ", agreement_reason_text((enum agreement_reason)most),
                  unknown[most]);
        unknown[most] = 0;
    }
    text_add_char(&line, '.');
    if (other + contradicted)
        wrap(page, text_get(&line), 0);
}

/* Checks that an unverified experiment lacks: the first checks, or all. */
static void add_unmade_checks(const struct page *page, const struct dataset_experiment *experiment)
{
    size_t shown = 0, left = 0;
    if (experiment->verdict != VERDICT_UNVERIFIED)
        return;
    EACH (result, experiment->checks, experiment->check_count) {
        if (result->outcome != CHECK_NOT_MADE || is_lacking_in_folder(result))
            continue;
        if (!page->options->verbose && shown == REASONS_SHOWN) {
            left++;
            continue;
        }
        shown++;
        AUTO_FREE char *line =
            mem_printf("%s not known: %s", check_kind(result->check)->subject, result->text);
        wrap(page, line, INDENT);
    }
    if (left)
        text_addf(page->out, "    and %zu more (-v shows them)\n", left);
}

/* Unverified only because of what the whole folder lacks, which is reported once. */
static bool is_bare_row(const struct page *page, const struct dataset_experiment *experiment)
{
    bool table = page->dataset->folders[experiment->folder].layout == DATASET_TABLE;
    if (experiment->verdict != VERDICT_UNVERIFIED || page->options->verbose ||
        (!table && experiment->row_agreement != AGREEMENT_CONSISTENT))
        return false;
    EACH (item, experiment->evidence, experiment->evidence_count)
        if (evidence_weight(item->kind) != EVIDENCE_RECORDED)
            return false;
    EACH (result, experiment->checks, experiment->check_count)
        if (result->outcome == CHECK_NOT_MADE && !is_lacking_in_folder(result))
            return false;
    return true;
}

static void add_affected_experiments(const struct page *page)
{
    size_t shown = 0, left = 0, affected = 0;
    EACH (experiment, page->dataset->items, page->dataset->count)
        affected += experiment->verdict > VERDICT_CLEAN && !is_bare_row(page, experiment);
    if (affected == 0)
        return;
    add_audit_heading(page, "Affected experiments");
    for (int verdict = VERDICT_CONTAMINATED; verdict > VERDICT_CLEAN; verdict--)
        EACH (experiment, page->dataset->items, page->dataset->count) {
            if ((int)experiment->verdict != verdict || is_bare_row(page, experiment))
                continue;
            if (!page->options->all && shown == AUDIT_TEXT_ROWS) {
                left++;
                continue;
            }
            shown++;
            AUTO_FREE char *id = audit_text_fit(experiment->id, page->options->width);
            bool colour = page->options->colour;
            text_addf(page->out, "%s\n  %s%s%s\n", id, colour ? colours[verdict] : "",
                      verdict_name(experiment->verdict), colour ? plain : "");
            if (experiment->row_agreement == AGREEMENT_CONSISTENT)
                text_add(page->out, "    consistent, but other programs were not recorded\n");
            EACH (item, experiment->evidence, experiment->evidence_count) {
                if (evidence_weight(item->kind) == EVIDENCE_RECORDED)
                    continue;
                AUTO_FREE char *line = mem_printf("%s: %s", item->kind, item->text);
                wrap(page, line, INDENT);
            }
            add_unmade_checks(page, experiment);
        }
    if (left)
        text_addf(page->out, "... and %zu more (--all shows them, audit.json has them)\n", left);
}

/* What the evidence that was found means and what to do, once for each kind. */
static void add_evidence_meanings(const struct page *page)
{
    const struct account_table *evidence = &page->account->evidence;
    if (evidence->count == 0)
        return;
    add_audit_heading(page, "What was found");
    EACH (row, evidence->rows, evidence->count) {
        const struct evidence_kind *kind = evidence_find(row->name);
        AUTO_FREE char *line =
            mem_printf("%s, %zu experiment%s, %s. %s %s", row->name, row->total,
                       row->total == 1 ? "" : "s", evidence_weight_name(evidence_weight(row->name)),
                       kind ? kind->meaning : "", kind ? kind->remedy : "");
        wrap(page, line, 2);
    }
}

static void add_energy_row(struct table *table, const struct dataset_experiment *experiment,
                           size_t name_columns)
{
    table_row(table, audit_text_fit(experiment->id, name_columns),
              experiment->duration_s.valid ? mem_printf("%.1f", experiment->duration_s.value)
                                           : NULL,
              format_share(experiment->gpu.sampled_share),
              amount_format(experiment->recorded[RECORDED_GPU_TOTAL], "J"),
              amount_format_with(experiment->gpu.energy_j, experiment->gpu.half_width_j, "J"),
              mem_strdup(experiment->verdict == VERDICT_NONE ? "not judged"
                                                             : verdict_name(experiment->verdict)));
    table_tint(table, 5, colours[experiment->verdict]);
}

enum { ENERGY_COLUMNS_WIDTH = 62 };

/* Each group with its first experiment, which tells where to look. */
static void add_place_difference(const struct page *page,
                                 const struct places_difference *difference)
{
    bool heavy = places_weight(difference->fact) > EVIDENCE_RECORDED;
    AUTO_STRV struct strv names = {0};
    for (const char *const *figure = places_figures(difference->fact); *figure; figure++)
        strv_add(&names, *figure);
    AUTO_FREE char *figures = strv_join(&names, ", ");
    AUTO_FREE char *line =
        mem_printf("%s (%s): %zu kinds; %s: %s", places_fact_name(difference->fact),
                   evidence_weight_name(places_weight(difference->fact)), difference->count,
                   heavy ? "not comparable across them" : "may differ across them", figures);
    wrap(page, line, 2);
    for (size_t i = 0; i < shown_row_count(page, difference->count); i++) {
        const struct places_group *group = &difference->groups[i];
        const char *first = page->dataset->items[group->items[0]].id;
        AUTO_FREE char *row =
            mem_printf("%s: %zu experiment%s (%s%s)", group->value, group->count,
                       group->count == 1 ? "" : "s", first, group->count > 1 ? ", ..." : "");
        wrap(page, row, INDENT);
    }
    add_more_line(page, "    ", difference->count);
    if (difference->unknown)
        text_addf(page->out, "    not known: %zu\n", difference->unknown);
}

/* Experiments of a run that ran on unlike GPUs or nodes. */
static void add_place_differences(const struct page *page)
{
    struct places places;
    places_find(page->dataset, &places);
    if (places.count)
        add_audit_heading(page, "Where it ran: not alike");
    for (size_t i = 0; i < places.count; i++) {
        const struct places_difference *difference = &places.items[i];
        if (page->dataset->folder_count > 1 &&
            (i == 0 || places.items[i - 1].folder != difference->folder))
            wrap(page, page->dataset->folders[difference->folder].path, 0);
        add_place_difference(page, difference);
    }
    places_fini(&places);
}

/* What the samples show: energies of some seconds depend on it. */
static void add_sensor_counts(const struct page *page)
{
    static const struct {
        const char *sensor, *samples;
    } kinds[] = {{"instant", "instants"},
                 {"mean", "means of a second"},
                 {"unknown", "instants or means of a second, and the interval holds both"}};
    size_t too_short = 0;
    EACH_OF (kind, kinds) {
        size_t count = 0;
        EACH (experiment, page->dataset->items, page->dataset->count)
            count += experiment->gpu.sensor && strcmp(experiment->gpu.sensor, kind->sensor) == 0;
        AUTO_FREE char *line = mem_printf("Power samples of %zu experiment%s are %s.", count,
                                          count == 1 ? "" : "s", kind->samples);
        if (count)
            wrap(page, line, 0);
    }
    EACH (experiment, page->dataset->items, page->dataset->count)
        too_short += experiment->gpu.energy_unknown != NULL;
    AUTO_FREE char *line =
        mem_printf("%zu without an energy: shorter than the sensor resolves.", too_short);
    if (too_short)
        wrap(page, line, 0);
}

static void add_energy_table(const struct page *page)
{
    size_t count = page->dataset->count;
    add_audit_heading(page, "GPU energy: recorded, and from the time-stamps");
    struct table *table = table_of(page->options->colour, "experiment", ">seconds", ">sampled",
                                   ">recorded", ">energy (95 %)", "verdict");
    for (size_t i = 0; i < shown_row_count(page, count); i++)
        add_energy_row(table, &page->dataset->items[i], name_columns(page, ENERGY_COLUMNS_WIDTH));
    table_end(table, page->out);
    add_more_line(page, "", count);
    add_sensor_counts(page);
}

static void add_side_account(const char *name, const struct account_row *row, struct text *out)
{
    struct reading rate = account_success_rate(row);
    text_addf(out, "%s%zu of %zu succeeded", name, row->succeeded, row->succeeded + row->failed);
    if (rate.valid)
        text_addf(out, " (%.1f %%)", 100 * rate.value);
}

/* Success in all and on both sides, and who is affected. */
static void add_split_sides(const struct page *page)
{
    const struct account_split *split = &page->account->split;
    struct account_row affected = split_affected(split);
    struct reading before = account_success_rate(&split->rows[SPLIT_BEFORE]),
                   after = account_success_rate(&affected);
    AUTO_TEXT struct text line = {0};
    add_side_account("In all ", &page->account->all, &line);
    add_side_account("; before ", &split->rows[SPLIT_BEFORE], &line);
    add_side_account("; from then on ", &affected, &line);
    double points = 100 * (after.value - before.value);
    if (before.valid && after.valid)
        text_addf(&line, ", %.1f points %s", fabs(points), points < 0 ? "less" : "more");
    text_add(&line, ".");
    wrap(page, text_get(&line), 0);
    for (size_t i = 0; i < page->dataset->folder_count; i++) {
        AUTO_FREE char *ranges = audit_affected_ranges(page->dataset, page->account, i);
        bool several = page->dataset->folder_count > 1;
        AUTO_FREE char *named =
            mem_printf("Affected%s%s: %s", several ? " in " : "",
                       several ? page->dataset->folders[i].path : "", *ranges ? ranges : "none");
        wrap(page, named, 0);
    }
}

static void add_audit_split(const struct page *page)
{
    const struct account_split *split = &page->account->split;
    char at[40];
    if (!split->asked)
        return;
    if (!split->found) {
        add_audit_heading(page, "Before and after");
        text_addf(page->out, "Nothing was split: the data supports no change point (p = %.2g).\n",
                  split->p);
        return;
    }
    dataset_format_time(split->at_local_ns, at);
    at[19] = '\0';
    at[10] = ' ';
    AUTO_FREE char *title = mem_printf("Before and after %s", at);
    add_audit_heading(page, title);
    if (split->automatic)
        text_addf(
            page->out, "Found by the data: %s changed there (p = %.2g).%s\n", split->series,
            split->p,
            split->new_models
                ? " Only models that had not run before ran after it: faults of these models would "
                  "look the same."
                : "");
    add_split_sides(page);
    account_table(page, "experiments", split->rows, SPLIT_SIDES);
    account_table(page, "before, by repository", split->before.rows, split->before.count);
    account_table(page, "from then on, by repository", split->affected.rows, split->affected.count);
    if (split->unknown)
        text_addf(page->out, "%zu more ended at an unknown time.\n", split->unknown);
}

static void add_audit_failures(const struct page *page)
{
    const struct account_table *failures = &page->account->failures;
    if (failures->count == 0)
        return;
    add_audit_heading(page, "Failures by cause");
    for (size_t i = 0; i < shown_row_count(page, failures->count); i++) {
        AUTO_FREE char *line =
            mem_printf("%zu: %s", failures->rows[i].total, failures->rows[i].name);
        wrap(page, line, 2);
    }
}

static void add_audit_integrity(const struct page *page)
{
    const struct account_integrity *integrity = &page->account->integrity;
    add_audit_heading(page, "Integrity");
    bool damaged = false;
    EACH (folder, page->dataset->folders, page->dataset->folder_count)
        damaged |= folder->summary_damaged;
    AUTO_FREE char *line =
        mem_printf("%zu rows and %zu folders; %zu rows without a folder, %zu folders without a "
                   "row; %zu with a "
                   "duplicate id, %zu with a malformed one, %zu with damaged files%s.",
                   integrity->rows, integrity->folders, integrity->without_folder,
                   integrity->without_row, integrity->duplicate_ids, integrity->malformed_ids,
                   integrity->damaged_files, damaged ? ", besides summary.csv" : "");
    wrap(page, line, 2);
    EACH (problem, page->dataset->problems, page->dataset->problem_count)
        wrap(page, problem->text, 2);
}

/* A training that diverged says so: no fault of the measurement, but of no use in a mean. */
static void add_not_finite(const struct page *page)
{
    AUTO_STRV struct strv metrics = {0};
    AUTO_TEXT struct text line = {0};
    dataset_metrics(page->dataset, &metrics);
    EACH (item, metrics.items, metrics.count) {
        size_t count = dataset_not_finite(page->dataset, *item);
        if (count)
            text_addf(&line, "%s%s %zu",
                      line.length ? ", " : "Values that are not finite (NaN, infinity): ", *item,
                      count);
    }
    if (line.length)
        wrap(page, text_get(&line), 2);
}

void audit_text(const struct dataset *dataset, const struct account *account,
                const struct audit_text_options *options, struct text *out)
{
    struct page page = {dataset, account, options, out};
    add_audit_contradictions(&page);
    add_audit_folders(&page);
    add_audit_verdicts(&page);
    add_unmade_reasons(&page);
    add_consistent_counts(&page);
    add_audit_split(&page);
    add_affected_experiments(&page);
    add_evidence_meanings(&page);
    add_place_differences(&page);
    add_energy_table(&page);
    add_audit_heading(&page, "Totals by repository");
    account_table(&page, "repository", account->repositories.rows, account->repositories.count);
    add_audit_heading(&page, "Totals by model");
    account_table(&page, "model", account->models.rows, account->models.count);
    add_audit_heading(&page, account->timeline_step_s == 3600 ? "Timeline: ended in the hour from"
                                                              : "Timeline: ended on");
    account_table(&page, "from", account->timeline.rows, account->timeline.count);
    add_audit_failures(&page);
    add_audit_integrity(&page);
    add_not_finite(&page);
}
