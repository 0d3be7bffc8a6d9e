#include "plan/config/settings_tare.h"
#include "plan/config/settings_on_event.h"

#include "machine/gpu/vendor.h"

#include <string.h>

const char *const plan_orders[] = {
    [ORDER_FILE] = "file", [ORDER_BLOCKS] = "blocks", [ORDER_LONGEST] = "longest-first", NULL};

const char *const preflight_policies[] = {
    [PREFLIGHT_WAIT] = "wait", [PREFLIGHT_REFUSE] = "refuse", [PREFLIGHT_GO_ON] = "go-on", NULL};
const char *const cooldown_modes[] = {
    [COOLDOWN_FIXED] = "fixed", [COOLDOWN_ADAPTIVE] = "adaptive", NULL};

const char *const isolations[] = {
    [ISOLATION_SHARED] = "shared", [ISOLATION_EXCLUSIVE] = "exclusive", NULL};
const char *const cpu_sets_modes[] = {[CPU_SETS_NEAR] = "near", [CPU_SETS_NONE] = "none", NULL};

const char *const calibrate_modes[] = {
    [CALIBRATE_AUTO] = "auto", [CALIBRATE_NEVER] = "never", [CALIBRATE_SLURM] = "slurm", NULL};

static const struct field tare_rows[] = {
    FIELD_OBJECT_ROW("timing", "see below", "pauses between trainings"),
    FIELD_OBJECT_ROW("parallel", "see below", "the background of parallel experiments"),
    FIELD_OBJECT_ROW("preflight", "see below", "what a GPU must be like before a training begins"),
    FIELD_OBJECT_ROW("cooldown", "see below", "how long the pauses are on a GPU"),
    {"gpus", FIELD_TEXT, offsetof(struct settings, pool.gpus),
     .initial = "those that the trainings would see",
     .help = "the GPUs of the run: all, none, or numbers and UUIDs by commas; --gpus goes over it"},
    {"gpus_per_experiment", FIELD_OTHER, .expected = "an integer from 1, or \"all\"",
     .schema = "{'anyOf': [{'type': 'integer', 'minimum': 1, 'maximum': 1024}, {'const': 'all'}]}",
     .initial = "1",
     .help = "how many GPUs an experiment gets; with more of them several experiments run at the "
             "same time"},
    {"isolation", FIELD_NAME, offsetof(struct settings, pool.isolation), .names = isolations,
     .initial = "shared",
     .help = "shared: experiments on other GPUs go on meanwhile; exclusive: each is alone on the "
             "machine"},
    {"cpu_sets", FIELD_NAME, offsetof(struct settings, pool.cpu_sets), .names = cpu_sets_modes,
     .initial = "near",
     .help = "of several slots: near: each gets as many CPUs near its GPUs, which no other slot "
             "uses; none: all "
             "share all"},
    {"calibrate", FIELD_NAME, offsetof(struct settings, guard.calibrate), .names = calibrate_modes,
     .initial = "auto",
     .help = "whether a run may calibrate the sensors of its GPUs; auto: where all conditions "
             "hold, but not in a job of "
             "Slurm; slurm: there as well; never"},
    {"order", FIELD_NAME, offsetof(struct settings, order), .names = plan_orders,
     .initial = "blocks where a grid has several settings, else file",
     .help = "file: entry by entry; blocks: each block holds one run of every setting, of a grid "
             "with one seed, "
             "shuffled by the plan's seed; longest-first: by the time each is expected to take, so "
             "that no slot has a "
             "long one left at the end"},
    {"warmup_entries", FIELD_INT, offsetof(struct settings, warmup_entries), .high = 1000000,
     .initial = "0",
     .help = "order blocks: the runs of so many entries, from the first, come before all others, "
             "in blocks of their "
             "own"},
    {"log_cap", FIELD_SIZE, offsetof(struct settings, limits.log_bytes), .initial = "1GiB",
     .help = "how much of a training's output is kept; what is over is still matched; 0: all"},
    {"energy_budget", FIELD_ENERGY, offsetof(struct settings, budget.energy_j), .initial = "none",
     .help = "what all trainings of the run may use together, by its meters; --energy-budget goes "
             "over it"},
    {"time_budget", FIELD_DURATION, offsetof(struct settings, budget.time_s), .initial = "0",
     .help = "how long the run may take, all its sessions together; 0: no budget; --time-budget "
             "goes over it"},
    {"energy_half_width", FIELD_NUMBER, offsetof(struct settings, guard.half_width_percent),
     .high = 1000, .initial = "20",
     .help =
         "an energy whose half-width is more than so many per cent of it is unverified; 0: never"},
    {"hang_after", FIELD_DURATION, offsetof(struct settings, limits.hang_s), .initial = "0",
     .help = "a training that for so long prints no line and uses neither GPU nor CPU is hung: its "
             "stack is kept, "
             "and it is ended; 0: never"},
    FIELD_OBJECT_ROW("limits", "none", "what one training may use"),
    FIELD_OBJECT_ROW("private", "none",
                     "what a training does not share with the machine, and what is gone with it; "
                     "needs a pid namespace"),
    {"environment", FIELD_NAMES_TO_TEXTS, offsetof(struct settings, environment), .initial = "none",
     .help = "environment variables of every training"},
    {"on_event", FIELD_OTHER, .expected = "a list: a program and its arguments",
     .schema = "{'type': 'array', 'minItems': 1, 'items': {'type': 'string'}}",
     .initial = "that of the user's configuration",
     .help = "the program that gets an event of the run as JSON on its standard input; no shell "
             "reads the arguments"},
};

