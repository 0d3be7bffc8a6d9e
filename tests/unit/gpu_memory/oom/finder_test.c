/* What is read out of out-of-memory messages: every format, whole, broken, listed, coloured, of
 * several ranks. Expected sizes were worked out by hand: 2^20 and 2^30 times what the message
 * prints. */
#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/message.h"
#include "gpu_memory/oom/size.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct oom_list *parse(const char *log)
{
    struct oom_list *list = test_malloc(sizeof *list);
    oom_parse(log, strlen(log), list);
    return list;
}

/* What a message should say: sizes as it prints them, "": nothing. */
struct expected {
    enum oom_framework framework;
    uint64_t line;
    int64_t gpu;
    const char *of[OOM_FIGURES];
    const char *processes; /* "968 520.00 MiB, 969 ?" */
};

/* The size that a text such as "4.15 GiB" stands for, by floating point and not by the parser's own
 * way. */
static double bytes_of(const char *text)
{
    char unit[8] = "";
    double number = 0;
    assert_int_equal(sscanf(text, "%lf %7s", &number, unit), 2);
    double factor = strcmp(unit, "GiB") == 0   ? 1073741824
                    : strcmp(unit, "MiB") == 0 ? 1048576
                    : strcmp(unit, "KiB") == 0 ? 1024
                                               : 1;
    return number * factor;
}

static void assert_size(const char *what, struct oom_size size, const char *text)
{
    if (size.valid != (text != NULL))
        fail_msg("%s: %s", what, size.valid ? "is there" : "is missing");
    if (!text)
        return;
    double bytes = bytes_of(text);
    if (fabs((double)size.bytes - bytes) > 0.5 + bytes * 1e-15)
        fail_msg("%s: %llu instead of %.1f", what, (unsigned long long)size.bytes, bytes);
}

static void assert_processes(const struct oom *message, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    for (size_t i = 0; i < message->process_count; i++) {
        text_addf(&text, "%s%lld ", i ? ", " : "", (long long)message->processes[i].pid);
        if (message->processes[i].memory.valid)
            oom_size_add_text(message->processes[i].memory, &text);
        else
            text_add(&text, "?");
    }
    assert_string_equal(text_get(&text), expected ? expected : "");
}

static void assert_message(const struct oom *message, const struct expected *expected)
{
    assert_int_equal(message->framework, expected->framework);
    assert_int_equal(message->line, expected->line);
    assert_int_equal(message->gpu, expected->gpu);
    for (int i = 0; i < OOM_FIGURES; i++)
        assert_size(oom_figure_name((enum oom_figure)i), message->of[i], expected->of[i]);
    assert_processes(message, expected->processes);
}

static void assert_says(const char *log, const struct expected *expected)
{
    struct oom_list *list = parse(log);
    assert_int_equal(list->found, 1);
    assert_message(&list->items[0], expected);
    oom_list_fini(list);
    test_free(list);
}

