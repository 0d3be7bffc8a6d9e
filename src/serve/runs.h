/* The runs that are shown: found in folders, read once for all viewers, and let go of when nobody
 * looks at them. */
#ifndef TARE_SERVE_RUNS_H
#define TARE_SERVE_RUNS_H

#include "serve/serve_private.h"

void serve_runs_init(struct serve_runs *runs, const struct serve_options *options);
void serve_runs_fini(struct serve_runs *runs);

/* Looks for runs that came or went, at most once in two seconds, and reads some of those that
 * nobody has read yet. */
void serve_runs_look(struct serve_runs *runs);

/* Whether there are runs that nobody has read yet; reads the next one. */
bool serve_runs_read_next(struct serve_runs *runs);

/* Reads what is new for those who watch, and publishes it. */
void serve_runs_tick(struct serve_runs *runs);

/* For all viewers: that the server is there. */
void serve_runs_beat(struct serve_runs *runs);

/* By its name, open and as it is now; NULL: there is none, or (err not empty) it cannot be read. */
struct serve_run *serve_runs_get(struct serve_runs *runs, const char *name, struct err *err);

/* {"runs": [...], "left_out": n, "now_ms": ...}; a new reference. */
json_t *serve_runs_json(struct serve_runs *runs);

/* An event of the stream: all of it, or what is behind the version. */
void serve_run_event(const struct serve_run *run, uint64_t since, struct text *out);
void serve_runs_event(struct serve_runs *runs, uint64_t since, struct text *out);

#endif
