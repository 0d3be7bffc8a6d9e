#include "config/settings.h"

#include "base/mem.h"
#include "config/settings_entry.h"

#include <string.h>

enum { LONGEST_FILE = 64 << 20 };

static const char *const global_modes[] = {"mutation", "nonparallel", "default", "parallel", "mixed", NULL};
const char *const plan_orders[] = {
    [ORDER_FILE] = "file", [ORDER_BLOCKS] = "blocks", [ORDER_LONGEST] = "longest-first", NULL};

const char *const preflight_policies[] = {
    [PREFLIGHT_WAIT] = "wait", [PREFLIGHT_REFUSE] = "refuse", [PREFLIGHT_GO_ON] = "go-on", NULL};
const char *const cooldown_modes[] = {[COOLDOWN_FIXED] = "fixed", [COOLDOWN_ADAPTIVE] = "adaptive", NULL};

const char *const isolations[] = {[ISOLATION_SHARED] = "shared", [ISOLATION_EXCLUSIVE] = "exclusive", NULL};
const char *const cpu_sets_wishes[] = {[CPU_SETS_NEAR] = "near", [CPU_SETS_NONE] = "none", NULL};

/* The top of the file, before it goes into struct settings. */
struct top {
    struct level global;
    char *name;
    bool deduplicate;
    struct strv historical_csvs;
    int64_t seed;
    char *registry;
};

static const struct field top_rows[] = {
    {.key = "experiment_name",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct top, name),
     .initial = "none",
     .help = "a name for the run"},
    {.key = "mode",
     .kind = FIELD_NAME,
     .offset = offsetof(struct top, global.mode),
     .names = global_modes,
     .initial = "mutation",
     .help = "the mode of entries that say none; mixed: each entry says its own"},
    {.key = "runs_per_config",
     .kind = FIELD_INT,
     .offset = offsetof(struct top, global.runs),
     .high = 1000000,
     .initial = "1",
     .help = "how many experiments an entry makes that says none; 0: none"},
    {.key = "max_retries",
     .kind = FIELD_INT,
     .offset = offsetof(struct top, global.max_retries),
     .high = 1000,
     .initial = "2",
     .help = "how often a failed experiment is tried again"},
    {.key = "governor",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct top, global.governor),
     .initial = "left alone",
     .help = "CPU frequency governor during an experiment, such as performance"},
    {.key = "timeout",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct top, global.timeout_s),
     .initial = "0",
     .help = "longest time of one attempt; 0: no limit"},
    {.key = "gpu_memory_limit",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct top, global.gpu_limit),
     .initial = "none",
     .help = "how much of each GPU's memory a training may hold, such as \"8GiB\" or \"50%\": the CUDA driver refuses "
             "more, and shows a GPU of that size"},
    {.key = "track_gpu_memory",
     .kind = FIELD_BOOL,
     .offset = offsetof(struct top, global.track_gpu_memory),
     .initial = "false; true where there is a limit",
     .help = "count every byte that a training allocates on its GPUs"},
    {.key = "seed",
     .kind = FIELD_INT,
     .offset = offsetof(struct top, seed),
     .high = 9007199254740991.0,
     .initial = "a fresh one, recorded",
     .help = "the seed of all drawing: the same seed gives the same plan on every machine"},
    {.key = "use_deduplication",
     .kind = FIELD_BOOL,
     .offset = offsetof(struct top, deduplicate),
     .initial = "false",
     .help = "never draw what a row of historical_csvs has for the same repository, model and mode"},
    {.key = "historical_csvs",
     .kind = FIELD_TEXTS,
     .offset = offsetof(struct top, historical_csvs),
     .initial = "none",
     .help = "summary.csv files of earlier runs, relative to the settings file, then to the working folder"},
    {.key = "registry",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct top, registry),
     .initial = "models_config.json beside the settings, in the working folder, or the one of the program",
     .help = "the registry, relative to the settings file, then to the working folder; --config goes over it"},
    {.key = "experiments",
     .kind = FIELD_OTHER,
     .expected = "a list of objects",
     .initial = "needed",
     .help = "what to run, in this order"},
    {.key = "tare",
     .kind = FIELD_OTHER,
     .expected = "an object",
     .initial = "none",
     .help = "what the study's format does not have"},
};

