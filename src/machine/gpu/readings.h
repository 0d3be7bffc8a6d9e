/* readings: what a GPU tells about itself besides the energy counter, the trace and the processes,
 * and what is kept of it. A new one is a row of GPU_READINGS, of GPU_CURVES and of GPU_FIGURES: all
 * files, tables and pages that have such a column are written from these. */
#ifndef TARE_MACHINE_GPU_READINGS_H
#define TARE_MACHINE_GPU_READINGS_H

#include "base/reading.h"

#include <stdbool.h>
#include <stdint.h>

/* How it is written. */
enum gpu_form {
    GPU_NUMBER,
    GPU_BYTES,  /* JSON: an integer; gpu.csv: MiB */
    GPU_REASONS /* a set of enum gpu_clock_reason: their names */
};

struct gpu_reading_row {
    const char *name, *unit; /* "power.instant", "W"; "": counts and sets */
    /* far beyond any GPU: they only keep out what an uninitialised or torn answer looks like */
    double low, high;
    /* of energy/gpu.csv, which has them in the order of the rows; NULL: none */
    const char *column;
    /* behind its mean and its highest value on the terminal; NULL: not told there */
    const char *text;
    enum gpu_form form;
};

#define GPU_EXACT_MAX 9007199254740991.0 /* up to there a double holds every whole number */

/* clang-format off */
#define GPU_READINGS(X) \
    /* over the last second, of the board */ \
    X(GPU_POWER_AVERAGE_W, "power.average", "W", 0, 20000) \
    X(GPU_POWER_INSTANT_W, "power.instant", "W", 0, 20000) \
    /* the older figure: an average on some GPUs, instant on others */ \
    X(GPU_POWER_USAGE_W, "power.usage", "W", 0, 20000) \
    X(GPU_TEMPERATURE_C, "temperature.gpu", "C", -60, 200, .column = "temperature_c", \
      .text = "°C") \
    X(GPU_MEMORY_TEMPERATURE_C, "temperature.memory", "C", -60, 200, \
      .column = "memory_temperature_c") \
    X(GPU_UTILISATION_PERCENT, "utilisation.gpu", "%", 0, 100, .column = "utilisation_percent", \
      .text = "% busy") \
    X(GPU_MEMORY_UTILISATION_PERCENT, "utilisation.memory", "%", 0, 100, \
      .column = "memory_utilisation_percent") \
    X(GPU_SM_CLOCK_MHZ, "clock.sm", "MHz", 0, 100000, .column = "sm_clock_mhz") \
    X(GPU_MEMORY_CLOCK_MHZ, "clock.memory", "MHz", 0, 100000, .column = "memory_clock_mhz") \
    X(GPU_CLOCK_REASONS, "clock.reasons", "", 0, GPU_EXACT_MAX, .column = "clock_reasons", \
      .form = GPU_REASONS) \
    /* without the driver's own where GPU_MEMORY_RESERVED_BYTES is known, else with it */ \
    X(GPU_MEMORY_USED_BYTES, "memory.used", "bytes", 0, 1e15, .column = "memory_used_mib", \
      .form = GPU_BYTES) \
    /* enforced now */ \
    X(GPU_POWER_LIMIT_W, "power.limit", "W", 0, 20000, .column = "power_limit_w") \
    X(GPU_MEMORY_TOTAL_BYTES, "memory.total", "bytes", 1, 1e15) \
    X(GPU_MEMORY_RESERVED_BYTES, "memory.reserved", "bytes", 0, 1e15) \
    /* errors since the driver was loaded */ \
    X(GPU_ECC_UNCORRECTED, "errors.ecc", "", 0, GPU_EXACT_MAX) \
    /* critical errors since the sensor was opened */ \
    X(GPU_XID_COUNT, "errors.xid", "", 0, GPU_EXACT_MAX) \
    X(GPU_XID_LAST, "errors.xid_last", "", 0, GPU_EXACT_MAX)   /* number of the newest of these */

