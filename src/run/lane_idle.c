#include "run/lane_idle.h"
#include "measure/energy_meters_measure.h"
#include "results/store/energy_record.h"
#include "run/lane.h"

#include "base/amount.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* For the last readings of a window. */
enum { ANSWER_US = 2000000, TICK_US = 1000000, PAUSE_POLL_US = 500000 };

/* After the last attempt nothing else waits for the GPUs. */
static const double CLOSE_S = 30;

static double idle_window_s(const struct lane *lane)
{
    return lane->runner->plan->guard.preflight.baseline_s * lane->runner->time_scale;
}

static struct reading measure_power(const struct lane *lane, const char *label, int64_t from_ns,
                                    int64_t to_ns, struct reading *half_width_w)
{
    struct energy_meters_result result;
    struct reading power = {0};
    double seconds = ns_to_s(to_ns - from_ns);
    energy_meters_measure(lane->energy_meters, from_ns, to_ns, NULL, 0, NULL, &result);
    *half_width_w = (struct reading){0};
    EACH (figures, result.devices, result.device_count) {
        if (figures->scope != ENERGY_GPU || strcmp(figures->name, label) != 0 ||
            !figures->window.energy_j.valid)
            continue;
        power = (struct reading){figures->window.energy_j.value / seconds, true};
        *half_width_w = (struct reading){figures->window.half_width_j.value / seconds,
                                         figures->window.half_width_j.valid};
    }
    energy_meters_result_fini(&result);
    return power;
}

static void measure_idle_device(const struct lane *lane, struct guard_device *device)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    int64_t from_ns = guard->idle_from_ns, to_ns = guard->idle_to_ns,
            middle_ns = from_ns + (to_ns - from_ns) / 2;
    struct reading half_width, ignored;
    struct reading whole = measure_power(lane, device->label, from_ns, to_ns, &half_width);
    struct reading first = measure_power(lane, device->label, from_ns, middle_ns, &ignored);
    struct reading second = measure_power(lane, device->label, middle_ns, to_ns, &ignored);
    device->idle = (struct idle_window){0};
    if (!whole.valid || !half_width.valid)
        return;
    device->idle.seconds = ns_to_s(to_ns - from_ns);
    device->idle.power_w = whole.value;
    device->idle.half_width_w = half_width.value;
    device->idle.drift_w = first.valid && second.valid ? second.value - first.value : 0;
}

static void measure_idle_devices(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    guard->waiting_edges = false;
    EACH (device, guard->devices, guard->count)
        measure_idle_device(lane, device);
    lane_guard_ask(lane, guard->idle_done);
}

void lane_idle_check_answers(struct lane *lane)
{
    if (energy_meters_waiting(lane->energy_meters) > 0)
        return;
    step_cancel(&lane->timer);
    measure_idle_devices(lane);
}

static void end_window(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    guard->idle_to_ns = clock_monotonic_ns();
    energy_meters_edge(lane->energy_meters);
    guard->waiting_edges = true;
    lane_enter_after(lane, ANSWER_US, measure_idle_devices);
    lane_guard_check_answers(lane);
}

/* The driver keeps samples for a few seconds only. */
static void tick_idle_window(struct lane *lane)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    double left_s = idle_window_s(lane) - lane_guard_seconds_since(guard->idle_from_ns);
    if (left_s <= 0) {
        end_window(lane);
        return;
    }
    energy_meters_tick(lane->energy_meters);
    uint64_t left_us = (uint64_t)(left_s * 1e6);
    lane_enter_after(lane, left_us < TICK_US ? left_us : TICK_US, tick_idle_window);
}

bool lane_idle_begin(struct lane *lane, lane_step *done)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (idle_window_s(lane) <= 0)
        return false;
    guard->idle_done = done;
    energy_meters_prepare(lane->energy_meters);
    guard->idle_from_ns = clock_monotonic_ns();
    energy_meters_edge(lane->energy_meters);
    tick_idle_window(lane);
    return true;
}

json_t *lane_idle_json(const struct idle_window *window)
{
    if (window->seconds <= 0)
        return json_null();
    return json_pack("{s:b, s:o, s:o, s:o, s:o}", "proven", window->proven, "seconds",
                     json_finite(window->seconds), "power_w", json_finite(window->power_w),
                     "half_width_w", json_finite(window->half_width_w), "drift_w",
                     json_finite(window->drift_w));
}

