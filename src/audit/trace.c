#include "audit/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A stamp of 15 digits, and for each column a comma, 8 digits, a point and 7 more; the line's end. */
enum { LONGEST_PLAIN = 15 + TRACE_COLUMNS * 17 + 1 };

struct reader {
    size_t columns;
    trace_each_fn *each;
    void *context;
    struct trace_file *file;
    bool begun; /* the first line, the header, is over */
    bool has_last;
    int64_t last_s;
    bool skipping; /* within a line that is longer than the buffer */
};

/* Where the cell ends; a quoted one may hold commas. *after: behind its comma, or NULL at the end of the line. */
static const char *cell_end(const char **at, const char *end, const char **after)
{
    const char *from = *at;
    if (from < end && *from == '"') {
        const char *close = memchr(from + 1, '"', (size_t)(end - from - 1));
        if (close) {
            *at = from + 1;
            const char *comma = memchr(close, ',', (size_t)(end - close));
            *after = comma ? comma + 1 : NULL;
            return close;
        }
    }
    const char *comma = memchr(from, ',', (size_t)(end - from));
    *after = comma ? comma + 1 : NULL;
    return comma ? comma : end;
}

static bool read_stamp(const char *at, const char *end, int64_t *out)
{
    double seconds;
    if (figure_read_whole(at, end, out))
        return true;
    if (figure_read(at, end, &seconds) != FIGURE_IS || seconds < 0 || seconds > 1e15)
        return false;
    *out = (int64_t)seconds;
    return true;
}

static bool read_row(const struct reader *reader, const char *at, const char *end, struct trace_row *row)
{
    const char *after;
    const char *cell = cell_end(&at, end, &after);
    if (!read_stamp(at, cell, &row->t_s) || !after)
        return false;
    for (size_t i = 0; i < reader->columns; i++) {
        if (!after)
            return false;
        at = after;
        cell = cell_end(&at, end, &after);
        /* A figure with commas in it, not quoted, can be told where it is the only one. */
        if (after && reader->columns == 1) {
            cell = end;
            after = NULL;
        }
        row->kinds[i] = figure_read(at, cell, &row->values[i]);
        if (row->kinds[i] == FIGURE_BAD)
            return false;
    }
    return !after;
}

/* A row as nearly all of them are, "1763455019,74.69\n", read in one go: digits, and for each value digits with at
 * most one point, or N/A. Gives where the next line begins; NULL: this line wants more care. */
static const char *read_plain_row(const struct reader *reader, const char *at, const char *end, struct trace_row *row)
{
    static const double tenths[] = {1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    enum { MOST = 15 };
    const char *from = at;
    uint64_t stamp = 0;
    if (end - at < LONGEST_PLAIN)
        return NULL; /* so that nothing below looks behind the end */
    for (; (unsigned)(*at - '0') < 10 && at - from < MOST; at++)
        stamp = stamp * 10 + (uint64_t)(*at - '0');
    if (at == from)
        return NULL;
    row->t_s = (int64_t)stamp;
    for (size_t i = 0; i < reader->columns; i++) {
        uint64_t digits = 0;
        size_t fraction = 0;
        if (*at++ != ',')
            return NULL;
        if (at[0] == 'N' && at[1] == '/' && at[2] == 'A') {
            row->kinds[i] = FIGURE_ABSENT;
            at += 3;
            continue;
        }
        for (from = at; (unsigned)(*at - '0') < 10 && at - from < 8; at++)
            digits = digits * 10 + (uint64_t)(*at - '0');
        if (at == from)
            return NULL;
        if (*at == '.') {
            for (from = ++at; (unsigned)(*at - '0') < 10 && at - from < 7; at++)
                digits = digits * 10 + (uint64_t)(*at - '0');
            fraction = (size_t)(at - from);
            if (fraction == 0)
                return NULL;
        }
        row->kinds[i] = FIGURE_IS;
        row->values[i] = fraction ? (double)digits / tenths[fraction] : (double)digits;
    }
    return *at == '\n' ? at + 1 : NULL;
}

/* In order, or counted. */
static void take_row(struct reader *reader, const struct trace_row *row)
{
    if (reader->has_last && row->t_s < reader->last_s) {
        reader->file->backwards++;
        return;
    }
    reader->last_s = row->t_s;
    reader->has_last = true;
    reader->file->rows++;
    reader->each(reader->context, row);
}

static void take_line(struct reader *reader, const char *at, const char *end)
{
    struct trace_row row;
    if (end > at && end[-1] == '\r')
        end--;
    if (!reader->begun) {
        reader->begun = true;
        if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
            at += 3;
        /* A header is what does not begin with a figure. */
        if (end > at && (unsigned)(*at - '0') >= 10)
            return;
    }
    if (at == end)
        return;
    if (!read_row(reader, at, end, &row)) {
        reader->file->damaged++;
        return;
    }
    take_row(reader, &row);
}

/* All whole lines; gives the bytes used. */
static size_t take_lines(struct reader *reader, const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count, *line;
    struct trace_row row;
    while (at < end) {
        if (reader->begun && !reader->skipping && (line = read_plain_row(reader, at, end, &row))) {
            take_row(reader, &row);
            at = line;
            continue;
        }
        line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            break;
        if (!reader->skipping)
            take_line(reader, at, line);
        reader->skipping = false;
        at = line + 1;
    }
    return (size_t)(at - bytes);
}

static void take_rest(struct reader *reader, size_t rest)
{
    /* A header alone without an end is no row that was lost. */
    reader->file->cut = rest > 0 || reader->skipping;
}

void trace_parse(const char *bytes, size_t count, size_t columns, trace_each_fn *each, void *context,
                 struct trace_file *out)
{
    *out = (struct trace_file){.empty = count == 0};
    struct reader reader = {.columns = columns, .each = each, .context = context, .file = out};
    take_rest(&reader, count - take_lines(&reader, bytes, count));
}

static bool read_all(struct reader *reader, int fd, char *buffer, struct err *err)
{
    size_t kept = 0;
    for (;;) {
        ssize_t count = read(fd, buffer + kept, TRACE_BUFFER - kept);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_sys(err, "read");
        if (count == 0)
            break;
        reader->file->empty = false;
        kept += (size_t)count;
        size_t used = take_lines(reader, buffer, kept);
        kept -= used;
        if (kept && used)
            memmove(buffer, buffer + used, kept);
        if (kept == TRACE_BUFFER) {
            reader->file->damaged += !reader->skipping;
            reader->skipping = true;
            kept = 0;
        }
    }
    take_rest(reader, kept);
    return true;
}

bool trace_read(int dir, const char *name, size_t columns, char *buffer, trace_each_fn *each, void *context,
                struct trace_file *out, struct err *err)
{
    *out = (struct trace_file){.missing = true};
    AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENOTDIR || err_sys(err, "open %s", name);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return true;
    *out = (struct trace_file){.empty = true};
    struct reader reader = {.columns = columns, .each = each, .context = context, .file = out};
    return read_all(&reader, fd, buffer, err) || err_wrap(err, "%s", name);
}
