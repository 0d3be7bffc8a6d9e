/* mark_fifo: the FIFO through which a job sends its marks, checked line by line. */
#ifndef TARE_MEASURE_MARKS_MARK_FIFO_H
#define TARE_MEASURE_MARKS_MARK_FIFO_H

#include "measure/marks/marks.h"

/* Makes NAME in an open folder, mode 0600, and opens it for both directions, so that a writer
 * neither waits for a reader nor leaves an end of file behind. What an earlier life left there is
 * removed first, unless it is a folder. owner: who is to have it; (uid_t)-1: nobody else. The
 * folder stays the caller's and must stay open. */
struct mark_fifo *mark_fifo_new(int dir, const char *name, uid_t owner, struct err *err);

/* Closes it, and removes it when it is still the one that was made. */
void mark_fifo_free(struct mark_fifo *fifo);

/* Removes what a dead session left: a FIFO of that name, nothing else. */
void mark_fifo_remove(int dir, const char *name);

int mark_fifo_fd(const struct mark_fifo *fifo); /* readable when there are lines */

/* Reads what is there, at most 256 KiB a call. True: it was all. */
bool mark_fifo_read(struct mark_fifo *fifo, int64_t now_ns, mark_fifo_fn *each, void *context);

/* No more will come: what has no line end counts as a line. */
void mark_fifo_end(struct mark_fifo *fifo, mark_fifo_fn *each, void *context);

/* Lines that were no marks: garbage, empty ones, ones longer than MARK_LINE_MAX. */
uint64_t mark_fifo_refused(const struct mark_fifo *fifo);

#endif