void lane_idle_keep_attempt(struct lane *lane, const struct energy_record *energy)
{
    struct lane_guard *guard = lane_guard_of(lane);
    struct guard_previous *previous = &guard->previous;
    bool valid;
    previous->duration_s = attempt_duration_s(&lane->attempt, &valid);
    previous->experiment = (int64_t)lane->experiment->number;
    previous->attempt = lane->attempt.number;
    previous->waits = valid && energy->device_count > 0;
    for (size_t i = 0; i < guard->count; i++) {
        const struct energy_figures *used = energy_record_device(energy, guard->devices[i].label);
        struct previous_device *device = &previous->devices[i];
        *device = (struct previous_device){.before = guard->devices[i].idle};
        if (used) {
            device->energy_j = used->energy_j;
            device->half_width_j = used->half_width_j;
        }
    }
}

/* Far below a CUDA context: noise of the driver's figures. */
static const double UNUSED_BYTES = 16.0 * 1048576;

static const struct attempt_gpu_memory *find_memory(const struct attempt_use *use,
                                                    const char *label)
{
    EACH (gpu, use->gpus, use->gpu_count)
        if (gpu->label && strcmp(gpu->label, label) == 0)
            return gpu;
    return NULL;
}

/* A kernel between two samples may show only in the energy above idle. */
static bool is_unused(const struct lane_guard *guard, size_t i, const struct attempt_use *use,
                      struct text *text)
{
    const struct previous_device *previous = &guard->previous.devices[i];
    const char *label = guard->devices[i].label;
    const struct attempt_gpu_memory *memory = find_memory(use, label);
    const struct energy_figures *device = energy_record_device(&use->energy, label);
    if (!memory || !memory->peak_bytes.valid || memory->peak_bytes.value >= UNUSED_BYTES ||
        memory->is_counted || !device || !device->utilisation_max_percent.valid ||
        device->utilisation_max_percent.value > 0)
        return false;
    text_addf(text, "%s%s: 0 %% busy, %.0f MiB of its memory", text->length ? "; " : "", label,
              memory->peak_bytes.value / 1048576);
    struct idle_net net = idle_net_of(&previous->before, &previous->before, previous->energy_j,
                                      previous->half_width_j, guard->previous.duration_s);
    if (!net.energy_j.valid || !net.half_width_j.valid)
        return true;
    AUTO_FREE char *above = amount_format_with(net.energy_j, net.half_width_j, "J");
    text_addf(text, ", %s more than idle", above);
    return net.energy_j.value <= net.half_width_j.value;
}

void lane_idle_record_unused(struct lane *lane, const struct attempt_use *use)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    AUTO_TEXT struct text text = {0};
    if (!guard || !guard->previous.waits || lane->outcome != OUTCOME_SUCCEEDED ||
        lane->experiment->parallel || lane->attempt.plan->rules.cpu_only)
        return;
    for (size_t i = 0; i < guard->count; i++)
        if (!is_unused(guard, i, use, &text))
            return;
    lane_add_evidence(lane, "gpu_unused", "%s", text_get(&text));
}

static json_t *net_json(struct lane_guard *guard, bool *any)
{
    const struct guard_previous *previous = &guard->previous;
    struct reading sum = {0, true}, variance = {0, true};
    json_t *devices = json_array();
    for (size_t i = 0; i < guard->count; i++) {
        const struct previous_device *device = &previous->devices[i];
        struct idle_net net =
            idle_net_of(&device->before, &guard->devices[i].idle, device->energy_j,
                        device->half_width_j, previous->duration_s);
        json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o}", "device", guard->devices[i].label,
                                 "net_of_bare_idle_j", json_reading_or_null(net.energy_j),
                                 "half_width_j", json_reading_or_null(net.half_width_j), "before",
                                 lane_idle_json(&device->before), "after",
                                 lane_idle_json(&guard->devices[i].idle));
        json_array_append_new(devices, json);
        *any = *any || net.energy_j.valid;
        sum = (struct reading){sum.value + net.energy_j.value, sum.valid && net.energy_j.valid};
        variance =
            (struct reading){variance.value + net.half_width_j.value * net.half_width_j.value,
                             variance.valid && net.half_width_j.valid};
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "phase", "net", "net_of_bare_idle_j",
                     json_reading_or_null(sum), "half_width_j",
                     json_reading_or_null((struct reading){sqrt(variance.value), variance.valid}),
                     "devices", devices);
}

