/* calibration: what a GPU's sensors showed under loads of known times, and the figures learnt from
 * it; as JSON, for the state folder. Both GPU libraries are used in child processes only, which end
 * with this one: either may hang. */
#ifndef TARE_MEASURE_CALIBRATION_CALIBRATION_H
#define TARE_MEASURE_CALIBRATION_CALIBRATION_H

#include "base/clock.h"
#include "base/digest.h"
#include "measure/calibration/sensor_learn.h"
#include "measure/energy/sensor_behaviour.h"

enum calibration_series {
    CALIBRATION_SAMPLES,
    CALIBRATION_POWER,
    CALIBRATION_COUNTER,
    CALIBRATION_TEMPERATURE,
    CALIBRATION_SERIES
};
extern const char *const
    calibration_series_names[CALIBRATION_SERIES]; /* "samples", "power", "counter", "temperature" */

struct calibration_readings {
    struct sensor_reading *items;
    size_t count;
};

enum calibration_outcome {
    CALIBRATION_FAILED,      /* for a reason of the machine's */
    CALIBRATION_REFUSED,     /* before it loaded the GPU: a condition does not hold */
    CALIBRATION_INTERRUPTED, /* somebody else came */
    CALIBRATION_MADE
};
extern const char *const calibration_outcome_names[];

/* What was commanded, as the GPU's timer had it, and what was read. */
struct calibration_data {
    struct load_interval *loads;
    size_t load_count;
    int64_t uncertain_ns; /* of the loads' times */
    struct calibration_readings series[CALIBRATION_SERIES];
    struct gpu_identity identity;
    enum calibration_outcome outcome;
    bool loaded;                 /* the load began */
    double seconds;              /* from the first look to the last */
    struct reading energy_j;     /* of the board in these */
    struct reading memory_bytes; /* that the load had on the GPU, with its context */
};

struct calibration_options {
    const struct gpu_backend *backend;
    const char *library, *cuda_library; /* NULL: the usual ones */
    const char *device;                 /* UUID or the driver's number */
    double seconds;
    /* every look must be one that calibration_permits, but for the load's own process and memory */
    bool alone;
    double quiet_s;  /* looks before the load */
    double return_s; /* at most so long is waited after it until power and temperature are back */
    void (*progress)(void *data, double share); /* may be NULL */
    void *progress_data;
};

/* One look at the GPU, in a child process, which has 20 s for it. */
#define CALIBRATION_WATCH_NS (200 * NS_PER_MS)
struct calibration_look {
    int64_t t_ns; /* before it */
    struct gpu_identity identity;
    struct gpu_readings readings;
    struct gpu_users users;  /* told false: users are not known */
    struct reading energy_j; /* of the counter */
};

struct calibration {
    char uuid[GPU_TEXT_SIZE], name[GPU_TEXT_SIZE], driver[GPU_TEXT_SIZE];
    char board[GPU_TEXT_SIZE], firmware[GPU_TEXT_SIZE]; /* as struct gpu_identity has them */
    char version[GPU_TEXT_SIZE];                        /* of the program that made it */
    /* of the file's bytes; "": not from a file */
    char sha256[DIGEST_HEX + 1];
    bool of_root;   /* from the folder that only root writes */
    int64_t made_s; /* seconds since 1970 */
    double seconds;
    double uncertain_s;                                    /* of the loads' times */
    struct sensor_learnt sensors[CALIBRATION_TEMPERATURE]; /* by enum calibration_series */
    /* counter over samples, or over power where there are no samples */
    struct learnt agreement;
    /* after the last load, until power stays at its final idle value */
    struct learnt idle_settle_s;
    struct learnt power_back_s, temperature_back_s; /* until they are as before the first load */
};

/* made_s and seconds stay the caller's. */
void calibration_learn(const struct calibration_data *data, struct calibration *out);

json_t *calibration_json(const struct calibration *calibration);

/* What was read from a file that anybody may have written: false where it is not one of ours.
 * Reasons of what is not known are dropped. */
bool calibration_parse(const json_t *json, struct calibration *out, struct err *err);

/* How the counter's share of its model (struct sensor_profile) was used. */
enum calibration_prior {
    CALIBRATION_PRIOR_NONE,
    CALIBRATION_PRIOR_USED,
    CALIBRATION_PRIOR_REFUTED
};

/* What it knows of its GPU's sensor; what it does not, is as row has it. The counter's share is the
 * posterior of the model's range and the calibration's measurement; where the two are more than 3
 * standard deviations apart, it is the measurement alone. */
struct calibration_profile {
    struct calibration from;
    double period_s;         /* of the counter; 0: unknown */
    char contradiction[160]; /* "": none; else it is not used any more */
    enum calibration_prior prior;
    struct sensor_profile of; /* its texts are the two below */
    char label[40], source[400];
};
void calibration_profile(const struct calibration *calibration, const struct sensor_profile *row,
                         struct calibration_profile *out);

/* "calibration-GPU-...-580.159.04.json": fresh; NULL where UUID or driver are no part of a file's
 * name. */
char *calibration_file_name(const char *uuid, const char *driver);

/* Whether all that a sensor's behaviour depends on is the same: UUID, model, board, firmware,
 * driver. */
bool calibration_is_of(const struct calibration *calibration, const struct gpu_identity *identity);

/* Compares a calibrated update period with the one that the readings show, where they show one:
 * true and why they contradict each other. */
bool calibration_contradicted(const struct calibration_profile *profile,
                              const struct series *series, char *why, size_t size);

/* Reads dir/name. */
enum { CALIBRATION_FILE_MAX = 65536, CALIBRATION_DAYS = 30, CALIBRATION_SKEW_S = 300 };
bool calibration_read(int dir, const char *name, struct calibration *out, struct err *err);

/* All that the folder has; calibration NULL: that file is none, for the reason in why. */
typedef void calibration_fn(void *data, const char *name, const struct calibration *calibration,
                            const struct err *why);
void calibration_each(int dir, calibration_fn *found, void *data);

/* Why it does not hold: another driver or version of the program, figures that no sensor can have,
 * older than CALIBRATION_DAYS, or dated more than CALIBRATION_SKEW_S in the future: fresh; NULL: it
 * holds. driver: NULL or "": unknown. */
char *calibration_stale(const struct calibration *calibration, const char *driver, int64_t now_s);

#endif
