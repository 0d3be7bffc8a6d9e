/* clean: what the parts of the command clean share. */
#ifndef TARE_DOCTOR_CLEAN_H
#define TARE_DOCTOR_CLEAN_H

#include "base/text.h"
#include "machine/state/leftovers.h"

#include <stdbool.h>
#include <stddef.h>

/* Where processes and devices are looked for. */
extern const struct census_roots clean_roots;

struct clean {
    struct clean_caller *caller; /* of sudo; NULL: none */
    struct state *state;         /* NULL: there is none */
    struct census_roots roots;
    bool all_users; /* root ends what other users' dead runs left, too */
};

/* What there is at one moment. */
struct clean_view {
    struct leftovers leftovers;
    bool has_driver; /* of GPUs, of a vendor that is known */
    bool has_memory;
    struct gpu_memory_users memory;
    struct err memory_err; /* of has_driver without has_memory: why */
    char *governor;        /* that the CPU's is still a dead run's, in words; NULL: it is not */
};

#endif
