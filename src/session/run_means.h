/* run_means: what stands behind a call that runs experiments: what root's rights opened, and whom it then became. */
#ifndef TARE_SESSION_RUN_MEANS_H
#define TARE_SESSION_RUN_MEANS_H

#include "session/caller.h"
#include "session/governing.h"
#include "machine/sensors/host.h"

#include <stdbool.h>

struct run_means {
    struct caller caller;
    struct host_meter *host; /* opened while there were root's rights; NULL: nothing will run */
    struct governing governing;
};

struct run_means_options {
    bool will_run; /* else the caller is become, and that is all */
    const char *containment; /* the option's text */
    bool as_root, quiet;
};

/* Becomes the caller under sudo, and says so. out must be freed by run_means_fini in each case. */
bool run_means_begin(const struct run_means_options *options, struct run_means *out, struct err *err);
void run_means_fini(struct run_means *means);

#endif
