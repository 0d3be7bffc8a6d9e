#include "base/json_place.h"
#include "plan/config/settings_space.h"

#include "base/mem.h"
#include "plan/config/size.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* "repository" is a key of the person's own, but most likely meant as repo. */
static const char *key_meant(const json_t *object, const char *key)
{
    const char *other;
    json_t *value;
    json_object_foreach((json_t *)object, other, value)
    {
        if (strncasecmp(other, key, strlen(key)) == 0)
            return other;
    }
    return NULL;
}

static char *read_needed_text(const struct source *source, const char *path, const json_t *object,
                              const char *key)
{
    const json_t *json = json_object_get(object, key);
    if (!json) {
        const char *other = key_meant(object, key);
        AUTO_FREE char *hint = other ? mem_printf("; is '%s' meant?", other) : mem_strdup("");
        field_error(source, path, "'%s' is missing%s", key, hint);
        return mem_strdup("");
    }
    const struct field row = {.key = key, .kind = FIELD_TEXT};
    AUTO_FREE char *place = json_path_key(path, key);
    char *text = NULL;
    return field_read(source, place, json, &row, &text) ? text : mem_strdup("");
}

static void add_listed_name(const struct source *source, const char *path, const char *key,
                            const char *name, struct strv *names)
{
    if (!*name)
        field_error(source, path, "'%s': a name is empty", key);
    else if (strv_has(names, name))
        problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                     "'%s': '%s' is named twice", key, name);
    else
        strv_add(names, name);
}

/* "a, b" */
static void add_listed_names(const struct source *source, const char *path, const char *key,
                             const char *text, struct strv *names)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        const char *start = text + strspn(text, " ");
        const char *end = text + length;
        while (end > start && end[-1] == ' ')
            end--;
        AUTO_FREE char *name = mem_strndup(start, end > start ? (size_t)(end - start) : 0);
        add_listed_name(source, path, key, name, names);
        if (!text[length])
            return;
        text += length + 1;
    }
}

static void read_mutate(const struct source *source, const char *path, const json_t *json,
                        const char *key, struct strv *names)
{
    if (json_is_string(json)) {
        add_listed_names(source, path, key, json_string_value(json), names);
        return;
    }
    if (!json_is_array(json) || json_array_size(json) == 0) {
        field_refuse(source, path, key, "\"all\", a name, or a list of names", json);
        return;
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        AUTO_FREE char *item = json_path_index(path, i);
        const json_t *name = json_array_get(json, i);
        if (json_is_string(name)) {
            add_listed_name(source, item, key, json_string_value(name), names);
            continue;
        }
        field_refuse(source, item, key, "a name", name);
    }
}

/* "mutate", or "mutate_params", of a job whose mode is read. */
static void settings_read_mutates(const struct source *source, const char *path,
                                  const json_t *object, struct job_settings *job)
{
    static const char *const keys[] = {"mutate", "mutate_params"};
    const char *read = NULL;
    EACH_OF (key, keys) {
        if (!json_get(object, *key))
            continue;
        if (job->mode == MODE_GRID || job->mode == MODE_LIST) {
            AUTO_FREE char *place = json_path_key(path, *key);
            problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, place,
                                "'%s' is for mode \"mutation\": nothing is drawn in mode \"%s\"",
                                *key, mode_name(job->mode));
            continue;
        }
        if (job->mode != MODE_MUTATION) {
            fields_warn_unused(source, path, object, *key, "the mode is 'default'");
            continue;
        }
        AUTO_FREE char *place = json_path_key(path, *key);
        if (read)
            problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, place,
                                "'%s' and '%s' mean the same: keep one of them", *key, read);
        else
            read_mutate(source, place, json_object_get(object, *key), *key, &job->mutate);
        read = *key;
    }
}

/* Everything but what is mutated. */
static void settings_read_job(const struct source *source, const char *path, const json_t *object,
                              enum mode mode, struct job_settings *job)
{
    job->json_path = mem_strdup(path);
    job->mode = mode;
    job->repo = read_needed_text(source, path, object, "repo");
    job->model = read_needed_text(source, path, object, "model");
    settings_read_hyperparameters(source, path, object, job);
}

/* Every text of a job is there, also when the file did not say it: the planner need not ask. */
static void settings_fill_job(struct job_settings *job, const char *path)
{
    if (!job->json_path)
        job->json_path = mem_strdup(path);
    if (!job->repo)
        job->repo = mem_strdup("");
    if (!job->model)
        job->model = mem_strdup("");
}