static const struct field tare_rows[] = {
    {.key = "timing",
     .kind = FIELD_OTHER,
     .expected = "an object",
     .initial = "see below",
     .help = "pauses between trainings"},
    {.key = "parallel",
     .kind = FIELD_OTHER,
     .expected = "an object",
     .initial = "see below",
     .help = "the background of parallel experiments"},
    {.key = "preflight",
     .kind = FIELD_OTHER,
     .expected = "an object",
     .initial = "see below",
     .help = "what a GPU must be like before a training begins"},
    {.key = "cooldown",
     .kind = FIELD_OTHER,
     .expected = "an object",
     .initial = "see below",
     .help = "how long the pauses are on a GPU"},
    {.key = "gpus",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct settings, pool.gpus),
     .initial = "those that the trainings would see",
     .help = "the GPUs of the run: all, none, or numbers and UUIDs by commas; --gpus goes over it"},
    {.key = "gpus_per_experiment",
     .kind = FIELD_OTHER,
     .expected = "a whole number from 1, or \"all\"",
     .initial = "1",
     .help = "how many GPUs an experiment gets; with more of them several experiments run at the same time"},
    {.key = "isolation",
     .kind = FIELD_NAME,
     .offset = offsetof(struct settings, pool.isolation),
     .names = isolations,
     .initial = "shared",
     .help = "shared: experiments on other GPUs go on meanwhile; exclusive: each is alone on the machine"},
    {.key = "cpu_sets",
     .kind = FIELD_NAME,
     .offset = offsetof(struct settings, pool.cpu_sets),
     .names = cpu_sets_wishes,
     .initial = "near",
     .help =
         "of several lanes: near: each gets as many CPUs near its GPUs, which no other lane uses; none: all share all"},
    {.key = "order",
     .kind = FIELD_NAME,
     .offset = offsetof(struct settings, order),
     .names = plan_orders,
     .initial = "file",
     .help = "file: entry by entry; blocks: each block holds one run of every entry, shuffled by the seed; "
             "longest-first: by "
             "the time each is expected to take, so that no lane has a long one left at the end"},
    {.key = "warmup_entries",
     .kind = FIELD_INT,
     .offset = offsetof(struct settings, warmup_entries),
     .high = 1000000,
     .initial = "0",
     .help =
         "order blocks: the runs of so many entries, from the first, come before all others, in blocks of their own"},
    {.key = "log_cap",
     .kind = FIELD_SIZE,
     .offset = offsetof(struct settings, limits.log_bytes),
     .initial = "1GiB",
     .help = "how much of a training's output is kept; what is over is still matched; 0: all"},
    {.key = "limits",
     .kind = FIELD_OTHER,
     .expected = "an object",
     .initial = "none",
     .help = "what one training may use"},
    {.key = "environment",
     .kind = FIELD_NAMES_TO_TEXTS,
     .offset = offsetof(struct settings, environment),
     .initial = "none",
     .help = "environment variables of every training"},
};

static const struct field timing_rows[] = {
    {.key = "between_runs",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct timing, between_runs_s),
     .initial = "60",
     .help = "pause between two experiments of one entry"},
    {.key = "between_configurations",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct timing, between_configurations_s),
     .initial = "60",
     .help = "pause between two experiments of different entries"},
    {.key = "before_retry",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct timing, before_retry_s),
     .initial = "30",
     .help = "pause before a failed experiment is tried again"},
    {.key = "stop_grace",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct timing, stop_grace_s),
     .initial = "10",
     .help = "time between SIGTERM and SIGKILL when a training is stopped"},
};

static const struct field parallel_rows[] = {
    {.key = "wait",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct parallel_timing, wait_s),
     .initial = "30",
     .help = "the background runs alone at least so long before the foreground starts"},
    {.key = "hold",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct parallel_timing, hold_s),
     .initial = "5",
     .help = "its load on the GPU must have held so long, where it can be seen"},
    {.key = "limit",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct parallel_timing, limit_s),
     .initial = "120",
     .help = "the foreground starts after that at the latest, load or not"},
    {.key = "restart_delay",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct parallel_timing, restart_delay_s),
     .initial = "2",
     .help = "time between the end of the background and its next start"},
};

