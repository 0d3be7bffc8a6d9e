/* How the energies of a run were measured, and how uncertain they are: from the energy records of
 * its experiments. */
#include "base/json.h"
#include "base/mem.h"
#include "report/methods.h"

#include <math.h>
#include <string.h>

/* "energy" of the attempt that counts; NULL: there is none. */
static const json_t *energy_of(const json_t *experiment)
{
    return json_get(json_get(experiment, "tare"), "energy");
}

/* By how the name of a source ends: what is before it is the vendor's library. */
static const struct {
    const char *end, *meaning;
} sources[] = {
    {"-counter", "the driver's energy counter, checked against its power samples"},
    {"-power", "the driver's power samples, integrated over time"},
    {"rapl-perf", "RAPL, read by perf_event"},
    {"rapl-powercap", "RAPL, read by powercap"},
    {"mixed", "the energy counter for a part of the time and the power samples for the rest"},
};

/* "the driver's energy counter, ... (nvml-counter)". The caller frees it. */
static char *source_meaning(const char *source)
{
    size_t length = strlen(source);
    EACH_OF (item, sources) {
        size_t end = strlen(item->end);
        if (length >= end && strcmp(source + length - end, item->end) == 0)
            return mem_printf("%s (%s)", item->meaning, source);
    }
    return mem_strdup(source);
}

/* What the experiments' energies of one scope have in common. */
struct scope {
    size_t measured;
    struct strv sources, profiles;
    double covered_least, gap_most_s;
    bool has_covered, has_gap;
    size_t net; /* have a figure net of the idle power */
};

static void scope_fini(struct scope *scope)
{
    strv_fini(&scope->sources);
    strv_fini(&scope->profiles);
}

static void scope_add(struct scope *scope, const json_t *figures)
{
    const char *source = json_get_text(figures, "source");
    double value;
    if (!json_get_number(figures, "joules", &value))
        return;
    scope->measured++;
    AUTO_FREE char *meaning = source ? source_meaning(source) : NULL;
    if (meaning)
        strv_add_once(&scope->sources, meaning);
    if (json_get_number(figures, "covered_share", &value)) {
        scope->covered_least = scope->has_covered ? fmin(scope->covered_least, value) : value;
        scope->has_covered = true;
    }
    if (json_get_number(figures, "longest_gap_s", &value)) {
        scope->gap_most_s = scope->has_gap ? fmax(scope->gap_most_s, value) : value;
        scope->has_gap = true;
    }
    scope->net += json_get_number(figures, "net_of_bare_idle_j", &value);
}

static struct scope scope_read(const struct methods_input *input, const char *key)
{
    struct scope scope = {0};
    size_t i;
    json_t *experiment, *device;
    json_array_foreach(json_object_get(input->run, "experiments"), i, experiment)
    {
        size_t d;
        scope_add(&scope, json_get(energy_of(experiment), key));
        json_array_foreach((json_t *)json_get(energy_of(experiment), "devices"), d,
                           device) if (strcmp(key, "gpu") == 0 &&
                                       json_get_text(device, "sensor_profile"))
            strv_add_once(&scope.profiles, json_get_text(device, "sensor_profile"));
    }
    return scope;
}

static void add_readings(const struct scope *scope, struct text *out)
{
    if (scope->has_covered && scope->has_gap)
        text_addf(out,
                  " The readings cover at least %.4g %% of each attempt; the longest time between "
                  "two of them is %.3g s.",
                  100 * scope->covered_least, scope->gap_most_s);
    else
        text_add(out, " How much of the attempts the readings cover is not recorded.");
}

static void add_profiles(const struct scope *scope, struct text *out)
{
    AUTO_STRV struct strv calibrated = {0}, tabled = {0};
    EACH (item, scope->profiles.items, scope->profiles.count)
        strv_add_once(strncmp(*item, "calibrated", 10) == 0 ? &calibrated : &tabled, *item);
    AUTO_FREE char *dates = methods_list(&calibrated), *labels = methods_list(&tabled);
    if (calibrated.count)
        text_addf(out,
                  " The sensor's update period, averaging and delay are those of a calibration of "
                  "the GPU itself (%s).",
                  dates);
    if (tabled.count)
        text_addf(out, " %s not calibrated; the sensor's behaviour is taken from a table (%s).",
                  calibrated.count ? "Another GPU was" : "The GPU was", labels);
    if (!calibrated.count && !tabled.count)
        text_add(out, " Whether the GPU was calibrated is not recorded.");
}

