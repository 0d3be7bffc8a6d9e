#include "run/log/bar.h"
#include "run/log/metric_history.h"
#include "run/log/words.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "run/log/match.h"

#include <errno.h>
#include <string.h>

#define BATCH_LINES 1024
#define READ_BUFFER (128u << 10)
#define READ_CALLS  8 /* of 128 KiB */

/* ---- The files: log and times. A file that cannot be written is reported once and given up. */

#define SINK_BUFFER (32u << 10)

struct sink {
    int fd;
    bool failed;
    uint64_t kept;
    uint64_t cap;
    bool capped;
};

struct times {
    struct sink sink;
    size_t used;
    int64_t flushed_ns;
    bool broken;
    struct err why; /* of a failed write in times_add */
    int64_t stamp_ns;
    size_t stamp_length;
    char stamp[32]; /* ",seconds," of the row last added */
    char buffer[SINK_BUFFER];
};

#define ROW_MAX 80

/* A log of line ends only makes 30 bytes of times out of each byte: times need a cap, too. */
#define TIMES_PER_LOG 4
#define TIMES_CAP_MIN (1u << 20)

/* Unbuffered. False: the first failure. */
static bool sink_write(struct sink *sink, const char *what, const char *bytes, size_t count,
                       struct err *err)
{
    if (sink->fd < 0 || sink->failed)
        return true;
    if (sink->cap && count > sink->cap - sink->kept) {
        count = (size_t)(sink->cap - sink->kept);
        sink->capped = true;
    }
    while (count) {
        ssize_t done = write(sink->fd, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            if (done == 0)
                errno = ENOSPC;
            sink->failed = true;
            return err_sys(err, "write %s", what);
        }
        sink->kept += (uint64_t)done;
        bytes += done;
        count -= (size_t)done;
    }
    return true;
}

static bool sink_close(struct sink *sink, const char *what, struct err *err)
{
    if (sink->fd < 0)
        return true;
    int result = close(sink->fd);
    sink->fd = -1;
    if (result < 0 && errno != EINTR && !sink->failed) {
        sink->failed = true;
        return err_sys(err, "close %s", what);
    }
    return true;
}

static char *write_decimal(char *at, uint64_t number)
{
    static const char pairs[] =
        "000102030405060708091011121314151617181920212223242526272829303132333435363738394041424344"
        "454647484950515253545556575859606162636465666768697071727374757677787980818283848586878889"
        "90919293949596979899";
    char digits[20];
    char *first = digits + sizeof digits;
    for (; number >= 100; number /= 100)
        first = memcpy(first - 2, pairs + number % 100 * 2, 2);
    if (number >= 10)
        first = memcpy(first - 2, pairs + number * 2, 2);
    else
        *--first = (char)('0' + number);
    size_t count = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, count);
    return at + count;
}

static char *write_seconds(char *at, int64_t elapsed_ns)
{
    if (elapsed_ns < 0)
        elapsed_ns = 0;
    uint64_t micros = (uint64_t)elapsed_ns / 1000;
    at = write_decimal(at, micros / 1000000);
    *at++ = '.';
    uint64_t rest = micros % 1000000;
    for (uint64_t unit = 100000; unit; unit /= 10)
        *at++ = (char)('0' + rest / unit % 10);
    return at;
}

/* All lines of one read share a time. */
static void set_stamp(struct times *times, int64_t elapsed_ns)
{
    char *at = times->stamp;
    *at++ = ',';
    at = write_seconds(at, elapsed_ns);
    *at++ = ',';
    times->stamp_length = (size_t)(at - times->stamp);
    times->stamp_ns = elapsed_ns;
}

static void write_line_times(struct times *times)
{
    if (!sink_write(&times->sink, "the line times", times->buffer, times->used, &times->why))
        times->broken = true;
    times->used = 0;
}

static void times_init(struct times *times, int fd, uint64_t log_cap)
{
    static const char header[] = "line,seconds,offset\n";
    times->sink = (struct sink){.fd = fd};
    if (log_cap)
        times->sink.cap = log_cap < UINT64_MAX / TIMES_PER_LOG - TIMES_CAP_MIN
                              ? log_cap * TIMES_PER_LOG + TIMES_CAP_MIN
                              : 0;
    times->used = sizeof header - 1;
    memcpy(times->buffer, header, times->used);
}

static void times_add(struct times *times, uint64_t line, int64_t elapsed_ns, uint64_t offset)
{
    struct sink *sink = &times->sink;
    if (sink->fd < 0 || sink->failed || sink->capped)
        return;
    if (sink->cap && sink->kept + times->used + ROW_MAX > sink->cap) {
        sink->capped = true;
        return;
    }
    if (times->used + ROW_MAX > sizeof times->buffer)
        write_line_times(times);
    if (times->stamp_length == 0 || times->stamp_ns != elapsed_ns)
        set_stamp(times, elapsed_ns);
    char *at = write_decimal(times->buffer + times->used, line);
    memcpy(at, times->stamp, times->stamp_length);
    at = write_decimal(at + times->stamp_length, offset);
    *at++ = '\n';
    times->used = (size_t)(at - times->buffer);
}