static const struct field preflight_rows[] = {
    {.key = "policy",
     .kind = FIELD_NAME,
     .offset = offsetof(struct preflight_settings, policy),
     .names = preflight_policies,
     .initial = "wait",
     .help = "when a GPU is not free, empty, idle and cool: wait, then go on; refuse: the run ends; or go on at once"},
    {.key = "wait",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct preflight_settings, wait_s),
     .initial = "10m",
     .help = "the longest wait of the policy wait"},
    {.key = "baseline",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct preflight_settings, baseline_s),
     .initial = "2",
     .help = "how long the idle GPU is measured before each training, within the pause where there is one; 0: not"},
    {.key = "memory",
     .kind = FIELD_SIZE,
     .offset = offsetof(struct preflight_settings, memory_bytes),
     .initial = "64MiB",
     .help = "how much more than an empty GPU's own use still counts as empty"},
    {.key = "utilisation",
     .kind = FIELD_NUMBER,
     .offset = offsetof(struct preflight_settings, utilisation_percent),
     .high = 100,
     .initial = "5",
     .help = "up to how many per cent an idle GPU may be busy"},
    {.key = "temperature_band",
     .kind = FIELD_NUMBER,
     .offset = offsetof(struct preflight_settings, band_c),
     .high = 200,
     .initial = "10",
     .help = "how many degrees above the coolest start of the run a training may begin"},
    {.key = "temperature_max",
     .kind = FIELD_NUMBER,
     .offset = offsetof(struct preflight_settings, temperature_c),
     .high = 200,
     .initial = "0",
     .help = "the highest temperature (degrees Celsius) at which a training may begin; 0: the band decides alone"},
    {.key = "memory_wait",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct preflight_settings, memory_wait_s),
     .initial = "10",
     .help = "how long a GPU may take to give its memory back when a training is gone"},
};

static const struct field cooldown_rows[] = {
    {.key = "mode",
     .kind = FIELD_NAME,
     .offset = offsetof(struct cooldown_settings, mode),
     .names = cooldown_modes,
     .initial = "fixed",
     .help = "fixed: the pauses of timing; adaptive: until the GPUs are idle and cool again, between min and max"},
    {.key = "min",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct cooldown_settings, min_s),
     .initial = "5",
     .help = "adaptive: no pause is shorter"},
    {.key = "max",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct cooldown_settings, max_s),
     .initial = "5m",
     .help = "adaptive: no pause is longer"},
};

static const struct field limits_rows[] = {
    {.key = "cpu_time",
     .kind = FIELD_DURATION,
     .offset = offsetof(struct limits, cpu_time_s),
     .initial = "0",
     .help = "CPU time of all the training's processes together; 0: no limit"},
    {.key = "memory",
     .kind = FIELD_SIZE,
     .offset = offsetof(struct limits, memory_bytes),
     .initial = "0",
     .help = "memory of all the training's processes together, where cgroups can limit it; 0: no limit"},
};

static const struct field_table top_table = FIELD_TABLE("The top of the file", top_rows);
static const struct field_table tare_table = FIELD_TABLE("`tare`", tare_rows);
static const struct field_table timing_table = FIELD_TABLE("`tare.timing`", timing_rows);
static const struct field_table parallel_table = FIELD_TABLE("`tare.parallel`", parallel_rows);
static const struct field_table preflight_table = FIELD_TABLE("`tare.preflight`", preflight_rows);
static const struct field_table cooldown_table = FIELD_TABLE("`tare.cooldown`", cooldown_rows);
static const struct field_table limits_table = FIELD_TABLE("`tare.limits`", limits_rows);

#define IN_AN_ENTRY "it belongs into an entry of 'experiments'"

static const struct misplaced not_at_top[] = {{"repo", IN_AN_ENTRY},
                                              {"model", IN_AN_ENTRY},
                                              {"mutate", IN_AN_ENTRY},
                                              {"mutate_params", IN_AN_ENTRY},
                                              {"hyperparameters", IN_AN_ENTRY},
                                              {"foreground", IN_AN_ENTRY},
                                              {"background", IN_AN_ENTRY},
                                              {"timing", "it belongs under 'tare'"},
                                              {"parallel", "it belongs under 'tare'"},
                                              {"preflight", "it belongs under 'tare'"},
                                              {"cooldown", "it belongs under 'tare'"},
                                              {"environment", "it belongs under 'tare'"},
                                              {"limits", "it belongs under 'tare'"},
                                              {"gpus", "it belongs under 'tare'"},
                                              {"gpus_per_experiment", "it belongs under 'tare'"},
                                              {"log_cap", "it belongs under 'tare'"},
                                              {NULL, NULL}};

