/* import: what another host recorded of an experiment becomes part of this run's journal. Only its events.jsonl is read: no SQLite
 * file is ever opened by two hosts. */
#ifndef TARE_RESULTS_STORE_IMPORT_H
#define TARE_RESULTS_STORE_IMPORT_H

#include "base/digest.h"
#include "base/err.h"
#include "plan/event.h"
#include "results/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_source {
    int dir;            /* the other run's folder, open */
    const char *name;   /* of it, for messages and evidence */
    int64_t experiment; /* which one here is its only one; 0: as it is numbered there, where there is but one too */
};

/* What of it could not be taken. */
struct import_loss {
    int64_t changed;  /* the first line whose hash is not that of the line before it; 0: none */
    size_t events;    /* that are missing, cannot be read, or fit no longer without those that are missing */
    struct err first; /* of them, or of what was changed: which line, and why */
};

/* Adds the events as sessions behind those that the store knows. The other run may still be writing: a torn last line
 * is left out. Lines that cannot be used are counted, and the rest is taken: an attempt that was recorded so is suspect
 * then (evidence of the kind records_lost). What was added is durable after store_flush. False: there is nothing that
 * can be read at all. */
bool store_import(struct store *store, const struct import_source *source, struct import_loss *loss, struct err *err);

/* A line of another run's events.jsonl as an event of this run. Pure: bytes in, event out. */

/* Where one is in the file. */
struct import_lines {
    int64_t experiment;    /* the number here of the only one there; 0: as it is numbered there */
    int64_t session_shift; /* is added to the sessions' numbers */
    int64_t seq;           /* of the line before; 0: there is none */
    struct digest last;    /* of the line before */
    int64_t chained;       /* lines that hold a hash */
    int64_t changed;       /* the first line whose hash is not that of the line before; 0: none */
};

/* Reads one line, which need not end. missing: so many events should stand before it and do not. False: it is no event
 * that can be used, and err says why; it then counts for the one that should have stood there. out: to be freed with
 * event_fini when it is true. */
bool import_line_take(struct import_lines *lines, const char *line, size_t length, struct event *out, int64_t *missing,
                      struct err *err);

#endif
