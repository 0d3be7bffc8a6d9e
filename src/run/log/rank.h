/* rank: which process of a distributed training printed a line, by its launcher's label. Pure. */
#ifndef TARE_RUN_LOG_RANK_H
#define TARE_RUN_LOG_RANK_H

#include <stdbool.h>
#include <stddef.h>

/* Labels: "[rank1]: ", "[default1]:" (torchrun), "[1,3]<stdout>:" (Open MPI), "[1]<stdout>:"
 * (Horovod), "[rank: 1] " (Lightning). Metrics are those of the first process. */
bool rank_is_other(const char *line, size_t length);

#endif
