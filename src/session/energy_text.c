#include "session/energy_text.h"
#include "measure/energy_meters_json.h"
#include "measure/energy_meters_measure.h"
#include "measure/marks/epochs.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"
#include "machine/gpu/vendor.h"
#include "measure/energy/window.h"
#include "measure/guard/evidence.h"
#include "plan/config/settings.h"
#include "report/table.h"
#include "tare_build.h"

#include <string.h>

/* More rows than that nobody reads from a terminal. */
enum { ROWS_HEAD = 30, ROWS_TAIL = 10, DIGITS = 6 };

static const double BYTES_PER_MIB = 1 << 20, J_PER_WH = 3600;

/* Which columns have anything in them. */
struct columns {
    bool of[ENERGY_SCOPES], gpu_memory, host_memory;
    bool names; /* several names are marked */
};

static struct columns find_epoch_columns(const struct measured *measured)
{
    struct columns columns = {0};
    for (size_t i = 0; i < measured->result.epoch_count; i++) {
        const struct energy_meters_epoch *epoch = &measured->result.epochs[i];
        for (int scope = 0; scope < ENERGY_SCOPES; scope++)
            columns.of[scope] |= epoch->of[scope].window.energy_j.valid;
        columns.gpu_memory |= epoch->of[ENERGY_GPU].memory_peak_bytes.valid;
        columns.host_memory |= epoch->host_memory_peak_bytes.valid;
        columns.names |= strcmp(measured->epochs[i].name, measured->epochs[0].name) != 0;
    }
    return columns;
}

static char *window_energy_cell(const struct window_energy *window)
{
    return window->energy_j.valid ? amount_format_with(window->energy_j, window->half_width_j, "")
                                  : mem_strdup("-");
}

static char *reading_cell(struct reading value, int digits)
{
    return value.valid ? mem_printf("%.*f", digits, value.value) : mem_strdup("-");
}

static struct table *make_epoch_table(const struct columns *columns)
{
    bool gpu = columns->of[ENERGY_GPU], cpu = columns->of[ENERGY_PACKAGE],
         dram = columns->of[ENERGY_DRAM];
    return table_of(false, " ", ">SECONDS", gpu ? ">GPU J" : NULL, gpu ? ">GPU W" : NULL,
                    cpu ? ">CPU J" : NULL, cpu ? ">CPU W" : NULL, dram ? ">DRAM J" : NULL,
                    columns->gpu_memory ? ">GPU MiB" : NULL,
                    columns->host_memory ? ">HOST MiB" : NULL, "EPOCH");
}

static char *epoch_title(const struct epoch *epoch, const struct columns *columns)
{
    if (epoch->part == EPOCH_ITSELF)
        return mem_printf("%s%s%s", epoch->name, epoch->label ? " " : "",
                          epoch->label ? epoch->label : "");
    const char *part = epoch_part_name(epoch->part);
    return columns->names ? mem_printf("(%s of %s)", part, epoch->name) : mem_printf("(%s)", part);
}

static struct reading reading_in_mib(struct reading bytes)
{
    return (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid};
}

static void add_epoch_row(const struct epoch *epoch, const struct energy_meters_epoch *figures,
                          const struct columns *columns, struct table *table)
{
    const struct window_energy *gpu = &figures->of[ENERGY_GPU].window,
                               *cpu = &figures->of[ENERGY_PACKAGE].window,
                               *dram = &figures->of[ENERGY_DRAM].window;
    table_row(table, NULL,
              mem_printf("%.3f", (double)(epoch->end_ns - epoch->start_ns) / (double)NS_PER_S),
              window_energy_cell(gpu), reading_cell(gpu->power_mean_w, 1), window_energy_cell(cpu),
              reading_cell(cpu->power_mean_w, 1), window_energy_cell(dram),
              reading_cell(reading_in_mib(figures->of[ENERGY_GPU].memory_peak_bytes), 0),
              reading_cell(reading_in_mib(figures->host_memory_peak_bytes), 0),
              epoch_title(epoch, columns));
}

/* Nothing where nothing was marked. Of very many the first and the last are shown. */
static void energy_epochs_text(const struct measured *measured, struct text *out)
{
    size_t count = measured->result.epoch_count;
    if (count == 0)
        return;
    struct columns columns = find_epoch_columns(measured);
    struct table *table = make_epoch_table(&columns);
    for (size_t i = 0; i < count; i++)
        if (i < ROWS_HEAD || i + ROWS_TAIL >= count)
            add_epoch_row(&measured->epochs[i], &measured->result.epochs[i], &columns, table);
    table_end(table, out);
    if (count > ROWS_HEAD + ROWS_TAIL)
        text_addf(out, "  %zu more between the first %d and the last %d.\n",
                  count - ROWS_HEAD - ROWS_TAIL, ROWS_HEAD, ROWS_TAIL);
    text_add_char(out, '\n');
}

