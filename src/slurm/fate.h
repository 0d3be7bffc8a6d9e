/* fate: what became of the experiments that are missing, as far as the scheduler tells: its queue, its accounting where
 * it keeps one, and what it wrote into the tasks' logs. */
#ifndef TARE_SLURM_FATE_H
#define TARE_SLURM_FATE_H

#include "base/strv.h"
#include "base/text.h"
#include "slurm/collect.h"
#include "slurm/submission.h"

#include <stddef.h>

/* Of the missing experiment's items sets fate: one line, in plain words. dir: the run's folder, open. note: why the
 * queue was not asked or did not answer; NULL: it was asked, or nothing is missing. The caller frees it. */
void fates_find(int dir, const struct strv *env, const struct submission *submission, struct collected *collected,
                char **note);

/* The last thing that a task's log tells of its end: "ended by its time limit, on n1"; failing that its last line,
 * quoted. Nothing is added when the text says nothing. Pure. */
void fate_of_log(const char *text, size_t length, struct text *out);

#endif
