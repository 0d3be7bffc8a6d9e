/* fixture: a run in a folder of its own, a plan made by hand, and events as short to write as to
 * read. */
#ifndef TARE_TEST_STORE_FIXTURE_H
#define TARE_TEST_STORE_FIXTURE_H

#include "base/err.h"
#include "base/text.h"
#include "results/store/store.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>

/* 2025-11-15T15:54:19.379192 in UTC, which the fixture makes the local time. */
#define START_NS INT64_C(1763222059379192000)

struct run {
    char *path;
    int dir;
};

void run_make(struct run *run);   /* an empty folder */
void run_remove(struct run *run); /* with all that is in it */
void run_path(const struct run *run, const char *name, char out[512]);
bool run_has(const struct run *run, const char *name);
/* the whole file; fails the test when it cannot be read */
char *run_read(const struct run *run, const char *name);

/* 1: demo_net_001 (mutation), 2: other_default_002 (default), 3: demo_net_003_parallel. */
void plan_fill(struct plan *plan);

struct store *fixture_create(const struct run *run);
struct store *fixture_open(const struct run *run);
void fixture_close(struct store *store); /* which must succeed */

/* Adds an event of session 1 (or `session`), its data written as JSON with ' for ". */
void add(struct store *store, enum event_type type, int64_t experiment, int64_t attempt,
         const char *data);
void add_as(struct store *store, int64_t session, enum event_type type, int64_t experiment,
            int64_t attempt, int64_t monotonic_ns, const char *data, store_done_fn *done,
            void *context);

/* How an event came out: filled by outcome_done. */
struct outcome_seen {
    int calls;
    bool ok;
    struct err err;
};
void outcome_done(void *context, bool ok, const struct err *err);

/* A whole attempt of one second, from prepared to ended, with exit code 0 or 1. */
void play_attempt(struct store *store, int64_t experiment, int64_t attempt, bool succeeds);

/* The first cell of the query over run.db (opened anew) as text; the caller frees. Closed runs
 * only. */
char *ask(const struct run *run, const char *sql);
void assert_answer(const struct run *run, const char *sql, const char *expected);

/* The same values; expected is JSON with ' for ". */
void assert_json(const json_t *actual, const char *expected);

#endif
