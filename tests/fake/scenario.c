#include "scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NS = 1e9;

/* splitmix64 (Vigna, public domain): a fixed random number for each (seed, number). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* -1 .. 1 */
static double jitter(const struct fake_gpu *gpu, uint64_t what, int64_t number)
{
    return (double)(mix(gpu->seed ^ mix(what) ^ (uint64_t)number) >> 11) / 4503599627370496.0 - 1;
}

static double seconds(const struct fake_gpu *gpu, int64_t t_ns)
{
    return (double)(t_ns - gpu->origin_ns) / NS;
}

/* The step in force, or -1: before the first, when the GPU idles since ever. */
static int step_at(const struct fake_gpu *gpu, double t_s)
{
    int i = gpu->step_count - 1;
    while (i >= 0 && gpu->steps[i].t_s > t_s)
        i--;
    return i;
}

static double power_in(const struct fake_gpu *gpu, int step, double t_s)
{
    if (step < 0)
        return gpu->idle_w;
    const struct fake_step *s = &gpu->steps[step];
    return s->target_w + (gpu->settle_s > 0 ? s->rest_w * exp((s->t_s - t_s) / gpu->settle_s) : 0);
}

double fake_power_w(const struct fake_gpu *gpu, int64_t t_ns)
{
    double t_s = seconds(gpu, t_ns);
    return power_in(gpu, step_at(gpu, t_s), t_s);
}

/* Within one step. */
static double energy_in(const struct fake_gpu *gpu, int step, double t1_s, double t2_s)
{
    if (step < 0)
        return gpu->idle_w * (t2_s - t1_s);
    const struct fake_step *s = &gpu->steps[step];
    double rest = 0;
    if (gpu->settle_s > 0)
        rest = s->rest_w * gpu->settle_s *
               (exp((s->t_s - t1_s) / gpu->settle_s) - exp((s->t_s - t2_s) / gpu->settle_s));
    return s->target_w * (t2_s - t1_s) + rest;
}

double fake_energy_j(const struct fake_gpu *gpu, int64_t t1_ns, int64_t t2_ns)
{
    double t_s = seconds(gpu, t1_ns), end_s = seconds(gpu, t2_ns), energy = 0;
    for (int step = step_at(gpu, t_s); t_s < end_s; step++) {
        double until = step + 1 < gpu->step_count ? fmin(gpu->steps[step + 1].t_s, end_s) : end_s;
        energy += energy_in(gpu, step, t_s, until);
        t_s = until;
    }
    return energy;
}

/* One body of heat: T' = (ambient + r P - T) / thermal. In a step, with P = target + rest
 * exp(-t/settle): T = rest state + c exp(-t/settle) + (T0 - rest state - c) exp(-t/thermal), c = r
 * rest settle / (settle - thermal). */
static double temperature_in(const struct fake_gpu *gpu, int step, double t_s)
{
    if (step < 0)
        return gpu->ambient_c + gpu->kelvin_per_w * gpu->idle_w;
    const struct fake_step *s = &gpu->steps[step];
    double dt = t_s - s->t_s, state = gpu->ambient_c + gpu->kelvin_per_w * s->target_w, c = 0,
           fast = 0;
    if (gpu->settle_s > 0) {
        c = gpu->kelvin_per_w * s->rest_w * gpu->settle_s / (gpu->settle_s - gpu->thermal_s);
        fast = c * exp(-dt / gpu->settle_s);
    }
    return state + fast + (s->temperature_c - state - c) * exp(-dt / gpu->thermal_s);
}

double fake_temperature_c(const struct fake_gpu *gpu, int64_t t_ns)
{
    double t_s = seconds(gpu, t_ns);
    return temperature_in(gpu, step_at(gpu, t_s), t_s);
}

static void work_out(struct fake_gpu *gpu)
{
    for (int i = 0; i < gpu->step_count; i++) {
        struct fake_step *s = &gpu->steps[i];
        s->rest_w = power_in(gpu, i - 1, s->t_s) - s->target_w;
        s->temperature_c = temperature_in(gpu, i - 1, s->t_s);
    }
}

/* Instants about period apart, with a phase of their own and jitter. */
static int64_t instant_ns(const struct fake_gpu *gpu, uint64_t what, double period_ms,
                          double jitter_ms, int64_t number)
{
    double phase_ms = (jitter(gpu, what + 100, 0) + 1) / 2 * period_ms;
    double ms = phase_ms + (double)number * period_ms + jitter(gpu, what, number) * jitter_ms;
    return gpu->origin_ns + (int64_t)(ms * 1e6);
}

