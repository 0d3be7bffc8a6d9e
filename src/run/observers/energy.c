#include "run/observers/energy.h"
#include "machine/contain/job.h"
#include "machine/sensors/host_window.h"
#include "measure/energy_meters_json.h"
#include "measure/energy_meters_measure.h"
#include "measure/marks/epochs.h"
#include "run/observers/marks.h"

#include "base/amount.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"

enum { TICK_US = 1000000, SPREAD_US = 120000, ANSWER_US = 2000000 };

/* More gaps count as one. */
enum { GAPS_RECORDED_MAX = 20 };

/* With more epochs only the whole attempt is measured. */
enum { EPOCHS_MAX = 10000 };

/* A smaller share is reported. */
static const double COVERED_ENOUGH = 0.99;

/* energy/gpu.csv and energy/cpu.csv: a row per second and device, written at once, so that a crash
 * loses none. */
enum { ENERGY_DOMAINS_MAX = 64 };

struct energy_files {
    int gpu, cpu;
    bool failed;
    struct energy_counter {
        bool begun;
        struct counter_reading first, last;
    } counters[ENERGY_DOMAINS_MAX];
};

struct lane_energy {
    struct step_source timer;
    struct rng rng;
    struct mark *marks; /* in the journal's order */
    size_t mark_count;
    size_t gaps;
    struct energy_files files;
};

LANE_STATE(energy_of, struct lane_energy, energy_observer);

static const char cpu_head[] = "timestamp,seconds,domain,energy_j,power_w\n";

static void files_close(struct energy_files *files)
{
    if (files->gpu >= 0)
        close(files->gpu);
    if (files->cpu >= 0)
        close(files->cpu);
    *files = (struct energy_files){.gpu = -1, .cpu = -1};
}

static bool open_energy_file(int folder, const char *name, const char *head, int *fd,
                             struct err *err)
{
    if (*fd >= 0)
        return true;
    AUTO_CLOSE int energy = fs_make_dir_at(folder, "energy", 0777, err);
    if (energy < 0)
        return false;
    *fd = fs_create_at(energy, name, err);
    if (*fd < 0)
        return err_wrap(err, "energy");
    AUTO_TEXT struct text text = {0};
    text_add(&text, head);
    return fs_write_all(*fd, text_get(&text), text.length, err) || err_wrap(err, "energy/%s", name);
}

static void add_time(struct text *row, int64_t t_ns, int64_t start_ns)
{
    char time[40];
    clock_format_iso(clock_realtime_ns() - (clock_monotonic_ns() - t_ns), time);
    text_addf(row, "%s,%.6f,", time, ns_to_s(t_ns - start_ns));
}

static void add_reading(struct text *row, struct reading reading)
{
    char shortest[32] = "";
    if (reading.valid)
        number_shortest(reading.value, shortest);
    text_addf(row, ",%s", shortest);
}

static void add_clock_reasons(struct text *row, struct reading reading)
{
    AUTO_TEXT struct text names = {0};
    unsigned reasons = reading.valid ? (unsigned)reading.value : 0;
    for (unsigned bit = 1; bit != 0 && bit <= reasons; bit <<= 1) {
        const char *name = reasons & bit ? gpu_clock_reason_name(bit) : NULL;
        if (name)
            text_addf(&names, "%s%s", names.length ? " " : "", name);
    }
    text_add_char(row, ',');
    csv_add_cell(row, text_get(&names));
}

static char *gpu_head(void)
{
    struct text text = {0};
    text_add(&text, "timestamp,seconds,gpu,power_draw_w");
    for (enum gpu_reading i = 0; i < GPU_READING_COUNT; i++)
        if (gpu_reading_rows[i].column)
            text_addf(&text, ",%s", gpu_reading_rows[i].column);
    text_add_char(&text, '\n');
    return text_take(&text);
}

static void init_energy(struct lane *lane)
{
    energy_of(lane)->files = (struct energy_files){.gpu = -1, .cpu = -1};
}

static void prepare_energy(struct lane *lane)
{
    if (lane->energy_meters)
        energy_meters_prepare(lane->energy_meters);
}

/* Varies: readings at equal intervals can lock onto a counter's updates and then share one error
 * (docs/explanation/uncertainty.md). */
