#include "machine/sensors/host.h"
#include "machine/contain/job.h"
#include "machine/contain/usage.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/sensors/sysfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* With more jobs, or processes of our own, than this, what costs most is not read at the edges of
 * all of them. Our own processes use a hundredth of a processor. */
enum { FEW = 4 };
static const int64_t OWN_FRESH_NS = 200 * NS_PER_MS;

/* A counter that has not moved for so long is taken for a dead one. */
static const double STILL_S = 1.0;
/* host_meter_prove waits this long for every counter to move: where all do, it takes some 20 ms. */
static const double PROOF_S = 0.2;

struct watched {
    struct host_job *job; /* NULL: ended */
    size_t reader;        /* SIZE_MAX: none's */
    struct host_job_figures figures;
};

struct own {
    pid_t pid;
    uint64_t start_time, cpu_ticks; /* as last seen */
};

struct host_meter {
    char *sysroot;
    struct rapl_places places;
    struct rapl rapl;
    struct series *series; /* one a domain */
    struct watched *jobs;
    size_t job_count;
    struct own *own;
    size_t own_count;
    char *stat;    /* room for /proc/stat */
    int64_t *kept; /* for each reader, since when */
    size_t kept_count;
    int64_t ticked_ns;
    int64_t own_ns; /* when our own processes were looked at */
};

/* The first lines are the processors; the line of interrupts behind them is long and not needed. */
enum { STAT_MAX = 1 << 17 };

struct host_meter *host_meter_new(const struct rapl_places *places)
{
    struct host_meter *meter = mem_alloc(sizeof *meter);
    meter->sysroot = mem_strdup(places->sysroot ? places->sysroot : "");
    meter->places = *places;
    meter->places.sysroot = meter->sysroot;
    meter->stat = mem_alloc(STAT_MAX);
    rapl_open(&meter->places, &meter->rapl);
    meter->series = mem_array(meter->rapl.count + 1, sizeof *meter->series);
    return meter;
}

void host_meter_free(struct host_meter *meter)
{
    if (!meter)
        return;
    EACH (sery, meter->series, meter->rapl.count)
        series_fini(sery);
    EACH (item, meter->jobs, meter->job_count)
        host_job_free(item->job);
    rapl_fini(&meter->rapl);
    free(meter->series);
    free(meter->jobs);
    free(meter->own);
    free(meter->kept);
    free(meter->stat);
    free(meter->sysroot);
    free(meter);
}

void host_meter_prove(struct host_meter *meter)
{
    rapl_prove(&meter->rapl, &meter->places, PROOF_S);
}

const char *host_meter_sysroot(const struct host_meter *meter)
{
    return meter->sysroot;
}

const struct rapl *host_meter_rapl(const struct host_meter *meter)
{
    return &meter->rapl;
}

const struct series *host_meter_series(const struct host_meter *meter, size_t domain)
{
    return domain < meter->rapl.count ? &meter->series[domain] : NULL;
}

size_t host_meter_reader(struct host_meter *meter)
{
    meter->kept = mem_room(meter->kept, meter->kept_count, sizeof *meter->kept);
    meter->kept[meter->kept_count] = INT64_MAX;
    return meter->kept_count++;
}

size_t host_meter_readers(const struct host_meter *meter)
{
    return meter->kept_count;
}

void host_meter_watch_for(struct host_meter *meter, size_t job, size_t reader)
{
    meter->jobs[job].reader = reader;
}

void host_meter_readers_cpu(const struct host_meter *meter, double *out_s)
{
    EACH (job, meter->jobs, meter->job_count)
        if (job->reader != SIZE_MAX && job->figures.cpu_s.valid)
            out_s[job->reader] += job->figures.cpu_s.value;
}

void host_meter_keep(struct host_meter *meter, size_t reader, int64_t since_ns)
{
    meter->kept[reader] = since_ns;
}

void host_meter_forget(struct host_meter *meter, int64_t before_ns)
{
    EACH (item, meter->kept, meter->kept_count)
        before_ns = *item < before_ns ? *item : before_ns;
    EACH (series, meter->series, meter->rapl.count) {
        size_t drop = 0;
        while (drop + 1 < series->counter_count && series->counter[drop + 1].after_ns <= before_ns)
            drop++;
        if (drop == 0)
            continue;
        series->counter_count -= drop;
        memmove(series->counter, series->counter + drop,
                series->counter_count * sizeof *series->counter);
    }
}

/* Takes the job. */
static size_t add_watched_job(struct host_meter *meter, struct host_job *job)
{
    meter->jobs = mem_room(meter->jobs, meter->job_count, sizeof *meter->jobs);
    meter->jobs[meter->job_count] = (struct watched){.job = job, .reader = SIZE_MAX};
    return meter->job_count++;
}

size_t host_meter_watch(struct host_meter *meter, const struct job_identity *identity)
{
    return add_watched_job(meter, host_job_new(meter->sysroot, identity));
}

size_t host_meter_watch_tree(struct host_meter *meter, pid_t pid, uint64_t start_time)
{
    return add_watched_job(meter, host_job_new_tree(meter->sysroot, pid, start_time));
}

/* Keeps the larger of the sampled value and the kernel's count. */
static void raise_reading(struct reading *seen, bool counted, double value)
{
    if (counted && (!seen->valid || value > seen->value))
        *seen = (struct reading){value, true};
}