static const struct field timing_rows[] = {
    {"between_runs", FIELD_DURATION, offsetof(struct timing, between_runs_s),
     .initial = "60 on a GPU, else 0", .help = "pause between two experiments of one entry"},
    {"between_configurations", FIELD_DURATION, offsetof(struct timing, between_configurations_s),
     .initial = "60 on a GPU, else 0",
     .help = "pause between two experiments of different entries"},
    {"before_retry", FIELD_DURATION, offsetof(struct timing, before_retry_s),
     .initial = "30 on a GPU, else 0", .help = "pause before a failed experiment is tried again"},
    {"stop_grace", FIELD_DURATION, offsetof(struct timing, stop_grace_s), .initial = "10",
     .help = "time between SIGTERM and SIGKILL when a training is stopped"},
};

static const struct field parallel_rows[] = {
    {"wait", FIELD_DURATION, offsetof(struct parallel_timing, wait_s), .initial = "30",
     .help = "the background runs alone at least so long before the foreground starts"},
    {"hold", FIELD_DURATION, offsetof(struct parallel_timing, hold_s), .initial = "5",
     .help = "its load on the GPU must have held so long, where it can be seen"},
    {"limit", FIELD_DURATION, offsetof(struct parallel_timing, limit_s), .initial = "120",
     .help = "the foreground starts after that at the latest, load or not"},
    {"restart_delay", FIELD_DURATION, offsetof(struct parallel_timing, restart_delay_s),
     .initial = "2", .help = "time between the end of the background and its next start"},
};

static const struct field preflight_rows[] = {
    {"policy", FIELD_NAME, offsetof(struct preflight_settings, policy), .names = preflight_policies,
     .initial = "wait",
     .help = "when a GPU is not free, empty, idle and cool: wait, then end the run (exit code 3) "
             "if a process, load or "
             "unexplained memory is still on it, or start if it is only hot or slowed down; "
             "refuse: end the run; go-on: "
             "start at once. The evidence is the same"},
    {"wait", FIELD_DURATION, offsetof(struct preflight_settings, wait_s), .initial = "10m",
     .help = "the longest wait of the policy wait; each process that comes, or comes back, begins "
             "a new one"},
    {"baseline", FIELD_DURATION, offsetof(struct preflight_settings, baseline_s), .initial = "2",
     .help = "how long the idle GPU is measured before each training, within the pause where there "
             "is one; 0: not"},
    {"memory", FIELD_SIZE, offsetof(struct preflight_settings, memory_bytes), .initial = "64MiB",
     .help = "how much more than an empty GPU's own use still counts as empty"},
    {"utilisation", FIELD_NUMBER, offsetof(struct preflight_settings, utilisation_percent),
     .high = 100, .initial = "5", .help = "up to how many per cent an idle GPU may be busy"},
    {"temperature_band", FIELD_NUMBER, offsetof(struct preflight_settings, band_c), .high = 200,
     .initial = "10",
     .help = "how many degrees above the coolest start of the run a training may begin"},
    {"temperature_max", FIELD_NUMBER, offsetof(struct preflight_settings, temperature_c),
     .high = 200, .initial = "0",
     .help = "the highest temperature (degrees Celsius) at which a training may begin; 0: the band "
             "decides alone"},
    {"memory_wait", FIELD_DURATION, offsetof(struct preflight_settings, memory_wait_s),
     .initial = "10",
     .help = "how long a GPU may take to give its memory back when a training is gone"},
};

static const struct field cooldown_rows[] = {
    {"mode", FIELD_NAME, offsetof(struct cooldown_settings, mode), .names = cooldown_modes,
     .initial = "adaptive; fixed where timing states a pause",
     .help = "fixed: the pauses of timing; adaptive: until the GPUs are idle and cool again, "
             "between min and max"},
    {"min", FIELD_DURATION, offsetof(struct cooldown_settings, min_s), .initial = "5",
     .help = "adaptive: no pause is shorter"},
    {"max", FIELD_DURATION, offsetof(struct cooldown_settings, max_s), .initial = "5m",
     .help = "adaptive: no pause is longer"},
};

