/* energy_meters: all the energy meters of a run together: a meter process for each GPU, and the
 * host's counters. One descriptor to poll; nothing here ever waits for a driver. What was drawn
 * between two moments is asked for afterwards. */
#ifndef TARE_MEASURE_ENERGY_METERS_H
#define TARE_MEASURE_ENERGY_METERS_H

#include "machine/sensors/host.h"
#include "machine/sensors/meter.h"
#include "measure/calibration/calibration.h"
#include "measure/marks/marks.h"
#include "measure/step_power.h"

struct energy_meters;

struct energy_meters_gpu {
    char *device;                    /* UUID or the driver's number */
    char *label;                     /* "GPU 0" */
    const struct gpu_vendor *vendor; /* NULL: the first of the list */
    const char *library;             /* of the driver; NULL: the usual one */
};

/* Called from energy_meters_dispatch and energy_meters_tick; each may be NULL. */
struct energy_meters_listener {
    void (*gap)(void *data, const char *label, const struct meter_gap *gap); /* as meter.h has it */
    void (*sample)(void *data, const char *label, const struct gpu_sample *sample);
    /* domain: its place among the host's counters */
    void (*counter)(void *data, size_t domain, const char *name,
                    const struct counter_reading *reading);
    void (*unavailable)(void *data, const char *label, const char *reason); /* once for each GPU */
    /* it was there before; at every sign of it */
    void (*lost)(void *data, const char *label, const char *reason);
    /* After energy_meters_users; where the driver says nothing, an empty list that is not told. */
    void (*users)(void *data, const char *label, int64_t t_ns, const struct gpu_users *users);
    void *data;
};

struct energy_meters_options {
    const struct energy_meters_gpu *gpus;
    size_t gpu_count;
    const char *program;     /* of the meters; NULL: this one */
    struct host_meter *host; /* stays the caller's */
    const struct calibration
        *calibrations; /* each replaces what is known of the sensor of its GPU; the caller's, too */
    size_t calibration_count;
    bool watches_others; /* host: what other processes use is read at both edges (host_others) */
    /* other energy_meters have the same: what they read in this second is not read again */
    bool shares_host;
    double time_scale; /* 0: 1; of the meters' own timers (machine/sensors/time_scale.h) */
};

/* Whether there is anything to measure with these. */
bool energy_meters_useful(const struct energy_meters_options *options);

/* Starts the meters. Strings are copied. NULL: no descriptor could be had. */
struct energy_meters *energy_meters_new(const struct energy_meters_options *options,
                                        const struct energy_meters_listener *listener,
                                        struct err *err);
void energy_meters_free(struct energy_meters *energy_meters); /* NULL: nothing */

/* readable when energy_meters_dispatch has something to do */
int energy_meters_fd(const struct energy_meters *energy_meters);
void energy_meters_dispatch(struct energy_meters *energy_meters);

/* Some GPU's first meter has not answered yet. */
bool energy_meters_starting(const struct energy_meters *energy_meters);

/* Whether the GPU of this place among the options' is measured by a calibration; true also where
 * that is not known. */
bool energy_meters_is_calibrated(const struct energy_meters *energy_meters, size_t place);

/* From now on it is measured by this one, which is copied. False: it is of another GPU. */
bool energy_meters_calibrate(struct energy_meters *energy_meters, size_t place,
                             const struct calibration *calibration);

/* About once a second while something is measured. */
void energy_meters_tick(struct energy_meters *energy_meters);

/* A job is about to begin: what was read before is forgotten, but for the last seconds. */
void energy_meters_prepare(struct energy_meters *energy_meters);

/* Its number among those who read the host's meter. */
size_t energy_meters_reader(const struct energy_meters *energy_meters);

/* Nothing is measured for a while: what was read of the host is not kept for this energy_meters. */
void energy_meters_rest(struct energy_meters *energy_meters);

/* It has begun, and has ended: the moment is read on all sensors. begin: from now on the job is
 * watched (NULL: what is measured is no job). end: usage as host_meter_end takes it. */
void energy_meters_begin(struct energy_meters *energy_meters, const struct job_identity *job);
/* of a process that is no job, and its descendants */
void energy_meters_begin_process(struct energy_meters *energy_meters, pid_t pid,
                                 uint64_t start_time);