static void settings_job_fini(struct job_settings *job)
{
    free(job->json_path);
    free(job->repo);
    free(job->model);
    strv_fini(&job->mutate);
    settings_hyperparameters_fini(job);
}

/* Each begins as the one before it does: their places are those of enum written_mode. */
static const char *const background_modes[] = {"mutation", "nonparallel", "default", NULL};
static const char *const job_modes[] = {"mutation", "nonparallel", "default", "grid", "list", NULL};
static const char *const entry_modes[] = {"mutation", "nonparallel", "default", "grid",
                                          "list",     "parallel",    NULL};

#define JOB_ROWS                                                                                   \
    {"repo",                                                                                       \
     FIELD_OTHER,                                                                                  \
     .expected = "a string",                                                                       \
     .schema = FIELD_STRING,                                                                       \
     .initial = "needed",                                                                          \
     .help = "a repository of the registry"},                                                      \
    {                                                                                              \
        "model", FIELD_OTHER, .expected = "a string", .schema = FIELD_STRING, .initial = "needed", \
                              .help = "one of the repository's models"                             \
    }

#define FIXED_VALUES                                                                             \
    "fixed values; a hyperparameter not named here keeps its default, one that is also mutated " \
    "is mutated"

/* A list of values is an axis, a list of objects the points. */
#define SPACE_SCHEMA                                                                      \
    "{'anyOf': [{'type': 'object', 'additionalProperties': {'anyOf': [" FIELD_SCALAR ", " \
    "{'type': 'array', 'minItems': 1, 'items': " FIELD_SCALAR "}]}}, "                    \
    "{'type': 'array', 'minItems': 1, 'items': " FIELD_SCALARS "}]}"
#define NAMES_SCHEMA \
    "{'anyOf': [" FIELD_STRING ", {'type': 'array', 'minItems': 1, 'items': " FIELD_STRING "}]}"

#define HYPERPARAMETERS_ROW(form, meaning)                                                    \
    {                                                                                         \
        "hyperparameters", FIELD_OTHER,                                                       \
            .expected = "an object of numbers, strings, true, false or null", .schema = form, \
            .initial = "the registry's defaults", .help = meaning                             \
    }

#define SPACE_HYPERPARAMETERS_ROW                                                 \
    HYPERPARAMETERS_ROW(SPACE_SCHEMA,                                             \
                        FIXED_VALUES "; mode grid: a list of values is an axis; " \
                                     "mode list: a list of such objects, each a point")

#define MUTATE_ROWS                                                                           \
    {"mutate",                                                                                \
     FIELD_OTHER,                                                                             \
     .expected = "\"all\", a name, or a list of names",                                       \
     .schema = NAMES_SCHEMA,                                                                  \
     .initial = "all",                                                                        \
     .help = "mode mutation: the hyperparameters that get new values; \"a,b\" is two names"}, \
    {                                                                                         \
        "mutate_params", FIELD_OTHER, .expected = "as mutate", .schema = NAMES_SCHEMA,        \
                                      .initial = "all", .help = "another name for mutate"     \
    }

#define RUNS_ROW(fallback)                                                                        \
    {                                                                                             \
        "runs_per_config", FIELD_INT, offsetof(struct level, runs),                               \
            .high = 1000000, .initial = fallback, .help = "how many experiments this entry makes" \
    }

#define GPU_LIMIT_ROW(fallback)                                                                 \
    {                                                                                           \
        "gpu_memory_limit", FIELD_TEXT, offsetof(struct level, gpu_limit),                      \
            .initial = fallback,                                                                \
            .help = "how much of each GPU's memory the training may hold, such as \"8GiB\" or " \
                    "\"50%\": the CUDA driver "                                                 \
                    "refuses more, and shows a GPU of that size"                                \
    }

#define MODE_ROW(modes, fallback, meaning)                                                     \
    {                                                                                          \
        "mode", FIELD_NAME, offsetof(struct level, mode), .names = modes, .initial = fallback, \
                                                          .help = meaning                      \
    }

