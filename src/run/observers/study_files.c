/* Files in energy/ that scripts of the study read, published whole when the attempt has ended. */
#include "run/lane.h"

#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <time.h>

enum { VALUE_COUNT = 5 };

static const struct {
    enum gpu_reading of; /* index 0: the board's power */
    enum energy_meters_over over;
    int decimals; /* as nvidia-smi prints it */
} values[VALUE_COUNT] = {
    {GPU_POWER_INSTANT_W, ENERGY_SUM, 2},
    {GPU_TEMPERATURE_C, ENERGY_HIGHEST, 0},
    {GPU_MEMORY_TEMPERATURE_C, ENERGY_HIGHEST, 0},
    {GPU_UTILISATION_PERCENT, ENERGY_MEAN, 0},
    {GPU_MEMORY_UTILISATION_PERCENT, ENERGY_MEAN, 0},
};

static const struct csv_file {
    const char *name, *head;
    int first, end; /* indices of values */
} csv_files[] = {
    {"gpu_power.csv", "timestamp,power_draw_w\n", 0, 1},
    {"gpu_temperature.csv", "timestamp,gpu_temp_c,memory_temp_c\n", 1, 3},
    {"gpu_utilization.csv", "timestamp,gpu_util_percent,memory_util_percent\n", 3, 5},
};

struct second {
    int64_t t_s;               /* since 1970 */
    float values[VALUE_COUNT]; /* NAN: the card has no such value */
};

struct study_files {
    bool on;
    int64_t realtime_ns; /* of CLOCK_MONOTONIC 0; constant, because the clock may be set */
    struct second *seconds;
    size_t count;
};

struct cpu_energy {
    struct reading package_j, dram_j;
};

LANE_STATE(files_of, struct study_files, study_files_observer);

static void begin_study_files(struct lane *lane)
{
    struct study_files *files = files_of(lane);
    files->on = lane->runner->plan->study_files && lane->energy_meters;
    files->realtime_ns = clock_realtime_ns() - clock_monotonic_ns();
    files->count = 0;
}

static struct reading read_study_value(const struct lane *lane, int value)
{
    if (value == 0)
        return energy_meters_power_w(lane->energy_meters);
    return energy_meters_now(lane->energy_meters, values[value].of, values[value].over);
}

/* The last reading of its second counts: GPUs answer one after the other. */
static void add_study_sample(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    struct study_files *files = files_of(lane);
    const struct attempt *attempt = &lane->attempt;
    int64_t end_ns = attempt->end_ns != 0 ? attempt->end_ns : INT64_MAX;
    (void)label;
    if (!files->on || sample->t_ns < attempt->start_ns || sample->t_ns > end_ns)
        return;
    int64_t t_s = (files->realtime_ns + sample->t_ns) / NS_PER_S;
    if (files->count == 0 || files->seconds[files->count - 1].t_s < t_s)
        MEM_ADD(files->seconds, files->count) = (struct second){.t_s = t_s};
    struct second *second = &files->seconds[files->count - 1];
    for (int i = 0; i < VALUE_COUNT; i++) {
        struct reading reading = read_study_value(lane, i);
        second->values[i] = reading.valid ? (float)reading.value : NAN;
    }
}

static void add_study_rows(const struct study_files *files, const struct csv_file *file,
                           struct text *out)
{
    text_add(out, file->head);
    EACH (second, files->seconds, files->count) {
        text_addf(out, "%lld", (long long)second->t_s);
        for (int k = file->first; k < file->end; k++)
            if (isnan(second->values[k]))
                text_add(out, ",N/A");
            else
                text_addf(out, ",%.*f", values[k].decimals, (double)second->values[k]);
        text_add_char(out, '\n');
    }
}

