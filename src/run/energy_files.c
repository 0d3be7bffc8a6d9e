#include "run/energy_files.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/value.h"

#include <fcntl.h>
#include <unistd.h>

static const char gpu_head[] =
    "timestamp,seconds,gpu,power_draw_w,temperature_c,memory_temperature_c,utilisation_percent,"
    "memory_utilisation_percent,sm_clock_mhz,memory_clock_mhz,clock_reasons,memory_used_mib,"
    "power_limit_w\n";
static const char cpu_head[] = "timestamp,seconds,domain,energy_j,power_w\n";

void energy_files_close(struct energy_files *files)
{
    if (files->gpu >= 0)
        close(files->gpu);
    if (files->cpu >= 0)
        close(files->cpu);
    *files = (struct energy_files){.gpu = -1, .cpu = -1};
}

static bool open_file(int folder, const char *name, const char *head, int *fd, struct err *err)
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
    text_addf(row, "%s,%.6f,", time, (double)(t_ns - start_ns) / (double)NS_PER_S);
}

static void add_number(struct text *row, double value)
{
    char shortest[32];
    number_shortest(value, shortest);
    text_addf(row, ",%s", shortest);
}

static void add_reading(struct text *row, struct reading reading)
{
    if (reading.valid)
        add_number(row, reading.value);
    else
        text_add_char(row, ',');
}

static void add_reasons(struct text *row, struct reading reading)
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

void energy_files_sample(struct energy_files *files, int folder, int64_t start_ns, const char *label,
                         const struct gpu_sample *sample)
{
    static const enum gpu_reading order[] = {GPU_TEMPERATURE_C,       GPU_MEMORY_TEMPERATURE_C,
                                             GPU_UTILISATION_PERCENT, GPU_MEMORY_UTILISATION_PERCENT,
                                             GPU_SM_CLOCK_MHZ,        GPU_MEMORY_CLOCK_MHZ};
    const struct reading *of = sample->readings.of;
    AUTO_TEXT struct text row = {0};
    if (files->failed)
        return;
    add_time(&row, sample->t_ns, start_ns);
    csv_add_cell(&row, label);
    add_reading(&row, gpu_readings_power_w(&sample->readings));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        add_reading(&row, of[order[i]]);
    add_reasons(&row, of[GPU_CLOCK_REASONS]);
    struct reading memory = of[GPU_MEMORY_USED_BYTES];
    add_reading(&row, (struct reading){memory.value / 1048576, memory.valid});
    add_reading(&row, of[GPU_POWER_LIMIT_W]);
    text_add_char(&row, '\n');
    files->failed = !open_file(folder, "gpu.csv", gpu_head, &files->gpu, &files->err) ||
                    !fs_write_all(files->gpu, text_get(&row), row.length, &files->err);
}

void energy_files_counter(struct energy_files *files, int folder, int64_t start_ns, size_t domain, const char *name,
                          const struct counter_reading *reading)
{
    AUTO_TEXT struct text row = {0};
    if (files->failed || domain >= ENERGY_DOMAINS_MAX)
        return;
    struct energy_counter *counter = &files->counters[domain];
    if (!counter->begun)
        *counter = (struct energy_counter){true, *reading, *reading};
    double since_s = (double)(reading->after_ns - counter->last.after_ns) / (double)NS_PER_S;
    bool rises = reading->energy_mj >= counter->last.energy_mj && counter->last.energy_mj >= counter->first.energy_mj;
    add_time(&row, reading->after_ns, start_ns);
    csv_add_cell(&row, name);
    add_reading(&row, (struct reading){(double)(reading->energy_mj - counter->first.energy_mj) / 1000, rises});
    add_reading(&row, (struct reading){(double)(reading->energy_mj - counter->last.energy_mj) / 1000 / since_s,
                                       rises && since_s > 0});
    text_add_char(&row, '\n');
    counter->last = *reading;
    files->failed = !open_file(folder, "cpu.csv", cpu_head, &files->cpu, &files->err) ||
                    !fs_write_all(files->cpu, text_get(&row), row.length, &files->err);
}
