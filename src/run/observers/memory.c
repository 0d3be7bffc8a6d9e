#include "run/observers/memory.h"
#include "gpu_memory/oom/size.h"
#include "machine/contain/job.h"
#include "machine/contain/prove.h"
#include "run/lane.h"

#include "base/mem.h"
#include "measure/memory_curve.h"

#include <string.h>

enum { GPUS_MAX = 16, EPOCHS_MAX = 100000, SAMPLE_MS = 1000 };

/* Without a known number of epochs no warning looks farther ahead. */
enum { HORIZON_EPOCHS = 100 };

/* Replaces epochs in a training that has none. */
static const double WINDOW_S = 10;

/* Share of the peak that counts as the peak. */
static const double NEAR_PEAK = 0.9;

static const char main_mark[] = "epoch";

struct memory_gpu {
    const char *label; /* borrowed from the meters */
    const char *uuid;  /* NULL: not known */
    /* the driver lists the job's processes */
    bool by_process;
    /* without by_process: in use, less before_bytes */
    double own_bytes;
    /* last reading before the job; below 0: none */
    double before_bytes;
    double used_bytes, total_bytes; /* of the GPU; 0: unknown */
    struct reading reserved_bytes;  /* by the driver */
    uint32_t every_ms;              /* interval of peaks; 0: samples only */
    /* largest such peak above before_bytes */
    double device_peak_bytes;
    int64_t device_peak_ns;
    struct memory_curve curve;
    struct counted counted;
    double sampled_peak;
    /* sum of shares near the peak, and their number */
    double load_percent;
    size_t load_samples;
    double epoch_peak; /* below 0: no reading in this epoch */
    double *peaks;
    size_t peak_count;
    struct growth_windows windows;
    bool warned;
    double pair_before_bytes; /* before the background; below 0: none */
    double pair_peak_bytes;   /* foreground and background; 0: unknown */
};

struct lane_memory {
    bool on;
    struct memory_gpu gpus[GPUS_MAX];
    size_t gpu_count;
    struct memory_curve host;
    char mark[MARK_NAME_MAX + 1]; /* the first mark, or "epoch" */
    bool open;                    /* in an epoch */
    /* label of the last epoch; -1: none */
    int64_t number;
    size_t ended;
};

LANE_STATE(memory_of, struct lane_memory, memory_observer);

static double growth_window_s(const struct lane *lane)
{
    return WINDOW_S * lane->runner->time_scale;
}

static const char *find_gpu_uuid(const struct lane *lane, const char *label)
{
    const struct energy_meters_options *options = lane->runner->request->energy_meters;
    for (size_t i = 0; options && i < options->gpu_count; i++)
        if (strcmp(options->gpus[i].label, label) == 0)
            return options->gpus[i].device;
    return NULL;
}

static struct memory_gpu *find_gpu(struct lane *lane, const char *label)
{
    struct lane_memory *memory = memory_of(lane);
    EACH (item, memory->gpus, memory->gpu_count)
        if (strcmp(item->label, label) == 0)
            return item;
    if (memory->gpu_count == GPUS_MAX)
        return NULL;
    struct memory_gpu *gpu = &memory->gpus[memory->gpu_count++];
    *gpu = (struct memory_gpu){
        .label = label, .uuid = find_gpu_uuid(lane, label), .before_bytes = -1, .epoch_peak = -1};
    gpu->pair_before_bytes = -1;
    counted_begin(&gpu->counted);
    growth_windows_begin(&gpu->windows, growth_window_s(lane));
    return gpu;
}

static double since_start_s(const struct lane *lane, int64_t t_ns)
{
    return ns_to_s(t_ns - lane->attempt.start_ns);
}

static void prepare_memory(struct lane *lane)
{
    struct lane_memory *memory = memory_of(lane);
    memory->on = false;
    EACH (gpu, memory->gpus, memory->gpu_count) {
        gpu->by_process = gpu->warned = false;
        gpu->own_bytes = gpu->device_peak_bytes = 0;
        gpu->curve = (struct memory_curve){0};
        counted_begin(&gpu->counted);
        gpu->sampled_peak = gpu->load_percent = gpu->pair_peak_bytes = 0;
        gpu->load_samples = 0;
        gpu->epoch_peak = -1;
        gpu->peak_count = 0;
        growth_windows_begin(&gpu->windows, growth_window_s(lane));
    }
    memory->host = (struct memory_curve){0};
    memory->mark[0] = '\0';
    memory->open = false;
    memory->number = -1;
    memory->ended = 0;
}

