/* energy_files: energy/gpu.csv and energy/cpu.csv of an attempt, a row a second and device, written as the readings
 * come: what was written before a crash stays. Private to run/. */
#ifndef TARE_RUN_ENERGY_FILES_H
#define TARE_RUN_ENERGY_FILES_H

#include "base/err.h"
#include "measure/energy_meters.h"

#include <stdbool.h>
#include <stdint.h>

enum { ENERGY_DOMAINS_MAX = 64 };

struct energy_files {
    int gpu, cpu; /* -1: not open yet */
    bool failed;  /* err says why; nothing more is written */
    struct err err;
    struct energy_counter {
        bool begun;
        struct counter_reading first, last;
    } counters[ENERGY_DOMAINS_MAX];
};

void energy_files_close(struct energy_files *files);

/* folder: the experiment's; start_ns: the attempt's. */
void energy_files_sample(struct energy_files *files, int folder, int64_t start_ns, const char *label,
                         const struct gpu_sample *sample);
void energy_files_counter(struct energy_files *files, int folder, int64_t start_ns, size_t domain, const char *name,
                          const struct counter_reading *reading);

#endif