void host_meter_end(struct host_meter *meter, size_t job, const struct job_usage *usage)
{
    struct watched *watched = &meter->jobs[job];
    if (watched->job && usage)
        host_job_end(watched->job, usage, &watched->figures);
    host_job_free(watched->job);
    watched->job = NULL;
    watched->figures.processes = watched->figures.memory_bytes = (struct reading){0};
    if (!usage)
        return;
    raise_reading(&watched->figures.cpu_s, usage->has_cpu, usage->cpu_s);
    raise_reading(&watched->figures.cpu_s, usage->has_thread, usage->command_cpu_s);
    /* Of one process both are the same but for what the kernel's own counting is late by. */
    struct host_job_figures *figures = &watched->figures;
    if (usage->has_peak_memory && !figures->memory_charged && !(figures->processes_peak.value > 1))
        figures->memory_peak_bytes.valid = false;
    raise_reading(&figures->memory_peak_bytes, usage->has_peak_memory,
                  (double)usage->peak_memory_bytes);
}

void host_meter_own(struct host_meter *meter, pid_t pid)
{
    struct proc_stat stat;
    if (!host_process_stat(meter->sysroot, pid, &stat))
        return;
    MEM_ADD(meter->own, meter->own_count) = (struct own){pid, stat.start_time, stat.cpu_ticks};
}

static double own_cpu_s(struct host_meter *meter)
{
    struct rusage usage;
    uint64_t ticks = 0;
    int64_t now_ns = clock_monotonic_ns();
    bool again = meter->own_count <= FEW || now_ns - meter->own_ns > OWN_FRESH_NS;
    meter->own_ns = again ? now_ns : meter->own_ns;
    getrusage(RUSAGE_SELF, &usage);
    EACH (own, meter->own, meter->own_count) {
        struct proc_stat stat;
        if (again && host_process_stat(meter->sysroot, own->pid, &stat) &&
            stat.start_time == own->start_time && stat.cpu_ticks > own->cpu_ticks)
            own->cpu_ticks = stat.cpu_ticks;
        ticks += own->cpu_ticks;
    }
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6 +
           (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* CLOCK_MONOTONIC stands still while the machine sleeps, CLOCK_BOOTTIME does not. */
static void clocks_read(struct host_edge *out)
{
    struct timespec with;
    int64_t without_ns = clock_monotonic_ns();
    clock_gettime(CLOCK_BOOTTIME, &with);
    int64_t wall_ns = clock_realtime_ns(),
            with_ns = (int64_t)with.tv_sec * NS_PER_S + (int64_t)with.tv_nsec;
    out->suspended_ns = with_ns > without_ns ? with_ns - without_ns : 0;
    out->wall_ns = wall_ns - with_ns;
}

void host_meter_counters(struct host_meter *meter)
{
    for (size_t i = 0; i < meter->rapl.count; i++) {
        struct rapl_reading reading;
        rapl_read(&meter->rapl.domains[i], &reading);
        if (reading.valid)
            series_add_counter(&meter->series[i], rapl_counter_reading(&reading));
    }
    rapl_judge(&meter->rapl, STILL_S);
}

int64_t host_meter_ticked_ns(const struct host_meter *meter)
{
    return meter->ticked_ns;
}

void host_meter_tick(struct host_meter *meter)
{
    meter->ticked_ns = clock_monotonic_ns();
    host_meter_counters(meter);
    EACH (item, meter->jobs, meter->job_count)
        if (item->job)
            host_job_tick(item->job, &item->figures);
}

static void jobs_add_up(const struct host_meter *meter, struct host_edge *out)
{
    out->jobs_cpu_s = (struct reading){0, true};
    EACH (watched, meter->jobs, meter->job_count) {
        out->jobs_cpu_s.value += watched->figures.cpu_s.value;
        out->jobs_cpu_s.valid &= watched->figures.cpu_s.valid || !watched->job;
        out->jobs_unseen += !watched->figures.cpu_s.valid && !watched->job;
    }
}

static void read_host_pressure(const struct host_meter *meter, struct host_edge *out)
{
    for (int i = 0; i < HOST_RESOURCES; i++) {
        char bytes[512], path[64];
        snprintf(path, sizeof path, "/proc/pressure/%s", host_resource_names[i]);
        ssize_t length = sysfs_read(meter->sysroot, path, bytes, sizeof bytes);
        if (length > 0)
            host_pressure_parse(bytes, (size_t)length, &out->pressure[i]);
    }
}

static void jobs_sample(struct host_meter *meter, size_t whole)
{
    size_t living = 0;
    EACH (item, meter->jobs, meter->job_count)
        living += item->job != NULL;
    for (size_t i = 0; i < meter->job_count; i++) {
        struct watched *watched = &meter->jobs[i];
        if (!watched->job ||
            (living > FEW && i != whole && host_job_sample_cpu(watched->job, &watched->figures)))
            continue;
        host_job_sample(watched->job, &watched->figures);
    }
}

void host_meter_edge(struct host_meter *meter, struct host_edge *out)
{
    host_meter_edge_of(meter, SIZE_MAX, out);
}

void host_meter_edge_of(struct host_meter *meter, size_t job, struct host_edge *out)
{
    /* The counters first: their moment is the edge. */
    *out = (struct host_edge){.t_ns = clock_monotonic_ns()};
    host_meter_counters(meter);
    jobs_sample(meter, job);
    ssize_t length = sysfs_read(meter->sysroot, "/proc/stat", meter->stat, STAT_MAX);
    out->has_cpu = length > 0 && host_cpu_parse(meter->stat, (size_t)length, &out->cpu);
    jobs_add_up(meter, out);
    out->own_cpu_s = own_cpu_s(meter);
    clocks_read(out);
    read_host_pressure(meter, out);
}

const struct host_job_figures *host_meter_job(const struct host_meter *meter, size_t job)
{
    return job < meter->job_count ? &meter->jobs[job].figures : NULL;
}