static int64_t instant_number(const struct fake_gpu *gpu, uint64_t what, double period_ms,
                              double jitter_ms, int64_t t_ns)
{
    int64_t number = (int64_t)floor((double)(t_ns - gpu->origin_ns) / 1e6 / period_ms) + 1;
    while (instant_ns(gpu, what, period_ms, jitter_ms, number) > t_ns)
        number--;
    return number;
}

int64_t fake_update_ns(const struct fake_gpu *gpu, int64_t t_ns)
{
    int64_t number = instant_number(gpu, 1, gpu->update_ms, gpu->update_jitter_ms, t_ns);
    return instant_ns(gpu, 1, gpu->update_ms, gpu->update_jitter_ms, number);
}

uint64_t fake_counter_mj(const struct fake_gpu *gpu, int64_t t_ns)
{
    int64_t update_ns = fake_update_ns(gpu, t_ns), from_ns = gpu->origin_ns - (int64_t)(3600 * NS);
    uint64_t start = gpu->counter_start_mj;
    if (gpu->counter_reset_s >= 0 && seconds(gpu, update_ns) >= gpu->counter_reset_s) {
        from_ns = gpu->origin_ns + (int64_t)(gpu->counter_reset_s * NS);
        start = 0;
    }
    return start + (uint64_t)(fake_energy_j(gpu, from_ns, update_ns) * 1000);
}

int64_t fake_sample_ns(const struct fake_gpu *gpu, int64_t number)
{
    return instant_ns(gpu, 2, gpu->sample_ms, gpu->sample_jitter_ms, number);
}

int64_t fake_sample_number(const struct fake_gpu *gpu, int64_t t_ns)
{
    return instant_number(gpu, 2, gpu->sample_ms, gpu->sample_jitter_ms, t_ns);
}

/* ---- the file ---- */

enum kind { REAL, SECONDS_OF_MS, WHOLE, BIG };

static const struct {
    const char *key;
    enum kind kind;
    size_t offset;
} settings[] = {
    {"idle_w", REAL, offsetof(struct fake_gpu, idle_w)},
    {"limit_w", REAL, offsetof(struct fake_gpu, limit_w)},
    {"load_w", REAL, offsetof(struct fake_gpu, load_w)},
    {"settle_ms", SECONDS_OF_MS, offsetof(struct fake_gpu, settle_s)},
    {"ambient_c", REAL, offsetof(struct fake_gpu, ambient_c)},
    {"kelvin_per_w", REAL, offsetof(struct fake_gpu, kelvin_per_w)},
    {"thermal_ms", SECONDS_OF_MS, offsetof(struct fake_gpu, thermal_s)},
    {"update_ms", REAL, offsetof(struct fake_gpu, update_ms)},
    {"update_jitter_ms", REAL, offsetof(struct fake_gpu, update_jitter_ms)},
    {"sample_ms", REAL, offsetof(struct fake_gpu, sample_ms)},
    {"sample_jitter_ms", REAL, offsetof(struct fake_gpu, sample_jitter_ms)},
    {"sample_count", WHOLE, offsetof(struct fake_gpu, sample_count)},
    {"counter_cost_us", REAL, offsetof(struct fake_gpu, counter_cost_us)},
    {"counter_start_mj", BIG, offsetof(struct fake_gpu, counter_start_mj)},
    {"counter_reset_ms", SECONDS_OF_MS, offsetof(struct fake_gpu, counter_reset_s)},
    {"memory_total", BIG, offsetof(struct fake_gpu, memory_total)},
    {"memory_reserved", BIG, offsetof(struct fake_gpu, memory_reserved)},
    {"leak", BIG, offsetof(struct fake_gpu, leak)},
    {"ecc", WHOLE, offsetof(struct fake_gpu, ecc)},
    {"mig", WHOLE, offsetof(struct fake_gpu, mig)},
    {"part", WHOLE, offsetof(struct fake_gpu, part)},
    {"virtualization", WHOLE, offsetof(struct fake_gpu, virtualization)},
    {"display", WHOLE, offsetof(struct fake_gpu, display)},
    {"persistence", WHOLE, offsetof(struct fake_gpu, persistence)},
    {"sm_clock_max", WHOLE, offsetof(struct fake_gpu, sm_clock_max)},
    {"memory_clock_max", WHOLE, offsetof(struct fake_gpu, memory_clock_max)},
    {"sm_clock_application", WHOLE, offsetof(struct fake_gpu, sm_clock_application)},
    {"memory_clock_application", WHOLE, offsetof(struct fake_gpu, memory_clock_application)},
    {"minor", WHOLE, offsetof(struct fake_gpu, minor)},
    {"flood", WHOLE, offsetof(struct fake_gpu, flood)},
    {"process_entry", WHOLE, offsetof(struct fake_gpu, process_entry)},
};