const struct parallel_timing parallel_timing_default = {
    .wait_s = 30, .hold_s = 5, .limit_s = 120, .restart_delay_s = 2};

const struct guard_settings guard_settings_default = {
    .preflight = {.policy = PREFLIGHT_WAIT,
                  .wait_s = 600,
                  .baseline_s = 2,
                  .memory_bytes = 64 << 20,
                  .utilisation_percent = 5,
                  .band_c = 10,
                  .memory_wait_s = 10},
    .cooldown = {.mode = COOLDOWN_FIXED, .min_s = 5, .max_s = 300},
};

static void set_defaults(struct settings *settings)
{
    *settings = (struct settings){
        .timing = {.between_runs_s = 60, .between_configurations_s = 60, .before_retry_s = 30, .stop_grace_s = 10},
        .parallel = parallel_timing_default,
        .order = ORDER_FILE,
        .limits = {.log_bytes = UINT64_C(1) << 30},
        .guard = guard_settings_default,
        .pool = {.per_experiment = 1},
    };
}

static void read_section(const struct source *source, const char *parent_path, const json_t *parent, const char *key,
                         const struct field_table *table, void *target)
{
    AUTO_FREE char *path = NULL;
    const json_t *object = field_object(source, parent_path, parent, key, &path);
    if (!object)
        return;
    fields_read(source, path, object, table, target);
    fields_check_keys(source, path, object, table, UNKNOWN_ARE_ERRORS, NULL);
}

/* What each key allows alone, but not both together. */
static void check_cooldown(const struct source *source, const struct cooldown_settings *cooldown)
{
    if (cooldown->min_s > cooldown->max_s)
        problems_add(source->problems, SEVERITY_ERROR, source->doc, "$.tare.cooldown",
                     "'cooldown': min (%g s) is more than max (%g s)", cooldown->min_s, cooldown->max_s);
}

bool settings_gpus_are_list(const char *text)
{
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0)
        return true;
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        bool is_number = length > 0 && length < 4 && strspn(word, "0123456789") == length;
        if (!is_number && (length < 5 || strncmp(word, "GPU-", 4) != 0))
            return false;
        word += length;
        if (!*word)
            return true;
    }
}

static void read_pool(const struct source *source, const json_t *tare, struct pool_settings *pool)
{
    const json_t *count = json_get(tare, "gpus_per_experiment");
    const char *word = count ? json_string_value(count) : NULL;
    if (word && strcmp(word, "all") == 0) {
        pool->per_experiment = 0;
    } else if (count) {
        const struct field row = {.key = "gpus_per_experiment", .kind = FIELD_INT, .low = 1, .high = 1024};
        field_read(source, "$.tare.gpus_per_experiment", count, &row, &pool->per_experiment);
    }
    if (pool->gpus && !settings_gpus_are_list(pool->gpus))
        problems_add(source->problems, SEVERITY_ERROR, source->doc, "$.tare.gpus",
                     "'gpus': expected \"all\", \"none\", or numbers and UUIDs by commas (\"0,2\"), not \"%s\"",
                     pool->gpus);
}

static void read_tare(const struct source *source, const json_t *root, struct settings *settings)
{
    read_section(source, "$", root, "tare", &tare_table, settings);
    const json_t *tare = json_object_get(root, "tare");
    read_pool(source, tare, &settings->pool);
    read_section(source, "$.tare", tare, "timing", &timing_table, &settings->timing);
    read_section(source, "$.tare", tare, "parallel", &parallel_table, &settings->parallel);
    read_section(source, "$.tare", tare, "preflight", &preflight_table, &settings->guard.preflight);
    read_section(source, "$.tare", tare, "cooldown", &cooldown_table, &settings->guard.cooldown);
    check_cooldown(source, &settings->guard.cooldown);
    read_section(source, "$.tare", tare, "limits", &limits_table, &settings->limits);
}

