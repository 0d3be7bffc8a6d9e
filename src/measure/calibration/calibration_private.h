/* calibration_private: the child processes of a calibration. Private to calibration_*.c. */
#ifndef TARE_MEASURE_CALIBRATION_CALIBRATION_PRIVATE_H
#define TARE_MEASURE_CALIBRATION_CALIBRATION_PRIVATE_H

#include "measure/calibration/calibration.h"

#include <sys/types.h>

enum { CALIBRATION_REASON_SIZE = 200 };

enum message_kind { MESSAGE_READING, MESSAGE_READY, MESSAGE_LOADED, MESSAGE_DONE, MESSAGE_FAILED };

struct message {
    int32_t kind, series;
    struct sensor_reading reading;        /* READING; LOADED: begin, end, and how uncertain (ns) */
    char reason[CALIBRATION_REASON_SIZE]; /* FAILED */
};

enum calibration_role {
    ROLE_WATCH, /* after READY one struct calibration_look each CALIBRATION_WATCH_NS */
    ROLE_READ,  /* readings, as often as the driver gives them */
    ROLE_LOAD   /* loads the GPU as it is ordered to */
};

struct child {
    pid_t pid;
    int from, to; /* -1: none */
};
#define CHILD_NONE ((struct child){.from = -1, .to = -1})

/* Starts a process that ends with this one. uuid: of the GPU that is loaded. */
bool calibration_child_start(const struct calibration_options *options, enum calibration_role role,
                             const char *uuid, struct child *out, struct err *err);
void calibration_child_stop(struct child *child);

/* The next message, waited for until then. False: it failed, ended or does not answer. */
bool calibration_child_next(struct child *child, int64_t deadline_ns, struct message *out,
                            struct err *err);
/* The next look of a ROLE_WATCH. */
bool calibration_child_look(struct child *child, int64_t deadline_ns, struct calibration_look *out,
                            struct err *err);

#endif
