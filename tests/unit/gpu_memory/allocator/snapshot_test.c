/* The snapshots of tests/data/memory, made by traces.py there, read into structs. */
#include "base/mem.h"
#include "gpu_memory/allocator/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define MIB (UINT64_C(1) << 20)
#define A   UINT64_C(0x7F0000000000)
#define B   UINT64_C(0x7EFFFE000000)

static void load(const char *name, struct snapshot *out)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_printf(PROJECT_ROOT "/tests/data/memory/%s.pickle", name);
    if (!snapshot_load(path, out, &err))
        fail_msg("%s", err.text);
}

static void assert_split(const char *name)
{
    static const uint8_t actions[] = {NAME_SEGMENT_ALLOC,  NAME_ALLOC,          NAME_ALLOC,
                                      NAME_SEGMENT_ALLOC,  NAME_ALLOC,          NAME_ALLOC,
                                      NAME_FREE_REQUESTED, NAME_FREE_COMPLETED, NAME_ALLOC,
                                      NAME_FREE_REQUESTED, NAME_FREE_COMPLETED, NAME_ALLOC};
    struct snapshot got;
    load(name, &got);
    assert_int_equal(got.device_count, 1);
    assert_int_equal(got.devices[0].count, sizeof actions);
    for (size_t i = 0; i < sizeof actions; i++) {
        assert_int_equal(got.devices[0].events[i].action, actions[i]);
        assert_int_equal(got.devices[0].events[i].time_us,
                         INT64_C(1700000000000010) + 10 * (int64_t)i);
    }
    assert_int_equal(got.devices[0].events[8].addr, B);
    assert_int_equal(got.devices[0].events[8].size_bytes, 2621440);
    assert_int_equal(got.segment_count, 2);
    assert_int_equal(got.segments[0].addr, B);
    assert_int_equal(got.segments[0].size_bytes, 20 * MIB);
    assert_false(got.segments[0].small);
    assert_true(got.segments[1].small);
    assert_int_equal(got.segments[1].block_count, 4);
    const struct snapshot_block *blocks = &got.blocks[got.segments[1].first_block];
    assert_int_equal(blocks[2].addr, A + 614912);
    assert_int_equal(blocks[2].size_bytes, 614912);
    assert_int_equal(blocks[2].requested_bytes, 614401);
    assert_int_equal(blocks[2].state, BLOCK_ALLOCATED);
    assert_int_equal(blocks[3].state, BLOCK_INACTIVE);
    assert_string_equal(got.conf, "");
    struct alloc_settings none = conf_default();
    assert_true(conf_equal(&got.settings, &none));
    snapshot_fini(&got);
}

static void both_writers_give_the_same(void **state)
{
    (void)state;
    assert_split("split");
    assert_split("proto2");
}

static void streams_are_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    struct snapshot got;
    load("streams", &got);
    assert_int_equal(got.stream_count, 2);
    assert_int_equal(got.streams[0], 0);
    assert_int_equal(got.streams[1], 7);
    assert_int_equal(got.devices[0].events[6].stream, 1);
    assert_int_equal(got.segments[0].stream, 1); /* the lowest address: C */
    const struct snapshot_block *pending = &got.blocks[got.segments[1].first_block];
    assert_int_equal(pending->state, BLOCK_PENDING);
    snapshot_fini(&got);
}

static void stacks_are_shared_and_innermost_first(void **state)
{
    (void)state;
    struct snapshot got;
    load("stacks", &got);
    assert_int_equal(got.stack_count, 3); /* none, and two */
    const struct snapshot_event *events = got.devices[0].events;
    assert_int_equal(events[0].stack, 0);
    assert_int_equal(events[3].stack, events[4].stack);
    assert_int_not_equal(events[1].stack, events[3].stack);
    uint32_t first = events[1].stack;
    assert_int_equal(got.stacks[first].frame_count, 2);
    assert_string_equal(snapshot_frame(&got, first, 0)->function, "empty");
    assert_string_equal(snapshot_frame(&got, first, 1)->file, "/home/me/train.py");
    assert_int_equal(snapshot_frame(&got, first, 1)->line, 31);
    snapshot_fini(&got);
}

static void what_is_no_snapshot_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *says;
    } rows[] = {
        {"\x80\x02N.", 4, "of no memory snapshot"},
        {"\x80\x02}.", 4, "of no memory snapshot"},
        {"\x80\x02}(X\x08\x00\x00\x00segments](Neu.", 23, "segment 0: it is no dictionary"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct snapshot got;
        struct err err = {0};
        assert_false(snapshot_read(rows[i].bytes, rows[i].count, &got, &err));
        if (!strstr(err.text, rows[i].says))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].says);
    }
}

#define ADD(text, literal) text_add_bytes(&(text), literal, sizeof(literal) - 1)