static const char message_22[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
                                 "1.50 GiB. GPU 1 has a total capacity of 23.64 GiB "
                                 "of "
                                 "which 812.56 MiB is free. Process 4711 has 9.11 GiB memory in "
                                 "use. Including non-PyTorch memory, this process has "
                                 "13.70 GiB memory in use. 20.00 GiB allowed; Of the allocated "
                                 "memory 11.95 GiB is allocated by PyTorch, with 1.00 "
                                 "GiB "
                                 "allocated in private pools (e.g., CUDA Graphs), and 1.21 GiB is "
                                 "reserved by PyTorch but unallocated. If reserved "
                                 "but "
                                 "unallocated memory is large try setting "
                                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
                                 "fragmentation.\n";

static const struct expected expected_22 = {
    OOM_PYTORCH,
    1,
    1,
    {[OOM_REQUESTED] = "1.50 GiB",
     [OOM_TOTAL] = "23.64 GiB",
     [OOM_FREE] = "812.56 MiB",
     [OOM_OWN] = "13.70 GiB",
     [OOM_ALLOWED] = "20.00 GiB",
     [OOM_ALLOCATED] = "11.95 GiB",
     [OOM_PRIVATE] = "1.00 GiB",
     [OOM_UNALLOCATED] = "1.21 GiB"},
    "4711 9.11 GiB",
};

static void every_format_of_pytorch_is_read(void **state)
{
    (void)state;
    /* 1.0 to 1.3: "cached" is what the allocator holds and no tensor has (pytorch/pytorch pull
     * request 13751) */
    assert_says("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB "
                "total capacity; 9.53 GiB "
                "already allocated; 9.44 MiB free; 245.00 MiB cached)\n",
                &(struct expected){OOM_PYTORCH,
                                   1,
                                   0,
                                   {[OOM_REQUESTED] = "20.00 MiB",
                                    [OOM_TOTAL] = "10.76 GiB",
                                    [OOM_ALLOCATED] = "9.53 GiB",
                                    [OOM_FREE] = "9.44 MiB",
                                    [OOM_UNALLOCATED] = "245.00 MiB"},
                                   NULL});
    /* 1.4 to 2.0, with a cap, on an AMD GPU */
    assert_says(
        "RuntimeError: HIP out of memory. Tried to allocate 1024.00 MiB (GPU 3; 15.98 GiB total "
        "capacity; 9.00 GiB "
        "already allocated; 512 bytes free; 12.00 GiB allowed; 11.50 GiB reserved in total by "
        "PyTorch) If reserved "
        "memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.\n",
        &(struct expected){OOM_PYTORCH,
                           1,
                           3,
                           {[OOM_REQUESTED] = "1024.00 MiB",
                            [OOM_TOTAL] = "15.98 GiB",
                            [OOM_ALLOCATED] = "9.00 GiB",
                            [OOM_FREE] = "512 bytes",
                            [OOM_ALLOWED] = "12.00 GiB",
                            [OOM_RESERVED] = "11.50 GiB"},
                           NULL});
    /* 2.1 cannot spell capacity */
    assert_says("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a "
                "total capacty of 39.39 GiB of "
                "which 1.06 GiB is free. Process 77 has 38.32 GiB memory in use. Of the allocated "
                "memory 36.01 GiB is "
                "allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated.\n",
                &(struct expected){OOM_PYTORCH,
                                   1,
                                   2,
                                   {[OOM_REQUESTED] = "2.00 GiB",
                                    [OOM_TOTAL] = "39.39 GiB",
                                    [OOM_FREE] = "1.06 GiB",
                                    [OOM_ALLOCATED] = "36.01 GiB",
                                    [OOM_UNALLOCATED] = "1.20 GiB"},
                                   "77 38.32 GiB"});
    assert_says(message_22, &expected_22);
}

static void the_back_end_of_the_driver_says_it_over_several_lines(void **state)
{
    (void)state;
    assert_says("Traceback\ntorch.OutOfMemoryError: Allocation on device 5 would exceed allowed "
                "memory. (out of memory)\n"
                "Currently allocated     : 1.25 GiB\nRequested               : 2.00 GiB\nDevice "
                "limit            : 16.00 "
                "GiB\nFree (according to CUDA): 12.00 MiB\nPyTorch limit (set by user-supplied "
                "memory fraction)\n"
                "                        : 17179869184.00 GiB\nnext\n",
                &(struct expected){OOM_PYTORCH,
                                   2,
                                   5,
                                   {[OOM_REQUESTED] = "2.00 GiB",
                                    [OOM_TOTAL] = "16.00 GiB",
                                    [OOM_FREE] = "12.00 MiB",
                                    [OOM_ALLOCATED] = "1.25 GiB"},
                                   NULL});
}

static void other_frameworks_are_read(void **state)
{
    (void)state;
    /* 64 x 512 x 7 floats of 4 bytes */
    assert_says(
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,7] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc [Op:Conv2D]\n",
        &(struct expected){OOM_TENSORFLOW, 1, 1, {[OOM_REQUESTED] = "917504 bytes"}, NULL});
    assert_says("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
                "17179869184 bytes.\n",
                &(struct expected){OOM_XLA, 1, -1, {[OOM_REQUESTED] = "17179869184 bytes"}, NULL});
    assert_says("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.11GiB (rounded to "
                "2264924160)requested by op\n",
                &(struct expected){OOM_XLA, 1, 0, {[OOM_REQUESTED] = "2.11 GiB"}, NULL});
    assert_says("OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated so far: "
                "1,024 bytes, limit set "
                "to: 4,000,000,000 bytes).\n",
                &(struct expected){OOM_CUPY,
                                   1,
                                   -1,
                                   {[OOM_REQUESTED] = "8000000000 bytes",
                                    [OOM_RESERVED] = "1024 bytes",
                                    [OOM_ALLOWED] = "4000000000 bytes"},
                                   NULL});
    assert_says(
        "cuda_driver.cc:175] failed to allocate 2.00G (2147483648 bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out "
        "of memory\n",
        &(struct expected){OOM_TENSORFLOW, 1, -1, {[OOM_REQUESTED] = "2147483648 bytes"}, NULL});
    assert_says("a\nb\nRuntimeError: CUDA error: out of memory\nCUDA kernel errors might be "
                "asynchronously reported\n",
                &(struct expected){OOM_CUDA, 3, -1, {NULL}, NULL});
}

