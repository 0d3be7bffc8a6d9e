/* summary: summary.csv, all experiments that ended for good, in the plan's order, and summary_safe.csv, those of them that are safe to use;
 * in the study's columns, from run.db alone. A row is appended, so that it costs the same however many there are. Only what lies further
 * back than the last rows makes both files anew, and not more often than that is a hundredth of the time; and so does the first row of
 * a session, whatever an earlier one left. They are never synced before the end: run.db says it all. Private to store/. */
#ifndef TARE_STORE_SUMMARY_H
#define TARE_STORE_SUMMARY_H

#include "store/db.h"
#include "store/store.h"

#include <sys/types.h>

enum { SUMMARY_ALL, SUMMARY_SAFE, SUMMARY_FILES };

struct summary_row {
    size_t number;             /* of the experiment */
    off_t at[SUMMARY_FILES];   /* where its row begins in each file, or would */
};

enum { SUMMARY_TAIL = 64 };

struct summary {
    int dir;                 /* borrowed */
    const struct plan *plan; /* borrowed */
    bool scratch;            /* need not outlive a crash */
    struct strv params, metrics; /* the columns that depend on the plan, sorted */
    int fd[SUMMARY_FILES];   /* -1: they are made anew before a row is written */
    off_t size[SUMMARY_FILES];
    struct summary_row tail[2 * SUMMARY_TAIL]; /* the last rows, in order: at least SUMMARY_TAIL of them, or all */
    size_t tail_count, dropped; /* dropped: rows before the tail */
    size_t stale;            /* results that changed before the tail since the files were made */
    int64_t made_ns, took_ns; /* when the files were made, and how long that took */
};

void summary_init(struct summary *summary, int dir, const struct plan *plan, bool scratch);
void summary_fini(struct summary *summary);

/* Writes the rows of these experiments as run.db has them now: one that has no row gets it, one that has one gets it anew. numbers are put
 * in order. */
bool summary_put(struct summary *summary, sqlite3 *db, size_t *numbers, size_t count, struct err *err);

/* Writes what was put off, and makes the files safe on the disk. */
bool summary_finish(struct summary *summary, sqlite3 *db, struct err *err);

#endif
