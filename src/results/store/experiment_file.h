/* experiment_file: reads the memory of an experiment from experiment.json. */
#ifndef TARE_RESULTS_STORE_EXPERIMENT_FILE_H
#define TARE_RESULTS_STORE_EXPERIMENT_FILE_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>

struct experiment_epoch {
    char *part; /* "epoch", or NULL: the same */
    struct reading gpu_mem_peak_mib;
};

/* The allocator setting in the training's environment, after an out-of-memory failure. */
struct experiment_oom {
    bool has_setting;
    char *allocator_setting; /* NULL: not set */
};

struct experiment_attempt {
    struct experiment_oom oom;
};

struct experiment_file {
    double batch_size;               /* of the training that is measured; 0: not known */
    struct experiment_epoch *epochs; /* of the last attempt */
    size_t epoch_count;
    struct experiment_attempt *attempts;
    size_t attempt_count;
};

/* folder: the experiment's, open. False: it cannot be read, and out is empty. */
bool experiment_file_read(int folder, struct experiment_file *out);
void experiment_file_fini(struct experiment_file *file);

#endif