static void keep_before_background(struct lane *lane)
{
    EACH (gpu, memory_of(lane)->gpus, memory_of(lane)->gpu_count)
        gpu->pair_before_bytes = gpu->before_bytes;
}

static void begin_memory(struct lane *lane)
{
    memory_of(lane)->on = lane->energy_meters != NULL;
    if (lane->attempt.ledger)
        ledger_watch(lane->attempt.ledger, job_identity(lane->attempt.job)->pid);
}

static void sample_host_memory(struct lane *lane)
{
    struct lane_memory *memory = memory_of(lane);
    if (!memory->on)
        return;
    struct reading host = energy_meters_job_memory(lane->energy_meters);
    if (host.valid)
        memory_curve_add(&memory->host, since_start_s(lane, clock_monotonic_ns()), host.value);
}

/* Meters also report between experiments. */
static bool is_memory_sample_within(const struct lane *lane, int64_t t_ns)
{
    const struct attempt *attempt = &lane->attempt;
    return lane->experiment && memory_of(lane)->on && t_ns >= attempt->start_ns &&
           (attempt->end_ns == 0 || t_ns <= attempt->end_ns);
}

/* Total memory without that of others. */
static double available_bytes(const struct memory_gpu *gpu)
{
    double others = gpu->by_process ? gpu->used_bytes - gpu->own_bytes : gpu->before_bytes;
    return gpu->total_bytes > 0 ? gpu->total_bytes - (others > 0 ? others : 0) : 0;
}

static double gpu_memory_limit(const struct lane *lane, const struct memory_gpu *gpu)
{
    double left = available_bytes(gpu);
    const struct gpu_limit *own = &lane->experiment->foreground.gpu_limit;
    double limit = own->share > 0 ? own->share * gpu->total_bytes : (double)own->bytes;
    return limit > 0 && limit < left ? limit : left;
}

static void add_size(struct text *text, double bytes)
{
    oom_size_add_text(oom_size_of((uint64_t)bytes), text);
}

/* Before any epoch is named. */
static void warn_of_growth_in_time(struct lane *lane, struct memory_gpu *gpu, double now_s)
{
    double limit = gpu_memory_limit(lane, gpu);
    struct growth_in_time growth = growth_in_time(&gpu->windows, limit);
    double left_s = growth_seconds_left(&growth, limit);
    if (gpu->warned || left_s > HORIZON_EPOCHS * gpu->windows.step_s)
        return;
    gpu->warned = true;
    char after[32], left[32];
    AUTO_TEXT struct text text = {0};
    clock_format_duration(now_s, after);
    clock_format_duration(left_s, left);
    text_addf(&text, "%s: the job's memory grows by ", gpu->label);
    add_size(&text, 60 * growth.bytes_per_s);
    text_add(&text, " a minute (");
    add_size(&text, growth.last_bytes);
    text_addf(&text, " after %s, of ", after);
    add_size(&text, limit);
    text_addf(&text, "; the training names no epochs); if it goes on so, it runs out in %s", left);
    lane_add_evidence(lane, "memory_growth", "%s", text_get(&text));
}

static void read_memory_ledger(struct lane *lane, struct memory_gpu *gpu)
{
    int64_t now_ns = clock_monotonic_ns();
    if (memory_of(lane)->on && lane->attempt.ledger && gpu->uuid)
        counted_look(&gpu->counted, lane->attempt.ledger, gpu->uuid, now_ns,
                     since_start_s(lane, now_ns));
}

static void add_own_bytes(struct lane *lane, struct memory_gpu *gpu, int64_t t_ns, double own_bytes)
{
    gpu->own_bytes = own_bytes > 0 ? own_bytes : 0;
    if (!is_memory_sample_within(lane, t_ns))
        return;
    memory_curve_add(&gpu->curve, since_start_s(lane, t_ns), gpu->own_bytes);
    counted_compare(&gpu->counted, t_ns, gpu->own_bytes);
    if (gpu->own_bytes > gpu->epoch_peak)
        gpu->epoch_peak = gpu->own_bytes;
    double now_s = since_start_s(lane, t_ns);
    if (!memory_of(lane)->mark[0] && growth_windows_add(&gpu->windows, now_s, gpu->own_bytes))
        warn_of_growth_in_time(lane, gpu, now_s);
}