/* Curves of the page beside the power: the column of gpu.csv, the key in the page's data, the
 * English and the Chinese name; NULL: as report/page/texts.js has it. */
#define GPU_CURVES(X) \
    X(GPU_TEMPERATURE_C, "temperature_c", NULL, NULL) \
    X(GPU_UTILISATION_PERCENT, "utilisation_percent", NULL, NULL) \
    X(GPU_MEMORY_USED_BYTES, "memory_mib", NULL, NULL)

/* Statistics of an attempt's samples. The name is the key in experiment.json and --json; a mean
 * comes before the maximum of the same reading. */
#define GPU_FIGURES(X) \
    X(temperature_mean_c, GPU_TEMPERATURE_C, GPU_MEAN) \
    X(temperature_max_c, GPU_TEMPERATURE_C, GPU_MAX) \
    X(utilisation_mean_percent, GPU_UTILISATION_PERCENT, GPU_MEAN) \
    X(utilisation_max_percent, GPU_UTILISATION_PERCENT, GPU_MAX) \
    X(sm_clock_mean_mhz, GPU_SM_CLOCK_MHZ, GPU_MEAN) \
    X(memory_peak_bytes, GPU_MEMORY_USED_BYTES, GPU_MAX)
/* clang-format on */

#define GPU_ID(which, ...) which,
enum gpu_reading { GPU_READINGS(GPU_ID) GPU_READING_COUNT };
#undef GPU_ID

#define GPU_ID(which, ...) GPU_CURVE_OF_##which,
enum { GPU_CURVES(GPU_ID) GPU_CURVE_COUNT };
#undef GPU_ID

#define GPU_ID(member, ...) GPU_FIGURE_##member,
enum { GPU_FIGURES(GPU_ID) GPU_FIGURE_COUNT };
#undef GPU_ID

extern const struct gpu_reading_row gpu_reading_rows[GPU_READING_COUNT];

extern const struct gpu_curve {
    enum gpu_reading of;
    const char *key, *english, *chinese;
} gpu_curves[GPU_CURVE_COUNT];

extern const struct gpu_figure {
    const char *key;
    enum gpu_reading of;
    enum { GPU_MEAN, GPU_MAX } how;
} gpu_figures[GPU_FIGURE_COUNT];

/* Members of a struct: each figure by its name, and all of them as an array. */
#define GPU_FIGURE_MEMBER(member, ...) struct reading member;
#define GPU_FIGURE_MEMBERS                        \
    union {                                       \
        struct {                                  \
            GPU_FIGURES(GPU_FIGURE_MEMBER)        \
        };                                        \
        struct reading figures[GPU_FIGURE_COUNT]; \
    }

struct gpu_readings {
    struct reading of[GPU_READING_COUNT];
};

/* Why the clocks are lower than they could be. The bits are NVML's (nvmlClocksEventReasons);
 * another vendor's backend gives its own reasons by these. */
enum gpu_clock_reason {
    GPU_CLOCK_IDLE = 0x1,
    GPU_CLOCK_APPLICATION_SETTING = 0x2,
    GPU_CLOCK_POWER_CAP = 0x4,
    GPU_CLOCK_HW_SLOWDOWN = 0x8,
    GPU_CLOCK_SYNC_BOOST = 0x10,
    GPU_CLOCK_SW_THERMAL = 0x20,
    GPU_CLOCK_HW_THERMAL = 0x40,
    GPU_CLOCK_POWER_BRAKE = 0x80,
    GPU_CLOCK_DISPLAY_SETTING = 0x100
};

/* Puts a figure of a driver in its place; what cannot be (outside the bounds of its kind) is
 * garbage: false, absent. */
bool gpu_reading_set(struct gpu_readings *readings, enum gpu_reading which, double value);

/* The name of one reason, given as its bit; NULL: a bit without a name. */
const char *gpu_clock_reason_name(uint64_t bit);

/* The board's power now: the instant figure, else the older one, else the average. */
struct reading gpu_readings_power_w(const struct gpu_readings *readings);

#endif
