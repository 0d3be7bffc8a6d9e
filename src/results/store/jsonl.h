/* jsonl: events.jsonl, and the runner's own copy of its lines. */
#ifndef TARE_RESULTS_STORE_JSONL_H
#define TARE_RESULTS_STORE_JSONL_H

#include "results/store/worker.h"

/* count: experiments of the plan. */
void event_lines_init(struct event_lines *lines, size_t count);
void event_lines_fini(struct event_lines *lines);

/* Makes the copy's file, in an open folder if possible. */
bool event_lines_keep(struct event_lines *lines, int dir, struct err *err);

/* Adds count lines to the copy. */
bool event_lines_append(struct event_lines *lines, const char *bytes, size_t length, int64_t count,
                        struct err *err);

/* Calls each for every line of the copy. False: each failed, or the copy was changed. */
bool event_lines_each(const struct event_lines *lines, journal_each_fn *each, void *context,
                      struct err *err);

/* Events.jsonl, the journal as lines that a person or the live view can follow. run.db is the
 * truth: a line is appended after its commit, and what differs is repaired from run.db on
 * opening. */

/* Opens (or makes) the file, which may be no link. -1 on error. */
int jsonl_open(int dir, const char *dir_path, struct err *err);

FILE *jsonl_read(int dir, struct err *err);

/* Cuts what is torn, damaged or was never committed, and appends what is missing. lines: gets
 * all. */
bool jsonl_repair(int fd, sqlite3 *db, struct event_lines *lines, struct err *err);

/* One line: the event with its "seq" in front. */
void jsonl_add_line(struct text *out, int64_t seq, const struct event *event);

/* Appends whole lines; when that fails the file is cut back, so that no half line stays. */
bool jsonl_append(int fd, const struct text *lines, struct err *err);

#endif