static void raise_pair_peak(const struct lane *lane, struct memory_gpu *gpu, int64_t t_ns,
                            double bytes)
{
    if (is_memory_sample_within(lane, t_ns) && lane->experiment->parallel &&
        bytes > gpu->pair_peak_bytes)
        gpu->pair_peak_bytes = bytes;
}

/* Growth since before the background belongs to both jobs. */
static void add_pair_sample(struct lane *lane, struct memory_gpu *gpu,
                            const struct gpu_sample *sample)
{
    double before_bytes = gpu->pair_before_bytes;
    struct reading peak = sample->memory_peak_bytes;
    if (before_bytes < 0)
        return;
    raise_pair_peak(lane, gpu, sample->t_ns, gpu->used_bytes - before_bytes);
    if (peak.valid)
        raise_pair_peak(lane, gpu, sample->memory_peak_ns, peak.value - before_bytes);
}

/* Between samples the owner is unknown: all above before_bytes counts as the job's, unless it is
 * parallel. */
static void add_device_peak(struct lane *lane, struct memory_gpu *gpu,
                            const struct gpu_sample *sample)
{
    double own_bytes = sample->memory_peak_bytes.value - gpu->before_bytes;
    gpu->every_ms = sample->memory_every_ms;
    if (!sample->memory_peak_bytes.valid || gpu->before_bytes < 0 ||
        !is_memory_sample_within(lane, sample->memory_peak_ns) || lane->experiment->parallel ||
        own_bytes <= gpu->device_peak_bytes)
        return;
    gpu->device_peak_bytes = own_bytes;
    gpu->device_peak_ns = sample->memory_peak_ns;
}

static void add_memory_sample(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    const struct gpu_readings *readings = &sample->readings;
    int64_t t_ns = sample->t_ns;
    struct memory_gpu *gpu = find_gpu(lane, label);
    struct reading used = readings->of[GPU_MEMORY_USED_BYTES],
                   total = readings->of[GPU_MEMORY_TOTAL_BYTES];
    if (!gpu || !used.valid)
        return;
    read_memory_ledger(lane, gpu);
    gpu->used_bytes = used.value;
    gpu->total_bytes = total.valid ? total.value : 0;
    gpu->reserved_bytes = readings->of[GPU_MEMORY_RESERVED_BYTES];
    if (!memory_of(lane)->on || t_ns < lane->attempt.start_ns)
        gpu->before_bytes = used.value;
    else if (!gpu->by_process)
        add_own_bytes(lane, gpu, t_ns,
                      used.value - (gpu->before_bytes > 0 ? gpu->before_bytes : 0));
    add_device_peak(lane, gpu, sample);
    add_pair_sample(lane, gpu, sample);
}

/* Averages the load near the peak. */
static void add_load_sample(struct memory_gpu *gpu, double own_bytes, struct reading percent)
{
    if (own_bytes * NEAR_PEAK > gpu->sampled_peak) {
        gpu->load_percent = 0;
        gpu->load_samples = 0;
    }
    gpu->sampled_peak = own_bytes > gpu->sampled_peak ? own_bytes : gpu->sampled_peak;
    if (!percent.valid || own_bytes <= 0 || own_bytes < NEAR_PEAK * gpu->sampled_peak)
        return;
    gpu->load_percent += percent.value;
    gpu->load_samples++;
}

static void add_user_memory(struct lane *lane, const char *label, int64_t t_ns,
                            const struct gpu_users *users)
{
    struct memory_gpu *gpu = find_gpu(lane, label);
    double own_bytes = 0, own_percent = 0, pair_bytes = 0;
    bool known = false, shares = true;
    if (!gpu || !users->told || !is_memory_sample_within(lane, t_ns) || !lane->attempt.job)
        return;
    read_memory_ledger(lane, gpu);
    for (uint32_t i = 0; i < users->count; i++) {
        const struct gpu_user *user = &users->users[i];
        if (!user->memory_bytes.valid)
            continue;
        bool own = job_has_member(lane->attempt.job, user->pid);
        struct job *background = lane->background.loop.job;
        bool of_pair = own || (background && job_has_member(background, user->pid));
        known = known || of_pair;
        pair_bytes += of_pair ? user->memory_bytes.value : 0;
        own_bytes += own ? user->memory_bytes.value : 0;
        own_percent += own && user->sm_percent.valid ? user->sm_percent.value : 0;
        shares = shares && (!own || user->sm_percent.valid);
    }
    /* In containers the driver's PIDs may never match. */
    if (known && !gpu->by_process) {
        gpu->by_process = true;
        gpu->curve = (struct memory_curve){0};
        gpu->counted.context_bytes = -1;
        gpu->epoch_peak = -1;
        growth_windows_begin(&gpu->windows, growth_window_s(lane));
    }
    if (!gpu->by_process)
        return;
    add_own_bytes(lane, gpu, t_ns, own_bytes);
    raise_pair_peak(lane, gpu, t_ns, pair_bytes);
    add_load_sample(gpu, own_bytes, (struct reading){own_percent, shares});
}