static json_t *rounded_json(struct reading reading)
{
    return reading.valid ? json_finite(number_round(reading.value, DIGITS)) : json_null();
}

static json_t *joules(const struct energy_meters_figures *figures)
{
    return figures->window.energy_j.valid ? json_finite((double)figures->energy_mj / 1000)
                                          : json_null();
}

static json_t *seconds_json_of_ns(int64_t ns)
{
    return json_finite((double)ns / (double)NS_PER_S);
}

static json_t *measured_epoch_json(const struct epoch *epoch,
                                   const struct energy_meters_epoch *figures, int64_t start_ns)
{
    const struct energy_meters_figures *gpu = &figures->of[ENERGY_GPU],
                                       *cpu = &figures->of[ENERGY_PACKAGE],
                                       *dram = &figures->of[ENERGY_DRAM];
    return json_pack(
        "{s:o*, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        json_string(epoch->name), "part", epoch_part_name(epoch->part), "label",
        json_text_or_null(epoch->label), "start_s", seconds_json_of_ns(epoch->start_ns - start_ns),
        "end_s", seconds_json_of_ns(epoch->end_ns - start_ns), "duration_s",
        seconds_json_of_ns(epoch->end_ns - epoch->start_ns), "source",
        json_text_or_null(epoch->part == EPOCH_ITSELF ? mark_source_name(epoch->source) : NULL),
        "gpu_energy_j", joules(gpu), "gpu_half_width_j", rounded_json(gpu->window.half_width_j),
        "gpu_power_w", rounded_json(gpu->window.power_mean_w), "gpu_mem_peak_mib",
        rounded_json(reading_in_mib(gpu->memory_peak_bytes)), "cpu_energy_j", joules(cpu),
        "cpu_half_width_j", rounded_json(cpu->window.half_width_j), "dram_energy_j", joules(dram),
        "dram_half_width_j", rounded_json(dram->window.half_width_j), "host_mem_peak_mib",
        rounded_json(reading_in_mib(figures->host_memory_peak_bytes)));
}

/* A list like tare.epochs of experiment.json (docs/reference/measuring.md). */
static json_t *energy_epochs_json(const struct measured *measured)
{
    json_t *json = json_array();
    for (size_t i = 0; i < measured->result.epoch_count; i++)
        json_array_append_new(json,
                              measured_epoch_json(&measured->epochs[i], &measured->result.epochs[i],
                                                  measured->start_ns));
    return json;
}

enum { INDENT = 2, ENERGY_WIDTH = 26 };

/* What is missing at the start of a command beyond this is worth telling. */
static const int64_t LATE_NS = NS_PER_S / 20;

/* Beyond this the time that no sensor saw is worth telling. */
static const double COVERED_ENOUGH = 0.99;

bool energy_text_any(const struct measured *measured)
{
    const struct energy_meters_result *result = &measured->result;
    EACH (device, result->devices, result->device_count)
        if (device->scope != ENERGY_PLATFORM && device->window.energy_j.valid)
            return true;
    return false;
}

static bool has_scope(const struct energy_meters_result *result, enum energy_meters_scope scope)
{
    EACH (device, result->devices, result->device_count)
        if (device->scope == scope)
            return true;
    return false;
}

static void add_missing_reason(struct text *out, const char *name, const char *reason)
{
    text_addf(out, "%s%s: %s", out->length > 0 ? "; " : "", name, reason);
}

/* Groups devices that are missing for the same reason. */
static void add_missing_devices(struct text *out, const struct energy_meters_result *result)
{
    for (size_t i = 0, next; i < result->missing_count; i = next) {
        const struct energy_meters_missing *missing = result->missing;
        AUTO_TEXT struct text names = {0};
        text_add(&names, missing[i].name);
        for (next = i + 1;
             next < result->missing_count && missing[next].scope == missing[i].scope &&
             strcmp(missing[next].reason, missing[i].reason) == 0;
             next++)
            text_addf(&names, ", %s", missing[next].name);
        if (missing[i].scope == ENERGY_GPU || missing[i].scope == ENERGY_DRAM)
            add_missing_reason(out, text_get(&names), missing[i].reason);
    }
}

