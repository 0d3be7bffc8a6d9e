#include "run/observers/gpu_watch.h"
#include "machine/contain/job.h"
#include "measure/memory_curve.h"
#include "results/store/energy_record.h"
#include "run/lane_idle.h"

#include "base/mem.h"

/* After the first check, which comes at once. */
enum { POLL_US = 50000 };

static json_t *pids_json(const int32_t *pids, size_t count)
{
    json_t *list = json_array();
    EACH (pid, pids, count)
        json_array_append_new(list, json_integer(*pid));
    return list;
}

/* device NULL: named in the text. */
static void record_findings(struct lane *lane, const struct guard_findings *findings,
                            const char *device, int64_t from_ns)
{
    EACH (finding, findings->items, findings->count)
        lane_add_evidence_entry(lane, (struct lane_evidence_entry){
                                          .kind = finding->kind,
                                          .device = device,
                                          .text = mem_strdup(finding->text),
                                          .pids = pids_json(finding->pids, finding->pid_count),
                                          .from_s = lane_seconds_since_start(lane, from_ns),
                                      });
}

static void begin_watching(struct lane *lane, int64_t start_ns)
{
    struct lane_guard *guard = lane_guard_of(lane);
    double tolerance = (double)lane->runner->plan->guard.preflight.memory_bytes;
    EACH (device, guard->devices, guard->count) {
        watch_begin(&device->watch, device->label, start_ns, tolerance,
                    device->sample.t_ns > 0 ? &device->sample.readings : NULL);
        device->listed = device->sampled_after_end = false;
        device->list_count = 0;
        device->has_clock_reasons =
            device->sample.t_ns > 0 && device->sample.readings.of[GPU_CLOCK_REASONS].valid;
        device->previous_bytes = device->before_bytes = (struct reading){0};
    }
    guard->ran_one = true;
    guard->edge_ns = 0;
    guard->job_born = lane_background_was_born(lane) ? lane->background.first_start_time
                                                     : job_identity(lane->attempt.job)->start_time;
}

static void watch_background(struct lane *lane)
{
    if (!lane_guard_of(lane))
        return;
    lane_guard_of(lane)->before_foreground = true;
    begin_watching(lane, clock_monotonic_ns());
}

static void start_guard_watch(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (!guard)
        return;
    /* Evidence from before the foreground stays. */
    if (!guard->before_foreground)
        begin_watching(lane, lane->attempt.start_ns);
    guard->before_foreground = false;
    guard->running = true;
    /* Findings of the preflight. */
    record_findings(lane, &guard->pending, NULL, guard->pending_ns);
    guard_findings_fini(&guard->pending);
}

/* A sample between the end of the command and its notice may show the memory freed: then the one
 * before counts. */
static void keep_before(struct guard_device *device)
{
    struct reading last = device->sample.readings.of[GPU_MEMORY_USED_BYTES],
                   previous = device->previous_bytes;
    device->before_bytes =
        previous.valid && (!last.valid || previous.value > last.value) ? previous : last;
}

static void mark_guard_edge(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (!guard || !guard->running)
        return;
    guard->edge_ns = clock_monotonic_ns();
    EACH (device, guard->devices, guard->count)
        keep_before(device);
    energy_meters_users(lane->energy_meters);
}

static json_t *end_guard_watch(struct lane *lane)
{
    if (!lane_guard_of(lane))
        return NULL;
    AUTO(attempt_use_fini) struct attempt_use use;
    attempt_use_read(lane->ended, &use);
    lane_idle_keep_attempt(lane, &use.energy);
    lane_idle_record_unused(lane, &use);
    return NULL;
}