/* Writes rows older than a second, or all (now). False: a write failed since the last call. */
static bool times_flush(struct times *times, int64_t now_ns, bool now, struct err *err)
{
    if (times->used && (now || now_ns - times->flushed_ns >= NS_PER_S)) {
        times->flushed_ns = now_ns;
        write_line_times(times);
    }
    if (!times->broken)
        return true;
    times->broken = false;
    if (err)
        *err = times->why;
    return false;
}

struct joblog {
    struct joblog_totals totals;
    struct sink log;
    struct matcher matcher;
    int64_t start_ns, now_ns;
    uint64_t line_offset; /* where the open line begins */
    uint64_t newlines;
    bool after_cr; /* a following \n belongs to the same line end */
    bool is_cut;   /* carry was too small */
    bool open;
    bool ended;
    size_t carried; /* of the open line, at most JOBLOG_LINE_MAX */
    size_t batched;
    struct line batch[BATCH_LINES];
    char carry[JOBLOG_LINE_MAX];
    char buffer[READ_BUFFER];
    struct times times;
    struct tail tail;
    struct bars bars;
};

struct ends {
    const char *end;
    const char *newline, *carriage; /* kept, so that no search is repeated; or end */
};

static const char *find_byte(const char *from, const char *end, int byte)
{
    const char *found = memchr(from, byte, (size_t)(end - from));
    return found ? found : end;
}

static const char *next_end(struct ends *ends, const char *from)
{
    if (ends->newline < from)
        ends->newline = find_byte(from, ends->end, '\n');
    if (ends->carriage < from)
        ends->carriage = find_byte(from, ends->end, '\r');
    return ends->newline < ends->carriage ? ends->newline : ends->carriage;
}

static void match_complete_lines(struct joblog *log)
{
    matcher_match_lines(&log->matcher, log->batch, log->batched, log->now_ns);
    EACH (item, log->batch, log->batched)
        log->totals.limited_lines += item->limited;
    log->batched = 0;
}

/* Borrows the bytes until match_complete_lines. */
static void add_log_line(struct joblog *log, const char *start, size_t length)
{
    uint64_t number = log->newlines + 1;
    if (!log->log.cap || log->line_offset < log->log.cap)
        times_add(&log->times, number, log->now_ns - log->start_ns, log->line_offset);
    uint32_t used = (uint32_t)(length < JOBLOG_LINE_MAX ? length : JOBLOG_LINE_MAX);
    bars_update(&log->bars, start, used);
    log->batch[log->batched++] = (struct line){
        .start = start, .length = used, .is_cut = log->is_cut || used < length, .number = number};
    log->totals.cut_lines += log->is_cut || used < length;
    log->is_cut = false;
    if (log->batched == BATCH_LINES)
        match_complete_lines(log);
}

static void carry_on(struct joblog *log, const char *bytes, size_t count)
{
    size_t room = JOBLOG_LINE_MAX - log->carried;
    if (count == 0)
        return;
    log->open = true;
    memcpy(log->carry + log->carried, bytes, count < room ? count : room);
    log->carried += count < room ? count : room;
    log->is_cut |= count > room;
}

static void end_carried(struct joblog *log)
{
    add_log_line(log, log->carry, log->carried);
    match_complete_lines(log);
    log->carried = 0;
    log->open = false;
}

/* offset: of bytes[0] in the log. */
static void split_lines(struct joblog *log, const char *bytes, size_t count, uint64_t offset)
{
    const char *at = bytes, *end = bytes + count;
    if (log->after_cr) {
        log->after_cr = false;
        if (*at == '\n') {
            at++;
            log->line_offset++;
            log->newlines++;
        }
    }
    struct ends ends = {end, find_byte(at, end, '\n'), find_byte(at, end, '\r')};
    while (at < end) {
        const char *stop = next_end(&ends, at);
        if (stop == end) {
            carry_on(log, at, (size_t)(end - at));
            break;
        }
        if (log->open) {
            carry_on(log, at, (size_t)(stop - at));
            end_carried(log);
        } else {
            add_log_line(log, at, (size_t)(stop - at));
        }
        at = stop + 1;
        if (*stop == '\r' && at < end && *at == '\n')
            at++;
        else if (*stop == '\r' && at == end)
            log->after_cr = true;
        log->newlines += at[-1] == '\n';
        log->line_offset = offset + (uint64_t)(at - bytes);
    }
    match_complete_lines(log);
}

