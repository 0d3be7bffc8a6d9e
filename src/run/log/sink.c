#include "run/log/sink.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ROW_MAX 80

/* A log of nothing but line ends makes a row of 30 bytes out of each byte: a capped log must not fill the disk by its
 * times. */
#define TIMES_PER_LOG 4
#define TIMES_CAP_MIN (1u << 20)

bool sink_write(struct sink *sink, const char *what, const char *bytes, size_t count, struct err *err)
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

bool sink_close(struct sink *sink, const char *what, struct err *err)
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

static char *add_number(char *at, uint64_t number)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
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

static char *add_seconds(char *at, int64_t elapsed_ns)
{
    if (elapsed_ns < 0)
        elapsed_ns = 0;
    uint64_t micros = (uint64_t)elapsed_ns / 1000;
    at = add_number(at, micros / 1000000);
    *at++ = '.';
    uint64_t rest = micros % 1000000;
    for (uint64_t unit = 100000; unit; unit /= 10)
        *at++ = (char)('0' + rest / unit % 10);
    return at;
}

/* All lines of one read have one time: it is written once and copied. */
static void set_stamp(struct times *times, int64_t elapsed_ns)
{
    char *at = times->stamp;
    *at++ = ',';
    at = add_seconds(at, elapsed_ns);
    *at++ = ',';
    times->stamp_length = (size_t)(at - times->stamp);
    times->stamp_ns = elapsed_ns;
}

static void write_out(struct times *times)
{
    if (!sink_write(&times->sink, "the line times", times->buffer, times->used, &times->why))
        times->broken = true;
    times->used = 0;
}

void times_init(struct times *times, int fd, uint64_t log_cap)
{
    static const char header[] = "line,seconds,offset\n";
    times->sink = (struct sink){.fd = fd};
    if (log_cap)
        times->sink.cap =
            log_cap < UINT64_MAX / TIMES_PER_LOG - TIMES_CAP_MIN ? log_cap * TIMES_PER_LOG + TIMES_CAP_MIN : 0;
    times->used = sizeof header - 1;
    memcpy(times->buffer, header, times->used);
}

void times_add(struct times *times, uint64_t line, int64_t elapsed_ns, uint64_t offset)
{
    struct sink *sink = &times->sink;
    if (sink->fd < 0 || sink->failed || sink->capped)
        return;
    if (sink->cap && sink->kept + times->used + ROW_MAX > sink->cap) {
        sink->capped = true; /* whole rows only */
        return;
    }
    if (times->used + ROW_MAX > sizeof times->buffer)
        write_out(times);
    if (times->stamp_length == 0 || times->stamp_ns != elapsed_ns)
        set_stamp(times, elapsed_ns);
    char *at = add_number(times->buffer + times->used, line);
    memcpy(at, times->stamp, times->stamp_length);
    at = add_number(at + times->stamp_length, offset);
    *at++ = '\n';
    times->used = (size_t)(at - times->buffer);
}

bool times_flush(struct times *times, int64_t now_ns, bool now, struct err *err)
{
    if (times->used && (now || now_ns - times->flushed_ns >= NS_PER_S)) {
        times->flushed_ns = now_ns;
        write_out(times);
    }
    if (!times->broken)
        return true;
    times->broken = false;
    if (err)
        *err = times->why;
    return false;
}
