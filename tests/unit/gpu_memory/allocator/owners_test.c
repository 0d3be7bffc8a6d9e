/* A step of a training, event by event: a block from before the record, a batch, a layer, the
 * gradient of its size, the optimizer's state. */
#include "gpu_memory/allocator/owners.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define TORCH "/opt/lib/python3.12/site-packages/torch/"

static struct snapshot_frame frames[] = {
    {"train", "/home/me/train.py", 50},
    {"_call_impl", TORCH "nn/modules/module.py", 1750},
    {"torch::autograd::Engine::evaluate_function(int)", "??", 0},
    {"step", TORCH "optim/adamw.py", 210},
};
static uint32_t of_stacks[] = {0, /**/ 1, 0, /**/ 2, /**/ 3, 0};
enum { BATCH = 1, LAYER, BACKWARD, OPTIMIZER, STACKS };
static struct snapshot_stack stacks[STACKS] = {{0, 0}, {0, 1}, {1, 2}, {3, 1}, {4, 2}};
static struct snapshot_event events[] = {
    {.action = NAME_ALLOC, .addr = 0x1000, .size_bytes = 3000, .stack = BATCH},
    {.action = NAME_ALLOC, .addr = 0x2000, .size_bytes = 5000, .stack = LAYER},
    {.action = NAME_ALLOC, .addr = 0x4000, .size_bytes = 7000, .stack = BACKWARD},
    {.action = NAME_FREE_REQUESTED, .addr = 0x2000, .size_bytes = 5000, .stack = BACKWARD},
    {.action = NAME_FREE_COMPLETED, .addr = 0x2000, .size_bytes = 5000},
    {.action = NAME_ALLOC, .addr = 0x8000, .size_bytes = 9000, .stack = OPTIMIZER},
    {.action = NAME_ALLOC, .addr = 0x2000, .size_bytes = 3000, .stack = LAYER},
    {.action = NAME_FREE_REQUESTED, .addr = 0x2000, .size_bytes = 3000, .stack = LAYER},
    {.action = NAME_FREE_COMPLETED, .addr = 0x2000, .size_bytes = 3000},
};
static struct snapshot_device device = {events, sizeof events / sizeof *events};
static struct snapshot_block block = {
    .addr = 0x10000, .size_bytes = 7168, .requested_bytes = 7000, .state = BLOCK_ALLOCATED};
static struct snapshot_segment segment = {.addr = 0x10000, .size_bytes = 7168, .block_count = 1};
static uint64_t streams[] = {0};

static void each_allocation_has_its_kind(void **state)
{
    (void)state;
    struct snapshot snapshot = {.devices = &device,
                                .device_count = 1,
                                .segments = &segment,
                                .segment_count = 1,
                                .blocks = &block,
                                .block_count = 1,
                                .stacks = stacks,
                                .stack_count = STACKS,
                                .frames = frames,
                                .frame_count = sizeof frames / sizeof *frames,
                                .stack_frames = of_stacks,
                                .stack_frame_count = sizeof of_stacks / sizeof *of_stacks,
                                .streams = streams,
                                .stream_count = 1,
                                .settings = conf_default()};
    struct program program;
    struct owners owners;
    struct owner_sum sums[OWNER_KINDS + 1];
    size_t count;
    assert_true(program_build(&snapshot, 0, &program, NULL));
    owners_find(&snapshot, 0, &program, &owners);
    struct owner_row *rows = owners_alive(&owners, &program, 2, &count); /* the gradient is there */
    owners_sum(&owners, rows, count, sums);
    assert_int_equal(sums[OWNER_INPUTS].bytes, 3000);
    assert_int_equal(sums[OWNER_ACTIVATIONS].bytes, 5000);
    assert_int_equal(sums[OWNER_GRADIENTS].bytes, 7000);
    assert_int_equal(sums[OWNER_PARAMETERS].bytes, 7000); /* held before, of the gradient's size */
    assert_int_equal(sums[OWNER_KINDS].count, 4);
    free(rows);
    rows = owners_alive(&owners, &program, 6, &count);
    owners_sum(&owners, rows, count, sums);
    assert_int_equal(sums[OWNER_OPTIMIZER_STATE].bytes, 9000);
    assert_int_equal(sums[OWNER_TEMPORARY].bytes, 3000);
    assert_int_equal(sums[OWNER_ACTIVATIONS].count, 0);
    assert_int_equal(rows[0].bytes, 9000);
    assert_ptr_equal(owner_place(&snapshot, &owners.items[rows[0].owner]).frame, &frames[0]);
    free(rows);
    owners_fini(&owners);
    program_fini(&program);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_has_its_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
