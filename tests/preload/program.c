/* A program that uses GPU memory: program HOW WHAT [NUMBER]. HOW it reaches the driver: link (program_linked
 * only), dlsym, default (dlsym without a handle), next, dlvsym, proc (cuGetProcAddress), proc2 (its second form,
 * which is itself asked for). WHAT it does: steps of this file, named below. At its end it writes "asked A peak P"
 * for each GPU: what the driver itself counted. */
#include "cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef CUresult get_fn(const char *, void **, int, uint64_t);
typedef CUresult get2_fn(const char *, void **, int, uint64_t, int *);

static struct {
    CUresult (*init)(unsigned);
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*destroy)(CUcontext);
    CUresult (*set)(CUcontext);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUresult (*free)(CUdeviceptr);
    CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream);
    CUresult (*free_async)(CUdeviceptr, CUstream);
    CUresult (*info)(size_t *, size_t *);
    CUresult (*total)(size_t *, CUdevice);
} cu;

static const char *how;
static void *library;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "failed: %s\n", what);
    _exit(1);
}

/* exported: the symbol; base and version: as cuGetProcAddress knows it. */
static void *reach(const char *exported, const char *base, int version)
{
    void *out = NULL;
    uint64_t per_thread = getenv("PER_THREAD") ? 2 : 0;
    if (strcmp(how, "dlsym") == 0)
        out = dlsym(library, exported);
    else if (strcmp(how, "default") == 0)
        out = dlsym(RTLD_DEFAULT, exported);
    else if (strcmp(how, "next") == 0)
        out = dlsym(RTLD_NEXT, exported);
    else if (strcmp(how, "proc") == 0) {
        get_fn *get = (get_fn *)dlsym(library, "cuGetProcAddress");
        need(get(base, &out, version, per_thread) == 0, base);
    } else if (strcmp(how, "proc2") == 0) {
        get2_fn *get = (get2_fn *)dlsym(library, "cuGetProcAddress_v2"), *again = NULL;
        int status = 7;
        need(get("cuGetProcAddress", (void **)&again, 12000, 0, &status) == 0 && status == 0, "cuGetProcAddress");
        need(again(base, &out, version, per_thread, &status) == 0 && status == 0, base);
    }
    need(out != NULL, exported);
    return out;
}

