#include "run/log/printed_class.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "run/log/printed_tokens.h"

#include <math.h>
#include <string.h>

static struct printed_line line;

static void classify(const char *text)
{
    printed_tokens_make(&line, text, strlen(text));
    printed_line_classify(&line);
}

static void a_fraction_is_at_most_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value; /* < 0: refused */
    } rows[] = {{"9913/10000", 0.9913},
                {"0/5", 0},
                {"5/5", 1},
                {"6/5", -1},
                {"0/0", -1},
                {"1234567890123456/9999999999999999", -1},
                {"5", -1},
                {"0000000000000001/2", -1},
                {"1/0000000000000002", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value;
        bool good = printed_fraction_read(rows[i].text, strlen(rows[i].text), &value);
        assert_int_equal(good, rows[i].value >= 0);
        assert_true(!good || fabs(value - rows[i].value) < 1e-15);
    }
}

static void lines_of_batches_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool batch;
    } rows[] = {{"batch 3 loss 0.5", true},
                {"Step: 5 loss 1", true},
                {"eta 0:01 loss 1", true},
                {"batch_size 32 loss", false},
                {"Epoch 3/10 loss 1", false},
                {"Epoch [3/10] loss 1", false},
                {"Epoch: (3/10) loss", false},
                {"Train [3/10] loss 1", true},
                {"[3/10] loss 1", false},
                {"3/10 loss 1", true},
                {"10/10 loss 1", false},
                {"loss 1 3/10", false},
                {"loss 0.5", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        classify(rows[i].text);
        if (line.is_batch != rows[i].batch)
            fail_msg("%s", rows[i].text);
    }
}

static void ranks_of_launchers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum printed_rank kind;
        uint64_t rank;
    } rows[] = {
        {"[rank1]: loss 0.5", RANK_NAMED, 1},
        {"(rank 12) loss", RANK_NAMED, 12},
        {"rank 3: loss 0.5", RANK_NAMED, 3},
        {"loss 1 local_rank=2", RANK_NAMED, 2},
        {"{\"rank\": 4, \"loss\": 1}", RANK_NAMED, 4},
        {"[default0]:loss 1", RANK_NAMED, 0},
        {"[1,3]<stdout>:loss 1", RANK_NAMED, 3}, /* Open MPI: job, rank */
        {"[7]<stderr>:loss 1", RANK_NAMED, 7},
        {"2: loss 1", RANK_BARE, 2}, /* srun --label */
        {"[5] loss 1", RANK_BARE, 5},
        {"[5]: loss 1", RANK_BARE, 5},
        {"rank1: 0.9", RANK_NONE, 0}, /* a metric */
        {"[rank1234567] loss", RANK_NONE, 0},
        {"rank@1: loss", RANK_NONE, 0},
        {"loss rank 3: acc", RANK_NONE, 0},
        {"2:loss", RANK_NONE, 0},
        {"[frank1] loss", RANK_NONE, 0},
        {"loss 0.5", RANK_NONE, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        classify(rows[i].text);
        if (line.rank_kind != rows[i].kind ||
            (line.rank_kind != RANK_NONE && line.rank != rows[i].rank))
            fail_msg("%s: %d, %llu", rows[i].text, (int)line.rank_kind,
                     (unsigned long long)line.rank);
    }
}

static uint64_t counter_of(const char *text)
{
    classify(text);
    return line.counter;
}

static void lines_of_one_epoch_have_one_counter(void **state)
{
    (void)state;
    uint64_t third = counter_of("epoch 3 loss 0.5");
    assert_true(third != 0);
    assert_true(counter_of("acc 0.7 epoch: 3") == third);
    assert_true(counter_of("epoch 4 loss 0.5") != third);
    assert_true(counter_of("epoch 3 step 4") != third);
    assert_true(counter_of("[12/32] loss") == counter_of("at 12/32"));
    assert_true(counter_of("[12/32] loss") != counter_of("[13/32] loss"));
    assert_true(counter_of("loss 0.5") == 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fraction_is_at_most_one),
        cmocka_unit_test(lines_of_batches_are_known),
        cmocka_unit_test(ranks_of_launchers_are_read),
        cmocka_unit_test(lines_of_one_epoch_have_one_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
