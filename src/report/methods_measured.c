/* How the energies of a run were measured, and how uncertain they are: from the energy records of
 * its experiments. */
#include "base/mem.h"
#include "report/methods.h"

#include <math.h>
#include <string.h>

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

static void scope_add(struct scope *scope, const struct energy_figures *figures)
{
    if (!figures->energy_j.valid)
        return;
    scope->measured++;
    AUTO_FREE char *meaning = figures->source ? source_meaning(figures->source) : NULL;
    if (meaning)
        strv_add_once(&scope->sources, meaning);
    struct reading covered = figures->covered_share, gap = figures->longest_gap_s;
    if (covered.valid) {
        scope->covered_least =
            scope->has_covered ? fmin(scope->covered_least, covered.value) : covered.value;
        scope->has_covered = true;
    }
    if (gap.valid) {
        scope->gap_most_s = scope->has_gap ? fmax(scope->gap_most_s, gap.value) : gap.value;
        scope->has_gap = true;
    }
    scope->net += figures->net_j.valid;
}

static void read_scopes(const struct facts *facts, struct scope *gpu, struct scope *cpu)
{
    for (size_t i = 0; i < facts->results.count; i++) {
        const struct energy_record *energy = facts->items[i].energy;
        if (!energy)
            continue;
        scope_add(gpu, &energy->gpu);
        scope_add(cpu, &energy->cpu_package);
        EACH (device, energy->devices, energy->device_count)
            if (device->sensor_profile)
                strv_add_once(&gpu->profiles, device->sensor_profile);
    }
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

void methods_add_sensors(const struct facts *facts, struct text *out)
{
    AUTO(scope_fini) struct scope gpu = {0}, cpu = {0};
    read_scopes(facts, &gpu, &cpu);
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
        text_addf(
            out, " Energy of the CPU is that of the packages, from %s, for %zu experiments%s.",
            cpu_sources, cpu.measured,
            facts->results.lanes.count ? "; where several ran at the same time, an experiment has "
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
static void read_budgets(const struct facts *facts, struct strv *components, size_t *with_gain,
                         size_t *without, size_t *aliased)
{
    for (size_t i = 0; i < facts->results.count; i++) {
        const struct energy_record *energy = facts->items[i].energy;
        if (!energy)
            continue;
        const struct energy_figures *gpu = &energy->gpu;
        *aliased += gpu->aliasing_bound_j.valid && gpu->half_width_j.valid &&
                    gpu->aliasing_bound_j.value > gpu->half_width_j.value;
        EACH (component, gpu->components, gpu->component_count) {
            struct reading contribution = component->contribution_j;
            if (component->name && strcmp(component->name, "gain") == 0)
                (*(contribution.valid ? with_gain : without))++;
            else if (component->name && contribution.valid && contribution.value > 0) {
                AUTO_FREE char *words = component_words(component->name);
                strv_add_once(components, words);
            }
        }
    }
}

void methods_add_uncertainty(const struct facts *facts, struct text *out)
{
    AUTO_STRV struct strv components = {0};
    size_t with_gain = 0, without = 0, aliased = 0;
    read_budgets(facts, &components, &with_gain, &without, &aliased);
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