/* Each framework's own wording, with the figures as they stand in it. */
static void servers_and_libraries_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        struct expected expected;
        enum oom_kind kind;
    } rows[] = {
        {"ValueError: Free memory on device cuda:1 (19.71/22.05 GiB) on startup is less than "
         "desired GPU memory utilization (0.9, 19.84 GiB). Decrease\n",
         {OOM_VLLM,
          1,
          1,
          {[OOM_REQUESTED] = "19.84 GiB", [OOM_FREE] = "19.71 GiB", [OOM_TOTAL] = "22.05 GiB"},
          NULL},
         OOM_KIND_GPU},
        {"ValueError: To serve at least one request with the models's max seq len (61440), (7.50 "
         "GiB KV cache is needed, which is larger than the available KV cache memory (4.12 GiB).\n",
         {OOM_VLLM, 1, -1, {[OOM_REQUESTED] = "7.50 GiB", [OOM_FREE] = "4.12 GiB"}, NULL},
         OOM_KIND_GPU},
        {"allocating 12000.00 MiB on device 2: cudaMalloc failed: out of "
         "memory\nalloc_tensor_range: "
         "failed to allocate CUDA2 buffer of size 12582912000\n",
         {OOM_LLAMA_CPP, 1, -1, {[OOM_REQUESTED] = "12000.00 MiB"}, NULL},
         OOM_KIND_GPU},
        {"src/storage/./pooled_storage_manager.h:80: cudaMalloc failed: out of memory\n",
         {OOM_MXNET, 1, -1, {NULL}, NULL},
         OOM_KIND_GPU},
        {"MPS backend out of memory (MPS allocated: 15.69 GiB, other allocations: 2.44 MiB, max "
         "allowed: 18.13 GiB). Tried to allocate 5.78 GiB on private pool.\n",
         {OOM_MPS,
          1,
          -1,
          {[OOM_REQUESTED] = "5.78 GiB",
           [OOM_ALLOWED] = "18.13 GiB",
           [OOM_ALLOCATED] = "15.69 GiB"},
          NULL},
         OOM_KIND_GPU},
        {"Failed to allocate memory for requested buffer of size 643840\n",
         {OOM_ONNX, 1, -1, {[OOM_REQUESTED] = "643840 bytes"}, NULL},
         OOM_KIND_GPU},
        {"running Conv node. Name:'347_nchwc' Failed to allocate memory for requested buffer of "
         "size 643840\n",
         {OOM_ONNX, 1, -1, {[OOM_REQUESTED] = "643840 bytes"}, NULL},
         OOM_KIND_HOST},
        {"Out of memory error on GPU 0. Cannot allocate 3.125000GB memory on GPU 0, available "
         "memory is only 121.750000MB.\n",
         {OOM_PADDLE, 1, 0, {[OOM_REQUESTED] = "3.125 GiB", [OOM_FREE] = "121.75 MiB"}, NULL},
         OOM_KIND_GPU},
        {"NCCL WARN Cuda failure 'out of memory'\n\nNCCL WARN Failed to CUDA calloc 6291456 "
         "bytes\n",
         {OOM_NCCL, 1, -1, {[OOM_REQUESTED] = "6291456 bytes"}, NULL},
         OOM_KIND_GPU},
        {"out of memory to allocate 184320000 bytes (total 1719664640 bytes)\n",
         {OOM_CUPY,
          1,
          -1,
          {[OOM_REQUESTED] = "184320000 bytes", [OOM_RESERVED] = "1719664640 bytes"},
          NULL},
         OOM_KIND_GPU},
        {"out of resource: shared memory, Required: 66560, Hardware limit: 65536. Reducing\n",
         {OOM_TRITON, 1, -1, {[OOM_REQUESTED] = "66560 bytes", [OOM_TOTAL] = "65536 bytes"}, NULL},
         OOM_KIND_ON_CHIP},
        /* 1000 x 256 x 8 bytes */
        {"MemoryError: Unable to allocate array with shape (1000, 256) and data type float64\n",
         {OOM_PYTHON, 1, -1, {[OOM_REQUESTED] = "2048000 bytes"}, NULL},
         OOM_KIND_HOST},
        {"OOM when allocating tensor with shape[9] and type float on /device:CPU:0 by allocator "
         "cpu\n",
         {OOM_TENSORFLOW, 1, -1, {[OOM_REQUESTED] = "36 bytes"}, NULL},
         OOM_KIND_HOST},
        {"RuntimeError: Invalid buffer size: 25.00 GB\n",
         {OOM_MPS, 1, -1, {[OOM_REQUESTED] = "25 GiB"}, NULL},
         OOM_KIND_GPU},
        {"MemoryError: std::bad_alloc: out_of_memory: CUDA error (failed to allocate 1073741824 "
         "bytes) at: cuda_memory_resource.hpp\n",
         {OOM_RAPIDS, 1, -1, {[OOM_REQUESTED] = "1073741824 bytes"}, NULL},
         OOM_KIND_GPU},
        {"alloc_buffer: can't allocate 3278637056 Bytes of memory on device\n",
         {OOM_LLAMA_CPP, 1, -1, {[OOM_REQUESTED] = "3278637056 bytes"}, NULL},
         OOM_KIND_GPU},
        {"model requires more system memory (5.60 GiB) than is available (3.10 GiB)\n",
         {OOM_LLAMA_CPP, 1, -1, {[OOM_REQUESTED] = "5.60 GiB", [OOM_FREE] = "3.10 GiB"}, NULL},
         OOM_KIND_HOST},
        {"memory allocation of 8589934592 bytes failed\n",
         {OOM_SYSTEM, 1, -1, {[OOM_REQUESTED] = "8589934592 bytes"}, NULL},
         OOM_KIND_HOST},
        {"MemoryError: Unable to allocate 116. GiB for an array with shape (2499, 2499, 2499)\n",
         {OOM_PYTHON, 1, -1, {[OOM_REQUESTED] = "116 GiB"}, NULL},
         OOM_KIND_HOST},
        {"Limit: 1436450816\nInUse: 1352437760\nOOM when allocating tensor with shape[2,8] and "
         "type "
         "float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\nagain: OOM "
         "when allocating tensor with shape[2,8] and type float on /job:localhost\n",
         {OOM_TENSORFLOW,
          3,
          0,
          {[OOM_REQUESTED] = "64 bytes",
           [OOM_TOTAL] = "1436450816 bytes",
           [OOM_ALLOCATED] = "1352437760 bytes",
           [OOM_FREE] = "84013056 bytes"},
          NULL},
         OOM_KIND_GPU},
        {"failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY; total memory "
         "reported: "
         "18446744073647226880\n",
         {OOM_TENSORFLOW, 1, -1, {NULL}, NULL},
         OOM_KIND_GPU},
    };
    EACH_OF (row, rows) {
        struct oom_list *list = parse(row->log);
        assert_int_equal(list->found, 1);
        assert_message(&list->items[0], &row->expected);
        assert_int_equal(list->items[0].kind, row->kind);
        oom_list_fini(list);
        test_free(list);
    }
}

