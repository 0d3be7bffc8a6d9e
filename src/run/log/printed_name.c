#include "run/log/printed_name.h"
#include "run/log/printed_tokens.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <string.h>

enum { BASE_WORDS_MAX = 4 }; /* "root mean squared error" */

/* Lower case without joins: "Acc@1" is "acc1". Empty: too long. */
static void fold(const char *text, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '@' || c == '-' || c == '_' || c == ' ')
            continue;
        if (used + 1 == size) {
            used = 0;
            break;
        }
        out[used++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    out[used] = '\0';
}

bool printed_is_in(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (**words == *word && strcmp(word, *words) == 0)
            return true;
    return false;
}

enum printed_split printed_split_find(const char *folded)
{
    static const char *const words[SPLITS][12] = {
        [SPLIT_TRAIN] = {"train", "training", "trn", NULL},
        [SPLIT_VALIDATION] = {"val", "valid", "validation", "validate", "validating", "eval",
                              "evaluation", "evaluate", "evaluating", "dev", NULL},
        [SPLIT_TEST] = {"test", "testing", "tst", NULL}};
    for (enum printed_split split = SPLIT_TRAIN; split < SPLITS; split++)
        if (printed_is_in(folded, words[split]))
            return split;
    return SPLIT_NONE;
}

static const struct {
    const char *other, *base;
} synonyms[] = {
    {"acc", "accuracy"},
    {"acc1", "accuracy"},
    {"top1", "accuracy"},
    {"prec1", "accuracy"},
    {"accuracy1", "accuracy"},
    {"top1acc", "accuracy"},
    {"top1accuracy", "accuracy"},
    {"acctop1", "accuracy"},
    {"accuracytop1", "accuracy"},
    {"accuracyscore", "accuracy"},
    {"binaryaccuracy", "accuracy"},
    {"categoricalaccuracy", "accuracy"},
    {"sparsecategoricalaccuracy", "accuracy"},
    {"multiclassaccuracy", "accuracy"},
    {"totalloss", "loss"},
    {"f1score", "f1"},
    {"entsf", "f1"}, /* spaCy */
    {"entsp", "precision"},
    {"entsr", "recall"},
    {"acc5", "top5"},
    {"prec5", "top5"},
    {"accuracy5", "top5"},
    {"top5acc", "top5"},
    {"top5accuracy", "top5"},
    {"acctop5", "top5"},
    {"accuracytop5", "top5"},
    {"ppl", "perplexity"},
    {"auroc", "auc"},
    {"rocauc", "auc"},
    {"aucroc", "auc"},
    {"binarylogloss", "logloss"},
    {"multilogloss", "logloss"},
    {"mlogloss", "logloss"},
    {"meansquarederror", "mse"},
    {"rootmeansquarederror", "rmse"},
    {"rootmeansquareerror", "rmse"},
    {"meanabsoluteerror", "mae"},
    {"r2score", "r2"},
    {"meaniou", "miou"},
    {"dicescore", "dice"},
    {"dicecoef", "dice"},
    {"dicecoefficient", "dice"},
    {"meandice", "dice"},
    {"meanaverageprecision", "map"},
    {"bboxmap", "map"},
    {"bboxmap50", "map50"},
    {"worderrorrate", "wer"},
    {"charactererrorrate", "cer"},
    {"sacrebleu", "bleu"},
    {"matthewscorrelation", "mcc"},
    {"matthewscorrcoef", "mcc"},
    {"spearmanr", "spearman"},
    {"spearmancosine", "spearman"},
    {"pearsonr", "pearson"},
    {"pearsoncosine", "pearson"},
    {"episodereward", "reward"},
    {"episoderewardmean", "reward"},
    {"meanepisodereward", "reward"},
    {"eprewmean", "reward"},
    {"rewardmean", "reward"},
    {"episodereturn", "episodicreturn"},
    {"epreturn", "episodicreturn"},
    {"episodereturnmean", "episodicreturn"},
    {"meanreturn", "episodicreturn"},
    {"averagereturn", "episodicreturn"},
    {"avgreturn", "episodicreturn"},
};

