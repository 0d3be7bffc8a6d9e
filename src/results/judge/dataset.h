/* dataset: the experiments of one or more folders in memory, whoever made them: tare, the study's
 * scripts, or CodeCarbon. What audit, stats, compare and export work on. */
#ifndef TARE_RESULTS_JUDGE_DATASET_H
#define TARE_RESULTS_JUDGE_DATASET_H

#include "base/err.h"
#include "base/goal.h"
#include "base/reading.h"
#include "base/strv.h"
#include "base/value.h"
#include "machine/gpu/readings.h"
#include "measure/guard/evidence.h"
#include "results/judge/consistency.h"
#include "results/judge/trace_sketch.h"
#include "results/store/store.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct registry;
struct anonymous;

enum dataset_layout {
    DATASET_STUDY,
    DATASET_TARE,
    DATASET_CODECARBON,
    DATASET_TABLE,
    DATASET_LAYOUTS
};
/* "study", "tare", "codecarbon", "table" */
const char *dataset_layout_name(enum dataset_layout layout);

/* Whether a figure agrees with those of comparable experiments, whoever else ran. */
enum agreement { AGREEMENT_UNKNOWN, AGREEMENT_CONSISTENT, AGREEMENT_CONTRADICTED };

/* Why it is unknown, the first that applies. */
enum agreement_reason {
    AGREEMENT_NO_REASON,
    AGREEMENT_FAILED,
    AGREEMENT_NOT_RECORDED,
    AGREEMENT_DATA,
    AGREEMENT_CHANGED,
    AGREEMENT_NOT_IDLE,
    AGREEMENT_HOT,
    AGREEMENT_REST_HIGH,
    AGREEMENT_BACKGROUND,
    AGREEMENT_UNUSED,
    AGREEMENT_FEW_SIBLINGS,
    AGREEMENT_GROUPS,
    AGREEMENT_SCATTER,
    AGREEMENT_PEAK,
    AGREEMENT_DIFFERS,
    AGREEMENT_REASONS
};

struct dataset_param {
    char *name;
    struct value value;
};

struct dataset_metric {
    char *name;
    /* may be NaN or infinite: a training that diverged says so, and that is no absent value */
    struct reading value;
    struct reading best; /* that it ever had, by its goal; absent: not known */
    enum goal goal;      /* what the registry said; GOAL_UNKNOWN: nothing */
};

/* Something that speaks against the figures, or that one should know. */
struct dataset_evidence {
    char *kind;                  /* of measure/guard/evidence.h */
    char *text;                  /* what was seen, with figures */
    struct reading from_s, to_s; /* since the experiment's start */
    unsigned quantities;         /* those that it speaks against, a mask; 0: those of its kind */
    /* of a file of temperatures: time and energy stay a measure for others */
    bool of_temperature;
};

/* One lasting change in a trace: two levels. */
struct dataset_step {
    bool found;
    double at_s; /* since the experiment's start */
    double before, after;
    double explained; /* share of the variance that the two levels explain */
};

/* Files of an experiment that are not there. */
enum {
    MISSING_POWER = 1,
    MISSING_UTILISATION = 2,
    MISSING_TEMPERATURE = 4,
    MISSING_PERF = 8,       /* cpu_energy_raw.txt */
    MISSING_PERF_SUMS = 16, /* cpu_energy.txt */
    MISSING_ALL = 31,       /* of energy/ */
    MISSING_RECORD = 32     /* experiment.json */
};

