/* chain: events.jsonl as a chain and as a file: each line of events.jsonl has in "before" the SHA-256 of the line before it, with its newline; the first line has that of what
 * the run began with. A copy of the lines in a file without a name stays with the runner: what is on the disk is compared with it, and made
 * anew from it. Private to store/. */
#ifndef TARE_RESULTS_STORE_CHAIN_H
#define TARE_RESULTS_STORE_CHAIN_H

#include "base/digest.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/event.h"
#include "plan/plan.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* What the lines themselves say that the files hold. */
struct chain_files {
    struct digest *experiments; /* experiment.json, by number - 1 */
    bool *known;                /* which of them */
    size_t count;
    bool closed; /* the last line is a RECORDS_CLOSED: with */
    bool has_summary[2];
    struct digest db, summary[2];
};

struct chain {
    struct digest first, last;
    int64_t lines;
    int64_t unchained;   /* the first so many lines have no hash: an older version wrote them */
    int64_t broken;      /* the first line whose hash is wrong or missing; 0: none */
    bool other_versions; /* not all sessions are of this version: tables made anew could differ */
    struct chain_files files;
    int copy;     /* -1: none is kept */
    off_t length; /* of the copy */
};

/* count: experiments of the plan. */
void chain_init(struct chain *chain, size_t count);
void chain_fini(struct chain *chain);

/* Makes the copy's file, below an open folder if possible. */
bool chain_keep(struct chain *chain, int dir, struct err *err);

/* One line, with its newline, that was read: checks it, learns what it says of files. json: the same. False: the copy
 * cannot be written. */
bool chain_take(struct chain *chain, const char *line, size_t length, const json_t *json, struct err *err);

/* Lines that the caller has made by jsonl_add_line and written: their last one's hash and their number. */
bool chain_append(struct chain *chain, const struct text *lines, const struct digest *last, int64_t count,
                  struct err *err);

/* Every line of the copy, checked again. False: each said so, or the copy is not what was written. */
typedef bool chain_each_fn(void *context, int64_t seq, const struct event *event, struct err *err);
bool chain_each(const struct chain *chain, chain_each_fn *each, void *context, struct err *err);

/* What the first line's hash is of: the lines "HASH  settings.json", "HASH  registry.json", "HASH  plan". */
bool chain_begin(struct chain *chain, sqlite3 *db, int dir, struct err *err);

/* All tables but what is only about files, the events up to a number. */
bool tables_digest(sqlite3 *db, int64_t last_seq, struct digest *out, struct err *err);

/* Adds to out the tables in which the two differ: "table attempts (experiment 3)". */
bool tables_compare(sqlite3 *a, sqlite3 *b, struct text *out, struct err *err);

/* Events.jsonl, the journal as lines that a person or the live view can follow. run.db is the truth: a line
 * is appended after its commit, and what differs is repaired from run.db on opening. Private to store/. */

/* Opens (or makes) the file, which may be no link. -1 on error. */
int jsonl_open(int dir, const char *dir_path, struct err *err);

/* Opens that of any run, to read it: NULL where it is no regular file, or too long. A journal has some kilobytes an attempt. */
#define JSONL_BYTES_MAX ((off_t)1 << 30)
FILE *jsonl_read(int dir, struct err *err);

/* Cuts what is torn, damaged or was never committed, and appends what is missing. The chain takes all lines. */
bool jsonl_repair(int fd, sqlite3 *db, struct chain *chain, struct err *err);

/* One line: the event with its "seq" in front, and last the hash of the line before, of which it makes its own. */
void jsonl_add_line(struct text *out, int64_t seq, const struct event *event, struct digest *last);

/* Appends whole lines; when that fails the file is cut back, so that no half line stays. */
bool jsonl_append(int fd, const struct text *lines, struct err *err);

#endif
