/* model: the records of a run as typed values. The store fills them once (results/store/); the
 * rooms above it read these instead of JSON. */
#ifndef TARE_RESULTS_MODEL_H
#define TARE_RESULTS_MODEL_H

#include "base/goal.h"
#include "base/reading.h"
#include "base/strv.h"
#include "machine/gpu/readings.h"
#include "measure/guard/evidence.h"
#include "plan/event.h"
#include "plan/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "energy" of an attempt (docs/reference/measuring.md). Texts are NULL, and readings not valid,
 * where they were not recorded. */

struct energy_component {
    char *name;
    struct reading contribution_j;
};

/* One device, or all devices of a scope, without label, model and settings. */
struct energy_figures {
    char *label, *uuid, *scope, *source, *model, *driver, *sensor_profile;
    struct reading energy_j, half_width_j, net_j, net_half_width_j, aliasing_bound_j, gain_bound;
    struct reading power_mean_w, power_min_w, power_max_w, power_cv_within;
    struct reading covered_share, longest_gap_s;
    GPU_FIGURE_MEMBERS;
    struct reading power_limit_w;
    struct reading sm_clock_max_mhz, memory_clock_max_mhz;                 /* that it can reach */
    struct reading sm_clock_application_mhz, memory_clock_application_mhz; /* that it is set to */
    struct energy_component *components; /* of the uncertainty budget */
    size_t component_count;
};

struct energy_record {
    bool has_gpu; /* gpu was recorded, if only without an energy */
    struct energy_figures gpu, cpu_package, dram;
    struct reading user_s, system_s, memory_peak_bytes; /* of the job's processes */
    struct reading others_share;                        /* of the machine's CPU time */
    struct energy_figures *devices;
    size_t device_count;
};

/* Energy and GPU memory of an attempt when it ended. */

struct attempt_gpu_memory {
    char *label, *of; /* of: "job", or whose memory it is */
    struct reading peak_bytes, total_bytes;
    bool is_counted; /* by the preloaded library */
};

struct attempt_use {
    bool has_energy;
    struct energy_record energy;
    struct attempt_gpu_memory *gpus;
    size_t gpu_count;
};

/* machine.json of a session. */

struct machine_gpu {
    char *uuid, *model;
};

struct machine_repository {
    char *name, *commit;
    bool dirty;
};

struct machine_file {
    char *path, *sha256;
};

/* A script of the plan with the files that it is made of. */
struct machine_code {
    char *path, *script; /* path: the working folder */
    struct machine_file *files;
    size_t file_count;
};

struct machine_packages {
    bool known;
    struct strv names; /* "numpy==1.26.4" */
};

struct machine_interpreter {
    char *path, *version;
    struct machine_packages packages;
};

struct machine_record {
    int64_t session; /* that wrote it; 0: not recorded */
    char *host, *boot_id, *kernel, *cpu_model;
    char *driver;                    /* the GPU driver's own text */
    struct strv drivers;             /* of each of gpu_vendors; "": it has none */
    int64_t cpu_count, memory_bytes; /* 0: not recorded */
    struct machine_gpu *gpus;
    size_t gpu_count;
    struct machine_repository *repositories;
    size_t repository_count;
    struct machine_code *code;
    size_t code_count;
    struct machine_interpreter *interpreters;
    size_t interpreter_count;
};

struct machines {
    struct machine_record *items;
    size_t count;
};

/* Results are read without changing a byte of the run, live or finished (the db and the -wal of a
 * crashed run are copied first). */
struct result_metric {
    char *name;
    double value; /* the last one */
    bool valid;
    enum goal goal;
    struct reading best; /* of the same attempt, by its goal; absent: the goal is unknown */
};

/* Gross, of the last attempt (docs/reference/measuring.md). */
struct result_energy {
    struct reading gpu_j, gpu_half_width_j;
    /* of the packages; of several lanes the share by CPU time, an estimate */
    struct reading cpu_j, cpu_half_width_j;
};

/* Gross energy of all attempts of an experiment, as far as it was measured: it only grows, since
 * failed attempts and those before it was planned again count. */
struct result_used {
    double gpu_j, cpu_j;
    uint64_t gpu_attempts, cpu_attempts; /* that ended, of which these sums are */
    /* number of the last one that began, and of the last one in the sums; 0: none */
    int64_t attempts, ended;
};

/* Evidence against the figures of a result. */
struct result_evidence {
    char *kind, *text;
    enum evidence_weight weight;
};

/* result.failure where a required metric was not found. */
#define FAILURE_WITHOUT_METRIC "no_metric"

/* How the processes of a job were held together. */
struct result_layers {
    bool known;
    bool kernel_backed, pidns, cgroup, sweep;
};

