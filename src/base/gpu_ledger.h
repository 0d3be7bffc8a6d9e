/* gpu_ledger: the table in shared memory in which libtare-cuda.so (gpu_memory/preload) publishes
 * what a job has allocated on its GPUs, and in which the runner reads it (machine/gpu/ledger.h).
 * One file for both, as it is their agreement: nothing but the layout stands here.
 *
 * The runner makes it, of fixed size and sealed against growing and shrinking, so that nobody can
 * take its pages away. Every process of the job maps it. Numbers are bytes unless their name says
 * otherwise; all that several write are atomic. Nothing in it is trusted: a job can write into it
 * what it likes, and lies about itself alone. */
#ifndef TARE_BASE_GPU_LEDGER_H
#define TARE_BASE_GPU_LEDGER_H

#include <stdatomic.h>
#include <stdint.h>

#define GPU_LEDGER_MAGIC UINT64_C(0x72656764656c7467)

enum {
    GPU_LEDGER_VERSION = 2,
    GPU_LEDGER_GPUS = 16, /* of one job */
    /* of one job that allocate on a GPU, and are alive at the same time */
    GPU_LEDGER_PROCESSES = 256,
    GPU_LEDGER_WHOLE = 10000, /* limit_share: all of a GPU's memory */
    GPU_LEDGER_NONCE = 32,    /* hex digits */
    GPU_LEDGER_COMMAND = 16
};

/* Of the memfd: what its links below /proc begin with. */
#define GPU_LEDGER_NAME "tare-gpu-memory"
/* Where a program finds it: "NONCE PATH[:PATH]...", paths below /proc; PID may be "*": any process.
 * The nonce tells whether what was opened is it. */
#define GPU_LEDGER_VARIABLE "TARE_GPU_LEDGER"
/* A file to which every event is appended as a struct gpu_ledger_event; absent: no trace. */
#define GPU_LEDGER_TRACE_VARIABLE "TARE_GPU_TRACE"

/* How the memory of a process's contexts was found: the driver's own figure for the process less
 * what it has allocated; or assumed. */
enum gpu_ledger_context {
    GPU_LEDGER_CONTEXT_NONE,
    GPU_LEDGER_CONTEXT_READ,
    GPU_LEDGER_CONTEXT_ASSUMED
};

enum gpu_ledger_state { GPU_LEDGER_FREE, GPU_LEDGER_TAKING, GPU_LEDGER_USED, GPU_LEDGER_GONE };

/* what every call writes is together in lines of the processor's cache */
enum { GPU_LEDGER_LINE = 64 };

struct gpu_ledger_gpu {
    _Alignas(GPU_LEDGER_LINE) uint64_t limit; /* 0: none */
    /* Of the processes that are alive together. A peak rises when the driver has granted a request,
     * never by one that it refuses. */
    _Atomic uint64_t live; /* what programs asked for and have not freed */
    _Atomic uint64_t live_peak;
    /* that, as the driver hands it out: in its pages, with what its pools keep */
    _Atomic uint64_t held;
    _Atomic uint64_t held_peak;
    _Atomic uint64_t context;        /* of all processes' contexts */
    _Atomic uint64_t footprint_peak; /* of held + context */
    /* under a limit: held, contexts, and requests that the driver has not answered */
    _Atomic uint64_t reserved;
    _Atomic uint32_t state; /* FREE, TAKING, USED */
    _Atomic uint32_t context_how;
    uint8_t uuid[16];
    uint64_t total;
    _Atomic uint64_t over; /* how far beyond the limit the job was at most, as counted here */
    /* Requests that came to nothing. */
    _Atomic uint64_t refused;        /* by the limit */
    _Atomic uint64_t refused_least;  /* the smallest of them; 0: none */
    _Atomic uint64_t refused_most;   /* the largest of them */
    _Atomic uint64_t driver_refused; /* by the driver, with its own out of memory */
    _Atomic uint64_t driver_refused_most;
};

struct gpu_ledger_use { /* of one process on one GPU; of one that is gone: what it left */
    _Alignas(GPU_LEDGER_LINE) _Atomic uint64_t live;
    _Atomic uint64_t live_peak, held, held_peak, context, reserved, allocations, frees;
};

struct gpu_ledger_process {
    /* FREE, TAKING, USED, GONE: its figures stay until another needs the place */
    _Atomic uint32_t state;
    int32_t pid;            /* in its own pid namespace */
    uint64_t pid_namespace; /* 0: not known */
    /* when it took the place, clock ticks after boot: one of that number that began later is
     * another */
    uint64_t since_ticks;
    char command[GPU_LEDGER_COMMAND];
    struct gpu_ledger_use gpus[GPU_LEDGER_GPUS];
    _Atomic uint64_t refused[GPU_LEDGER_GPUS]; /* requests, by the limit */
};

struct gpu_ledger {
    uint64_t magic;
    uint32_t version, size;
    char nonce[GPU_LEDGER_NONCE];
    uint64_t limit;           /* of each GPU; 0: none */
    uint64_t limit_share;     /* instead, in GPU_LEDGER_WHOLE parts of each GPU's memory; 0: none */
    uint64_t context_assumed; /* of a process's context on a GPU, where the driver does not tell */
    _Atomic uint64_t attached; /* processes that ever took a place */
    /* processes that found none: their memory is counted, but stays so when they die */
    _Atomic uint64_t unplaced;
    struct gpu_ledger_gpu gpus[GPU_LEDGER_GPUS];
    struct gpu_ledger_process processes[GPU_LEDGER_PROCESSES];
};

enum gpu_ledger_event_kind {
    GPU_EVENT_ALLOCATE = 1,
    GPU_EVENT_FREE = 2,
    GPU_EVENT_REFUSE = 3,
    GPU_EVENT_FAIL = 4,   /* the driver's own out of memory */
    GPU_EVENT_POOL = 5,   /* a pool holds so much now */
    GPU_EVENT_CONTEXT = 6 /* the process's context holds so much now */
};

struct gpu_ledger_event {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t address; /* or handle */
    uint64_t bytes;
    int32_t pid;
    uint8_t kind, gpu; /* gpu: its place in the table */
    uint16_t how;      /* enum of gpu_memory/preload/pointers.h: which kind of memory */
};

#endif
