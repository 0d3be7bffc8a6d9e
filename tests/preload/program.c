/* A program that uses GPU memory: program HOW WHAT [NUMBER]. HOW it reaches the driver: link
 * (program_linked only), dlsym, default (dlsym without a handle), next, dlvsym, proc
 * (cuGetProcAddress), proc2 (its second form, which is itself asked for). WHAT it does: steps of
 * this file, named below. At its end it writes "asked A peak P" for each GPU: what the driver
 * itself counted. */
#include "cuda.h"

#include "base/gpu_ledger.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
        need(get("cuGetProcAddress", (void **)&again, 12000, 0, &status) == 0 && status == 0,
             "cuGetProcAddress");
        need(again(base, &out, version, per_thread, &status) == 0 && status == 0, base);
    }
    need(out != NULL, exported);
    return out;
}

static void reach_all(void)
{
    *(void **)&cu.init = reach("cuInit", "cuInit", 12000);
    *(void **)&cu.create = reach("cuCtxCreate_v2", "cuCtxCreate", 11000);
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
    need(cu.alloc(&a, 3000000) == 0 && cu.alloc(&b, 7777777) == 0 && cu.alloc(&c, 1000) == 0,
         "alloc");
    need(cu.free(b) == 0, "free");
    need(cu.free(b) != 0, "a second free is refused"); /* and counts nothing */
}

/* 5 000 live on GPU 1 at the end, 3 000 000 at its peak; on GPU 0 none, 4 096 at its peak: a
 * context took it along. */
