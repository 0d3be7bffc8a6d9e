/* protocol: what the runner and the meter process of a GPU say to each other over a SOCK_SEQPACKET
 * pair: one fixed struct a message, both ends of one build. The meter says HELLO by itself, then
 * answers each order once, in turn. */
#ifndef TARE_MACHINE_SENSORS_PROTOCOL_H
#define TARE_MACHINE_SENSORS_PROTOCOL_H

#include "machine/gpu/sensor.h"
#include "machine/sensors/series.h"

#include <stdint.h>

enum meter_kind {
    METER_HELLO = 1, /* what the GPU is and has, with a first look at it; also an order: describe */
    /* the driver's samples, one read of the counter, all readings; once a second */
    METER_TICK,
    METER_EDGE,  /* the counter, read until it changes */
    METER_POWER, /* one sample of the power, for a GPU without a buffer of samples */
    METER_USERS, /* the processes on the GPU */
    /* the other readings, call by call: what each costs, and why it gives nothing */
    METER_GROUPS,
    METER_END /* no answer: the meter goes */
};

enum meter_status {
    METER_OK,
    METER_FAILED,  /* nothing could be read this time */
    METER_GONE,    /* the GPU has fallen off the bus, or its driver was unloaded */
    METER_REFUSED, /* HELLO only: no library, no driver, no such GPU */
    METER_LOST     /* never sent: the meter died or hung, and this order with it */
};

/* Bits of reply.has. */
enum {
    METER_HAS_COUNTER = 1,  /* this GPU has an energy counter */
    METER_HAS_TRACE = 2,    /* and a buffer of samples */
    METER_HAS_READINGS = 4, /* readings were taken now */
    METER_HAS_COMPUTE = 8   /* USERS: those that compute were told; else text says why not */
};

/* Bits of wire_user.bits. */
enum {
    METER_USER_COMPUTE = 1,
    METER_USER_GRAPHICS = 2,
    METER_USER_MEMORY = 4,
    METER_USER_SHARE = 8
};

#define METER_VERSION 5U

enum { METER_TEXT_SIZE = 256, METER_COUNTER_MAX = 4, METER_GROUPS_MAX = 16, METER_WHY_SIZE = 200 };

struct meter_order {
    uint32_t version, kind;
    uint64_t id;
};

struct meter_wire_user {
    int32_t pid;
    uint32_t bits;
    double memory_bytes, sm_percent;
};

/* Readings that come by one or two calls of the driver. */
struct meter_group {
    char name[32];            /* "clock.sm" */
    char why[METER_WHY_SIZE]; /* it gives nothing, or "" */
    double cost_us;
};

struct meter_reply {
    uint32_t version, kind;
    uint64_t id;
    uint32_t status, has;
    int64_t began_ns, ended_ns; /* CLOCK_MONOTONIC */
    char text[METER_TEXT_SIZE]; /* why not, or "" */
    uint32_t counter_count, power_count, user_count, group_count;
    /* samples that were garbage; samples or processes without room */
    uint32_t power_refused, left_out;
    uint32_t valid; /* bit n: readings[n] */
    /* At most: the first read, the last with the same value, and the first with another. */
    struct counter_reading counter[METER_COUNTER_MAX];
    double trace_us; /* what the samples cost; 0: they were not asked for */
    double readings[GPU_READING_COUNT];
    int64_t readings_ns;
    /* TICK: the most memory in use since the one before, and when; 0: it was not looked at in
     * between. */
    double memory_peak_bytes;
    int64_t memory_peak_ns;
    uint32_t memory_every_ms; /* how often it was looked at */
    /* HELLO */
    struct gpu_identity identity;
    char counter_why[METER_TEXT_SIZE], trace_why[METER_TEXT_SIZE]; /* why there is none */
    union {
        struct gpu_power_sample power[GPU_TRACE_MAX];
        struct meter_wire_user users[GPU_USERS_MAX]; /* USERS */
        struct meter_group groups[METER_GROUPS_MAX]; /* GROUPS */
    };
};

_Static_assert(GPU_READING_COUNT <= 32, "one bit a reading");

#endif
