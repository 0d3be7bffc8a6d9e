/* Pickles written out byte by byte, by the opcodes of Python's pickletools. */
#include "base/mem.h"
#include "gpu_memory/allocator/pickle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define READ(literal, err) pickle_read(literal, sizeof literal - 1, err)

static void assert_refused(const char *bytes, size_t count, const char *says)
{
    struct err err = {0};
    struct pickle *got = pickle_read(bytes, count, &err);
    assert_null(got);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}
#define REFUSED(literal, says) assert_refused(literal, sizeof literal - 1, says)

static void numbers_of_every_width_are_read(void **state)
{
    (void)state;
    /* [1, 300, -2, 2**40, 2**63, -1, 0.5, True, False, None]; 0.5 is 3f e0 00 .. */
    struct pickle *got =
        READ("\x80\x02](K\x01M\x2c\x01J\xfe\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01"
             "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8a\x01\xff"
             "G\x3f\xe0\x00\x00\x00\x00\x00\x00\x88\x89Ne.",
             NULL);
    assert_non_null(got);
    const int64_t numbers[] = {1, 300, -2, INT64_C(1) << 40, INT64_MIN, -1};
    struct pickle_walk walk = pickle_walk(got, pickle_root(got));
    struct pickle_value value;
    for (size_t i = 0; i < 6; i++) {
        assert_true(pickle_next(&walk, &value));
        assert_int_equal(value.kind, i == 4 ? PICKLE_UINT : PICKLE_INT);
        assert_true(value.number == numbers[i]);
    }
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_FLOAT && value.real == 0.5);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_BOOL && value.number == 1);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_BOOL && value.number == 0);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_NONE);
    assert_false(pickle_next(&walk, &value));
    assert_int_equal(pickle_count(got, pickle_root(got)), 10);
    pickle_free(got);
}

static void memos_and_tuples_are_followed(void **state)
{
    (void)state;
    /* {"size": ("ab", "ab", 7)} in protocol 4 with a frame, MEMOIZE and BINGET, then a key that is
     * not known */
    struct pickle *got =
        READ("\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x04size\x94\x8c\x02"
             "ab\x94h\x02K\x07\x87\x94\x8c\x02zzNu.",
             NULL);
    assert_non_null(got);
    struct pickle_value tuple = pickle_get(got, pickle_root(got), NAME_SIZE), value;
    assert_int_equal(tuple.kind, PICKLE_TUPLE);
    struct pickle_walk walk = pickle_walk(got, tuple);
    for (int i = 0; i < 2; i++) {
        assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_TEXT && value.length == 2);
        assert_memory_equal(value.text, "ab", 2);
    }
    assert_true(pickle_next(&walk, &value) && value.number == 7);
    assert_int_equal(pickle_get(got, pickle_root(got), NAME_STREAM).kind, PICKLE_ABSENT);
    pickle_free(got);
}

static void a_list_filled_in_steps_is_one_list(void **state)
{
    (void)state;
    /* [1, [], 2, 3]: APPEND and APPENDS, with another list between them */
    struct pickle *got = READ("\x80\x02]q\x00K\x01"
                              "a]a(K\x02K\x03"
                              "e.",
                              NULL);
    assert_non_null(got);
    struct pickle_walk walk = pickle_walk(got, pickle_root(got));
    struct pickle_value value;
    assert_true(pickle_next(&walk, &value) && value.number == 1);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_LIST);
    assert_true(pickle_next(&walk, &value) && value.number == 2);
    assert_true(pickle_next(&walk, &value) && value.number == 3);
    assert_false(pickle_next(&walk, &value));
    pickle_free(got);
}

