
#include "run/observers/load.h"
#include "base/mem.h"
#include "machine/contain/prove.h"
#include "measure/energy_meters_measure.h"
#include "run/observers/memory.h"

#include <string.h>

enum {
    SAMPLE_US = 1000000,
    SAMPLE_MIN_US = 20000,
    MEMBERS_MAX = 1024,
    ANSWER_US = 10000,
    SAMPLES_MIN = 3
};

static const int64_t ANSWER_MAX_NS = 2 * NS_PER_S;

/* A percent of the multiprocessors; and memory, if only the board's figures are known. */
static const double SHARE_LEAST = 1, MEMORY_LEAST_BYTES = 16 << 20;

void lane_load_add_sample(struct load_watch *watch, int64_t t_ns, bool loaded)
{
    watch->visible = true;
    watch->samples++;
    watch->loaded += loaded;
    if (loaded) {
        if (watch->since_ns == 0)
            watch->since_ns = t_ns;
        watch->last_ns = t_ns;
    } else if (watch->missed) {
        watch->since_ns = 0;
    }
    watch->missed = !loaded;
}

enum load_verdict lane_load_decide(const struct load_watch *watch, const struct load_times *times,
                                   int64_t begun_ns, int64_t now_ns)
{
    int64_t ran_ns = now_ns - begun_ns;
    if (ran_ns < times->wait_ns)
        return LOAD_WAIT;
    if (times->set)
        return LOAD_SET;
    if (watch->since_ns != 0 && watch->last_ns - watch->since_ns >= times->hold_ns)
        return LOAD_HELD;
    if (!watch->visible)
        return LOAD_UNSEEN;
    return ran_ns < times->limit_ns ? LOAD_WAIT : LOAD_NONE;
}

bool lane_load_share(const struct load_watch *watch, double *out)
{
    *out = watch->samples ? (double)watch->loaded / (double)watch->samples : 0;
    return watch->samples >= SAMPLES_MIN;
}

LANE_STATE(load_of, struct lane_load, load_observer);

const struct lane_load *lane_load_get(const struct lane *lane)
{
    return load_of(lane);
}

static int64_t scaled_ns(const struct lane *lane, double seconds)
{
    return (int64_t)(seconds * lane->runner->time_scale * (double)NS_PER_S);
}

/* At a set time, or when the load has held. */
static struct load_times start_times(const struct lane *lane)
{
    const struct parallel_timing *timing = &lane->runner->plan->parallel;
    struct reading after_s = lane->experiment->start_after_s;
    if (after_s.valid)
        return (struct load_times){.wait_ns = scaled_ns(lane, after_s.value),
                                   .limit_ns = scaled_ns(lane, after_s.value),
                                   .set = true};
    return (struct load_times){.wait_ns = scaled_ns(lane, timing->wait_s),
                               .hold_ns = scaled_ns(lane, timing->hold_s),
                               .limit_ns = scaled_ns(lane, timing->limit_s)};
}

/* At least twice within hold_ns, at varying intervals (as in energy.c). */
static uint64_t next_load_us(struct lane *lane)
{
    struct load_times times = start_times(lane);
    int64_t half_us = times.set ? SAMPLE_US / 2 : times.hold_ns / 2000;
    int64_t us = half_us < SAMPLE_MIN_US ? SAMPLE_MIN_US
                 : half_us > SAMPLE_US   ? SAMPLE_US
                                         : half_us;
    us += (int64_t)(rng_unit(&load_of(lane)->rng) * (double)us / 8);
    int64_t left_us = times.set && !load_of(lane)->beside
                          ? (load_of(lane)->begun_ns + times.wait_ns - clock_monotonic_ns()) / 1000
                          : us;
    return (uint64_t)(left_us > 0 && left_us < us ? left_us : us);
}

static struct load_gpu *find_or_add_load_gpu(struct lane_load *load, const char *label)
{
    EACH (item, load->gpus, load->gpu_count)
        if (strcmp(item->label, label) == 0)
            return item;
    struct load_gpu *gpu = &MEM_ADD(load->gpus, load->gpu_count);
    *gpu = (struct load_gpu){.label = mem_strdup(label)};
    return gpu;
}

static void keep_load_sample(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    struct lane_load *load = load_of(lane);
    if (!load->on)
        return;
    struct load_gpu *gpu = find_or_add_load_gpu(load, label);
    gpu->power_w = gpu_readings_power_w(&sample->readings);
    gpu->utilisation_percent = sample->readings.of[GPU_UTILISATION_PERCENT];
    gpu->memory_bytes = sample->readings.of[GPU_MEMORY_USED_BYTES];
    if (!gpu->memory_before_bytes.valid)
        gpu->memory_before_bytes = gpu->memory_bytes;
}

static void add_load_member(struct lane_load *load, pid_t pid, enum load_role role)
{
    MEM_ADD(load->members, load->member_count) = (struct load_member){pid, role};
}