static size_t epochs_to_come(const struct lane *lane)
{
    const struct plan_job *job = &lane->attempt.experiment->foreground;
    EACH (param, job->params, job->param_count)
        if (strcmp(param->name, "epochs") == 0 && param->value.kind == VALUE_INT) {
            int64_t all = param->value.integer, ended = (int64_t)memory_of(lane)->ended;
            return all > ended ? (size_t)(all - ended) : 0;
        }
    return HORIZON_EPOCHS;
}

/* Once, as early as possible. */
static void warn_of_epoch_growth(struct lane *lane, struct memory_gpu *gpu)
{
    const struct lane_memory *memory = memory_of(lane);
    double limit = gpu_memory_limit(lane, gpu);
    struct growth growth = growth_of(gpu->peaks, gpu->peak_count, limit);
    size_t left = growth_epochs_left(&growth, limit);
    if (gpu->warned || left == 0 || left > epochs_to_come(lane))
        return;
    gpu->warned = true;
    AUTO_TEXT struct text text = {0};
    int64_t last = memory->number >= 0 ? memory->number : (int64_t)memory->ended;
    text_addf(&text, "%s: the job's memory grows by ", gpu->label);
    add_size(&text, growth.bytes_per_epoch);
    text_addf(&text, " with every %s (", memory->mark);
    add_size(&text, growth.last_bytes);
    text_addf(&text, " in %s %lld, of ", memory->mark, (long long)last);
    add_size(&text, limit);
    text_addf(&text, "); if it goes on so, it runs out in %s %lld", memory->mark,
              (long long)last + (long long)left);
    lane_add_evidence(lane, "memory_growth", "%s", text_get(&text));
}

static void end_epoch(struct lane *lane)
{
    struct lane_memory *memory = memory_of(lane);
    memory->open = false;
    memory->ended++;
    EACH (gpu, memory->gpus, memory->gpu_count) {
        /* An epoch may lie between two readings. */
        double peak = gpu->epoch_peak >= 0 ? gpu->epoch_peak : gpu->own_bytes;
        gpu->epoch_peak = -1;
        if (!gpu->curve.any || gpu->peak_count >= EPOCHS_MAX)
            continue;
        MEM_ADD(gpu->peaks, gpu->peak_count) = peak;
        warn_of_epoch_growth(lane, gpu);
    }
}

static int64_t epoch_number(const char *label)
{
    char *end;
    long long number = label[0] >= '0' && label[0] <= '9' ? strtoll(label, &end, 10) : -1;
    return number >= 0 && number < INT32_MAX ? number : -1;
}

static void note_epoch_mark(struct lane *lane, const struct mark *mark)
{
    struct lane_memory *memory = memory_of(lane);
    if (!memory->on)
        return;
    if (!memory->mark[0] ||
        (strcmp(mark->name, main_mark) == 0 && strcmp(memory->mark, main_mark) != 0)) {
        strcpy(memory->mark, mark->name);
        memory->open = false;
        memory->ended = 0;
        EACH (gpu, memory->gpus, memory->gpu_count)
            gpu->peak_count = 0;
    }
    if (strcmp(mark->name, memory->mark) != 0)
        return;
    if (mark->is_end && epoch_number(mark->label) >= 0)
        memory->number = epoch_number(mark->label);
    if (mark->is_end || memory->open)
        end_epoch(lane);
    if (mark->is_end)
        return;
    /* Drop what came before the first epoch. */
    if (memory->ended == 0)
        EACH (item, memory->gpus, memory->gpu_count)
            item->epoch_peak = -1;
    memory->open = true;
    memory->number = epoch_number(mark->label);
}

double lane_memory_total(const struct lane *lane, const char *label)
{
    EACH (gpu, memory_of(lane)->gpus, memory_of(lane)->gpu_count)
        if (strcmp(gpu->label, label) == 0)
            return gpu->total_bytes;
    return 0;
}

