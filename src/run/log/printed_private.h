/* Within printed: tokens and names of a line. */
#ifndef TARE_RUN_LOG_PRINTED_PRIVATE_H
#define TARE_RUN_LOG_PRINTED_PRIVATE_H

#include "run/log/printed.h"

enum { PRINTED_WORD_MAX = 32 };

/* Sets the text and the tokens. */
void printed_tokens_make(struct printed_line *line, const char *bytes, size_t length);

/* The character of a token that is one mark, else NUL; also for places outside of the line. */
char printed_mark(const struct printed_line *line, size_t token);

/* The words from first to before end in lower case and without what joins them: "Acc@1" is "acc1".
 * Empty: too long. */
void printed_fold(const struct printed_line *line, size_t first, size_t end, char *out,
                  size_t size);

bool printed_is_in(const char *word, const char *const *words);
enum printed_split printed_split_find(const char *folded);
bool printed_is_filler(const char *folded);      /* "epoch", "mean": changes no meaning */
bool printed_is_other_value(const char *folded); /* "best": not the number of the last epoch */

/* The words from begin to before end as the name of a number. is_marked: a sign separates name and
 * number, so the name may go on, "accuracy on the 100 images". split: kept where it is set
 * already. */
bool printed_name_read(const struct printed_line *line, size_t begin, size_t end, bool is_marked,
                       const struct printed_name *vocabulary, size_t count,
                       enum printed_split *split, size_t *base);

/* Sets is_batch and the rank. */
void printed_line_classify(struct printed_line *line);

/* "9913/10000": at most 1. */
bool printed_fraction_read(const char *text, size_t length, double *out);

#endif
