#include "report/closing_verdict.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below the closing table: what the run used of its budgets, and how to go on when one is used
 * up. */

/* What is proposed has some room, as no training needs the same twice. */
static const double ROOM = 1.1;

static const struct budget_row {
    const char *name, *option;
    size_t at; /* in the record */
    bool is_time;
} rows[] = {
    {"energy", "--energy-budget", offsetof(struct budget_record, energy_j), false},
    {"time", "--time-budget", offsetof(struct budget_record, time_s), true},
};

static const struct budget_use *use_of(const struct budget_record *budget,
                                       const struct budget_row *row)
{
    return (const struct budget_use *)(const void *)((const char *)budget + row->at);
}

static char *amount_shown(const struct budget_row *row, double value)
{
    char text[32];
    if (!row->is_time)
        return size_energy_text(value);
    clock_format_duration(value, text);
    return mem_strdup(text);
}

static void add_counted(const struct budget_record *budget, struct text *out)
{
    text_add(out, "  counted: ");
    for (size_t i = 0; i < budget->counted.count; i++) {
        AUTO_FREE char *shown = utf8_line(budget->counted.items[i]);
        text_addf(out, "%s%ss", i ? " and " : "", shown);
    }
    text_addf(out, ", gross, of %lld attempt%s", (long long)budget->attempts,
              budget->attempts == 1 ? "" : "s");
    if (budget->estimated)
        text_addf(out, "; %lld by the last reading while it ran", (long long)budget->estimated);
    if (budget->unmeasured)
        text_addf(out, "; not counted, as nothing measured them: %lld",
                  (long long)budget->unmeasured);
    text_add(out, "; not counted: pauses\n");
}

void closing_add_budget(const struct results *results, struct text *out)
{
    const struct budget_record *budget = &results->budget;
    EACH_OF (row, rows) {
        const struct budget_use *use = use_of(budget, row);
        if (use->budget <= 0)
            continue;
        AUTO_FREE char *total = amount_shown(row, use->budget);
        AUTO_FREE char *used = amount_shown(row, use->used);
        text_addf(out, "%s budget: %s of %s used\n", row->name, used, total);
    }
    if (budget->energy_j.budget > 0)
        add_counted(budget, out);
    if (budget->reached) {
        AUTO_FREE char *shown = utf8_line(budget->reached);
        text_addf(out, "stopped: %s\n", shown);
    }
}

/* In two digits, and no less. */
static double rounded_up(double value)
{
    double step = value > 0 ? pow(10, floor(log10(value)) - 1) : 1;
    return ceil(value / step - 1e-9) * step;
}

void closing_budget_options(const struct results *results, size_t left, struct strv *argv)
{
    if (!results->budget.reached)
        return;
    EACH_OF (row, rows) {
        const struct budget_use *use = use_of(&results->budget, row);
        double needed = use->used + (double)left * use->mean;
        if (use->budget <= 0 || (use->mean > 0 ? needed <= use->budget : use->used < use->budget))
            continue;
        double wanted = use->mean > 0 ? needed * ROOM : 2 * use->budget;
        strv_add(argv, row->option);
        strv_add_owned(argv, row->is_time ? mem_printf("%.0fm", ceil(wanted / 60))
                                          : size_energy_text(rounded_up(wanted)));
    }
}

/* More kinds than these are not told one by one. */
enum { KINDS_SHOWN = 8 };

/* Words that are counted. */
struct tally {
    struct tally_item {
        const char *word;            /* borrowed */
        size_t count;                /* of results */
        const struct result *result; /* the first one */
        const char *text;            /* borrowed from it; may be NULL */
    } * items;
    size_t count;
};

static void kind_tally_fini(struct tally *tally)
{
    free(tally->items);
}

static void tally_add(struct tally *tally, const char *word, const struct result *result,
                      const char *text)
{
    EACH (item, tally->items, tally->count)
        if (strcmp(item->word, word) == 0) {
            item->count++;
            return;
        }
    tally->items = mem_room(tally->items, tally->count, sizeof *tally->items);
    tally->items[tally->count++] = (struct tally_item){word, 1, result, text};
}

/* The most frequent first, those alike in the order in which they came. */
static void tally_sort(struct tally *tally)
{
    for (size_t i = 1; i < tally->count; i++)
        for (size_t at = i; at > 0 && tally->items[at].count > tally->items[at - 1].count; at--) {
            struct tally_item item = tally->items[at];
            tally->items[at] = tally->items[at - 1];
            tally->items[at - 1] = item;
        }
}

static bool has_result(const struct result *result)
{
    return result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED;
}

static bool is_unclean(const struct result *result)
{
    return has_result(result) && result->verdict > VERDICT_CLEAN;
}

