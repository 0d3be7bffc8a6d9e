/* machine: machine.json of a session: on what machine, with which software and code it runs. */
#ifndef TARE_RUN_ENVIRONMENT_MACHINE_H
#define TARE_RUN_ENVIRONMENT_MACHINE_H

#include "machine/contain/contain.h"
#include "plan/plan.h"

struct energy_meters_options; /* measure/energy_meters.h */

/* Provenance, written once per session (that of the session before becomes machine.<n>.json, n from
 * 1): machine.json (host, kernel, cpu, memory, version, GPUs by name where /proc says, containment,
 * per repository: path, git commit, dirty flag; per interpreter: path, version, packages; per
 * script: the digests of its files; the lanes' processors). Starts no shell. */
struct cpu_sets; /* run/environment/cpu_sets.h */
struct machine_facts {
    const struct cpu_sets *sets;                       /* NULL: none */
    const struct energy_meters_options *energy_meters; /* whose calibrations are used; NULL: none */
    const json_t *software;                            /* machine_software_json */
    int64_t session;                                   /* 0: none */
};
bool machine_write(int dir, const struct plan *plan, const struct containment *containment,
                   const struct machine_facts *facts, struct err *err);

/* The part of machine.json that is compared between sessions (run/environment/fingerprint.h):
 * drivers, interpreters, code. A new reference. */
json_t *machine_software_json(const struct plan *plan, const struct containment *containment,
                              const struct strv *environment);

#endif
