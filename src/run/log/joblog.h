/* joblog: keeps a job's output byte for byte, stamps its lines with their arrival and matches them,
 * in constant memory. A line ends with \n, \r or both; only its first JOBLOG_LINE_MAX bytes are
 * matched. */
#ifndef TARE_RUN_LOG_JOBLOG_H
#define TARE_RUN_LOG_JOBLOG_H

#include "base/err.h"
#include "base/mark.h"
#include "base/reading.h"

#include <stddef.h>

#define JOBLOG_LINE_MAX 65536
#define JOBLOG_TEXT_MAX 256

enum joblog_role {
    JOBLOG_METRIC,
    JOBLOG_SUCCESS,
    JOBLOG_ERROR,
    JOBLOG_MARK_START,
    JOBLOG_MARK_END,
    JOBLOG_SIGN
};

/* Copied. */
struct joblog_pattern {
    enum joblog_role role;
    const char *name;   /* of a metric, mark or sign; else the pattern */
    const char *source; /* PCRE2; for metrics also "named:" with names (named.h) */
};

/* Result of one pattern. A metric has the number of its last match with digits, if these are one
 * number. */
struct joblog_result {
    enum joblog_role role;
    const char *name;
    uint64_t matches;
    bool has_number;
    bool is_ambiguous; /* several numbers are possible */
    double number;
    /* of the last match, from 1, counted by \n */
    uint64_t line;
    /* The last match's group (of success, error and sign: the line), cut and printable. */
    char text[JOBLOG_TEXT_MAX];
};

enum joblog_words_kind {
    JOBLOG_WORDS_NONE,
    JOBLOG_WORDS_LINE,      /* the last line with text */
    JOBLOG_WORDS_COMPLAINT, /* the last of the final lines that reports an error */
    JOBLOG_WORDS_EXCEPTION  /* the exception of a traceback near the end */
};

struct joblog_words {
    enum joblog_words_kind kind;
    uint64_t line;
    char text[JOBLOG_TEXT_MAX]; /* printable */
};

struct joblog_totals {
    uint64_t bytes;         /* arrived */
    uint64_t kept;          /* written to the file */
    uint64_t lines;         /* by \n, and the open one */
    uint64_t limited_lines; /* where a pattern reached its match limit */
    uint64_t cut_lines;     /* longer than JOBLOG_LINE_MAX */
    bool is_utf16;          /* UTF-16, which no pattern matches */
    /* cap_bytes was reached: the rest is only matched */
    bool capped;
};

struct joblog;
struct metric_history;

/* log_fd and times_fd (training.times.csv: "line,seconds,offset" of complete lines) belong to the
 * joblog after joblog_new succeeds; -1: none. cap_bytes 0: no cap; lines after it get no row, and
 * rows take at most 4 * cap_bytes + 1 MiB. metric_fn gets each new number, in order for each
 * metric. mark_fn gets each line that matches a mark: label from the first group, time of arrival.
 * holds confirms a line with a sign. All may be NULL; none may use the joblog. */
typedef void joblog_metric_fn(void *context, const char *name, double number);
typedef void joblog_mark_fn(void *context, const struct mark *mark);
typedef bool joblog_holds_fn(const char *sign, const char *line, size_t length);

struct joblog_options {
    int log_fd, times_fd;
    int64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t cap_bytes;
    const struct joblog_pattern *patterns;
    size_t pattern_count;
    bool has_ranks; /* several processes print into the log */
    joblog_metric_fn *metric;
    joblog_mark_fn *mark;
    joblog_holds_fn *holds;
    void *context;
};

struct joblog *joblog_new(const struct joblog_options *options, struct err *err);
void joblog_free(struct joblog *log);

/* now_ns: CLOCK_MONOTONIC. False: writing a file failed (err, once for each); matching went on. */
bool joblog_add_bytes(struct joblog *log, const char *bytes, size_t count, int64_t now_ns,
                      struct err *err);

/* Reads up to 1 MiB from the non-blocking fd. 1: data, 0: none now, -1: end, -2: error; after a
 * failed write reading can go on. */
int joblog_read(struct joblog *log, int fd, int64_t now_ns, struct err *err);

/* Ends an open last line, flushes and closes. False: as joblog_add_bytes. */
bool joblog_end(struct joblog *log, int64_t now_ns, struct err *err);

struct joblog_totals joblog_totals(const struct joblog *log);
/* of the last 32 KiB */
void joblog_last_words(const struct joblog *log, struct joblog_words *out);
struct bars;
const struct bars *joblog_bars(const struct joblog *log);
size_t joblog_result_count(const struct joblog *log);
const struct joblog_result *joblog_result(const struct joblog *log, size_t index);

/* The numbers of a metric. */
const struct metric_history *joblog_history(const struct joblog *log, size_t index);

/* A mark from elsewhere: it counts epochs, too. */
void joblog_note_mark(struct joblog *log, const struct mark *mark);

#define WORDS_TAIL (32u << 10)

struct tail {
    size_t used, at; /* at: of the next byte */
    char bytes[WORDS_TAIL];
};

/* metric_history: the matches of a metric in constant memory. When it is full, neighbours are
 * merged into cells whose size doubles as needed. A cell keeps its first, last, lowest, highest and
 * first non-finite point. Pure. */

enum { HISTORY_POINTS_MAX = 1024, HISTORY_POINTS_MIN = 16, HISTORY_POINTS_ALL = 65536 };

struct metric_point {
    uint64_t step; /* from 1 */
    int64_t t_ns;
    int64_t epoch;
    bool has_epoch;
    double value; /* may be nan or infinite */
};

struct metric_history {
    struct metric_point *points;
    size_t count, limit;
    uint64_t matches;
    uint64_t stride; /* matches per cell; 0: all points are kept */
};

/* The epoch that the last mark "epoch" named: its label if that is an integer, else how many began
 * or ended. */
struct metric_epoch {
    bool known;
    int64_t number;
    int64_t begun, ended;
};

/* bar: progress bars of tqdm ("desc:  45%|####      | 45/100 [00:10<00:12, 4.5it/s, loss=0.3]",
 * without a total "desc: 45it [00:10, 4.5it/s]"), coloured or nested. Untrusted text; constant
 * memory. */

#define BAR_NAME_MAX 64
#define BARS_MAX     4

struct bar {
    char name[BAR_NAME_MAX]; /* "Epoch 3", printable; may be empty */
    double done;
    struct reading total; /* above 0, at least done */
};

/* The recent bars of a job. Equal totals, and names that differ only in digits, are the same bar.
 */
struct bars {
    /* by appearance; a fifth replaces the one drawn least recently */
    struct bar items[BARS_MAX];
    /* name at its appearance: epochs may start at 0 */
    char first[BARS_MAX][BAR_NAME_MAX];
    uint64_t restarts[BARS_MAX]; /* restarts so far */
    uint64_t drawn[BARS_MAX];
    size_t count, latest; /* latest: index of the last change */
    uint64_t changes;
};

#endif