bool closing_any_unclean(const struct results *results)
{
    EACH (item, results->items, results->count)
        if (is_unclean(item))
            return true;
    return false;
}

bool closing_is_to_repeat(const struct result *result)
{
    return is_unclean(result) && !result->again;
}

size_t closing_count_to_repeat(const struct results *results)
{
    size_t count = 0;
    EACH (item, results->items, results->count)
        count += closing_is_to_repeat(item);
    return count;
}

void closing_add_causes(const struct results *results, struct text *out)
{
    AUTO(kind_tally_fini) struct tally tally = {0};
    EACH (item, results->items, results->count)
        if (item->outcome == OUTCOME_FAILED && item->failure)
            tally_add(&tally, item->failure, item, NULL);
    tally_sort(&tally);
    for (size_t i = 0; i < tally.count; i++) {
        AUTO_FREE char *word = utf8_line(tally.items[i].word);
        text_addf(out, "%s%zu %s", i ? ", " : "failed by: ", tally.items[i].count, word);
    }
    if (tally.count > 0)
        text_add_char(out, '\n');
}

static void add_summary_files(const size_t counts[VERDICTS], size_t safe, struct text *out)
{
    size_t affected = counts[VERDICT_SUSPECT] + counts[VERDICT_CONTAMINATED],
           unverified = counts[VERDICT_UNVERIFIED];
    text_addf(out, "  summary_safe.csv: %zu row%s", safe, safe == 1 ? "" : "s");
    if (unverified > 0)
        text_addf(out, ", %zu of them unverified", unverified);
    text_addf(out, "; summary_affected.csv: %zu\n", affected);
}

static void add_verdict_counts(const struct results *results, struct text *out)
{
    size_t counts[VERDICTS] = {0}, failed = 0, safe = 0;
    EACH (result, results->items, results->count) {
        if (!has_result(result))
            continue;
        safe += verdict_is_safe(result->verdict);
        if (result->verdict == VERDICT_NONE && result->outcome == OUTCOME_FAILED)
            failed++;
        else
            counts[result->verdict]++;
    }
    for (enum verdict verdict = VERDICT_CLEAN; verdict < VERDICTS; verdict++)
        text_addf(out, "%s%zu %s", verdict == VERDICT_CLEAN ? "verdict: " : ", ", counts[verdict],
                  verdict_name(verdict));
    if (counts[VERDICT_NONE] > 0)
        text_addf(out, ", %zu not judged", counts[VERDICT_NONE]);
    if (failed > 0)
        text_addf(out, ", %zu failed, not judged", failed);
    text_add_char(out, '\n');
    if (failed > 0 || closing_any_unclean(results))
        add_summary_files(counts, safe, out);
}

/* Counts each kind once for each experiment. */
static void count_evidence_kinds(const struct result *result, enum evidence_weight weight,
                                 struct tally *tally)
{
    for (size_t i = 0; i < result->evidence_count; i++) {
        const struct result_evidence *evidence = &result->evidence[i];
        bool told = false;
        for (size_t before = 0; before < i && !told; before++)
            told = strcmp(result->evidence[before].kind, evidence->kind) == 0;
        if (!told && evidence->weight == weight)
            tally_add(tally, evidence->kind, result, evidence->text);
    }
}

static void add_evidence_kinds(const struct results *results, enum evidence_weight weight,
                               struct text *out)
{
    AUTO(kind_tally_fini) struct tally tally = {0};
    EACH (entry, results->items, results->count)
        if (is_unclean(entry))
            count_evidence_kinds(entry, weight, &tally);
    tally_sort(&tally);
    for (size_t i = 0; i < tally.count && i < KINDS_SHOWN; i++) {
        const struct tally_item *item = &tally.items[i];
        AUTO_FREE char *word = utf8_line(item->word),
                       *seen = utf8_line(item->text ? item->text : "");
        text_addf(out, "  %s by %s (%zu): %s: %s\n", evidence_weight_name(weight), word,
                  item->count, item->result->id, seen);
    }
    if (tally.count > KINDS_SHOWN)
        text_addf(out, "  and %zu more kinds: see experiment.json in their folders\n",
                  tally.count - KINDS_SHOWN);
}

void closing_add_verdicts(const struct results *results, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < results->count && !any; i++)
        any = has_result(&results->items[i]) && results->items[i].verdict != VERDICT_NONE;
    if (!any)
        return;
    add_verdict_counts(results, out);
    add_evidence_kinds(results, EVIDENCE_CONTAMINATED, out);
    add_evidence_kinds(results, EVIDENCE_SUSPECT, out);
    add_evidence_kinds(results, EVIDENCE_INCONSISTENT, out);
    add_evidence_kinds(results, EVIDENCE_UNVERIFIED, out);
}