static uint64_t next_tick_us(struct lane *lane)
{
    struct lane_energy *energy = energy_of(lane);
    return TICK_US + (uint64_t)(rng_unit(&energy->rng) * SPREAD_US);
}

static void report_reading(struct lane *lane, const char *sensor, struct reading reading)
{
    if (reading.valid)
        lane_report(lane, EVENT_METRIC,
                    json_pack("{s:s, s:o}", "sensor", sensor, "value", json_finite(reading.value)));
}

static void record_sensor_values(struct lane *lane)
{
    static const struct {
        const char *sensor;
        enum gpu_reading of;
        enum energy_meters_over over;
    } told[] = {{"gpu_utilisation_percent", GPU_UTILISATION_PERCENT, ENERGY_MEAN},
                {"gpu_memory_bytes", GPU_MEMORY_USED_BYTES, ENERGY_SUM},
                {"gpu_memory_total_bytes", GPU_MEMORY_TOTAL_BYTES, ENERGY_SUM},
                {"gpu_temperature_c", GPU_TEMPERATURE_C, ENERGY_HIGHEST}};
    lane_set_timer(lane, &energy_of(lane)->timer, next_tick_us(lane), record_sensor_values);
    report_reading(lane, "gpu_power_w", energy_meters_power_w(lane->energy_meters));
    EACH_OF (item, told)
        report_reading(lane, item->sensor,
                       energy_meters_now(lane->energy_meters, item->of, item->over));
    energy_meters_tick(lane->energy_meters);
    /* Asked once for all observers: it takes milliseconds, and only the first query gets the
     * multiprocessors' shares. */
    if (!lane->command_end_reported)
        energy_meters_users(lane->energy_meters);
    OBSERVE(lane, measure);
}

static void begin_energy(struct lane *lane)
{
    struct lane_energy *energy = energy_of(lane);
    if (!lane->energy_meters && lane->runner->request->energy_meters)
        lane_add_evidence(lane, "cpu_unchecked",
                          "the meters could not be started: nothing was watched");
    if (!lane->energy_meters)
        return;
    lane->measured = true;
    lane->command_end_reported = false;
    energy->mark_count = energy->gaps = 0;
    rng_seed(&energy->rng, (uint64_t)lane->attempt.start_ns);
    energy_meters_begin(lane->energy_meters, job_identity(lane->attempt.job));
    int code = step_on_time(lane, &energy->timer, TICK_US, record_sensor_values);
    if (code < 0)
        lane_note(lane, "energy is read at the start and the end only: no timer (error %d)", -code);
}

static void keep_energy_mark(struct lane *lane, const struct mark *mark)
{
    struct lane_energy *energy = energy_of(lane);
    if (!lane->measured)
        return;
    MEM_ADD(energy->marks, energy->mark_count) = *mark;
    energy_meters_mark(lane->energy_meters);
}

static void read_edge(struct lane *lane)
{
    energy_meters_edge(lane->energy_meters);
}

static void continue_when_answered(struct lane *lane)
{
    if (lane->phase != PHASE_READING || energy_meters_waiting(lane->energy_meters) > 0)
        return;
    step_cancel(&lane->timer);
    lane_enter_next(lane);
}

void phase_reading(struct lane *lane)
{
    step_cancel(&energy_of(lane)->timer);
    if (!lane->measured) {
        lane_enter_next(lane);
        return;
    }
    lane_report_command_end(lane);
    energy_meters_end(lane->energy_meters, &lane->attempt.usage);
    lane_enter_after(lane, ANSWER_US, lane_enter_next);
    continue_when_answered(lane);
}

static void record_meter_gap(struct lane *lane, const char *label, const struct meter_gap *gap)
{
    struct lane_energy *energy = energy_of(lane);
    if (!lane->measured || gap->end_ns != 0 || energy->gaps++ >= GAPS_RECORDED_MAX)
        return;
    double at_s = ns_to_s(gap->start_ns - lane->attempt.start_ns);
    lane_add_evidence_entry(lane, (struct lane_evidence_entry){
                                      .kind = "sampling_gap",
                                      .device = label,
                                      .text = mem_printf("%s: nothing was read from %.1f s on: %s",
                                                         label, at_s > 0 ? at_s : 0, gap->reason),
                                      .from_s = {at_s > 0 ? at_s : 0, true},
                                  });
}