static void async(void)
{
    CUdeviceptr a, b, c;
    CUcontext context;
    use_gpu(1);
    need(cu.alloc_async(&a, 2995000, NULL) == 0 && cu.alloc_async(&b, 5000, NULL) == 0, "alloc");
    need(cu.free_async(a, NULL) == 0, "free");
    need(cu.create(&context, 0, 0) == 0 && cu.alloc(&c, 4096) == 0 && cu.destroy(context) == 0,
         "context");
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

/* The table in shared memory, where it is mapped in this process. */
static struct gpu_ledger *find_table(void)
{
    char line[512];
    unsigned long start = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    need(maps != NULL, "maps");
    while (!start && fgets(line, sizeof line, maps))
        if (strstr(line, GPU_LEDGER_NAME))
            start = strtoul(line, NULL, 16);
    fclose(maps);
    need(start != 0, "the table");
    return (struct gpu_ledger *)start;
}

/* Somebody has written the largest figures into the table: what is added to them does not begin
 * anew at 0. */
static void written(void)
{
    CUdeviceptr a = 0;
    use_gpu(0);
    need(cu.alloc(&a, 4096) == 0 && cu.free(a) == 0, "alloc");
    struct gpu_ledger_gpu *row = &find_table()->gpus[0];
    row->live = row->held = row->context = row->refused = UINT64_MAX - 100;
    need(cu.alloc(&a, 3000000) == 0, "alloc");
    need(row->live == UINT64_MAX && row->live_peak == UINT64_MAX, "live stays at the largest");
    need(row->held == UINT64_MAX && row->held_peak == UINT64_MAX, "so does held");
    need(row->footprint_peak == UINT64_MAX, "and their sum with the contexts");
    need(cu.free(a) == 0, "free");
    need(row->live == UINT64_MAX - 3000000, "what is subtracted is what the process had");
    row->live = row->held = 100;
    need(cu.alloc(&a, 3000000) == 0, "alloc");
    row->live = row->held = 100;
    need(cu.free(a) == 0 && row->live == 0 && row->held == 0, "nothing goes below 0");
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

/* Up to the limit of open files: none can be opened any more. */
static void use_up_files(void)
{
    struct rlimit limit;
    need(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = 64;
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    while (dup(1) >= 0)
        ;
    need(open("/dev/null", O_RDONLY | O_CLOEXEC) < 0, "no file can be opened");
}

static void allocate(CUdeviceptr *out, uint64_t mib)
{
    need(cu.alloc(out, mib << 20) == 0, "alloc");
}

/* At the limit of open files all that is there is had once; what is given back is had again. */
static void files(void)
{
    CUdeviceptr first, again;
    use_gpu(0);
    allocate(&first, 100);
    use_up_files();
    printf("got %llu\n", (unsigned long long)fill());
    printf("then %llu\n", (unsigned long long)fill());
    need(cu.free(first) == 0, "free");
    allocate(&again, 100);
    need(cu.alloc(&first, 1 << 20) == OUT_OF_MEMORY, "no more is there");
}

/* The same, reached before anything of the GPU is asked. */
static void files_before(void)
{
    use_up_files();
    use_gpu(0);
    printf("got %llu\n", (unsigned long long)fill());
    show_info();
}

/* This program once more, as another process, with output in place of standard output (-1: the
 * same). */
static pid_t start(const char *what, int output)
{
    pid_t child = fork();
    if (child == 0) {
        if (output >= 0)
            dup2(output, STDOUT_FILENO);
        execl("/proc/self/exe", "program", how, what, NULL);
        _exit(1);
    }
    return child;
}

static void *say_ready_and_stay(void *unused)
{
    (void)unused;
    need(write(STDOUT_FILENO, "r", 1) == 1, "ready");
    while (pause())
        ;
    return NULL;
}

static void keep(void)
{
    CUdeviceptr kept;
    use_gpu(0);
    allocate(&kept, strtoull(getenv("KEEP"), NULL, 10));
    say_ready_and_stay(NULL);
}

/* Its first thread ends, another goes on. */
static void keep_without_leader(void)
{
    CUdeviceptr kept;
    pthread_t other;
    use_gpu(0);
    allocate(&kept, strtoull(getenv("KEEP"), NULL, 10));
    pthread_create(&other, NULL, say_ready_and_stay, NULL);
    pthread_exit(NULL);
}

/* Another process that has so many MiB and keeps them until it is killed. */
static pid_t keeper(const char *what, const char *mib)
{
    int ready[2];
    char byte;
    need(pipe2(ready, O_CLOEXEC) == 0 && setenv("KEEP", mib, 1) == 0, "pipe");
    pid_t child = start(what, ready[1]);
    need(read(ready[0], &byte, 1) == 1, "the other process has its memory");
    close(ready[0]);
    close(ready[1]);
    return child;
}

/* Has it ended, it is left for a later wait(2). */
static void end(pid_t child, bool leave)
{
    siginfo_t info;
    need(kill(child, SIGKILL) == 0 &&
             waitid(P_PID, (id_t)child, &info, WEXITED | (leave ? WNOWAIT : 0)) == 0,
         "kill");
}

/* Beside 100 MiB of its own: 2000 that are gone before 300 come, 1500 that nobody has waited for
 * before 200 more. At most 100 + 2000 at once. */
static void generations(void)
{
    CUdeviceptr a, b, c;
    use_gpu(0);
    allocate(&a, 100);
    end(keeper("keep", "2000"), false);
    allocate(&b, 300);
    end(keeper("keep", "1500"), true);
    allocate(&c, 200);
    pid_t other = keeper("keep", "1000"); /* alive beside the 600 */
    need(cu.free(a) == 0 && cu.free(b) == 0 && cu.free(c) == 0, "free");
    end(other, false);
}

/* Whose first thread has ended lives, and what it holds counts. */
static void leader(void)
{
    pid_t child = keeper("keep_without_leader", "500");
    use_gpu(0);
    printf("got %llu\n", (unsigned long long)fill());
    end(child, false);
}

/* Another holds its memory, and this one is at the limit of open files: it lives all the same. */
static void files_beside(void)
{
    pid_t child = keeper("keep", "500");
    use_gpu(0);
    use_up_files();
    printf("got %llu\n", (unsigned long long)fill());
    end(child, false);
    printf("then %llu\n", (unsigned long long)fill()); /* what it held and its context */
}

static void info(void)
{
    use_gpu(0);
    show_info();
    fflush(stdout);
    _exit(0);
}

/* What others held is free for one that was there before they ended, and for one that comes
 * after. */
static void info_after(void)
{
    use_gpu(0);
    end(keeper("keep", "2000"), false);
    show_info();
    end(keeper("keep", "2000"), true);
    show_info();
    need(waitpid(start("info", -1), NULL, 0) > 0, "one that comes after");
}

/* 100 GiB of every kind, which the driver has not: then 5 MiB. */
static void refused(void)
{
    static const size_t much = (size_t)100 << 30;
    struct {
        int type, handles, place, id;
        uint64_t rest[4];
    } options = {.type = 1, .place = 1};
    CUdeviceptr a;
    uint64_t handle;
    size_t pitch;
    CUresult (*create)(uint64_t *, size_t, const void *, unsigned long long) = NULL;
    CUresult (*pitched)(CUdeviceptr *, size_t *, size_t, size_t, unsigned) = NULL;
    *(void **)&create = dlsym(library, "cuMemCreate");
    *(void **)&pitched = dlsym(library, "cuMemAllocPitch_v2");
    use_gpu(0);
    need(cu.alloc(&a, much) == OUT_OF_MEMORY, "plain");
    need(cu.alloc_async(&a, much, NULL) == OUT_OF_MEMORY, "of a stream");
    need(create(&handle, much, &options, 0) == OUT_OF_MEMORY, "virtual");
    need(pitched(&a, &pitch, (size_t)1 << 20, much >> 20, 4) == OUT_OF_MEMORY, "pitched");
    allocate(&a, 5);
}

static get2_fn *get_entry;

/* What the driver gives for that name to a program that was built for that version. */
static void *entry_for(const char *name, int version)
{
    void *out = NULL;
    int status = 7;
    need(get_entry(name, &out, version, 0, &status) == 0 && out && status == 0, name);
    return out;
}

static void is_on_gpu_1(CUcontext context, const char *what)
{
    CUresult (*device)(CUdevice *) = NULL;
    CUdevice found = -1;
    *(void **)&device = dlsym(library, "cuCtxGetDevice");
    need(context && device(&found) == 0 && found == 1, what);
    need(cu.destroy(context) == 0, "destroy");
}

/* The driver's functions of one name have other parameters from version to version. */
static void abis(void)
{
    CUexecAffinityParam affinity = {0, 7};
    CUctxCreateParams options = {&affinity, 1, NULL};
    CUcontext context = NULL;
    need(cu.init(0) == 0, "init");
    *(void **)&get_entry = dlsym(library, "cuGetProcAddress_v2");
    for (int version = 11000; version <= 13010; version += 10) {
        void *create = entry_for("cuCtxCreate", version);
        CUresult result =
            version >= 12050 ? ((CUresult(*)(CUcontext *, CUctxCreateParams *, unsigned,
                                             CUdevice))create)(&context, &options, 8, 1)
            : version >= 11040
                ? ((CUresult(*)(CUcontext *, CUexecAffinityParam *, int, unsigned,
                                CUdevice))create)(&context, &affinity, 1, 8, 1)
                : ((CUresult(*)(CUcontext *, unsigned, CUdevice))create)(&context, 0, 1);
        need(result == 0, "a context");
        is_on_gpu_1(context, "it is on the GPU that was named");
    }
    for (int version = 3020; version <= 13010; version += 10) {
        CUdeviceptr a = 0;
        use_gpu(1);
        need(((CUresult(*)(CUdeviceptr *, size_t))entry_for("cuMemAlloc", version))(&a, 1000) == 0,
             "alloc");
        need(((CUresult(*)(CUdeviceptr))entry_for("cuMemFree", version))(a) == 0, "free");
    }
}

/* A driver newer than any known here gives functions with parameters that nobody knows but who
 * asked for them. */
static void future(void)
{
    CUctxCreateParams options = {NULL, 1, NULL}; /* on GPU 1 */
    CUcontext context = NULL;
    CUdeviceptr a = 0;
    need(cu.init(0) == 0, "init");
    *(void **)&get_entry = dlsym(library, "cuGetProcAddress_v2");
    void *create = entry_for("cuCtxCreate", 13020);
    need(((CUresult(*)(const CUctxCreateParams *, CUcontext *))create)(&options, &context) == 0,
         "a context");
    is_on_gpu_1(context, "it is on the GPU that was named");
    use_gpu(0);
    void *alloc = entry_for("cuMemAlloc", 13020);
    need(((CUresult(*)(unsigned, CUdeviceptr *, uint64_t, size_t))alloc)(5, &a, 4096, 1000) == 0,
         "alloc");
    abis();
}

static void show_count(void)
{
    void (*count)(int, uint64_t *, uint64_t *) = NULL;
    *(void **)&count = dlsym(library, "fakeCudaCount");
    for (int gpu = 0; gpu < 2; gpu++) {
        uint64_t asked, peak;
        count(gpu, &asked, &peak);
        printf("gpu %d asked %llu peak %llu\n", gpu, (unsigned long long)asked,
               (unsigned long long)peak);
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
    {"plain", plain},
    {"async", async},
    {"threads", threads},
    {"full", full},
    {"crowd", crowd},
    {"children", children},
    {"full_async", full_async},
    {"full_threads", full_threads},
    {"forked", forked},
    {"files", files},
    {"keep", keep},
    {"keep_without_leader", keep_without_leader},
    {"info", info},
    {"files_before", files_before},
    {"files_beside", files_beside},
    {"generations", generations},
    {"leader", leader},
    {"info_after", info_after},
    {"refused", refused},
    {"abis", abis},
    {"future", future},
    {"written", written},
};

int main(int count, char **arguments)
{
    need(count >= 3, "usage: program HOW WHAT");
    how = arguments[1];
    library =
        dlopen("libcuda.so.1", RTLD_NOW | (strcmp(how, "dlsym") == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
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
