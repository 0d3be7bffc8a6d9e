/* evidence: derives the verdicts of attempts and experiments from their evidence in run.db. */
#ifndef TARE_RESULTS_STORE_EVIDENCE_H
#define TARE_RESULTS_STORE_EVIDENCE_H

#include "results/store/tables.h"

/* What was seen that speaks against figures, in its table, and the verdicts that are made of it, in
 * the same transaction: they are never set by hand. */

/* What EVENT_EVIDENCE says of what names nothing but its text; NULL: it is no UTF-8. */
json_t *evidence_json(const char *kind, const char *text);

/* In a transaction: EVENT_EVIDENCE as event seq, and the verdicts that it changes. */
bool evidence_write(sqlite3 *db, int64_t seq, const struct event *event, struct err *err);

/* In a transaction: files of an experiment that were written before do not hold what came now. They
 * are written anew when the store is closed. */
bool evidence_outdate_files(sqlite3 *db, int64_t experiment, struct err *err);

/* In a transaction: the verdict of an attempt that has ended; and of an experiment, whose result
 * stands. */
bool evidence_judge_attempt(sqlite3 *db, int64_t experiment, int64_t attempt, struct err *err);
bool evidence_judge_experiment(sqlite3 *db, int64_t experiment, struct err *err);

/* The verdict of the columns verdict and outcome. */
enum verdict evidence_verdict(const char *verdict, const char *outcome);

/* The checks as an event or run.db holds them; the texts are fresh. Unknown ones are left out.
 * Returns how many. */
size_t evidence_take_checks(const json_t *list, struct check_result out[CHECKS]);

/* All of an experiment, in the order in which it was seen: [{attempt, kind, weight, text, from_s,
 * to_s, device}]. */
bool evidence_add(sqlite3 *db, int64_t experiment, json_t *out, struct err *err);

#endif
