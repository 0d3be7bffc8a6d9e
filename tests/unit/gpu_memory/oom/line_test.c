/* Which lines of a log show that a GPU's memory ran out. The lines are those that the frameworks
 * print. */
#include "gpu_memory/oom/line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static enum oom_framework of(const char *line)
{
    return oom_line_framework(line, strlen(line));
}

static void each_framework_is_known_by_its_own_words(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum oom_framework framework;
    } rows[] = {
        {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 682.00 MiB. GPU 0 has a "
         "total capacity of",
         OOM_PYTORCH},
        {"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total "
         "capacity;",
         OOM_PYTORCH},
        {"RuntimeError: HIP out of memory. Tried to allocate 2.00 GiB (GPU 1; 15.98 GiB total "
         "capacity;",
         OOM_PYTORCH},
        {"OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB')", OOM_PYTORCH},
        {"| WARNING | ran out of memory in validation step with exception: CUDA out of memory. "
         "Tried to",
         OOM_PYTORCH},
        {"torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of "
         "memory)",
         OOM_PYTORCH},
        {"ResourceExhaustedError: OOM when allocating tensor with shape[64,512] and type float on "
         "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Conv2D]",
         OOM_TENSORFLOW},
        {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
         "allocate 17179869184 "
         "bytes.",
         OOM_XLA},
        {"Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.11GiB (rounded to "
         "2264924160)requested by op",
         OOM_XLA},
        {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes "
         "(allocated so far: 512 "
         "bytes).",
         OOM_CUPY},
        {"RuntimeError: CUDA error: out of memory", OOM_CUDA},
        {"RuntimeError: cuda runtime error (2) : out of memory at "
         "/pytorch/aten/src/THC/generic/THCStorage.cu:58",
         OOM_CUDA},
        {"failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out "
         "of memory",
         OOM_TENSORFLOW},
        {"GPUassert: CUDA_ERROR_OUT_OF_MEMORY main.cu 12", OOM_CUDA},
        {"GPUassert: cudaErrorMemoryAllocation main.cu 12", OOM_CUDA},
        {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
         OOM_CUDA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (of(rows[i].line) != rows[i].framework)
            fail_msg("%s: taken for %s", rows[i].line, oom_framework_name(of(rows[i].line)));
}

static void lines_that_only_speak_of_memory_are_none(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "epoch 1 loss: 0.3",
        "if you run out of memory, try a smaller batch",
        "GPU memory: 3.2 GiB of 44.5 GiB",
        "    if \"CUDA out of memory\" in str(e):",
        "    except RuntimeError as e: assert 'CUDA out of memory' in str(e)",
        "MemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data "
        "type float64",
        ("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.19GiB with "
         "freed_by_count=0. The caller "
         "indicates that this is not a failure, but this may mean that there could be performance "
         "gains if more memory "
         "were available."),
        ("OOM when allocating tensor with shape[9,9] and type float on "
         "/job:localhost/replica:0/task:0/device:CPU:0 by "
         "allocator cpu"),
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (of(lines[i]) != OOM_NONE)
            fail_msg("%s: taken for %s", lines[i], oom_framework_name(of(lines[i])));
}

static void a_quotation_does_not_hide_the_message_behind_it(void **state)
{
    (void)state;
    assert_int_equal(
        of("\"CUDA out of memory\": RuntimeError: CUDA out of memory. Tried to allocate"),
        OOM_PYTORCH);
}

static void any_bytes_are_read_to_their_end_only(void **state)
{
    (void)state;
    static const char text[] = "\0\xff\x1b[31mCUDA out of memory";
    size_t length = sizeof text - 1;
    char *exact = malloc(length);
    memcpy(exact, text, length);
    assert_int_equal(oom_line_framework(exact, length), OOM_PYTORCH);
    assert_int_equal(oom_line_framework(exact, length - 1), OOM_NONE);
    assert_int_equal(oom_line_framework(exact, 0), OOM_NONE);
    free(exact);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_framework_is_known_by_its_own_words),
        cmocka_unit_test(lines_that_only_speak_of_memory_are_none),
        cmocka_unit_test(a_quotation_does_not_hide_the_message_behind_it),
        cmocka_unit_test(any_bytes_are_read_to_their_end_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
