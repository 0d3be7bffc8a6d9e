#include "session/energy_text.h"

#include "base/clock.h"
#include "base/json.h"
#include "measure/energy/window.h"

#include <string.h>

enum { INDENT = 2, ENERGY_WIDTH = 26 };

/* What is missing at the start of a command beyond this is worth telling. */
static const int64_t LATE_NS = NS_PER_S / 20;

/* Beyond this the time that no sensor saw is worth telling. */
static const double COVERED_ENOUGH = 0.99;

bool energy_text_any(const struct measured *measured)
{
    const struct energy_meters_result *result = &measured->result;
    for (size_t i = 0; i < result->device_count; i++)
        if (result->devices[i].scope != ENERGY_PLATFORM && result->devices[i].window.energy_j.valid)
            return true;
    return false;
}

static bool has_scope(const struct energy_meters_result *result, enum energy_meters_scope scope)
{
    for (size_t i = 0; i < result->device_count; i++)
        if (result->devices[i].scope == scope)
            return true;
    return false;
}

static void add_missing(struct text *out, const char *name, const char *reason)
{
    text_addf(out, "%s%s: %s", out->length > 0 ? "; " : "", name, reason);
}

static bool is_told(const struct energy_meters_missing *missing)
{
    return missing->scope == ENERGY_GPU || missing->scope == ENERGY_DRAM;
}

/* Those that are missing for one reason are told together. */
static void add_devices(struct text *out, const struct energy_meters_result *result)
{
    for (size_t i = 0, next; i < result->missing_count; i = next) {
        const struct energy_meters_missing *missing = result->missing;
        AUTO_TEXT struct text names = {0};
        text_add(&names, missing[i].name);
        for (next = i + 1; next < result->missing_count && missing[next].scope == missing[i].scope &&
                           strcmp(missing[next].reason, missing[i].reason) == 0;
             next++)
            text_addf(&names, ", %s", missing[next].name);
        if (is_told(&missing[i]))
            add_missing(out, text_get(&names), missing[i].reason);
    }
}

char *energy_text_missing(const struct energy_page *page)
{
    const struct energy_meters_result *result = &page->measured->result;
    const struct rapl *rapl = page->options->host ? host_meter_rapl(page->options->host) : NULL;
    bool no_package = !has_scope(result, ENERGY_PACKAGE);
    struct text text = {0};
    if (page->options->gpu_count == 0)
        add_missing(&text, "GPU", "no NVIDIA GPU is seen here");
    add_devices(&text, result);
    if (no_package)
        add_missing(&text, "CPU", rapl && rapl->reason ? rapl->reason : "its energy counters cannot be read");
    if (no_package && rapl && rapl->fix)
        text_addf(&text, "; this would help: %s", rapl->fix);
    return text.length > 0 ? text_take(&text) : NULL;
}

static void add_range(struct text *out, const char *unit, int digits, struct reading mean, struct reading least,
                      struct reading most)
{
    if (!mean.valid && !most.valid)
        return;
    text_add(out, out->length > 0 ? ", " : "");
    if (mean.valid)
        text_addf(out, "%.*f %s%s", digits, mean.value, unit, most.valid ? " (" : "");
    if (least.valid && most.valid)
        text_addf(out, "%.*f to %.*f", digits, least.value, digits, most.value);
    else if (most.valid)
        text_addf(out, "%s%.*f%s%s", mean.valid ? "most " : "at most ", digits, most.value, mean.valid ? "" : " ",
                  mean.valid ? "" : unit);
    if (mean.valid && most.valid)
        text_add(out, ")");
}

static void add_line(struct text *out, const struct text *line)
{
    if (line->length > 0)
        text_addf(out, "%*s%s\n", INDENT + ENERGY_WIDTH, "", text_get(line));
}

static void add_power(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    struct reading kwh = window_kwh(window->energy_j);
    AUTO_TEXT struct text line = {0};
    if (kwh.valid)
        text_addf(&line, "%.7f kWh", kwh.value);
    add_range(&line, "W", 1, window->power_mean_w, window->power_min_w, window->power_max_w);
    add_line(out, &line);
}

static void add_state(const struct energy_meters_figures *figures, struct text *out)
{
    static const struct reading none = {0};
    AUTO_TEXT struct text line = {0};
    add_range(&line, "°C", 0, figures->temperature_mean_c, none, figures->temperature_max_c);
    add_range(&line, "% busy", 0, figures->utilisation_mean_percent, none, figures->utilisation_max_percent);
    if (figures->memory_peak_bytes.valid)
        text_addf(&line, "%smemory at most %.2f GiB", line.length > 0 ? ", " : "",
                  figures->memory_peak_bytes.value / (1 << 30));
    add_line(out, &line);
}