struct joblog *joblog_new(const struct joblog_options *options, struct err *err)
{
    struct joblog *log = mem_alloc(sizeof *log);
    log->log = (struct sink){.fd = -1};
    log->times.sink.fd = -1;
    log->start_ns = options->start_ns;
    log->now_ns = options->start_ns;
    if (!matcher_init(&log->matcher, options, err)) {
        joblog_free(log);
        return NULL;
    }
    log->log = (struct sink){.fd = options->log_fd, .cap = options->cap_bytes};
    times_init(&log->times, options->times_fd, options->cap_bytes);
    log->times.flushed_ns = options->start_ns;
    return log;
}

void joblog_free(struct joblog *log)
{
    if (!log)
        return;
    if (!log->ended)
        times_flush(&log->times, log->now_ns, true, NULL);
    sink_close(&log->log, "", NULL);
    sink_close(&log->times.sink, "", NULL);
    matcher_fini(&log->matcher);
    free(log);
}

static bool report_file_errors(bool log_written, bool times_written, const struct err *log_err,
                               const struct err *times_err, struct err *err)
{
    if (err && !log_written)
        *err = *log_err;
    else if (err && !times_written)
        *err = *times_err;
    return log_written && times_written;
}

/* A byte order mark, or ASCII with zeros between, as PowerShell writes. */
static bool is_utf16(const char *bytes, size_t count)
{
    bool is_marked =
        count >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
    bool has_zeros = count >= 4 && ((bytes[0] && !bytes[1] && bytes[2] && !bytes[3]) ||
                                    (!bytes[0] && bytes[1] && !bytes[2] && bytes[3]));
    return is_marked || has_zeros;
}

bool joblog_add_bytes(struct joblog *log, const char *bytes, size_t count, int64_t now_ns,
                      struct err *err)
{
    struct err log_err = {0}, times_err = {0};
    if (count == 0)
        return true;
    uint64_t offset = log->totals.bytes;
    log->now_ns = now_ns;
    bool log_written = sink_write(&log->log, "the log", bytes, count, &log_err);
    log->totals.is_utf16 |= offset == 0 && is_utf16(bytes, count);
    log->totals.bytes += count;
    tail_add(&log->tail, bytes, count);
    log->totals.kept = log->log.kept;
    log->totals.capped = log->log.capped;
    split_lines(log, bytes, count, offset);
    if (log->open) /* a bar's line ends when it is redrawn */
        bars_update(&log->bars, log->carry, log->carried);
    log->totals.lines = log->newlines + (bytes[count - 1] != '\n');
    bool times_written = times_flush(&log->times, now_ns, false, &times_err);
    return report_file_errors(log_written, times_written, &log_err, &times_err, err);
}

int joblog_read(struct joblog *log, int fd, int64_t now_ns, struct err *err)
{
    bool any = false;
    for (int i = 0; i < READ_CALLS; i++) {
        ssize_t got = read(fd, log->buffer, sizeof log->buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return any;
        if (got == 0 || (got < 0 && errno == EIO)) /* EIO: a terminal that was closed */
            return -1;
        if (got < 0) {
            err_sys(err, "read the job's output");
            return -2;
        }
        if (!joblog_add_bytes(log, log->buffer, (size_t)got, now_ns, err))
            return -2;
        any = true;
    }
    return any;
}

bool joblog_end(struct joblog *log, int64_t now_ns, struct err *err)
{
    struct err log_err = {0}, times_err = {0}, close_err = {0};
    if (log->ended)
        return true;
    log->ended = true;
    if (log->open)
        end_carried(log); /* at the time of its last byte */
    bool log_written = sink_close(&log->log, "the log", &log_err);
    bool times_written = times_flush(&log->times, now_ns, true, &times_err);
    if (!sink_close(&log->times.sink, "the line times", &close_err) && times_written) {
        times_written = false;
        times_err = close_err;
    }
    return report_file_errors(log_written, times_written, &log_err, &times_err, err);
}

struct joblog_totals joblog_totals(const struct joblog *log)
{
    return log->totals;
}

void joblog_last_words(const struct joblog *log, struct joblog_words *out)
{
    tail_words(&log->tail, log->totals.lines, out);
}

const struct bars *joblog_bars(const struct joblog *log)
{
    return &log->bars;
}

size_t joblog_result_count(const struct joblog *log)
{
    return log->matcher.count;
}

const struct joblog_result *joblog_result(const struct joblog *log, size_t index)
{
    return &log->matcher.items[index].result;
}

const struct metric_history *joblog_history(const struct joblog *log, size_t index)
{
    return &log->matcher.items[index].history;
}

void joblog_note_mark(struct joblog *log, const struct mark *mark)
{
    metric_epoch_update(&log->matcher.epoch, mark);
}
