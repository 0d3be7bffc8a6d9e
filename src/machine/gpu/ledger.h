/* ledger: what a job allocates on its GPUs, counted and limited by libtare-cuda.so (src/preload)
 * inside its processes: the table they share (base/gpu_ledger.h), the environment that makes them
 * use it, and what is in it. */
#ifndef TARE_MACHINE_GPU_LEDGER_H
#define TARE_MACHINE_GPU_LEDGER_H

#include "base/err.h"
#include "base/strv.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How much a job may hold on each GPU: bytes, or a share of the GPU's own memory; both 0: no
 * limit. */
struct gpu_limit {
    uint64_t bytes;
    double share; /* above 0, up to 1 */
};

bool gpu_limit_is_set(const struct gpu_limit *limit);

struct ledger;

/* library: of libtare-cuda.so; refused are one that is not for this machine, and a path that
 * LD_PRELOAD cannot say. */
struct ledger *ledger_new(const char *library, const struct gpu_limit *limit, struct err *err);
void ledger_free(struct ledger *ledger);

/* To be shared with the job's init (job_request.shared_fd). */
int ledger_fd(const struct ledger *ledger);

/* LD_PRELOAD, behind whatever is there, and where the table is found. trace: a file for every
 * event, or NULL. */
void ledger_tell_job(const struct ledger *ledger, const char *trace, struct strv *environment);

/* The job's init lives, under this number: from now on processes of its pid namespace that have
 * ended are told from those that have not. */
void ledger_watch(struct ledger *ledger, pid_t init);

struct ledger_sum {
    uint64_t attached; /* processes that have asked about or allocated GPU memory */
    uint64_t unplaced;
    uint64_t refused;     /* requests, by the limit */
    uint64_t live_peak;   /* of the GPU where it is largest, bytes */
    bool context_assumed; /* the driver did not tell of some process's context */
    uint64_t over;        /* bytes beyond the limit at the worst moment */
};
void ledger_read(const struct ledger *ledger, struct ledger_sum *out);

/* What a job holds on one GPU now, as counted; bytes. */
struct ledger_gpu {
    uint64_t held; /* of all processes that are alive, without their contexts */
    uint64_t peak; /* the most that one process held; with several processes the most of any one */
    uint64_t sum_peak; /* the most that all that were alive together held; at least peak */
    /* that ever held any of it; of more than the table has places for: those with one */
    size_t processes;
};

/* uuid: as the driver writes it, "GPU-..."; false: no process has used that GPU. */
bool ledger_look(const struct ledger *ledger, const char *uuid, struct ledger_gpu *out);

/* As docs/reference/files.md describes gpu_memory. */
json_t *ledger_json(const struct ledger *ledger);

#endif