/* The kernel, a shell and a launcher report one death. */
static void a_death_for_host_memory_is_one_message(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        enum oom_cause cause;
        unsigned found;
    } rows[] = {
        {"Killed\n", OOM_CAUSE_HOST_KILLED, 1},
        {"slurm_script: line 28:  8144 Killed    python3 main.py\n", OOM_CAUSE_HOST_KILLED, 1},
        {"[1]+  Killed                  python train.py\n", OOM_CAUSE_HOST_KILLED, 1},
        {"python invoked oom-killer: gfp_mask=0x100cca\nMemory cgroup out of memory: Killed "
         "process "
         "7 (python) total-vm:11900kB\n",
         OOM_CAUSE_HOST_LIMIT, 1},
        {"3 rows were Killed\nKilled by a user\nKilled: no\n", OOM_CAUSE_UNKNOWN, 0},
        {"Killed\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch.\n",
         OOM_CAUSE_HOST_LIMIT, 1},
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\nKilled\n",
         OOM_CAUSE_HOST_LIMIT, 1},
        {"OSError: [Errno 28] No space left on device\nDataLoader worker (pid 7) is killed by "
         "signal: Bus error. It is possible\n",
         OOM_CAUSE_SHM, 1},
        {"OSError: [Errno 28] No space left on device\nKilled\n", OOM_CAUSE_DISK, 2},
    };
    EACH_OF (row, rows) {
        struct oom_list *list = parse(row->log);
        assert_int_equal(list->found, row->found);
        if (row->found > 0)
            assert_int_equal(list->items[0].cause, row->cause);
        oom_list_fini(list);
        test_free(list);
    }
}

/* Documentation, source code and data that quote a failure. */
static void a_quoted_failure_is_no_message(void **state)
{
    (void)state;
    static const char *const logs[] = {
        ".. code-block:: text\n\n    RuntimeError: CUDA error: out of memory\n",
        "If you get an error similar to\n\n    Error Code 2: OutOfMemory (no further)\n",
        "test_message_mentions_CUDA_ERROR_OUT_OF_MEMORY PASSED\n",
        "    raise ValueError(\"No available memory for the cache blocks. \"\n",
        "class=oom sample=\"RuntimeError: CUDA out of memory. Tried to allocate\"\n",
        "export A=max_split_size_mb:128   # against CUDA out of memory\n",
        "return rc == 137 and \"Out of memory: Killed process\" in log\n",
    };
    EACH_OF (log, logs) {
        struct oom_list *list = parse(*log);
        if (list->found > 0)
            fail_msg("%s: reported", *log);
        oom_list_fini(list);
        test_free(list);
    }
    /* What follows the indented block counts. */
    struct oom_list *list = parse(".. code-block:: text\n\n    quoted\n\nRuntimeError: CUDA error: "
                                  "out of memory\n");
    assert_int_equal(list->found, 1);
    oom_list_fini(list);
    test_free(list);
}