static void add_doubt(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    AUTO_TEXT struct text line = {0};
    if (window->energy_j.valid && window->covered_share < COVERED_ENOUGH)
        text_addf(&line, "seen by its sensor %.0f %% of the time, the rest is estimated", 100 * window->covered_share);
    if (window->disagrees)
        text_addf(&line, "%sits counter and the integral of its power (%.1f J) disagree", line.length > 0 ? "; " : "",
                  window->integral_j.value);
    if (window->flags & (WINDOW_BACKWARDS | WINDOW_JUMPED | WINDOW_STOOD))
        text_addf(&line, "%sits counter was wrong for part of the time and ignored there", line.length > 0 ? "; " : "");
    add_line(out, &line);
}

static void add_energy(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    AUTO_TEXT struct text energy = {0};
    if (window->energy_j.valid && window->half_width_j.valid)
        text_addf(&energy, "%.2f J ± %.2f", window->energy_j.value, window->half_width_j.value);
    else if (window->energy_j.valid)
        text_addf(&energy, "%.2f J ± unknown", window->energy_j.value);
    else
        text_add(&energy, "unknown");
    /* "±" is two bytes of one column. */
    int bytes = ENERGY_WIDTH - 2 + (window->energy_j.valid ? 1 : 0);
    text_addf(out, "%*s%*s  ", INDENT, "", bytes, text_get(&energy));
}

/* Where somebody states the sensor's gain. */
static void add_expanded(const struct energy_meters_figures *figures, struct text *out)
{
    struct energy_budget budget;
    AUTO_TEXT struct text line = {0};
    if (!figures->window.energy_j.valid || !figures->window.half_width_j.valid)
        return;
    energy_budget(&figures->window, &figures->gain, &budget);
    if (budget.total.complete)
        text_addf(&line, "± %.2f J with its sensor's gain (within %.3g %%)", budget.total.expanded,
                  100 * figures->gain.bound);
    add_line(out, &line);
}

static void add_device(const struct energy_meters_figures *figures, struct text *out)
{
    const struct window_energy *window = &figures->window;
    add_energy(figures, out);
    text_addf(out, "%s (%s", figures->name, energy_meters_scope_name(figures->scope));
    if (window->energy_j.valid)
        text_addf(out, ", %s)\n", window->source);
    else
        text_addf(out, "): seen %.0f %% of the time, too little to tell\n", 100 * window->covered_share);
    add_power(figures, out);
    add_expanded(figures, out);
    add_state(figures, out);
    add_doubt(figures, out);
}

static void add_sums(const struct energy_meters_result *result, struct text *out)
{
    static const char *const names[ENERGY_SCOPES] = {"all GPUs", "all CPU packages", "all DRAM", NULL};
    for (int scope = 0; scope < ENERGY_SCOPES; scope++) {
        const struct energy_meters_figures *sum = &result->sums[scope];
        if (!names[scope] || sum->devices < 2 || !sum->window.energy_j.valid)
            continue;
        add_energy(sum, out);
        text_addf(out, "%s\n", names[scope]);
        add_power(sum, out);
        add_expanded(sum, out);
    }
}

/* The moments at both edges for which the meters were not there. */
static void add_edges(const struct measured *measured, struct text *out)
{
    double late_s = (double)(measured->ready_ns - measured->start_ns) / (double)NS_PER_S;
    if (measured->ready_ns - measured->start_ns > LATE_NS && measured->result.device_count > 0)
        text_addf(out,
                  "  The meters were ready %.2f s after the start: what they say of the time before is what the\n"
                  "  driver had kept, or estimated.\n",
                  late_s);
    if (measured->unanswered > 0 && measured->result.device_count > 0)
        text_addf(out, "  %zu reading%s of the last moment did not come in time.\n", measured->unanswered,
                  measured->unanswered == 1 ? "" : "s");
    for (size_t i = 0; i < measured->notes.count; i++)
        text_addf(out, "  %s\n", measured->notes.items[i]);
}

/* What a step's phases draw. */
static void add_steps(const struct energy_meters_result *result, struct text *out)
{
    for (size_t i = 0; i < result->step_count; i++) {
        const struct step_power *power = &result->steps[i].power;
        text_addf(out, "  One step of %zu (%.4g s each), %s: ", power->steps, power->step_s, result->steps[i].name);
        if (power->reason[0])
            text_addf(out, "not told: %s", power->reason);
        for (size_t k = 0; k < power->phase_count && !power->reason[0]; k++) {
            const struct step_phase *phase = &power->phases[k];
            text_addf(out, "%s%s ", k > 0 ? ", " : "", phase->name);
            if (phase->energy_j.valid)
                text_addf(out, "%.3f J ± %.3f", phase->energy_j.value, phase->half_width_j.value);
            else
                text_add(out, "not told");
        }
        text_add(out, "\n");
    }
    if (result->step_count > 0)
        text_add_char(out, '\n');
}

