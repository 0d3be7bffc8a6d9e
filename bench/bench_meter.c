/* Runs the meter of one GPU as a run does for a training: an edge at its begin and its end, a tick
 * a second. Prints "KEY VALUE" lines: samples (of the power trace), ticks, edges, seconds, cpu_us
 * (of the meter process, its start not counted), client_cpu_us (of this process); of the meter's
 * memory peak_kib, and at the end rss_kib, pss_kib (shared pages by their share), private_kib and
 * private_dirty_kib; edge_ms (how narrowly the counter's update was found, the mean), gaps. */
#include "base/clock.h"
#include "machine/sensors/meter.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct counts {
    uint64_t ticks, edges, gaps;
    int64_t edge_ns;
};

/* Time on a CPU as the scheduler counts it; -1: the kernel does not say. */
static int64_t cpu_ns(pid_t pid)
{
    char path[64];
    int64_t ns = -1;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%" SCNd64, &ns) != 1)
        ns = -1;
    if (file)
        fclose(file);
    return ns;
}

/* The figure behind the key in /proc/PID/NAME; -1: the kernel does not say. */
static long memory_kib(pid_t pid, const char *name, const char *key)
{
    char path[64], line[256];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

static void print_memory(pid_t pid)
{
    static const char *const rollup = "smaps_rollup";
    long dirty_kib = memory_kib(pid, rollup, "Private_Dirty:");
    printf("peak_kib %ld\n", memory_kib(pid, "status", "VmHWM:"));
    printf("rss_kib %ld\n", memory_kib(pid, rollup, "Rss:"));
    printf("pss_kib %ld\n", memory_kib(pid, rollup, "Pss:"));
    printf("private_kib %ld\n", memory_kib(pid, rollup, "Private_Clean:") + dirty_kib);
    printf("private_dirty_kib %ld\n", dirty_kib);
}

static int64_t own_cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void count_gap(void *data, const struct meter_gap *gap)
{
    (void)gap;
    ((struct counts *)data)->gaps++;
}

static void take(struct meter *meter, struct counts *counts)
{
    static struct meter_response response;
    while (meter_take(meter, &response)) {
        counts->ticks += response.kind == METER_TICK && response.status == METER_OK;
        if (response.kind == METER_EDGE && response.counter_count > 1) {
            const struct counter_reading *last = &response.counter[response.counter_count - 1];
            counts->edge_ns += last->after_ns - last[-1].before_ns;
            counts->edges++;
        }
    }
}

/* Takes what comes, until then. */
static void listen_until(struct meter *meter, int64_t until_ns, struct counts *counts)
{
    for (int64_t rest_ns; (rest_ns = until_ns - clock_monotonic_ns()) > 0;) {
        poll(&(struct pollfd){.fd = meter_fd(meter), .events = POLLIN}, 1,
             (int)(rest_ns / NS_PER_MS) + 1);
        take(meter, counts);
    }
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct counts counts = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: bench_meter PROGRAM LIBRARY DEVICE SECONDS      (LIBRARY \"\": the "
                        "driver's)\n");
        return 2;
    }
    struct meter *meter =
        meter_start(&(struct meter_options){.program = argv[1],
                                            .library = argv[2][0] ? argv[2] : NULL,
                                            .device = argv[3],
                                            .gap = count_gap,
                                            .data = &counts},
                    &err);
    if (!meter) {
        fprintf(stderr, "bench_meter: %s\n", err.text);
        return 2;
    }
    while (meter_state(meter) == METER_STARTING || meter_state(meter) == METER_DOWN)
        listen_until(meter, clock_monotonic_ns() + 20 * NS_PER_MS, &counts);
    if (meter_state(meter) != METER_READY) {
        fprintf(stderr, "bench_meter: %s\n", meter_reason(meter));
        meter_free(meter);
        return 2;
    }
    /* Before the training, too, there is a look at the idle GPU of about so long. */
    listen_until(meter, clock_monotonic_ns() + 2 * NS_PER_S, &counts);
    int64_t began_ns = clock_monotonic_ns(), cpu = cpu_ns(meter_pid(meter)), own_us = own_cpu_us();
    size_t before = meter_series(meter)->power_count;
    int seconds = atoi(argv[4]);
    for (int i = 1; i <= seconds; i++) {
        listen_until(meter, began_ns + i * NS_PER_S, &counts);
        meter_request(meter, METER_TICK, (uint64_t)i);
        if (i == 1 || i == seconds)
            meter_request(meter, METER_EDGE, (uint64_t)i);
    }
    listen_until(meter, clock_monotonic_ns() + NS_PER_S / 2, &counts);
    cpu = cpu_ns(meter_pid(meter)) - cpu;
    printf("samples %zu\n", meter_series(meter)->power_count - before);
    printf("ticks %" PRIu64 "\n", counts.ticks);
    printf("edges %" PRIu64 "\n", counts.edges);
    printf("seconds %.3f\n", (double)(clock_monotonic_ns() - began_ns) / (double)NS_PER_S);
    printf("cpu_us %.1f\n", (double)cpu / 1000);
    printf("client_cpu_us %" PRId64 "\n", own_cpu_us() - own_us);
    print_memory(meter_pid(meter));
    printf("edge_ms %.3f\n",
           counts.edges ? (double)counts.edge_ns / (double)counts.edges / 1e6 : -1);
    printf("gaps %" PRIu64 "\n", counts.gaps);
    meter_free(meter);
    return 0;
}
