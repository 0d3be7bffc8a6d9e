/* meter: the runner's side of a GPU's meter process: orders out, answers in, in an event loop that
 * is never kept waiting. A meter that dies, or hangs in the driver, is given up and replaced; the
 * gap is told. */
#ifndef TARE_MACHINE_SENSORS_METER_H
#define TARE_MACHINE_SENSORS_METER_H

#include "base/err.h"
#include "machine/sensors/protocol.h"
#include "machine/sensors/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct meter;

/* From the last good answer to the first after it. */
struct meter_gap {
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end 0: it lasts */
    const char *reason;       /* one line */
};

struct meter_options {
    const char *device;              /* UUID or the driver's number */
    const char *program;             /* NULL: this one */
    const char *library;             /* NULL: the driver's usual one */
    const struct gpu_vendor *vendor; /* NULL: the first of the list */
    double start_timeout_s;          /* 0: 60, as the driver may have to wake the GPUs first */
    double request_timeout_s;        /* 0: 10 */
    double backoff_s; /* 0: 0.5; before the first replacement, doubled for each next one */
    /* 0: 5; replacements in a row, each short-lived, before it is given up */
    unsigned tries;
    double time_scale; /* 0: 1; of these times (machine/sensors/time_scale.h) */
    /* NULL: not wanted. Called when a gap begins (end_ns 0), and again when it has ended. */
    void (*gap)(void *data, const struct meter_gap *gap);
    void *data;
};

/* All strings are copied. NULL: no process could be started. */
struct meter *meter_start(const struct meter_options *options, struct err *err);

enum meter_state {
    METER_STARTING, /* orders are taken already */
    METER_READY,
    METER_DOWN,        /* to be replaced in a moment */
    METER_UNAVAILABLE, /* no driver, no such GPU, or given up: meter_reason says why */
    METER_ENDED
};
enum meter_state meter_state(const struct meter *meter);
const char *meter_reason(const struct meter *meter);

/* Readable (poll) when meter_take has something to do; the same for the meter's whole life. */
int meter_fd(const struct meter *meter);

/* False: there is no meter now, or too many orders wait. Else exactly one answer with this id will
 * come. */
bool meter_request(struct meter *meter, enum meter_kind kind, uint64_t id);
size_t meter_pending(const struct meter *meter);

struct gpu_sample {
    int64_t t_ns;
    struct gpu_readings readings;
    /* the most that was in use since the sample before, by looks between them */
    struct reading memory_peak_bytes;
    int64_t memory_peak_ns;
    uint32_t memory_every_ms; /* between two of these looks */
};

struct meter_response {
    enum meter_kind kind; /* HELLO comes by itself when a meter is ready, with id 0 */
    uint64_t id;
    enum meter_status status;
    /* of the reading; of LOST: when it was sent, when it was given up */
    int64_t began_ns, ended_ns;
    /* of a status that is not OK; of USERS also why some are not told */
    char text[METER_TEXT_SIZE];
    struct counter_reading counter[METER_COUNTER_MAX];
    size_t counter_count;
    size_t power_count;   /* samples that came */
    size_t power_refused; /* samples of the driver that were garbage */
    double trace_us;      /* what the look at the driver's samples cost; 0: there was none */
    bool has_sample;
    struct gpu_sample sample;
    struct gpu_users users;                      /* of USERS */
    struct meter_group groups[METER_GROUPS_MAX]; /* of GROUPS */
    size_t group_count;
};

/* Does what is to be done and gives the next answer; false: nothing more now. Never waits. */
bool meter_take(struct meter *meter, struct meter_response *out);

struct meter_description {
    struct gpu_identity identity;
    bool has_counter, has_trace;
    char counter_why[METER_TEXT_SIZE], trace_why[METER_TEXT_SIZE]; /* why there is none */
};
/* NULL until the first HELLO. */
const struct meter_description *meter_describe(const struct meter *meter);

/* All that was read since the start, or since meter_forget. Borrowed until the next meter_take. */
const struct series *meter_series(const struct meter *meter);
const struct gpu_sample *meter_samples(const struct meter *meter, size_t *count);
/* Drops what was read before this time. */
void meter_forget(struct meter *meter, int64_t before_ns);

pid_t meter_pid(const struct meter *meter); /* 0: none now */

/* Ends it and frees; a gap that lasts is told as ended now. Waits a fifth of a second at most, for
 * a meter that did not hang. NULL: nothing. */
void meter_free(struct meter *meter);

#endif
