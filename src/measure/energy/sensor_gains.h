/* sensor_gains: gains of single GPUs' sensors that an outside meter has told, as files of the user's state folder. They stand
 * before what the vendor states of the model. */
#ifndef TARE_MEASURE_ENERGY_SENSOR_GAINS_H
#define TARE_MEASURE_ENERGY_SENSOR_GAINS_H

#include "machine/gpu/vendor.h"
#include "measure/energy/window.h"

/* How the power sensor of each generation of GPUs behaves, as far as anybody has published or measured
 * it. What the meter hands to the window estimator, until a calibration of the very GPU replaces it. */

extern const struct sensor_gain sensor_gain_rapl;

extern const struct sensor_profile sensor_profile_unknown; /* the widest bounds */

/* The vendor's row of a model as the driver names it ("NVIDIA H100 80GB HBM3"); sensor_profile_unknown when it is in none, or vendor
 * is NULL. */
const struct sensor_profile *sensor_profile_find(const struct gpu_vendor *vendor, const char *model);

void sensor_behaviour_apply(const struct sensor_behaviour *behaviour, struct window_sensor *sensor);

struct sensor_gain_entry {
    char *uuid;
    double bound; /* by which share its sensor is off at most */
    char *source; /* "external meter dc.csv, 2026-11-23" */
};

struct sensor_gains {
    struct sensor_gain_entry *items;
    size_t count, room;
};

/* Of one GPU; NULL: none is known. The result is the list's. */
const struct sensor_gain_entry *sensor_gains_find(const struct sensor_gains *gains, const char *uuid);
void sensor_gains_fini(struct sensor_gains *gains);

/* Adds those of a folder whose GPUs are not in the list yet; a file that is none is left out. */
void sensor_gains_read(int dir, struct sensor_gains *out);

/* Replaces the GPU's file in a folder. False: its UUID is no name for a file, or it cannot be written. */
bool sensor_gains_write(int dir, const struct sensor_gain_entry *entry, struct err *err);

/* The file's contents. False: they are not those of such a file. out: strings of its own. */
bool sensor_gains_parse(const json_t *json, struct sensor_gain_entry *out);

#endif
