#include "run/log/printed_class.h"
#include "run/log/bar.h"
#include "run/log/printed_name.h"
#include "run/log/printed_tokens.h"

#include "base/ascii.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_TOKENS = 24, RANK_DIGITS = 5 };

bool printed_fraction_read(const char *text, size_t length, double *out)
{
    const char *slash = memchr(text, '/', length);
    if (!slash || slash - text > 15 || text + length - slash > 16)
        return false;
    double above = strtod(text, NULL), below = strtod(slash + 1, NULL);
    *out = above / below;
    return below > 0 && above <= below;
}

static void find_batch(struct printed_line *line)
{
    static const char *const batch[] = {"batch", "iter", "iteration", "it", "step",
                                        "steps", "eta",  "minibatch", NULL};
    static const char *const epochs[] = {"epoch", "epochs", "ep", NULL};
    struct bar bar;
    line->is_batch = bar_parse(line->text, line->length, &bar);
    for (size_t i = 0; i < line->token_count && !line->is_batch; i++) {
        const struct printed_token *token = &line->tokens[i];
        char word[PRINTED_WORD_MAX] = "";
        if (token->kind == TOKEN_WORD && !token->is_joined) {
            printed_fold(line, i, i + 1, word, sizeof word);
            line->is_batch = printed_is_in(word, batch) &&
                             !(i + 1 < line->token_count && line->tokens[i + 1].is_joined);
        } else if (token->kind == TOKEN_FRACTION) {
            /* "Epoch [3/10]" and a full bar describe an epoch. */
            bool is_bracketed =
                printed_mark(line, i - 1) == '[' || printed_mark(line, i - 1) == '(';
            size_t before = i - is_bracketed;
            double share;
            while (before > 0 && printed_mark(line, before - 1) == ':')
                before--;
            if (before > 0 && line->tokens[before - 1].kind == TOKEN_WORD)
                printed_fold(line, before - 1, before, word, sizeof word);
            if (printed_fraction_read(line->text + token->at, token->length, &share))
                line->is_batch =
                    is_bracketed ? before > 0 && !printed_is_in(word, epochs) : i == 0 && share < 1;
        }
    }
}

/* "rank1", "rank 1", "local_rank=1" at token i. sign: between word and number. */
static bool read_rank(const struct printed_line *line, size_t i, size_t *end, char *sign,
                      uint64_t *rank)
{
    static const char *const words[] = {"rank",   "localrank", "globalrank", "default", "gpu",
                                        "worker", "process",   "proc",       NULL};
    char word[PRINTED_WORD_MAX];
    *sign = '\0';
    for (*end = i + 1; *end < line->token_count && line->tokens[*end].kind == TOKEN_WORD &&
                       line->tokens[*end].is_joined;)
        ++*end;
    printed_fold(line, i, *end, word, sizeof word);
    size_t letters = strcspn(word, "0123456789"), digits = strspn(word + letters, "0123456789");
    const char *number = word + letters;
    if (digits == 0) {
        for (; printed_mark(line, *end) && strchr(":=#'\"", printed_mark(line, *end)); ++*end)
            *sign = strchr(":=", printed_mark(line, *end)) ? printed_mark(line, *end) : *sign;
        if (*end >= line->token_count || line->tokens[*end].kind != TOKEN_NUMBER)
            return false;
        number = line->text + line->tokens[*end].at;
        digits = strspn(number, "0123456789");
        if (digits != line->tokens[(*end)++].length)
            return false;
    } else if (number[digits] ||
               memchr(line->text + line->tokens[i].at, '@', line->tokens[i].length)) {
        return false;
    }
    *rank = strtoul(number, NULL, 10);
    word[letters] = '\0';
    return digits <= RANK_DIGITS && printed_is_in(word, words);
}

/* "[rank1]", "(rank 1)", "rank 1: loss", {"rank": 1}; not "rank1: 0.9", a metric. */
static bool find_named_rank(const struct printed_line *line, uint64_t *rank)
{
    for (size_t i = 0; i < line->token_count && i < RANK_TOKENS; i++) {
        size_t end;
        char sign, before = printed_mark(line, i - 1);
        if (line->tokens[i].kind != TOKEN_WORD || line->tokens[i].is_joined ||
            !read_rank(line, i, &end, &sign, rank))
            continue;
        char after = printed_mark(line, end);
        bool is_bracketed = (before == '[' || before == '(') && (after == ']' || after == ')');
        bool is_first = i == 0 && (after == ':' || after == '|') && end + 1 < line->token_count &&
                        line->tokens[end + 1].kind != TOKEN_NUMBER;
        bool is_key = sign == '=' || (sign == ':' && before == '"');
        if (is_bracketed || is_first || is_key)
            return true;
    }
    return false;
}

/* Open MPI, Horovod: "[1,3]<stdout>:", "[3]<stdout>:". Bare "1: " and "[1] " may count epochs. */
static void find_rank(struct printed_line *line)
{
    const char *text = line->text + strspn(line->text, " ");
    unsigned long job, rank = 0;
    int used = 0;
    line->rank_kind = RANK_NONE;
    if ((*text == '[' && sscanf(text, "[%5lu,%5lu]<std%n", &job, &rank, &used) == 2 && used) ||
        (*text == '[' && sscanf(text, "[%5lu]<std%n", &rank, &used) == 1 && used)) {
        line->rank_kind = RANK_NAMED;
        line->rank = rank;
    } else if (find_named_rank(line, &line->rank)) {
        line->rank_kind = RANK_NAMED;
    } else if (ascii_is_digit(text[*text == '[']) &&
               ((sscanf(text, "%5lu:%n", &rank, &used) == 1 && used && text[used] == ' ') ||
                (sscanf(text, "[%5lu]%n", &rank, &used) == 1 && used && strchr(" :", text[used]) &&
                 text[used]))) {
        line->rank_kind = RANK_BARE;
        line->rank = rank;
    }
}

/* FNV-1a. */
static uint64_t hash_token(uint64_t hash, const struct printed_line *line, size_t i)
{
    for (size_t k = 0; k < line->tokens[i].length; k++)
        hash = (hash ^ (unsigned char)line->text[line->tokens[i].at + k]) * 0x100000001b3;
    return hash;
}

static void find_counter(struct printed_line *line)
{
    static const char *const words[] = {"epoch", "step",  "iter", "iteration",
                                        "round", "batch", NULL};
    const uint64_t none = 0xcbf29ce484222325;
    uint64_t hash = none;
    for (size_t i = 0; i < line->token_count; i++) {
        char word[PRINTED_WORD_MAX];
        size_t next = i + 1;
        printed_fold(line, i, i + 1, word, sizeof word);
        while (printed_mark(line, next) && strchr("[:=#", printed_mark(line, next)))
            next++;
        if (line->tokens[i].kind == TOKEN_FRACTION)
            hash = hash_token(hash, line, i);
        else if (printed_is_in(word, words) && next < line->token_count &&
                 line->tokens[next].kind == TOKEN_NUMBER)
            hash = hash_token(hash_token(hash, line, i), line, next);
    }
    line->counter = hash == none ? 0 : hash;
}

void printed_line_classify(struct printed_line *line)
{
    find_batch(line);
    find_rank(line);
    find_counter(line);
}