static void an_event_is_read_in_any_order_of_its_keys(void **state)
{
    (void)state;
    static const char *const pickles[] = {
        "\x80\x02}(X\x06\x00\x00\x00"
        "actionX\x05\x00\x00\x00"
        "allocX\x04\x00\x00\x00"
        "addrM\x00\x02X\x04\x00\x00\x00sizeK\x07u.",
        "\x80\x02}(X\x04\x00\x00\x00sizeK\x07X\x04\x00\x00\x00"
        "addrM\x00\x02X\x06\x00\x00\x00"
        "actionX\x05\x00\x00\x00"
        "allocu.",
    };
    const size_t lengths[] = {56, 56};
    for (size_t i = 0; i < 2; i++) {
        struct pickle_event event;
        struct pickle *got = pickle_read(pickles[i], lengths[i], NULL);
        assert_non_null(got);
        assert_true(pickle_event(got, pickle_root(got), &event, NULL));
        assert_int_equal(event.action, NAME_ALLOC);
        assert_int_equal(event.addr, 512);
        assert_int_equal(event.size, 7);
        assert_int_equal(event.set, PICKLE_SET_ADDR | PICKLE_SET_SIZE);
        pickle_free(got);
    }
}

static void what_would_run_code_is_refused_with_its_place(void **state)
{
    (void)state;
    /* the classic: os.system("id") */
    REFUSED("\x80\x02"
            "cos\nsystem\n(X\x02\x00\x00\x00idtR.",
            "byte 2: opcode GLOBAL would run code");
    REFUSED("\x80\x04\x8c\x02os\x8c\x06system\x93.", "byte 14: opcode STACK_GLOBAL");
    REFUSED("\x80\x02NNR.", "byte 4: opcode REDUCE");
    REFUSED("\x80\x02}Nb.", "byte 4: opcode BUILD");
    REFUSED("\x80\x02N\x81.", "opcode NEWOBJ");
    REFUSED("\x80\x02(ios\nsystem\n.", "opcode INST");
    REFUSED("\x80\x02N0.", "byte 3: opcode 0x30");
}

static void what_is_broken_is_refused_with_its_place(void **state)
{
    (void)state;
    REFUSED("\x80\x04", "byte 2: the file ends before its last opcode");
    REFUSED("\x80\x04X\xff\xff\xff\x7f"
            "abc.",
            "byte 2: the file ends within a value");
    REFUSED("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "byte 2: a frame is longer");
    REFUSED("\x80\x02h\x05.", "byte 2: memo 5 was never set");
    REFUSED("\x80\x02Nr\xff\xff\xff\x7f.", "byte 3: memo 2147483647 is out of order");
    REFUSED("\x80\x02u.", "byte 2: it needs a mark");
    REFUSED("\x80\x02(u.", "byte 3: it sets keys of what is no dictionary");
    REFUSED("\x80\x02}(Nu.", "byte 5: a key has no value");
    REFUSED("\x80\x02N(Ne.", "byte 5: it appends to what is no list");
    REFUSED("\x80\x02]N(a.", "it needs values");
    REFUSED("\x80\x02](Na.", "it needs values"); /* not below the mark */
    REFUSED("\x80\x02NN.", "byte 4: it ends with 2 values");
    REFUSED("\x80\x02\x8a\x0a\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01.", "more than 64 bits");
    REFUSED("\x80\x09N.", "byte 0: it is protocol 9");
    REFUSED("", "byte 0: the file is empty");
    REFUSED("hello", "byte 0: it is not a pickle of a dictionary or list (it begins with 0x68)");
    REFUSED("\x80\x02}(X\x06\x00\x00\x00"
            "actionX\x05\x00\x00\x00"
            "allocX\x04\x00\x00\x00"
            "addrNu.",
            "'addr' of an event is not an integer");
}

static void protocols_0_and_1_are_read(void **state)
{
    (void)state;
    /* {"size": [7, -3, 2**63, True, 0.5, None, (8, "b")], ...}, as pickle.dumps(..., 0) has it, and
     * a text and a number as Python 2 writes them. */
    struct pickle *got = READ("(dp0\nVsize\np1\n(lp2\nI7\naL-3L\naL9223372036854775808L\naI01\na"
                              "F0.5\naNa(I8\nVb\ntp3\nasS'addr'\np4\nU\x02zzsg4\ng1\ns.",
                              NULL);
    assert_non_null(got);
    struct pickle_value list = pickle_get(got, pickle_root(got), NAME_SIZE), value;
    assert_int_equal(pickle_count(got, list), 7);
    struct pickle_walk walk = pickle_walk(got, list);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_INT && value.number == 7);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_INT && value.number == -3);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_UINT &&
                value.index == UINT64_C(1) << 63);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_BOOL && value.number == 1);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_FLOAT && value.real == 0.5);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_NONE);
    assert_true(pickle_next(&walk, &value) && value.kind == PICKLE_TUPLE);
    assert_int_equal(pickle_count(got, value), 2);
    /* The last value of a key counts. */
    value = pickle_get(got, pickle_root(got), NAME_ADDR);
    assert_true(value.kind == PICKLE_TEXT && value.length == 4 && value.name == NAME_SIZE);
    pickle_free(got);
    REFUSED("(lp0\nI12", "byte 5: the file ends within a line");
    REFUSED("(lp0\nI1x\na.", "byte 5: a number is not written as one");
    REFUSED("(lp0\nL18446744073709551616L\na.", "more than 64 bits");
    REFUSED("(lp0\nL-9223372036854775809L\na.", "more than 64 bits");
    REFUSED("(lp0\ng1\na.", "byte 5: memo 1 was never set");
    REFUSED("(lp99\n.", "byte 2: memo 99 is out of order");
    REFUSED("(lp-1\n.", "byte 2: the number of a memo is not written as one");
    REFUSED("(I1\nd.", "a list or dictionary is not begun empty");
    REFUSED("(cos\nsystem\n.", "byte 1: opcode GLOBAL would run code");
}

