/* anonymous: pseudonyms for who and what is named in results that are given away: users, other
 * processes, hosts, homes and the ids of devices. The same name has the same pseudonym in all that
 * is written of the same folders. docs/reference/judging.md says what is replaced. */
#ifndef TARE_RESULTS_JUDGE_ANONYMOUS_H
#define TARE_RESULTS_JUDGE_ANONYMOUS_H

#include "base/text.h"
#include "results/judge/dataset.h"

#include <jansson.h>

struct anonymous;

/* Learns the names of the dataset's folders, machine.json included, in their order, and those of
 * the caller. The caller frees it. */
struct anonymous *anonymous_new(const struct dataset *dataset);
void anonymous_free(struct anonymous *anonymous); /* NULL: nothing */

/* Adds the text with pseudonyms: names that are known by now, and those that the text itself shows
 * to be one ("pid 12 of user ada", "/home/ada"). */
void anonymous_text(struct anonymous *anonymous, const char *text, struct text *out);

/* Replaces the values in place, by their keys and as texts; keys stay, and so does the vocabulary
 * of this program and of its user: ids, models, hyperparameters, verdicts. */
void anonymous_json(struct anonymous *anonymous, json_t *json);

/* The same of a table with a header; what cannot be read as CSV is left out. */
void anonymous_csv(struct anonymous *anonymous, struct text *csv);

#endif
