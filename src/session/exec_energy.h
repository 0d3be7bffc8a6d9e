/* exec_energy: what one command under exec draws: measured beside it, cut at its marks, told when all is over. */
#ifndef TARE_SESSION_EXEC_ENERGY_H
#define TARE_SESSION_EXEC_ENERGY_H

#include "base/err.h"
#include "base/strv.h"
#include "session/measuring.h"

#include <jansson.h>
#include <stdbool.h>

struct exec_marks;

/* All zero: energy is not asked for, and every function does nothing. */
struct exec_energy {
    const struct energy_meters_options *energy_meters;
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

/* The FIFO in $TARE_MARKS of one command that is run under exec. */

struct exec_marks;

/* Makes it in a folder of its own and names it in environment. NULL with an empty err: the environment names one
 * already, of the run that this is a part of, and marks are that one's. */
struct exec_marks *exec_marks_new(struct strv *environment, struct err *err);
void exec_marks_free(struct exec_marks *marks); /* removes FIFO and folder; NULL: nothing */

int exec_marks_fd(const struct exec_marks *marks); /* -1 of NULL */

/* Hands on what has come. last: no more will. */
void exec_marks_take(struct exec_marks *marks, struct measuring *measuring, bool last);

/* What was left out, in words, or NULL; fresh. */
char *exec_marks_doubt(const struct exec_marks *marks);

#endif
