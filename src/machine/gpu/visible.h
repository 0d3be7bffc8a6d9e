/* visible: which of a machine's GPUs a program sees when the vendor's variable
 * (CUDA_VISIBLE_DEVICES) has this value. Pure. The rules are those of the CUDA driver, as
 * docs/reference/machine.md tells them. */
#ifndef TARE_MACHINE_GPU_VISIBLE_H
#define TARE_MACHINE_GPU_VISIBLE_H

#include "machine/gpu/vendor.h"

#include <stdbool.h>
#include <stddef.h>

struct gpu_visible {
    size_t *items; /* places in the devices, in the order in which the program counts them */
    size_t count;
    char *ended_by; /* the entry that is no GPU of this machine and ended the list, or NULL */
    /* the entry that names a GPU a second time: the program then sees none; or NULL */
    char *twice;
    /* an entry of a part of a GPU (MIG-...): it ended the list here, while the program sees that
     * part; or NULL */
    char *unsupported;
    bool guessed_number; /* numbers were used that the driver may give to other GPUs (below) */
};

/* Of the vendor's GPUs. value: NULL when the variable is not set. order: the order variable's, or
 * NULL. Numbers count GPUs by PCI address; a driver with such a variable does so itself only when
 * it has the value order_by_bus, else it puts the fastest first: with unlike models this is a
 * guess. A UUID that may be that of a GPU whose UUID the driver does not tell yet takes all of
 * these. */
void gpu_visible_find(const struct gpu_vendor *vendor, const struct gpu_devices *devices,
                      const char *value, const char *order, struct gpu_visible *out);
void gpu_visible_fini(struct gpu_visible *visible);

bool gpu_visible_has(const struct gpu_visible *visible, size_t place);

#endif
