#include "plan/config/settings_entry.h"

#include <stddef.h>

/* Each begins as the one before it does: their places are those of enum written_mode. */
static const char *const background_modes[] = {"mutation", "nonparallel", "default", NULL};
static const char *const job_modes[] = {"mutation", "nonparallel", "default", "grid", "list", NULL};
static const char *const entry_modes[] = {"mutation", "nonparallel", "default", "grid", "list", "parallel", NULL};

#define JOB_ROWS                                                                                                       \
    {"repo", FIELD_OTHER, .expected = "a string", .schema = FIELD_STRING, .initial = "needed",                         \
     .help = "a repository of the registry"},                                                                          \
    {"model", FIELD_OTHER, .expected = "a string", .schema = FIELD_STRING, .initial = "needed",                        \
     .help = "one of the repository's models"}

#define FIXED_VALUES "fixed values; a hyperparameter not named here keeps its default, one that is also mutated is mutated"

/* A list of values is an axis, a list of objects the points. */
#define SPACE_SCHEMA                                                                                                   \
    "{'anyOf': [{'type': 'object', 'additionalProperties': {'anyOf': [" FIELD_SCALAR ", "                              \
    "{'type': 'array', 'minItems': 1, 'items': " FIELD_SCALAR "}]}}, "                                                 \
    "{'type': 'array', 'minItems': 1, 'items': " FIELD_SCALARS "}]}"
#define NAMES_SCHEMA "{'anyOf': [" FIELD_STRING ", {'type': 'array', 'minItems': 1, 'items': " FIELD_STRING "}]}"

#define HYPERPARAMETERS_ROW(form, meaning)                                                                             \
    {"hyperparameters", FIELD_OTHER, .expected = "an object of numbers, strings, true, false or null", .schema = form, \
     .initial = "the registry's defaults", .help = meaning}

#define SPACE_HYPERPARAMETERS_ROW                                                                                      \
    HYPERPARAMETERS_ROW(SPACE_SCHEMA, FIXED_VALUES "; mode grid: a list of values is an axis; "                                      \
                                     "mode list: a list of such objects, each a point")

#define MUTATE_ROWS                                                                                                    \
    {"mutate", FIELD_OTHER, .expected = "\"all\", a name, or a list of names", .schema = NAMES_SCHEMA, .initial = "all",                       \
     .help = "mode mutation: the hyperparameters that get new values; \"a,b\" is two names"},                          \
    {"mutate_params", FIELD_OTHER, .expected = "as mutate", .schema = NAMES_SCHEMA, .initial = "all",                  \
     .help = "another name for mutate"}

#define RUNS_ROW(fallback)                                                                                             \
    {"runs_per_config", FIELD_INT, offsetof(struct level, runs), .high = 1000000, .initial = fallback,                 \
     .help = "how many experiments this entry makes"}

#define GPU_LIMIT_ROW(fallback)                                                                                        \
    {"gpu_memory_limit", FIELD_TEXT, offsetof(struct level, gpu_limit), .initial = fallback,                           \
     .help = "how much of each GPU's memory the training may hold, such as \"8GiB\" or \"50%\": the CUDA driver "      \
             "refuses more, and shows a GPU of that size"}

#define MODE_ROW(modes, fallback, meaning)                                                                             \
    {"mode", FIELD_NAME, offsetof(struct level, mode), .names = modes, .initial = fallback, .help = meaning}

static const struct field entry_rows[] = {
    JOB_ROWS,
    MODE_ROW(entry_modes, "the file's mode", "what the entry does; nonparallel is another name for mutation"),
    MUTATE_ROWS,
    SPACE_HYPERPARAMETERS_ROW,
    FIELD_OBJECT_ROW("foreground", "needed in mode parallel", "the training that is measured"),
    FIELD_OBJECT_ROW("background", "needed in mode parallel",
                     "the training that loads the GPU meanwhile, started again until the foreground is done"),
    RUNS_ROW("the foreground's, else the file's"),
    SETTINGS_SEEDS_ROW("the file's"),
    {"max_retries", FIELD_INT, offsetof(struct level, max_retries), .high = 1000, .initial = "the file's",
     .help = "how often a failed experiment is tried again"},
    {"governor", FIELD_TEXT, offsetof(struct level, governor), .initial = "the file's",
     .help = "CPU frequency governor during the experiment"},
    {"timeout", FIELD_DURATION, offsetof(struct level, timeout_s), .initial = "the file's",
     .help = "longest time of one attempt; 0: no limit"},
    {"expected_duration", FIELD_DURATION, offsetof(struct level, expected_s), .initial = "from `historical_csvs`",
     .help = "how long one of its experiments will take, for order longest-first"},
    {"start_after", FIELD_DURATION, offsetof(struct level, start_after_s),
     .initial = "when the background's load has held",
     .help = "mode parallel: the foreground starts so long after the background, whether that loads the GPU or not; "
             "`wait`, `hold` and `limit` of `tare.parallel` are ignored"},
    {"isolation", FIELD_NAME, offsetof(struct level, isolation), .names = isolations, .initial = "that of `tare`",
     .help = "exclusive: while one of its experiments runs, no other of the run does"},
    GPU_LIMIT_ROW("the file's"),
    {"track_gpu_memory", FIELD_SWITCH, offsetof(struct level, track_gpu_memory), .initial = "the file's",
     .help = "count every byte that the training allocates on its GPUs"},
};

static const struct field foreground_rows[] = {
    JOB_ROWS,
    MODE_ROW(job_modes, "mutation", "nonparallel is another name for mutation"),
    MUTATE_ROWS,
    SPACE_HYPERPARAMETERS_ROW,
    RUNS_ROW("the file's"),
    GPU_LIMIT_ROW("the entry's"),
};

static const struct field background_rows[] = {
    JOB_ROWS,
    MODE_ROW(background_modes, "default",
             "a background is never mutated: anything but default is ignored with a warning"),
    HYPERPARAMETERS_ROW(FIELD_SCALARS, FIXED_VALUES),
    GPU_LIMIT_ROW("the entry's"),
};

const struct field_table settings_entry_table = FIELD_TABLE("An entry of `experiments`", entry_rows);
const struct field_table settings_foreground_table = FIELD_TABLE("`foreground`", foreground_rows);
const struct field_table settings_background_table = FIELD_TABLE("`background`", background_rows);

#define AT_THE_TOP   "it belongs at the top of the file"
#define IN_THE_ENTRY "it belongs beside 'foreground', in the entry itself"

const struct misplaced settings_not_in_entry[] = {{"use_deduplication", AT_THE_TOP},
                                                  {"historical_csvs", AT_THE_TOP},
                                                  {"tare", AT_THE_TOP},
                                                  {"experiments", AT_THE_TOP},
                                                  {"seed", "the seed of the plan is at the top of the file, the "
                                                           "seed of a training under 'hyperparameters'"},
                                                  {NULL, NULL}};
const struct misplaced settings_not_in_foreground[] = {
    {"seeds", IN_THE_ENTRY},   {"max_retries", IN_THE_ENTRY}, {"governor", IN_THE_ENTRY},
    {"timeout", IN_THE_ENTRY}, {NULL, NULL}};
const struct misplaced settings_not_in_background[] = {{"mutate", "a background is never mutated"},
                                                       {"mutate_params", "a background is never mutated"},
                                                       {"runs_per_config", IN_THE_ENTRY},
                                                       {"max_retries", IN_THE_ENTRY},
                                                       {"governor", IN_THE_ENTRY},
                                                       {"timeout", IN_THE_ENTRY},
                                                       {NULL, NULL}};