static const struct field limits_rows[] = {
    {"cpu_time", FIELD_DURATION, offsetof(struct limits, job.cpu_time_s), .initial = "0",
     .help = "CPU time of all the training's processes together; 0: no limit"},
    {"memory", FIELD_SIZE, offsetof(struct limits, job.memory_bytes), .initial = "0",
     .help = "memory of all the training's processes together, where cgroups can limit it; 0: no "
             "limit"},
};

static const struct field private_rows[] = {
    {"shm", FIELD_BOOL, offsetof(struct limits, own.shm), .initial = "false",
     .help = "an empty /dev/shm of its own, as large as the machine's may become"},
    {"ipc", FIELD_BOOL, offsetof(struct limits, own.ipc), .initial = "false",
     .help = "System V shared memory, semaphores and message queues of its own"},
    {"tmp", FIELD_BOOL, offsetof(struct limits, own.tmp), .initial = "false",
     .help = "an empty /tmp of its own, in memory; not where the run's folder or the training's is "
             "below /tmp"},
};

const struct field_table settings_tare_table = FIELD_TABLE("`tare`", tare_rows);
const struct field_table settings_timing_table = FIELD_TABLE("`tare.timing`", timing_rows);
const struct field_table settings_parallel_table = FIELD_TABLE("`tare.parallel`", parallel_rows);
const struct field_table settings_preflight_table = FIELD_TABLE("`tare.preflight`", preflight_rows);
const struct field_table settings_cooldown_table = FIELD_TABLE("`tare.cooldown`", cooldown_rows);
const struct field_table settings_limits_table = FIELD_TABLE("`tare.limits`", limits_rows);
const struct field_table settings_private_table = FIELD_TABLE("`tare.private`", private_rows);

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
    .half_width_percent = 20,
};

void settings_set_defaults(struct settings *settings)
{
    *settings = (struct settings){
        .timing = {.between_runs_s = PAUSE_UNSAID,
                   .between_configurations_s = PAUSE_UNSAID,
                   .before_retry_s = PAUSE_UNSAID,
                   .stop_grace_s = 10},
        .parallel = parallel_timing_default,
        .order = ORDER_UNSAID,
        .limits = {.log_bytes = UINT64_C(1) << 30},
        .guard = guard_settings_default,
        .pool = {.per_experiment = 1},
    };
    settings->guard.cooldown.mode = COOLDOWN_UNSAID;
}

static void read_section(const struct source *source, const char *parent_path, const json_t *parent,
                         const char *key, const struct field_table *table, void *target)
{
    AUTO_FREE char *path = NULL;
    const json_t *object = field_object(source, parent_path, parent, key, &path);
    if (!object)
        return;
    fields_read(source, path, object, table, target);
    fields_check_keys(source, path, object, table, UNKNOWN_ARE_ERRORS, NULL);
}

bool settings_gpus_are_list(const char *text)
{
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0)
        return true;
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        bool is_number = length > 0 && length < 4 && strspn(word, "0123456789") == length;
        if (!is_number && !gpu_vendor_by_uuid(word, length))
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
        const struct field row = {
            .key = "gpus_per_experiment", .kind = FIELD_INT, .low = 1, .high = 1024};
        field_read(source, "$.tare.gpus_per_experiment", count, &row, &pool->per_experiment);
    }
    if (pool->gpus && !settings_gpus_are_list(pool->gpus))
        field_error(source, "$.tare.gpus",
                    "'gpus': expected \"all\", \"none\", or numbers and UUIDs by commas (\"0,2\"), "
                    "not \"%s\"",
                    pool->gpus);
}

void settings_read_tare(const struct source *source, const json_t *root, struct settings *settings)
{
    read_section(source, "$", root, "tare", &settings_tare_table, settings);
    const json_t *tare = json_object_get(root, "tare");
    read_pool(source, tare, &settings->pool);
    read_section(source, "$.tare", tare, "timing", &settings_timing_table, &settings->timing);
    read_section(source, "$.tare", tare, "parallel", &settings_parallel_table, &settings->parallel);
    read_section(source, "$.tare", tare, "preflight", &settings_preflight_table,
                 &settings->guard.preflight);
    read_section(source, "$.tare", tare, "cooldown", &settings_cooldown_table,
                 &settings->guard.cooldown);
    /* What each key allows alone, but not both together. */
    if (settings->guard.cooldown.min_s > settings->guard.cooldown.max_s)
        field_error(source, "$.tare.cooldown", "'cooldown': min (%g s) is more than max (%g s)",
                    settings->guard.cooldown.min_s, settings->guard.cooldown.max_s);
    read_section(source, "$.tare", tare, "limits", &settings_limits_table, &settings->limits);
    read_section(source, "$.tare", tare, "private", &settings_private_table, &settings->limits);
    settings_check_on_event(source, tare);
}
