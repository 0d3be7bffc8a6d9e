/* joblog: a job's output, kept byte for byte in a file, its lines time-stamped as they arrive and
 * matched at once. Constant memory whatever arrives. A line ends with \n or \r (or both together).
 * Lines longer than JOBLOG_LINE_MAX are matched by their first JOBLOG_LINE_MAX bytes. */
#ifndef TARE_RUN_LOG_JOBLOG_H
#define TARE_RUN_LOG_JOBLOG_H

#include "base/err.h"
#include "base/mark.h"
#include "base/reading.h"

#include <stddef.h>

#define JOBLOG_LINE_MAX 65536
#define JOBLOG_TEXT_MAX 256 /* of a match kept for people */

enum joblog_role {
    JOBLOG_METRIC,
    JOBLOG_SUCCESS,
    JOBLOG_ERROR,
    JOBLOG_MARK_START,
    JOBLOG_MARK_END,
    JOBLOG_SIGN
};

/* What to look for; the strings are copied. */
struct joblog_pattern {
    enum joblog_role role;
    const char *name;   /* a metric's, a mark's or a sign's name; else the pattern itself */
    const char *source; /* PCRE2; of a metric also "named:" and names (named.h) */
};

/* What was found for one pattern. A metric's number is that of its last match; there is none where
 * this holds digits that cannot be read as one number. Matches without digits are passed over. */
struct joblog_result {
    enum joblog_role role;
    const char *name;
    uint64_t matches;
    bool has_number;
    bool is_ambiguous; /* there is none, since several could be meant */
    double number;
    /* of the last match, from 1, as grep -n and editors count: each \n begins one */
    uint64_t line;
    /* What the last match's group held, or for success, error and sign the line, cut to fit; what
     * is no UTF-8, and control characters other than the tab, replaced by U+FFFD. */
    char text[JOBLOG_TEXT_MAX];
};

/* The line by which the output says what went wrong, as far as that can be told without knowing the
 * program. */
enum joblog_words_kind {
    JOBLOG_WORDS_NONE,      /* nothing but blanks was printed */
    JOBLOG_WORDS_LINE,      /* the last line that is not blank */
    JOBLOG_WORDS_COMPLAINT, /* the last one that speaks of an error, among the last few */
    JOBLOG_WORDS_EXCEPTION  /* the exception that a Python traceback near the end tells */
};

struct joblog_words {
    enum joblog_words_kind kind;
    uint64_t line;              /* its number, from 1 */
    char text[JOBLOG_TEXT_MAX]; /* fit to be shown, as a result's */
};

struct joblog_totals {
    uint64_t bytes;         /* arrived */
    uint64_t kept;          /* written to the file */
    uint64_t lines;         /* as grep -n and editors count: ended by \n, and the last open one */
    uint64_t limited_lines; /* on which a pattern hit its match limit */
    uint64_t cut_lines;     /* longer than JOBLOG_LINE_MAX */
    bool is_utf16;          /* the log is text of 16 bits a character, which no pattern matches */
    /* cap_bytes was reached: bytes went on being counted and matched, not kept */
    bool capped;
};

struct joblog;
struct metric_history;

/* log_fd and times_fd (training.times.csv: "line,seconds,offset": the line's number, seconds from
 * start_ns until it was complete, the byte where it begins) become the joblog's when joblog_new
 * succeeds; -1: none. cap_bytes 0: no cap; lines that begin beyond it get no row, and all rows
 * together take at most 4 * cap_bytes + 1 MiB. metric_fn (may be NULL) is told of each new number,
 * for one metric in the order of the lines, in no order between metrics. mark_fn (may be NULL) is
 * told of each line that matches the pattern of a mark, in the order of the lines: its label is
 * what the first group held, its time that of the arrival of the line. holds (may be NULL) is asked
 * about each line that matches the pattern of a sign, whether it counts. None may use the
 * joblog. */
typedef void joblog_metric_fn(void *context, const char *name, double number);
typedef void joblog_mark_fn(void *context, const struct mark *mark);
typedef bool joblog_holds_fn(const char *sign, const char *line, size_t length);

struct joblog_options {
    int log_fd, times_fd;
    int64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t cap_bytes;
    const struct joblog_pattern *patterns;
    size_t pattern_count;
    bool has_ranks; /* a launcher starts several processes, which print into the log */
    joblog_metric_fn *metric;
    joblog_mark_fn *mark;
    joblog_holds_fn *holds;
    void *context; /* of metric and mark */
};