/* What the samples of the GPU show, computed anew (study); tare's own meter's figures (tare). */
struct dataset_gpu {
    struct reading energy_j, half_width_j; /* 95 % of the read-out */
    /* of what the bare idle GPU would have drawn; tare's own alone */
    struct reading net_j, net_half_width_j;
    /* study: the sum of the samples, as the study recorded it */
    struct reading samples_sum_j;
    /* the most that printing the samples can have changed of it */
    double samples_rounding_j;
    /* study: what power times seconds may have been recorded as */
    bool has_integral;
    double integral_low_j, integral_high_j;
    struct reading power_mean_w, power_min_w, power_max_w;
    struct reading power_cv_within;
    /* study: the first sample; tare: what the guard saw before the start */
    struct reading temperature_start_c;
    struct reading sm_clock_start_mhz, memory_clock_start_mhz; /* tare */
    /* study: of temperature and utilisation alone */
    GPU_FIGURE_MEMBERS;
    struct reading sampled_share; /* of the window */
    struct reading longest_gap_s;
    struct reading window_s; /* the length that the energy is of */
    const char *sensor;      /* study: "instant", "mean", "unknown"; NULL: no samples */
    /* study: why its samples give no energy; NULL: they do, or there are none */
    const char *energy_unknown;
    /* "perf", "duration", "trace", "meter", "codecarbon"; NULL: no energy */
    const char *window_from;
    size_t samples;
    const char *source;                       /* "samples", "meter", "codecarbon"; NULL: none */
    unsigned missing;                         /* study: MISSING_* */
    struct reading early_utilisation_percent; /* highest in the first two seconds */
    struct reading early_power_w;             /* lowest of the first two seconds */
    struct reading first_power_w;             /* the first sample */
    /* lowest mean of three neighbouring spans of the trace: what it draws at its quietest */
    struct reading low_power_w;
    struct reading idle_share, longest_idle_s; /* of the samples below 5 % of utilisation */
    struct dataset_step power_step, utilisation_step;
    struct dataset_step power_fall; /* the same of falls alone, behind its start */
};

/* What summary.csv says, in the study's columns: energy_column names them. */
enum dataset_recorded {
    RECORDED_CPU_PACKAGE,
    RECORDED_CPU_RAM,
    RECORDED_CPU_TOTAL,
    RECORDED_GPU_MEAN,
    RECORDED_GPU_MAX,
    RECORDED_GPU_MIN,
    RECORDED_GPU_TOTAL,
    RECORDED_TEMPERATURE_MEAN,
    RECORDED_TEMPERATURE_MAX,
    RECORDED_UTILISATION_MEAN,
    RECORDED_UTILISATION_MAX,
    RECORDED_COUNT /* ENERGY_COLUMNS */
};
_Static_assert((int)RECORDED_COUNT == (int)ENERGY_COLUMNS, "one for each column");

/* A GPU that an experiment was measured on. */
struct dataset_board {
    char *uuid;
    double energy_j;
    struct reading half_width_j; /* of its read-out, 95 % */
    /* by which share its sensor may be off at most; 0: nobody states that */
    double gain_bound;
};

/* Where it ran, as texts; NULL: not known. The study did not record any. */
enum dataset_fact {
    FACT_NODE,
    FACT_LANE, /* node and GPUs */
    FACT_GPU_MODEL,
    FACT_POWER_LIMIT,
    FACT_CLOCKS_MAX, /* that the GPU can reach: multiprocessors and memory */
    FACT_CLOCKS_SET, /* that it is set to (application clocks) */
    FACT_CPU,
    FACT_DRIVER,
    FACT_KERNEL,
    DATASET_FACTS
};

/* While power, utilisation and temperature all had one value. */
struct dataset_still {
    double at_s; /* since the first sample */
    size_t samples;
    double power_w, utilisation_percent;
};

/* Of the samples of the study's layout, for checks of consistency. */
struct dataset_trace {
    struct trace_sketch power;
    struct trace_intervals intervals;        /* of the power */
    uint64_t utilisation_times;              /* a hash, as trace_sketch.times */
    struct dataset_still still[STILL_SPANS]; /* the longest; none where a file is not there */
    size_t still_count;
    bool has_all; /* power, utilisation and temperature were sampled */
};