static void read_entries(const struct source *source, const json_t *root, const struct level *global,
                         struct settings *settings)
{
    const json_t *list = json_object_get(root, "experiments");
    if (!list) {
        problems_add(source->problems, SEVERITY_ERROR, source->doc, "$",
                     "'experiments' is missing: a list of what to run");
        return;
    }
    if (!json_is_array(list)) {
        AUTO_FREE char *shown = field_shown(list);
        problems_add(source->problems, SEVERITY_ERROR, source->doc, "$.experiments",
                     "'experiments': expected a list of objects, not %s", shown);
        return;
    }
    size_t count = json_array_size(list);
    settings->entries = mem_array(count, sizeof *settings->entries);
    size_t errors = source->problems->errors;
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *path = json_path_index("$.experiments", i);
        settings_read_entry(source, path, json_array_get(list, i), i, global, settings);
    }
    if (settings->entry_count == 0 && source->problems->errors == errors)
        problems_add(source->problems, SEVERITY_ERROR, source->doc, "$.experiments",
                     "'experiments': nothing to run: %s", count ? "every entry is a comment" : "the list is empty");
}

static void take_top(struct top *top, struct settings *settings)
{
    settings->name = steal_ptr(top->name);
    settings->deduplicate = top->deduplicate;
    settings->historical_csvs = top->historical_csvs;
    settings->has_seed = top->seed != UNSAID;
    settings->seed = settings->has_seed ? top->seed : 0;
}

/* Once, and not by every entry that inherits it. */
static void check_gpu_limit(const struct source *source, struct level *global)
{
    struct gpu_limit limit = {0};
    settings_read_gpu_limit(source, "$", global->gpu_limit, &limit);
    if (!gpu_limit_is_set(&limit))
        free(steal_ptr(global->gpu_limit));
}

static void read_root(const struct source *source, const json_t *root, struct settings *settings)
{
    if (!json_is_object(root)) {
        AUTO_FREE char *shown = field_shown(root);
        problems_add(source->problems, SEVERITY_ERROR, source->doc, "$", "expected an object (the settings), not %s",
                     shown);
        return;
    }
    struct top top = {.global = {.mode = WRITTEN_NONE, .runs = 1, .max_retries = 2}, .seed = UNSAID};
    fields_read(source, "$", root, &top_table, &top);
    fields_check_keys(source, "$", root, &top_table, UNKNOWN_ARE_FREE, not_at_top);
    if (top.global.governor)
        settings_check_governor(source, "$.governor", top.global.governor);
    check_gpu_limit(source, &top.global);
    read_tare(source, root, settings);
    read_entries(source, root, &top.global, settings);
    take_top(&top, settings);
    free(top.global.governor);
    free(top.global.gpu_limit);
    free(top.registry); /* the command line looks for it before the settings are read */
}

/* Takes the document that stands in settings->doc. */
static bool read_document(struct settings *settings, struct problems *problems)
{
    size_t errors = problems->errors;
    const struct source source = {&settings->doc, problems};
    read_root(&source, settings->doc.root, settings);
    return problems->errors == errors;
}

bool settings_read(const char *path, struct settings *out, struct problems *problems)
{
    set_defaults(out);
    out->file = mem_strdup(path);
    struct err err = {0};
    if (json_doc_read(path, LONGEST_FILE, &out->doc, &err))
        return read_document(out, problems);
    problems_add_unreadable(problems, path, &err);
    return false;
}

bool settings_parse(const char *file, const char *text, size_t length, struct settings *out, struct problems *problems)
{
    set_defaults(out);
    out->file = mem_strdup(file);
    struct err err = {0};
    if (json_doc_parse(file, text, length, &out->doc, &err))
        return read_document(out, problems);
    problems_add_unreadable(problems, file, &err);
    return false;
}

void settings_fini(struct settings *settings)
{
    for (size_t i = 0; i < settings->entry_count; i++)
        settings_entry_fini(&settings->entries[i]);
    free(settings->entries);
    free(settings->file);
    free(settings->name);
    free(settings->pool.gpus);
    strv_fini(&settings->historical_csvs);
    strv_fini(&settings->environment);
    json_doc_fini(&settings->doc);
    *settings = (struct settings){0};
}

const char *mode_name(enum mode mode)
{
    static const char *const names[] = {
        [MODE_MUTATION] = "mutation", [MODE_DEFAULT] = "default", [MODE_PARALLEL] = "parallel"};
    return names[mode];
}

void settings_describe(struct text *out)
{
    const struct field_table *const tables[] = {&top_table,
                                                &settings_entry_table,
                                                &settings_foreground_table,
                                                &settings_background_table,
                                                &tare_table,
                                                &timing_table,
                                                &parallel_table,
                                                &preflight_table,
                                                &cooldown_table,
                                                &limits_table};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        fields_describe(tables[i], out);
}
