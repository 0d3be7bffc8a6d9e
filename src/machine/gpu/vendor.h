/* vendor: everything in which the makers of GPUs differ, as one const table each, and the one list
 * of them (vendors.c). A new vendor is one file and one row of that list; nothing else names a
 * vendor's variables, prefixes, files or tools. */
#ifndef TARE_MACHINE_GPU_VENDOR_H
#define TARE_MACHINE_GPU_VENDOR_H

#include "machine/gpu/devices.h"
#include "machine/gpu/sensor.h"
#include "machine/gpu/sensor_profile.h"

#include <jansson.h>

/* What a person can do where something is wrong with a GPU. */
enum gpu_fix {
    GPU_FIX_BUSY,        /* something works on it */
    GPU_FIX_HELD,        /* memory is in use, and no process has it */
    GPU_FIX_SLOWED,      /* by its hardware */
    GPU_FIX_ERRORS,      /* of its memory; a command */
    GPU_FIX_PERSISTENCE, /* it is off; a command */
    GPU_FIX_PARTS,       /* it is divided; a command */
    GPU_FIX_SILENT,      /* its driver does not answer */
    GPU_FIX_UNTOLD,      /* nor says what it does now */
    GPU_FIX_COUNT
};

struct gpu_vendor {
    const char *name; /* "NVIDIA", as people write it */
    const char *id;   /* "nvidia": what meter --vendor takes */

    /* Sensors, and who uses a GPU. */
    const struct gpu_backend *backend;
    /* names another driver library; NULL: there is no such variable */
    const char *library_variable;
    /* what a result names as its source, such as "nvml-counter" */
    const char *counter_source, *power_source;
    const struct sensor_profile *profiles; /* the first row that has the model's name counts */
    size_t profile_count;

    /* Which GPUs a program sees. tare sets visible_variable, and where a number could mean several
     * GPUs order_variable too. */
    const char *runtime; /* "CUDA": whose runtime heeds the variables */
    const char *visible_variable;
    /* the value with which numbers count by PCI address; NULL: they always do */
    const char *order_variable, *order_by_bus;
    /* of every UUID: what follows is hexadecimal digits and '-' */
    const char *uuid_prefix;
    const char *part_prefix; /* of a part of a GPU; NULL: there are none */

    /* What the kernel shows, without any library and without waking a GPU. add_devices adds to out;
     * false: something could not be read, out has the rest. driver_version: fresh, NULL: no driver
     * is loaded. */
    bool (*add_devices)(const char *root, struct gpu_devices *out, struct err *err);
    char *(*driver_version)(const char *root); /* "580.159.04" */
    /* the file below root, and the name of the line, that machine.json has (NULL: driver_version)
     * ... */
    const char *driver_file, *driver_line;
    const char *driver_key; /* ... under this key */
    /* of the files /dev/NAME<minor>; those of the driver begin so, too */
    const char *device_name;
    /* below /dev: there as long as the driver is loaded, open in whoever uses a GPU; NULL: there is
     * none */
    const char *control_device;

    /* The driver's critical errors (GPU_XID_LAST): what they are called, and which ones a program
     * causes. */
    const char *fault_name;
    bool (*fault_is_of_program)(unsigned number);

    /* For people: how to get the driver's library (fresh; version may be NULL). */
    char *(*library_fix)(const char *driver_version);
    const char *fixes[GPU_FIX_COUNT]; /* NULL: none is known */

    /* its GPUs run CUDA: libtare-cuda follows and limits memory there, and calibrate has a load for
     * them */
    bool cuda;
};

/* Ended by NULL; the first one is meant where nothing says which. */
extern const struct gpu_vendor *const gpu_vendors[];

extern const struct gpu_vendor gpu_vendor_nvidia;

/* NULL: none. By id: id NULL is the first one. By UUID, or what one begins with: the prefix and
 * more. */
const struct gpu_vendor *gpu_vendor_by_id(const char *id);
const struct gpu_vendor *gpu_vendor_by_uuid(const char *uuid, size_t length);

/* Its file /dev/NAME<minor> below dev: fresh. */
char *gpu_vendor_device_path(const struct gpu_vendor *vendor, const char *dev, int minor);

/* Whose GPU's device file, or whose control device, has this name below /dev; NULL: none. */
const struct gpu_vendor *gpu_vendor_of_device(const char *name);
const struct gpu_vendor *gpu_vendor_of_control(const char *name);

/* "NVIDIA", "NVIDIA or Played": those of the list. Fresh. */
char *gpu_vendor_names(void);

/* The vendor whose driver is loaded, by its control device, from a vendor on (NULL: the first);
 * NULL: none, or no more. */
const struct gpu_vendor *gpu_vendor_loaded(const char *dev, const struct gpu_vendor *after);

/* What a machine.json says of a driver; NULL: nothing. Borrowed. */
const char *gpu_vendor_driver_in(const json_t *machine);

/* Only what can be part of a file's name: a lock is named after a UUID. Nothing is copied of
 * another. */
void gpu_device_set_uuid(struct gpu_device *device, const char *start, const char *end);
void gpu_device_set_bus(struct gpu_device *device, const char *start, const char *end);
void gpu_devices_add(struct gpu_devices *devices, const struct gpu_device *device);

/* One file "information" of NVIDIA's kernel module: lines "Name: value". What is missing, too long
 * or malformed stays empty. False: nothing of a GPU is in it. */
bool nvidia_information_parse(const char *bytes, size_t count, struct gpu_device *out);

#endif
