#include "measure/energy_meters_json.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"
#include "measure/energy_meters_measure.h"

/* More digits than these no sensor gives. */
enum { DIGITS = 6 };

static void set_reading(json_t *json, const char *key, struct reading reading)
{
    json_object_set_new(
        json, key, reading.valid ? json_finite(number_round(reading.value, DIGITS)) : json_null());
}

static void set_known_value(json_t *json, const char *key, double value)
{
    set_reading(json, key, (struct reading){value, true});
}

/* "inf" where it is infinite: JSON has no such number. */
static void set_freedom(json_t *json, struct reading df)
{
    json_set_reading(json, "degrees_of_freedom",
                     (struct reading){number_round(df.value, DIGITS), df.valid});
}

static void set_bytes(json_t *json, const char *key, struct reading reading)
{
    json_object_set_new(json, key,
                        reading.valid ? json_integer((json_int_t)reading.value) : json_null());
}

static json_t *flags_json(const struct window_energy *window)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {WINDOW_BACKWARDS, "backwards"}, {WINDOW_JUMPED, "jumped"},
        {WINDOW_STOOD, "stood"},         {WINDOW_GAP, "gap"},
        {WINDOW_UNCOVERED, "uncovered"}, {WINDOW_EMPTY, "empty"},
    };
    json_t *json = json_array();
    EACH_OF (item, names)
        if (window->flags & item->flag)
            json_array_append_new(json, json_string(item->name));
    if (window->disagrees)
        json_array_append_new(json, json_string("disagrees"));
    return json;
}

static json_t *reasons_json(unsigned reasons)
{
    json_t *json = json_array();
    for (unsigned bit = 1; bit != 0 && bit <= reasons; bit <<= 1)
        if (reasons & bit) {
            const char *name = gpu_clock_reason_name(bit);
            json_array_append_new(json, name ? json_string(name) : json_integer(bit));
        }
    return json;
}

static void add_gpu_figures(const struct energy_meters_figures *figures, json_t *json)
{
    for (size_t i = 0; i < GPU_FIGURE_COUNT; i++)
        (gpu_reading_rows[gpu_figures[i].of].form == GPU_BYTES ? set_bytes : set_reading)(
            json, gpu_figures[i].key, figures->figures[i]);
    json_object_set_new(json, "clock_reasons", reasons_json(figures->clock_reasons));
}

static void set_mhz(json_t *json, const char *key, uint32_t mhz)
{
    json_object_set_new(json, key, mhz ? json_integer(mhz) : json_null());
}

/* Adds what makes figures of one GPU comparable with those of another. */
static void add_gpu_kind(const struct energy_meters_figures *figures, json_t *json)
{
    const struct gpu_identity *identity = figures->identity;
    json_object_set_new(json, "model", json_filled_or_null(identity->name));
    json_object_set_new(json, "driver", json_filled_or_null(identity->driver));
    set_reading(json, "power_limit_w", figures->power_limit_w);
    json_object_set_new(json, "sensor_profile", json_string(figures->profile->label));
    json_object_set_new(json, "sensor_profile_source", json_string(figures->profile->source));
    json_set_text(json, "calibration_sha256",
                  figures->calibration ? figures->calibration->sha256 : NULL);
    set_mhz(json, "sm_clock_max_mhz", identity->clocks.sm_max_mhz);
    set_mhz(json, "memory_clock_max_mhz", identity->clocks.memory_max_mhz);
    set_mhz(json, "sm_clock_application_mhz", identity->clocks.sm_application_mhz);
    set_mhz(json, "memory_clock_application_mhz", identity->clocks.memory_application_mhz);
}

/* The guide's own form, each row a component. What cannot be told is null, never 0. */
static json_t *component_json(const struct budget_component *component)
{
    json_t *json = json_object();
    struct reading u = {component->u, component->known},
                   contribution = {budget_contribution(component), u.valid};
    json_object_set_new(json, "component", json_string(component->name));
    json_set_text(json, "type", component->type == BUDGET_A ? "A" : "B");
    set_reading(json, "u", u);
    json_object_set_new(json, "unit", json_string(component->unit));
    set_known_value(json, "sensitivity", component->sensitivity);
    set_reading(json, "contribution_j", contribution);
    set_freedom(json, (struct reading){component->df, component->known});
    json_object_set_new(json, "source", json_string(component->source));
    return json;
}

