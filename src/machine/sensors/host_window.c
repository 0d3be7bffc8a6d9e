#include "machine/sensors/host_window.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/sensors/host_others.h"
#include "machine/sensors/sysfs.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double OTHERS_MAX_SHARE = 0.05;

/* Less of its own time than a job waited disturbs no measurement. */
static const double DELAYED_SHARE = 0.05;

/* So much of a job's CPU time, or of the window's time, may be of threads that were not seen. */
static const double MISSED_OF_JOB = 0.05, MISSED_OF_TIME = 0.01;

/* Before a run less is not worth a line. */
static const double BUSY_SHARE = 0.25;

/* From here on clock ticks are enough to judge by. */
static const double TICKS_MIN_S = 1.0;

/* Of a short window: less than this, of processes that only look in, disturbs nobody. */
static const double OTHERS_LEAST_S = 0.005;

/* A clock that is slewed gains or loses 500 ppm at most; the clocks are read one after the other,
 * maybe with a pause in between. */
static const double SET_MIN_S = 0.1, SLEW_MAX = 0.001;

static struct reading share_of_whole(double part_s, double whole_s)
{
    double value = part_s / whole_s;
    return (struct reading){value > 0 ? value : 0, whole_s > 0};
}

static struct reading between(struct reading from, struct reading to, double whole_s)
{
    if (!from.valid || !to.valid)
        return (struct reading){0};
    return share_of_whole(to.value - from.value, whole_s);
}

