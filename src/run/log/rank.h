/* rank: which process of a distributed training printed a line, by the label that its launcher puts
 * before it. Pure. */
#ifndef TARE_RUN_LOG_RANK_H
#define TARE_RUN_LOG_RANK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the line is labelled as one of another process than the first: "[rank1]: ", "[default1]:"
 * (torchrun), "[1,3]<stdout>:" (Open MPI), "[1]<stdout>:" (Horovod), "[rank: 1] " (Lightning).
 * Metrics are those of the first. */
bool rank_is_other(const char *line, size_t length);

#endif
