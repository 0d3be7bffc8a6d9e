/* host: the host's side of the meter. Readings at the edges of windows and once a second between
 * them: energy of the CPU packages and DRAM, what the machine's CPUs did and for whom, pressure,
 * and what each job uses. A library: nothing here can hang as a driver can. */
#ifndef TARE_MACHINE_SENSORS_HOST_H
#define TARE_MACHINE_SENSORS_HOST_H

#include "base/text.h"
#include "machine/sensors/host_job.h"
#include "machine/sensors/host_parse.h"
#include "machine/sensors/rapl.h"

struct host_meter;

/* Opens the counters, without proving them (host_meter_prove). Under sudo: before root's rights are
 * given up. Never fails. */
struct host_meter *host_meter_new(const struct rapl_places *places);
void host_meter_free(struct host_meter *meter);

/* As rapl_prove. Left out, counters that stand still become unavailable a second after their first
 * reading. */
void host_meter_prove(struct host_meter *meter);
const struct rapl *host_meter_rapl(const struct host_meter *meter);
const char *host_meter_sysroot(const struct host_meter *meter);

/* Readings of a domain's counter, one a second and edge, for a window's energy; NULL beyond the
 * last domain. forget: what was read before that moment is not needed any more, except the last of
 * it. */
const struct series *host_meter_series(const struct host_meter *meter, size_t domain);
void host_meter_forget(struct host_meter *meter, int64_t before_ns);

/* Where several measure at once: a reader of those series, for which what was read since then is
 * kept, whatever the others forget (INT64_MAX: it needs nothing, as at first). */
size_t host_meter_reader(struct host_meter *meter);
void host_meter_keep(struct host_meter *meter, size_t reader, int64_t since_ns);
size_t host_meter_readers(const struct host_meter *meter);

/* The job is watched for this reader; and the CPU time of all such jobs, those that ended too, as
 * last seen (out: one a reader, added to). */
void host_meter_watch_for(struct host_meter *meter, size_t job, size_t reader);
void host_meter_readers_cpu(const struct host_meter *meter, double *out_s);

/* Watches this job: its number, from 0. end: it is proven gone; usage is what the kernel counted
 * for it in all (NULL: the caller does not know): what came and went between two samples is in
 * it. */
size_t host_meter_watch(struct host_meter *meter, const struct job_identity *identity);
void host_meter_end(struct host_meter *meter, size_t job, const struct job_usage *usage);

/* The same of a process that is nobody's job, and its descendants (host_job_new_tree). */
size_t host_meter_watch_tree(struct host_meter *meter, pid_t pid, uint64_t start_time);

/* A process of our own beside this one (meters, guardian): its CPU time is not others'. */
void host_meter_own(struct host_meter *meter, pid_t pid);

/* The CPU time of processes that are not this one's descendants, exact, as the kernel accounts it
 * to each process: what a stretch too short for /proc/stat's clock ticks is judged by. begin: they
 * are looked at. seconds: what they used since then, as far as they still live; absent where
 * processes of others are hidden (another pid namespace, hidepid). Costs some microseconds a
 * process. */
struct host_others;

/* Processes of one name and user, never their arguments. */
struct host_other {
    char command[64], user[64];
    pid_t pid; /* of the busiest of them */
    size_t processes;
    double cpu_s;
};

/* Everything at one moment; sums are since boot, or since the beginning of what was watched. */
struct host_edge {
    int64_t t_ns;         /* CLOCK_MONOTONIC */
    int64_t suspended_ns; /* the machine slept, since boot */
    /* the wall clock less CLOCK_BOOTTIME: sleep does not move it, only who sets the clock */
    int64_t wall_ns;
    struct host_cpu cpu;
    bool has_cpu;
    struct reading others_s;   /* host_others_s, of the last edge where it is read */
    struct host_other busiest; /* host_others_busiest of the same; no processes: unknown */
    /* of all jobs, those that ended too; absent when a living one cannot be seen */
    struct reading jobs_cpu_s;
    /* ended without having been seen: a window in which this grew knows nothing of others */
    size_t jobs_unseen;
    double own_cpu_s;
    struct host_pressure pressure[HOST_RESOURCES];
};
void host_meter_edge(struct host_meter *meter, struct host_edge *out);

/* The same, an edge of this job. Where many live, all of its figures are as of now, and of the
 * others only their CPU time: as many edges come as there are jobs. */
void host_meter_edge_of(struct host_meter *meter, size_t job, struct host_edge *out);

/* The counters alone: some microseconds. */
void host_meter_counters(struct host_meter *meter);

/* Once a second: readings of the counters (so that no wrap is missed) and of every job, as often as
 * that is cheap (host_job_tick). */
void host_meter_tick(struct host_meter *meter);
int64_t host_meter_ticked_ns(const struct host_meter *meter); /* when the last one was; 0: never */

/* What the last edge or tick saw of a job; for one that has ended, its last. */
const struct host_job_figures *host_meter_job(const struct host_meter *meter, size_t job);

/* Between two edges. Shares are of all the CPU time there was: of every CPU, busy or not. */
struct host_window {
    double duration_s;
    double suspended_s;
    /* by so much the wall clock was set, forward or back; 0: not, or only slewed */
    double clock_set_s;
    struct reading busy_share; /* of all processes */
    struct reading jobs_share;
    struct reading jobs_cpu_s; /* the same in seconds */
    struct reading own_share;  /* of tare itself */
    /* of processes that are neither the jobs' nor tare's; not below 0 */
    struct reading others_share;
    struct reading stolen_share; /* of the hypervisor's other guests */
    unsigned cpus;
    /* exact, of the others that still lived at its end: at least so much */
    struct reading seen_share;
    struct host_other busiest; /* of them */
    struct {
        struct reading some_share, full_share; /* of the time, in which some (all) waited for it */
    } pressure[HOST_RESOURCES];
    struct reading waited_share[HOST_RESOURCES]; /* host_window_set_job */
    /* why a share of those is not known, a clause; NULL: all are */
    const char *waited_unknown;
};

/* Whether a job was delayed: part of it waited for a CPU, memory or disks for more than 5 % of the
 * window's time. HOST_DELAY_UNKNOWN: waited_unknown says why. */
enum host_delay { HOST_PUNCTUAL, HOST_DELAYED, HOST_DELAY_UNKNOWN };

/* Whether others took more than 5 % of the CPU time (other processes and other guests together) and
 * the job was delayed, which a job that is known not to have waited was not; the text says so, or
 * why it is not known. Of a second and more the machine's clock ticks tell it; a shorter window has
 * too few of them to be sure, and is judged by what each other process used, where it is seen. */
enum host_use { HOST_ALONE, HOST_SHARED, HOST_UNKNOWN };

#endif
