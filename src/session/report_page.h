/* report_page: report.html of a run. */
#ifndef TARE_SESSION_REPORT_PAGE_H
#define TARE_SESSION_REPORT_PAGE_H

#include "base/err.h"
#include "base/reading.h"
#include "results/judge/judge.h"
#include "results/store/store.h"

#include <jansson.h>
#include <stdbool.h>

struct report_options {
    /* the run's folder, open: its path may lead elsewhere by now; NULL: what run_dir leads to */
    const int *dir;
    const char *file; /* NULL: report.html in the run's folder */
    /* the folder is no run's: a report.html there is replaced only when we wrote it */
    bool foreign;
    bool force;           /* then, too */
    const char *language; /* "en" or "zh" */
    enum run_life life;
    struct anonymous *anonymous;   /* as in struct page_options */
    enum audit_rows rows;          /* that figures are made of */
    bool fills_summary;            /* the run has ended: summary_safe_fill */
    const struct dataset *dataset; /* of the folder, judged; NULL: the folder is read */
};

/* Writes the page of the run in run_dir, atomically. run: as results_read_json or page_study_json
 * gives it. The run's other files stay as they are. */
bool report_page_write(const json_t *run, const char *run_dir, const struct report_options *how,
                       struct err *err);

/* machine.json in the run's folder, open; a new reference. NULL: there is none that can be read;
 * the page then lacks a line. */
json_t *report_machine_read(int dir);

/* What LC_ALL, LC_MESSAGES or LANG ask for, as far as there is a page in it: "zh" or "en". */
const char *report_page_language(void);

/* The analyses of the memory snapshots that a run kept, beside them. */

/* Writes memory_snapshot.html beside each snapshot that run (as results_read_json gives it) names.
 * A snapshot is what a training wrote, and may be anything: each is read by a process of its own,
 * with limits on time, memory and what it writes. No link is followed. What cannot be analysed is
 * said. */
void report_snapshots_write(const json_t *run, const char *run_dir);

#endif
