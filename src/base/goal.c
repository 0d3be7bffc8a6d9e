#include "base/goal.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_WORDS = 32, MOST_LETTERS = 64, JOINED = 3 };

const char *const goal_names[] = {"minimize", "maximize", NULL};

/* Less of any loss or error is better. */
static const char *const losses[] = {"loss", "losses", "error", "errors", "err", NULL};

static const char *const less[] = {
    "wer",   "cer",  "mer",   "ter",  "der",    "eer",        "mse",     "rmse",         "nmse",
    "nrmse", "msle", "rmsle", "mae",  "mape",   "smape",      "mpjpe",   "epe",          "nll",
    "ppl",   "bpb",  "bpc",   "bpd",  "xent",   "fid",        "kid",     "lpips",        "ece",
    "brier", "fpr",  "fnr",   "hter", "regret", "perplexity", "logloss", "crossentropy", NULL};

static const char *const more[] = {
    "accuracy",    "accuracies", "acc",    "macc",  "auc",    "auroc", "auprc",  "aupr",
    "ap",          "map",        "iou",    "miou",  "giou",   "dice",  "psnr",   "ssim",
    "msssim",      "bleu",       "chrf",   "rouge", "meteor", "cider", "recall", "precision",
    "ndcg",        "mrr",        "mcc",    "tpr",   "tnr",    "f1",    "r2",     "sensitivity",
    "specificity", "fscore",     "reward", NULL};

/* Those of them that lie between 0 and 1, or 0 and 100 %. */
static const char *const shares[] = {
    "accuracy", "accuracies",  "acc",         "macc",   "auc",  "auroc", "auprc",
    "aupr",     "ap",          "map",         "iou",    "miou", "dice",  "recall",
    "f1",       "precision",   "ndcg",        "mrr",    "tpr",  "tnr",   "fpr",
    "fnr",      "sensitivity", "specificity", "fscore", NULL};

/* A word that says it with a number behind it: top1, rank-5, hits@10. */
static const char *const more_numbered[] = {"top", "rank", "hit", "hits", NULL};

static const char *const turned[] = {"neg", "negative", "minus", "inverse", NULL};

struct word {
    char letters[MOST_LETTERS];
    bool number;
    bool begins; /* a part of the name, behind what is no letter or digit */
};

const char *goal_name(enum goal goal)
{
    return goal == GOAL_UNKNOWN ? NULL : goal_names[goal - GOAL_MINIMIZE];
}

bool goal_parse(const char *text, enum goal *out)
{
    for (int i = 0; text && goal_names[i]; i++)
        if (strcmp(text, goal_names[i]) == 0) {
            *out = GOAL_MINIMIZE + (enum goal)i;
            return true;
        }
    return false;
}

static bool listed(const char *word, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (strcasecmp(word, list[i]) == 0)
            return true;
    return false;
}

/* Letters outside ASCII belong to words. */
static bool is_word_letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The length of the word at s: "val|Loss", "m|AP|50", "ROC|Auc". */
static size_t metric_word_length(const char *s)
{
    size_t n = 0;
    if (isdigit((unsigned char)*s)) {
        while (isdigit((unsigned char)s[n]))
            n++;
        return n;
    }
    while (isupper((unsigned char)s[n]))
        n++;
    if (n > 1 && is_word_letter(s[n]))
        return n - 1; /* the last capital begins the next word */
    while (is_word_letter(s[n]) && !isupper((unsigned char)s[n]))
        n++;
    return n;
}

static size_t split_metric_words(const char *metric, struct word *words)
{
    size_t count = 0;
    bool begins = true;
    while (*metric && count < MOST_WORDS) {
        if (!is_word_letter(*metric) && !isdigit((unsigned char)*metric)) {
            begins = true;
            metric++;
            continue;
        }
        size_t length = metric_word_length(metric);
        struct word *word = &words[count++];
        *word = (struct word){.number = isdigit((unsigned char)*metric), .begins = begins};
        snprintf(word->letters, sizeof word->letters, "%.*s", (int)length, metric);
        metric += length;
        begins = false;
    }
    return count;
}

/* What words[at ..] say together: up to three of one part ("m" "AP", "m" "Io" "U"), or a word and a
 * number. */
static bool says(const struct word *words, size_t count, size_t at, const char *const *list)
{
    char joined[JOINED * MOST_LETTERS] = "";
    for (size_t n = 0; n < JOINED && at + n < count; n++) {
        const struct word *word = &words[at + n];
        if (n && word->begins && !(n == 1 && word->number))
            return false;
        strcat(joined, word->letters);
        if (listed(joined, list))
            return true;
    }
    return false;
}

enum goal goal_of_name(const char *metric)
{
    struct word words[MOST_WORDS];
    size_t count = split_metric_words(metric, words);
    bool is_loss = false, is_less = false, is_more = false;
    for (size_t i = 0; i < count; i++) {
        if (listed(words[i].letters, turned))
            return GOAL_UNKNOWN;
        is_loss |= says(words, count, i, losses);
        is_less |= says(words, count, i, less);
        is_more |= says(words, count, i, more) || (i + 1 < count && words[i + 1].number &&
                                                   listed(words[i].letters, more_numbered));
    }
    if (is_loss)
        return GOAL_MINIMIZE;
    return is_less == is_more ? GOAL_UNKNOWN : is_less ? GOAL_MINIMIZE : GOAL_MAXIMIZE;
}

bool goal_is_share(const char *metric)
{
    struct word words[MOST_WORDS];
    size_t count = split_metric_words(metric, words);
    bool is_share = false;
    for (size_t i = 0; i < count; i++) {
        if (listed(words[i].letters, turned) || says(words, count, i, losses))
            return false;
        is_share |= says(words, count, i, shares) || (i + 1 < count && words[i + 1].number &&
                                                      listed(words[i].letters, more_numbered));
    }
    return is_share;
}

enum goal goal_of(enum goal said, const char *metric)
{
    return said == GOAL_UNKNOWN ? goal_of_name(metric) : said;
}
