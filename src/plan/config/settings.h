/* settings: the JSON file that says what to run, in the study's format unchanged, and tare's
 * additions under one key "tare". Names of repositories, models and hyperparameters are checked
 * against the registry by the planner (plan/), not here. */
#ifndef TARE_PLAN_CONFIG_SETTINGS_H
#define TARE_PLAN_CONFIG_SETTINGS_H

#include "base/json.h"
#include "base/strv.h"
#include "base/text.h"
#include "base/value.h"
#include "machine/contain/contain.h"
#include "machine/gpu/ledger.h"
#include "plan/config/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mode { MODE_MUTATION, MODE_DEFAULT, MODE_GRID, MODE_LIST, MODE_PARALLEL, MODE_COUNT };

struct setting_param {
    char *name;
    struct value value; /* of an axis the first */
    struct value *axis; /* mode grid: the values that it takes one after the other; NULL: the one */
    size_t axis_count;
};

/* Mode list: one of its points. */
struct setting_point {
    char *json_path;
    struct setting_param *params;
    size_t param_count;
};

/* "seeds": each combination is run once with each of them. */
struct setting_seeds {
    char *json_path; /* of what said it; NULL: nothing is said */
    int64_t *items;  /* NULL: from 1 to count */
    size_t count;
};

/* true or false, or nothing is said. */
enum setting_switch { SWITCH_UNSAID, SWITCH_OFF, SWITCH_ON };

/* What one side of an experiment trains. */
struct job_settings {
    char *json_path; /* of the object that said it */
    char *repo;
    char *model;
    enum mode mode;     /* not PARALLEL */
    struct strv mutate; /* names, or "all"; empty in mutation mode: all */
    /* "hyperparameters"; of mode list those of the first point, borrowed */
    struct setting_param *params;
    size_t param_count;
    struct setting_point *points; /* mode list */
    size_t point_count;
    /* of each GPU's memory: its own over the entry's over the file's */
    struct gpu_limit gpu_limit;
    /* followed, also without a limit; unsaid: where it can be */
    enum setting_switch track_gpu_memory;
};

/* One entry of "experiments" that runs something; entries that hold only comments are left out. */
struct entry_settings {
    size_t index; /* in the file, from 0 */
    char *json_path;
    bool parallel;
    struct job_settings foreground; /* the job itself when not parallel */
    struct job_settings background; /* parallel only */
    /* experiment over foreground over global; default 1; 0 is allowed: nothing to run */
    int64_t runs;
    struct setting_seeds seeds; /* over those of the file; of the foreground */
    int64_t max_retries;        /* entry over global; default 2 */
    char *governor;             /* entry over global; NULL: left alone */
    double timeout_s;           /* entry over global; 0: none */
    /* how long one of its experiments is expected to take; 0: nothing is said */
    double expected_s;
    /* entry over global: no other experiment of the run goes on meanwhile */
    bool exclusive;
    /* parallel only: the foreground starts so long after the background, loaded or not */
    struct reading start_after_s;
};

/* UNSAID: blocks where a grid has several settings, else file; a plan has one of the others. */
enum plan_order { ORDER_FILE, ORDER_BLOCKS, ORDER_LONGEST, ORDER_UNSAID };

/* A pause that the settings do not state: the plan settles it, which knows whether there is a
 * GPU. */
#define PAUSE_UNSAID (-1.0)

struct timing {
    double between_runs_s;           /* PAUSE_UNSAID */
    double between_configurations_s; /* PAUSE_UNSAID */
    double before_retry_s;           /* PAUSE_UNSAID */
    double stop_grace_s;             /* 10: TERM to KILL */
};

/* How a parallel experiment's background is started, and started again. */
struct parallel_timing {
    double wait_s;          /* 30: it runs alone at least so long */
    double hold_s;          /* 5: its load must have held so long, where that can be seen */
    double limit_s;         /* 120: it is waited for no longer than that */
    double restart_delay_s; /* 2: between the end of a loop and the start of the next */
};

/* What the guard asks of a GPU before an attempt, and what it does when that is not so. */
enum preflight_policy { PREFLIGHT_WAIT, PREFLIGHT_REFUSE, PREFLIGHT_GO_ON };
struct preflight_settings {
    int policy; /* enum preflight_policy */
    /* 600: so long for a GPU that is not free; then the attempt begins all the same */
    double wait_s;
    /* 2: so long the idle GPU is measured before each attempt; 0: not */
    double baseline_s;
    uint64_t memory_bytes;      /* 64 MiB: so much above the empty GPU's own use is empty still */
    double utilisation_percent; /* 5 */
    /* 10: so far above the coolest start of the run an attempt may begin */
    double band_c;
    double temperature_c; /* 0: no limit of its own */
    double memory_wait_s; /* 10: so long after a job for its memory to come back */
};

/* The pause between trainings, on a GPU. */
enum cooldown_mode { COOLDOWN_FIXED, COOLDOWN_ADAPTIVE, COOLDOWN_UNSAID /* in settings only */ };
struct cooldown_settings {
    int mode;     /* enum cooldown_mode */
    double min_s; /* 5 */
    double max_s; /* 300 */
};