/* The same words, whatever stands between them. */
static void a_message_is_read_wherever_it_is_broken(void **state)
{
    (void)state;
    size_t length = strlen(message_22);
    for (size_t width = 20; width <= 200; width += 7) {
        AUTO_TEXT struct text log = {0};
        for (size_t i = 0; i < length; i++) {
            if (i > 0 && i % width == 0)
                text_add_char(&log, '\n');
            text_add_char(&log, message_22[i]);
        }
        struct oom_list *list = parse(text_get(&log));
        assert_int_equal(list->found, 1);
        struct expected expected = expected_22;
        expected.line = list->items[0].line; /* the phrase itself may lie on the line behind */
        assert_true(expected.line <= 60 / width + 1);
        assert_message(&list->items[0], &expected);
        oom_list_fini(list);
        test_free(list);
    }
}

static void clauses_may_come_in_any_order_and_a_gpu_have_no_number(void **state)
{
    (void)state;
    assert_says("CUDA out of memory. Of the allocated memory 1.00 GiB is allocated by PyTorch, and "
                "2.00 MiB is reserved by "
                "PyTorch but unallocated. Process 5 has 17179869184.00 GiB memory in use. Process "
                "6 has 3.00 GiB memory in "
                "use. GPU  has a total capacity of 4.00 GiB of which 0 bytes is free. Tried to "
                "allocate 3.00 MiB.\n",
                &(struct expected){OOM_PYTORCH,
                                   1,
                                   -1,
                                   {[OOM_REQUESTED] = "3.00 MiB",
                                    [OOM_TOTAL] = "4.00 GiB",
                                    [OOM_FREE] = "0 bytes",
                                    [OOM_ALLOCATED] = "1.00 GiB",
                                    [OOM_UNALLOCATED] = "2.00 MiB"},
                                   "5 ?, 6 3.00 GiB"});
}

static void a_list_as_people_paste_it_is_read(void **state)
{
    (void)state;
    assert_says(
        "It says:\n\nCUDA out of memory. Tried to allocate **4.15 GiB**.\n\n- GPU 0 total "
        "capacity: 44.53 GiB\n"
        "* Free: 3.84 GiB\n\xe2\x80\xa2 In use by process: 40.68 GiB\n- Allocated by PyTorch: "
        "`36.78 GiB`\n"
        "> - Reserved but unallocated: 3.56 GiB\n- Process 12: 1.00 GiB\n\nWhat can I do?\n",
        &(struct expected){OOM_PYTORCH,
                           3,
                           0,
                           {[OOM_REQUESTED] = "4.15 GiB",
                            [OOM_TOTAL] = "44.53 GiB",
                            [OOM_FREE] = "3.84 GiB",
                            [OOM_OWN] = "40.68 GiB",
                            [OOM_ALLOCATED] = "36.78 GiB",
                            [OOM_UNALLOCATED] = "3.56 GiB"},
                           "12 1.00 GiB"});
}

static void colours_and_progress_bars_do_not_matter(void **state)
{
    (void)state;
    AUTO_TEXT struct text log = {0};
    text_addf(&log,
              "\x1b]0;a title\a 10%%|#    | 1/10\r 20%%|##   | "
              "2/10\r\x1b[1;31mtorch.OutOfMemoryError:\x1b[0m %s",
              strstr(message_22, "CUDA out"));
    assert_says(text_get(&log), &expected_22);
    struct oom_list *list = parse(text_get(&log));
    assert_string_equal(strncmp(list->items[0].text,
                                "torch.OutOfMemoryError: CUDA out of memory. Tried to", 52) == 0
                            ? "begins as printed"
                            : list->items[0].text,
                        "begins as printed");
    oom_list_fini(list);
    test_free(list);
}