/* They do not change the meaning of a name. */
static const char *const fillers[] = {"epoch", "avg", "average", "mean", "score", "value", NULL};
static const char *const leading[] = {"epoch",   "avg",    "average", "mean",   "total",   "final",
                                      "overall", "set",    "current", "global", "running", "lm",
                                      "metrics", "metric", "logs",    "top1",   NULL};
static const char *const sentence[] = {
    "with",     "has",       "got",    "and",     "the",    "of",        "is",    "at",
    "in",       "on",        "for",    "a",       "an",     "info",      "debug", "warning",
    "root",     "main",      "done",   "step",    "iter",   "iteration", "batch", "finished",
    "complete", "completed", "result", "results", "report", "after",     "then",  NULL};
/* "accuracy of the network on the 10000 test images". */
static const char *const objects[] = {"network", "model", "net", "images", "samples", "examples",
                                      "dataset", "data",  "set", "the",    "our",     NULL};
static const char *const prepositions[] = {"of", "on", "for", "over", NULL};
/* These mark a number that is not the last epoch's. */
static const char *const other_values[] = {"best",    "lowest",   "highest", "previous", "prev",
                                           "initial", "baseline", "target",  "min",      "max",
                                           "minimum", "maximum",  "ema",     NULL};

void printed_fold(const struct printed_line *line, size_t first, size_t end, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (size_t i = first; i < end; i++) {
        char word[PRINTED_WORD_MAX];
        fold(line->text + line->tokens[i].at, line->tokens[i].length, word, sizeof word);
        if (!*word || used + strlen(word) >= size) {
            *out = '\0';
            return;
        }
        strcpy(out + used, word);
        used += strlen(word);
    }
}

static const char *plain_base(const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (*synonyms[i].other == *word && strcmp(synonyms[i].other, word) == 0)
            return synonyms[i].base;
    return word;
}

static bool find_base(const char *word, const struct printed_name *vocabulary, size_t count,
                      size_t *out)
{
    const char *base = plain_base(word);
    for (size_t i = 0; i < count && *word; i++) {
        if (*vocabulary[i].base != *base || strcmp(vocabulary[i].base, base) != 0)
            continue;
        *out = i;
        return true;
    }
    return false;
}

/* Longest base before token end. first: its start. */
static bool find_base_before(const struct printed_line *line, size_t begin, size_t end,
                             const struct printed_name *vocabulary, size_t count, size_t *first,
                             size_t *base)
{
    for (size_t words = BASE_WORDS_MAX; words > 0; words--) {
        char folded[PRINTED_BASE_MAX];
        /* "l o s s" of UTF-16 is not a name. */
        bool is_spelled = words == BASE_WORDS_MAX && end - begin >= words &&
                          line->tokens[end - words].length == 1;
        if (end - begin < words || is_spelled)
            continue;
        printed_fold(line, end - words, end, folded, sizeof folded);
        *first = end - words;
        if (find_base(folded, vocabulary, count, base))
            return true;
    }
    return false;
}

static bool set_split(const char *word, enum printed_split *split)
{
    enum printed_split found = printed_split_find(word);
    if (found && !*split)
        *split = found;
    return found != SPLIT_NONE;
}

/* Split and base in one word: "TrainLoss", "valAcc". */
static bool find_base_in_word(const char *word, const struct printed_name *vocabulary, size_t count,
                              enum printed_split *split, size_t *base)
{
    static const char *const splits[] = {"train", "val", "valid", "eval", "test", NULL};
    for (size_t i = 0; splits[i]; i++) {
        size_t length = strlen(splits[i]);
        if (strncmp(word, splits[i], length) != 0 ||
            !find_base(word + length, vocabulary, count, base))
            continue;
        if (!*split)
            *split = printed_split_find(splits[i]);
        return true;
    }
    return false;
}

