#include "report/closing.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>

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
    size_t count, capacity;
};

static void tally_fini(struct tally *tally)
{
    free(tally->items);
}

static void tally_add(struct tally *tally, const char *word, const struct result *result, const char *text)
{
    for (size_t i = 0; i < tally->count; i++)
        if (strcmp(tally->items[i].word, word) == 0) {
            tally->items[i].count++;
            return;
        }
    tally->items = mem_room(tally->items, tally->count, &tally->capacity, sizeof *tally->items);
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

static bool has_ended(const struct result *result)
{
    return result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED;
}

static bool is_unclean(const struct result *result)
{
    return has_ended(result) && result->verdict > VERDICT_CLEAN;
}

bool closing_any_unclean(const struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (is_unclean(&results->items[i]))
            return true;
    return false;
}

size_t closing_count_to_repeat(const struct results *results)
{
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++)
        count += is_unclean(&results->items[i]) && !results->items[i].again;
    return count;
}

void closing_add_causes(const struct results *results, struct text *out)
{
    AUTO(tally_fini) struct tally tally = {0};
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].outcome == OUTCOME_FAILED && results->items[i].failure)
            tally_add(&tally, results->items[i].failure, &results->items[i], NULL);
    tally_sort(&tally);
    for (size_t i = 0; i < tally.count; i++) {
        AUTO_FREE char *word = utf8_line(tally.items[i].word);
        text_addf(out, "%s%zu %s", i ? ", " : "failed by: ", tally.items[i].count, word);
    }
    if (tally.count > 0)
        text_add_char(out, '\n');
}

static void add_counts(const struct results *results, struct text *out)
{
    size_t counts[VERDICTS] = {0}, failed = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        if (!has_ended(result))
            continue;
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
    text_add(out, failed > 0 || closing_any_unclean(results) ? " (summary_safe.csv holds the clean ones)\n" : "\n");
}

/* Once for each experiment, however often it was seen. */
static void count_kinds(const struct result *result, enum evidence_weight weight, struct tally *tally)
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

static void add_kinds(const struct results *results, enum evidence_weight weight, struct text *out)
{
    AUTO(tally_fini) struct tally tally = {0};
    for (size_t i = 0; i < results->count; i++)
        if (is_unclean(&results->items[i]))
            count_kinds(&results->items[i], weight, &tally);
    tally_sort(&tally);
    for (size_t i = 0; i < tally.count && i < KINDS_SHOWN; i++) {
        const struct tally_item *item = &tally.items[i];
        AUTO_FREE char *word = utf8_line(item->word), *seen = utf8_line(item->text ? item->text : "");
        text_addf(out, "  %s by %s (%zu): %s: %s\n", evidence_weight_name(weight), word, item->count, item->result->id,
                  seen);
    }
    if (tally.count > KINDS_SHOWN)
        text_addf(out, "  and %zu more kinds: see experiment.json in their folders\n", tally.count - KINDS_SHOWN);
}

void closing_add_verdicts(const struct results *results, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < results->count && !any; i++)
        any = has_ended(&results->items[i]) && results->items[i].verdict != VERDICT_NONE;
    if (!any)
        return;
    add_counts(results, out);
    add_kinds(results, EVIDENCE_CONTAMINATED, out);
    add_kinds(results, EVIDENCE_SUSPECT, out);
    add_kinds(results, EVIDENCE_INCONSISTENT, out);
    add_kinds(results, EVIDENCE_UNVERIFIED, out);
}