struct joblog *joblog_new(const struct joblog_options *options, struct err *err);
void joblog_free(struct joblog *log);

/* Bytes as they arrived, at this CLOCK_MONOTONIC time. False when a file cannot be written (disk
 * full): err says so, once; that file is given up, and matching went on. */
bool joblog_take(struct joblog *log, const char *bytes, size_t count, int64_t now_ns,
                 struct err *err);

/* Reads what the non-blocking fd holds, at most about 1 MiB a call. 1: something was read, 0:
 * nothing there now, -1: the end (every writer gone), -2: an error (err); after one of writing (as
 * joblog_take tells it) reading can go on. */
int joblog_read(struct joblog *log, int fd, int64_t now_ns, struct err *err);

/* The last line counts even without an end; files are flushed and closed. False: as joblog_take. */
bool joblog_end(struct joblog *log, int64_t now_ns, struct err *err);

struct joblog_totals joblog_totals(const struct joblog *log);
/* from the last 32 KiB that arrived */
void joblog_last_words(const struct joblog *log, struct joblog_words *out);
struct bars;
/* the progress bars in it, as they are now */
const struct bars *joblog_bars(const struct joblog *log);
size_t joblog_result_count(const struct joblog *log);
/* in the order of the patterns */
const struct joblog_result *joblog_result(const struct joblog *log, size_t index);

/* Of a metric: the numbers that it matched, each with its time and its epoch. */
const struct metric_history *joblog_history(const struct joblog *log, size_t index);

/* A mark that came on another way than the log: epochs are counted by it, too. */
void joblog_note_mark(struct joblog *log, const struct mark *mark);

/* The line by which a job's output says what went wrong. */

#define WORDS_TAIL (32u << 10)

/* The last bytes of a stream of any length. */
struct tail {
    size_t used, at; /* at: where the next byte goes */
    char bytes[WORDS_TAIL];
};

/* metric_history: what a metric's pattern matched, one point a match, in constant memory however
 * many there are. Until it is full every point is kept. Then neighbours are merged into cells of a
 * number of matches that doubles as often as needed, and of each cell its first and last point, its
 * lowest and highest number, and its first one that is no finite number are kept: the first and the
 * last match and the best number of all are always there, in the order of the matches. Pure. */

/* Points of one metric, and of all metrics of an attempt together: what an event of the journal has
 * room for. */
enum { HISTORY_POINTS_MAX = 1024, HISTORY_POINTS_MIN = 16, HISTORY_POINTS_ALL = 65536 };

struct metric_point {
    uint64_t step; /* the number of the match, from 1 */
    int64_t t_ns;  /* CLOCK_MONOTONIC, of its line */
    int64_t epoch;
    bool has_epoch;
    double value; /* nan and infinities too */
};

struct metric_history {
    struct metric_point *points; /* in the order of the matches */
    size_t count, limit;
    uint64_t matches; /* added so far */
    uint64_t stride;  /* matches of a cell; 0: all points are kept */
};

/* Which epoch it is: the one that a mark of the name "epoch" named last. Its label where that is an
 * integer, else how many began (of ends alone: ended). */
struct metric_epoch {
    bool known;
    int64_t number;
    int64_t begun, ended;
};

/* bar: progress bars in a job's output, as tqdm writes them ("desc:  45%|####      | 45/100
 * [00:10<00:12, 4.5it/s, loss=0.3]"; without a total "desc: 45it [00:10, 4.5it/s]"), with or
 * without colours and the moves of nested bars. Untrusted text; constant memory. */

#define BAR_NAME_MAX 64 /* bytes, with the NUL */
#define BARS_MAX     4

struct bar {
    char name[BAR_NAME_MAX]; /* "Epoch 3", fit to be shown; "": it has none */
    double done;
    struct reading total; /* above 0 where it is valid; done is at most it */
};

/* The bars that a job has drawn lately. Two are the same one when their totals are equal, and their
 * names but for the digits in them. */
struct bars {
    /* in the order in which they appeared; a fifth takes the place of the one that was drawn least
     * lately */
    struct bar items[BARS_MAX];
    /* its name when it appeared: epochs may be counted from 0 */
    char first[BARS_MAX][BAR_NAME_MAX];
    uint64_t restarts[BARS_MAX]; /* how often it has begun again */
    uint64_t drawn[BARS_MAX];
    size_t count, latest; /* latest: place of the one that changed last */
    uint64_t changes;     /* grows whenever something is new */
};

#endif
