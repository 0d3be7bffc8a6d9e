/* Memory that a log prints: the forms in which programs print it, and the trend over epochs. Every
 * expectation is worked out from the text by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "gpu_memory/oom/printed.h"

#include <string.h>

#define KIB 1024.0
#define MIB 1048576.0
#define GIB 1073741824.0

static void read_line(struct printed *printed, int64_t epoch, const char *line)
{
    printed_read(printed, epoch, line, strlen(line));
}

static void assert_bytes(double value, double expected, const char *line)
{
    if (value < expected - 1 || value > expected + 1)
        fail_msg("%s: %.0f instead of %.0f", line, value, expected);
}

static void every_common_form_of_print_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        double allocated, reserved, peak;
    } rows[] = {
        {"memory: allocated 1234 MB, reserved 5678 MB", 1234 * MIB, 5678 * MIB, 0},
        {"Allocated: 1.5 GB", 1.5 * GIB, 0, 0},
        {"Allocated: 1.5GiB | Reserved: 2GiB", 1.5 * GIB, 2 * GIB, 0},
        {"GPU memory allocated=512M reserved=1024M", 512 * MIB, 1024 * MIB, 0},
        {"torch.cuda.memory_allocated(): 1234567890", 1234567890, 0, 0},
        {"torch.cuda.memory_allocated()/1024**2 = 1234.5", 1234.5 * MIB, 0, 0},
        {"torch.cuda.memory_allocated() >> 20=1234", 1234 * MIB, 0, 0},
        {"torch.cuda.memory_allocated(0) / 1e9: 2.5", 2.5e9, 0, 0},
        {"memory_allocated: 1073741824 memory_reserved: 2147483648", GIB, 2 * GIB, 0},
        {"memory_allocated_mb: 100, memory_reserved_mb: 200", 100 * MIB, 200 * MIB, 0},
        {"memory allocated (MB): 100.25", 100.25 * MIB, 0, 0},
        {"allocated 1234, reserved 5678 MiB", 1234 * MIB, 5678 * MIB, 0},
        {"1.5 GB allocated, 2.5 GB reserved", 1.5 * GIB, 2.5 * GIB, 0},
        {"mem 12.00 MiB allocated 14.00 MiB reserved", 12 * MIB, 14 * MIB, 0},
        {"Allocated: 1,234 MB", 1234 * MIB, 0, 0},
        {"allocated: 3.0 GB, max_memory_allocated: 4.0 GB", 3 * GIB, 0, 4 * GIB},
        {"Max memory allocated: 4096 MB", 0, 0, 4 * GIB},
        {"Peak GPU memory allocated 7.5 GiB, peak reserved 9 GiB", 0, 0, 7.5 * GIB},
        {"Epoch: [3]  [ 50/100]  loss: 6.9 (7.0)  time: 0.2  max mem: 5678", 0, 0, 5678 * MIB},
        {"| Allocated memory      |   1234 MiB |   2345 MiB |   9 TiB |", 1234 * MIB, 0, 0},
        {"allocated: 700 KiB, cached: 2048 KiB", 700 * KIB, 2048 * KIB, 0},
        {"mem_alloc=2.5GB, mem_reserved=3GB", 2.5 * GIB, 3 * GIB, 0},
        {"alloc 12 GiB", 12 * GIB, 0, 0},
        {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", 0, 0, 0},
        {"allocator 12 GB", 0, 0, 0},
        {"\xe6\x98\xbe\xe5\xad\x98 \xe5\xb7\xb2\xe5\x88\x86\xe9\x85\x8d\xef\xbc\x9a"
         "1234 MB, \xe5\xb7\xb2\xe4\xbf\x9d\xe7\x95\x99: 5678 MB",
         1234 * MIB, 5678 * MIB, 0},
        /* no unit, and too small for bytes */
        {"allocated 1234", 0, 0, 0},
        {"allocated 3 of 7 workers", 0, 0, 0},
        {"Allocated port 8080", 0, 0, 0},
        /* messages of the allocator */
        {"Of the allocated memory 36.78 GiB is allocated by PyTorch", 0, 0, 0},
        {"9.53 GiB already allocated; 9.44 MiB free", 0, 0, 0},
        {"Currently allocated     : 2.50 GiB", 0, 0, 0},
        {"Reserved but unallocated: 3.56 GiB", 0, 0, 0},
        /* nothing to hold it against */
        {"Reserved: 3.56 GiB", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct printed printed = {0};
        read_line(&printed, 1, rows[i].line);
        if ((rows[i].allocated > 0 || rows[i].peak > 0) != (printed.count > 0))
            fail_msg("%s: %zu epochs", rows[i].line, printed.count);
        assert_bytes(printed.epochs[0].allocated, rows[i].allocated, rows[i].line);
        assert_bytes(printed.epochs[0].reserved, rows[i].reserved, rows[i].line);
        assert_bytes(printed.epochs[0].peak, rows[i].peak, rows[i].line);
    }
}

static void figures_on_several_lines_are_of_one_epoch(void **state)
{
    (void)state;
    struct printed printed = {0};
    read_line(&printed, 1, "Allocated: 2.0 GB");
    read_line(&printed, 1, "Cached: 3.0 GB");
    read_line(&printed, 1, "Allocated: 1.0 GB");
    assert_int_equal(printed.count, 1);
    assert_int_equal(printed.epochs[0].prints, 2);
    assert_bytes(printed.epochs[0].allocated, 2 * GIB, "the highest");
    assert_bytes(printed.epochs[0].reserved, 3 * GIB, "in a line of its own");
    read_line(&printed, -1, "Allocated: 9.0 GB");
    assert_int_equal(printed.count, 1);
}

