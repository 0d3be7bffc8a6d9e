/* exec_gpu_memory: what one command under exec allocates on its GPUs: followed and limited, told when all is over. */
#ifndef TARE_SESSION_EXEC_GPU_MEMORY_H
#define TARE_SESSION_EXEC_GPU_MEMORY_H

#include "base/err.h"
#include "base/strv.h"

#include <jansson.h>
#include <stdbool.h>

struct ledger;

/* The options on the command line: limit_text may be NULL. */
struct exec_gpu_memory {
    const char *limit_text, *trace;
    bool track;
    struct ledger *ledger; /* NULL: not asked for */
};

bool exec_gpu_memory_wanted(const struct exec_gpu_memory *memory);

/* Before the command is born; does nothing where it is not wanted. False: what was asked for cannot be held. */
bool exec_gpu_memory_prepare(struct exec_gpu_memory *memory, struct strv *environment, struct err *err);
int exec_gpu_memory_fd(const struct exec_gpu_memory *memory); /* for job_request.shared_fd */

/* The section of the JSON file; NULL: not asked for. */
json_t *exec_gpu_memory_json(const struct exec_gpu_memory *memory);

/* Lines on standard error. */
void exec_gpu_memory_show(const struct exec_gpu_memory *memory);
void exec_gpu_memory_fini(struct exec_gpu_memory *memory);

#endif