struct dataset_experiment {
    size_t folder; /* index into the folders */
    size_t line;   /* of summary.csv, from 1; 0: no row */
    char *id;
    char *repo, *model; /* "" where unknown */
    /* of repo, in each session of the run alike; NULL: not known, or not alike */
    char *commit;
    bool commit_changed; /* with changes that are not committed */
    char *background;    /* "repo model" of a parallel one, or NULL */
    /* the same as an entry of settings has it, with hyperparameters; NULL: not known */
    json_t *background_job;
    bool parallel;
    struct reading start_after_s; /* as its settings entry says */
    /* "mutation", "default"; of a parallel one: its foreground's; NULL: not recorded (study) */
    const char *mode;
    size_t block; /* of the plan, from 1, where it was ordered in blocks; 0: there are none */
    bool has_success, success;
    bool has_end;
    int64_t end_local_ns; /* when it ended: the local time's fields as if they were UTC */
    bool has_utc_offset;  /* tare: it was recorded; not: an older run's times are UTC */
    int64_t utc_offset_s;
    int64_t attempt; /* whose figures these are; 0: not known. tare */
    bool has_start;  /* of that attempt */
    int64_t start_utc_ns;
    struct reading duration_s;
    int64_t retries;
    struct dataset_param *params;
    size_t param_count;
    struct dataset_param *defaults; /* of the registry, for those that are blank */
    size_t default_count;
    struct dataset_metric *metrics;
    size_t metric_count;
    struct reading recorded[RECORDED_COUNT];
    bool recorded_finer; /* by tare, from more readings than the trace that is left */
    char *error;         /* why it failed, or NULL */
    bool judged;         /* it has ended and something of it can be judged */
    bool contradicts;    /* its row and its folder disagree */
    bool is_copy;        /* of another experiment of the dataset: never counted beside it */
    enum check_outcome consistency[CONSISTENCIES];
    /* tare: it ended before verdicts were given: nothing that is not there says that it is clean */
    bool unwatched;
    struct dataset_gpu gpu;
    struct dataset_trace *trace;                        /* NULL: none was read */
    struct reading user_s, system_s, memory_peak_bytes; /* of its processes on the host; tare */
    struct reading cpu_j, cpu_half_width_j, dram_j;     /* of the packages; of their memory */
    struct dataset_evidence *evidence;
    size_t evidence_count;
    struct check_result checks[CHECKS]; /* one for each check that there is something to say of */
    size_t check_count;
    struct verdicts verdicts; /* of its quantities */
    enum verdict verdict;     /* of the row */
    enum agreement agreement[QUANTITIES];
    enum agreement_reason agreement_reason[QUANTITIES];
    enum agreement row_agreement; /* consistent: each figure that it has is */
    enum agreement_reason row_reason;
    char *facts[DATASET_FACTS];
    struct dataset_board *boards; /* none: not known, as of the study */
    size_t board_count;
    json_t *attempts; /* lists of rows, of runs of tare; NULL: not known */
    json_t *epochs;
};

/* What is amiss with a folder as a whole; no experiment's evidence. */
struct dataset_problem {
    size_t folder;
    char *text;
};

struct dataset_folder {
    char *path;
    enum dataset_layout layout;
    char *note; /* how it was read, and what a table lacks; NULL: nothing to say */
    /* study: time from one sample to the next */
    double interval_s;
    /* study: recorded GPU energies are power times seconds, not the sum of the samples */
    bool energy_integrated;
    bool has_summary;
    bool summary_damaged; /* empty, cut off or not readable as CSV */
    size_t summary_rows;  /* rows of summary.csv, well-formed or not */
    /* samples or checks, by which rows can be consistent; after audit_judge */
    bool has_records;
    size_t folders; /* experiments' folders found */
    size_t without_row, without_folder;
    bool has_zone;
    /* local time is this much ahead of UTC; study: by the samples; tare: of its first experiment */
    int64_t zone_s;
};

/* A hyperparameter that experiments name in ways that differ by case alone. */
struct dataset_spelling {
    char *name, *other;
    bool apart; /* an experiment has both, so they are two; else all are called name */
};

struct dataset {
    /* ROLE=COLUMN, for tables; set before they are read; NULL: none; borrowed */
    const struct strv *columns;
    struct anonymous *anonymous; /* of what is exported; NULL: names stay; borrowed */
    struct dataset_folder *folders;
    size_t folder_count;
    struct dataset_experiment *items; /* by folder, in the order of summary.csv */
    size_t count;
    size_t room;
    struct dataset_problem *problems;
    size_t problem_count;
    struct dataset_spelling *spellings; /* of audit_join_names */
    size_t left_out;                    /* by dataset_keep */
    size_t spelling_count;
};

/* Reads one more folder: of tare (run.db in it), of the study, or with CodeCarbon's emissions.csv.
 * Nothing in it is changed, no link in it is followed. False: it is none of them, or cannot be read
 * at all. Evidence is found by audit_judge. */
