#include "run/log/printed_name.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "run/log/printed_tokens.h"

#include <stdio.h>
#include <string.h>

static struct printed_line line;

static void assert_name(const char *text, enum printed_split split, const char *base)
{
    struct printed_name name;
    if (!printed_name_parse(text, strlen(text), &name))
        fail_msg("%s is not a name", text);
    if (name.split != split || strcmp(name.base, base) != 0)
        fail_msg("%s: %d, %s", text, (int)name.split, name.base);
}

static void a_name_is_a_part_of_the_data_and_a_base(void **state)
{
    (void)state;
    assert_name("loss", SPLIT_NONE, "loss");
    assert_name("val_loss", SPLIT_VALIDATION, "loss");
    assert_name("Validation Loss", SPLIT_VALIDATION, "loss");
    assert_name("dev/acc", SPLIT_VALIDATION, "accuracy");
    assert_name("test Acc@1", SPLIT_TEST, "accuracy");
    assert_name("train.top-5", SPLIT_TRAIN, "top5");
    assert_name("root mean squared error", SPLIT_NONE, "rmse");
    assert_name("PPL", SPLIT_NONE, "perplexity");
    assert_name("my_own-Name", SPLIT_NONE, "myownname");
    assert_name("test", SPLIT_NONE, "test"); /* a base alone */
    assert_name("abcdefghijklmnopqrstuvwxyzabcde", SPLIT_NONE, "abcdefghijklmnopqrstuvwxyzabcde");
}

static void what_is_more_than_words_is_no_name(void **state)
{
    (void)state;
    static const char *const texts[] = {"", " ", "loss: 1", "loss 1", "a b c d e", "val a b c d e",
                                        "loss,acc",
                                        /* 32 letters: the longest word has 31 */
                                        "abcdefghijklmnopqrstuvwxyzabcdef"};
    struct printed_name name;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (printed_name_parse(texts[i], strlen(texts[i]), &name))
            fail_msg("%s is a name", texts[i]);
}

/* The name of the number behind the words of text: "train loss", "none". */
static void assert_read(const char *text, bool is_marked, const char *expected)
{
    static const struct printed_name vocabulary[] = {
        {.base = "loss"}, {.base = "accuracy"}, {.base = "map50"}};
    static const char *const splits[] = {[SPLIT_NONE] = "",
                                         [SPLIT_TRAIN] = "train ",
                                         [SPLIT_VALIDATION] = "validation ",
                                         [SPLIT_TEST] = "test "};
    enum printed_split split = SPLIT_NONE;
    size_t base = 0;
    char found[100] = "none";
    printed_tokens_make(&line, text, strlen(text));
    if (printed_name_read(&line, 0, line.token_count, is_marked, vocabulary, 3, &split, &base))
        snprintf(found, sizeof found, "%s%s", splits[split], vocabulary[base].base);
    if (strcmp(found, expected) != 0)
        fail_msg("%s: %s", text, found);
}

static void words_around_a_name_keep_its_meaning(void **state)
{
    (void)state;
    assert_read("loss", false, "loss");
    assert_read("mean loss", false, "loss");
    assert_read("the loss", false, "loss");
    assert_read("epoch loss avg", false, "loss");
    assert_read("train loss", false, "train loss");
    assert_read("loss train", false, "train loss");
    assert_read("TrainLoss", false, "train loss");
    assert_read("valAcc", false, "validation accuracy");
    assert_read("the model finished with loss", false, "loss");
    assert_read("bbox mAP50", false, "map50");
    assert_read("accuracy of the network on the 10000 test images", true, "test accuracy");
}

static void words_that_change_it_make_it_another(void **state)
{
    (void)state;
    assert_read("best loss", false, "none");
    assert_read("box_loss", false, "none");
    assert_read("the_loss", false, "none");
    assert_read("lossless", false, "none");
    assert_read("loss weight", false, "none");
    assert_read("l o s s", false, "none"); /* of UTF-16 */
    assert_read("accuracy of the network on the 10000 test images", false, "none");
    assert_read("", false, "none");
}

static void folded_words_have_no_joints_and_one_case(void **state)
{
    (void)state;
    char out[8];
    static const char text[] = "Val_Acc@1 loss";
    printed_tokens_make(&line, text, sizeof text - 1);
    printed_fold(&line, 0, 2, out, sizeof out);
    assert_string_equal(out, "valacc1");
    printed_fold(&line, 0, 3, out, sizeof out); /* too long */
    assert_string_equal(out, "");
    printed_fold(&line, 2, 2, out, sizeof out);
    assert_string_equal(out, "");
    assert_true(printed_is_other_value("best") && printed_is_other_value("ema"));
    assert_false(printed_is_other_value("loss"));
    assert_true(printed_is_filler("avg"));
    assert_int_equal(printed_split_find("evaluating"), SPLIT_VALIDATION);
    assert_int_equal(printed_split_find("tests"), SPLIT_NONE);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_a_part_of_the_data_and_a_base),
        cmocka_unit_test(what_is_more_than_words_is_no_name),
        cmocka_unit_test(words_around_a_name_keep_its_meaning),
        cmocka_unit_test(words_that_change_it_make_it_another),
        cmocka_unit_test(folded_words_have_no_joints_and_one_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