void energy_meters_edge(struct energy_meters *energy_meters);
void energy_meters_end(struct energy_meters *energy_meters, const struct job_usage *usage);

/* Asks every GPU for the processes on it. */
void energy_meters_users(struct energy_meters *energy_meters);

/* A job beside the one that is measured: what it uses of the host is not others'. Its number, for
 * the end (usage as host_meter_end takes it). */
size_t energy_meters_beside(struct energy_meters *energy_meters, const struct job_identity *job);
void energy_meters_beside_end(struct energy_meters *energy_meters, size_t number,
                              const struct job_usage *usage);

/* A mark came: the host's counters are read, which costs next to nothing, so that epochs have an
 * edge of their own. GPUs' are not, as a call takes milliseconds; their trace tells the course
 * between two readings. */
void energy_meters_mark(struct energy_meters *energy_meters);

/* The job's host memory as it was read last. */
struct reading energy_meters_job_memory(const struct energy_meters *energy_meters);

/* What all GPUs draw now, by their last samples; not valid when one has none of the last
 * seconds. */
struct reading energy_meters_power_w(const struct energy_meters *energy_meters);

/* Another of their readings, in the same way. */
enum energy_meters_over { ENERGY_SUM, ENERGY_MEAN, ENERGY_HIGHEST };
struct reading energy_meters_now(const struct energy_meters *energy_meters, enum gpu_reading which,
                                 enum energy_meters_over over);

/* How many answers to energy_meters_begin and energy_meters_edge are outstanding; never more will
 * come. */
size_t energy_meters_waiting(const struct energy_meters *energy_meters);

enum energy_meters_scope {
    ENERGY_GPU,
    ENERGY_PACKAGE,
    ENERGY_DRAM,
    ENERGY_PLATFORM,
    ENERGY_SCOPES
};

/* Of one device, or of all devices of a scope. Energies are gross. */
struct energy_meters_figures {
    enum energy_meters_scope scope;
    /* "GPU 0", "package-0"; NULL: a sum. Borrowed from the energy_meters */
    const char *name;
    const char *uuid;                    /* of a GPU, or NULL */
    const struct gpu_identity *identity; /* of one GPU, or NULL; borrowed as name is */
    /* of one GPU, or NULL: what is taken to be known of its sensor */
    const struct sensor_profile *profile;
    const struct calibration *calibration; /* that the profile is from; NULL: none */
    const char *contradiction; /* why the readings switched a calibration off; NULL: they did not */
    const char *contradicted_sha256; /* of that calibration's file; NULL as contradiction is */
    struct sensor_gain gain;         /* of the sensor, or of all of the sum's together */
    struct reading power_limit_w;    /* of one GPU: enforced when it was looked at last */
    size_t devices;                  /* that were added up */
    struct window_energy window;
    int64_t energy_mj; /* valid with window.energy_j */
    /* GPUs, from about one reading a second. */
    GPU_FIGURE_MEMBERS;
    unsigned clock_reasons; /* that were ever seen */
};

struct energy_meters_missing {
    enum energy_meters_scope scope;
    const char *name, *reason;
};

/* The part of an epoch (place in the list that was given) in each scope. */
struct energy_meters_epoch {
    struct energy_meters_figures of[ENERGY_SCOPES];
    struct reading host_memory_peak_bytes; /* of the job */
};

/* The power within one of the job's steps, of each GPU. */
struct energy_meters_steps {
    const char *name, *uuid; /* of the GPU; borrowed as its figures' are */
    struct step_power power;
};

struct energy_meters_result {
    struct energy_meters_figures *devices;
    size_t device_count;
    /* not valid when a device of that scope is missing, or there is none */
    struct energy_meters_figures sums[ENERGY_SCOPES];
    struct energy_meters_missing *missing;
    size_t missing_count;
    struct energy_meters_epoch *epochs; /* as many as were given */
    size_t epoch_count;
    struct energy_meters_steps *steps; /* none: no steps were marked */
    size_t step_count;
    struct host_window host;
    struct host_job_figures job;
};

/* One line: what is not measured here and why, with the command that mends it where there is one;
 * NULL: all is. */
char *energy_meters_missing_text(const struct energy_meters_options *options);

#endif