static void reach_all(void)
{
    *(void **)&cu.init = reach("cuInit", "cuInit", 12000);
    *(void **)&cu.create = reach("cuCtxCreate_v2", "cuCtxCreate", 12000);
    *(void **)&cu.destroy = reach("cuCtxDestroy_v2", "cuCtxDestroy", 12000);
    *(void **)&cu.set = reach("cuCtxSetCurrent", "cuCtxSetCurrent", 12000);
    *(void **)&cu.retain = reach("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 12000);
    *(void **)&cu.alloc = reach("cuMemAlloc_v2", "cuMemAlloc", 12000);
    *(void **)&cu.free = reach("cuMemFree_v2", "cuMemFree", 12000);
    *(void **)&cu.alloc_async = reach("cuMemAllocAsync", "cuMemAllocAsync", 12000);
    *(void **)&cu.free_async = reach("cuMemFreeAsync", "cuMemFreeAsync", 12000);
    *(void **)&cu.info = reach("cuMemGetInfo_v2", "cuMemGetInfo", 12000);
    *(void **)&cu.total = reach("cuDeviceTotalMem_v2", "cuDeviceTotalMem", 12000);
}

static CUcontext use_gpu(int gpu)
{
    CUcontext context = NULL;
    need(cu.init(0) == 0 && cu.retain(&context, gpu) == 0 && cu.set(context) == 0, "the context");
    return context;
}

/* 3 000 000 + 1 000 live at the end; 3 000 000 + 7 777 777 + 1 000 at the peak. */
static void plain(void)
{
    CUdeviceptr a = 0, b = 0, c = 0;
    use_gpu(0);
    need(cu.alloc(&a, 3000000) == 0 && cu.alloc(&b, 7777777) == 0 && cu.alloc(&c, 1000) == 0, "alloc");
    need(cu.free(b) == 0, "free");
    need(cu.free(b) != 0, "a second free is refused"); /* and counts nothing */
}

/* 5 000 live on GPU 1 at the end, 3 000 000 at its peak; on GPU 0 none, 4 096 at its peak: a context took it
 * along. */
static void async(void)
{
    CUdeviceptr a, b, c;
    CUcontext context;
    use_gpu(1);
    need(cu.alloc_async(&a, 2995000, NULL) == 0 && cu.alloc_async(&b, 5000, NULL) == 0, "alloc");
    need(cu.free_async(a, NULL) == 0, "free");
    need(cu.create(&context, 0, 0) == 0 && cu.alloc(&c, 4096) == 0 && cu.destroy(context) == 0, "context");
}

enum { THREADS = 8, SLOTS = 32 };

static void *hammer(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    long rounds = atol(getenv("ROUNDS") ? getenv("ROUNDS") : "20000");
    CUdeviceptr held[SLOTS] = {0};
    use_gpu((int)(seed % 2));
    for (long i = 0; i < rounds; i++) {
        size_t slot = (size_t)rand_r(&seed) % SLOTS, size = 1 + (size_t)rand_r(&seed) % 3000000;
        if (held[slot])
            need(cu.free(held[slot]) == 0, "free");
        held[slot] = 0;
        if (i % 3)
            need(cu.alloc(&held[slot], size) == 0, "alloc");
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, hammer, (void *)(i + 1));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* As much as there is, in ever smaller pieces. */
static uint64_t fill(void)
{
    uint64_t sum = 0, pointer;
    for (size_t piece = (size_t)256 << 20; piece >= 512; piece /= 2)
        for (;;) {
            CUresult result = cu.alloc(&pointer, piece);
            if (result) {
                need(result == OUT_OF_MEMORY, "out of memory is the error");
                break;
            }
            sum += piece;
        }
    return sum;
}

static void *fill_thread(void *unused)
{
    (void)unused;
    use_gpu(0);
    fill();
    return NULL;
}

static void show_info(void)
{
    size_t free_bytes = 0, total = 0, device = 0;
    need(cu.info(&free_bytes, &total) == 0 && cu.total(&device, 0) == 0, "info");
    printf("free %zu total %zu device %zu\n", free_bytes, total, device);
}

static void full(void)
{
    use_gpu(0);
    show_info();
    printf("got %llu\n", (unsigned long long)fill());
    show_info();
}

/* The same of the current pool, with a break in between in which half is freed and had again. */
static void full_async(void)
{
    enum { PIECES = 4096 };
    static CUdeviceptr held[PIECES];
    size_t count = 0;
    use_gpu(0);
    for (int round = 0; round < 2; round++) {
        for (size_t piece = (size_t)100 << 20; piece >= 1 << 20; piece /= 2)
            while (count < PIECES) {
                CUresult result = cu.alloc_async(&held[count], piece, NULL);
                need(result == 0 || result == OUT_OF_MEMORY, "out of memory is the error");
                if (result)
                    break;
                count++;
            }
        for (size_t i = 0; round == 0 && i < count; i += 2)
            need(cu.free_async(held[i], NULL) == 0, "free");
    }
    show_info();
}

static void full_threads(void)
{
    pthread_t all[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, fill_thread, NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* Each child has the GPU to itself when the one before it is gone; the parent uses none. */
static void children(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            use_gpu(0);
            printf("got %llu\n", (unsigned long long)fill());
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

/* All at once. */
static void crowd(void)
{
    enum { CHILDREN = 4 };
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            use_gpu(0);
            fill();
            sleep(1);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

/* What was allocated before is the parent's alone; the child has none of it, whatever it frees. */
static void forked(void)
{
    CUdeviceptr a;
    use_gpu(0);
    need(cu.alloc(&a, 123456) == 0, "alloc");
    pid_t child = fork();
    if (child == 0) {
        need(cu.free(a) != 0, "a child cannot free it");
        _exit(0);
    }
    int status;
    need(waitpid(child, &status, 0) == child && status == 0, "child");
}

/* Another process takes this one's place: what was allocated is free. */
static void becomes(char *self)
{
    CUdeviceptr a;
    use_gpu(0);
    need(cu.alloc(&a, (size_t)700 << 20) == 0, "alloc");
    execl(self, self, how, "full", NULL);
    _exit(1);
}

static void show_count(void)
{
    void (*count)(int, uint64_t *, uint64_t *) = NULL;
    *(void **)&count = dlsym(library, "fakeCudaCount");
    for (int gpu = 0; gpu < 2; gpu++) {
        uint64_t asked, peak;
        count(gpu, &asked, &peak);
        printf("gpu %d asked %llu peak %llu\n", gpu, (unsigned long long)asked, (unsigned long long)peak);
    }
}

#ifdef LINKED
CUresult cuInit(unsigned flags);
CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
CUresult cuDeviceTotalMem_v2(size_t *total, CUdevice device);

static void linked(void)
{
    cu.init = cuInit;
    cu.create = cuCtxCreate_v2;
    cu.destroy = cuCtxDestroy_v2;
    cu.set = cuCtxSetCurrent;
    cu.retain = cuDevicePrimaryCtxRetain;
    cu.alloc = cuMemAlloc_v2;
    cu.free = cuMemFree_v2;
    cu.alloc_async = cuMemAllocAsync;
    cu.free_async = cuMemFreeAsync;
    cu.info = cuMemGetInfo_v2;
    cu.total = cuDeviceTotalMem_v2;
}
#else
static void linked(void)
{
    need(false, "this one is not linked");
}
#endif

static const struct {
    const char *name;
    void (*run)(void);
} steps[] = {
    {"plain", plain},   {"async", async},       {"threads", threads},       {"full", full},
    {"crowd", crowd},   {"children", children}, {"full_async", full_async}, {"full_threads", full_threads},
    {"forked", forked},
};

int main(int count, char **arguments)
{
    need(count >= 3, "usage: program HOW WHAT");
    how = arguments[1];
    library = dlopen("libcuda.so.1", RTLD_NOW | (strcmp(how, "dlsym") == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
    need(library != NULL, "libcuda.so.1");
    if (strcmp(how, "link") == 0)
        linked();
    else
        reach_all();
    if (strcmp(arguments[2], "exec") == 0)
        becomes(arguments[0]);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, arguments[2]) == 0)
            steps[i].run();
    show_count();
    return 0;
}
