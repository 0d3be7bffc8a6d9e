/* While an attempt is measured, and when its job is gone: what happened on the lane's GPUs, and whether they are empty
 * again. */
#include "base/shell_words.h"
#include "run/lane_guard.h"
#include "run/lanes.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <time.h>

/* Between two looks for the memory to come back; the first comes at once. */
enum { POLL_US = 50000 };

/* A machine that slept less than this did not sleep: two clocks are read one after the other. */
static const int64_t ASLEEP_NS = 50 * NS_PER_MS;

/* Of an attempt's time in which every program stood still for want of it, or some waited for memory. */
static const double FULL_MEMORY_SHARE = 0.05, SOME_MEMORY_SHARE = 0.20, FULL_IO_SHARE = 0.25;

/* A shorter attempt is judged by what these shares of a second are: the start of every program waits for the disk
 * for a moment. */
static const double PRESSURE_LEAST_S = 1;

/* Of one that never began, nothing. */
static struct reading from_start(const struct lane *lane, int64_t ns)
{
    if (lane->attempt.start_ns == 0)
        return (struct reading){0};
    return (struct reading){(double)(ns - lane->attempt.start_ns) / (double)NS_PER_S, true};
}

/* How long the machine has slept since boot. */
static int64_t asleep_ns(void)
{
    struct timespec boot;
    int64_t now_ns = clock_monotonic_ns();
    if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    return boot.tv_sec * NS_PER_S + boot.tv_nsec - now_ns;
}

static void look_for_sleep(struct lane *lane)
{
    int64_t now_ns = clock_monotonic_ns(), asleep = asleep_ns(), more = asleep - lane->asleep_ns;
    if (more > ASLEEP_NS)
        lane_evidence_at(lane, (struct lane_evidence_entry){
                                   .kind = "suspend",
                                   .text = mem_printf("the machine slept for %.1f s", (double)more / (double)NS_PER_S),
                                   .from_s = from_start(lane, lane->awake_ns),
                                   .to_s = from_start(lane, now_ns),
                               });
    lane->asleep_ns = asleep;
    lane->awake_ns = now_ns;
}

static json_t *pids_json(const int32_t *pids, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(pids[i]));
    return list;
}

/* What was found before it began. */
static void tell_pending(struct lane *lane)
{
    struct lane_guard *guard = lane->guard;
    for (size_t i = 0; i < guard->pending.count; i++) {
        struct guard_finding *finding = &guard->pending.items[i];
        lane_evidence_at(lane, (struct lane_evidence_entry){
                                   .kind = finding->kind,
                                   .text = mem_strdup(finding->text),
                                   .pids = pids_json(finding->pids, finding->pid_count),
                                   .from_s = from_start(lane, guard->pending_ns),
                               });
    }
    guard_findings_fini(&guard->pending);
}

/* What is slept from now on is slept while it is measured. */
void lane_guard_ready(struct lane *lane)
{
    lane->awake_ns = clock_monotonic_ns();
    lane->asleep_ns = asleep_ns();
}

static void begin_watching(struct lane *lane, int64_t start_ns)
{
    struct lane_guard *guard = lane->guard;
    double tolerance = (double)lane->runner->plan->guard.preflight.memory_bytes;
    for (size_t i = 0; i < guard->count; i++) {
        struct guard_device *device = &guard->devices[i];
        watch_begin(&device->watch, device->label, start_ns, tolerance,
                    device->sample.t_ns > 0 ? &device->sample.readings : NULL);
        device->listed = device->seen_off = false;
        device->looks = 0;
        device->reasons_told = device->sample.t_ns > 0 && device->sample.readings.of[GPU_CLOCK_REASONS].valid;
        device->before_bytes = (struct reading){0};
    }
    guard->ran_one = true;
    guard->edge_ns = 0;
    guard->job_born = lane_background_was_born(lane) ? lane->background.first_start_time
                                                     : job_identity(lane->attempt.job)->start_time;
}

void lane_guard_alone(struct lane *lane)
{
    if (!lane->guard)
        return;
    lane->guard->alone = true;
    begin_watching(lane, clock_monotonic_ns());
}

void lane_guard_begin(struct lane *lane)
{
    struct lane_guard *guard = lane->guard;
    lane->awake_ns = lane->attempt.start_ns;
    if (!guard)
        return;
    /* What was seen beside a background that was alone stays evidence. */
    if (!guard->alone)
        begin_watching(lane, lane->attempt.start_ns);
    guard->alone = false;
    guard->running = true;
    tell_pending(lane);
}

