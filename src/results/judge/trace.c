#include "results/judge/trace.h"
#include "base/mem.h"
#include "results/judge/numeric_cell.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A stamp of 15 digits, and for each column a comma and 8 bytes; the line's end, and 8 bytes looked
 * at together there. */
enum { MOST_STAMP = 15, LONGEST_PLAIN = MOST_STAMP + TRACE_COLUMNS * 9 + 1 + 8 };

struct reader {
    size_t columns;
    trace_each_fn *each;
    void *context;
    struct trace_file *file;
    bool begun; /* the first line, the header, is over */
    bool has_last;
    int64_t last_s;
    bool skipping; /* within a line that is longer than the buffer */
    /* the first 8 digits of the last stamp of 10, as they are written; 0: none yet */
    uint64_t stamp_head;
    int64_t stamp_base; /* and what they stand for */
    struct trace_rows rows;
};

/* Where the cell ends; a quoted one may hold commas. *after: behind its comma, or NULL at the end
 * of the line. */
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
    if (numeric_cell_read_whole(at, end, out))
        return true;
    if (numeric_cell_read(at, end, &seconds) != FIGURE_IS || seconds < 0 || seconds > 1e15)
        return false;
    *out = (int64_t)seconds;
    return true;
}

/* One row, its values where the next row of the batch goes. */
static bool read_row(struct reader *reader, const char *at, const char *end, int64_t *t_s)
{
    const char *after;
    const char *cell = cell_end(&at, end, &after);
    if (!read_stamp(at, cell, t_s) || !after)
        return false;
    EACH (item, reader->rows.columns, reader->columns) {
        if (!after)
            return false;
        at = after;
        cell = cell_end(&at, end, &after);
        /* A figure with commas in it, not quoted, can be told where it is the only one. */
        if (after && reader->columns == 1) {
            cell = end;
            after = NULL;
        }
        struct trace_column *column = item;
        enum numeric_cell_kind kind =
            numeric_cell_read(at, cell, &column->values[reader->rows.count]);
        if (kind == FIGURE_BAD)
            return false;
        column->kinds[reader->rows.count] = kind;
    }
    return !after;
}

static bool is_digit(char c)
{
    return (unsigned)(c - '0') < 10;
}

/* Eight bytes as one number, the first the lowest. */
static uint64_t eight(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return le64toh(bytes);
}

/* Digits alone, then a comma. The first eight digits change once in a hundred seconds: mostly two
 * are read. Gives where the comma stands; NULL: it is none of that kind. */
static const char *read_plain_stamp(struct reader *reader, const char *at, int64_t *t_s)
{
    if (eight(at) == reader->stamp_head && is_digit(at[8]) && is_digit(at[9]) && at[10] == ',') {
        int tens = at[8] - '0', ones = at[9] - '0';
        *t_s = reader->stamp_base + (10 * tens + ones);
        return at + 10;
    }
    const char *from = at;
    int64_t stamp = 0;
    for (; is_digit(*at) && at - from < MOST_STAMP; at++)
        stamp = stamp * 10 + (*at - '0');
    if (at == from || *at != ',')
        return NULL;
    if (at - from == 10) {
        reader->stamp_head = eight(from);
        reader->stamp_base = stamp / 100 * 100;
    }
    *t_s = stamp;
    return at;
}

/* Of eight bytes from which '0' was taken by exclusive or: the highest bit of the first that is no
 * digit. (What is set behind it means nothing.) */
static uint64_t no_digits(uint64_t bytes)
{
    return ((bytes + UINT64_C(0x7676767676767676)) | bytes) & UINT64_C(0x8080808080808080);
}

static unsigned first_byte(uint64_t mask)
{
    return (unsigned)__builtin_ctzll(mask) / 8;
}

/* Up to seven digits, the first in the lowest byte: pairs, then fours, then all of them are put
 * together at once. */