/* "The same list a million times": what a few bytes name must not become gigabytes. */
static void shared_lists_are_not_multiplied(void **state)
{
    (void)state;
    /* {"segments": [], "device_traces": [t, t, t, ...]} with t a list of 1000 times the same
     * event */
    struct text text = {0};
    struct err err = {0};
    struct snapshot got;
    ADD(text, "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
              "device_traces](");
    ADD(text, "]q\x00(}q\x01X\x06\x00\x00\x00"
              "actionX\x08\x00\x00\x00snapshots");
    for (size_t i = 0; i < 1000; i++)
        ADD(text, "h\x01");
    text_add(&text, "e");
    for (size_t i = 0; i < 1000; i++)
        ADD(text, "h\x00");
    text_add(&text, "eu.");
    assert_false(snapshot_read(text.data, text.length, &got, &err));
    assert_non_null(strstr(err.text, "named over and over"));
    text_fini(&text);
}

/* {"segments": [], "device_traces": [[event, event, event]]}; frames: a list, an equal one of other
 * dictionaries, and the first one again, to which a frame is appended after the second event was
 * written. As Python has it all events that hold that list have the longer one. */
static void equal_stacks_are_one_and_a_list_may_still_grow(void **state)
{
    (void)state;
    struct text text = {0};
    struct err err = {0};
    struct snapshot got;
    ADD(text, "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
              "device_traces](](");
    ADD(text, "}(X\x06\x00\x00\x00"
              "actionq\x00X\x08\x00\x00\x00snapshotq\x01X\x06\x00\x00\x00"
              "framesq\x02](");
    ADD(text, "}q\x03(X\x04\x00\x00\x00nameq\x04X\x01\x00\x00\x00"
              "fq\x05X\x04\x00\x00\x00lineq\x06K\x07u");
    ADD(text, "}q\x07(h\x04h\x05h\x06K\x08ueu"); /* [f:7, f:8] */
    ADD(text, "}(h\x00h\x01h\x02]q\x08(h\x03h\x07"
              "eu"); /* the same dictionaries in another list */
    ADD(text, "}(h\x00h\x01h\x02](h\x03}(h\x04X\x01\x00\x00\x00"
              "fh\x06K\x08ueu"); /* the same by what they say */
    ADD(text, "}(h\x00h\x01h\x02h\x08h\x03"
              "au"); /* the second list again, with f:7 behind it now */
    ADD(text, "eeu.");
    if (!snapshot_read(text.data, text.length, &got, &err))
        fail_msg("%s", err.text);
    const struct snapshot_event *events = got.devices[0].events;
    assert_int_equal(got.devices[0].count, 4);
    assert_int_equal(got.stack_count, 3); /* none, and two */
    assert_int_equal(got.frame_count, 2);
    assert_int_equal(got.text_count, 1);
    assert_int_equal(events[0].stack, events[2].stack);
    assert_int_equal(events[1].stack, events[3].stack);
    assert_int_equal(got.stacks[events[0].stack].frame_count, 2);
    assert_int_equal(got.stacks[events[1].stack].frame_count, 3);
    assert_int_equal(snapshot_frame(&got, events[0].stack, 1)->line, 8);
    assert_int_equal(snapshot_frame(&got, events[1].stack, 2)->line, 7);
    assert_string_equal(snapshot_frame(&got, events[1].stack, 2)->function, "f");
    snapshot_fini(&got);
    text_fini(&text);
}

/* A dictionary of 20,000 keys is an event, 10,000 times: each would have to be searched. */
static void shared_dictionaries_are_not_searched_over_and_over(void **state)
{
    (void)state;
    struct text text = {0};
    struct err err = {0};
    struct snapshot got;
    ADD(text, "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
              "device_traces](](}q\x00(");
    for (size_t i = 0; i < 20000; i++)
        ADD(text, "NN");
    ADD(text, "u");
    for (size_t i = 1; i < 10000; i++)
        ADD(text, "h\x00");
    ADD(text, "eeu.");
    assert_false(snapshot_read(text.data, text.length, &got, &err));
    assert_non_null(strstr(err.text, "named over and over"));
    text_fini(&text);
}

static void files_that_cannot_be_read_say_why(void **state)
{
    (void)state;
    struct snapshot got;
    struct err err = {0};
    assert_false(snapshot_load(PROJECT_ROOT "/tests/data/memory/none.pickle", &got, &err));
    assert_non_null(strstr(err.text, "No such file"));
    assert_false(snapshot_load(PROJECT_ROOT "/tests", &got, &err));
    assert_non_null(strstr(err.text, "no regular file"));
    assert_false(snapshot_load("/dev/null", &got, &err));
    assert_non_null(strstr(err.text, "no regular file"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_writers_give_the_same),
        cmocka_unit_test(streams_are_in_the_order_of_their_numbers),
        cmocka_unit_test(stacks_are_shared_and_innermost_first),
        cmocka_unit_test(what_is_no_snapshot_is_refused),
        cmocka_unit_test(shared_lists_are_not_multiplied),
        cmocka_unit_test(equal_stacks_are_one_and_a_list_may_still_grow),
        cmocka_unit_test(shared_dictionaries_are_not_searched_over_and_over),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