static void add_members(struct lane_load *load, struct job *job, enum load_role role)
{
    if (!job)
        return;
    AUTO_FREE struct job_member *members = mem_array(MEMBERS_MAX, sizeof *members);
    size_t count = job_members(job, members, MEMBERS_MAX);
    for (size_t i = 0; i < count && i < MEMBERS_MAX; i++)
        add_load_member(load, members[i].pid, role);
}

static bool find_role(const struct lane_load *load, pid_t pid, enum load_role *out)
{
    EACH (member, load->members, load->member_count) {
        if (member->pid != pid)
            continue;
        *out = member->role;
        return true;
    }
    return false;
}

static enum load_role find_load_role(struct lane *lane, pid_t pid)
{
    struct lane_load *load = load_of(lane);
    enum load_role role = LOAD_OTHER;
    if (find_role(load, pid, &role))
        return role;
    load->member_count = 0;
    add_members(load, lane->attempt.job, LOAD_FOREGROUND);
    add_members(load, lane->background.loop.job, LOAD_BACKGROUND);
    if (!find_role(load, pid, &role))
        add_load_member(load, pid, LOAD_OTHER);
    return role;
}

static void keep_load_users(struct lane *lane, const char *label, int64_t t_ns,
                            const struct gpu_users *users)
{
    struct lane_load *load = load_of(lane);
    double percent[3] = {0}, memory_bytes[3] = {0};
    bool shares = true;
    if (!load->on)
        return;
    struct load_gpu *gpu = find_or_add_load_gpu(load, label);
    for (uint32_t i = 0; i < users->count; i++) {
        const struct gpu_user *user = &users->users[i];
        enum load_role role = find_load_role(lane, (pid_t)user->pid);
        load->by_process = load->by_process || role != LOAD_OTHER;
        shares = shares && user->sm_percent.valid;
        percent[role] += user->sm_percent.valid ? user->sm_percent.value : 0;
        memory_bytes[role] += user->memory_bytes.valid ? user->memory_bytes.value : 1;
    }
    if (memory_bytes[LOAD_BACKGROUND] > gpu->background_peak_bytes)
        gpu->background_peak_bytes = memory_bytes[LOAD_BACKGROUND];
    if (load->by_process && users->told && lane->attempt.end_ns == 0) {
        struct colocated_look look = {t_ns,
                                      memory_bytes[LOAD_FOREGROUND],
                                      memory_bytes[LOAD_BACKGROUND],
                                      {percent[LOAD_FOREGROUND], shares},
                                      {percent[LOAD_BACKGROUND], shares}};
        colocated_trace_add(&gpu->trace, &look);
    }
    gpu->listed = users->told;
    gpu->loaded =
        memory_bytes[LOAD_BACKGROUND] > 0 && (!shares || percent[LOAD_BACKGROUND] >= SHARE_LEAST);
    if (load->beside && load->by_process && shares && users->told)
        colocated_take(&gpu->shares, t_ns, gpu->power_w.valid ? gpu->power_w.value : 1,
                       percent[LOAD_FOREGROUND], percent[LOAD_BACKGROUND], percent[LOAD_OTHER]);
}

struct gpu_memory_reported lane_load_loop_peak(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    struct gpu_memory_reported most = {0};
    EACH (gpu, load->gpus, load->gpu_count) {
        if (gpu->background_peak_bytes > most.bytes)
            most = (struct gpu_memory_reported){gpu->background_peak_bytes,
                                                lane_memory_total(lane, gpu->label)};
        gpu->background_peak_bytes = 0;
    }
    return most;
}

/* Valid while no other process uses the GPU. */
static bool board_is_loaded(const struct load_gpu *gpu)
{
    return gpu->memory_bytes.value - gpu->memory_before_bytes.value >= MEMORY_LEAST_BYTES &&
           gpu->utilisation_percent.value >= SHARE_LEAST;
}

/* False: not enough to decide. */
static bool sample_load(struct lane_load *load, bool *loaded)
{
    bool can_decide = false;
    *loaded = false;
    EACH (gpu, load->gpus, load->gpu_count) {
        bool board = gpu->memory_bytes.valid && gpu->memory_before_bytes.valid &&
                     gpu->utilisation_percent.valid;
        if (load->by_process ? gpu->listed : board && !load->beside) {
            can_decide = true;
            *loaded = *loaded || (load->by_process ? gpu->loaded : board_is_loaded(gpu));
        }
        gpu->listed = gpu->loaded = false;
        gpu->memory_bytes.valid = gpu->utilisation_percent.valid = false;
    }
    return can_decide;
}

static void sample_load_again(struct lane *lane);

static void set_sample_timer(struct lane *lane, uint64_t us)
{
    lane_set_timer(lane, &load_of(lane)->timer, us, sample_load_again);
}

/* The time with load before the foreground, if that is known. */
static int64_t standalone_start_ns(const struct lane_load *load)
{
    if (load->verdict == LOAD_HELD)
        return load->standalone_watch.since_ns;
    return load->begun_ns + (load->standalone_end_ns - load->begun_ns) / 2;
}

