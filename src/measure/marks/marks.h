/* marks: the marks of one attempt on their way to the journal: of several ranks that print the
 * same, one counts; a job that marks without end is held to a rate. Constant memory. Pure. */
#ifndef TARE_MEASURE_MARKS_MARKS_H
#define TARE_MEASURE_MARKS_MARKS_H

#include "base/err.h"
#include "base/mark.h"

#include <stddef.h>
#include <sys/types.h>

/* Of each source: how many a second in the long run, at once, and in all. */
#define MARKS_RATE      100
#define MARKS_BURST     1000
#define MARKS_MOST      20000
#define MARKS_NAMES_MAX 64

enum mark_task_status {
    MARK_TAKEN,
    /* the same kind, name and label as the one before of that name: another rank's */
    MARK_REPEATED,
    MARK_LIMITED /* over the rate, too many in all, or too many names */
};

struct marks_counts {
    uint64_t taken, repeated, limited;
};

struct marks_name {
    struct mark last;
    int64_t first_ns;
    uint64_t taken;
    bool only_log_starts; /* every one of them */
};

struct marks_source {
    double credit;
    int64_t credit_ns; /* when it was last counted; 0: never */
    uint64_t taken;
};

struct marks {
    struct marks_name names[MARKS_NAMES_MAX];
    size_t name_count;
    struct marks_source sources[2]; /* by enum mark_source */
    struct marks_counts counts;
    struct mark *pending; /* taken and not yet handed on */
    size_t pending_count;
};

void marks_fini(struct marks *marks);

/* now_ns: CLOCK_MONOTONIC, for the rate. What is taken is pending until marks_clear. */
enum mark_task_status marks_take(struct marks *marks, const struct mark *mark, int64_t now_ns);
void marks_clear(struct marks *marks);

/* Whether the log's lines of this name (place in names), taken as beginnings, look as if they had
 * been printed at the end of what they name: three or more, after the last one hardly anything (a
 * tenth of the usual), before the first one at least half the usual. start_ns, end_ns: of the
 * attempt. */
bool marks_look_like_ends(const struct marks *marks, size_t name, int64_t start_ns, int64_t end_ns);

/* A mark as a job writes it, one a line: "NAME [LABEL] [@NANOSECONDS]"; "/NAME ..." says the end of
 * one. */

/* What a line may hold at most, its end included; less than PIPE_BUF, so that a line written at
 * once stays whole. */
#define MARK_LINE_MAX 256

/* How far back the writer's own clock field counts. */
#define MARK_CLOCK_BACK_NS INT64_C(1000000000)

/* A line without its end, as it arrived at now_ns (CLOCK_MONOTONIC). The label is all between the
 * name and the clock field, its inner blanks kept. A clock field from the last second is the mark's
 * time; any other counts as not given: the time is now_ns then. False: no valid name, or a label
 * that is too long, no UTF-8, or holds a control character. */
bool mark_line_parse(const char *line, size_t length, int64_t now_ns, struct mark *out);

/* Whether a label can be written in a line: at most MARK_LABEL_MAX bytes of UTF-8, no control
 * characters. */
bool mark_label_is_valid(const char *label, size_t length);

/* epochs: the time of an attempt, cut at its marks. For each name the parts follow each other
 * without gap or overlap from the attempt's start to its end, so they add up to it exactly.
 * Pure. */

enum epoch_part {
    EPOCH_ITSELF,  /* what the mark names */
    EPOCH_STARTUP, /* before the first one began */
    EPOCH_BETWEEN, /* after one ended, before the next began */
    EPOCH_FINAL    /* after the last one ended */
};

struct epoch {
    enum epoch_part part;
    const char *name;
    const char *label; /* NULL: none, or not an epoch itself */
    int64_t start_ns, end_ns;
    bool has_end;            /* false: the attempt's end is not known, and this part is open */
    enum mark_source source; /* of an epoch itself */
};

/* mark_fifo: the FIFO in $TARE_MARKS, to which a job writes lines (marks.h) in whatever language it
 * is written in. Constant memory and bounded work a call, whatever comes through it. */

struct mark_fifo;

typedef void mark_fifo_fn(void *context, const struct mark *mark);

#endif