static double ticks_s(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static void cpu_between(const struct host_edge *from, const struct host_edge *to,
                        struct host_window *out)
{
    unsigned cpus = from->cpu.cpus > to->cpu.cpus ? from->cpu.cpus : to->cpu.cpus;
    double whole_s = out->duration_s * cpus;
    double busy_s = ticks_s(from->cpu.busy_ticks, to->cpu.busy_ticks);
    double own_s = to->own_cpu_s - from->own_cpu_s;
    if (!from->has_cpu || !to->has_cpu)
        return;
    out->cpus = cpus;
    out->busy_share = share_of_whole(busy_s, whole_s);
    out->stolen_share =
        share_of_whole(ticks_s(from->cpu.stolen_ticks, to->cpu.stolen_ticks), whole_s);
    out->own_share = share_of_whole(own_s, whole_s);
    if (from->jobs_unseen == to->jobs_unseen)
        out->jobs_share = between(from->jobs_cpu_s, to->jobs_cpu_s, whole_s);
    out->jobs_cpu_s =
        (struct reading){to->jobs_cpu_s.value - from->jobs_cpu_s.value, out->jobs_share.valid};
    if (out->jobs_share.valid)
        out->others_share = share_of_whole(
            busy_s - own_s - (to->jobs_cpu_s.value - from->jobs_cpu_s.value), whole_s);
}

static unsigned online_cpus(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

void host_window_between(const struct host_edge *from, const struct host_edge *to,
                         struct host_window *out)
{
    *out = (struct host_window){0};
    if (to->t_ns <= from->t_ns)
        return;
    out->duration_s = (double)(to->t_ns - from->t_ns) / 1e9;
    out->suspended_s = (double)(to->suspended_ns - from->suspended_ns) / 1e9;
    /* The two clocks are read one after the other. */
    if (out->suspended_s < 0.001)
        out->suspended_s = 0;
    out->clock_set_s = (double)(to->wall_ns - from->wall_ns) / 1e9;
    if (fabs(out->clock_set_s) < SET_MIN_S + SLEW_MAX * (out->duration_s + out->suspended_s))
        out->clock_set_s = 0;
    cpu_between(from, to, out);
    if (out->cpus == 0)
        out->cpus = online_cpus();
    if (to->others_s.valid)
        out->seen_share = share_of_whole(to->others_s.value, out->duration_s * out->cpus);
    out->busiest = to->busiest;
    for (int i = 0; i < HOST_RESOURCES; i++) {
        const struct host_pressure *before = &from->pressure[i], *after = &to->pressure[i];
        out->pressure[i].some_share = between(before->some_s, after->some_s, out->duration_s);
        out->pressure[i].full_share = between(before->full_s, after->full_s, out->duration_s);
    }
}

/* How far off a count of ticks may be (95 %): each of its fields is rounded, and a tick is charged
 * whole to whoever runs when it comes. */
static double ticks_error_share(const struct host_window *window)
{
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK), whole_s = window->duration_s * window->cpus;
    return whole_s > 0 ? tick_s * (3 + sqrt(whole_s / tick_s)) / whole_s : INFINITY;
}

/* Threads that ended between two samples have little of the job's CPU time, or of the window's. */
static bool has_all_threads(const struct host_window *window, const struct host_job_figures *job)
{
    double missing_s = job->cpu_s.value - job->threads_run_s.value;
    return job->cpu_s.valid && job->threads_run_s.valid &&
           missing_s <= fmax(MISSED_OF_JOB * job->cpu_s.value, MISSED_OF_TIME * window->duration_s);
}

/* "some" of the machine is at least that of each job. What it can say without PSI is nothing: then
 * disks stay unknown, while memory that is short is seen by nothing at all. */
static void set_bound(struct host_window *window, enum host_resource resource, double *room_share)
{
    struct reading most = window->pressure[resource].some_share;
    if (most.valid && most.value <= *room_share)
        window->waited_share[resource] = most;
    else if (!most.valid && resource == HOST_MEMORY)
        window->waited_share[resource] = (struct reading){0, true};
    *room_share -= window->waited_share[resource].value;
}

static void set_threads(struct host_window *window, const struct host_job_figures *job)
{
    double run_s = job->threads_run_s.value, waited_s = job->threads_waited_s.value;
    struct reading cpu = share_of_whole(waited_s, fmax(window->duration_s, run_s + waited_s));
    /* Missing figures can only add to it. */
    if (!has_all_threads(window, job) && cpu.value <= DELAYED_SHARE) {
        window->waited_unknown = "it has no cgroup v2 of its own with pressure files, and threads "
                                 "with more than 5 % of its CPU time ended unseen";
        return;
    }
    window->waited_share[HOST_CPU] = cpu;
    double room_share = DELAYED_SHARE - cpu.value;
    set_bound(window, HOST_MEMORY, &room_share);
    set_bound(window, HOST_IO, &room_share);
    if (!window->waited_share[HOST_MEMORY].valid || !window->waited_share[HOST_IO].valid)
        window->waited_unknown =
            window->pressure[HOST_IO].some_share.valid
                ? "programs waited for memory or disks, and it has no cgroup v2 of its own with "
                  "pressure files"
                : "it has no cgroup v2 of its own with pressure files, and the machine has no "
                  "/proc/pressure";
}

void host_window_set_job(struct host_window *window, const struct host_job_figures *job)
{
    window->waited_unknown = NULL;
    for (int i = 0; i < HOST_RESOURCES; i++) {
        if (job->waited_s[i].valid)
            window->waited_share[i] = share_of_whole(job->waited_s[i].value, window->duration_s);
        else
            window->waited_unknown = "it has no cgroup v2 of its own with pressure files";
    }
    if (window->waited_unknown && !job->waited_s[HOST_CPU].valid && job->threads_run_s.valid)
        set_threads(window, job);
}

static double waited_share(const struct host_window *window)
{
    double sum = 0;
    EACH_OF (waited, window->waited_share)
        sum += waited->valid ? waited->value : 0;
    return sum;
}

enum host_delay host_window_delay(const struct host_window *window)
{
    if (waited_share(window) > DELAYED_SHARE)
        return HOST_DELAYED;
    EACH_OF (waited, window->waited_share)
        if (!waited->valid)
            return HOST_DELAY_UNKNOWN;
    return HOST_PUNCTUAL;
}

const char *host_window_unknown(const struct host_window *window)
{
    return window->waited_unknown ? window->waited_unknown : "it was not watched";
}

/* The share of the busiest is of the machine's CPU time, as that of all others is. */
static void add_busiest(const struct host_window *window, struct text *out)
{
    const struct host_other *busiest = &window->busiest;
    if (!busiest->processes || !(window->duration_s > 0))
        return;
    text_addf(out, ": %s (pid %d", busiest->command, (int)busiest->pid);
    if (busiest->processes > 1)
        text_addf(out, " and %zu more", busiest->processes - 1);
    text_addf(out, ", user %s) %.0f %%", busiest->user,
              100 * busiest->cpu_s / (window->duration_s * window->cpus));
}

static enum host_use describe_sharing(const struct host_window *window, double others,
                                      double stolen, struct text *out)
{
    enum host_delay delay = host_window_delay(window);
    if (delay == HOST_PUNCTUAL)
        return HOST_ALONE;
    /* Ticks of a short window may add up to more than its time. */
    text_addf(out, "other processes used %.1f %%", 100 * fmin(others, 1 - fmin(stolen, 1)));
    if (stolen > 0)
        text_addf(out, " and other guests of the hypervisor %.1f %%", 100 * stolen);
    text_add(out, " of the machine's CPU time");
    add_busiest(window, out);
    if (delay == HOST_DELAYED) {
        text_addf(out, "; the job waited %.0f %% of its time for CPUs, memory or disks",
                  100 * waited_share(window));
        return HOST_SHARED;
    }
    text_addf(out, "; whether the job waited was not checked: %s", host_window_unknown(window));
    return HOST_UNKNOWN;
}

enum host_use host_window_use(const struct host_window *window, struct text *out)
{
    bool known = window->others_share.valid, seen = window->seen_share.valid;
    bool is_short = window->duration_s < TICKS_MIN_S;
    double others = known ? window->others_share.value : 0,
           seen_share = seen ? window->seen_share.value : 0;
    double stolen = window->stolen_share.valid ? window->stolen_share.value : 0;
    double error = is_short ? ticks_error_share(window) : 0;
    double least =
        is_short ? fmax(OTHERS_MAX_SHARE, OTHERS_LEAST_S / (window->duration_s * window->cpus))
                 : OTHERS_MAX_SHARE;
    if (known && others + stolen - error > OTHERS_MAX_SHARE)
        return describe_sharing(window, others, stolen, out);
    if (seen && (is_short || !known) && seen_share > least)
        return describe_sharing(window, seen_share, 0, out);
    if (is_short ? seen || (known && others + stolen + error <= OTHERS_MAX_SHARE) : known)
        return HOST_ALONE;
    enum host_delay delay = host_window_delay(window);
    if (delay == HOST_PUNCTUAL)
        return HOST_ALONE;
    if (delay == HOST_DELAYED)
        text_addf(out, "the job waited %.0f %% of its time for CPUs, memory or disks; ",
                  100 * waited_share(window));
    if (is_short)
        text_addf(out,
                  "whether others used the CPUs was not checked: %.2g s are too short for the "
                  "machine's counters of CPU "
                  "time, and not all of its processes are seen (/proc of another pid namespace, or "
                  "hidepid)",
                  window->duration_s);
    else
        text_addf(out, "whether others used the CPUs was not checked: %s",
                  window->busy_share.valid ? "what the job itself used is not known"
                                           : "/proc/stat cannot be read");
    return HOST_UNKNOWN;
}

/* The fourth field of /proc/loadavg, "3/512": so many run or are ready to, this thread among
 * them. */
static bool do_others_run(const char *sysroot)
{
    char bytes[128];
    unsigned running = 0;
    return sysfs_read(sysroot, "/proc/loadavg", bytes, sizeof bytes) > 0 &&
           sscanf(bytes, "%*s %*s %*s %u/", &running) == 1 && running > 1;
}

bool host_is_busy(const char *sysroot, struct text *out)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct host_window window = {.cpus = online_cpus()};
    if (!do_others_run(sysroot))
        return false;
    struct host_others *others = host_others_new(sysroot);
    int64_t begin_ns = clock_monotonic_ns();
    host_others_begin(others);
    nanosleep(&pause, NULL);
    window.seen_share = host_others_s(others);
    window.duration_s = ns_to_s(clock_monotonic_ns() - begin_ns);
    host_others_busiest(others, &window.busiest);
    host_others_free(others);
    double used_share = window.seen_share.value / (window.duration_s * window.cpus);
    if (!window.seen_share.valid || used_share < BUSY_SHARE)
        return false;
    text_addf(out, "the machine is busy: other programs use %.0f %% of its CPUs",
              fmin(100 * used_share, 100));
    add_busiest(&window, out);
    text_add(out, "; experiments that wait for them will be suspect");
    return true;
}
