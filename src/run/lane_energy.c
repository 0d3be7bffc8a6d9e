/* What a lane's attempt draws: asked for at its edges, waited for briefly at its end, never by the job. */
#include "run/lane.h"

#include "base/clock.h"
#include "base/mem.h"
#include "run/lanes.h"

#include <time.h>

enum { TICK_US = 1000000, SPREAD_US = 120000, TICK_ACCURACY_US = 20000, AWAIT_US = 10000, ANSWER_US = 2000000 };

/* More gaps than this are one long one. */
enum { GAPS_TOLD = 20 };

/* A job that marks so often is not measured epoch by epoch. */
enum { EPOCHS_MAX = 10000 };

/* Beyond this the time that nobody looked at is worth telling. */
static const double COVERED_ENOUGH = 0.99;

void lane_energy_await(struct lane *lane)
{
    struct runner *runner = lane->runner;
    if (!lane->gauge || !gauge_starting(lane->gauge) || clock_monotonic_ns() > lane->gauge_until_ns ||
        runner_halted(runner)) {
        lane_start(lane);
        return;
    }
    lane->phase = LANE_PAUSING;
    lane_after(lane, AWAIT_US, lane_energy_await);
}

void lane_energy_prepare(struct lane *lane)
{
    if (lane->gauge)
        gauge_prepare(lane->gauge);
}

/* Now and then a counter is read in step with its own updates, when the pauses are all alike: then every reading would
 * err to the same side (docs/energy.md). */
static uint64_t next_us(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    return TICK_US + (uint64_t)(rng_unit(&energy->rng) * SPREAD_US);
}

/* For whoever watches: never journaled. */
static void tell_power(struct lane *lane)
{
    struct reading power_w = gauge_power_w(lane->gauge);
    if (!power_w.valid)
        return;
    json_t *data = json_object();
    json_object_set_new(data, "sensor", json_string("gpu_power_w"));
    json_object_set_new(data, "value", json_real(power_w.value));
    runner_tell(lane->runner, (struct runner_entry){.type = EVENT_METRIC,
                                                    .experiment = (int64_t)lane->experiment->number,
                                                    .attempt = lane->attempt.number,
                                                    .data = data});
}

