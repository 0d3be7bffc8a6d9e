/* Reads a memory snapshot and replays its trace. Prints "KEY VALUE" lines: bytes, events,
 * read_seconds, replay_seconds (both of processor time, the fastest of three), working_bytes (the
 * most that reading held beside the file), peak_reserved. */
#include "gpu_memory/allocator/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define ROUNDS 3

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double replay(const struct snapshot *snapshot, const struct program *program,
                     uint64_t *peak_reserved)
{
    double fastest = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        struct alloc_settings settings = conf_default();
        struct replay result;
        double began = processor_seconds();
        replay_run(snapshot, 0, program, &settings, MODEL_NO_CAP, 0, DRIVER_CHUNKS, &result);
        fastest = least(fastest, processor_seconds() - began);
        *peak_reserved = result.stats.reserved.peak;
    }
    return fastest;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct stat stat_of;
    double fastest = 1e9;
    if (argc != 2 || stat(argv[1], &stat_of) != 0) {
        fprintf(stderr, "usage: bench_memory SNAPSHOT.pickle\n");
        return 2;
    }
    struct snapshot snapshot;
    for (int round = 0; round < ROUNDS; round++) {
        double began = processor_seconds();
        if (!snapshot_load(argv[1], &snapshot, &err)) {
            fprintf(stderr, "bench_memory: %s\n", err.text);
            return 2;
        }
        fastest = least(fastest, processor_seconds() - began);
        if (round < ROUNDS - 1)
            snapshot_fini(&snapshot);
    }
    struct program program;
    uint64_t peak_reserved = 0;
    if (!program_build(&snapshot, 0, &program, &err)) {
        fprintf(stderr, "bench_memory: %s\n", err.text);
        return 2;
    }
    double replay_seconds = replay(&snapshot, &program, &peak_reserved);
    printf("bytes %lld\nevents %zu\n", (long long)stat_of.st_size, snapshot.devices[0].count);
    printf("read_seconds %.4f\nreplay_seconds %.4f\n", fastest, replay_seconds);
    printf("working_bytes %zu\npeak_reserved %" PRIu64 "\n", snapshot.read_memory_bytes,
           peak_reserved);
    program_fini(&program);
    snapshot_fini(&snapshot);
    return 0;
}