/* Readings around the attempt are used, but not written. */
static bool is_within_attempt(const struct lane *lane, int64_t t_ns)
{
    const struct attempt *attempt = &lane->attempt;
    return lane->measured && t_ns >= attempt->start_ns &&
           (attempt->end_ns == 0 || t_ns <= attempt->end_ns);
}

static void write_row(struct lane *lane, const char *name, const char *head, int *fd,
                      struct text *row)
{
    struct err err;
    text_add_char(row, '\n');
    if (open_energy_file(lane->attempt.folder, name, head, fd, &err) &&
        fs_write_all(*fd, text_get(row), row->length, &err))
        return;
    energy_of(lane)->files.failed = true;
    lane_add_evidence(lane, "energy_file", "the readings cannot be kept: %s", err.text);
}

static void write_gpu_row(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    struct energy_files *files = &energy_of(lane)->files;
    AUTO_FREE char *head = files->gpu < 0 ? gpu_head() : NULL;
    AUTO_TEXT struct text row = {0};
    if (!is_within_attempt(lane, sample->t_ns) || files->failed)
        return;
    add_time(&row, sample->t_ns, lane->attempt.start_ns);
    csv_add_cell(&row, label);
    add_reading(&row, gpu_readings_power_w(&sample->readings));
    for (enum gpu_reading i = 0; i < GPU_READING_COUNT; i++) {
        const struct reading of = sample->readings.of[i];
        enum gpu_form form = gpu_reading_rows[i].form;
        if (gpu_reading_rows[i].column && form == GPU_REASONS)
            add_clock_reasons(&row, of);
        else if (gpu_reading_rows[i].column)
            add_reading(&row, (struct reading){form == GPU_BYTES ? of.value / 1048576 : of.value,
                                               of.valid});
    }
    write_row(lane, "gpu.csv", head, &files->gpu, &row);
}

static void write_counter_row(struct lane *lane, size_t domain, const char *name,
                              const struct counter_reading *reading)
{
    struct energy_files *files = &energy_of(lane)->files;
    AUTO_TEXT struct text row = {0};
    if (!lane->measured || files->failed || domain >= ENERGY_DOMAINS_MAX)
        return;
    struct energy_counter *counter = &files->counters[domain];
    if (!counter->begun)
        *counter = (struct energy_counter){true, *reading, *reading};
    double since_s = ns_to_s(reading->after_ns - counter->last.after_ns);
    bool rises = reading->energy_mj >= counter->last.energy_mj &&
                 counter->last.energy_mj >= counter->first.energy_mj;
    add_time(&row, reading->after_ns, lane->attempt.start_ns);
    csv_add_cell(&row, name);
    add_reading(&row, (struct reading){
                          (double)(reading->energy_mj - counter->first.energy_mj) / 1000, rises});
    add_reading(&row, (struct reading){(double)(reading->energy_mj - counter->last.energy_mj) /
                                           1000 / since_s,
                                       rises && since_s > 0});
    counter->last = *reading;
    write_row(lane, "cpu.csv", cpu_head, &files->cpu, &row);
}

static void record_device_faults(struct lane *lane, const struct energy_meters_figures *device)
{
    static const struct {
        unsigned flag;
        const char *kind, *text;
    } faults[] = {
        {WINDOW_BACKWARDS, "counter_backwards", "its energy counter went backwards"},
        {WINDOW_JUMPED, "counter_jumped",
         "its energy counter rose by more than the device can draw"},
        {WINDOW_STOOD, "counter_stood", "its energy counter stood still while power was drawn"},
    };
    const struct window_energy *window = &device->window;
    EACH_OF (fault, faults)
        if (window->flags & fault->flag)
            lane_add_evidence(lane, fault->kind, "%s: %s", device->name, fault->text);
    if (window->disagrees)
        lane_add_evidence(lane, "energy_disagrees",
                          "%s: its counter says %.1f J, the integral of its power %.1f J",
                          device->name, window->energy_j.value, window->integral_j.value);
    if (device->contradiction)
        lane_add_evidence(lane, "calibration_contradicted",
                          "%s: %s; the calibration was not used (SHA-256 %s)", device->name,
                          device->contradiction, device->contradicted_sha256);
    if (window->covered_share < COVERED_ENOUGH && energy_of(lane)->gaps == 0)
        lane_add_evidence(lane, "sampling_gap",
                          "%s: only %.0f %% of the time was seen by its sensor", device->name,
                          100 * window->covered_share);
}

