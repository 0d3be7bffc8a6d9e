#include "report/live/output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than any pipe holds. */
enum { MUCH = 4 << 20 };

static void what_a_slow_reader_cannot_take_is_kept_and_comes_later_in_order(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct output output = {.fd = ends[1]};
    char *bytes = malloc(MUCH);
    char *read_back = malloc(MUCH);
    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = (char)('a' + i % 23);
    output_add(&output, bytes, MUCH); /* returns although nobody reads */
    assert_false(output_push(&output));
    size_t got = 0;
    while (got < MUCH) {
        ssize_t count = read(ends[0], read_back + got, MUCH - got);
        assert_true(count > 0);
        got += (size_t)count;
        output_push(&output);
    }
    assert_true(output_push(&output));
    assert_memory_equal(bytes, read_back, MUCH);
    output_fini(&output, 0);
    free(bytes);
    free(read_back);
    close(ends[0]);
    close(ends[1]);
}

static void a_reader_that_is_gone_ends_the_output_and_nothing_else(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    struct output output = {.fd = ends[1]};
    output_add(&output, "line\n", 5);
    assert_true(output.broken);
    output_add(&output, "line\n", 5);
    assert_true(output_push(&output));
    assert_int_equal(output.waiting.length, 0);
    output_fini(&output, 0);
    close(ends[1]);
}

static void the_end_waits_no_longer_than_it_is_told(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct output output = {.fd = ends[1]};
    char *bytes = calloc(1, MUCH);
    output_add(&output, bytes, MUCH);
    alarm(60); /* only an endless wait would take so long */
    output_fini(&output, 50);
    alarm(0);
    assert_null(output.waiting.data);
    free(bytes);
    close(ends[0]);
    close(ends[1]);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_slow_reader_cannot_take_is_kept_and_comes_later_in_order),
        cmocka_unit_test(a_reader_that_is_gone_ends_the_output_and_nothing_else),
        cmocka_unit_test(the_end_waits_no_longer_than_it_is_told),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
