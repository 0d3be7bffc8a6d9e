#include "run/lane.h"

#include "base/mem.h"

#include <math.h>

void lane_enter(struct lane *lane, enum phase phase)
{
    lane->phase = phase;
    if (lane->phases[phase].enter)
        lane->phases[phase].enter(lane);
}

void lane_enter_next(struct lane *lane)
{
    lane_enter(lane, lane->phases[lane->phase].next);
}

void lane_handle_event(struct lane *lane, enum lane_event event)
{
    if (lane->phases[lane->phase].on_event)
        lane->phases[lane->phase].on_event(lane, event);
}

bool lane_has_job(const struct lane *lane)
{
    return lane->phases[lane->phase].has_job;
}

void lane_wake(struct lane *lane)
{
    if (lane->phase == PHASE_WAITING ||
        (lane->phase == PHASE_FINISHED && !lane->retired && !runner_is_halted(lane->runner)))
        lane_enter(lane, PHASE_CHOOSING);
}

void lane_stop_attempt(struct lane *lane, enum stop_reason reason)
{
    lane->attempt.reason = reason;
    lane_enter(lane, PHASE_STOPPING);
}

void *lane_observer_state(const struct lane *lane, const struct observer *observer)
{
    size_t i = 0;
    while (lane->observers[i] != observer)
        i++;
    return lane->states[i];
}

void lane_report_command_end(struct lane *lane)
{
    /* Not while the job is being stopped. */
    if (!lane->measured || lane->command_end_reported || lane->attempt.end_ns == 0)
        return;
    lane->command_end_reported = true;
    OBSERVE(lane, command_ended);
}

int64_t lane_count_attempts(const struct lane *lane)
{
    return store_experiment(lane->runner->request->store, lane->experiment->number)->attempts;
}

bool lane_is_over(const struct lane *lane)
{
    return lane->lost || runner_is_halted(lane->runner);
}

void lane_set_lost_detail(struct lane *lane)
{
    attempt_set_detail(&lane->attempt, mem_strdup(lane->lost));
}

enum stop_reason lane_stop_reason(struct lane *lane)
{
    const struct runner *runner = lane->runner;
    if (runner->budget.stops && !runner->broken && runner->signal_number == 0) {
        attempt_set_detail(&lane->attempt, mem_strdup(runner->budget.reached));
        return STOP_BUDGET;
    }
    if (!lane->lost || runner_is_halted(lane->runner))
        return STOP_INTERRUPTED;
    lane_set_lost_detail(lane);
    return STOP_GPU_LOST;
}

void lane_record(struct lane *lane, enum event_type type, json_t *data, lane_step *next)
{
    bool of_attempt =
        type != EVENT_EXPERIMENT_STARTED && type != EVENT_EXPERIMENT_ENDED && type != EVENT_PAUSE;
    int64_t experiment = type != EVENT_PAUSE ? (int64_t)lane->experiment->number : 0;
    runner_record_then(lane->runner, type, experiment, of_attempt ? lane->attempt.number : 0, data,
                       lane, next);
}

void lane_report(struct lane *lane, enum event_type type, json_t *data)
{
    runner_report(lane->runner, type, (int64_t)lane->experiment->number, lane->attempt.number,
                  data);
}

void lane_note(struct lane *lane, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AUTO_FREE char *words = mem_vprintf(format, args);
    va_end(args);
    AUTO_FREE char *text = mem_printf("%s: %s", lane->experiment->id, words);
    lane_report(lane, EVENT_NOTE, json_pack("{s:o*}", "text", json_string(text)));
}

static json_t *rounded_seconds_json(struct reading seconds)
{
    return seconds.valid ? json_finite(round(seconds.value * 1000) / 1000) : json_null();
}

void lane_add_evidence_entry(struct lane *lane, struct lane_evidence_entry entry)
{
    OBSERVE(lane, evidence, &entry);
    json_t *data =
        json_pack("{s:s, s:o*, s:o, s:o, s:s?, s:o, s:o}", "kind", entry.kind, "text",
                  json_string(entry.text), "experiments",
                  entry.experiments ? entry.experiments : json_array(), "pids",
                  entry.pids ? entry.pids : json_array(), "device", entry.device, "from_s",
                  rounded_seconds_json(entry.from_s), "to_s", rounded_seconds_json(entry.to_s));
    lane_record(lane, EVENT_EVIDENCE, data, NULL);
    free(entry.text);
}

void lane_add_evidence_span(struct lane *lane, const char *kind, struct reading from_s,
                            struct reading to_s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    lane_add_evidence_entry(
        lane, (struct lane_evidence_entry){
                  .kind = kind, .text = mem_vprintf(format, args), .from_s = from_s, .to_s = to_s});
    va_end(args);
}

void lane_add_identity(const struct lane *lane, json_t *json)
{
    const struct run_lane *resources = lane->resources;
    const struct energy_meters_options *energy_meters = lane->runner->request->energy_meters;
    if (lane->runner->lane_count < 2)
        return;
    json_t *gpus = json_array();
    for (size_t i = 0; resources && energy_meters && i < resources->gpu_count; i++)
        json_array_append_new(gpus,
                              json_string(energy_meters->gpus[resources->gpu_first + i].label));
    json_set_count(json, "lane", lane->number);
    json_object_set_new(json, "gpus", gpus);
}

void lane_set_timer(struct lane *lane, struct step_source *timer, uint64_t us, lane_step *step)
{
    struct err err;
    bool own = timer == &lane->timer;
    int code = step_on_time(lane, timer, us, step);
    if (code >= 0)
        return;
    /* A lane without timers cannot continue; lane_fini kills its job. */
    if (own)
        lane->phase = PHASE_FINISHED;
    err_set(&err, "cannot set a timer (error %d)", -code);
    runner_break(lane->runner, &err);
    if (own)
        runner_finish_lane(lane->runner);
}

void lane_enter_after(struct lane *lane, uint64_t us, lane_step *step)
{
    lane_set_timer(lane, &lane->timer, us, step);
}

struct reading lane_seconds_since_start(const struct lane *lane, int64_t ns)
{
    if (lane->attempt.start_ns == 0)
        return (struct reading){0};
    return (struct reading){ns_to_s(ns - lane->attempt.start_ns), true};
}
