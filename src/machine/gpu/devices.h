/* devices: the NVIDIA GPUs of this machine, from what the driver's kernel module says in /proc: no library of the
 * driver is needed, and no GPU is woken. */
#ifndef TARE_MACHINE_GPU_DEVICES_H
#define TARE_MACHINE_GPU_DEVICES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { GPU_MODEL_SIZE = 128, GPU_UUID_SIZE = 64, GPU_BUS_SIZE = 32, GPU_FIRMWARE_SIZE = 64 };

/* Texts are printable ASCII, "" where the driver does not say. */
struct gpu_device {
    char model[GPU_MODEL_SIZE]; /* "NVIDIA H200" */
    char uuid[GPU_UUID_SIZE];   /* "GPU-" and hexadecimal digits; "" until the GPU was used once: the driver writes '?' */
    char bus[GPU_BUS_SIZE];     /* its PCI address: "0000:c1:00.0" */
    char firmware[GPU_FIRMWARE_SIZE];
    int minor;                  /* of /dev/nvidiaN; -1: unknown */
    bool excluded;              /* taken out by an administrator: no program sees it */
};

/* Reads one file "information": lines "Name: value". What is missing, too long or malformed stays empty. False: nothing
 * of a GPU is in it. */
bool gpu_information_parse(const char *bytes, size_t count, struct gpu_device *out);

struct gpu_devices {
    struct gpu_device *items; /* by PCI address */
    size_t count, capacity;
};

/* Those of <root>/proc/driver/nvidia/gpus; root "" is this machine. No such folder: none, true. False: it cannot be
 * read, or a file in it; out then holds what could be read. */
bool gpu_devices_read(const char *root, struct gpu_devices *out, struct err *err);
void gpu_devices_fini(struct gpu_devices *devices);

/* Version of the driver's kernel module, as <root>/proc/driver/nvidia/version says it ("580.159.04"): fresh, or NULL. */
char *gpu_driver_version(const char *root);

#endif
