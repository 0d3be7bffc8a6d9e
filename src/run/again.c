#include "run/again.h"

#include "base/mem.h"
#include "run/environment/other_code.h"

#include <string.h>

void again_fini(struct again *again)
{
    free(again->items);
    free(again->verdicts);
    *again = (struct again){0};
}

struct question {
    bool asked[AGAIN_REASONS]; /* but not NAMED */
    struct strv ids;
    const struct other_code *other; /* becomes evidence when the session begins; NULL: none */
};

static const char *const words[AGAIN_REASONS] = {
    [AGAIN_UNVERIFIED] = "unverified",
    [AGAIN_SUSPECT] = "suspect",
    [AGAIN_CONTAMINATED] = "contaminated",
    [AGAIN_FAILED] = "failed",
    [AGAIN_NAMED] = "named",
    [AGAIN_PENDING] = "planned before",
};

/* Includes the evidence with which this session begins. */
static enum verdict judge_with_evidence(const struct result *result,
                                        const struct question *question)
{
    bool other =
        question->other && question->other->size && question->other->items[result->number - 1].text;
    enum verdict with = other ? verdict_with(result->verdict, OTHER_CODE_KIND) : result->verdict;
    return other ? verdict_of_end(with, result->outcome == OUTCOME_SUCCEEDED) : with;
}

static enum again_reason find_again_reason(const struct result *result,
                                           const struct question *question)
{
    static const enum again_reason of_verdict[VERDICTS] = {
        [VERDICT_NONE] = AGAIN_REASONS,
        [VERDICT_CLEAN] = AGAIN_REASONS,
        [VERDICT_UNVERIFIED] = AGAIN_UNVERIFIED,
        [VERDICT_SUSPECT] = AGAIN_SUSPECT,
        [VERDICT_CONTAMINATED] = AGAIN_CONTAMINATED,
    };
    bool failed = result->outcome == OUTCOME_FAILED,
         ended = failed || result->outcome == OUTCOME_SUCCEEDED;
    enum verdict verdict = judge_with_evidence(result, question);
    enum again_reason by_verdict = ended ? of_verdict[verdict] : AGAIN_REASONS,
                      reason = AGAIN_REASONS;
    if (by_verdict < AGAIN_REASONS && question->asked[by_verdict])
        reason = by_verdict;
    else if (failed && question->asked[AGAIN_FAILED])
        reason = AGAIN_FAILED;
    else if (strv_has(&question->ids, result->id))
        reason = AGAIN_NAMED;
    return result->again && (reason < AGAIN_REASONS || question->asked[AGAIN_PENDING])
               ? AGAIN_PENDING
               : reason;
}

static void choose_experiments_again(const struct results *results, const struct question *question,
                                     struct again *out)
{
    *out = (struct again){.size = results->count};
    out->items = mem_array(results->count + 1, sizeof *out->items);
    out->verdicts = mem_array(results->count + 1, sizeof *out->verdicts);
    EACH (result, results->items, results->count) {
        enum again_reason reason = find_again_reason(result, question);
        out->verdicts[result->number - 1] = judge_with_evidence(result, question);
        out->unjudged += result->outcome == OUTCOME_SUCCEEDED && result->verdict == VERDICT_NONE;
        if (reason == AGAIN_REASONS)
            continue;
        out->items[result->number - 1] = true;
        out->reasons[reason]++;
        out->count++;
    }
}

static void choose_not_clean(const struct results *results, const struct other_code *other,
                             struct again *out)
{
    const struct question not_clean = {.asked = {[AGAIN_UNVERIFIED] = true,
                                                 [AGAIN_SUSPECT] = true,
                                                 [AGAIN_CONTAMINATED] = true,
                                                 [AGAIN_PENDING] = true},
                                       .other = other};
    choose_experiments_again(results, &not_clean, out);
}

void again_choose_unclean(const struct results *results, struct again *out)
{
    choose_not_clean(results, NULL, out);
}

static bool report_unknown_word(const struct results *results, const char *word, struct err *err)
{
    AUTO_STRV struct strv names = {0};
    for (size_t i = 0; i <= AGAIN_FAILED; i++)
        strv_add(&names, words[i]);
    EACH (item, results->items, results->count)
        strv_add(&names, item->id);
    AUTO_FREE char *nearest = problem_nearest(word, (const char *const *)names.items, names.count);
    return err_set(err,
                   "'%s' is neither failed, unverified, suspect, contaminated nor the id of an "
                   "experiment of this run%s",
                   word, nearest);
}

static bool parse_again_word(const struct results *results, const char *word,
                             struct question *question, struct err *err)
{
    for (size_t i = 0; i <= AGAIN_FAILED; i++)
        if (strcmp(word, words[i]) == 0)
            return question->asked[i] = true;
    EACH (item, results->items, results->count)
        if (strcmp(word, item->id) == 0) {
            strv_add_once(&question->ids, word);
            return true;
        }
    return report_unknown_word(results, word, err);
}

static bool choose_named(const struct results *results, const char *which,
                         const struct other_code *other, struct again *out, struct err *err)
{
    struct question question = {.other = other};
    bool ok = true;
    const char *at = which, *end;
    do {
        end = strchrnul(at, ',');
        AUTO_FREE char *word = mem_strndup(at, (size_t)(end - at));
        ok = parse_again_word(results, word, &question, err);
        at = end + 1;
    } while (ok && *end);
    if (ok)
        choose_experiments_again(results, &question, out);
    strv_fini(&question.ids);
    return ok;
}

bool again_choose(const struct results *results, const char *which, const struct other_code *other,
                  struct again *out, struct err *err)
{
    *out = (struct again){0};
    if (which)
        return choose_named(results, which, other, out, err);
    choose_not_clean(results, other, out);
    return true;
}

char *again_reasons_text(const struct again *again)
{
    struct text text = {0};
    for (size_t i = 0; i < AGAIN_REASONS; i++)
        if (again->reasons[i] > 0)
            text_addf(&text, "%s%zu %s", text.length ? ", " : "", again->reasons[i], words[i]);
    return text_take(&text);
}