/* Calibrations that no person asked for: auto: not in a job of Slurm. */
enum calibrate_mode { CALIBRATE_AUTO, CALIBRATE_NEVER, CALIBRATE_SLURM };

struct guard_settings {
    struct preflight_settings preflight;
    struct cooldown_settings cooldown;
    /* 20: of an energy; above it the energy is evidence "energy_imprecise"; 0: never */
    double half_width_percent;
    int calibrate; /* enum calibrate_mode */
};

/* Which GPUs a run takes, and how many of them an experiment. */
enum isolation { ISOLATION_SHARED, ISOLATION_EXCLUSIVE };
enum cpu_sets_mode { CPU_SETS_NEAR, CPU_SETS_NONE };
struct pool_settings {
    /* "all", "none", or numbers and UUIDs by commas; NULL: those that jobs would see */
    char *gpus;
    int64_t per_experiment; /* 1; 0: all of them */
    int isolation;          /* enum isolation, of entries that say nothing */
    int cpu_sets;           /* enum cpu_sets_mode: which processors the jobs of several lanes get */
};

/* Limits of one job; 0: none. The wall time is the entry's timeout. */
struct limits {
    struct job_limits job;
    /* "hang_after": so long without a log line, GPU use and CPU use it counts as hung */
    double hang_s;
    struct job_private own; /* "private" */
    uint64_t log_bytes;     /* "log_cap"; default 1 GiB: what is over is matched but not kept */
};

/* What a whole run may use; 0: no budget. */
struct run_budget {
    double energy_j, time_s;
};

struct settings {
    char *file;
    char *name; /* "experiment_name"; NULL: none */
    struct entry_settings *entries;
    size_t entry_count;
    struct setting_seeds seeds; /* of entries that say none */
    bool deduplicate;
    /* as given: relative to the settings file, then to the working folder */
    struct strv historical_csvs;
    bool has_seed;
    int64_t seed;
    struct timing timing;
    struct parallel_timing parallel;
    enum plan_order order;
    /* order blocks: the runs of so many entries, by index, come first, in their own blocks */
    int64_t warmup_entries;
    struct limits limits;
    struct run_budget budget;
    struct guard_settings guard;
    struct pool_settings pool;
    struct strv environment; /* NAME=VALUE for every job */
    /* with the key "tare" unstated pauses are adaptive, else the study's */
    bool has_tare;
    struct json_doc doc;
};

/* Options of the command line that change settings. Texts are borrowed; NULL: not given. */
struct settings_changes {
    const struct strv *sets; /* PATH=VALUE of --set, applied before the others */
    bool has_runs, has_max_retries;
    int64_t runs;         /* -n: an entry that states 0 keeps it */
    int64_t max_retries;  /* -mr */
    const char *governor; /* -g */
    const char *cooldown; /* --cooldown: a name of cooldown_modes */
    bool strict;          /* a key that looks misspelt is an error, not a warning */
};

/* The registry that a file of settings names, borrowed, or NULL (settings may be NULL); whether the
 * file is a registry itself. For files that were not read as settings yet. */
const char *settings_registry_named(const struct json_doc *settings);
bool settings_are_registry(const struct json_doc *doc);

bool settings_read(const char *path, struct settings *out, struct problems *problems);

/* The same with changes, which doc.root then holds too. */
bool settings_read_changed(const char *path, const struct settings_changes *changes,
                           struct settings *out, struct problems *problems);
bool settings_parse(const char *file, const char *text, size_t length, struct settings *out,
                    struct problems *problems);
bool settings_parse_changed(const char *file, const char *text, size_t length,
                            const struct settings_changes *changes, struct settings *out,
                            struct problems *problems);

/* Settings made of flags: -r REPO -m MODEL -mt PARAMS and those of changes, without sets: entry 0
 * only. mutate NULL: default mode. file is NULL, doc holds the settings file that says the same
 * (its file is NULL too: problems then name no place). */
void settings_from_flags(const char *repo, const char *model, const char *mutate,
                         const struct settings_changes *changes, struct settings *out);
void settings_fini(struct settings *settings);

/* The reference of every key in Markdown: a heading and a table an object. */
void settings_describe(struct text *out);
json_t *settings_schema(void); /* JSON Schema of it; a new reference */

/* What holds where nothing is said of it. */
extern const struct parallel_timing parallel_timing_default;

/* What holds where nothing is said of the guard. */
extern const struct guard_settings guard_settings_default;

/* Their names in the settings, in the order of the enums; NULL-terminated. */
extern const char *const preflight_policies[], *const cooldown_modes[], *const isolations[];
extern const char *const cpu_sets_modes[], *const plan_orders[], *const calibrate_modes[];

/* "all", "none", or numbers and UUIDs by commas, none of them empty. */
bool settings_gpus_are_list(const char *text);

const char *mode_name(enum mode mode); /* "mutation", "default", "grid", "list", "parallel" */

/* The mode of one job that has this name; false: none (NULL is none). */
bool mode_from_name(const char *name, enum mode *out);
extern const char *const job_mode_names[]; /* of the modes that one job can have; NULL-terminated */

#endif