/* values: GiB that are allocated in epoch 1, 2, ... */
static struct printed_memory summary_of(const double *values, size_t count, const char *name)
{
    struct printed printed = {0};
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *line = mem_printf("%s %.2f GiB", name, values[i]);
        read_line(&printed, (int64_t)i + 1, line);
    }
    return printed_summary(&printed);
}

static void the_trend_needs_three_epochs(void **state)
{
    (void)state;
    static const struct {
        double values[8];
        size_t count;
        enum printed_trend trend;
    } rows[] = {
        {{10, 12}, 2, PRINTED_SHORT},
        {{10, 12, 14}, 3, PRINTED_RISING},
        {{10, 10, 10}, 3, PRINTED_LEVEL},
        /* 0.3 of 10.3 GiB: less than a twentieth */
        {{10, 10.3, 10.1, 10.2}, 4, PRINTED_LEVEL},
        /* the first epoch is warm-up, also where it is far lower */
        {{2, 10, 10, 10}, 4, PRINTED_LEVEL},
        {{2, 10, 12, 14, 16}, 5, PRINTED_RISING},
        /* a step, and no trend */
        {{10, 10, 14, 10, 10}, 5, PRINTED_UNCLEAR},
        {{10, 14, 12}, 3, PRINTED_UNCLEAR},
        /* it settles: 4, 1, 0.25 */
        {{6, 10, 11, 11.25}, 4, PRINTED_UNCLEAR},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct printed_memory summary = summary_of(rows[i].values, rows[i].count, "allocated");
        assert_string_equal(printed_trend_name(summary.trend), printed_trend_name(rows[i].trend));
        assert_int_equal(summary.epochs, rows[i].count);
        assert_int_equal(summary.growth.grows, rows[i].trend == PRINTED_RISING);
        summary = summary_of(rows[i].values, rows[i].count, "max_memory_allocated:");
        assert_string_equal(printed_trend_name(summary.trend), printed_trend_name(rows[i].trend));
        assert_true(summary.of_peaks);
    }
}

/* 10, 12, 14 and 16 GiB in the epochs 0, 5, 10 and 15: 2 GiB in five epochs. */
static void growth_is_by_the_numbers_of_epochs(void **state)
{
    (void)state;
    struct printed printed = {0};
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *line = mem_printf("allocated %d GiB reserved %d GiB", 10 + 2 * i, 20 + i);
        read_line(&printed, 5 * i, line);
    }
    struct printed_memory summary = printed_summary(&printed);
    assert_int_equal(summary.trend, PRINTED_RISING);
    assert_bytes(summary.growth.bytes_per_epoch, 0.4 * GIB, "an epoch");
    assert_bytes(summary.allocated_first, 10 * GIB, "first");
    assert_bytes(summary.allocated_last, 16 * GIB, "last");
    assert_bytes(summary.reserved_first, 20 * GIB, "first reserved");
    assert_bytes(summary.reserved_last, 23 * GIB, "last reserved");
    assert_bytes(summary.unused_last, 7 * GIB, "unused");
    assert_int_equal(summary.first_epoch, 0);
    assert_int_equal(summary.last_epoch, 15);
}

/* Each epoch prints after training and, higher, after validation; the last failed in between. */
static void an_epoch_that_has_not_ended_is_left_out(void **state)
{
    (void)state;
    struct printed printed = {0};
    for (int epoch = 1; epoch <= 4; epoch++) {
        AUTO_FREE char *train = mem_printf("train: allocated %d GiB", 4 + 2 * epoch);
        AUTO_FREE char *validation = mem_printf("validation: allocated %d GiB", 14 + 2 * epoch);
        read_line(&printed, epoch, train);
        if (epoch < 4)
            read_line(&printed, epoch, validation);
    }
    struct printed_memory summary = printed_summary(&printed);
    assert_int_equal(summary.last_epoch, 3);
    assert_int_equal(summary.trend, PRINTED_RISING);
    assert_bytes(summary.growth.bytes_per_epoch, 2 * GIB, "an epoch");
}

static void a_second_training_begins_anew(void **state)
{
    (void)state;
    struct printed printed = {0};
    for (int i = 0; i < 6; i++) {
        AUTO_FREE char *line = mem_printf("allocated %d GiB", 10 + 2 * i);
        read_line(&printed, i % 3 + 1, line);
    }
    struct printed_memory summary = printed_summary(&printed);
    assert_int_equal(summary.epochs, 3);
    assert_bytes(summary.allocated_first, 16 * GIB, "of the second");
    /* Only the last 64 epochs are kept. */
    for (int i = 0; i < 200; i++)
        read_line(&printed, 10 + i, "allocated 5 GiB");
    summary = printed_summary(&printed);
    assert_int_equal(summary.epochs, GROWTH_POINTS_MAX);
    assert_int_equal(summary.last_epoch, 209);
    assert_int_equal(summary.first_epoch, 209 - GROWTH_POINTS_MAX + 1);
    assert_int_equal(summary.trend, PRINTED_LEVEL);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_common_form_of_print_is_read),
        cmocka_unit_test(figures_on_several_lines_are_of_one_epoch),
        cmocka_unit_test(the_trend_needs_three_epochs),
        cmocka_unit_test(growth_is_by_the_numbers_of_epochs),
        cmocka_unit_test(an_epoch_that_has_not_ended_is_left_out),
        cmocka_unit_test(a_second_training_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