static const double BYTES_PER_MIB = 1 << 20;

static void add_value(struct text *out, double value, int digits, const char *unit)
{
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "%.*f%s", digits, value, unit);
    text_addf(out, "%*s  ", ENERGY_WIDTH, text_get(&text));
}

static void add_io(const struct host_job_figures *job, struct text *out)
{
    if (job->read_bytes.valid && job->written_bytes.valid) {
        add_value(out, job->read_bytes.value / BYTES_PER_MIB, 1, " MiB");
        text_addf(out, "read from storage, %.1f MiB written\n", job->written_bytes.value / BYTES_PER_MIB);
    } else if (job->io_refused > 0) {
        text_addf(out, "%*s  read and written: only the user of the processes, and root, may see that\n", ENERGY_WIDTH,
                  "unknown");
    }
}

/* What the processes that were measured used of the host. */
static void add_host(const struct energy_meters_result *result, double duration_s, struct text *out)
{
    const struct host_job_figures *job = &result->job;
    if (!job->cpu_s.valid && !job->memory_peak_bytes.valid)
        return;
    if (job->cpu_s.valid) {
        add_value(out, job->cpu_s.value, 2, " s");
        text_addf(out, "CPU time of its processes, %.2f CPUs in the mean\n",
                  duration_s > 0 ? job->cpu_s.value / duration_s : 0);
    }
    if (job->memory_peak_bytes.valid) {
        add_value(out, job->memory_peak_bytes.value / BYTES_PER_MIB, 1, " MiB");
        text_addf(out, "memory at most, %s\n",
                  job->memory_charged
                      ? "with its share of the file cache"
                      : "resident: its largest process, or all at one of the samples taken each second");
    }
    add_io(job, out);
    if (job->processes_peak.valid) {
        add_value(out, job->processes_peak.value, 0, "");
        text_addf(out, "process%s at most, of those seen once a second\n", job->processes_peak.value == 1 ? "" : "es");
    }
    text_add_char(out, '\n');
}

static bool gain_is_stated(const struct energy_meters_result *result)
{
    for (size_t i = 0; i < result->device_count; i++)
        if (!(result->devices[i].gain.bound > 0))
            return false;
    return true;
}

void energy_text(const struct energy_page *page, struct text *out)
{
    const struct measured *measured = page->measured;
    const struct energy_meters_result *result = &measured->result;
    AUTO_FREE char *missing = energy_text_missing(page);
    double duration_s = (double)(measured->end_ns - measured->start_ns) / (double)NS_PER_S;
    text_addf(out, "%s %.3f s, %s:\n\n", result->device_count > 0 ? "Energy of" : "Measured for", duration_s,
              page->until);
    for (size_t i = 0; i < result->device_count; i++)
        add_device(&result->devices[i], out);
    add_sums(result, out);
    text_add(out, result->device_count > 0 ? "\n" : "");
    if (measured->has_subject)
        add_host(result, duration_s, out);
    energy_epochs_text(measured, out);
    add_steps(result, out);
    add_edges(measured, out);
    if (missing)
        text_addf(out, "  Not measured: %s\n", missing);
    if (energy_text_any(measured))
        text_addf(out,
                  "  All the energy of the device, whoever used it. ± is 95 %%, of the measurement; the sensor's\n"
                  "  own error %s comes on top.\n",
                  gain_is_stated(result) ? "(its gain)" : "is unknown and");
}

json_t *energy_text_json(const struct energy_page *page)
{
    static const char *const of_jobs[] = {"cpu_s",         "memory_peak_bytes", "read_bytes",
                                          "written_bytes", "processes_peak",    "job_share"};
    const struct measured *measured = page->measured;
    AUTO_FREE char *missing = energy_text_missing(page);
    json_t *json = energy_meters_result_json(&measured->result, measured->epochs), *notes = json_array();
    json_t *host = json_object_get(json, "host");
    json_object_set_new(json, "epochs", energy_epochs_json(measured));
    for (size_t i = 0; !measured->has_subject && i < sizeof of_jobs / sizeof *of_jobs; i++)
        json_object_del(host, of_jobs[i]);
    for (size_t i = 0; i < measured->notes.count; i++)
        json_array_append_new(notes, json_text_or_null(measured->notes.items[i]));
    json_object_set_new(json, "start_ns", json_integer(measured->start_ns));
    json_object_set_new(json, "end_ns", json_integer(measured->end_ns));
    json_object_set_new(json, "duration_seconds",
                        json_finite((double)(measured->end_ns - measured->start_ns) / (double)NS_PER_S));
    json_object_set_new(json, "not_measured", json_text_or_null(missing));
    json_object_set_new(json, "notes", notes);
    return json;
}