static uint32_t put_together(uint64_t digits, unsigned count)
{
    digits <<= 64 - 8 * count;
    digits = digits * 10 + (digits >> 8);
    uint64_t low = (digits & UINT64_C(0xff000000ff)) * UINT64_C(0xf424000000064);
    uint64_t high = (digits >> 16 & UINT64_C(0xff000000ff)) * UINT64_C(0x271000000001);
    return (uint32_t)((low + high) >> 32);
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Of digits from which the point was taken. Both parts are exact, so one division rounds once, as
 * strtod does. */
static ALWAYS_INLINE const char *take_fraction(const char *at, uint64_t digits, unsigned whole,
                                               unsigned fraction, double *out)
{
    static const double tenths[] = {1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    *out = put_together(digits, whole + fraction) / tenths[fraction & 7];
    return at + whole + 1 + fraction;
}

/* So many digits stand there; what comes behind them? */
static ALWAYS_INLINE const char *take_digits(const char *at, uint64_t bytes, unsigned whole,
                                             double *out)
{
    if (at[whole] != '.') {
        *out = put_together(bytes, whole);
        return at + whole;
    }
    uint64_t before = (UINT64_C(1) << 8 * whole) - 1;
    uint64_t digits = (bytes & before) | (bytes >> 8 & ~before) | UINT64_C(0x80) << 56;
    unsigned count = first_byte(no_digits(digits));
    if (count <= whole || count == 7)
        return NULL;
    switch (count - whole) {
    case 1:
        return take_fraction(at, digits, whole, 1, out);
    case 2:
        return take_fraction(at, digits, whole, 2, out);
    default:
        return take_fraction(at, digits, whole, count - whole, out);
    }
}

/* Up to seven bytes of digits with at most one point. Gives where what follows stands; NULL:
 * something else, or longer. The frequent lengths have code of their own: the processor guesses the
 * branch and reads on behind it, where it would have to wait for a computed length. */
static inline const char *read_plain_value(const char *at, double *out)
{
    uint64_t bytes = eight(at) ^ UINT64_C(0x3030303030303030);
    uint64_t mask = no_digits(bytes);
    if (!mask)
        return NULL;
    unsigned whole = first_byte(mask);
    switch (whole) {
    case 0:
        return NULL;
    case 1:
        return take_digits(at, bytes, 1, out);
    case 2:
        return take_digits(at, bytes, 2, out);
    case 3:
        return take_digits(at, bytes, 3, out);
    default:
        return take_digits(at, bytes, whole, out);
    }
}

/* A row as nearly all of them are, "1763455019,74.69\n", read in one go: digits, and for each value
 * digits with at most one point, or N/A. Gives where the next line begins; NULL: this line wants
 * more care. */
static const char *read_plain_row(struct reader *reader, const char *at, const char *end,
                                  int64_t *t_s)
{
    if (end - at < LONGEST_PLAIN)
        return NULL; /* so that nothing below looks behind the end */
    at = read_plain_stamp(reader, at, t_s);
    size_t count = reader->rows.count;
    for (size_t i = 0; at && i < reader->columns; i++) {
        struct trace_column *column = &reader->rows.columns[i];
        if (*at++ != ',')
            return NULL;
        if (at[0] == 'N' && at[1] == '/' && at[2] == 'A') {
            column->kinds[count] = FIGURE_ABSENT;
            at += 3;
            continue;
        }
        column->kinds[count] = FIGURE_IS;
        at = read_plain_value(at, &column->values[count]);
    }
    return at && *at == '\n' ? at + 1 : NULL;
}

static void hand_over(struct reader *reader)
{
    if (reader->rows.count)
        reader->each(reader->context, &reader->rows);
    reader->rows.count = 0;
}

/* In order, or counted. */
static inline void take_row(struct reader *reader, int64_t t_s)
{
    if (reader->has_last && t_s < reader->last_s) {
        reader->file->backwards++;
        return;
    }
    reader->last_s = t_s;
    reader->has_last = true;
    reader->file->rows++;
    reader->rows.t_s[reader->rows.count++] = t_s;
    if (reader->rows.count == TRACE_ROWS)
        hand_over(reader);
}

static void take_line(struct reader *reader, const char *at, const char *end)
{
    int64_t t_s;
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
    if (!read_row(reader, at, end, &t_s)) {
        reader->file->damaged++;
        return;
    }
    take_row(reader, t_s);
}

/* All whole lines; gives the bytes used. */
static size_t take_lines(struct reader *reader, const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count, *line;
    int64_t t_s;
    while (at < end) {
        if (reader->begun && !reader->skipping && (line = read_plain_row(reader, at, end, &t_s))) {
            take_row(reader, t_s);
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
    hand_over(reader);
    /* A header alone without an end is no row that was lost. */
    reader->file->cut = rest > 0 || reader->skipping;
}

/* Field by field: the batch needs no zeros. */
static void begin(struct reader *reader, size_t columns, trace_each_fn *each, void *context,
                  struct trace_file *file)
{
    reader->columns = columns;
    reader->each = each;
    reader->context = context;
    reader->file = file;
    reader->begun = reader->has_last = reader->skipping = false;
    reader->stamp_head = 0;
    reader->stamp_base = 0;
    reader->rows.count = 0;
}

void trace_parse(const char *bytes, size_t count, size_t columns, trace_each_fn *each,
                 void *context, struct trace_file *out)
{
    *out = (struct trace_file){.empty = count == 0};
    struct reader reader;
    begin(&reader, columns, each, context, out);
    take_rest(&reader, count - take_lines(&reader, bytes, count));
}

/* size: what the file had when it was opened; where so much was read and no more came at once, that
 * is its end. */
static bool read_all(struct reader *reader, int fd, off_t size, char *buffer, struct err *err)
{
    size_t kept = 0;
    off_t all = 0;
    for (;;) {
        ssize_t count = read(fd, buffer + kept, TRACE_BUFFER - kept);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_sys(err, "read");
        if (count == 0)
            break;
        reader->file->empty = false;
        bool end = (all += count) == size && (size_t)count < TRACE_BUFFER - kept;
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
        if (end)
            break;
    }
    take_rest(reader, kept);
    return true;
}

bool trace_read(int dir, const char *name, size_t columns, char *buffer, trace_each_fn *each,
                void *context, struct trace_file *out, struct err *err)
{
    *out = (struct trace_file){.missing = true};
    AUTO_CLOSE int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ||
               err_sys(err, "open %s", name);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return true;
    *out = (struct trace_file){.empty = true};
    struct reader reader;
    begin(&reader, columns, each, context, out);
    return read_all(&reader, fd, st.st_size, buffer, err) || err_wrap(err, "%s", name);
}
