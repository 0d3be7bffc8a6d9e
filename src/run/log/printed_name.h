/* printed_name: recognises the names of metrics in printed lines. */
#ifndef TARE_RUN_LOG_PRINTED_NAME_H
#define TARE_RUN_LOG_PRINTED_NAME_H

#include "run/log/printed_private.h"

/* Folds words: "Acc@1" is "acc1". Empty: too long. */
void printed_fold(const struct printed_line *line, size_t first, size_t end, char *out,
                  size_t size);

bool printed_is_in(const char *word, const char *const *words);
enum printed_split printed_split_find(const char *folded);
bool printed_is_filler(const char *folded);      /* "epoch", "mean": changes no meaning */
bool printed_is_other_value(const char *folded); /* "best": not the number of the last epoch */

/* is_marked: a sign separates name and number, so the name may go on: "accuracy on the 100 images".
 * split: kept if set. */
bool printed_name_read(const struct printed_line *line, size_t begin, size_t end, bool is_marked,
                       const struct printed_name *vocabulary, size_t count,
                       enum printed_split *split, size_t *base);

#endif
