/* doctor_look: tries what the meters of GPUs give: how often, at which cost, and why something is missing. */
#ifndef TARE_DOCTOR_DOCTOR_LOOK_H
#define TARE_DOCTOR_DOCTOR_LOOK_H

#include "doctor/doctor.h"
#include "machine/sensors/meter.h"

struct doctor_look {
    struct meter *meter; /* the caller's; NULL: it could not be started */
    double trace_us;     /* what a look at the samples cost; 0: unknown */
    struct meter_group groups[METER_GROUPS_MAX];
    size_t group_count; /* 0: unknown */
};

/* All at once: waits for the slowest of them, 4 s for it to be there and 4 s more for its answers. */
void doctor_look(struct doctor_look *looks, size_t count);

/* Half a sentence each, and the same in data. The meter is there. source: the vendor's name of its counter. */
char *doctor_look_counter(const struct doctor_look *look, const char *source, json_t *data);
char *doctor_look_trace(const struct doctor_look *look, json_t *data);

/* One finding about everything but energy. */
void doctor_look_readings(const struct doctor_look *look, const char *label, const char *section, struct findings *out);

#endif
