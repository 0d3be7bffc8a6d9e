#include "run/again.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

void again_fini(struct again *again)
{
    free(again->items);
    free(again->verdicts);
    *again = (struct again){0};
}

static void take(const struct result *result, struct again *again)
{
    bool succeeded = result->outcome == OUTCOME_SUCCEEDED, stands = succeeded || result->outcome == OUTCOME_FAILED;
    again->verdicts[result->number - 1] = result->verdict;
    again->pending += result->again;
    again->unjudged += succeeded && result->verdict == VERDICT_NONE;
    again->unverified += stands && !result->again && result->verdict == VERDICT_UNVERIFIED;
    again->suspect += stands && !result->again && result->verdict == VERDICT_SUSPECT;
    again->contaminated += stands && !result->again && result->verdict == VERDICT_CONTAMINATED;
    again->items[result->number - 1] = result->again || (stands && result->verdict > VERDICT_CLEAN);
    again->count += again->items[result->number - 1];
}

void again_of_results(const struct results *results, struct again *out)
{
    *out = (struct again){.size = results->count};
    out->items = mem_array(results->count + 1, sizeof *out->items);
    out->verdicts = mem_array(results->count + 1, sizeof *out->verdicts);
    for (size_t i = 0; i < results->count; i++)
        take(&results->items[i], out);
}

bool again_choose(struct store *store, struct again *out, struct err *err)
{
    struct results results;
    *out = (struct again){0};
    if (!results_from_store(store, &results, err))
        return false;
    again_of_results(&results, out);
    results_fini(&results);
    return true;
}

char *again_why(const struct again *again)
{
    const struct {
        size_t count;
        const char *word;
    } parts[] = {{again->unverified, verdict_name(VERDICT_UNVERIFIED)},
                 {again->suspect, verdict_name(VERDICT_SUSPECT)},
                 {again->contaminated, verdict_name(VERDICT_CONTAMINATED)},
                 {again->pending, "planned before"}};
    struct text text = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count > 0)
            text_addf(&text, "%s%zu %s", text.length ? ", " : "", parts[i].count, parts[i].word);
    return text_take(&text);
}
