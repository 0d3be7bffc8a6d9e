/* Stacks as PyTorch records them, innermost frame first. */
#include "gpu_memory/allocator/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define TORCH "/opt/lib/python3.12/site-packages/torch/"

static struct snapshot_frame frames[] = {
    {"c10::cuda::CUDACachingAllocator::malloc()", "??", 0},                     /* 0 */
    {"torch::cuda::(anonymous namespace)::gather_with_cpp()", "snap.cpp", 0},   /* 1 */
    {"linear", TORCH "nn/functional.py", 12},                                   /* 2 */
    {"forward", "/home/me/model.py", 31},                                       /* 3 */
    {"torch::autograd::generated::MmBackward0::apply(std::vector<>)", "??", 0}, /* 4 */
    {"torch::autograd::Engine::evaluate_function(int)", "??", 0},               /* 5 */
    {"wrapper", TORCH "optim/optimizer.py", 487},                               /* 6 */
};
static uint32_t of_stacks[] = {1, 0, 2, 3, /**/ 1, 0, 4, 5, /**/ 0, 5, /**/ 1, 0, 3, 6};
static struct snapshot_stack stacks[] = {{0, 0}, {0, 4}, {4, 4}, {8, 2}, {10, 4}, {0, 2}};
static const struct snapshot snapshot = {.frames = frames,
                                         .frame_count = sizeof frames / sizeof *frames,
                                         .stacks = stacks,
                                         .stack_count = sizeof stacks / sizeof *stacks,
                                         .stack_frames = of_stacks,
                                         .stack_frame_count = sizeof of_stacks / sizeof *of_stacks};

static void the_user_s_line_is_the_place(void **state)
{
    (void)state;
    struct place place = place_of(&snapshot, 1);
    assert_ptr_equal(place.frame, &frames[3]);
    assert_ptr_equal(place.via, &frames[2]);
    assert_null(place.node);
    assert_int_equal(place.traits, 0);
    assert_int_equal(place_of(&snapshot, 4).traits, PLACE_OPTIMIZER);
    assert_null(place_of(&snapshot, 0).frame);
    assert_null(place_of(&snapshot, 99).frame);
}

static void the_backward_pass_is_named_by_its_node(void **state)
{
    (void)state;
    struct place_frames *known = place_frames_new(&snapshot);
    struct place place = place_find(known, 2);
    assert_int_equal(place.node_length, strlen("MmBackward0"));
    assert_memory_equal(place.node, "MmBackward0", place.node_length);
    assert_int_equal(place.traits, PLACE_BACKWARD);
    place = place_find(known, 3);
    assert_memory_equal(place.node, "autograd engine", place.node_length);
    place_frames_free(known);
}

static void the_recorder_and_the_allocator_are_machinery(void **state)
{
    (void)state;
    assert_true(place_is_machinery(&frames[0]) && place_is_machinery(&frames[1]));
    assert_false(place_is_machinery(&frames[2]) || place_is_machinery(&frames[4]));
    assert_string_equal(place_package_path(frames[2].file), "torch/nn/functional.py");
    assert_string_equal(place_package_path("/home/me/model.py"), "/home/me/model.py");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_user_s_line_is_the_place),
        cmocka_unit_test(the_backward_pass_is_named_by_its_node),
        cmocka_unit_test(the_recorder_and_the_allocator_are_machinery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