/* Names the least precise device of an energy. */
static void record_imprecise(struct lane *lane, const struct energy_meters_result *result,
                             enum energy_meters_scope scope)
{
    const struct window_energy *sum = &result->sums[scope].window;
    double most_percent = lane->runner->plan->guard.half_width_percent;
    const struct energy_meters_figures *widest = NULL;
    if (!evidence_is_imprecise(sum->energy_j, sum->half_width_j, most_percent))
        return;
    EACH (device, result->devices, result->device_count)
        if (device->scope == scope &&
            (!widest || device->window.half_width_j.value > widest->window.half_width_j.value))
            widest = device;
    AUTO_FREE char *energy = amount_format_with(sum->energy_j, sum->half_width_j, "J");
    lane_add_evidence(
        lane, "energy_imprecise", "%s: %s, where %.4g %% are useful; to know it better, %s",
        energy_meters_scope_name(scope), energy, most_percent, energy_meters_remedy(widest));
}

static void record_energy_evidence(struct lane *lane, const struct energy_meters_result *result)
{
    struct text text = {0};
    EACH (device, result->devices, result->device_count)
        record_device_faults(lane, device);
    record_imprecise(lane, result, ENERGY_GPU);
    record_imprecise(lane, result, ENERGY_PACKAGE);
    OBSERVE(lane, measured, result);
    enum host_use use = host_window_use(&result->host, &text);
    if (lane->runner->request->energy_meters->host && use != HOST_ALONE)
        lane_add_evidence(lane, use == HOST_SHARED ? "cpu_shared" : "cpu_unchecked", "%s",
                          text_get(&text));
    if (result->host.clock_set_s != 0)
        lane_note(lane,
                  "the wall clock was set by %+.1f s meanwhile: times of day before and after do "
                  "not match; durations, epochs and energies do not come from it",
                  result->host.clock_set_s);
    text_fini(&text);
}

static json_t *measure_attempt(struct lane *lane)
{
    struct lane_energy *energy = energy_of(lane);
    const struct attempt *attempt = &lane->attempt;
    struct energy_meters *energy_meters = lane->energy_meters;
    struct energy_meters_result result;
    size_t count = 0;
    struct epoch *epochs = epochs_cut(energy->marks, energy->mark_count, attempt->start_ns,
                                      attempt->end_ns, true, &count);
    if (count > EPOCHS_MAX) {
        lane_note(lane, "%zu epochs: more than %d are not measured one by one", count, EPOCHS_MAX);
        count = 0;
    }
    if (energy_meters_waiting(energy_meters) > 0 && energy->gaps == 0)
        lane_add_evidence(lane, "sampling_gap", "%zu readings at the end did not come within %d s",
                          energy_meters_waiting(energy_meters), ANSWER_US / 1000000);
    energy_meters_measure(energy_meters, attempt->start_ns, attempt->end_ns, epochs, count,
                          lane_marks_steps(lane), &result);
    record_energy_evidence(lane, &result);
    json_t *json = energy_meters_result_json(&result, epochs);
    energy_meters_result_fini(&result);
    free(epochs);
    return json;
}

static json_t *end_energy(struct lane *lane)
{
    struct lane_energy *energy = energy_of(lane);
    if (!lane->measured || lane->attempt.end_ns == 0)
        return json_null();
    json_t *json = measure_attempt(lane);
    lane->measured = false;
    files_close(&energy->files);
    return json;
}

static void free_energy(struct lane *lane)
{
    struct lane_energy *energy = energy_of(lane);
    step_cancel(&energy->timer);
    files_close(&energy->files);
    free(energy->marks);
}

const struct observer energy_observer = {
    .key = "energy",
    .size = sizeof(struct lane_energy),
    .init = init_energy,
    .fini = free_energy,
    .prepare = prepare_energy,
    .begin = begin_energy,
    .mark = keep_energy_mark,
    .command_ended = read_edge,
    .end = end_energy,
    .gap = record_meter_gap,
    .sample = write_gpu_row,
    .counter = write_counter_row,
    .answered = continue_when_answered,
};