char *energy_text_missing(const struct energy_page *page)
{
    const struct energy_meters_result *result = &page->measured->result;
    const struct rapl *rapl = page->options->host ? host_meter_rapl(page->options->host) : NULL;
    bool no_package = !has_scope(result, ENERGY_PACKAGE);
    AUTO_FREE char *vendors = gpu_vendor_names(),
                   *no_gpu = mem_printf("no %s GPU is seen here", vendors);
    struct text text = {0};
    if (page->options->gpu_count == 0)
        add_missing_reason(&text, "GPU", no_gpu);
    add_missing_devices(&text, result);
    if (no_package)
        add_missing_reason(&text, "CPU",
                           rapl && rapl->reason ? rapl->reason
                                                : "its energy counters cannot be read");
    if (no_package && rapl && rapl->fix)
        text_addf(&text, "; this would help: %s", rapl->fix);
    return text.length > 0 ? text_take(&text) : NULL;
}

static void add_figure_range(struct text *out, const char *unit, int digits, struct reading mean,
                             struct reading least, struct reading most)
{
    if (!mean.valid && !most.valid)
        return;
    text_add(out, out->length > 0 ? ", " : "");
    if (mean.valid)
        text_addf(out, "%.*f %s%s", digits, mean.value, unit, most.valid ? " (" : "");
    if (least.valid && most.valid)
        text_addf(out, "%.*f to %.*f", digits, least.value, digits, most.value);
    else if (most.valid)
        text_addf(out, "%s%.*f%s%s", mean.valid ? "most " : "at most ", digits, most.value,
                  mean.valid ? "" : " ", mean.valid ? "" : unit);
    if (mean.valid && most.valid)
        text_add(out, ")");
}

static void add_indented_line(struct text *out, const struct text *line)
{
    if (line->length > 0)
        text_addf(out, "%*s%s\n", INDENT + ENERGY_WIDTH, "", text_get(line));
}

static void add_power_line(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    struct reading wh = {window->energy_j.value / J_PER_WH, window->energy_j.valid};
    struct reading half_width_wh = {window->half_width_j.value / J_PER_WH,
                                    window->half_width_j.valid};
    AUTO_TEXT struct text line = {0};
    AUTO_FREE char *energy = amount_format_with(wh, half_width_wh, "Wh");
    text_add(&line, energy);
    add_figure_range(&line, "W", 1, window->power_mean_w, window->power_min_w, window->power_max_w);
    add_indented_line(out, &line);
}

static void add_gpu_state_line(const struct energy_meters_figures *figures, struct text *out)
{
    static const struct reading none = {0};
    AUTO_TEXT struct text line = {0};
    for (size_t i = 0; i + 1 < GPU_FIGURE_COUNT; i++) {
        const char *unit = gpu_reading_rows[gpu_figures[i].of].text;
        if (unit && gpu_figures[i].of == gpu_figures[i + 1].of)
            add_figure_range(&line, unit, 0, figures->figures[i], none, figures->figures[i + 1]);
    }
    if (figures->memory_peak_bytes.valid)
        text_addf(&line, "%smemory at most %.2f GiB", line.length > 0 ? ", " : "",
                  figures->memory_peak_bytes.value / (1 << 30));
    add_indented_line(out, &line);
}

static void add_doubt(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    AUTO_TEXT struct text line = {0};
    if (window->energy_j.valid && window->covered_share < COVERED_ENOUGH)
        text_addf(&line, "seen by its sensor %.0f %% of the time, the rest is estimated",
                  100 * window->covered_share);
    double useful_percent = guard_settings_default.half_width_percent;
    if (evidence_is_imprecise(window->energy_j, window->half_width_j, useful_percent))
        text_addf(&line, "%s± is above %g %% of the energy: %s", line.length > 0 ? "; " : "",
                  useful_percent, energy_meters_remedy(figures));
    if (window->disagrees)
        text_addf(&line, "%sits counter and the integral of its power (%.1f J) disagree",
                  line.length > 0 ? "; " : "", window->integral_j.value);
    if (window->flags & (WINDOW_BACKWARDS | WINDOW_JUMPED | WINDOW_STOOD))
        text_addf(&line, "%sits counter was wrong for part of the time and ignored there",
                  line.length > 0 ? "; " : "");
    add_indented_line(out, &line);
}

static void add_energy_column(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    AUTO_FREE char *energy = amount_format_with(window->energy_j, window->half_width_j, "J");
    /* "±" is two bytes of one column. */
    int bytes = ENERGY_WIDTH - 2 + (window->energy_j.valid ? 1 : 0);
    text_addf(out, "%*s%*s  ", INDENT, "", bytes, *energy ? energy : "unknown");
}

