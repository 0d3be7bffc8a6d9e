/* machine: machine.json: the machine, the software and the code of a session. */
#ifndef TARE_RUN_ENVIRONMENT_MACHINE_H
#define TARE_RUN_ENVIRONMENT_MACHINE_H

#include "machine/contain/contain.h"
#include "plan/plan.h"

struct energy_meters_options; /* measure/energy_meters.h */

/* Writes machine.json once per session; the previous one becomes machine.<n>.json. Starts no shell.
 */
struct cpu_sets; /* run/environment/cpu_sets.h */
struct machine_facts {
    const struct cpu_sets *sets; /* NULL: none */
    const struct energy_meters_options
        *energy_meters;     /* whose calibrations are listed; NULL: none */
    const json_t *software; /* machine_software_json */
    int64_t session;        /* 0: none */
};
bool machine_write(int dir, const struct plan *plan, const struct containment *containment,
                   const struct machine_facts *facts, struct err *err);

/* The part that is compared between sessions: drivers, interpreters, code. A new reference. */
json_t *machine_software_json(const struct plan *plan, const struct containment *containment,
                              const struct strv *environment);

#endif
