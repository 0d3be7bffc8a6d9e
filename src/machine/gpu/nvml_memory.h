/* nvml_memory: how much memory of NVIDIA's GPUs each process holds, as the driver's own library says. It is asked in a child
 * process with a deadline: a driver that hangs takes that child, and nobody else. */
#ifndef TARE_MACHINE_GPU_NVML_MEMORY_H
#define TARE_MACHINE_GPU_NVML_MEMORY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NVML_UUID_SIZE = 96 };

/* One process on one GPU. */
struct nvml_use {
    pid_t pid;                 /* as the driver numbers it: in a container it may be the host's number */
    int minor;                 /* of /dev/nvidiaN; -1: unknown */
    char uuid[NVML_UUID_SIZE]; /* "" unknown */
    uint64_t bytes;
    bool has_bytes;
};

struct nvml_memory {
    struct nvml_use *items; /* by pid, then as the driver orders its GPUs */
    size_t count, capacity;
    size_t failed; /* GPUs that did not answer */
};

/* library: a name for dlopen; NULL: the usual one. Waits at most about timeout_s, for the child too. Call from a program without threads. False: err
 * says why it is not known; out is empty. */
bool nvml_memory_read(const char *library, double timeout_s, struct nvml_memory *out, struct err *err);
void nvml_memory_fini(struct nvml_memory *memory);

/* On all GPUs together. False: the driver does not name this process, or not how much it holds. */
bool nvml_memory_of(const struct nvml_memory *memory, pid_t pid, uint64_t *bytes);

#endif
