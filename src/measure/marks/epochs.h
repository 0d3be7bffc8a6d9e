/* epochs: cuts the marks of a job into epochs and the parts between them. */
#ifndef TARE_MEASURE_MARKS_EPOCHS_H
#define TARE_MEASURE_MARKS_EPOCHS_H

#include "measure/marks/marks.h"

const char *epoch_part_name(enum epoch_part part); /* "epoch", "startup", "between", "final" */

/* The marks are put in the order of their times (those of one time stay as they were); names and
 * labels are borrowed from them. start_ns and end_ns: of the attempt; has_end false: it is not
 * known when it ended. Marks outside of it count at its edge. The parts come name by name, in the
 * order in which the names first appear; the caller frees.
 *
 * A start ends what was open, if anything, and begins an epoch. An end ends what a start began;
 * without such a start, the epoch that it ends began at the end before it, or with the attempt.
 * What is still open when the attempt ends, ends with it. Parts of no length are left out, unless
 * they are epochs themselves. */
struct epoch *epochs_cut(struct mark *marks, size_t count, int64_t start_ns, int64_t end_ns,
                         bool has_end, size_t *out_count);

#endif
