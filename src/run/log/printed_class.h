/* Classifies the numbers of a printed line: batch, rank, epoch, metric. */
#ifndef TARE_RUN_LOG_PRINTED_CLASS_H
#define TARE_RUN_LOG_PRINTED_CLASS_H

#include "run/log/printed_private.h"

/* Sets is_batch and the rank. */
void printed_line_classify(struct printed_line *line);

/* "9913/10000": at most 1. */
bool printed_fraction_read(const char *text, size_t length, double *out);

#endif
