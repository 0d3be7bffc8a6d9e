/* holder: who holds a lock: one line of JSON that the holder itself writes into the lock's file.
 * For whoever reads it, it is what a stranger says. */
#ifndef TARE_MACHINE_GPU_HOLDER_H
#define TARE_MACHINE_GPU_HOLDER_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GPU_HOLDER_TEXT_SIZE = 256 };

/* Texts that were read are UTF-8 without control characters, cut where they are too long; "" where
 * there is none. */
struct gpu_holder {
    pid_t pid;           /* 0: unknown */
    uint64_t start_time; /* of that process: clock ticks after boot; 0: unknown */
    /* in which pid is its number: the inode of /proc/self/ns/pid; 0: unknown */
    uint64_t pid_namespace;
    int64_t since_s; /* seconds of the clock on the wall; 0: unknown */
    char user[GPU_HOLDER_TEXT_SIZE];
    char host[GPU_HOLDER_TEXT_SIZE];
    char run[GPU_HOLDER_TEXT_SIZE]; /* the run's folder, absolute; cut from its front */
};

/* This process, since now; start_time is the caller's to fill. */
void gpu_holder_self(struct gpu_holder *out);
void gpu_holder_set_run(struct gpu_holder *holder, const char *run);

/* The same process: pid, start and namespace, all known. */
bool gpu_holder_same(const struct gpu_holder *a, const struct gpu_holder *b);

/* "PID:START_TIME:PID_NAMESPACE,...": how a run tells its jobs whose locks they are under. Reads at
 * most max of them, up to the first that is malformed; gives how many. */
void gpu_holder_print_names(const struct gpu_holder *holders, size_t count, struct text *out);
size_t gpu_holder_parse_names(const char *text, struct gpu_holder *out, size_t max);

/* The line, with its end. */
void gpu_holder_print(const struct gpu_holder *holder, struct text *out);

/* Reads the first line. False: it is not there (yet) or says nothing; out is then empty. */
bool gpu_holder_parse(const char *bytes, size_t count, struct gpu_holder *out);

#endif
