#include "plan/script_epochs.h"

#include "base/mem.h"
#include "plan/script_imports.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORDS_MAX = 12, STATEMENT_MAX = 600 };

/* "Epoch 3/10", "Epoch: [3][10/391]", "Epoch 3:  12%|", after nothing but a logger's prefix. */
#define LINE "(?i)(?:^|[\\]|:>*=#-] ?)(?:train(?:ing)? )?epoch[ :=#]*[\\[(]?([0-9]+)"

/* A framework prints epochs if one of its modules is imported and one of its names is used. */
static const struct framework {
    const char *name;
    const char *modules[WORDS_MAX], *names[WORDS_MAX];
    const char *start, *end;
} frameworks[] = {
    {"Lightning",
     {"lightning", "pytorch_lightning"},
     {"Trainer", "LightningCLI"},
     "^Epoch ([0-9]+)(?::|/[0-9]+ )", /* of its bar, also that of Rich */
     NULL},
    {"the HF Trainer",
     {"transformers", "trl", "sentence_transformers", "setfit"},
     {"Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "GRPOTrainer", "RewardTrainer",
      "ORPOTrainer", "SentenceTransformerTrainer"},
     NULL,
     /* of a dict; fractions are those of steps within an epoch */
     "'epoch': '?([0-9]+)(?:\\.0+)?'?[,}]"},
    {"Keras", {"keras", "tensorflow", "tf_keras"}, {"fit"}, "^Epoch ([0-9]+)/[0-9]+", NULL},
};

static bool has_module(const struct strv *imports, const char *module)
{
    size_t length = strlen(module);
    for (size_t i = 0; i < imports->count; i++)
        if (strncmp(imports->items[i], module, length) == 0 &&
            strchr(".", imports->items[i][length]))
            return true;
    return false;
}

/* ---- Texts of the script. */

enum epoch_line { LINE_NONE, LINE_START, LINE_END };

static bool is_value(const char *at)
{
    return *at == '{' ||
           (*at == '%' && (isdigit((unsigned char)at[1]) || strchr("ds", at[1])) && at[1]);
}

/* Before "epoch" in its text there is nothing but signs, or "Train". */
static bool is_first_word(const char *begin, const char *epoch)
{
    static const char *const words[] = {"train ", "training "};
    while (begin < epoch && !isalpha((unsigned char)*begin))
        begin += *begin == '\\' && begin + 1 < epoch ? 2 : 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(begin, words[i], strlen(words[i])) == 0)
            begin += strlen(words[i]);
    return begin == epoch;
}

static bool contains_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(text, *words))
            return true;
    return false;
}

/* The rest of a print: to the end of its line, and the following lines that begin with a string.
 * Fresh. */
static char *statement(const char *text, const char *code, size_t at)
{
    size_t end = at;
    for (;;) {
        end += strcspn(code + end, "\n");
        size_t next = end + strspn(code + end, " \t\n");
        next += strchr("fFrR", code[next]) && code[next] ? 1 : 0;
        if (code[next] != '"' || end - at > STATEMENT_MAX)
            break;
        end = next;
    }
    return mem_strndup(text + at, end - at < STATEMENT_MAX ? end - at : STATEMENT_MAX);
}

/* Classifies the line printed by the string at begin, which has "epoch" at at. A line with results
 * ends an epoch. */
static enum epoch_line classify_epoch_line(const char *text, const char *code, size_t begin,
                                           size_t at)
{
    static const char *const results[] = {"loss", "acc", "time", "score", "error", NULL};
    static const char *const batches[] = {"batch", "step", "iter", "][",
                                          "] [",   " [{",  "\\t[", NULL};
    size_t after = at + strlen("epoch");
    after += strspn(text + after, " :=#");
    after += text[after] && strchr("[(", text[after]) ? 1 : 0;
    bool is_argument = false;
    if (text[after] && strchr("'\"", text[after])) { /* print("Epoch", epoch) */
        size_t next = after + 1 + strspn(text + after + 1, " ");
        is_argument = text[next] == ',';
    }
    if (!is_first_word(text + begin, text + at) || !(is_argument || is_value(text + after)))
        return LINE_NONE;
    AUTO_FREE char *rest = statement(text, code, after);
    return contains_any(rest, results) && !contains_any(rest, batches) ? LINE_END : LINE_START;
}

static enum epoch_line find_line(const struct script_file *file, const char *code)
{
    enum epoch_line found = LINE_NONE;
    for (size_t at = 0; at < file->length && found != LINE_START; at++) {
        if (code[at] != '"')
            continue;
        size_t begin = at;
        at += strspn(code + at, "\"");
        const char *quote = file->text + begin;
        bool is_docstring = at - begin > 5 && quote[1] == *quote && quote[2] == *quote;
        for (size_t i = begin; !is_docstring && i + strlen("epoch") < at; i++) {
            if (strncasecmp(file->text + i, "epoch", strlen("epoch")) != 0)
                continue;
            enum epoch_line line = classify_epoch_line(file->text, code, begin, i);
            found = line ? line : found;
            break;
        }
    }
    return found;
}

void script_epochs_find(const struct script_files *files, struct script_epochs *out)
{
    enum { FRAMEWORKS = sizeof frameworks / sizeof *frameworks };
    bool has_modules[FRAMEWORKS] = {false}, has_names[FRAMEWORKS] = {false};
    enum epoch_line line = LINE_NONE;
    *out = (struct script_epochs){0};
    for (size_t f = 0; f < files->count; f++) {
        const struct script_file *file = &files->items[f];
        AUTO_STRV struct strv imports = {0};
        AUTO_FREE char *code = script_code(file->text, file->length);
        script_imports_parse(file->text, code, file->length, &imports);
        for (size_t i = 0; i < FRAMEWORKS; i++) {
            for (size_t w = 0; w < WORDS_MAX && frameworks[i].modules[w]; w++)
                has_modules[i] |= has_module(&imports, frameworks[i].modules[w]);
            for (size_t w = 0; w < WORDS_MAX && frameworks[i].names[w]; w++)
                has_names[i] |= script_code_find(code, code, frameworks[i].names[w]) != NULL;
        }
        if (line != LINE_START) {
            enum epoch_line own = find_line(file, code);
            line = own ? own : line;
        }
    }
    for (size_t i = 0; i < FRAMEWORKS; i++)
        if (has_modules[i] && has_names[i]) {
            *out =
                (struct script_epochs){frameworks[i].name, frameworks[i].start, frameworks[i].end};
            return;
        }
    if (line)
        *out = (struct script_epochs){"the script", line == LINE_START ? LINE : NULL,
                                      line == LINE_END ? LINE : NULL};
}