bool dataset_read(struct dataset *dataset, const char *path, struct err *err);
void dataset_fini(struct dataset *dataset);

/* Takes the defaults of hyperparameters that experiments do not name. Gives how many experiments
 * are of a repository that the registry describes. */
size_t dataset_take_defaults(struct dataset *dataset, const struct registry *registry);

/* Removes the experiments that are not to be kept, by their indices; their ids go to out. */
void dataset_keep(struct dataset *dataset, const bool *kept, struct strv *out);
/* Removes those whose row and folder disagree (audit_contradicts). */
void dataset_leave_out_contradictions(struct dataset *dataset, struct strv *out);

struct dataset_experiment *dataset_add(struct dataset *dataset);
void dataset_evidence(struct dataset_experiment *experiment, const char *kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* The last evidence was seen at this time since its start. */
void dataset_evidence_at(struct dataset_experiment *experiment, struct reading from_s,
                         struct reading to_s);
/* The last evidence speaks against these quantities alone, a mask. */
void dataset_evidence_touches(struct dataset_experiment *experiment, unsigned quantities);
/* The outcome of a check; of two for one check the worse stays: failed, not made, passed, not
 * needed. */
void dataset_check(struct dataset_experiment *experiment, enum check check,
                   enum check_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool dataset_check_passed(const struct dataset_experiment *experiment, enum check check);
bool dataset_has_evidence(const struct dataset_experiment *experiment, const char *kind);
void dataset_problem(struct dataset *dataset, size_t folder, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Why a check of a row of another program's table was not made: the same for all of them. */
#define DATASET_TABLE_LACKS "the table does not record it"
/* The same of a folder in the study's layout, for processes during an experiment. */
#define DATASET_NO_PROCESSES "no list of processes was recorded"

/* "mutation", "default", "parallel"; "sequential": one training at a time, and nobody wrote down
 * which of the two. */
const char *dataset_mode(const struct dataset_experiment *experiment);

/* Whether less or more of a metric is better: as the registry of the first experiment that has it
 * said, else by its name. */
enum goal dataset_goal(const struct dataset *dataset, const char *metric);

/* How many values of a metric are NaN or infinite. */
size_t dataset_not_finite(const struct dataset *dataset, const char *metric);

/* Each metric's name once, in the order of the experiments. */
void dataset_metrics(const struct dataset *dataset, struct strv *out);
/* of which some experiment has a best number */
void dataset_best_metrics(const struct dataset *dataset, struct strv *out);

/* Whether it has a value of any metric. */
bool dataset_has_metric(const struct dataset_experiment *experiment);

/* Not valid where there is none; may be NaN or infinite. */
struct reading dataset_metric(const struct dataset_experiment *experiment, const char *name);
struct reading dataset_best(const struct dataset_experiment *experiment, const char *name);
/* {name: value}; a new reference */
json_t *dataset_params_json(const struct dataset_experiment *experiment);
const struct value *dataset_param(const struct dataset_experiment *experiment, const char *name);
const struct value *dataset_setting(const struct dataset_experiment *experiment,
                                    /* a hyperparameter; where blank, its default */
                                    const char *name);
struct reading dataset_param_number(const struct dataset_experiment *experiment, const char *name);

/* The energy to believe: that of the samples or the meter; else, of a folder whose traces are not
 * there, what was recorded. */
struct reading dataset_energy(const struct dataset_experiment *experiment);
struct reading dataset_power(const struct dataset_experiment *experiment);

/* When it ended, comparable over folders of several zones as far as those are known. */
int64_t dataset_end_utc_ns(const struct dataset *dataset,
                           const struct dataset_experiment *experiment);

/* In which zone a folder's times are, and how that is known: "times in UTC+08:00". The caller frees
 * it. */
char *dataset_zone_text(const struct dataset *dataset, size_t folder);

/* "YYYY-MM-DD HH:MM:SS", "T" between, date alone or with a fraction, as local time. */
bool dataset_parse_time(const char *text, int64_t *local_ns);
void dataset_format_time(int64_t local_ns, char out[40]); /* 2025-11-15T16:54:19.379192 */

/* The error of an open folder without results: what it is instead. Gives false. */
bool read_no_results(const char *path, int dir, struct err *err);

#endif
