/* trace: the study's files of samples ("timestamp,power_draw_w" and the like), read in one pass by a buffer of fixed
 * size: memory does not depend on their length. Private to judge/. */
#ifndef TARE_RESULTS_JUDGE_TRACE_H
#define TARE_RESULTS_JUDGE_TRACE_H

#include "results/judge/numeric_cell.h"

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_COLUMNS 2 /* behind the time-stamp */

/* So many rows are handed over at a time. */
#define TRACE_ROWS 256

struct trace_column {
    enum numeric_cell_kind kinds[TRACE_ROWS];
    double values[TRACE_ROWS]; /* of those that are FIGURE_IS */
};

/* Consecutive rows. Columns stand apart, as whoever takes them runs through one of them. */
struct trace_rows {
    size_t count;              /* 1 or more */
    int64_t t_s[TRACE_ROWS];   /* whole seconds since 1970; some files have fractions: cut off */
    struct trace_column columns[TRACE_COLUMNS];
};

/* Called for all rows in order, some at a time. */
typedef void trace_each_fn(void *context, const struct trace_rows *rows);

/* What the file was like. */
struct trace_file {
    bool missing;   /* there is no such file, or it is a link or no file */
    bool empty;     /* not even a header */
    bool cut;       /* the last line has no end: it is not used */
    size_t rows;    /* well-formed ones */
    size_t damaged; /* lines that are no rows: each is left out */
    size_t backwards; /* rows stamped before one before them: each is left out */
};

#define TRACE_BUFFER 262144

/* The file of that name in a folder (never through a link); columns: how many stand behind the time-stamp. buffer:
 * TRACE_BUFFER bytes of the caller's. False: it could not be read (err); what is wrong with its contents is in out. */
bool trace_read(int dir, const char *name, size_t columns, char *buffer, trace_each_fn *each, void *context,
                struct trace_file *out, struct err *err);

/* The same from bytes in memory (tests, fuzzing). */
void trace_parse(const char *bytes, size_t count, size_t columns, trace_each_fn *each, void *context,
                 struct trace_file *out);

#endif