static const struct field entry_rows[] = {
    JOB_ROWS,
    MODE_ROW(entry_modes, "the file's mode",
             "what the entry does; nonparallel is another name for mutation"),
    MUTATE_ROWS,
    SPACE_HYPERPARAMETERS_ROW,
    FIELD_OBJECT_ROW("foreground", "needed in mode parallel", "the training that is measured"),
    FIELD_OBJECT_ROW(
        "background", "needed in mode parallel",
        "the training that loads the GPU meanwhile, started again until the foreground is done"),
    RUNS_ROW("the foreground's, else the file's"),
    SETTINGS_SEEDS_ROW("the file's"),
    {"max_retries", FIELD_INT, offsetof(struct level, max_retries), .high = 1000,
     .initial = "the file's", .help = "how often a failed experiment is tried again"},
    {"governor", FIELD_TEXT, offsetof(struct level, governor), .initial = "the file's",
     .help = "CPU frequency governor during the experiment"},
    {"timeout", FIELD_DURATION, offsetof(struct level, timeout_s), .initial = "the file's",
     .help = "longest time of one attempt; 0: no limit"},
    {"expected_duration", FIELD_DURATION, offsetof(struct level, expected_s),
     .initial = "from `historical_csvs`",
     .help = "how long one of its experiments will take, for order longest-first and the estimate "
             "of feasibility"},
    {"start_after", FIELD_DURATION, offsetof(struct level, start_after_s),
     .initial = "when the background's load has held",
     .help = "mode parallel: the foreground starts so long after the background, whether that "
             "loads the GPU or not; "
             "`wait`, `hold` and `limit` of `tare.parallel` are ignored"},
    {"isolation", FIELD_NAME, offsetof(struct level, isolation), .names = isolations,
     .initial = "that of `tare`",
     .help = "exclusive: while one of its experiments runs, no other of the run does"},
    GPU_LIMIT_ROW("the file's"),
    {"track_gpu_memory", FIELD_SWITCH, offsetof(struct level, track_gpu_memory),
     .initial = "the file's", .help = "count every byte that the training allocates on its GPUs"},
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

const struct field_table settings_entry_table =
    FIELD_TABLE("An entry of `experiments`", entry_rows);
const struct field_table settings_foreground_table = FIELD_TABLE("`foreground`", foreground_rows);
const struct field_table settings_background_table = FIELD_TABLE("`background`", background_rows);

#define AT_THE_TOP   "it belongs at the top of the file"
#define IN_THE_ENTRY "it belongs beside 'foreground', in the entry itself"

const struct misplaced settings_not_in_entry[] = {
    {"use_deduplication", AT_THE_TOP},
    {"historical_csvs", AT_THE_TOP},
    {"tare", AT_THE_TOP},
    {"experiments", AT_THE_TOP},
    {"seed", "the seed of the plan is at the top of the file, the "
             "seed of a training under 'hyperparameters'"},
    {NULL, NULL}};
const struct misplaced settings_not_in_foreground[] = {{"seeds", IN_THE_ENTRY},
                                                       {"max_retries", IN_THE_ENTRY},
                                                       {"governor", IN_THE_ENTRY},
                                                       {"timeout", IN_THE_ENTRY},
                                                       {NULL, NULL}};
const struct misplaced settings_not_in_background[] = {
    {"mutate", "a background is never mutated"},
    {"mutate_params", "a background is never mutated"},
    {"runs_per_config", IN_THE_ENTRY},
    {"max_retries", IN_THE_ENTRY},
    {"governor", IN_THE_ENTRY},
    {"timeout", IN_THE_ENTRY},
    {NULL, NULL}};

void settings_check_governor(const struct source *source, const char *path, const char *governor)
{
    static const char *const known[] = {"performance", "powersave",    "ondemand",
                                        "userspace",   "conservative", "schedutil"};
    const size_t count = sizeof known / sizeof *known;
    EACH (item, known, count)
        if (strcmp(governor, *item) == 0)
            return;
    AUTO_FREE char *nearest = problem_nearest(governor, known, count);
    if (*nearest)
        problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                     "'governor': '%s' is no governor of Linux%s", governor, nearest);
}

void settings_read_gpu_limit(const struct source *source, const char *path, const char *written,
                             struct gpu_limit *out)
{
    struct err err = {0};
    if (!written || gpu_limit_parse(written, out, &err))
        return;
    AUTO_FREE char *place = json_path_key(path, "gpu_memory_limit");
    field_error(
        source, place,
        "'gpu_memory_limit': %s; expected an amount such as \"8GiB\", or a share such as \"50%%\"",
        err.text);
}