/* What ± does not contain. */
static void add_uncertainty_notes(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    AUTO_FREE char *bound = amount_format(window->aliasing_bound_j, "J");
    AUTO_TEXT struct text line = {0};
    if (!window->energy_j.valid || !window->half_width_j.valid)
        return;
    if (figures->gain.bound > 0)
        text_addf(&line, "its sensor's gain comes on top: within %.3g %%",
                  100 * figures->gain.bound);
    if (!window->aliasing_bound_j.valid)
        text_addf(&line,
                  "%sthe most that a load in step with its sensor may hide is unknown: no power "
                  "limit stated",
                  line.length > 0 ? "; " : "");
    else if (window->aliasing_bound_j.value > window->half_width_j.value)
        text_addf(&line, "%sa load in step with its sensor may hide up to %s%s",
                  line.length > 0 ? "; " : "", bound,
                  figures->profile && figures->profile->behaviour.share_measured
                      ? ""
                      : ": " TARE_NAME " calibrate may exclude that");
    add_indented_line(out, &line);
}

static void add_device_text(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    add_energy_column(figures, out);
    text_addf(out, "%s (%s", figures->name, energy_meters_scope_name(figures->scope));
    if (window->energy_j.valid)
        text_addf(out, ", %s)\n", window->source);
    else
        text_addf(out, "): seen %.0f %% of the time, too little to tell\n",
                  100 * window->covered_share);
    add_power_line(figures, out);
    add_uncertainty_notes(figures, out);
    add_gpu_state_line(figures, out);
    add_doubt(figures, out);
}

static void add_sums(const struct energy_meters_result *result, struct text *out)
{
    static const char *const names[ENERGY_SCOPES] = {"all GPUs", "all CPU packages", "all DRAM",
                                                     NULL};
    for (int scope = 0; scope < ENERGY_SCOPES; scope++) {
        const struct energy_meters_figures *sum = &result->sums[scope];
        if (!names[scope] || sum->devices < 2 || !sum->window.energy_j.valid)
            continue;
        add_energy_column(sum, out);
        text_addf(out, "%s\n", names[scope]);
        add_power_line(sum, out);
        add_uncertainty_notes(sum, out);
    }
}

/* The moments at both edges for which the meters were not there. */
static void add_edges(const struct measured *measured, struct text *out)
{
    double late_s = (double)(measured->ready_ns - measured->start_ns) / (double)NS_PER_S;
    if (measured->ready_ns - measured->start_ns > LATE_NS && measured->result.device_count > 0)
        text_addf(out,
                  "  The meters were ready %.2f s after the start: what they say of the time "
                  "before is what the\n"
                  "  driver had kept, or estimated.\n",
                  late_s);
    if (measured->unanswered > 0 && measured->result.device_count > 0)
        text_addf(out, "  %zu reading%s of the last moment did not come in time.\n",
                  measured->unanswered, measured->unanswered == 1 ? "" : "s");
    EACH (item, measured->notes.items, measured->notes.count)
        text_addf(out, "  %s\n", *item);
}

static void add_step_lines(const struct energy_meters_result *result, struct text *out)
{
    EACH (step, result->steps, result->step_count) {
        const struct step_power *power = &step->power;
        text_addf(out, "  One step of %zu (%.4g s each), %s: ", power->steps, power->step_s,
                  step->name);
        if (power->reason[0])
            text_addf(out, "not told: %s", power->reason);
        for (size_t k = 0; k < power->phase_count && !power->reason[0]; k++) {
            const struct step_phase *phase = &power->phases[k];
            AUTO_FREE char *energy = amount_format_with(phase->energy_j, phase->half_width_j, "J");
            text_addf(out, "%s%s %s", k > 0 ? ", " : "", phase->name, *energy ? energy : "unknown");
        }
        text_add(out, "\n");
    }
    if (result->step_count > 0)
        text_add_char(out, '\n');
}

static void add_value_column(struct text *out, double value, int digits, const char *unit)
{
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "%.*f%s", digits, value, unit);
    text_addf(out, "%*s  ", ENERGY_WIDTH, text_get(&text));
}

static void add_io(const struct host_job_figures *job, struct text *out)
{
    if (job->read_bytes.valid && job->written_bytes.valid) {
        add_value_column(out, job->read_bytes.value / BYTES_PER_MIB, 1, " MiB");
        text_addf(out, "read from storage, %.1f MiB written\n",
                  job->written_bytes.value / BYTES_PER_MIB);
    } else if (job->io_refused > 0) {
        text_addf(out,
                  "%*s  read and written: only the user of the processes, and root, may see that\n",
                  ENERGY_WIDTH, "unknown");
    }
}

