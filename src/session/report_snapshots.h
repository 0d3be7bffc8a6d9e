/* report_snapshots: the analyses of the memory snapshots that a run kept, beside them. */
#ifndef TARE_SESSION_REPORT_SNAPSHOTS_H
#define TARE_SESSION_REPORT_SNAPSHOTS_H

#include <jansson.h>

/* Writes memory_snapshot.html beside each snapshot that run (as results_read_json gives it) names. A snapshot is what
 * a training wrote, and may be anything: each is read by a process of its own, with limits on time, memory and what it
 * writes. No link is followed. What cannot be analysed is said. */
void report_snapshots_write(const json_t *run, const char *run_dir);

#endif
