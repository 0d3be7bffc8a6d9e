/* exec_energy: what one command under exec draws: measured beside it, cut at its marks, told when all is over. */
#ifndef TARE_SESSION_EXEC_ENERGY_H
#define TARE_SESSION_EXEC_ENERGY_H

#include "base/strv.h"
#include "session/measuring.h"

#include <jansson.h>
#include <stdbool.h>

struct exec_marks;

/* All zero: energy is not asked for, and every function does nothing. */
struct exec_energy {
    const struct gauge_options *gauge;
    const char *json_path;       /* instead of the table; NULL: none */
    struct measuring *measuring; /* NULL: nothing is measured */
    struct exec_marks *marks;    /* NULL: there are none */
};

/* Whether figures can be written there (NULL: they need not): asked before the command, which may take a night. */
bool exec_energy_may_write(const char *path, struct err *err);

/* Makes $TARE_MARKS, before the command is born. */
void exec_energy_prepare(struct exec_energy *energy, struct strv *environment);

/* The command runs already: it waits for no meter. */
void exec_energy_begin(struct exec_energy *energy, struct job *job);

/* Descriptors to poll, -1: none; at most so long, -1: for ever; after each poll. */
int exec_energy_fd(const struct exec_energy *energy);
int exec_energy_marks_fd(const struct exec_energy *energy);
int exec_energy_wait_ms(const struct exec_energy *energy);
void exec_energy_step(struct exec_energy *energy);

/* The command has ended; the job is not gone yet. */
void exec_energy_end(struct exec_energy *energy, struct job *job, int64_t end_ns);

/* When all is over: the table on standard error, or the file. gpu_memory (is taken; may be NULL): one more section
 * of the file, which is written for it alone where no energy was measured. */
void exec_energy_show(struct exec_energy *energy, json_t *gpu_memory);
void exec_energy_fini(struct exec_energy *energy);

#endif
