/* sink: the files of a joblog: the log as bytes, and the times of its lines. A file that cannot be written is given
 * up after one report; what arrives later is only counted. */
#ifndef TARE_RUN_LOG_SINK_H
#define TARE_RUN_LOG_SINK_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SINK_BUFFER (32u << 10)

struct sink {
    int fd; /* -1: none */
    bool failed;
    uint64_t kept;
    uint64_t cap; /* 0: none */
    bool capped;
};

/* Writes at once, as far as the cap allows. False the first time that it fails. */
bool sink_write(struct sink *sink, const char *what, const char *bytes, size_t count, struct err *err);
bool sink_close(struct sink *sink, const char *what, struct err *err);

/* training.times.csv, buffered. Rows in the order of the lines. */
struct times {
    struct sink sink;
    size_t used;
    int64_t flushed_ns;
    bool broken;
    struct err why; /* of a write that failed inside times_add */
    int64_t stamp_ns;
    size_t stamp_length; /* 0: none yet */
    char stamp[32];      /* ",seconds," of the row last added */
    char buffer[SINK_BUFFER];
};

void times_init(struct times *times, int fd, uint64_t log_cap);
void times_add(struct times *times, uint64_t line, int64_t elapsed_ns, uint64_t offset);

/* Writes out what is buffered, when it has waited for a second or now is asked for. False: a write failed since the
 * last call, told once. */
bool times_flush(struct times *times, int64_t now_ns, bool now, struct err *err);

#endif