/* An entry that says nothing of its own is a comment; one whose keys look like misspelt ones is
 * not. */
static bool is_comment(const json_t *entry, size_t misspelt)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (fields_find(&settings_entry_table, key))
            return false;
    }
    return misspelt == 0;
}

/* What is not plainly a comment, by a key that says so, may have been meant as an experiment, which
 * would be missed in the morning. */
static void warn_of_comment(const struct source *source, const char *path, const json_t *entry)
{
    AUTO_STRV struct strv keys = {0};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (fields_is_note(key))
            return;
        strv_add(&keys, key);
    }
    if (keys.count == 0)
        return;
    AUTO_FREE char *shown = strv_join(&keys, ", ");
    problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                 "left out as a comment: none of its keys (%s) is known", shown);
}

static int entry_mode(const struct source *source, const char *path, const json_t *entry, int said,
                      int global)
{
    if (said != WRITTEN_NONE)
        return said;
    if (json_get(entry, "foreground") || json_get(entry, "background"))
        return WRITTEN_PARALLEL;
    if (global == WRITTEN_MIXED && !json_get(entry, "mode"))
        field_error(
            source, path,
            "'mode' is missing: the file's mode is \"mixed\", so each experiment says its own");
    return global == WRITTEN_NONE || global == WRITTEN_MIXED ? WRITTEN_MUTATION : global;
}

static enum mode job_mode(int written)
{
    return written == WRITTEN_DEFAULT ? MODE_DEFAULT
           : written == WRITTEN_GRID  ? MODE_GRID
           : written == WRITTEN_LIST  ? MODE_LIST
                                      : MODE_MUTATION;
}

/* What a side of a parallel entry says of its own. */
static void apply_gpu_limit(const struct source *source, const char *path, struct level *said,
                            struct job_settings *job)
{
    settings_read_gpu_limit(source, path, said->gpu_limit, &job->gpu_limit);
    free(said->gpu_limit);
}

static void read_foreground(const struct source *source, const char *path, const json_t *object,
                            struct job_settings *job, int64_t *runs)
{
    struct level said = {.mode = WRITTEN_MUTATION, .runs = UNSAID};
    fields_read(source, path, object, &settings_foreground_table, &said);
    fields_check_keys(source, path, object, &settings_foreground_table, UNKNOWN_ARE_FREE,
                      settings_not_in_foreground);
    settings_read_job(source, path, object, job_mode(said.mode), job);
    settings_read_mutates(source, path, object, job);
    apply_gpu_limit(source, path, &said, job);
    *runs = said.runs;
}

static void read_background(const struct source *source, const char *path, const json_t *object,
                            struct job_settings *job)
{
    struct level said = {.mode = WRITTEN_DEFAULT};
    fields_read(source, path, object, &settings_background_table, &said);
    fields_check_keys(source, path, object, &settings_background_table, UNKNOWN_ARE_FREE,
                      settings_not_in_background);
    if (said.mode != WRITTEN_DEFAULT)
        fields_warn_unused(source, path, object, "mode", "a background is never mutated");
    settings_read_job(source, path, object, MODE_DEFAULT, job);
    apply_gpu_limit(source, path, &said, job);
}

/* One side of a parallel entry, or NULL with a problem. */
static const json_t *read_side(const struct source *source, const char *path, const json_t *entry,
                               const char *key, char **side_path)
{
    if (!json_get(entry, key))
        field_error(source, path,
                    "'%s' is missing: a parallel experiment has a foreground and a background",
                    key);
    return field_object(source, path, entry, key, side_path);
}

static void read_parallel(const struct source *source, const char *path, const json_t *json,
                          struct entry_settings *entry, int64_t *runs)
{
    static const char *const job_keys[] = {"mutate", "mutate_params", "hyperparameters"};
    EACH_OF (job_key, job_keys)
        fields_warn_unused(source, path, json, *job_key,
                           "a parallel experiment says it under 'foreground'");
    AUTO_FREE char *foreground_path = NULL;
    const json_t *foreground = read_side(source, path, json, "foreground", &foreground_path);
    if (foreground)
        read_foreground(source, foreground_path, foreground, &entry->foreground, runs);
    AUTO_FREE char *background_path = NULL;
    const json_t *background = read_side(source, path, json, "background", &background_path);
    if (background)
        read_background(source, background_path, background, &entry->background);
}

