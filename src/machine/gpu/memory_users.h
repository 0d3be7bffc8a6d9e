/* memory_users: how much GPU memory each process holds, as a vendor's own library says. It is asked
 * in a child process with a deadline: a driver that hangs takes that child, and nobody else. */
#ifndef TARE_MACHINE_GPU_MEMORY_USERS_H
#define TARE_MACHINE_GPU_MEMORY_USERS_H

#include "machine/gpu/vendor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One process on one GPU. */
struct gpu_memory_use {
    const struct gpu_vendor *vendor;
    /* as the driver numbers it: in a container it may be the host's number */
    pid_t pid;
    int minor;                /* of its device file; -1: unknown */
    char uuid[GPU_TEXT_SIZE]; /* "" unknown */
    uint64_t bytes;
    bool has_bytes;
};

struct gpu_memory_users {
    struct gpu_memory_use *items; /* by pid, then as the driver orders its GPUs */
    size_t count;
    size_t failed; /* GPUs that did not answer */
};

/* Adds those of a vendor's GPUs to out, which begins all zero. library: a name for dlopen; NULL:
 * the usual one. Waits at most about timeout_s, for the child too. Call from a program without
 * threads. False: err says why they are not known; out is as before. */
bool gpu_memory_users_read(const struct gpu_vendor *vendor, const char *library, double timeout_s,
                           struct gpu_memory_users *out, struct err *err);
void gpu_memory_users_fini(struct gpu_memory_users *memory);

/* On all GPUs together. False: the driver does not name this process, or not how much it holds. */
bool gpu_memory_users_of(const struct gpu_memory_users *memory, pid_t pid, uint64_t *bytes);

#endif