static void set(struct fake_gpu *gpu, size_t row, const char *value)
{
    char *place = (char *)gpu + settings[row].offset;
    double real = strtod(value, NULL);
    if (settings[row].kind == REAL)
        memcpy(place, &real, sizeof real);
    real /= 1000;
    if (settings[row].kind == SECONDS_OF_MS)
        memcpy(place, &real, sizeof real);
    int whole = atoi(value);
    if (settings[row].kind == WHOLE)
        memcpy(place, &whole, sizeof whole);
    uint64_t big = strtoull(value, NULL, 10);
    if (settings[row].kind == BIG)
        memcpy(place, &big, sizeof big);
}

/* What has a value or two and belongs to one GPU. */
static bool gpu_line(struct fake_gpu *gpu, const char *key, const char *one, const char *two)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(settings[i].key, key) == 0) {
            set(gpu, i, one);
            return true;
        }
    if (strcmp(key, "step") == 0 && gpu->step_count < FAKE_STEPS_MAX) {
        gpu->steps[gpu->step_count++] =
            (struct fake_step){.t_s = strtod(one, NULL) / 1000, .target_w = strtod(two, NULL)};
    } else if (strcmp(key, "xid") == 0 && gpu->xid_count < FAKE_XIDS_MAX) {
        gpu->xids[gpu->xid_count].t_s = strtod(one, NULL) / 1000;
        gpu->xids[gpu->xid_count++].number = (unsigned)atoi(two);
    } else if (strcmp(key, "vbios") == 0) {
        snprintf(gpu->vbios, sizeof gpu->vbios, "%.60s", one);
    } else if (strcmp(key, "name") == 0) {
        snprintf(gpu->name, sizeof gpu->name, "%.40s%s%.20s", one, *two ? " " : "", two);
    } else if (strcmp(key, "driver") == 0) {
        snprintf(gpu->driver, sizeof gpu->driver, "%.60s", one);
    } else if (strcmp(key, "uuid") == 0) {
        snprintf(gpu->uuid, sizeof gpu->uuid, "%.90s", one);
    } else {
        return false;
    }
    return true;
}

static bool fault_line(struct fake_scenario *out, char *words)
{
    static const char *const actions[] = {"error", "hang", "garbage", "delay", "crash"};
    char *rest = NULL, *call = strtok_r(words, " \t", &rest),
         *action = strtok_r(NULL, " \t", &rest);
    if (!call || !action || out->fault_count == FAKE_FAULTS_MAX)
        return false;
    struct fake_fault *fault = &out->faults[out->fault_count];
    *fault = (struct fake_fault){
        .gpu = -1, .code = 999, .from_call = 1, .from_s = -1e18, .until_s = 1e18};
    snprintf(fault->call, sizeof fault->call, "%.60s", call);
    int which = 0;
    while (which < 5 && strcmp(actions[which], action) != 0)
        which++;
    if (which == 5)
        return false;
    fault->action = (enum fake_action)which;
    for (char *word; (word = strtok_r(NULL, " \t", &rest));) {
        char *value = strchr(word, '=');
        if (!value)
            return false;
        *value++ = '\0';
        double number = strtod(value, NULL);
        if (strcmp(word, "gpu") == 0)
            fault->gpu = (int)number;
        else if (strcmp(word, "code") == 0)
            fault->code = (int)number;
        else if (strcmp(word, "ms") == 0)
            fault->delay_ms = number;
        else if (strcmp(word, "from_call") == 0)
            fault->from_call = (long)number;
        else if (strcmp(word, "calls") == 0)
            fault->calls = (long)number;
        else if (strcmp(word, "from_ms") == 0)
            fault->from_s = number / 1000;
        else if (strcmp(word, "until_ms") == 0)
            fault->until_s = number / 1000;
        else if (strcmp(word, "when") == 0)
            snprintf(fault->when, sizeof fault->when, "%s", value);
        else if (strcmp(word, "once") == 0)
            snprintf(fault->once, sizeof fault->once, "%s", value);
        else
            return false;
    }
    out->fault_count++;
    return true;
}

