/* ranks: a training of several processes that all write to one log. */
#ifndef TARE_RUN_OBSERVERS_RANKS_H
#define TARE_RUN_OBSERVERS_RANKS_H

#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* How many processes a command starts by the options of its launcher: --nproc_per_node=2, -np 2,
 * --num_processes 4, --num_gpus=2. 1: not known, or one. Pure. */
size_t ranks_count(const struct strv *argv);

/* Whether the last line of the log that holds this number came shortly after one that differs from
 * it in numbers with a point alone: "epoch 3 loss: 0.43" and "epoch 3 loss: 0.41". Pure. */
bool ranks_disagree(const char *log, size_t length, const char *number);

#endif