static void add_cpu_summary(const struct cpu_energy *cpu, struct text *out)
{
    text_add(out, "CPU Energy Consumption Summary\n==============================\n");
    if (cpu->package_j.valid)
        text_addf(out, "Package Energy (Joules): %.2f\n", cpu->package_j.value);
    if (cpu->dram_j.valid)
        text_addf(out, "RAM Energy (Joules): %.2f\n", cpu->dram_j.value);
    double total_j = cpu->package_j.value + cpu->dram_j.value;
    if (cpu->package_j.valid && cpu->dram_j.valid)
        text_addf(out, "Total CPU Energy (Joules): %.2f\n", total_j);
    text_add(out, "\nNote: Read by tare from the energy counters of the processors\n");
}

/* The layout of "perf stat -a -e power/energy-pkg/,power/energy-ram/". */
static void add_cpu_raw(const struct lane *lane, const struct cpu_energy *cpu, struct text *out)
{
    const struct attempt *attempt = &lane->attempt;
    char started[40] = "";
    struct tm local;
    time_t start_s = (time_t)((files_of(lane)->realtime_ns + attempt->start_ns) / NS_PER_S);
    if (localtime_r(&start_s, &local))
        strftime(started, sizeof started, "%a %b %e %H:%M:%S %Y", &local);
    text_addf(out, "# started on %s\n# written by tare in the layout of perf stat\n\n", started);
    text_add(out, " Performance counter stats for 'system wide':\n\n");
    if (cpu->package_j.valid)
        text_addf(out, "%18.2f Joules power/energy-pkg/\n", cpu->package_j.value);
    if (cpu->dram_j.valid)
        text_addf(out, "%18.2f Joules power/energy-ram/\n", cpu->dram_j.value);
    double elapsed_s = ns_to_s(attempt->end_ns - attempt->start_ns);
    text_addf(out, "\n%18.9f seconds time elapsed\n\n", elapsed_s);
}

static bool publish_study_file(int energy, const char *name, struct text *text, struct err *err)
{
    bool ok = fs_write_unsynced(energy, name, text_get(text), text->length, err);
    text_clear(text);
    return ok || err_wrap(err, "energy/%s", name);
}

static bool write_study_files(const struct lane *lane, const struct cpu_energy *cpu,
                              struct err *err)
{
    const struct study_files *files = files_of(lane);
    bool has_cpu = cpu->package_j.valid || cpu->dram_j.valid;
    AUTO_TEXT struct text text = {0};
    if (files->count == 0 && !has_cpu)
        return true;
    AUTO_CLOSE int energy = fs_make_dir_at(lane->attempt.folder, "energy", 0777, err);
    if (energy < 0)
        return false;
    for (size_t i = 0; files->count > 0 && i < sizeof csv_files / sizeof *csv_files; i++) {
        add_study_rows(files, &csv_files[i], &text);
        if (!publish_study_file(energy, csv_files[i].name, &text, err))
            return false;
    }
    if (!has_cpu)
        return true;
    add_cpu_summary(cpu, &text);
    if (!publish_study_file(energy, "cpu_energy.txt", &text, err))
        return false;
    add_cpu_raw(lane, cpu, &text);
    return publish_study_file(energy, "cpu_energy_raw.txt", &text, err);
}

static void publish_study_files(struct lane *lane, const struct energy_meters_result *result)
{
    const struct cpu_energy cpu = {result->sums[ENERGY_PACKAGE].window.energy_j,
                                   result->sums[ENERGY_DRAM].window.energy_j};
    struct err err;
    if (files_of(lane)->on && !write_study_files(lane, &cpu, &err))
        lane_add_evidence(lane, "energy_file", "the study's files cannot be written: %s", err.text);
    files_of(lane)->on = false;
}

static void free_study_files(struct lane *lane)
{
    free(files_of(lane)->seconds);
}

const struct observer study_files_observer = {
    .size = sizeof(struct study_files),
    .fini = free_study_files,
    .begin = begin_study_files,
    .measured = publish_study_files,
    .sample = add_study_sample,
};
