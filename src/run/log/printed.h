/* printed: numbers with a name in a line ("val_loss: 0.3", "Test Acc@1 76.1"). Untrusted text;
 * constant memory. */
#ifndef TARE_RUN_LOG_PRINTED_H
#define TARE_RUN_LOG_PRINTED_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PRINTED_LINE_MAX = 65536,
    PRINTED_TOKENS_MAX = 32768,
    PRINTED_VALUES_MAX = 64,
    PRINTED_NAMES_MAX = 256,
    PRINTED_BASE_MAX = 64
};

enum printed_split { SPLIT_NONE, SPLIT_TRAIN, SPLIT_VALIDATION, SPLIT_TEST, SPLITS };

/* "val_loss": of the validation, "loss". */
struct printed_name {
    enum printed_split split;
    /* lower case, no separators, one word for synonyms */
    char base[PRINTED_BASE_MAX];
};

/* False: not a name, or too long. */
bool printed_name_parse(const char *text, size_t length, struct printed_name *out);

struct printed_value {
    enum printed_split split;
    bool is_of_line; /* named by the line: "Test: acc 0.9" */
    size_t base;
    bool readable;
    double number;
    const char *text;
    size_t length;
};

struct printed_token {
    enum printed_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_FRACTION, TOKEN_MARK, TOKEN_OTHER } kind;
    uint32_t at, length;
    bool is_joined; /* to the token before: "val_loss" */
    uint8_t blanks; /* before it; a tab counts as 2 */
};

enum printed_rank { RANK_NONE, RANK_NAMED, RANK_BARE };

/* Large: allocate it. */
struct printed_line {
    char text[PRINTED_LINE_MAX + 1]; /* without escape sequences; table lines as '|' */
    size_t length;
    bool is_cut;
    bool is_batch;              /* a bar, a batch or a step */
    enum printed_split section; /* set by an earlier line, "Test Error:" */
    /* of "epoch 3", "step 7", "[12/32]"; 0: none */
    uint64_t counter;
    enum printed_rank rank_kind;
    uint64_t rank;
    struct printed_value values[PRINTED_VALUES_MAX];
    size_t value_count;
    struct printed_token tokens[PRINTED_TOKENS_MAX];
    size_t token_count;
};

/* vocabulary: bases to find. */
void printed_line_parse(struct printed_line *out, const char *line, size_t length,
                        const struct printed_name *vocabulary, size_t count, locale_t c_locale);

/* The whole text between begin and end is the name. False: not in the vocabulary. */
bool printed_column_parse(const struct printed_line *line, size_t begin, size_t end,
                          const struct printed_name *vocabulary, size_t count,
                          struct printed_value *out);

#endif