static void compressed_files_are_told_how_to_unpack(void **state)
{
    (void)state;
    REFUSED("\xfd"
            "7zXZ\x00\x00\x04",
            "compressed (xz), which is not read: unpack it first (xz -dk FILE)");
    REFUSED("\x1f\x8b\x08\x00", "gzip -dk FILE");
    REFUSED("\x28\xb5\x2f\xfd\x04", "zstd -dk FILE");
}

/* Any depth: nothing recurses. A list that holds itself is a list. */
static void nesting_and_loops_do_no_harm(void **state)
{
    (void)state;
    size_t depth = 300000;
    char *deep = mem_alloc(2 * depth + 4);
    memcpy(deep, "\x80\x02", 2);
    memset(deep + 2, ']', depth);
    memset(deep + 2 + depth, 'a', depth - 1);
    deep[2 * depth + 1] = '.';
    struct err err = {0};
    struct pickle *got = pickle_read(deep, 2 * depth + 2, &err);
    assert_true(got || strstr(err.text, "16 bytes of memory"));
    pickle_free(got);
    free(deep);
    got = READ("\x80\x02]q\x00h\x00"
               "a.",
               NULL);
    assert_non_null(got);
    assert_int_equal(pickle_count(got, pickle_root(got)), 1);
    pickle_free(got);
}

/* One byte a list would take far more memory than a snapshot does. */
static void memory_is_bounded_by_the_size_of_the_file(void **state)
{
    (void)state;
    size_t count = 4 << 20;
    char *lists = mem_alloc(count);
    memset(lists, ']', count);
    memcpy(lists, "\x80\x02", 2);
    assert_refused(lists, count, "more than 16 bytes of memory for each byte read");
    free(lists);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_width_are_read),
        cmocka_unit_test(memos_and_tuples_are_followed),
        cmocka_unit_test(a_list_filled_in_steps_is_one_list),
        cmocka_unit_test(an_event_is_read_in_any_order_of_its_keys),
        cmocka_unit_test(what_would_run_code_is_refused_with_its_place),
        cmocka_unit_test(what_is_broken_is_refused_with_its_place),
        cmocka_unit_test(protocols_0_and_1_are_read),
        cmocka_unit_test(compressed_files_are_told_how_to_unpack),
        cmocka_unit_test(nesting_and_loops_do_no_harm),
        cmocka_unit_test(memory_is_bounded_by_the_size_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
