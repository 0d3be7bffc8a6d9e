/* printed: the numbers that a line of a log gives under a name ("val_loss: 0.3", "Test
 * Acc@1 76.1"). Untrusted text; constant memory. */
#ifndef TARE_RUN_LOG_PRINTED_H
#define TARE_RUN_LOG_PRINTED_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PRINTED_LINE_MAX = 65536, /* bytes of a line that are read */
    PRINTED_TOKENS_MAX = 32768,
    PRINTED_VALUES_MAX = 64,
    PRINTED_NAMES_MAX = 256,
    PRINTED_BASE_MAX = 64
};

/* The part of the data that a number is about. */
enum printed_split { SPLIT_NONE, SPLIT_TRAIN, SPLIT_VALIDATION, SPLIT_TEST, SPLITS };

/* "val_loss": of the validation, "loss". */
struct printed_name {
    enum printed_split split;
    /* lower case, without separators, "accuracy" for all its synonyms */
    char base[PRINTED_BASE_MAX];
};

/* False: no name, or one that is too long. */
bool printed_name_parse(const char *text, size_t length, struct printed_name *out);

struct printed_value {
    enum printed_split split;
    bool is_of_line; /* the split is said of the line, not in the name: "Test: acc 0.9" */
    size_t base;     /* place in the vocabulary */
    bool readable;
    double number;
    const char *text; /* within the line's text */
    size_t length;
};

struct printed_token {
    enum printed_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_FRACTION, TOKEN_MARK, TOKEN_OTHER } kind;
    uint32_t at, length;
    bool is_joined; /* to the token before it, as in "val_loss" */
    uint8_t blanks; /* before it; a tab counts 2 */
};

enum printed_rank { RANK_NONE, RANK_NAMED, RANK_BARE };

/* One line, taken apart. Large: allocate it. */
struct printed_line {
    char text[PRINTED_LINE_MAX + 1]; /* without escape sequences, lines of tables as '|' */
    size_t length;
    bool is_cut;                /* the line goes on */
    bool is_batch;              /* a progress bar, or a line about one batch or step */
    enum printed_split section; /* said by a line before, "Test Error:"; kept from line to line */
    /* of "epoch 3", "step 7", "[12/32]": equal where these are; 0: none */
    uint64_t counter;
    enum printed_rank rank_kind;
    uint64_t rank; /* "[rank1]: ": of several processes */
    struct printed_value values[PRINTED_VALUES_MAX];
    size_t value_count;
    struct printed_token tokens[PRINTED_TOKENS_MAX];
    size_t token_count;
};

/* vocabulary: the bases that are searched. */
void printed_line_parse(struct printed_line *out, const char *line, size_t length,
                        const struct printed_name *vocabulary, size_t count, locale_t c_locale);

/* Reads the name of a column, which is all of the text from begin to before end. False: it is not
 * in the vocabulary. */
bool printed_column_parse(const struct printed_line *line, size_t begin, size_t end,
                          const struct printed_name *vocabulary, size_t count,
                          struct printed_value *out);

#endif
