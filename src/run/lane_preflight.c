#include "run/lane_preflight.h"
#include "run/lane_idle.h"
#include "run/observers/checks.h"

#include "base/mem.h"

enum { POLL_US = 300000 };

/* Repeats an idle window that was not even. */
static const double IDLE_TRIES_S = 30;

static const struct preflight_settings *preflight_settings(const struct lane *lane)
{
    return &lane->runner->plan->guard.preflight;
}

static void check_preflight(struct lane *lane);

static void ask_again(struct lane *lane)
{
    lane_guard_ask_later(lane, (uint64_t)(POLL_US * lane->runner->time_scale), check_preflight);
}

static void find_preflight_problems(const struct lane *lane, struct guard_findings *out)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    EACH (device, guard->devices, guard->count) {
        struct guard_look look;
        lane_guard_sample_of(device, guard->asked_ns, &look);
        guard_known_learn(&device->known, &look);
        preflight_look(preflight_settings(lane), &device->known, &look, out);
    }
}

static json_t *findings_json(const struct guard_findings *findings)
{
    json_t *list = json_array();
    EACH (item, findings->items, findings->count)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "kind", item->kind, "text", item->text));
    return list;
}

static char *clear_text(const struct lane_guard *guard)
{
    struct text text = {0};
    for (size_t i = 0; i < guard->count; i++) {
        const struct guard_device *device = &guard->devices[i];
        const struct reading *of = device->sample.readings.of;
        struct reading power = gpu_readings_power_w(&device->sample.readings);
        if (device->idle.proven)
            power = (struct reading){device->idle.power_w, true};
        text_addf(&text, "%s%s is free", i ? "; " : "", device->label);
        if (of[GPU_MEMORY_USED_BYTES].valid)
            text_addf(&text, ", %.0f MiB in use", of[GPU_MEMORY_USED_BYTES].value / 1048576);
        if (power.valid)
            text_addf(&text, ", idle at %.1f W", power.value);
        if (of[GPU_TEMPERATURE_C].valid)
            text_addf(&text, ", %.0f °C", of[GPU_TEMPERATURE_C].value);
    }
    return text_take(&text);
}

static void keep_coolest(struct guard_device *device, int64_t asked_ns)
{
    struct guard_look look;
    lane_guard_sample_of(device, asked_ns, &look);
    struct reading temperature = guard_reading(&look, GPU_TEMPERATURE_C);
    struct reading *start = &device->known.start_c;
    if (temperature.valid && (!start->valid || temperature.value < start->value))
        *start = temperature;
}

/* Reasons why the energy above idle stays unknown. */
static void add_missing_baselines(const struct lane *lane, struct guard_findings *out)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    bool wanted = preflight_settings(lane)->baseline_s > 0;
    EACH (device, guard->devices, wanted ? guard->count : 0) {
        const char *why = device->unavailable || device->unresponsive ? "it does not answer"
                          : device->idle.seconds <= 0
                              ? "its power was not measured while it was free"
                              : "its power was not even while it was free";
        if (!device->idle.proven)
            guard_findings_add(out, (struct guard_finding){
                                        .kind = "baseline_unknown",
                                        .text = mem_printf("%s: its idle power is not known: %s",
                                                           device->label, why)});
    }
}

/* Journals the findings, then runs next. attempt 0: none. */
static void record_preflight(struct lane *lane, const struct guard_findings *findings,
                             int64_t attempt, lane_step *next)
{
    struct lane_guard *guard = lane_guard_of(lane);
    bool clear = !guard_findings_block(findings);
    json_t *devices = json_array();
    EACH (device, guard->devices, guard->count) {
        json_t *json = lane_guard_device_json(device);
        json_object_set_new(json, "idle", lane_idle_json(&device->idle));
        json_array_append_new(devices, json);
    }
    AUTO_FREE char *text = clear ? clear_text(guard) : NULL;
    json_t *data =
        json_pack("{s:s, s:b, s:o, s:o, s:o, s:o*}", "phase", "preflight", "clear", clear,
                  "waited_s", json_finite(guard->waited_s), "findings", findings_json(findings),
                  "devices", devices, "text", text ? json_string(text) : json_null());
    guard->at_work = false;
    runner_record_then(lane->runner, EVENT_GUARD, (int64_t)lane->experiment->number, attempt, data,
                       lane, next);
}

static void finish_preflight(struct lane *lane, const struct guard_findings *findings)
{
    struct lane_guard *guard = lane_guard_of(lane);
    bool clear = !guard_findings_block(findings);
    guard_findings_fini(&guard->pending);
    guard->pending_ns = guard->begun_ns;
    preflight_evidence(preflight_settings(lane), findings, guard->waited_s, &guard->pending);
    add_missing_baselines(lane, &guard->pending);
    lane_checks_add_preflight(lane, findings);
    for (size_t i = 0; clear && i < guard->count; i++)
        keep_coolest(&guard->devices[i], guard->asked_ns);
    lane_guard_mark_known(guard);
    record_preflight(lane, findings, lane_count_attempts(lane) + 1, lane_enter_next);
}