void lane_guard_tick(struct lane *lane)
{
    look_for_sleep(lane);
}

void lane_guard_edge(struct lane *lane)
{
    struct lane_guard *guard = lane->guard;
    look_for_sleep(lane);
    if (!guard || !guard->running)
        return;
    guard->edge_ns = clock_monotonic_ns();
    for (size_t i = 0; i < guard->count; i++)
        guard->devices[i].before_bytes = guard->devices[i].sample.readings.of[GPU_MEMORY_USED_BYTES];
    gauge_users(lane->gauge);
}

void lane_guard_host(struct lane *lane, const struct host_window *host)
{
    struct reading some = host->pressure[HOST_MEMORY].some_share, full = host->pressure[HOST_MEMORY].full_share;
    struct reading io = host->pressure[HOST_IO].full_share;
    double part = host->duration_s < PRESSURE_LEAST_S ? host->duration_s / PRESSURE_LEAST_S : 1;
    bool memory =
        (full.valid && part * full.value > FULL_MEMORY_SHARE) || (some.valid && part * some.value > SOME_MEMORY_SHARE);
    bool disk = io.valid && part * io.value > FULL_IO_SHARE;
    if (!memory && !disk)
        return;
    struct text text = {0};
    text_addf(&text, "programs waited for memory %.0f %% of the time, and all stood still for disks %.0f %% of it",
              100 * (some.valid ? some.value : 0), 100 * (io.valid ? io.value : 0));
    json_t *others = lanes_add_others(lane, &text);
    lane_evidence_at(lane, (struct lane_evidence_entry){.kind = "host_pressure",
                                                        .experiments = others,
                                                        .text = text_take(&text),
                                                        .from_s = {0, true},
                                                        .to_s = {host->duration_s, true}});
}

void lane_guard_ended(struct lane *lane, const json_t *energy, const json_t *memory)
{
    if (!lane->guard)
        return;
    guard_former_take(lane, energy);
    guard_idle_tell_unused(lane, energy, memory);
}

static void tell_spans(struct lane *lane, struct guard_device *device)
{
    struct watch *watch = &device->watch;
    watch_end(watch, lane->attempt.end_ns);
    /* Where nothing was measured nothing speaks against it. */
    if (lane->attempt.start_ns == 0)
        watch_fini(watch);
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_span *span = &watch->spans[i];
        char *text = span->times > 1 ? mem_printf("%s (%zu times)", span->text, span->times) : mem_strdup(span->text);
        lane_evidence_at(lane, (struct lane_evidence_entry){
                                   .kind = span->kind,
                                   .device = device->label,
                                   .text = text,
                                   .pids = pids_json(&span->pid, span->pid ? 1 : 0),
                                   .from_s = from_start(lane, span->from_ns),
                                   .to_s = from_start(lane, span->to_ns),
                               });
    }
    watch_fini(watch);
}

static json_t *back_json(const struct guard_device *device)
{
    static const char *const names[] = {[POSTFLIGHT_BACK] = "back",
                                        [POSTFLIGHT_WAIT] = "unknown",
                                        [POSTFLIGHT_HELD] = "held",
                                        [POSTFLIGHT_LEAKED] = "leaked",
                                        [POSTFLIGHT_UNKNOWN] = "unknown"};
    struct reading after = device->sample.readings.of[GPU_MEMORY_USED_BYTES];
    json_t *json = guard_device_json(device);
    json_object_set_new(json, "state", json_string(names[device->back]));
    json_object_set_new(json, "seconds", json_real(device->back_s));
    bool both = device->before_bytes.valid && after.valid;
    json_object_set_new(json, "before_bytes",
                        device->before_bytes.valid ? json_integer((json_int_t)device->before_bytes.value)
                                                   : json_null());
    json_object_set_new(json, "after_bytes", after.valid ? json_integer((json_int_t)after.value) : json_null());
    json_object_set_new(json, "freed_bytes",
                        both ? json_integer((json_int_t)(device->before_bytes.value - after.value)) : json_null());
    return json;
}

/* As the study prints its cleanup. */
static void add_cleanup(struct text *text, const struct guard_device *device)
{
    struct reading before = device->before_bytes, after = device->sample.readings.of[GPU_MEMORY_USED_BYTES];
    if (!before.valid || !after.valid)
        return;
    double freed = before.value - after.value;
    text_addf(text, "%s%s memory: %.0f MiB before, %.0f MiB after, %.0f MiB freed", text->length ? "; " : "",
              device->label, before.value / 1048576, after.value / 1048576, freed > 0 ? freed / 1048576 : 0);
}

