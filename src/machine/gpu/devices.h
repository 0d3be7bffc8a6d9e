/* devices: the GPUs of this machine, from what the drivers' kernel modules say in /proc: no library
 * of a driver is needed, and no GPU is woken. */
#ifndef TARE_MACHINE_GPU_DEVICES_H
#define TARE_MACHINE_GPU_DEVICES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct gpu_vendor;

enum { GPU_MODEL_SIZE = 128, GPU_UUID_SIZE = 64, GPU_BUS_SIZE = 32, GPU_FIRMWARE_SIZE = 64 };

/* Texts are printable ASCII, "" where the driver does not say. */
struct gpu_device {
    const struct gpu_vendor *vendor;
    char model[GPU_MODEL_SIZE]; /* "NVIDIA H200" */
    /* the vendor's prefix and hexadecimal digits; "" until the GPU was used once */
    char uuid[GPU_UUID_SIZE];
    char bus[GPU_BUS_SIZE]; /* its PCI address: "0000:c1:00.0" */
    char firmware[GPU_FIRMWARE_SIZE];
    int minor;     /* of its device file; -1: unknown */
    bool excluded; /* taken out by an administrator: no program sees it */
};

struct gpu_devices {
    struct gpu_device *items; /* by vendor in the order of the list, each by PCI address */
    size_t count;
};

/* Those of all vendors that <root>/proc shows; root "" is this machine. No driver: none, true.
 * False: something cannot be read; out then holds what could be. */
bool gpu_devices_read(const char *root, struct gpu_devices *out, struct err *err);
void gpu_devices_fini(struct gpu_devices *devices);

/* Its number among those that are not excluded: among the vendor's, by which the vendor's own tools
 * and library name it; vendor NULL: among all. */
size_t gpu_devices_number(const struct gpu_devices *devices, const struct gpu_vendor *vendor,
                          size_t place);

/* Whether any is of that vendor. */
bool gpu_devices_have(const struct gpu_devices *devices, const struct gpu_vendor *vendor);

#endif
