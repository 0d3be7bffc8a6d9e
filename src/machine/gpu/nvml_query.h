/* nvml_query: the child's part of nvml_memory: loads the library, asks it, and writes the answer to a pipe. Private to gpu/. */
#ifndef TARE_MACHINE_GPU_NVML_QUERY_H
#define TARE_MACHINE_GPU_NVML_QUERY_H

#include "machine/gpu/nvml_memory.h"

enum nvml_message_kind { NVML_MESSAGE_USE = 1, NVML_MESSAGE_END, NVML_MESSAGE_FAILED };

/* Fixed size, same program on both ends. The last one is an END or a FAILED. */
struct nvml_message {
    int32_t kind;
    struct nvml_use use; /* of USE */
    uint64_t failed;     /* of END: GPUs that did not answer */
    char reason[200];    /* of FAILED */
};

void nvml_query(const char *library, int out);

#endif