void lane_idle_record_net(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    struct guard_previous *previous = &guard->previous;
    bool any = false;
    if (!previous->waits)
        return;
    previous->waits = false;
    json_t *data = net_json(guard, &any);
    if (!any) {
        json_decref(data);
        return;
    }
    runner_record(lane->runner, EVENT_GUARD, previous->experiment, previous->attempt, data);
    if (runner_is_experiment_ended(lane->runner, (size_t)previous->experiment))
        runner_write_results(lane->runner, (size_t)previous->experiment, NULL, NULL);
}

/* ---- Pauses. */

static void begin_settling(struct lane_guard *guard)
{
    EACH (device, guard->devices, guard->count)
        cooldown_begin(&device->cooldown);
}

static bool have_all_settled(struct lane_guard *guard)
{
    bool settled = true;
    EACH (device, guard->devices, guard->count) {
        struct guard_look look;
        lane_guard_sample_of(device, guard->asked_ns, &look);
        settled = cooldown_look(&device->cooldown, &device->known, &look) && settled;
    }
    return settled;
}

static void end_closing(struct lane *lane)
{
    lane_guard_of(lane)->at_work = false;
    lane_enter_next(lane);
}

/* The last window counts if it was even and its GPUs are still free. */
static void judge_closing(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    const struct preflight_settings *settings = &lane->runner->plan->guard.preflight;
    EACH (device, guard->devices, guard->count) {
        struct guard_findings findings = {0};
        struct guard_look look;
        lane_guard_sample_of(device, guard->asked_ns, &look);
        preflight_look(settings, &device->known, &look, &findings);
        device->idle.proven =
            findings.count == 0 && device->idle.seconds > 0 && idle_is_even(&device->idle);
        guard_findings_fini(&findings);
    }
    lane_idle_record_net(lane);
    end_closing(lane);
}

static void check_closing(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    bool over = lane_guard_seconds_since(guard->begun_ns) > CLOSE_S * lane->runner->time_scale;
    if (have_all_settled(guard) && lane_idle_begin(lane, judge_closing))
        return;
    if (over || lane_guard_is_blind(guard))
        end_closing(lane);
    else
        lane_guard_ask_later(lane, (uint64_t)(TICK_US * lane->runner->time_scale / 2),
                             check_closing);
}

void phase_closing(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    bool wanted = guard && guard->previous.waits && !lane_is_over(lane) && idle_window_s(lane) > 0;
    bool proven_before = false;
    for (size_t i = 0; wanted && i < guard->count; i++)
        proven_before = proven_before || guard->previous.devices[i].before.proven;
    if (!proven_before) {
        lane_enter_next(lane);
        return;
    }
    guard->at_work = true;
    guard->begun_ns = clock_monotonic_ns();
    begin_settling(guard);
    lane_guard_ask(lane, check_closing);
}

static void record_pause(struct lane *lane, double took_s, bool settled)
{
    struct lane_guard *guard = lane_guard_of(lane);
    double planned_s = guard->planned_s * lane->runner->time_scale, saved_s = planned_s - took_s;
    json_t *devices = json_array();
    EACH (device, guard->devices, guard->count)
        json_array_append_new(devices, lane_guard_device_json(device));
    AUTO_FREE char *text =
        mem_printf("paused %.1f s, %s: %.1f s %s than the fixed %g s", took_s,
                   settled ? "until the GPUs were idle and cool"
                           : "the longest pause, and the GPUs are still not idle and cool",
                   saved_s < 0 ? -saved_s : saved_s, saved_s < 0 ? "more" : "less", planned_s);
    json_t *data = json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o*}", "phase", "cooldown",
                             "mode", "adaptive", "settled", settled, "planned_s",
                             json_finite(planned_s), "took_s", json_finite(took_s), "saved_s",
                             json_finite(saved_s), "devices", devices, "text", json_string(text));
    runner_record_then(lane->runner, EVENT_GUARD, guard->previous.experiment,
                       guard->previous.attempt, data, lane, lane_enter_next);
}

static void report_previous_use(struct lane *lane)
{
    const struct guard_previous *previous = &lane_guard_of(lane)->previous;
    struct reading busy =
        energy_meters_now(lane->energy_meters, GPU_UTILISATION_PERCENT, ENERGY_MEAN);
    if (busy.valid)
        runner_report(lane->runner, EVENT_METRIC, previous->experiment, previous->attempt,
                      json_pack("{s:s, s:o}", "sensor", "gpu_utilisation_percent", "value",
                                json_finite(busy.value)));
}

