#include "run/log/printed_class.h"
#include "run/log/printed_name.h"
#include "run/log/printed_tokens.h"

#include "run/log/number_read.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BRACKETS_MAX = 16, PHRASE_MAX = 16, TENSOR_MAX = 256, NAMED_BRACKET_MAX = 8 };

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`';
}

static size_t skip_quotes_before(const struct printed_line *line, size_t end)
{
    while (end > 0 && is_quote(printed_mark(line, end - 1)))
        end--;
    return end;
}

/* The token after the name of value i; 0: none. */
static size_t name_end(const struct printed_line *line, size_t i, enum printed_split *split,
                       bool *is_marked)
{
    char word[PRINTED_WORD_MAX] = "";
    size_t end = skip_quotes_before(line, i);
    char mark = end ? printed_mark(line, end - 1) : '\0';
    if (end && line->tokens[end - 1].kind == TOKEN_WORD)
        printed_fold(line, end - 1, end, word, sizeof word);
    bool is_tight = i > 0 && line->tokens[i].blanks == 0;
    size_t dot = i + 1 + (printed_mark(line, i + 1) == '.'); /* NumPy's "14." */
    bool has_sign =
        end > 1 && printed_mark(line, end - 2) && strchr("=:", printed_mark(line, end - 2));
    /* an array of one number, "return=[14.]" */
    if (mark == '[' && has_sign && printed_mark(line, dot) == ']')
        mark = printed_mark(line, --end - 1);
    /* "accuracy on 10000" */
    static const char *const others[] = {"on", "over", "for", "with", "from", "after", NULL};
    if (printed_is_in(word, others))
        return 0;
    bool is_arrow = mark == '>' && end > 1 && strchr("-=", printed_mark(line, end - 2)) &&
                    printed_mark(line, end - 2);
    bool is_verb = strcmp(word, "is") == 0 || strcmp(word, "was") == 0 || strcmp(word, "of") == 0;
    if (is_arrow || (mark == '=' && printed_mark(line, end - 2) == ':'))
        end -= 2;
    else if (mark == ':' || mark == '|' || mark == '=' || (mark == ',' && is_tight) || is_verb)
        end--;
    else if (is_tight || mark == ',')
        return 0;
    *is_marked = end < skip_quotes_before(line, i);
    while (*is_marked && end > 0 && printed_mark(line, end - 1) == '.')
        end--;
    if (end > 1 && printed_mark(line, end - 1) == ']' && is_quote(printed_mark(line, end - 2)))
        end--;
    end = skip_quotes_before(line, end);
    if (end > 2 && (printed_mark(line, end - 1) == ')' || printed_mark(line, end - 1) == ']')) {
        bool is_percent = printed_mark(line, end - 2) == '%';
        *word = '\0';
        if (line->tokens[end - 2].kind == TOKEN_WORD)
            printed_fold(line, end - 2, end - 1, word, sizeof word);
        if ((printed_mark(line, end - 3) != '(' && printed_mark(line, end - 3) != '[') ||
            !(is_percent || (printed_split_find(word) != SPLIT_NONE) || printed_is_filler(word)))
            return 0;
        *split = printed_split_find(word);
        end -= 3;
    }
    return end && line->tokens[end - 1].kind == TOKEN_WORD ? end : 0;
}

/* The "s" of "valid_0's auc". */
static bool is_possessive(const struct printed_line *line, size_t i)
{
    const struct printed_token *token = &line->tokens[i];
    return i > 1 && i < line->token_count && token->kind == TOKEN_WORD && token->length == 1 &&
           token->blanks == 0 && line->text[token->at] == 's' &&
           printed_mark(line, i - 1) == '\'' && line->tokens[i - 1].blanks == 0 &&
           line->tokens[i - 2].kind == TOKEN_WORD;
}

/* First token of the words before end. */
static size_t phrase_begin(const struct printed_line *line, size_t end)
{
    size_t begin = end;
    while (begin > 0 && end - begin < PHRASE_MAX) {
        const struct printed_token *token = &line->tokens[begin - 1];
        if (is_possessive(line, begin)) {
            begin--;
            continue;
        }
        bool is_counted = token->kind == TOKEN_NUMBER && begin < end && begin > 1 &&
                          line->tokens[begin - 2].kind == TOKEN_WORD &&
                          line->tokens[begin].kind == TOKEN_WORD;
        if ((token->kind != TOKEN_WORD && !is_counted) ||
            (begin < end && line->tokens[begin].blanks > 1))
            break;
        begin--;
    }
    return begin;
}

/* The value at token i and the token after it. False: none. */
static bool find_value(const struct printed_line *line, size_t i, locale_t c_locale,
                       struct printed_value *out, size_t *next)
{
    const struct printed_token *token = &line->tokens[i];
    out->text = line->text + token->at;
    out->length = token->length;
    *next = i + 1;
    if (token->kind == TOKEN_NUMBER || token->kind == TOKEN_FRACTION)
        return true;
    size_t left = line->length - token->at, end = 0;
    double scalar;
    if (token->kind == TOKEN_WORD && !token->is_joined) {
        end = out->length = number_scalar_length(out->text, left);
        if (!number_read(out->text, end, c_locale, &scalar))
            end = 0;
    }
    if (printed_mark(line, i) == '<') { /* <tf.Tensor: shape=(), dtype=float32, numpy=0.43> */
        const char *close = memchr(out->text, '>', left < TENSOR_MAX ? left : TENSOR_MAX);
        const char *number =
            close ? memmem(out->text, (size_t)(close - out->text), "numpy=", 6) : NULL;
        if (number) {
            end = (size_t)(close - out->text) + 1;
            out->text = number + 6;
            out->length = (size_t)(close - out->text);
        }
    }
    while (end && *next < line->token_count && line->tokens[*next].at < token->at + end)
        ++*next;
    return end > 0;
}

/* "12 345": one number in French, two in English. */
static bool is_maybe_grouped(const struct printed_line *line, size_t next)
{
    const struct printed_token *token = &line->tokens[next - 1], *after = &line->tokens[next];
    if (next >= line->token_count || token->kind != TOKEN_NUMBER || after->kind != TOKEN_NUMBER ||
        after->blanks != 1)
        return false;
    size_t digits = strspn(line->text + token->at, "+-0123456789");
    size_t group = strspn(line->text + after->at, "0123456789");
    return digits == token->length && digits <= 3 && group == 3;
}

/* "1.2 x 10^-3". */
static bool is_factor(const struct printed_line *line, size_t next)
{
    static const char *const times[] = {"x", "\u00d7", NULL};
    char word[PRINTED_WORD_MAX] = "";
    if (next + 1 >= line->token_count || line->tokens[next + 1].kind != TOKEN_NUMBER)
        return false;
    printed_fold(line, next, next + 1, word, sizeof word);
    return printed_mark(line, next) == '*' || printed_is_in(word, times);
}

/* "0.5 (0.6)": number and running average, in either order. */
static bool has_average(const struct printed_line *line, size_t next)
{
    return line->is_batch && printed_mark(line, next) == '(' && next + 2 < line->token_count &&
           line->tokens[next + 1].kind == TOKEN_NUMBER && printed_mark(line, next + 2) == ')';
}

/* "val_loss=0.51-val_acc=0.82.ckpt" may be of an older epoch. */
static bool is_in_file_name(const struct printed_line *line, const struct printed_value *value)
{
    const char *after = value->text + value->length, *end = line->text + line->length;
    return after + 1 < end && strchr(".-_/", *after) && isalpha((unsigned char)after[1]);
}

/* "Map:  50%|" is a bar. "Map: 1000 examples" and "precision: 16" need decimals or a percentage. */
static bool is_count(const struct printed_line *line, size_t next,
                     const struct printed_value *value, const char *base)
{
    static const char *const names[] = {"map", "precision", NULL};
    bool is_percent = printed_mark(line, next) == '%';
    if (is_percent && printed_mark(line, next + 1) == '|' && line->tokens[next + 1].blanks == 0)
        return true;
    bool is_whole = value->length > 0 && strspn(value->text, "+-0123456789") >= value->length;
    return is_whole && !is_percent && printed_is_in(base, names);
}

/* Caffe's "loss = 0.5 (* 1 = 0.5 loss)" is one term of a sum. */
static bool is_weighted_term(const struct printed_line *line, size_t next)
{
    return printed_mark(line, next) == '(' && printed_mark(line, next + 1) == '*' &&
           next + 2 < line->token_count && line->tokens[next + 2].kind == TOKEN_NUMBER &&
           printed_mark(line, next + 3) == '=';
}

static void read_printed_value(const struct printed_line *line, size_t next,
                               const struct printed_name *vocabulary, locale_t c_locale,
                               struct printed_value *value)
{
    bool is_share = strcmp(vocabulary[value->base].base, "accuracy") == 0;
    char fraction[40];
    if (memchr(value->text, '/', value->length)) {
        value->readable =
            is_share && printed_fraction_read(value->text, value->length, &value->number);
        return;
    }
    if (is_share && printed_mark(line, next) == '/' && next + 1 < line->token_count &&
        line->tokens[next + 1].kind == TOKEN_NUMBER) {
        const struct printed_token *below = &line->tokens[next + 1];
        int length = value->length > 15 || below->length > 15
                         ? 0
                         : snprintf(fraction, sizeof fraction, "%.*s/%.*s", (int)value->length,
                                    value->text, (int)below->length, line->text + below->at);
        value->readable = strspn(fraction, "0123456789/") == (size_t)length && length > 0 &&
                          printed_fraction_read(fraction, (size_t)length, &value->number);
        return;
    }
    bool is_cut = line->is_cut && value->text + value->length == line->text + line->length;
    value->readable = !is_cut && !is_maybe_grouped(line, next) && !is_factor(line, next) &&
                      !has_average(line, next) &&
                      number_read(value->text, value->length, c_locale, &value->number);
}

/* The split of a line until a bracket closes: "Val: loss 0.3", {"val": {"loss": 0.3}}. */
struct scope {
    enum printed_split split;
    bool is_other; /* the best, not the last */
};

struct scopes {
    struct scope now, before_word, outer[BRACKETS_MAX];
    size_t depth, word; /* word: after the one that set it */
};

static void open_word_scope(struct scopes *scopes, const struct printed_line *line, size_t i)
{
    char word[PRINTED_WORD_MAX];
    const struct printed_token *token = &line->tokens[i];
    bool is_alone =
        !token->is_joined && !(i + 1 < line->token_count && line->tokens[i + 1].is_joined) &&
        (token->at == 0 || token->blanks > 0 || !strchr(":.", line->text[token->at - 1]));
    printed_fold(line, i, i + 1, word, sizeof word);
    enum printed_split split = is_alone ? printed_split_find(word) : SPLIT_NONE;
    bool is_other = is_alone && printed_is_other_value(word);
    if (!split && !is_other)
        return;
    scopes->before_word = scopes->now;
    scopes->word = i + 1;
    if (split)
        scopes->now.split = split;
    scopes->now.is_other |= is_other;
}

static void follow_bracket(struct scopes *scopes, const struct printed_line *line, size_t i)
{
    char mark = printed_mark(line, i);
    bool is_named = scopes->word > 0 && scopes->word <= i && i - scopes->word < NAMED_BRACKET_MAX &&
                    mark != '[',
         has_sign = mark == '{';
    for (size_t k = scopes->word; k < i && is_named; k++) {
        is_named = is_quote(printed_mark(line, k)) || printed_mark(line, k) == ':' ||
                   printed_mark(line, k) == '=';
        has_sign |= !is_quote(printed_mark(line, k));
    }
    if (mark == '(' || mark == '{' || mark == '[') {
        if (scopes->depth < BRACKETS_MAX)
            scopes->outer[scopes->depth] = is_named && has_sign ? scopes->before_word : scopes->now;
        scopes->depth++;
    } else if ((mark == ')' || mark == '}' || mark == ']') && scopes->depth > 0) {
        scopes->depth--;
        /* "Epoch(val) [1][79/79]": a lone word in brackets describes what follows. */
        bool is_word_alone = scopes->word == i && i > 1 &&
                             strchr("([", printed_mark(line, i - 2)) && printed_mark(line, i - 2);
        if (scopes->depth < BRACKETS_MAX && !is_word_alone)
            scopes->now = scopes->outer[scopes->depth];
    } else if (mark == '|' || mark == ';') {
        scopes->now.is_other = false;
    }
}

static void add_printed_value(struct printed_line *line, const struct printed_value *value)
{
    for (size_t i = 0; i < line->value_count; i++) {
        struct printed_value *other = &line->values[i];
        if (other->split != value->split || other->base != value->base)
            continue;
        /* A repeated name must repeat its number. */
        bool is_same =
            other->number == value->number || (isnan(other->number) && isnan(value->number));
        other->readable &= value->readable && is_same;
        return;
    }
    if (line->value_count < PRINTED_VALUES_MAX)
        line->values[line->value_count++] = *value;
}

static void find_values(struct printed_line *line, const struct printed_name *vocabulary,
                        size_t count, locale_t c_locale)
{
    struct scopes scopes = {.now.split = line->section};
    for (size_t i = 0, next; i < line->token_count; i = next) {
        struct printed_value value = {0};
        next = i + 1;
        if (find_value(line, i, c_locale, &value, &next)) {
            enum printed_split split = SPLIT_NONE;
            bool is_marked;
            size_t end = name_end(line, i, &split, &is_marked);
            bool is_change = printed_mark(line, next) == '-' && printed_mark(line, next + 1) == '>';
            if (end && !is_change && !scopes.now.is_other && !is_in_file_name(line, &value) &&
                printed_name_read(line, phrase_begin(line, end), end, is_marked, vocabulary, count,
                                  &split, &value.base)) {
                value.split = split ? split : scopes.now.split;
                value.is_of_line = !split && value.split;
                bool is_term = value.split <= SPLIT_TRAIN && is_weighted_term(line, next);
                if (!is_term && !is_count(line, next, &value, vocabulary[value.base].base)) {
                    read_printed_value(line, next, vocabulary, c_locale, &value);
                    add_printed_value(line, &value);
                }
            }
        } else if (line->tokens[i].kind == TOKEN_WORD) {
            open_word_scope(&scopes, line, i);
        } else {
            follow_bracket(&scopes, line, i);
        }
    }
}

/* "Test Error:", "=== Validation ===": the subject of the following lines. */
static enum printed_split find_section(const struct printed_line *line)
{
    static const char *const begins[] = {"begin", "begins", "start", "starting", "started", NULL};
    static const char *const words[] = {"error", "result",      "results", "metric", "metrics",
                                        "set",   "phase",       "summary", "scores", "stats",
                                        "final", "performance", "on",      "the",    "epoch",
                                        "end",   NULL};
    enum printed_split split = SPLIT_NONE;
    char first = printed_mark(line, 0),
         last = line->token_count ? printed_mark(line, line->token_count - 1) : '\0';
    bool is_header = last == ':' || (first && first == last && strchr("=*-#", first));
    for (size_t i = 0; i < line->token_count; i++) {
        char word[PRINTED_WORD_MAX];
        if (line->tokens[i].kind == TOKEN_MARK)
            continue;
        printed_fold(line, i, i + 1, word, sizeof word);
        enum printed_split found = printed_split_find(word);
        bool is_begin = printed_is_in(word, begins);
        if (line->tokens[i].kind != TOKEN_WORD ||
            (!found && !is_begin && !printed_is_in(word, words)))
            return SPLIT_NONE;
        is_header |= is_begin;
        split = found ? found : split;
    }
    return is_header ? split : SPLIT_NONE;
}

void printed_line_parse(struct printed_line *out, const char *line, size_t length,
                        const struct printed_name *vocabulary, size_t count, locale_t c_locale)
{
    enum printed_split section = out->section;
    out->value_count = 0;
    printed_tokens_make(out, line, length);
    printed_line_classify(out);
    find_values(out, vocabulary, count, c_locale);
    bool trains = false, holds_out = false;
    for (size_t i = 0; i < out->value_count; i++) {
        trains |= out->values[i].split <= SPLIT_TRAIN;
        holds_out |= out->values[i].split > SPLIT_TRAIN;
    }
    out->is_batch &= !(trains && holds_out);
    bool goes_on = out->value_count > 0 || (out->token_count > 0 && out->tokens[0].blanks > 0);
    enum printed_split found = out->value_count > 0 ? SPLIT_NONE : find_section(out);
    out->section = found ? found : goes_on ? section : SPLIT_NONE;
}