static void record_watch_spans(struct lane *lane, struct guard_device *device)
{
    struct watch *watch = &device->watch;
    watch_end(watch, lane->attempt.end_ns);
    /* An attempt without measurement has no evidence. */
    if (lane->attempt.start_ns == 0)
        watch_fini(watch);
    EACH (span, watch->spans, watch->count) {
        char *text = span->times > 1 ? mem_printf("%s (%zu times)", span->text, span->times)
                                     : mem_strdup(span->text);
        lane_add_evidence_entry(lane, (struct lane_evidence_entry){
                                          .kind = span->kind,
                                          .device = device->label,
                                          .text = text,
                                          .pids = pids_json(&span->pid, span->pid ? 1 : 0),
                                          .from_s = lane_seconds_since_start(lane, span->from_ns),
                                          .to_s = lane_seconds_since_start(lane, span->to_ns),
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
    struct reading before = device->before_bytes;
    json_t *json = lane_guard_device_json(device);
    json_object_set_new(json, "state", json_string(names[device->release]));
    json_object_set_new(json, "seconds", json_finite(device->release_s));
    json_object_set_new(json, "before_bytes", bytes_json(before.valid, before.value));
    json_object_set_new(json, "after_bytes", bytes_json(after.valid, after.value));
    json_object_set_new(json, "freed_bytes",
                        bytes_json(before.valid && after.valid, before.value - after.value));
    return json;
}

/* In the words of the study. */
static void add_cleanup(struct text *text, const struct guard_device *device)
{
    struct reading before = device->before_bytes,
                   after = device->sample.readings.of[GPU_MEMORY_USED_BYTES];
    if (!before.valid || !after.valid)
        return;
    double freed = before.value - after.value;
    text_addf(text, "%s%s memory: %.0f MiB before, %.0f MiB after, %.0f MiB freed",
              text->length ? "; " : "", device->label, before.value / 1048576,
              after.value / 1048576, freed > 0 ? freed / 1048576 : 0);
}

static void record_postflight(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    json_t *devices = json_array();
    struct text text = {0};
    EACH (device, guard->devices, guard->count) {
        json_array_append_new(devices, back_json(device));
        add_cleanup(&text, device);
    }
    json_t *data = json_pack("{s:s, s:o, s:o*}", "phase", "postflight", "devices", devices, "text",
                             text.length ? json_string(text_get(&text)) : json_null());
    text_fini(&text);
    lane_record(lane, EVENT_GUARD, data, NULL);
}

static void judge_postflight(struct lane *lane, struct guard_device *device,
                             struct guard_findings *findings)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    const struct plan *plan = lane->runner->plan;
    struct postflight_times times = {.born = guard->job_born, .ended = lane_guard_end_ticks(lane)};
    struct guard_look look;
    device->release_s = lane_guard_seconds_since(guard->begun_ns);
    lane_guard_sample_of(device, guard->asked_ns, &look);
    device->release = postflight_judge(&plan->guard.preflight, &device->known, &look, &times,
                                       device->release_s, lane->runner->time_scale, findings);
    /* Do not wait for a GPU that does not answer. */
    if (device->release == POSTFLIGHT_WAIT &&
        (device->unresponsive || device->unavailable || lane->runner->kill_now))
        device->release = POSTFLIGHT_UNKNOWN;
    device->quarantined =
        device->release == POSTFLIGHT_LEAKED && plan->guard.preflight.policy != PREFLIGHT_GO_ON;
}

static void check_postflight(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    bool waits = false;
    struct guard_findings *found = mem_array(guard->count, sizeof *found);
    for (size_t i = 0; i < guard->count; i++) {
        judge_postflight(lane, &guard->devices[i], &found[i]);
        waits = waits || guard->devices[i].release == POSTFLIGHT_WAIT;
    }
    for (size_t i = 0; !waits && i < guard->count; i++) {
        record_watch_spans(lane, &guard->devices[i]);
        record_findings(lane, &found[i], guard->devices[i].label, lane->attempt.end_ns);
    }
    EACH (item, found, guard->count)
        guard_findings_fini(item);
    free(found);
    if (waits) {
        lane_guard_ask_later(lane, POLL_US, check_postflight);
        return;
    }
    record_postflight(lane);
    lane_enter_next(lane);
}

void phase_postflight(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (!guard || (!guard->running && !guard->before_foreground)) {
        lane_enter_next(lane);
        return;
    }
    for (size_t i = 0; guard->edge_ns == 0 && i < guard->count; i++)
        keep_before(&guard->devices[i]);
    guard->running = guard->before_foreground = false;
    guard->begun_ns = clock_monotonic_ns();
    lane_guard_ask(lane, check_postflight);
}

bool lane_guard_has_quarantine(struct lane *lane)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    struct err err;
    for (size_t i = 0; guard && i < guard->count; i++) {
        if (!guard->devices[i].quarantined)
            continue;
        err_set(
            &err,
            "%s did not give its memory back, and no process holds it: nothing more is run on it; "
            "reset it (nvidia-smi --gpu-reset) or restart the machine, then go on with --resume %s",
            guard->devices[i].label, lane->runner->typed_dir);
        if (lane->runner->lane_count == 1)
            runner_break(lane->runner, &err);
        else
            runner_note(lane->runner, "%s", err.text);
        lane->runner->refused = err;
        return true;
    }
    return false;
}

const struct observer watch_observer = {.background_started = watch_background,
                                        .started = start_guard_watch,
                                        .command_ended = mark_guard_edge,
                                        .end = end_guard_watch};