struct result {
    size_t number;
    char *id;
    enum experiment_state state;
    enum outcome outcome;
    /* it is planned again: what stands here is the result before, until there is a new one */
    bool again;
    /* NONE: it has not ended, or it failed and nothing speaks against its machine, or it ended
     * before verdicts were given */
    enum verdict verdict;
    /* of each quantity; all NONE: there is no result, or its checks were not recorded */
    struct verdicts verdicts;
    struct check_result *checks; /* of the attempt that counts; NULL: none were recorded */
    size_t check_count;
    char *failure; /* why it failed: "out_of_memory"; NULL: it did not, or it is not known */
    struct result_evidence *evidence; /* of what the verdict is made */
    size_t evidence_count;
    /* the attempt that counts, and in which session it ran; 0: there is none */
    int64_t attempt, session;
    int64_t retries;
    double duration_s;         /* of the last attempt */
    int64_t ended_realtime_ns; /* 0: not ended */
    bool has_utc_offset;       /* not: the run is older than that this was recorded */
    int64_t utc_offset_s;      /* of the clock where it ended, then */
    char *error;               /* NULL: none */
    /* what the last attempt had changed by the retry ladder, as in summary.csv; NULL: nothing */
    char *changed;
    struct result_metric *metrics;
    size_t metric_count;
    struct result_energy energy;
    struct result_used used;
    /* by the adaptive pauses after its attempts, against those of the settings; below 0: lost */
    struct reading pause_saved_s;
    struct result_layers layers; /* of the last job */
    size_t leftover_count;
    size_t survivor_count;
};

/* How one lane of a run, or all of them, spent the time of all sessions
 * (docs/reference/files.md). */
struct lane_use {
    char *node, *name; /* name: among the lanes of its node; of all lanes: NULL */
    struct strv gpus, uuids;
    char *lost;                             /* why it stopped taking experiments, or NULL */
    size_t experiments, verdicts[VERDICTS]; /* of the results that it gave */
    int64_t attempts;
    struct reading gpu_energy_j; /* of these results; not valid: of none it is known */
    double busy_s, overhead_s, waiting_s, nothing_s;
    struct reading utilisation; /* share of the time in which it trained */
};

struct lane_uses {
    int64_t from_ms; /* since 1970: when the run began */
    double seconds;  /* in which at least one session lived */
    struct lane_use *items, total;
    size_t count;
};

/* The lanes in the record of the end of the last session; 0: not recorded. */
struct lane_pool {
    double waited_s; /* for each other, all lanes together */
    double cpu_total_mj, cpu_unattributed_mj;
};

/* The budget in the record of the last session (docs/reference/files.md). */
struct budget_use {
    double budget, used, mean; /* budget: 0: not set; mean: of one experiment; 0: not known */
};

struct budget_record {
    struct budget_use energy_j, time_s;
    struct strv counted; /* scopes of the energy */
    int64_t attempts, estimated, unmeasured;
    char *reached; /* why the run was stopped, or NULL */
};

struct results {
    struct plan plan;
    struct result *items;
    size_t count;
    struct lane_uses lanes; /* empty: the run has one lane */
    struct lane_pool pool;
    struct budget_record budget;
};

/* The rest of run.db that audit, export and the methods text need. */

/* The study's columns of energy, in their order, as summary.csv calls them, and as experiment.json
 * does. */
enum { ENERGY_COLUMNS = 11 };

struct facts_evidence {
    int64_t attempt;
    char *kind, *text;
};

/* How the GPUs were when that attempt began, as the guard saw them: means over the GPUs. */
struct facts_start {
    struct reading temperature_c, sm_clock_mhz, memory_clock_mhz;
};

struct facts_item {
    struct energy_record *energy; /* of the last attempt; NULL: nothing was recorded */
    /* a list: {attempt, outcome, reason, duration_s, exit_code, signal, error} */
    json_t *all_attempts;
    json_t *epochs;     /* a list: those of the last attempt, as in experiment.json */
    int64_t attempt;    /* the one whose figures these are; 0: none */
    int64_t log_bytes;  /* that it printed; -1: not known */
    bool files_written; /* experiment.json and summary.csv hold this result */
    struct facts_start start;
    size_t started;                     /* attempts whose command was started */
    size_t preflights, preflights_free; /* checks before attempts; that found the GPUs free */
    double preflight_waited_s;          /* the longest */
    char *host, *boot_id;               /* of the session of that attempt; NULL: not known */
    bool has_duration, has_start;
    int64_t start_realtime_ns;       /* of that attempt: where the window of its energy begins */
    struct facts_evidence *evidence; /* in order of time */
    size_t evidence_count;
};

struct facts {
    struct results results;
    struct facts_item *items; /* one for each of results.items */
    /* of the sessions, each once, in their order */
    struct strv hosts, versions;
    bool ended;     /* the last session has, or none began */
    size_t pauses;  /* between experiments and attempts */
    double pause_s; /* as planned, in all */
};

#endif
