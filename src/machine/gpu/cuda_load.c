#include "machine/gpu/cuda_load.h"

#include "base/clock.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SYNC_TRIES = 12, BLOCKS_PER_SM = 4, THREADS = 256, TIMES = 2 };
enum { ATTRIBUTE_SM_COUNT = 16 }; /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
static const char usual_library[] = "libcuda.so.1";

/* CUDA Driver API reference: the entry points by their ABI names, and their parameters. */
/* clang-format off */
#define ENTRY_POINTS(X) \
    X(init, "cuInit", (unsigned flags)) \
    X(count, "cuDeviceGetCount", (int *out)) \
    X(device, "cuDeviceGet", (int *out, int number)) \
    X(uuid, "cuDeviceGetUuid", (unsigned char out[16], int device)) \
    X(attribute, "cuDeviceGetAttribute", (int *out, int which, int device)) \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device)) \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device)) \
    X(set_current, "cuCtxSetCurrent", (void *context)) \
    X(load, "cuModuleLoadData", (void **module, const void *image)) \
    X(function, "cuModuleGetFunction", (void **function, void *module, const char *name)) \
    X(alloc, "cuMemAlloc_v2", (uint64_t *out, size_t size)) \
    X(to_device, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t size)) \
    X(to_host, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t size)) \
    X(launch, "cuLaunchKernel", \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, void *stream, \
      void **parameters, \
      void **extra)) \
    X(synchronize, "cuCtxSynchronize", (void))
/* clang-format on */

struct cuda {
#define X(member, name, parameters) int(*member) parameters;
    ENTRY_POINTS(X)
#undef X
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define X(member, name, parameters) {name, offsetof(struct cuda, member)},
    ENTRY_POINTS(X)
#undef X
};

struct cuda_load {
    struct cuda api;
    void *library, *kernel;
    int device;
    unsigned blocks;
    uint64_t memory;      /* the two times, then a place that nothing is ever written to */
    int64_t offset_ns;    /* the GPU's timer less the clock */
    int64_t uncertain_ns; /* of it */
};

/* Until the GPU's timer has come to p_end: chains of fused multiplications and additions, eight for
 * each thread. The first begin and the last end of all blocks go to p_times. PTX ISA 6.0:
 * %globaltimer, red.global.min.u64. */