static void several_ranks_are_told_apart_though_their_lines_mix(void **state)
{
    (void)state;
    struct oom_list *list =
        parse("[rank0]: CUDA out of memory. Tried to allocate 1.00 GiB.\n[rank1]: CUDA out of "
              "memory. Tried to allocate "
              "2.00 GiB.\n[rank0]:  GPU 0 has a total capacity of 4.00 GiB of which 1.00 MiB is "
              "free.\nother words\n"
              "[rank1]:  GPU 1 has a total capacity of 8.00 GiB of which 2.00 MiB is free.\n");
    assert_int_equal(list->found, 2);
    const struct oom *first = &list->items[0], *second = &list->items[1];
    assert_string_equal(first->source, "rank0");
    assert_message(
        first,
        &(struct expected){
            OOM_PYTORCH,
            1,
            0,
            {[OOM_REQUESTED] = "1.00 GiB", [OOM_TOTAL] = "4.00 GiB", [OOM_FREE] = "1.00 MiB"},
            NULL});
    assert_string_equal(second->source, "rank1");
    assert_message(
        second,
        &(struct expected){
            OOM_PYTORCH,
            2,
            1,
            {[OOM_REQUESTED] = "2.00 GiB", [OOM_TOTAL] = "8.00 GiB", [OOM_FREE] = "2.00 MiB"},
            NULL});
    assert_int_equal(second->last_line, 5);
    oom_list_fini(list);
    test_free(list);
}

static void launchers_name_their_ranks_in_several_ways(void **state)
{
    (void)state;
    static const struct {
        const char *front, *source;
    } rows[] = {
        {"[rank12]: ", "rank12"},
        {"[default0]:", "default0"},
        {"[1,3]<stderr>:", "1,3"},
        {"3: ", "3"},
        {"(RayTrainWorker pid=123, ip=10.0.0.1) ", "RayTrainWorker pid=123"},
        {"[INFO] ", ""},
        {"[12:30:01] ", ""},
        {"2026-11-21 12:30:01 ", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *log =
            mem_printf("%sRuntimeError: CUDA error: out of memory\n", rows[i].front);
        struct oom_list *list = parse(log);
        assert_int_equal(list->found, 1);
        assert_string_equal(list->items[0].source, rows[i].source);
        oom_list_fini(list);
        test_free(list);
    }
}

static void the_same_message_again_counts_as_a_repeat(void **state)
{
    (void)state;
    AUTO_TEXT struct text log = {0};
    for (int i = 0; i < 3; i++)
        text_add(&log, message_22);
    text_add(&log, "CUDA out of memory. Tried to allocate 1.51 GiB.\n");
    struct oom_list *list = parse(text_get(&log));
    assert_int_equal(list->found, 4);
    assert_int_equal(list->count, 2);
    assert_int_equal(list->items[0].repeats, 2);
    assert_int_equal(list->items[0].line, 1);
    assert_int_equal(list->items[1].repeats, 0);
    assert_int_equal(list->items[1].line, 4);
    oom_list_fini(list);
    test_free(list);
}

static void words_far_behind_belong_to_no_message(void **state)
{
    (void)state;
    struct oom_list *list =
        parse("CUDA out of memory. Tried to allocate 1.00 GiB.\na\nb\nc\nd\ne\nf\ng\nh\n"
              "GPU 0 has a total capacity of 4.00 GiB of which 1.00 MiB is free.\n");
    assert_int_equal(list->found, 1);
    assert_false(list->items[0].of[OOM_TOTAL].valid);
    assert_int_equal(list->items[0].last_line, 1);
    oom_list_fini(list);
    test_free(list);
}

static void what_is_no_failure_is_no_message(void **state)
{
    (void)state;
    struct oom_list *list = parse(
        "    if \"CUDA out of memory\" in str(e):\nout of memory\n## CUDA out of memory\n| CUDA "
        "out of memory | a smaller batch |\nI got CUDA out of memory, is there a way to see "
        "it?\nDeePMD: Adjust batch size from 1024 to 2048\nthe pod may end with exit code "
        "137 if the limit is low\n");
    assert_int_equal(list->found, 0);
    oom_list_fini(list);
    test_free(list);
}

/* The program says itself that it goes on. */
static void what_was_caught_says_so(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.19GiB with freed_by_count=0. "
        "The caller indicates that this is not a failure, but this may mean that\n",
        "DEEPMD INFO    Adjust batch size from 2048 to 1024\n",
        "Batch size 16 failed, trying batch size 12\n",
        "| WARNING: ran out of memory on GPU #2, skipping batch\n",
        "RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB\n Skipping batch\n",
        "Tactic Device request: 538MB Available: 166MB. Device memory is insufficient to use "
        "tactic.\n",
    };
    EACH_OF (log, logs) {
        struct oom_list *list = parse(*log);
        if (list->found != 1 || !list->items[0].went_on)
            fail_msg("%s: not caught", *log);
        oom_list_fini(list);
        test_free(list);
    }
    /* It did not. */
    struct oom_list *list = parse("RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB\n "
                                  "Skipping batch\nTraceback (most recent call last):\n");
    assert_false(list->items[0].went_on);
    oom_list_fini(list);
    test_free(list);
}

