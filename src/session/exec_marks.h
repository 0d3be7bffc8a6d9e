/* exec_marks: the FIFO in $TARE_MARKS of one command that is run under exec. */
#ifndef TARE_SESSION_EXEC_MARKS_H
#define TARE_SESSION_EXEC_MARKS_H

#include "base/err.h"
#include "base/strv.h"
#include "session/measuring.h"

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