/* half_width_j by its components, and what is known of the two that it does not contain. */
static void add_budget(const struct energy_meters_figures *figures, json_t *json)
{
    const struct window_energy *window = &figures->window;
    json_t *out = json_null();
    if (window->energy_j.valid && window->half_width_j.valid) {
        struct budget budget;
        json_t *components = json_array();
        energy_budget(window, &figures->gain, &budget);
        EACH (item, budget.items, budget.count)
            json_array_append_new(components, component_json(item));
        out = json_pack("{s:o}", "components", components);
    }
    set_reading(json, "aliasing_bound_j",
                window->energy_j.valid ? window->aliasing_bound_j : (struct reading){0});
    set_reading(json, "gain_bound", (struct reading){figures->gain.bound, figures->gain.bound > 0});
    json_object_set_new(json, "budget", out);
    /* The half-widths of several devices are added in squares (add_device_figures in
     * energy_meters_measure.c). */
    json_set_text(json, "combined", figures->devices > 1 ? "independent" : NULL);
}

static json_t *meter_figures_json(const struct energy_meters_figures *figures)
{
    const struct window_energy *window = &figures->window;
    json_t *json = json_object();
    if (figures->name)
        json_set_text(json, "device", figures->name);
    if (figures->uuid)
        json_set_text(json, "uuid", figures->uuid);
    json_set_text(json, "scope", energy_meters_scope_name(figures->scope));
    json_object_set_new(json, "source",
                        json_string(window->energy_j.valid ? window->source : "none"));
    json_set_reading(json, "joules", window->energy_j);
    json_set_reading(json, "kwh", window_kwh(window->energy_j));
    set_reading(json, "half_width_j", window->half_width_j);
    add_budget(figures, json);
    json_object_set_new(json, "sensor_uncertainty",
                        json_string(figures->profile ? figures->profile->accuracy : "unknown"));
    json_object_set_new(json, "gross", json_true());
    json_object_set_new(json, "net_of_bare_idle_j", json_null());
    set_known_value(json, "covered_share", window->covered_share);
    json_object_set_new(json, "longest_gap_s", json_finite(ns_to_s(window->longest_gap_ns)));
    set_reading(json, "power_mean_w", window->power_mean_w);
    set_reading(json, "power_max_w", window->power_max_w);
    set_reading(json, "power_min_w", window->power_min_w);
    set_reading(json, "power_cv_within", window->power_cv_within);
    json_set_reading(json, "integral_j", window->integral_j);
    set_reading(json, "integral_half_width_j", window->integral_half_width_j);
    json_object_set_new(json, "flags", flags_json(window));
    if (figures->scope == ENERGY_GPU)
        add_gpu_figures(figures, json);
    if (figures->identity && figures->profile)
        add_gpu_kind(figures, json);
    return json;
}

static json_t *host_json(const struct energy_meters_result *result)
{
    json_t *json = json_object();
    set_reading(json, "cpu_s", result->job.cpu_s);
    set_reading(json, "user_s", result->job.user_s);
    set_reading(json, "system_s", result->job.system_s);
    set_bytes(json, "memory_peak_bytes", result->job.memory_peak_bytes);
    set_bytes(json, "read_bytes", result->job.read_bytes);
    set_bytes(json, "written_bytes", result->job.written_bytes);
    set_reading(json, "processes_peak", result->job.processes_peak);
    set_reading(json, "busy_share", result->host.busy_share);
    set_reading(json, "job_share", result->host.jobs_share);
    set_reading(json, "own_share", result->host.own_share);
    set_reading(json, "others_share", result->host.others_share);
    set_reading(json, "stolen_share", result->host.stolen_share);
    set_known_value(json, "suspended_s", result->host.suspended_s);
    set_known_value(json, "clock_set_s", result->host.clock_set_s);
    return json;
}

static void set_epoch(json_t *json, const char *energy, const char *half_width,
                      const struct energy_meters_figures *figures)
{
    const struct window_energy *window = &figures->window;
    json_object_set_new(json, energy,
                        window->energy_j.valid ? json_integer((json_int_t)figures->energy_mj)
                                               : json_null());
    set_reading(json, half_width, window->half_width_j);
}