/* "GPU 0 (0 % busy, 77 W, 41 °C)". Returns whether it is busy. */
static bool add_device_use(const struct lane *lane, const struct guard_device *device,
                           struct text *out)
{
    const struct gpu_readings *readings = &device->sample.readings;
    struct reading busy = readings->of[GPU_UTILISATION_PERCENT],
                   celsius = readings->of[GPU_TEMPERATURE_C],
                   power_w = gpu_readings_power_w(readings);
    AUTO_TEXT struct text facts = {0};
    if (busy.valid)
        text_addf(&facts, ", %.0f %% busy", busy.value);
    if (power_w.valid)
        text_addf(&facts, ", %.0f W", power_w.value);
    if (celsius.valid)
        text_addf(&facts, ", %.0f °C", celsius.value);
    text_addf(out, "%s (%s)", device->label,
              facts.length ? text_get(&facts) + strlen(", ") : "no readings");
    return busy.valid && busy.value > lane->runner->plan->guard.preflight.utilisation_percent;
}

static void note_fixed_pause(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    double planned_s = guard->planned_s * lane->runner->time_scale;
    json_t *devices = json_array();
    AUTO_TEXT struct text uses = {0};
    AUTO_TEXT struct text text = {0};
    bool busy = false;
    for (size_t i = 0; i < guard->count; i++) {
        json_array_append_new(devices, lane_guard_device_json(&guard->devices[i]));
        text_add(&uses, i ? ", " : "");
        busy = add_device_use(lane, &guard->devices[i], &uses) || busy;
    }
    text_addf(&text,
              busy ? "pause of %g s: other programs use %s" : "pause of %g s: nothing trains on %s",
              planned_s, text_get(&uses));
    json_t *data =
        json_pack("{s:s, s:s, s:o, s:o, s:o*}", "phase", "cooldown", "mode", "fixed", "planned_s",
                  json_finite(planned_s), "devices", devices, "text", json_string(text_get(&text)));
    runner_record(lane->runner, EVENT_GUARD, guard->previous.experiment, guard->previous.attempt,
                  data);
}

static void check_fixed_pause(struct lane *lane);

/* Utilisation covers up to a second before the reading. */
enum { USE_SETTLED_US = 2000000 };

static void wait_fixed_pause(struct lane *lane)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    double scale = lane->runner->time_scale;
    double left_us = (guard->planned_s * scale - idle_window_s(lane) -
                      lane_guard_seconds_since(guard->begun_ns)) *
                     1e6;
    double next_us = (guard->wait_reported ? TICK_US : USE_SETTLED_US) * scale;
    if (left_us > next_us)
        lane_guard_ask_later(lane, (uint64_t)next_us, check_fixed_pause);
    else
        lane_enter_after(lane, (uint64_t)fmax(left_us, 0), lane_enter_next);
}

static void check_fixed_pause(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    report_previous_use(lane);
    if (!guard->wait_reported)
        note_fixed_pause(lane);
    guard->wait_reported = true;
    wait_fixed_pause(lane);
}

static void check_pause(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    double scale = lane->runner->time_scale,
           took_s = lane_guard_seconds_since(guard->begun_ns) + idle_window_s(lane);
    bool settled = have_all_settled(guard);
    report_previous_use(lane);
    enum cooldown_state state =
        cooldown_decide(&lane->runner->plan->guard.cooldown, guard->planned_s, took_s, settled,
                        lane_guard_is_blind(guard), scale);
    if (state == COOLDOWN_GOES_ON)
        lane_guard_ask_later(lane, (uint64_t)(PAUSE_POLL_US * scale), check_pause);
    else
        record_pause(lane, took_s, settled);
}

void lane_idle_pause(struct lane *lane, double seconds)
{
    struct lane_guard *guard = lane_guard_of(lane);
    double scale = lane->runner->time_scale;
    if (!guard || lane_guard_is_blind(guard)) {
        lane_enter_after(lane, (uint64_t)(seconds * scale * 1e6), lane_enter_next);
        return;
    }
    guard->begun_ns = clock_monotonic_ns();
    guard->planned_s = seconds;
    guard->wait_reported = false;
    if (lane->runner->plan->guard.cooldown.mode == COOLDOWN_FIXED || seconds <= 0) {
        wait_fixed_pause(lane);
        return;
    }
    begin_settling(guard);
    lane_guard_ask(lane, check_pause);
}