static void check_after_idle(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    struct guard_findings findings = {0};
    find_preflight_problems(lane, &findings);
    bool clear = !guard_findings_block(&findings), even = true;
    EACH (item, guard->devices, guard->count) {
        struct idle_window *idle = &item->idle;
        even = even && (idle->seconds <= 0 || idle_is_even(idle));
        idle->proven = clear && idle->seconds > 0 && idle_is_even(idle);
    }
    bool again = !clear || (!even && lane_guard_seconds_since(guard->begun_ns) - guard->waited_s <
                                         IDLE_TRIES_S * lane->runner->time_scale);
    if (again) {
        guard_findings_fini(&findings);
        ask_again(lane);
        return;
    }
    EACH (device, guard->devices, guard->count) {
        struct reading *lowest = &device->known.idle_power_w;
        if (device->idle.proven && (!lowest->valid || device->idle.power_w < lowest->value))
            *lowest = (struct reading){device->idle.power_w, true};
    }
    lane_idle_record_net(lane);
    finish_preflight(lane, &findings);
    guard_findings_fini(&findings);
}

static void note_preflight_wait(struct lane *lane, const struct guard_findings *findings,
                                double waited_s)
{
    struct lane_guard *guard = lane_guard_of(lane);
    const struct preflight_settings *settings = preflight_settings(lane);
    /* Short waits are not reported. */
    if (guard->wait_reported || waited_s < 1 || settings->policy != PREFLIGHT_WAIT)
        return;
    char limit[32];
    guard->wait_reported = true;
    AUTO_FREE char *text = guard_findings_text(findings);
    clock_format_duration(settings->wait_s * lane->runner->time_scale, limit);
    lane_note(lane, "waits, at most %s: %s", limit, text);
}

/* Returns the experiment and retires the lane. Other lanes go on with their GPUs. */
static void stop_after_preflight(struct lane *lane, double waited_s)
{
    struct runner *runner = lane->runner;
    struct guard_findings findings = {0};
    char waited[32];
    bool others = false;
    lane_guard_describe_users(lane);
    find_preflight_problems(lane, &findings);
    AUTO_FREE char *text = guard_holders_text(&findings);
    clock_format_duration(waited_s, waited);
    lane->retired = true;
    lane->lost = preflight_settings(lane)->policy == PREFLIGHT_WAIT
                     ? mem_printf("after a wait of %s, %s", waited, text)
                     : mem_strdup(text);
    err_set(&runner->refused, "%s is not begun: %s; afterwards go on with --resume %s",
            lane->experiment->id, lane->lost, runner->typed_dir);
    EACH (item, runner->lanes, runner->lane_count)
        others = others || !item->retired;
    if (others)
        lane_note(lane, "is not begun here: %s; the other slots go on", lane->lost);
    lane_idle_record_net(lane);
    record_preflight(lane, &findings, 0, lane_enter_next);
    guard_findings_fini(&findings);
}

static void check_preflight(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    const struct preflight_settings *settings = preflight_settings(lane);
    struct guard_findings findings = {0};
    double looked_s = lane_guard_seconds_since(guard->begun_ns);
    size_t came = guard->holders.came;
    find_preflight_problems(lane, &findings);
    if (guard_findings_block(&findings)) {
        lane_guard_end_leftovers(lane);
        /* Updates the ages in their texts. */
        lane_guard_describe_users(lane);
        guard_findings_fini(&findings);
        find_preflight_problems(lane, &findings);
    }
    double waited_s = guard_holders_add(&guard->holders, &findings, looked_s);
    guard->wait_reported = guard->wait_reported && guard->holders.came == came;
    enum preflight_step step =
        preflight_decide(settings, &findings, waited_s, guard->ran_one, lane->runner->time_scale);
    guard->waited_s = looked_s;
    if (step == PREFLIGHT_LOOK_ON) {
        note_preflight_wait(lane, &findings, waited_s);
        ask_again(lane);
    } else if (step == PREFLIGHT_STOP) {
        stop_after_preflight(lane, waited_s);
    } else if (step == PREFLIGHT_CLEAR && !lane_guard_is_blind(guard) &&
               lane_idle_begin(lane, check_after_idle)) {
        /* continues after the window */
    } else {
        lane_idle_record_net(lane);
        finish_preflight(lane, &findings);
    }
    guard_findings_fini(&findings);
}

void lane_preflight_begin(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (!guard || lane_is_over(lane)) {
        lane_enter_next(lane);
        return;
    }
    guard->at_work = true;
    guard->begun_ns = clock_monotonic_ns();
    guard->waited_s = 0;
    guard_holders_fini(&guard->holders);
    guard->wait_reported = false;
    /* No energy is net of an idle power that was not measured. */
    EACH (device, guard->devices, guard->count)
        device->idle = (struct idle_window){0};
    lane_guard_ask(lane, check_preflight);
}