/* Name and times identify the epoch when the marks are cut again from the journal. */
static json_t *epoch_energy_json(const struct epoch *epoch,
                                 const struct energy_meters_epoch *figures)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(epoch->name));
    json_object_set_new(json, "start_ns", json_integer(epoch->start_ns));
    json_object_set_new(json, "end_ns", json_integer(epoch->end_ns));
    set_epoch(json, "gpu_mj", "gpu_half_width_j", &figures->of[ENERGY_GPU]);
    set_reading(json, "gpu_power_w", figures->of[ENERGY_GPU].window.power_mean_w);
    set_bytes(json, "gpu_memory_peak_bytes", figures->of[ENERGY_GPU].memory_peak_bytes);
    set_epoch(json, "cpu_mj", "cpu_half_width_j", &figures->of[ENERGY_PACKAGE]);
    set_epoch(json, "dram_mj", "dram_half_width_j", &figures->of[ENERGY_DRAM]);
    set_bytes(json, "host_memory_peak_bytes", figures->host_memory_peak_bytes);
    return json;
}

static json_t *phase_json(const struct step_phase *phase)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(phase->name));
    set_known_value(json, "begin_s", phase->begin_s);
    set_known_value(json, "end_s", phase->end_s);
    json_set_reading(json, "energy_j", phase->energy_j);
    json_set_reading(json, "half_width_j", phase->half_width_j);
    return json;
}

static json_t *bin_json(const struct step_bin *bin)
{
    json_t *json = json_object();
    set_known_value(json, "begin_s", bin->begin_s);
    set_known_value(json, "end_s", bin->end_s);
    set_known_value(json, "power_w", bin->power_w);
    set_known_value(json, "half_width_w", bin->half_width_w);
    return json;
}

static json_t *step_power_json(const struct step_power *power)
{
    json_t *json = json_object(), *phases = json_array(), *bins = json_array();
    bool told = !power->reason[0];
    for (size_t i = 0; i < power->phase_count && told; i++)
        json_array_append_new(phases, phase_json(&power->phases[i]));
    for (size_t i = 0; i < power->bin_count && told; i++)
        json_array_append_new(bins, bin_json(&power->bins[i]));
    json_set_count(json, "steps", power->steps);
    json_set_count(json, "steps_left_out", power->left_out);
    set_known_value(json, "step_median_s", power->step_s);
    json_set_count(json, "samples", power->samples);
    json_object_set_new(json, "phases", phases);
    json_object_set_new(json, "bins", bins);
    json_object_set_new(json, "reason", told ? json_null() : json_string(power->reason));
    return json;
}

static json_t *steps_json(const struct energy_meters_result *result)
{
    json_t *list = json_array();
    EACH (step, result->steps, result->step_count) {
        json_t *json = step_power_json(&step->power);
        json_set_text(json, "device", step->name);
        json_set_text(json, "uuid", step->uuid);
        json_array_append_new(list, json);
    }
    return list;
}

json_t *energy_meters_result_json(const struct energy_meters_result *result,
                                  const struct epoch *epochs)
{
    static const char *const keys[ENERGY_SCOPES] = {"gpu", "cpu_package", "dram", "platform"};
    json_t *json = json_object(), *devices = json_array(), *missing = json_array(),
           *parts = json_array();
    for (int scope = 0; scope < ENERGY_SCOPES; scope++) {
        const struct energy_meters_figures *sum = &result->sums[scope];
        json_object_set_new(json, keys[scope],
                            sum->devices ? meter_figures_json(sum) : json_null());
    }
    EACH (device, result->devices, result->device_count)
        json_array_append_new(devices, meter_figures_json(device));
    EACH (one, result->missing, result->missing_count)
        json_array_append_new(missing, json_pack("{s:s, s:o, s:o}", "scope",
                                                 energy_meters_scope_name(one->scope), "device",
                                                 json_text_or_null(one->name), "reason",
                                                 json_text_or_null(one->reason)));
    for (size_t i = 0; i < result->epoch_count; i++)
        json_array_append_new(parts, epoch_energy_json(&epochs[i], &result->epochs[i]));
    json_object_set_new(json, "devices", devices);
    json_object_set_new(json, "missing", missing);
    json_object_set_new(json, "host", host_json(result));
    json_object_set_new(json, "epochs", parts);
    /* What a late mark gives to one epoch it takes from the next. */
    json_set_text(json, "epochs_combined", result->epoch_count > 0 ? "correlated" : NULL);
    if (result->steps) /* of a job that marks its steps alone */
        json_object_set_new(json, "step_power", steps_json(result));
    return json;
}