/* Pieces of any size, in a line of a megabyte: the message is found, and its line is right. */
static void a_message_deep_in_a_line_of_a_megabyte_is_found(void **state)
{
    (void)state;
    AUTO_TEXT struct text log = {0};
    text_add(&log, "first\n");
    for (size_t i = 0; i < 1 << 20; i++)
        text_add_char(&log, "abcdefg "[i % 8]);
    text_add(&log, message_22);
    struct oom_list *list = test_malloc(sizeof *list);
    *list = (struct oom_list){0};
    struct oom_finder *finder = oom_finder_new(oom_list_add, list);
    for (size_t at = 0; at < log.length; at += 4099)
        oom_finder_take(finder, log.data + at, log.length - at < 4099 ? log.length - at : 4099);
    oom_finder_end(finder);
    assert_int_equal(oom_finder_lines(finder), 2);
    oom_finder_free(finder);
    struct expected expected = expected_22;
    expected.line = 2;
    assert_int_equal(list->found, 1);
    assert_message(&list->items[0], &expected);
    oom_list_fini(list);
    test_free(list);
}

/* Real ones, in place. Their sizes stand in the table as the files print them. */
static void real_messages_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        struct expected says;
    } rows[] = {
#define REAL(requested, free, own, allowed, allocated, unallocated, processes) \
    {OOM_PYTORCH,                                                              \
     1,                                                                        \
     0,                                                                        \
     {[OOM_REQUESTED] = requested,                                             \
      [OOM_TOTAL] = "139.80 GiB",                                              \
      [OOM_FREE] = free,                                                       \
      [OOM_OWN] = own,                                                         \
      [OOM_ALLOWED] = allowed,                                                 \
      [OOM_ALLOCATED] = allocated,                                             \
      [OOM_UNALLOCATED] = unallocated},                                        \
     processes}
        {"torch-2.11-graph-default-2.5.txt",
         REAL("682.00 MiB", "133.25 GiB", "2.58 GiB", "2.50 GiB", "1.56 GiB", "307.72 MiB",
              "968 520.00 MiB, 969 520.00 MiB, 987 520.00 MiB, 988 616.00 MiB, 1004 604.00 MiB, "
              "1050 616.00 MiB, "
              "1051 616.00 MiB")},
        {"torch-2.11-graph-default-4.txt",
         REAL("1.47 GiB", "131.06 GiB", "3.65 GiB", "4.00 GiB", "1.80 GiB", "1.13 GiB",
              "811 958.00 MiB, 812 962.00 MiB, 813 916.00 MiB, 830 1.26 GiB, 891 520.00 MiB, 892 "
              "520.00 MiB")},
        {"torch-2.11-graph-expandable-2.5.txt",
         REAL("1.05 GiB", "131.04 GiB", "2.27 GiB", "2.50 GiB", "1.47 GiB", "82.12 MiB",
              "950 2.58 GiB, 969 984.00 MiB, 987 520.00 MiB, 988 616.00 MiB, 1004 604.00 MiB, 1050 "
              "616.00 MiB, "
              "1051 616.00 MiB")},
        {"torch-2.11-graph-expandable-4.txt",
         REAL("1.47 GiB", "129.09 GiB", "4.13 GiB", "4.00 GiB", "3.32 GiB", "89.46 MiB",
              "812 962.00 MiB, 829 3.65 GiB, 813 958.00 MiB, 891 520.00 MiB, 892 520.00 MiB")},
        {"torch-2.11-graph-gc60-2.5.txt",
         REAL("1.05 GiB", "131.52 GiB", "2.61 GiB", "2.50 GiB", "1.47 GiB", "427.56 MiB",
              "968 2.27 GiB, 987 984.00 MiB, 988 616.00 MiB, 1004 604.00 MiB, 1050 616.00 MiB, "
              "1051 616.00 MiB")},
        {"torch-2.11-graph-gc60-4.txt", REAL("1.47 GiB", "127.37 GiB", "3.60 GiB", "4.00 GiB",
                                             "1.80 GiB", "1.07 GiB", "830 4.13 GiB, 892 4.68 GiB")},
        {"torch-2.11-graph-split64-2.5.txt",
         REAL("1.05 GiB", "130.92 GiB", "2.21 GiB", "2.50 GiB", "1.47 GiB", "14.89 MiB",
              "969 2.61 GiB, 988 2.23 GiB, 1004 604.00 MiB, 1050 616.00 MiB, 1051 616.00 MiB")},
        {"torch-2.11-graph-split64-4.txt", REAL("1.47 GiB", "132.12 GiB", "4.07 GiB", "4.00 GiB",
                                                "3.34 GiB", "9.71 MiB", "891 3.60 GiB")},
        {"torch-2.x-seed.txt",
         {OOM_PYTORCH,
          1,
          0,
          {[OOM_REQUESTED] = "4.15 GiB",
           [OOM_TOTAL] = "44.53 GiB",
           [OOM_FREE] = "3.84 GiB",
           [OOM_OWN] = "40.68 GiB",
           [OOM_ALLOCATED] = "36.78 GiB",
           [OOM_UNALLOCATED] = "3.56 GiB"},
          NULL}},
    };
    size_t read = 0;
    const char *shared = getenv("TARE_SHARED");
    for (size_t i = 0; shared && i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *path = mem_printf("%s/data/oom/%s", shared, rows[i].file);
        AUTO_TEXT struct text log = {0};
        if (!fs_read(path, 1 << 20, &log, NULL))
            continue;
        read++;
        assert_says(text_get(&log), &rows[i].says);
    }
    if (read == 0) {
        print_message("# TARE_SHARED has no data/oom: no real messages here\n");
        skip();
    }
}