static void measure_standalone(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    int64_t start_ns = standalone_start_ns(load), length_ns = load->standalone_end_ns - start_ns;
    struct epoch slices[COLOCATED_SLICES];
    double power_w[COLOCATED_SLICES];
    struct energy_meters_result result;
    if (load->verdict == LOAD_NONE || load->verdict == LOAD_SET || length_ns <= 0)
        return;
    for (int i = 0; i < COLOCATED_SLICES; i++)
        slices[i] = (struct epoch){.name = "alone",
                                   .start_ns = start_ns + length_ns * i / COLOCATED_SLICES,
                                   .end_ns = start_ns + length_ns * (i + 1) / COLOCATED_SLICES,
                                   .has_end = true};
    energy_meters_measure(lane->energy_meters, start_ns, load->standalone_end_ns, slices,
                          COLOCATED_SLICES, NULL, &result);
    const struct window_energy *window = &result.sums[ENERGY_GPU].window;
    load->has_standalone = window->energy_j.valid && window->half_width_j.valid;
    double seconds = ns_to_s(length_ns);
    for (int i = 0; i < COLOCATED_SLICES; i++)
        power_w[i] =
            result.epochs[i].of[ENERGY_GPU].window.energy_j.value * COLOCATED_SLICES / seconds;
    if (load->has_standalone)
        colocated_alone(window->energy_j.value, window->half_width_j.value, seconds, power_w,
                        COLOCATED_SLICES, &load->standalone);
    energy_meters_result_fini(&result);
}

/* Waits for the last readings, then starts the foreground. */
static void end_standalone(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    struct energy_meters *energy_meters = lane->energy_meters;
    if (energy_meters && !load->waiting) {
        load->waiting = true;
        energy_meters_edge(energy_meters);
    }
    if (energy_meters && energy_meters_waiting(energy_meters) > 0 &&
        clock_monotonic_ns() - load->standalone_end_ns < ANSWER_MAX_NS) {
        set_sample_timer(lane, ANSWER_US);
        return;
    }
    if (energy_meters)
        measure_standalone(lane);
    lane_enter_next(lane);
}

static void decide_load(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    struct load_times times = start_times(lane);
    int64_t now_ns = clock_monotonic_ns();
    load->verdict = lane_load_decide(&load->standalone_watch, &times, load->begun_ns, now_ns);
    if (load->verdict == LOAD_WAIT) {
        set_sample_timer(lane, next_load_us(lane));
        return;
    }
    load->standalone_end_ns = now_ns;
    if (load->verdict == LOAD_NONE)
        lane_add_evidence(
            lane, "background_no_load",
            "the background did not load the GPU for %g s in the %.1f s in which it ran alone",
            ns_to_s(times.hold_ns), ns_to_s(now_ns - load->begun_ns));
    end_standalone(lane);
}

static void order_load_sample(struct lane *lane)
{
    struct energy_meters *energy_meters = lane->energy_meters;
    /* Beside the foreground energy.c asks for both. */
    if (!energy_meters || load_of(lane)->beside)
        return;
    energy_meters_tick(energy_meters);
    energy_meters_users(energy_meters);
}

static void sample_load_again(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    bool loaded;
    if (load->waiting && !load->beside) {
        end_standalone(lane);
        return;
    }
    if (sample_load(load, &loaded))
        lane_load_add_sample(load->beside ? &load->beside_watch : &load->standalone_watch,
                             clock_monotonic_ns(), loaded);
    order_load_sample(lane);
    if (load->beside)
        set_sample_timer(lane, next_load_us(lane));
    else
        decide_load(lane);
}

void lane_load_prepare(struct lane *lane)
{
    load_of(lane)->on = true;
    rng_seed(&load_of(lane)->rng, (uint64_t)clock_monotonic_ns());
    if (lane->energy_meters)
        energy_meters_prepare(lane->energy_meters);
}

void lane_load_begin(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    if (load->begun_ns != 0)
        return;
    load->begun_ns = clock_monotonic_ns();
    OBSERVE(lane, background_started);
    set_sample_timer(lane, next_load_us(lane));
}

static void begin_beside(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    if (!load->on)
        return;
    load->beside = true;
    load->waiting = false;
    EACH (gpu, load->gpus, load->gpu_count)
        colocated_start(&gpu->shares, lane->attempt.start_ns);
    if (lane->energy_meters)
        set_sample_timer(lane, next_load_us(lane));
}

static void stop_load_timer(struct lane *lane)
{
    step_cancel(&load_of(lane)->timer);
}

static void clear_load(struct lane *lane)
{
    struct lane_load *load = load_of(lane);
    stop_load_timer(lane);
    EACH (gpu, load->gpus, load->gpu_count) {
        free(gpu->label);
        colocated_trace_fini(&gpu->trace);
    }
    free(load->gpus);
    free(load->members);
    *load = (struct lane_load){0};
}

const struct observer load_observer = {
    .size = sizeof(struct lane_load),
    .fini = clear_load,
    .begin = begin_beside,
    .stop = stop_load_timer,
    .recorded = clear_load,
    .sample = keep_load_sample,
    .users = keep_load_users,
};