static void tell_postflight(struct lane *lane)
{
    struct lane_guard *guard = lane->guard;
    json_t *data = json_object(), *devices = json_array();
    struct text text = {0};
    for (size_t i = 0; i < guard->count; i++) {
        json_array_append_new(devices, back_json(&guard->devices[i]));
        add_cleanup(&text, &guard->devices[i]);
    }
    json_object_set_new(data, "phase", json_string("postflight"));
    json_object_set_new(data, "devices", devices);
    json_object_set_new(data, "text", text.length ? json_string(text_get(&text)) : json_null());
    text_fini(&text);
    guard_record(lane, (int64_t)lane->experiment->number, lane->attempt.number, data, NULL);
}

static void judge(struct lane *lane, struct guard_device *device, struct guard_findings *findings)
{
    const struct lane_guard *guard = lane->guard;
    const struct plan *plan = lane->runner->plan;
    struct postflight_times times = {.born = guard->job_born, .ended = guard_ended_ticks(lane)};
    struct guard_look look;
    device->back_s = guard_since_s(guard->begun_ns);
    guard_look_of(device, guard->asked_ns, &look);
    device->back = postflight_judge(&plan->guard.preflight, &device->known, &look, &times, device->back_s,
                                    lane->runner->time_scale, findings);
    /* Nobody waits for one that does not answer. */
    if (device->back == POSTFLIGHT_WAIT && (device->deaf || device->unavailable || lane->runner->kill_now))
        device->back = POSTFLIGHT_UNKNOWN;
    device->quarantined = device->back == POSTFLIGHT_LEAKED && plan->guard.preflight.policy != PREFLIGHT_GO_ON;
}

static void look(struct lane *lane);

static void poll(struct lane *lane)
{
    guard_ask(lane, look);
}

static void look(struct lane *lane)
{
    struct lane_guard *guard = lane->guard;
    bool waits = false;
    struct guard_findings *found = mem_array(guard->count, sizeof *found);
    for (size_t i = 0; i < guard->count; i++) {
        judge(lane, &guard->devices[i], &found[i]);
        waits = waits || guard->devices[i].back == POSTFLIGHT_WAIT;
    }
    for (size_t i = 0; !waits && i < guard->count; i++) {
        tell_spans(lane, &guard->devices[i]);
        for (size_t k = 0; k < found[i].count; k++) {
            const struct guard_finding *finding = &found[i].items[k];
            lane_evidence_at(lane, (struct lane_evidence_entry){.kind = finding->kind,
                                                                .device = guard->devices[i].label,
                                                                .text = mem_strdup(finding->text),
                                                                .pids = pids_json(finding->pids, finding->pid_count),
                                                                .from_s = from_start(lane, lane->attempt.end_ns)});
        }
    }
    for (size_t i = 0; i < guard->count; i++)
        guard_findings_fini(&found[i]);
    free(found);
    if (waits) {
        lane_after(lane, POLL_US, poll);
        return;
    }
    tell_postflight(lane);
    lane_attempt_ended(lane);
}

void lane_guard_postflight(struct lane *lane)
{
    struct lane_guard *guard = lane->guard;
    lane->energy.waiting = false;
    if (!guard || (!guard->running && !guard->alone)) {
        lane_attempt_ended(lane);
        return;
    }
    for (size_t i = 0; guard->edge_ns == 0 && i < guard->count; i++)
        guard->devices[i].before_bytes = guard->devices[i].sample.readings.of[GPU_MEMORY_USED_BYTES];
    guard->running = guard->alone = false;
    guard->begun_ns = clock_monotonic_ns();
    poll(lane);
}

bool lane_guard_refuses(struct lane *lane)
{
    const struct lane_guard *guard = lane->guard;
    struct err err;
    for (size_t i = 0; guard && i < guard->count; i++) {
        if (!guard->devices[i].quarantined)
            continue;
        AUTO_FREE char *typed = shell_words_path(lane->runner->run_dir);
        err_set(&err,
                "%s did not give its memory back, and no process holds it: nothing more is run on it; reset it "
                "(nvidia-smi --gpu-reset) or restart the machine, then go on with --resume %s",
                guard->devices[i].label, typed);
        /* Other lanes have other GPUs. */
        if (lane->runner->lane_count == 1)
            runner_break(lane->runner, &err);
        else
            runner_say(lane->runner, mem_strdup(err.text));
        lane->runner->refused = err;
        return true;
    }
    return false;
}