static void add_host_lines(const struct energy_meters_result *result, double duration_s,
                           struct text *out)
{
    const struct host_job_figures *job = &result->job;
    if (!job->cpu_s.valid && !job->memory_peak_bytes.valid)
        return;
    if (job->cpu_s.valid) {
        add_value_column(out, job->cpu_s.value, 2, " s");
        text_addf(out, "CPU time of its processes, %.2f CPUs in the mean\n",
                  duration_s > 0 ? job->cpu_s.value / duration_s : 0);
    }
    if (job->memory_peak_bytes.valid) {
        add_value_column(out, job->memory_peak_bytes.value / BYTES_PER_MIB, 1, " MiB");
        text_addf(out, "memory at most%s\n",
                  job->memory_charged ? ", with its share of the file cache"
                                      : " (its largest process, or a sampled sum)");
    }
    add_io(job, out);
    if (job->processes_peak.valid) {
        add_value_column(out, job->processes_peak.value, 0, "");
        text_addf(out, "process%s at most, of those seen once a second\n",
                  job->processes_peak.value == 1 ? "" : "es");
    }
    text_add_char(out, '\n');
}

/* Columns of notes below the tables. */
enum { NOTE_INDENT = 2, NOTE_WIDTH = 80 };

static bool gain_is_stated(const struct energy_meters_result *result)
{
    EACH (device, result->devices, result->device_count)
        if (!(device->gain.bound > 0))
            return false;
    return true;
}

static char *contradiction_text(const struct energy_meters_figures *device)
{
    return device->contradiction ? mem_printf("%s: %s; the calibration was not used", device->name,
                                              device->contradiction)
                                 : NULL;
}

static void add_contradictions(const struct energy_meters_result *result, struct text *out)
{
    EACH (device, result->devices, result->device_count) {
        AUTO_FREE char *text = contradiction_text(device);
        if (text)
            text_addf(out, "  %s\n", text);
    }
}

void energy_text(const struct energy_page *page, struct text *out)
{
    const struct measured *measured = page->measured;
    const struct energy_meters_result *result = &measured->result;
    AUTO_FREE char *missing = energy_text_missing(page);
    double duration_s = (double)(measured->end_ns - measured->start_ns) / (double)NS_PER_S;
    text_addf(out, "%s %.3f s, %s:\n\n", result->device_count > 0 ? "Energy of" : "Measured for",
              duration_s, page->until);
    EACH (device, result->devices, result->device_count)
        add_device_text(device, out);
    add_sums(result, out);
    text_add(out, result->device_count > 0 ? "\n" : "");
    if (measured->has_subject)
        add_host_lines(result, duration_s, out);
    energy_epochs_text(measured, out);
    add_step_lines(result, out);
    add_edges(measured, out);
    add_contradictions(result, out);
    if (missing) {
        AUTO_FREE char *line = mem_printf("Not measured: %s", missing);
        text_wrap(out, line, NOTE_INDENT, NOTE_WIDTH);
    }
    if (energy_text_any(measured))
        text_addf(
            out,
            "  All the energy of the device, whoever used it. ± is 95 %% and contains all but\n"
            "  the sensor's gain%s.\n",
            gain_is_stated(result) ? "" : ", which is unknown: the vendor states none");
}

json_t *energy_text_json(const struct energy_page *page)
{
    static const char *const of_jobs[] = {"cpu_s",         "memory_peak_bytes", "read_bytes",
                                          "written_bytes", "processes_peak",    "job_share"};
    const struct measured *measured = page->measured;
    AUTO_FREE char *missing = energy_text_missing(page);
    json_t *json = energy_meters_result_json(&measured->result, measured->epochs),
           *notes = json_array();
    json_t *host = json_object_get(json, "host");
    json_object_set_new(json, "epochs", energy_epochs_json(measured));
    for (size_t i = 0; !measured->has_subject && i < sizeof of_jobs / sizeof *of_jobs; i++)
        json_object_del(host, of_jobs[i]);
    EACH (item, measured->notes.items, measured->notes.count)
        json_array_append_new(notes, json_text_or_null(*item));
    EACH (device, measured->result.devices, measured->result.device_count) {
        AUTO_FREE char *text = contradiction_text(device);
        if (text)
            json_array_append_new(notes, json_text_or_null(text));
    }
    json_object_set_new(json, "start_ns", json_integer(measured->start_ns));
    json_object_set_new(json, "end_ns", json_integer(measured->end_ns));
    json_object_set_new(
        json, "duration_seconds",
        json_finite((double)(measured->end_ns - measured->start_ns) / (double)NS_PER_S));
    json_set_text(json, "not_measured", missing);
    json_object_set_new(json, "notes", notes);
    return json;
}
