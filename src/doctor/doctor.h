/* doctor: is this machine fit to measure? Which layers of containment hold, where the state is, the
 * GPUs, who holds them and what they do now, sensors, the machine; each with the reason and the
 * mend where something is missing. */
#ifndef TARE_DOCTOR_DOCTOR_H
#define TARE_DOCTOR_DOCTOR_H

#include "base/text.h"
#include "machine/contain/contain.h"
#include "machine/gpu/vendor.h"
#include "machine/sensors/meter.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum finding_mark {
    FINDING_YES,       /* "ok" */
    FINDING_NO,        /* "warn": something is missing, or makes figures wander */
    FINDING_FACT,      /* "info": neither */
    FINDING_UNCHECKED, /* "unchecked": nobody can tell here, which is no good news */
    FINDING_WRONG      /* "fail": not fit to measure */
};

struct finding {
    const char *section; /* "Containment" */
    const char *name;    /* "pid namespace": stays the same, for programs */
    enum finding_mark mark;
    char *text;   /* one sentence */
    char *reason; /* why it is not there, or NULL */
    char *mend;   /* a command, or what to do; NULL: none is known, or none is needed */
    bool advice;  /* mend is no command that could be copied */
    json_t *data; /* the same for programs, where the text holds more than one thing; or NULL */
};

struct findings {
    struct finding *items;
    size_t count;
};

/* On whose behalf, and where /proc, /sys and /run are looked into. */
struct doctor_machine {
    const char *root; /* "": this machine; else a folder in which tests play another */
    uid_t uid;
    const char *user;
};

/* Tries each sensor of energy, for some seconds at most. host (may be NULL): the counters, opened
 * before root was given up. */
struct host_meter;

struct doctor_page {
    const struct containment *containment;
    const struct findings *findings;
    bool kernel_backed;
    size_t width; /* columns */
    bool colour;
};

/* The last mount of a file system of this type, at this point (NULL: any). False: there is none. */
struct mount;

/* Tries what the meters of GPUs give: how often, at which cost, and why something is missing. */

struct doctor_look {
    struct meter *meter; /* the caller's; NULL: it could not be started */
    double trace_us;     /* what a look at the samples cost; 0: unknown */
    struct meter_group groups[METER_GROUPS_MAX];
    size_t group_count; /* 0: unknown */
};

/* Started, without a wait; NULL: err. */
struct energy_meters_gpu;

/* What is made of a look at one GPU. Pure but for reading who a process is. */

struct doctor_gpu {
    const char *label;                   /* "GPU 0" */
    const struct gpu_vendor *vendor;     /* NULL: what is to be done is not asked */
    const char *proc;                    /* "/proc" */
    const struct gpu_readings *readings; /* NULL: it did not answer: why */
    const struct gpu_identity *identity; /* with readings */
    const struct gpu_users *users;       /* NULL: not told: users_why */
    const char *why, *users_why;
};

#endif