struct growth lane_memory_growth(const struct lane *lane)
{
    struct growth steepest = {0};
    EACH (gpu, memory_of(lane)->gpus, memory_of(lane)->gpu_count) {
        struct growth growth = growth_of(gpu->peaks, gpu->peak_count, gpu_memory_limit(lane, gpu));
        if (growth.bytes_per_epoch > steepest.bytes_per_epoch)
            steepest = growth;
    }
    return steepest;
}

double lane_memory_others_share(const struct lane *lane)
{
    double most = 0;
    EACH (gpu, memory_of(lane)->gpus, memory_of(lane)->gpu_count) {
        double share = gpu->total_bytes > 0 ? 1 - available_bytes(gpu) / gpu->total_bytes : 0;
        most = share > most ? share : most;
    }
    return most;
}

static json_t *epoch_growth_json(const struct lane *lane, const struct memory_gpu *gpu)
{
    struct growth growth = growth_of(gpu->peaks, gpu->peak_count, gpu_memory_limit(lane, gpu));
    if (growth.epochs < 3)
        return json_null();
    return json_pack("{s:I, s:b, s:I}", "epochs", (json_int_t)growth.epochs, "grows", growth.grows,
                     "bytes_per_epoch", (json_int_t)growth.bytes_per_epoch);
}

static json_t *growth_in_time_json(const struct lane *lane, const struct memory_gpu *gpu)
{
    struct growth_in_time growth = growth_in_time(&gpu->windows, gpu_memory_limit(lane, gpu));
    if (growth.windows < GROWTH_WINDOWS_LEAST)
        return json_null();
    return json_pack("{s:I, s:o, s:b, s:I}", "windows", (json_int_t)growth.windows, "window_s",
                     json_finite(gpu->windows.step_s), "grows", growth.grows, "bytes_per_s",
                     (json_int_t)growth.bytes_per_s);
}

static json_t *gpu_usage_json(const struct lane *lane, const struct memory_gpu *gpu)
{
    struct reading load = {gpu->load_samples ? gpu->load_percent / (double)gpu->load_samples : 0,
                           gpu->load_samples > 0};
    json_t *pair = gpu->pair_peak_bytes > 0 ? bytes_json(true, gpu->pair_peak_bytes) : NULL;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o*, s:o*, s:o, s:o}", "device",
                     gpu->label, "of", gpu->by_process ? "job" : "device", "total_bytes",
                     bytes_json(gpu->total_bytes > 0, gpu->total_bytes), "before_bytes",
                     bytes_json(gpu->before_bytes >= 0, gpu->before_bytes), "reserved_bytes",
                     bytes_json(gpu->reserved_bytes.valid, gpu->reserved_bytes.value), "sampled_ms",
                     (json_int_t)(gpu->every_ms ? gpu->every_ms : SAMPLE_MS), "curve",
                     memory_curve_json(&gpu->curve), "load_at_peak_percent",
                     json_reading_or_null(load), "counted",
                     gpu->counted.any ? memory_counted_json(&gpu->counted) : NULL,
                     "pair_peak_bytes", pair, "growth", epoch_growth_json(lane, gpu),
                     "growth_in_time", growth_in_time_json(lane, gpu));
}

static json_t *end_memory(struct lane *lane)
{
    struct lane_memory *memory = memory_of(lane);
    if (!memory->on)
        return json_null();
    json_t *gpus = json_array();
    EACH (gpu, memory->gpus, memory->gpu_count) {
        read_memory_ledger(lane, gpu);
        if (gpu->curve.any && gpu->device_peak_bytes > gpu->curve.peak_bytes)
            memory_curve_add(&gpu->curve, since_start_s(lane, gpu->device_peak_ns),
                             gpu->device_peak_bytes);
    }
    memory->on = false;
    EACH (item, memory->gpus, memory->gpu_count)
        json_array_append_new(gpus, gpu_usage_json(lane, item));
    return json_pack("{s:o, s:o}", "gpus", gpus, "host", memory_curve_json(&memory->host));
}

static void free_memory(struct lane *lane)
{
    EACH (gpu, memory_of(lane)->gpus, memory_of(lane)->gpu_count)
        free(gpu->peaks);
}

const struct observer memory_observer = {
    .key = "memory",
    .size = sizeof(struct lane_memory),
    .fini = free_memory,
    .prepare = prepare_memory,
    .background_started = keep_before_background,
    .begin = begin_memory,
    .measure = sample_host_memory,
    .mark = note_epoch_mark,
    .end = end_memory,
    .sample = add_memory_sample,
    .users = add_user_memory,
};