/* The "0" and the "s" of "valid_0's". */
static bool is_suffix(const struct printed_line *line, size_t i, const char *word)
{
    bool is_possessive = i > 0 && strcmp(word, "s") == 0 && printed_mark(line, i - 1) == '\'';
    return is_possessive || (line->tokens[i].is_joined && word[strspn(word, "0123456789")] == '\0');
}

/* The name of a number between begin and end. */
bool printed_name_read(const struct printed_line *line, size_t begin, size_t end, bool is_marked,
                       const struct printed_name *vocabulary, size_t count,
                       enum printed_split *split, size_t *base)
{
    char word[PRINTED_WORD_MAX] = "";
    size_t first = end;
    bool needs_preposition = false;
    for (;;) {
        if (end == begin)
            return false;
        if (!needs_preposition &&
            find_base_before(line, begin, end, vocabulary, count, &first, base))
            break;
        const struct printed_token *token = &line->tokens[--end];
        printed_fold(line, end, end + 1, word, sizeof word);
        if (!needs_preposition && find_base_in_word(word, vocabulary, count, split, base)) {
            first = end;
            break;
        }
        if (is_marked && (token->kind == TOKEN_NUMBER || printed_is_in(word, objects)))
            needs_preposition = true;
        else if (printed_is_in(word, prepositions))
            needs_preposition = false;
        else if (!set_split(word, split) && !printed_is_filler(word))
            return false;
    }
    while (first > begin) {
        bool is_joined = line->tokens[first].is_joined;
        first--;
        printed_fold(line, first, first + 1, word, sizeof word);
        if (line->tokens[first].kind == TOKEN_NUMBER)
            return true;
        if (set_split(word, split) || printed_is_in(word, leading) ||
            is_suffix(line, first, word) || printed_mark(line, first) == '\'')
            continue;
        return !is_joined && printed_is_in(word, sentence);
    }
    return true;
}

bool printed_is_filler(const char *folded)
{
    return printed_is_in(folded, fillers);
}

bool printed_is_other_value(const char *folded)
{
    return printed_is_in(folded, other_values);
}

/* NULL: more than words. The caller frees. */
static struct printed_line *read_words(const char *text, size_t length)
{
    AUTO_FREE struct printed_line *line = mem_alloc(sizeof *line);
    printed_tokens_make(line, text, length);
    for (size_t i = 0; i < line->token_count; i++)
        if (line->tokens[i].kind != TOKEN_WORD)
            return NULL;
    return line->token_count > 0 && !line->is_cut ? steal_ptr(line) : NULL;
}

bool printed_name_parse(const char *text, size_t length, struct printed_name *out)
{
    AUTO_FREE struct printed_line *line = read_words(text, length);
    size_t begin = 0, end = line ? line->token_count : 0;
    *out = (struct printed_name){0};
    for (; begin + 1 < end && !out->split; begin += out->split != SPLIT_NONE) {
        char word[PRINTED_WORD_MAX];
        printed_fold(line, begin, begin + 1, word, sizeof word);
        out->split = printed_split_find(word);
        if (!out->split)
            break;
    }
    if (!line || end - begin > BASE_WORDS_MAX)
        return false;
    char folded[PRINTED_BASE_MAX];
    printed_fold(line, begin, end, folded, sizeof folded);
    strcpy(out->base, plain_base(folded));
    return *out->base != '\0';
}

bool printed_column_parse(const struct printed_line *line, size_t begin, size_t end,
                          const struct printed_name *vocabulary, size_t count,
                          struct printed_value *out)
{
    size_t first = 0;
    *out = (struct printed_value){0};
    while (first < line->token_count && line->tokens[first].at < begin)
        first++;
    size_t last = first;
    for (; last < line->token_count && line->tokens[last].at < end; last++)
        if (line->tokens[last].kind != TOKEN_WORD)
            return false;
    return printed_name_read(line, first, last, false, vocabulary, count, &out->split, &out->base);
}