/* The message in epoch 3, printed by the program itself or by a traceback, and what follows. */
static void a_failure_that_was_caught_says_how_the_training_went_on(void **state)
{
    (void)state;
    static const char traced[] =
        "Traceback (most recent call last):\n  File \"train.py\", line 1\n";
    static const struct {
        const char *before, *after;
        bool went_on;
        int64_t batch;
    } rows[] = {
        {"", "retrying with batch size 64\nEpoch 3/9 loss 1\nEpoch 3/9 loss 0.9\n", true, 64},
        {"", "reducing the batch size to 32\nEpoch 4/9\n", true, 32},
        {"", "INFO batch_size=16\nEpoch 4/9\n", true, 16},
        {"", "catching it; going on with batch 8\nEpoch 4/9\n", true, 8},
        {"", "batch 64/100\nEpoch 4/9\n", true, 0},
        {"", "Epoch 4/9\n", true, 0},
        /* one line may be the report of the failure */
        {"", "failed in epoch 3 with batch size 64\n", false, 64},
        {"", "", false, 0},
        /* an exception ends the program: what follows is another process */
        {traced, "Epoch 3/9\nEpoch 4/9\n", false, 0},
        /* another training in the same log */
        {"", "Epoch 1/9\nEpoch 2/9\nEpoch 3/9\nEpoch 4/9\n", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *log =
            mem_printf("Epoch 3/9\n%sCUDA out of memory. Tried to allocate 1.00 GiB\n%s",
                       rows[i].before, rows[i].after);
        struct oom_list list;
        oom_parse(log, strlen(log), &list);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.items[0].went_on, rows[i].went_on);
        assert_int_equal(list.items[0].went_on_batch, rows[i].batch);
        oom_list_fini(&list);
    }
}

/* Rank 1 goes on before rank 0 does. */
static void messages_are_listed_in_the_order_of_the_log(void **state)
{
    (void)state;
    static const char log[] = "[rank0]: CUDA out of memory. Tried to allocate 1.00 GiB\n"
                              "[rank1]: CUDA out of memory. Tried to allocate 2.00 GiB\n"
                              "[rank1]: CUDA out of memory. Tried to allocate 3.00 GiB\n";
    struct oom_list list;
    oom_parse(log, strlen(log), &list);
    assert_int_equal(list.count, 3);
    for (size_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i].line, i + 1);
    oom_list_fini(&list);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_that_was_caught_says_how_the_training_went_on),
        cmocka_unit_test(messages_are_listed_in_the_order_of_the_log),
        cmocka_unit_test(every_format_of_pytorch_is_read),
        cmocka_unit_test(the_back_end_of_the_driver_says_it_over_several_lines),
        cmocka_unit_test(other_frameworks_are_read),
        cmocka_unit_test(servers_and_libraries_are_read),
        cmocka_unit_test(a_death_for_host_memory_is_one_message),
        cmocka_unit_test(a_quoted_failure_is_no_message),
        cmocka_unit_test(a_message_is_read_wherever_it_is_broken),
        cmocka_unit_test(clauses_may_come_in_any_order_and_a_gpu_have_no_number),
        cmocka_unit_test(a_list_as_people_paste_it_is_read),
        cmocka_unit_test(colours_and_progress_bars_do_not_matter),
        cmocka_unit_test(several_ranks_are_told_apart_though_their_lines_mix),
        cmocka_unit_test(launchers_name_their_ranks_in_several_ways),
        cmocka_unit_test(the_same_message_again_counts_as_a_repeat),
        cmocka_unit_test(words_far_behind_belong_to_no_message),
        cmocka_unit_test(what_is_no_failure_is_no_message),
        cmocka_unit_test(what_was_caught_says_so),
        cmocka_unit_test(a_message_deep_in_a_line_of_a_megabyte_is_found),
        cmocka_unit_test(real_messages_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