void methods_add_sensors(const struct methods_input *input, struct text *out)
{
    AUTO(scope_fini) struct scope gpu = scope_read(input, "gpu");
    AUTO(scope_fini) struct scope cpu = scope_read(input, "cpu_package");
    AUTO_FREE char *gpu_sources = methods_list(&gpu.sources),
                   *cpu_sources = methods_list(&cpu.sources);
    if (gpu.measured) {
        text_addf(out,
                  "Energy of GPUs is that of the GPU boards over a whole attempt, gross (idle "
                  "power included), from %s.",
                  gpu_sources);
        add_readings(&gpu, out);
        add_profiles(&gpu, out);
        text_addf(out, " Energy net of the idle power is recorded for %zu of %zu experiments.",
                  gpu.net, gpu.measured);
    } else {
        text_add(out, "The energy of GPUs was not measured.");
    }
    if (cpu.measured)
        text_addf(out,
                  " Energy of the CPU is that of the packages, from %s, for %zu experiments%s.",
                  cpu_sources, cpu.measured,
                  input->results->lanes ? "; where several ran at the same time, an experiment has "
                                          "the share of its CPU time, an estimate"
                                        : "");
    else
        text_add(out, " The energy of the CPU was not measured.");
    text_add(out, gpu.measured || cpu.measured
                      ? " Fans, power supply and the rest of the machine are not in it.\n"
                      : "\n");
}

static char *component_words(const char *component)
{
    char *words = mem_strdup(component);
    for (char *c = words; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return words;
}

/* The components of the budgets of all GPU energies; how many have a gain that is stated, and how
 * many not; of how many a load in step with the sensor may hide more than the half-width. */
static void read_budgets(const struct methods_input *input, struct strv *components,
                         size_t *with_gain, size_t *without, size_t *aliased)
{
    size_t i, c;
    json_t *experiment, *component;
    json_array_foreach(json_object_get(input->run, "experiments"), i, experiment)
    {
        const json_t *gpu = json_get(energy_of(experiment), "gpu"),
                     *budget = json_get(gpu, "budget");
        double bound_j, half_width_j;
        if (json_get_number(gpu, "aliasing_bound_j", &bound_j) &&
            json_get_number(gpu, "half_width_j", &half_width_j))
            *aliased += bound_j > half_width_j;
        json_array_foreach((json_t *)json_get(budget, "components"), c, component)
        {
            const char *name = json_get_text(component, "component");
            double contribution;
            bool known = json_get_number(component, "contribution_j", &contribution);
            if (name && strcmp(name, "gain") == 0)
                (*(known ? with_gain : without))++;
            else if (name && known && contribution > 0) {
                AUTO_FREE char *words = component_words(name);
                strv_add_once(components, words);
            }
        }
    }
}

void methods_add_uncertainty(const struct methods_input *input, struct text *out)
{
    AUTO_STRV struct strv components = {0};
    size_t with_gain = 0, without = 0, aliased = 0;
    read_budgets(input, &components, &with_gain, &without, &aliased);
    if (!components.count) {
        text_add(out, "The uncertainty of energies is not recorded.\n");
        return;
    }
    AUTO_FREE char *list = methods_list(&components);
    text_addf(out,
              "± is the uncertainty of the energy of one attempt at a coverage of 95 %%, with all "
              "components but the "
              "sensor's gain (%s). ",
              list);
    if (without && !with_gain)
        text_add(
            out,
            "The error of the sensor's gain is stated by nobody; it is unknown, and not in ±.\n");
    else if (with_gain)
        text_addf(out,
                  "The error of the sensor's gain is recorded beside it for %zu experiments%s; it "
                  "is not in ±.\n",
                  with_gain, without ? ", and unknown for the others" : "");
    else
        text_add(out, "The error of the sensor's gain is not recorded, and not in ±.\n");
    if (aliased)
        text_addf(out,
                  "The most that a load in step with the sensor may hide (aliasing) is above ± for "
                  "%zu experiments; it "
                  "is recorded beside ±.\n",
                  aliased);
}
