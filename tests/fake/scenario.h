/* scenario: what the fake driver's GPUs do, read from a file (README.md), and the truth about them
 * in closed form: shared by the fake library and by the tests. Times t_ns are CLOCK_MONOTONIC. */
#ifndef TARE_FAKE_SCENARIO_H
#define TARE_FAKE_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FAKE_GPUS_MAX = 64,
    FAKE_STEPS_MAX = 256,
    FAKE_FAULTS_MAX = 64,
    FAKE_XIDS_MAX = 16,
    FAKE_PATH = 512
};

/* From t_s on (seconds after the origin) the power settles to target_w:
 * power_w(t) = target_w + rest_w exp(-(t - t_s) / settle). */
struct fake_step {
    double t_s, target_w;
    double rest_w, temperature_c; /* worked out: at t_s */
};

struct fake_gpu {
    char name[64], uuid[96], driver[64], vbios[64];
    int64_t origin_ns;
    uint64_t seed; /* of this GPU's phases and jitter */
    double idle_w, limit_w, load_w, settle_s;
    struct fake_step steps[FAKE_STEPS_MAX];
    int step_count;
    double ambient_c, kelvin_per_w, thermal_s;
    double update_ms, update_jitter_ms, sample_ms, sample_jitter_ms;
    int sample_count;
    double counter_cost_us;
    uint64_t counter_start_mj;
    double counter_reset_s; /* negative: never */
    uint64_t memory_total, memory_reserved, leak;
    int ecc, mig, part, persistence, virtualization, display;
    /* MHz; 0: not supported */
    int sm_clock_max, memory_clock_max, sm_clock_application, memory_clock_application;
    int minor, flood; /* of its device file; so many more processes, a byte each */
    /* bytes of an entry that the _v3 process functions write: 24, or 32 as drivers 535.43 to 535.98
     * do */
    int process_entry;
    struct {
        double t_s;
        unsigned number;
    } xids[FAKE_XIDS_MAX];
    int xid_count;
};

enum fake_action { FAKE_ERROR, FAKE_HANG, FAKE_GARBAGE, FAKE_DELAY, FAKE_CRASH };

struct fake_fault {
    char call[64]; /* an NVML function, "field:186", or "*" */
    enum fake_action action;
    int gpu;  /* -1: all */
    int code; /* of an error */
    double delay_ms;
    long from_call, calls; /* counted from 1 in each process; calls 0: without end */
    double from_s, until_s;
    char when[FAKE_PATH]; /* "": always; else only while there is this file */
    char once[FAKE_PATH]; /* "": as often as it fits; else only by whoever can make this file */
    long seen;            /* the library's own count */
};

struct fake_scenario {
    int gpu_count;
    struct fake_gpu gpus[FAKE_GPUS_MAX];
    struct fake_fault faults[FAKE_FAULTS_MAX];
    int fault_count;
    int init_error;
    int init_memory_kib;   /* that nvmlInit takes and frees again */
    char users[FAKE_PATH]; /* the folder; "": none */
};

/* False: why says what is wrong with the file. */
bool fake_scenario_read(const char *path, struct fake_scenario *out, char why[256]);

/* When the scenario has things happen, and how fast power and heat settle, becomes by so much
 * shorter. The sensors' own rhythm (updates, samples, what calls cost) stays, and a joule is still
 * a watt for a second of the clock. */
void fake_scenario_scale(struct fake_scenario *scenario, double by);

/* What the scripted load draws, and its integral; t1 <= t2. */
double fake_power_w(const struct fake_gpu *gpu, int64_t t_ns);
double fake_energy_j(const struct fake_gpu *gpu, int64_t t1_ns, int64_t t2_ns);
double fake_temperature_c(const struct fake_gpu *gpu, int64_t t_ns);

/* The counter and the power figure change at instants about update_ms apart: the last one at or
 * before t. */
int64_t fake_update_ns(const struct fake_gpu *gpu, int64_t t_ns);
/* What the counter shows at t. */
uint64_t fake_counter_mj(const struct fake_gpu *gpu, int64_t t_ns);

/* The instants of the samples, numbered; the number of the last at or before t. */
int64_t fake_sample_ns(const struct fake_gpu *gpu, int64_t number);
int64_t fake_sample_number(const struct fake_gpu *gpu, int64_t t_ns);

#endif
