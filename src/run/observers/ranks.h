/* ranks: several processes that write one log. */
#ifndef TARE_RUN_OBSERVERS_RANKS_H
#define TARE_RUN_OBSERVERS_RANKS_H

#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* From the launcher's options: --nproc_per_node=2, -np 2, --num_processes 4, --num_gpus=2. 1:
 * unknown. Pure. */
size_t ranks_count(const struct strv *argv);

/* The last line with this number follows one that differs only in numbers with a point: "epoch 3
 * loss: 0.43" and "epoch 3 loss: 0.41". Pure. */
bool ranks_disagree(const char *log, size_t length, const char *number);

#endif