static void defaults(struct fake_scenario *out)
{
    *out = (struct fake_scenario){.gpu_count = 1};
    for (int i = 0; i < FAKE_GPUS_MAX; i++) {
        struct fake_gpu *gpu = &out->gpus[i];
        *gpu = (struct fake_gpu){.name = "NVIDIA H200",
                                 .vbios = "96.00.BC.00.02",
                                 .seed = (uint64_t)i,
                                 .idle_w = 77,
                                 .limit_w = 700,
                                 .load_w = 613,
                                 .ambient_c = 24,
                                 .kelvin_per_w = 0.023,
                                 .thermal_s = 3,
                                 .update_ms = 100,
                                 .update_jitter_ms = 3,
                                 .sample_ms = 17,
                                 .sample_jitter_ms = 1.5,
                                 .sample_count = 119,
                                 .counter_cost_us = 3800,
                                 .counter_start_mj = 1000000,
                                 .counter_reset_s = -1,
                                 .memory_total = UINT64_C(150754820096),
                                 .memory_reserved = UINT64_C(644874240),
                                 .persistence = 1,
                                 .driver = "580.159.04",
                                 .sm_clock_max = 1980,
                                 .memory_clock_max = 3201,
                                 .sm_clock_application = 1980,
                                 .memory_clock_application = 3201,
                                 .process_entry = 24};
        gpu->minor = i;
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-00000000-0000-4000-8000-%012x", (unsigned)i);
    }
}

/* One line; at: the GPUs that it is about. */
static bool line_read(struct fake_scenario *out, char *line, int *first, int *last)
{
    char key[64] = "", one[FAKE_PATH] = "", two[64] = "";
    if (sscanf(line, " %63s %511s %63s", key, one, two) < 1 || key[0] == '#')
        return true;
    if (strcmp(key, "fault") == 0)
        return fault_line(out, strstr(line, "fault") + 5);
    if (strcmp(key, "gpus") == 0) {
        out->gpu_count = atoi(one);
        return out->gpu_count >= 0 && out->gpu_count <= FAKE_GPUS_MAX;
    }
    if (strcmp(key, "gpu") == 0) {
        *first = *last = atoi(one);
        return *first >= 0 && *first < FAKE_GPUS_MAX;
    }
    if (strcmp(key, "users") == 0) {
        snprintf(out->users, sizeof out->users, "%s", one);
        return true;
    }
    if (strcmp(key, "init_error") == 0) {
        out->init_error = atoi(one);
        return true;
    }
    if (strcmp(key, "init_memory_kib") == 0) {
        out->init_memory_kib = atoi(one);
        return out->init_memory_kib >= 0;
    }
    bool known = true;
    for (int i = *first; i <= *last && known; i++) {
        if (strcmp(key, "origin_ns") == 0)
            out->gpus[i].origin_ns = strtoll(one, NULL, 10);
        else if (strcmp(key, "seed") == 0)
            out->gpus[i].seed = mix(strtoull(one, NULL, 10)) + (uint64_t)i;
        else
            known = gpu_line(&out->gpus[i], key, one, two);
    }
    return known;
}

bool fake_scenario_read(const char *path, struct fake_scenario *out, char why[256])
{
    char line[1024];
    int number = 0, first = 0, last = FAKE_GPUS_MAX - 1;
    bool good = true;
    defaults(out);
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file) {
        snprintf(why, 256, "no scenario");
        return false;
    }
    while (good && fgets(line, sizeof line, file)) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        good = line_read(out, line, &first, &last);
    }
    fclose(file);
    if (!good)
        snprintf(why, 256, "scenario line %d", number);
    for (int i = 0; i < FAKE_GPUS_MAX; i++)
        work_out(&out->gpus[i]);
    return good;
}

/* What work_out found for the steps is the same on every scale. */
static void scale_gpu(struct fake_gpu *gpu, double by)
{
    gpu->settle_s *= by;
    gpu->thermal_s *= by;
    if (gpu->counter_reset_s >= 0)
        gpu->counter_reset_s *= by;
    for (int i = 0; i < gpu->step_count; i++)
        gpu->steps[i].t_s *= by;
    for (int i = 0; i < gpu->xid_count; i++)
        gpu->xids[i].t_s *= by;
}

void fake_scenario_scale(struct fake_scenario *scenario, double by)
{
    for (int i = 0; i < FAKE_GPUS_MAX; i++)
        scale_gpu(&scenario->gpus[i], by);
    for (int i = 0; i < scenario->fault_count; i++) {
        scenario->faults[i].delay_ms *= by;
        scenario->faults[i].from_s *= by;
        scenario->faults[i].until_s *= by;
    }
}