#define FMA(n) "fma.rn.f32 %f" #n ", %f" #n ", %f8, %f9;\n"
#define FMA_8  FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5) FMA(6) FMA(7)
#define FMA_64 FMA_8 FMA_8 FMA_8 FMA_8 FMA_8 FMA_8 FMA_8 FMA_8
static const char ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry tare_load(.param .u64 p_end, .param .u64 p_times)\n{\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<2>;\n.reg .f32 %f<10>;\n.reg .b64 %rd<5>;\n"
    "ld.param.u64 %rd0, [p_end];\nld.param.u64 %rd1, [p_times];\n"
    "cvta.to.global.u64 %rd2, %rd1;\n"
    "mov.u32 %r0, %tid.x;\nsetp.ne.u32 %p0, %r0, 0;\n"
    "mov.u64 %rd3, %globaltimer;\n"
    "@!%p0 red.global.min.u64 [%rd2], %rd3;\n"
    "cvt.rn.f32.u32 %f0, %r0;\n"
    "add.f32 %f1, %f0, 0f3F800000;\nadd.f32 %f2, %f1, 0f3F800000;\n"
    "add.f32 %f3, %f2, 0f3F800000;\nadd.f32 %f4, %f3, 0f3F800000;\n"
    "add.f32 %f5, %f4, 0f3F800000;\nadd.f32 %f6, %f5, 0f3F800000;\n"
    "add.f32 %f7, %f6, 0f3F800000;\n"
    "mov.f32 %f8, 0f3F7FFF58;\nmov.f32 %f9, 0f3A83126F;\n"
    "bra CHECK;\n"
    "WORK:\n" FMA_64 FMA_64 "CHECK:\n"
    "mov.u64 %rd4, %globaltimer;\nsetp.lt.u64 %p1, %rd4, %rd0;\n@%p1 bra WORK;\n"
    /* The results must be used, or nothing is computed; none is ever below 0. */
    "add.f32 %f0, %f0, %f1;\nadd.f32 %f2, %f2, %f3;\nadd.f32 %f4, %f4, %f5;\n"
    "add.f32 %f6, %f6, %f7;\nadd.f32 %f0, %f0, %f2;\nadd.f32 %f4, %f4, %f6;\n"
    "add.f32 %f0, %f0, %f4;\nsetp.lt.f32 %p2, %f0, 0f00000000;\n"
    "@%p2 st.global.f32 [%rd2+16], %f0;\n"
    "@!%p0 red.global.max.u64 [%rd2+8], %rd4;\n"
    "ret;\n}\n";

static bool good(int result, const char *what, struct err *err)
{
    return result == 0 || err_set(err, "%s: CUDA error %d", what, result);
}

static bool load_symbols(struct cuda_load *load, const char *path, struct err *err)
{
    load->library = dlopen(path ? path : usual_library, RTLD_NOW | RTLD_LOCAL);
    if (!load->library)
        return err_set(err, "%s", dlerror());
    EACH_OF (symbol, symbols) {
        void *found = dlsym(load->library, symbol->name);
        if (!found)
            return err_set(err, "%s lacks %s", path ? path : usual_library, symbol->name);
        memcpy((char *)&load->api + symbol->offset, &found, sizeof found);
    }
    return true;
}

static bool is_uuid(const unsigned char bytes[16], const char *uuid)
{
    char text[48] = "GPU-";
    int length = 4;
    for (int i = 0; i < 16; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%02x",
                           i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    return strcmp(text, uuid) == 0;
}

static bool find_device(struct cuda_load *load, const char *uuid, struct err *err)
{
    int count = 0;
    unsigned char bytes[16];
    if (!good(load->api.init(0), "cuInit", err) ||
        !good(load->api.count(&count), "cuDeviceGetCount", err))
        return false;
    for (int i = 0; i < count; i++)
        if (load->api.device(&load->device, i) == 0 && load->api.uuid(bytes, load->device) == 0 &&
            is_uuid(bytes, uuid))
            return true;
    return err_set(err, "CUDA does not see %s", uuid);
}

static bool prepare_load(struct cuda_load *load, struct err *err)
{
    struct cuda *api = &load->api;
    void *context, *module;
    int sms = 0;
    if (!good(api->attribute(&sms, ATTRIBUTE_SM_COUNT, load->device), "cuDeviceGetAttribute",
              err) ||
        !good(api->retain(&context, load->device), "cuDevicePrimaryCtxRetain", err) ||
        !good(api->set_current(context), "cuCtxSetCurrent", err) ||
        !good(api->load(&module, ptx), "cuModuleLoadData", err) ||
        !good(api->function(&load->kernel, module, "tare_load"), "cuModuleGetFunction", err) ||
        !good(api->alloc(&load->memory, (TIMES + 1) * sizeof(uint64_t)), "cuMemAlloc", err))
        return false;
    load->blocks = (unsigned)(sms > 0 ? sms : 1) * BLOCKS_PER_SM;
    return true;
}

/* Until end, by the GPU's timer; times: the first begin and the last end. */
static bool launch(struct cuda_load *load, unsigned blocks, uint64_t end, uint64_t times[TIMES],
                   struct err *err)
{
    struct cuda *api = &load->api;
    uint64_t none[TIMES] = {UINT64_MAX, 0};
    void *parameters[] = {&end, &load->memory};
    return good(api->to_device(load->memory, none, sizeof none), "cuMemcpyHtoD", err) &&
           good(api->launch(load->kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL),
                "cuLaunchKernel", err) &&
           good(api->synchronize(), "cuCtxSynchronize", err) &&
           good(api->to_host(times, load->memory, TIMES * sizeof *times), "cuMemcpyDtoH", err);
}

bool cuda_load_sync(struct cuda_load *load, struct err *err)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < SYNC_TRIES; i++) {
        uint64_t times[TIMES];
        int64_t before_ns = clock_monotonic_ns();
        if (!launch(load, 1, 0, times, err))
            return false;
        int64_t after_ns = clock_monotonic_ns();
        if (after_ns - before_ns < least_ns) {
            least_ns = after_ns - before_ns;
            load->offset_ns = (int64_t)times[0] - (before_ns + least_ns / 2);
            load->uncertain_ns = least_ns / 2;
        }
    }
    return true;
}

struct cuda_load *cuda_load_open(const char *library, const char *uuid, struct err *err)
{
    struct cuda_load *load = mem_alloc(sizeof *load);
    if (load_symbols(load, library, err) && find_device(load, uuid, err) &&
        prepare_load(load, err) && cuda_load_sync(load, err))
        return load;
    cuda_load_close(load);
    return NULL;
}

void cuda_load_close(struct cuda_load *load)
{
    if (load && load->memory)
        load->api.release(load->device);
    if (load && load->library)
        dlclose(load->library);
    free(load);
}

bool cuda_load_run(struct cuda_load *load, int64_t begin_ns, int64_t end_ns,
                   struct cuda_load_span *out, struct err *err)
{
    uint64_t times[TIMES];
    struct timespec begin = {.tv_sec = begin_ns / NS_PER_S, .tv_nsec = begin_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL) != 0)
        continue;
    if (!launch(load, load->blocks, (uint64_t)(end_ns + load->offset_ns), times, err))
        return false;
    *out = (struct cuda_load_span){.begin_ns = (int64_t)times[0] - load->offset_ns,
                                   .end_ns = (int64_t)times[1] - load->offset_ns,
                                   .uncertain_ns = load->uncertain_ns};
    return out->end_ns >= out->begin_ns || err_set(err, "the GPU's timer went back");
}
