/* import: rebuilds run.db from the lines of events.jsonl, and counts those that are lost. */
#ifndef TARE_RESULTS_STORE_IMPORT_H
#define TARE_RESULTS_STORE_IMPORT_H

#include "results/store/store.h"

/* Adds the events as sessions behind those that the store knows. The other run may still be
 * writing: a torn last line is left out. Lines that cannot be used are counted, and the rest is
 * taken: an attempt that was recorded so is suspect then (evidence of the kind records_lost). What
 * was added is durable after store_flush. False: there is nothing that can be read at all. */
bool store_import(struct store *store, const struct import_source *source, struct import_loss *loss,
                  struct err *err);

/* Reads one line, which need not end. missing: so many events should stand before it and do not.
 * False: it is no event that can be used, and err says why; it then counts for the one that should
 * have stood there. out: to be freed with event_fini when it is true. */
bool import_line_take(struct import_lines *lines, const char *line, size_t length,
                      struct event *out, int64_t *missing, struct err *err);

#endif
