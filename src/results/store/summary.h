/* summary: summary.csv, all experiments that ended for good, and summary_safe.csv, those of them that are safe to use; in the study's
 * columns, from run.db alone. A row is appended, so that it costs the same however many there are. A row that changes, or belongs before
 * others, has both files made anew, when that takes less than a hundredth of the time since they were last, at the latest in
 * summary_finish; and so has the first row of a session, whatever an earlier one left. Rows are not synced before the end: run.db says
 * it all. Private to store/. */
#ifndef TARE_RESULTS_STORE_SUMMARY_H
#define TARE_RESULTS_STORE_SUMMARY_H

#include "base/digest.h"
#include "results/store/db.h"
#include "results/store/store.h"

#include <sys/types.h>

enum { SUMMARY_ALL, SUMMARY_SAFE, SUMMARY_FILES };

struct summary {
    int dir;                     /* borrowed */
    const struct plan *plan;     /* borrowed */
    bool scratch;                /* need not outlive a crash */
    struct strv params, metrics; /* the columns that depend on the plan, sorted */
    struct strv best;            /* of the metrics those that have a best number */
    int fd[SUMMARY_FILES];       /* -1: they are made anew before a row is written */
    off_t size[SUMMARY_FILES];
    bool *has;                     /* for each experiment: its row is there */
    size_t last;                   /* the highest number of a row; 0: none */
    bool stale;                    /* a row is not what run.db says, or not in its place */
    int64_t made_ns, took_ns;      /* when the files were made, and how long that took */
    SHA2_CTX state[SUMMARY_FILES]; /* of what was written, while fd is open */
    bool replaced;                 /* a file was not the one that was written, and was made anew */
};

void summary_init(struct summary *summary, int dir, const struct plan *plan, bool scratch);
void summary_fini(struct summary *summary);

/* Of these experiments something may have changed: one that has no row gets it, if it ended; one that has one gets it anew, if not now
 * then later. */
bool summary_put(struct summary *summary, sqlite3 *db, const size_t *numbers, size_t count, struct err *err);

/* Writes what is left for later, and makes the files safe on the disk. */
bool summary_finish(struct summary *summary, sqlite3 *db, struct err *err);

const char *summary_name(size_t file);

/* Of what was written this session; false: nothing was. */
bool summary_digest(const struct summary *summary, size_t file, struct digest *out);

/* Both files anew, now. */
bool summary_remake(struct summary *summary, sqlite3 *db, struct err *err);

#endif
