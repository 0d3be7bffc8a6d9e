/* meter_private: what meter.c, meter_life.c and meter_data.c share. */
#ifndef TARE_MACHINE_SENSORS_METER_PRIVATE_H
#define TARE_MACHINE_SENSORS_METER_PRIVATE_H

#include "machine/sensors/meter.h"

#include <sys/types.h>

enum { METER_ORDERS_MAX = 64 };

struct meter_pending {
    enum meter_kind kind;
    uint64_t id;
    int64_t sent_ns;
};

struct meter {
    char *device, *program, *library;
    const struct gpu_vendor *vendor; /* or NULL */
    int64_t start_timeout_ns, request_timeout_ns, backoff_ns;
    /* a meter that lived this long was a good one: those before it are forgiven */
    int64_t long_life_ns;
    double time_scale;
    unsigned tries_max;
    void (*gap)(void *data, const struct meter_gap *gap);
    void *data;

    int epoll, timer, socket; /* socket: -1 while there is no meter */
    pid_t pid;
    enum meter_state state;
    char reason[METER_TEXT_SIZE];
    unsigned tries; /* replacements since one lived long */
    bool was_ready; /* any meter of this GPU ever was */
    int64_t spawned_ns;
    int64_t turn_ns;  /* since when the meter has been free for the order at the head */
    int64_t retry_ns; /* DOWN: when the next is started */

    struct meter_pending pending[METER_ORDERS_MAX]; /* sent, in order */
    size_t pending_count;
    struct meter_pending lost[METER_ORDERS_MAX]; /* to be answered as lost */
    size_t lost_count;
    int64_t lost_ns;

    pid_t *abandoned; /* killed, not reaped yet */
    size_t abandoned_count;

    bool gap_open;
    int64_t good_ns, gap_start_ns; /* good_ns: end of the last good answer */
    char gap_reason[METER_TEXT_SIZE];

    bool described;
    struct meter_description description;
    struct series series;
    struct gpu_sample *samples;
    size_t sample_count;
    struct meter_reply reply; /* as received */
};

/* meter_life.c */
bool meter_spawn(struct meter *meter, struct err *err);
void meter_reap(struct meter *meter); /* abandoned ones that have ended meanwhile */
void meter_drop(struct meter *meter); /* gives up the process, kills it; never waits */
/* drops it; another one follows, or none any more */
void meter_replace(struct meter *meter, const char *reason);
void meter_due(struct meter *meter); /* deadlines and replacements that are due now */
void meter_arm(struct meter *meter); /* the timer, for the next of these */
void meter_gap_begin(struct meter *meter, const char *reason);
void meter_gap_end(struct meter *meter, int64_t end_ns);

/* meter_data.c. False: no valid answer to what was asked. */
bool meter_accept(struct meter *meter, struct meter_response *out);

#endif
