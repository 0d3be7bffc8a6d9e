/* What libtare-cuda.so adds to an allocation and its free: a loop over a stand-in driver, whose own
 * work is next to nothing. usage: bench_preload plain|stream. Prints "nanoseconds N": of processor
 * time, for one allocation and its free, the fastest of several passes. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PASSES = 20, ROUNDS = 2000, HELD = 16 };

typedef int alloc_fn(uint64_t *, size_t, void *);
typedef int free_fn(uint64_t, void *);

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double pass(alloc_fn *alloc, free_fn *release)
{
    uint64_t held[HELD];
    double began = cpu_ns();
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < HELD; k++)
            if (alloc(&held[k], 2 << 20, NULL))
                return -1;
        for (int k = 0; k < HELD; k++)
            if (release(held[k], NULL))
                return -1;
    }
    return (cpu_ns() - began) / (ROUNDS * HELD);
}

/* Those of plain memory take no stream, and do not look at the argument. */
int main(int argc, char **argv)
{
    bool streams = argc > 1 && strcmp(argv[1], "stream") == 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    double best = -1;
    if (!driver || ((int (*)(unsigned))dlsym(driver, "cuInit"))(0) != 0 ||
        ((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0) != 0 ||
        ((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context) != 0)
        return 1;
    alloc_fn *alloc = (alloc_fn *)dlsym(driver, streams ? "cuMemAllocAsync" : "cuMemAlloc_v2");
    free_fn *release = (free_fn *)dlsym(driver, streams ? "cuMemFreeAsync" : "cuMemFree_v2");
    for (int i = 0; i < PASSES; i++) {
        double took = pass(alloc, release);
        if (took < 0)
            return 1;
        if (best < 0 || took < best)
            best = took;
    }
    printf("nanoseconds %.1f\n", best);
    return 0;
}
