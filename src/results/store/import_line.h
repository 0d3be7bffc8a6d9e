/* import_line: a line of another run's events.jsonl as an event of this run. Pure: bytes in, event out. */
#ifndef TARE_RESULTS_STORE_IMPORT_LINE_H
#define TARE_RESULTS_STORE_IMPORT_LINE_H

#include "base/digest.h"
#include "base/err.h"
#include "plan/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where one stands in the file. */
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