static int on_tick(sd_event_source *source, uint64_t us, void *context)
{
    (void)us;
    struct lane *lane = context;
    tell_power(lane);
    gauge_tick(lane->gauge);
    lanes_tick(lane->runner);
    /* Once for all who want to know (guard, load, memory): it costs the driver milliseconds, and shares of the multiprocessors are
     * told to the first who asks. */
    if (!lane->energy.edged)
        gauge_users(lane->gauge);
    lane_guard_tick(lane);
    lane_memory_tick(lane);
    int code = sd_event_source_set_time_relative(source, next_us(lane));
    return code < 0 ? code : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void lane_energy_begin(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    struct runner *runner = lane->runner;
    if (!lane->gauge && runner->request->gauge)
        lane_evidence(lane, "cpu_unchecked", mem_strdup("the meters could not be started: nothing was watched"));
    if (!lane->gauge)
        return;
    energy->on = true;
    energy->edged = energy->waiting = false;
    energy->mark_count = energy->gaps = 0;
    step_marks_fini(&energy->steps);
    rng_seed(&energy->rng, (uint64_t)lane->attempt.start_ns);
    gauge_begin(lane->gauge, job_identity(lane->attempt.job));
    lanes_attempt_begin(lane);
    int code = sd_event_add_time_relative(runner->loop, &energy->timer, CLOCK_MONOTONIC, TICK_US, TICK_ACCURACY_US,
                                          on_tick, lane);
    if (code < 0)
        lane_say(lane, mem_printf("%s: energy is read at the start and the end only: no timer (error %d)",
                                  lane->experiment->id, -code));
}

void lane_energy_mark(struct lane *lane, const struct mark *mark)
{
    struct lane_energy *energy = &lane->energy;
    if (!energy->on)
        return;
    energy->marks = mem_room(energy->marks, energy->mark_count, &energy->mark_capacity, sizeof *energy->marks);
    energy->marks[energy->mark_count++] = *mark;
    gauge_mark(lane->gauge);
}

void lane_energy_edge(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    /* A job that is stopped has not ended yet. */
    if (!energy->on || energy->edged || lane->attempt.end_ns == 0)
        return;
    energy->edged = true;
    gauge_edge(lane->gauge);
    lane_guard_edge(lane);
}

void lane_energy_finish(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    const struct job_usage *usage = &lane->attempt.usage;
    energy->timer = sd_event_source_disable_unref(energy->timer);
    if (!energy->on) {
        lane_guard_postflight(lane);
        return;
    }
    lane_energy_edge(lane);
    gauge_end(lane->gauge, usage);
    energy->waiting = true;
    lane_after(lane, ANSWER_US, lane_guard_postflight);
    lane_energy_look(lane);
}

void lane_energy_look(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    if (!energy->waiting || gauge_waiting(lane->gauge) > 0)
        return;
    energy->waiting = false;
    lane_cancel_timer(lane);
    lane_guard_postflight(lane);
}

void lane_energy_gap(struct lane *lane, const char *label, const struct meter_gap *gap)
{
    struct lane_energy *energy = &lane->energy;
    if (!energy->on || gap->end_ns != 0 || energy->gaps++ >= GAPS_TOLD)
        return;
    double at_s = (double)(gap->start_ns - lane->attempt.start_ns) / (double)NS_PER_S;
    lane_evidence_at(lane, (struct lane_evidence_entry){
                               .kind = "sampling_gap",
                               .device = label,
                               .text = mem_printf("%s: nothing was read from %.1f s on: %s", label, at_s > 0 ? at_s : 0,
                                                  gap->reason),
                               .from_s = {at_s > 0 ? at_s : 0, true},
                           });
}

/* Rows are of the attempt alone, though readings of the moments around it are used. */
static bool is_within(const struct lane *lane, int64_t t_ns)
{
    const struct attempt *attempt = &lane->attempt;
    return lane->energy.on && t_ns >= attempt->start_ns && (attempt->end_ns == 0 || t_ns <= attempt->end_ns);
}

static void say_file(struct lane *lane, bool failed_before)
{
    const struct energy_files *files = &lane->energy.files;
    if (files->failed && !failed_before)
        lane_evidence(lane, "energy_file", mem_printf("the readings cannot be kept: %s", files->err.text));
}

void lane_energy_sample(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    struct energy_files *files = &lane->energy.files;
    bool failed_before = files->failed;
    if (!is_within(lane, sample->t_ns))
        return;
    energy_files_sample(files, lane->attempt.folder, lane->attempt.start_ns, label, sample);
    say_file(lane, failed_before);
}

void lane_energy_counter(struct lane *lane, size_t domain, const char *name, const struct counter_reading *reading)
{
    struct energy_files *files = &lane->energy.files;
    bool failed_before = files->failed;
    if (!lane->energy.on)
        return;
    energy_files_counter(files, lane->attempt.folder, lane->attempt.start_ns, domain, name, reading);
    say_file(lane, failed_before);
}

static void tell_device(struct lane *lane, const struct gauge_figures *device)
{
    static const struct {
        unsigned flag;
        const char *kind, *text;
    } faults[] = {
        {WINDOW_BACKWARDS, "counter_backwards", "its energy counter went backwards"},
        {WINDOW_JUMPED, "counter_jumped", "its energy counter rose by more than the device can draw"},
        {WINDOW_STOOD, "counter_stood", "its energy counter stood still while power was drawn"},
    };
    const struct window_energy *window = &device->window;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (window->flags & faults[i].flag)
            lane_evidence(lane, faults[i].kind, mem_printf("%s: %s", device->name, faults[i].text));
    if (window->disagrees)
        lane_evidence(lane, "energy_disagrees",
                      mem_printf("%s: its counter says %.1f J, the integral of its power %.1f J", device->name,
                                 window->energy_j.value, window->integral_j.value));
    if (window->covered_share < COVERED_ENOUGH && lane->energy.gaps == 0)
        lane_evidence(lane, "sampling_gap",
                      mem_printf("%s: only %.0f %% of the time was seen by its sensor", device->name,
                                 100 * window->covered_share));
}

static void tell_result(struct lane *lane, const struct gauge_result *result)
{
    struct text text = {0};
    for (size_t i = 0; i < result->device_count; i++)
        tell_device(lane, &result->devices[i]);
    lane_guard_host(lane, &result->host);
    lanes_tell_pressure(lane, &result->host, result->job.cpu_s);
    lanes_tell_link(lane);
    enum host_use use = host_window_use(&result->host, &text);
    if (lane->runner->request->gauge->host && use != HOST_ALONE)
        lane_evidence(lane, use == HOST_SHARED ? "cpu_shared" : "cpu_unchecked", mem_strdup(text_get(&text)));
    if (result->host.clock_set_s != 0)
        lane_say(lane,
                 mem_printf("%s: the wall clock was set by %+.1f s meanwhile: times of day before and after do not "
                            "match; durations, epochs and energies do not come from it",
                            lane->experiment->id, result->host.clock_set_s));
    text_fini(&text);
}

static json_t *measure(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    const struct attempt *attempt = &lane->attempt;
    struct gauge *gauge = lane->gauge;
    struct gauge_result result;
    size_t count = 0;
    struct epoch *epochs =
        epochs_cut(energy->marks, energy->mark_count, attempt->start_ns, attempt->end_ns, true, &count);
    if (count > EPOCHS_MAX) {
        lane_say(lane, mem_printf("%s: %zu epochs: more than %d are not measured one by one", lane->experiment->id,
                                  count, EPOCHS_MAX));
        count = 0;
    }
    if (gauge_waiting(gauge) > 0 && energy->gaps == 0)
        lane_evidence(
            lane, "sampling_gap",
            mem_printf("%zu readings at the end did not come within %d s", gauge_waiting(gauge), ANSWER_US / 1000000));
    gauge_measure(gauge, attempt->start_ns, attempt->end_ns, epochs, count, &result);
    gauge_measure_steps(gauge, attempt->start_ns, attempt->end_ns, &energy->steps, &result);
    tell_result(lane, &result);
    json_t *json = gauge_result_json(&result, epochs);
    gauge_result_fini(&result);
    free(epochs);
    return json;
}

json_t *lane_energy_take(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    if (!energy->on || lane->attempt.end_ns == 0)
        return json_null();
    energy->waiting = false;
    json_t *json = measure(lane);
    lanes_attempt_end(lane, json);
    energy->on = false;
    energy_files_close(&energy->files);
    return json;
}

void lane_energy_fini(struct lane *lane)
{
    struct lane_energy *energy = &lane->energy;
    energy->timer = sd_event_source_disable_unref(energy->timer);
    energy_files_close(&energy->files);
    free(energy->marks);
    step_marks_fini(&energy->steps);
    *energy = (struct lane_energy){.files = {.gpu = -1, .cpu = -1}};
}