static void read_single_job(const struct source *source, const char *path, const json_t *json,
                            int mode, struct job_settings *job)
{
    fields_warn_unused(source, path, json, "foreground", "the mode is not 'parallel'");
    fields_warn_unused(source, path, json, "background", "the mode is not 'parallel'");
    fields_warn_unused(source, path, json, "start_after", "the mode is not 'parallel'");
    settings_read_job(source, path, json, job_mode(mode), job);
    settings_read_mutates(source, path, json, job);
}

static void inherit_gpu_memory(struct job_settings *job, const struct gpu_limit *limit,
                               enum setting_switch track)
{
    if (!gpu_limit_is_set(&job->gpu_limit))
        job->gpu_limit = *limit;
    job->track_gpu_memory = track;
}

/* What the entry says goes over what the file says; the entry keeps the governor of either. */
static void apply_levels(const struct source *source, const char *path, const struct level *said,
                         const struct level *global, int isolation, struct entry_settings *entry)
{
    entry->max_retries = said->max_retries != UNSAID ? said->max_retries : global->max_retries;
    entry->governor = said->governor ? said->governor : mem_strdup(global->governor);
    entry->timeout_s = said->timeout_s >= 0 ? said->timeout_s : global->timeout_s;
    entry->expected_s = said->expected_s;
    entry->start_after_s =
        (struct reading){said->start_after_s, entry->parallel && said->start_after_s >= 0};
    entry->exclusive =
        (said->isolation != UNSAID ? said->isolation : isolation) == ISOLATION_EXCLUSIVE;
    struct gpu_limit limit = {0};
    enum setting_switch track =
        said->track_gpu_memory != SWITCH_UNSAID ? said->track_gpu_memory : global->track_gpu_memory;
    settings_read_gpu_limit(source, said->gpu_limit ? path : "$",
                            said->gpu_limit ? said->gpu_limit : global->gpu_limit, &limit);
    inherit_gpu_memory(&entry->foreground, &limit, track);
    inherit_gpu_memory(&entry->background, &limit, track);
}

void settings_read_entry(const struct source *source, const char *path, const json_t *json,
                         size_t index, const struct level *global, struct settings *settings)
{
    if (!json_is_object(json)) {
        field_refuse(source, path, NULL, "an object (an experiment)", json);
        return;
    }
    size_t misspelt = fields_check_keys(source, path, json, &settings_entry_table, UNKNOWN_ARE_FREE,
                                        settings_not_in_entry);
    if (is_comment(json, misspelt)) {
        warn_of_comment(source, path, json);
        return;
    }
    struct level said = {.mode = WRITTEN_NONE,
                         .runs = UNSAID,
                         .max_retries = UNSAID,
                         .timeout_s = UNSAID,
                         .start_after_s = UNSAID,
                         .isolation = UNSAID};
    fields_read(source, path, json, &settings_entry_table, &said);
    if (said.governor) {
        AUTO_FREE char *place = json_path_key(path, "governor");
        settings_check_governor(source, place, said.governor);
    }
    int mode = entry_mode(source, path, json, said.mode, global->mode);
    struct entry_settings *entry = &settings->entries[settings->entry_count++];
    *entry = (struct entry_settings){.index = index, .json_path = mem_strdup(path)};
    int64_t foreground_runs = UNSAID;
    entry->parallel = mode == WRITTEN_PARALLEL;
    if (entry->parallel) {
        read_parallel(source, path, json, entry, &foreground_runs);
        settings_fill_job(&entry->background, path);
        entry->background.mode = MODE_DEFAULT;
    } else {
        read_single_job(source, path, json, mode, &entry->foreground);
    }
    settings_fill_job(&entry->foreground, path);
    apply_levels(source, path, &said, global, settings->pool.isolation, entry);
    entry->runs = said.runs != UNSAID         ? said.runs
                  : foreground_runs != UNSAID ? foreground_runs
                                              : global->runs;
    settings_read_seeds(source, path, json, &entry->seeds);
    free(said.gpu_limit);
}

void settings_entry_fini(struct entry_settings *entry)
{
    free(entry->json_path);
    free(entry->governor);
    settings_seeds_fini(&entry->seeds);
    settings_job_fini(&entry->foreground);
    settings_job_fini(&entry->background);
}
