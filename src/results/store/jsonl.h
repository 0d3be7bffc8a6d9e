/* jsonl: events.jsonl, the journal as lines that a person or the live view can follow. run.db is the truth: a line
 * is appended after its commit, and what differs is repaired from run.db on opening. Private to store/. */
#ifndef TARE_RESULTS_STORE_JSONL_H
#define TARE_RESULTS_STORE_JSONL_H

#include "base/err.h"
#include "base/text.h"
#include "plan/event.h"
#include "results/store/chain.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Opens (or makes) the file, which may be no link. -1 on error. */
int jsonl_open(int dir, const char *dir_path, struct err *err);

/* Cuts what is torn, damaged or was never committed, and appends what is missing. The chain takes all lines. */
bool jsonl_repair(int fd, sqlite3 *db, struct chain *chain, struct err *err);

/* One line: the event with its "seq" in front, and last the hash of the line before, of which it makes its own. */
void jsonl_add_line(struct text *out, int64_t seq, const struct event *event, struct digest *last);

/* Appends whole lines; when that fails the file is cut back, so that no half line stays. */
bool jsonl_append(int fd, const struct text *lines, struct err *err);

#endif
